# SPDX-License-Identifier: Apache-2.0
"""Paths, texts and tensor infos on their way to C and back."""

from __future__ import annotations

import os
from typing import Any, Union

from pyonert.native._capi import ffi
from pyonert.native.types import DTYPE_CODES, DTYPE_NAMES, tensorinfo

StrPath = Union[str, "os.PathLike[str]"]

_INSUFFICIENT = 5


def path_bytes(path: StrPath) -> bytes:
    """Returns a path as C takes it; ValueError if it holds a NUL byte."""
    name = os.fsencode(os.fspath(path))
    if b"\0" in name:
        raise ValueError(f"path {name!r} contains a NUL byte")
    return name


def text_bytes(text: str, what: str) -> bytes:
    """Returns a text as C takes it; TypeError if it is none."""
    if not isinstance(text, str):
        raise TypeError(f"{what}: a string is wanted, a {type(text).__name__} was given")
    return text.encode()


def info_to_c(info: tensorinfo) -> Any:
    """Returns a new nnfw_tensorinfo; ValueError for an unknown dtype."""
    code = DTYPE_CODES.get(info.dtype or "float32")
    if code is None:
        raise ValueError(f"tensorinfo dtype {info.dtype!r} is none of {', '.join(DTYPE_CODES)}")
    return ffi.new("nnfw_tensorinfo *", {"dtype": code, "rank": info.rank, "dims": info.dims})


def info_from_c(info: Any) -> tensorinfo:
    """Returns a copy of an nnfw_tensorinfo."""
    return tensorinfo(DTYPE_NAMES.get(info.dtype, ""), list(info.dims)[: info.rank])


def read_text(call: Any) -> str:
    """Calls call(buffer, length) with a buffer that grows until the text fits."""
    size = 1024
    while size <= 1 << 20:
        buffer = ffi.new("char[]", size)
        if call(buffer, size) != _INSUFFICIENT:
            return ffi.string(buffer).decode(errors="replace")
        size *= 8
    return ""
