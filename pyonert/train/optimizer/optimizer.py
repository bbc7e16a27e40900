# SPDX-License-Identifier: Apache-2.0
"""The settings that every optimizer has."""

from __future__ import annotations

from typing import ClassVar

from pyonert.native.types import optimizer as optimizer_code
from pyonert.native.types import trainable_ops


class Optimizer:
    """Base class of the optimizers.

    Args:
        learning_rate: step length, > 0.
        nums_trainable_ops: trainable_ops.ALL, NONE, or N for the last N operators of the model
            file.
    """

    code: ClassVar[optimizer_code] = optimizer_code.UNDEFINED

    def __init__(
        self, learning_rate: float = 0.001, nums_trainable_ops: int = trainable_ops.ALL
    ) -> None:
        self.learning_rate = learning_rate
        self.nums_trainable_ops = nums_trainable_ops
