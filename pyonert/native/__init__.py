# SPDX-License-Identifier: Apache-2.0
"""What the C API is made of, as Python sees it: records, enumerations, and the session handle.

Beside this file lie `libonert.so` and the extension module `_capi` that binds it.
"""

from pyonert.native.types import (
    loss,
    loss_reduction,
    lossinfo,
    optimizer,
    prepare_config,
    tensorinfo,
    trainable_ops,
    traininfo,
)

__all__ = [
    "loss",
    "loss_reduction",
    "lossinfo",
    "optimizer",
    "prepare_config",
    "tensorinfo",
    "trainable_ops",
    "traininfo",
]
