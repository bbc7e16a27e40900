# SPDX-License-Identifier: Apache-2.0
"""Training: `session(path)`, `compile(...)`, `train(...)`, on a DataLoader or batch by batch."""

from pyonert.native.types import traininfo
from pyonert.train import losses, metrics, optimizer
from pyonert.train.dataloader import DataLoader
from pyonert.train.reporting import Callback, ConsoleReporter, EpochLog, ProgressBar
from pyonert.train.session import TrainSession as session

__all__ = [
    "Callback",
    "ConsoleReporter",
    "DataLoader",
    "EpochLog",
    "ProgressBar",
    "losses",
    "metrics",
    "optimizer",
    "session",
    "traininfo",
]
