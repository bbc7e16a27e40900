# SPDX-License-Identifier: Apache-2.0
"""Losses: `CategoricalCrossentropy`, `MeanSquaredError`."""

from pyonert.native.types import lossinfo
from pyonert.train.losses.cce import CategoricalCrossentropy
from pyonert.train.losses.loss import LossFunction
from pyonert.train.losses.mse import MeanSquaredError
from pyonert.train.losses.registry import LossRegistry

__all__ = [
    "CategoricalCrossentropy",
    "LossFunction",
    "LossRegistry",
    "MeanSquaredError",
    "lossinfo",
]
