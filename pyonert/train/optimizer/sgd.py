# SPDX-License-Identifier: Apache-2.0
"""Stochastic gradient descent."""

from __future__ import annotations

from pyonert.native.types import optimizer as optimizer_code
from pyonert.native.types import trainable_ops
from pyonert.train.optimizer.optimizer import Optimizer


class SGD(Optimizer):
    """w <- w - learning_rate * gradient.

    Args:
        learning_rate: step length, > 0.
        momentum: only 0.0; anything else raises NotImplementedError.
        nums_trainable_ops: see Optimizer.
    """

    code = optimizer_code.SGD

    def __init__(
        self,
        learning_rate: float = 0.001,
        momentum: float = 0.0,
        *,
        nums_trainable_ops: int = trainable_ops.ALL,
    ) -> None:
        if momentum != 0.0:
            raise NotImplementedError("Momentum is not supported in the current version of SGD.")
        super().__init__(learning_rate, nums_trainable_ops)
        self.momentum = momentum
        self.velocity: None = None
