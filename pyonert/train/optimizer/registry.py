# SPDX-License-Identifier: Apache-2.0
"""Optimizers by name."""

from pyonert.train.optimizer.adam import Adam
from pyonert.train.optimizer.optimizer import Optimizer
from pyonert.train.optimizer.sgd import SGD
from pyonert.train.registry import Registry

OptimizerRegistry: Registry[Optimizer] = Registry("Optimizer", {"adam": Adam, "sgd": SGD})
