# SPDX-License-Identifier: Apache-2.0
"""Checks and conversions of arrays on their way to C.

An array is passed as it is where dtype, byte order, contiguity and alignment fit; it is converted
once where NumPy's "same_kind" casting allows that (float64 to float32 included, float to int not);
anything else is an error that names the tensor, the wanted and the given.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyonert.native._capi import ffi
from pyonert.native.types import tensorinfo

Array = NDArray[Any]
_NUMBERS = "biufc"


def as_source(value: ArrayLike, dtype: np.dtype[Any], what: str) -> Array:
    """Returns `value` as a contiguous, aligned array of `dtype`: itself if it is one, or a copy.

    Raises:
        TypeError: not numbers, or numbers that same_kind casting does not turn into `dtype`.
        ValueError: nested sequences of unequal lengths.
    """
    if type(value) is np.ndarray and value.dtype is dtype:
        flags = value.flags
        if flags.c_contiguous and flags.aligned:
            return value
    try:
        array = np.asarray(value)
    except ValueError as e:
        raise ValueError(f"{what}: cannot be read as an array of {dtype}: {e}") from None
    if array.dtype.kind not in _NUMBERS or not np.can_cast(array.dtype, dtype, "same_kind"):
        raise TypeError(
            f"{what}: an array of {dtype} is wanted, an array of {array.dtype} was given"
        )
    converted: Array = np.require(array, dtype, ["C", "A"])
    return converted


def check_target(value: object, dtype: np.dtype[Any], what: str) -> Array:
    """Returns `value` if C can write `dtype` elements straight into it.

    Raises:
        TypeError: not an array, or one of another dtype.
        ValueError: read-only, not C-contiguous, or not aligned.
    """
    if not isinstance(value, np.ndarray):
        raise TypeError(
            f"{what}: an array of {dtype} is wanted, a {type(value).__name__} was given"
        )
    if value.dtype != dtype:
        raise TypeError(
            f"{what}: an array of {dtype} is wanted, an array of {value.dtype} was given"
        )
    flags = value.flags
    if not (flags.writeable and flags.c_contiguous and flags.aligned):
        raise ValueError(f"{what}: a writable, C-contiguous and aligned array is wanted")
    return value


def check_shape(shape: Sequence[int], dims: Sequence[int], what: str) -> None:
    """Raises ValueError unless `shape` is `dims`, where -1 stands for any size."""
    if len(shape) != len(dims) or any(d not in (-1, s) for s, d in zip(shape, dims)):
        raise ValueError(f"{what}: shape {list(dims)} is wanted, {list(shape)} was given")


class BatchSlot:
    """One input, label or output of a training session, and the array that C borrows for it.

    C reads and writes the array at each step, so the slot keeps it alive until the next one.
    """

    __slots__ = (
        "array",
        "borrowed",
        "dims",
        "dtype",
        "index",
        "infos",
        "n_samples",
        "shape",
        "source",
        "what",
    )

    def __init__(self, kind: str, index: int, info: tensorinfo, dtype: np.dtype[Any]) -> None:
        self.what = f"{kind} {index}"
        self.index = index
        self.dtype = dtype
        self.dims = tuple(info.dims)
        if not self.dims:
            raise ValueError(f"{self.what}: a scalar has no batch dimension")
        # nnfw_tensorinfo by number of samples.
        self.infos: dict[int, Any] = {}
        self.array: Array = np.empty(0, dtype)
        self.source: Array | None = None
        self.shape: tuple[int, ...] = ()
        self.n_samples = 0
        self.borrowed: Any = None

    def check_batch(self, shape: tuple[int, ...]) -> int:
        """Returns the number of samples of an array of this shape; ValueError if it is wrong."""
        dims = self.dims
        if len(shape) != len(dims) or shape[1:] != dims[1:]:
            wanted = ", ".join(str(d) for d in ("N", *dims[1:]))
            raise ValueError(f"{self.what}: shape [{wanted}] is wanted, {list(shape)} was given")
        n = shape[0]
        if not 1 <= n <= dims[0]:
            kind, index = self.what.split()
            raise ValueError(
                f"{kind} batch size mismatch at index {index}: "
                f"shape[0] = {n} vs batch size = {dims[0]}"
            )
        return n

    def holds(self, value: object) -> bool:
        """Whether C already borrows exactly this array."""
        source = self.source
        return (
            source is value
            and source is not None
            and source.shape == self.shape
            and source.dtype is self.dtype
        )

    def keep(self, value: object, array: Array, borrowed: Any, n_samples: int) -> None:
        """Remembers what C borrows now; a converted array is not recognised again by its source."""
        self.array = array
        self.source = array if array is value else None
        self.shape = array.shape
        self.borrowed = borrowed
        self.n_samples = n_samples


def borrow(array: Array) -> Any:
    """Returns a C pointer to an array's data that keeps the array alive."""
    return ffi.from_buffer("char[]", array)


def borrow_target(array: Array) -> Any:
    """Same, for data that C writes."""
    return ffi.from_buffer("char[]", array, require_writable=True)
