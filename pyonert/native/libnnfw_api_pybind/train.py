# SPDX-License-Identifier: Apache-2.0
"""Records and enumerations of training, where newer versions of onert have them."""

from pyonert.native import loss, loss_reduction, lossinfo, optimizer, trainable_ops, traininfo

__all__ = [
    "loss",
    "loss_reduction",
    "lossinfo",
    "optimizer",
    "trainable_ops",
    "traininfo",
]
