# SPDX-License-Identifier: Apache-2.0
"""Training and inference of .circle and .tflite models on the CPU.

import pyonert

session = pyonert.train.session("model.circle")
session.compile("adam", "categorical_crossentropy", ["categorical_accuracy"], batch_size=32)
session.train(pyonert.train.DataLoader(images, labels, 32), epochs=5, validation_split=0.2)
session.export_circle("trained.circle")

outputs = pyonert.infer.session("trained.circle").infer([image])
"""

from pyonert import experimental, infer, native, train
from pyonert.errors import (
    OnertDeprecatedApiError,
    OnertError,
    OnertInsufficientOutputError,
    OnertInvalidStateError,
    OnertOutOfMemoryError,
    OnertUnexpectedNullError,
)
from pyonert.logs import enable_logging
from pyonert.native.types import tensorinfo

__version__ = "0.1.0"

__all__ = [
    "OnertDeprecatedApiError",
    "OnertError",
    "OnertInsufficientOutputError",
    "OnertInvalidStateError",
    "OnertOutOfMemoryError",
    "OnertUnexpectedNullError",
    "__version__",
    "enable_logging",
    "experimental",
    "infer",
    "native",
    "tensorinfo",
    "train",
]
