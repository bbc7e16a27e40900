# SPDX-License-Identifier: Apache-2.0
"""Exceptions, one class for each status of the C API. The message is the text of the C library."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar


class OnertError(RuntimeError):
    """A call of the C library failed.

    `status` is the NNFW_STATUS number: 1 for this class itself, see the subclasses for the others.
    """

    status: int = 1
    status_name: ClassVar[str] = "NNFW_STATUS_ERROR"


class OnertUnexpectedNullError(OnertError):
    """An argument that must not be null was null."""

    status = 2
    status_name = "NNFW_STATUS_UNEXPECTED_NULL"


class OnertInvalidStateError(OnertError):
    """The session is not in a state that allows the call; also: the session is closed."""

    status = 3
    status_name = "NNFW_STATUS_INVALID_STATE"


class OnertOutOfMemoryError(OnertError):
    """Memory ran out."""

    status = 4
    status_name = "NNFW_STATUS_OUT_OF_MEMORY"


class OnertInsufficientOutputError(OnertError):
    """An output buffer is smaller than the output."""

    status = 5
    status_name = "NNFW_STATUS_INSUFFICIENT_OUTPUT_SIZE"


class OnertDeprecatedApiError(OnertError):
    """The function is deprecated and does nothing."""

    status = 6
    status_name = "NNFW_STATUS_DEPRECATED_API"


_CLASSES: dict[int, type[OnertError]] = {
    cls.status: cls
    for cls in (
        OnertError,
        OnertUnexpectedNullError,
        OnertInvalidStateError,
        OnertOutOfMemoryError,
        OnertInsufficientOutputError,
        OnertDeprecatedApiError,
    )
}


def error_of(status: int, text: str) -> OnertError:
    """Returns the exception for a status other than 0, with the library's text as message."""
    cls = _CLASSES.get(status)
    if cls is None:
        error = OnertError(text or f"NNFW_UNKNOWN_ERROR ({status})")
        error.status = status
        return error
    return cls(text or cls.status_name)


@contextmanager
def doing(what: str) -> Iterator[None]:
    """Puts `what` before the message of an OnertError raised inside; its class stays."""
    try:
        yield
    except OnertError as e:
        error = type(e)(f"{what}: {e}")
        error.status = e.status
        raise error from e
