# SPDX-License-Identifier: Apache-2.0
"""What a metric has to do."""

from __future__ import annotations

from collections.abc import Sequence

from pyonert._arrays import Array


class Metric:
    """A number gathered over batches. Derive from it and override the three methods."""

    def reset_state(self) -> None:
        """Forgets all batches."""
        raise NotImplementedError

    def update_state(self, outputs: Sequence[Array], expecteds: Sequence[Array]) -> None:
        """Takes in a batch.

        Args:
            outputs: predictions [N, ...], one array per model output that the metric is for; valid
                during the call only.
            expecteds: labels of the same shapes.
        """
        raise NotImplementedError

    def result(self) -> float:
        """Returns the value over all batches since the last reset."""
        raise NotImplementedError
