# SPDX-License-Identifier: Apache-2.0
"""Mean squared error."""

from pyonert.native.types import loss as loss_code
from pyonert.train.losses.loss import LossFunction


class MeanSquaredError(LossFunction):
    """Mean over the elements of a sample of (output - label)^2."""

    code = loss_code.MEAN_SQUARED_ERROR
