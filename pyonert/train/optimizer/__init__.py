# SPDX-License-Identifier: Apache-2.0
"""Optimizers: `SGD`, `Adam`."""

from pyonert.native.types import trainable_ops
from pyonert.train.optimizer.adam import Adam
from pyonert.train.optimizer.optimizer import Optimizer
from pyonert.train.optimizer.registry import OptimizerRegistry
from pyonert.train.optimizer.sgd import SGD

__all__ = ["SGD", "Adam", "Optimizer", "OptimizerRegistry", "trainable_ops"]
