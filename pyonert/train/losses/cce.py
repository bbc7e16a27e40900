# SPDX-License-Identifier: Apache-2.0
"""Categorical cross-entropy."""

from pyonert.native.types import loss as loss_code
from pyonert.train.losses.loss import LossFunction


class CategoricalCrossentropy(LossFunction):
    """-sum over classes of label * ln(probability), labels one-hot, [N, classes] float32.

    A model that ends in SOFTMAX gives the probabilities itself (taken as at least 1e-20); the
    output of any other is taken as logits.
    """

    code = loss_code.CATEGORICAL_CROSSENTROPY
