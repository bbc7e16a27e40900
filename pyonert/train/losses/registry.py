# SPDX-License-Identifier: Apache-2.0
"""Losses by name."""

from pyonert.train.losses.cce import CategoricalCrossentropy
from pyonert.train.losses.loss import LossFunction
from pyonert.train.losses.mse import MeanSquaredError
from pyonert.train.registry import Registry

LossRegistry: Registry[LossFunction] = Registry(
    "Loss",
    {
        "categorical_crossentropy": CategoricalCrossentropy,
        "mean_squared_error": MeanSquaredError,
    },
)
