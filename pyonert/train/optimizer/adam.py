# SPDX-License-Identifier: Apache-2.0
"""Adam."""

from __future__ import annotations

from pyonert.native.types import optimizer as optimizer_code
from pyonert.native.types import trainable_ops
from pyonert.train.optimizer.optimizer import Optimizer


class Adam(Optimizer):
    """Adam (Kingma and Ba 2015, algorithm 1 in the form of its section 2), at step t:

    m <- beta1 m + (1 - beta1) g;  v <- beta2 v + (1 - beta2) g^2;
    w <- w - learning_rate sqrt(1 - beta2^t) / (1 - beta1^t) * m / (sqrt(v) + epsilon)

    Args:
        learning_rate: step length, > 0.
        beta1: decay of the first moment, in [0, 1).
        beta2: decay of the second moment, in [0, 1).
        epsilon: > 0.
        nums_trainable_ops: see Optimizer.
    """

    code = optimizer_code.ADAM

    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-7,
        *,
        nums_trainable_ops: int = trainable_ops.ALL,
    ) -> None:
        super().__init__(learning_rate, nums_trainable_ops)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon
