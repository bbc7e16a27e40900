# SPDX-License-Identifier: Apache-2.0
"""The exceptions, under the name that onert's native module has for them."""

from pyonert.errors import (
    OnertDeprecatedApiError,
    OnertError,
    OnertInsufficientOutputError,
    OnertInvalidStateError,
    OnertOutOfMemoryError,
    OnertUnexpectedNullError,
)

__all__ = [
    "OnertDeprecatedApiError",
    "OnertError",
    "OnertInsufficientOutputError",
    "OnertInvalidStateError",
    "OnertOutOfMemoryError",
    "OnertUnexpectedNullError",
]
