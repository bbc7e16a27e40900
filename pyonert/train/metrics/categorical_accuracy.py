# SPDX-License-Identifier: Apache-2.0
"""Share of samples whose largest output is where their largest label is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pyonert._arrays import Array
from pyonert.train.metrics.metric import Metric


class CategoricalAccuracy(Metric):
    """correct / total, 0.0 before any sample. The first of equal values counts as the largest.

    Args:
        axis: the axis of samples.
    """

    def __init__(self, axis: int = 0) -> None:
        self.axis = axis
        self.correct = 0
        self.total = 0

    def reset_state(self) -> None:
        self.correct = 0
        self.total = 0

    def update_state(self, outputs: Sequence[Array], expecteds: Sequence[Array]) -> None:
        """See Metric.

        Raises:
            ValueError: numbers of arrays or of samples differ.
        """
        if len(outputs) != len(expecteds):
            raise ValueError(
                "The number of outputs and expecteds must match. "
                f"Got {len(outputs)} outputs and {len(expecteds)} expecteds."
            )
        for output, expected in zip(outputs, expecteds):
            n = output.shape[self.axis]
            if n != expected.shape[self.axis]:
                raise ValueError(
                    f"Output and expected shapes must match along the specified axis {self.axis}. "
                    f"Got {output.shape} and {expected.shape}."
                )
            if n:
                same = self._largest(output, n) == self._largest(expected, n)
                self.correct += int(np.count_nonzero(same))
                self.total += n

    def _largest(self, array: Array, n: int) -> Array:
        samples = np.moveaxis(array, self.axis, 0) if self.axis else array
        largest: Array = samples.reshape(n, -1).argmax(axis=1)
        return largest

    def result(self) -> float:
        return self.correct / self.total if self.total else 0.0
