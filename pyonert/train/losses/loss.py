# SPDX-License-Identifier: Apache-2.0
"""What every loss has: how it is reduced over a batch."""

from __future__ import annotations

from typing import ClassVar

from pyonert.native.types import loss as loss_code
from pyonert.native.types import loss_reduction

_REDUCTIONS = {"mean": loss_reduction.SUM_OVER_BATCH_SIZE, "sum": loss_reduction.SUM}


class LossFunction:
    """Base class of the losses.

    Args:
        reduction: "mean" or "sum" of the losses of a batch's samples.

    Raises:
        ValueError: another reduction.
    """

    code: ClassVar[loss_code] = loss_code.UNDEFINED

    def __init__(self, reduction: str = "mean") -> None:
        if reduction not in _REDUCTIONS:
            raise ValueError(f"Invalid reduction type. Choose from {list(_REDUCTIONS)}.")
        self.reduction = _REDUCTIONS[reduction]
