# SPDX-License-Identifier: Apache-2.0
"""What the C library has to tell beside errors, passed on to Python's `logging`."""

from __future__ import annotations

import logging
from typing import Any

from pyonert.native._capi import ffi, lib

logger = logging.getLogger("pyonert")
_LEVELS = (logging.INFO, logging.WARNING)


@ffi.def_extern(name="pyonert_log")  # type: ignore[untyped-decorator]
def _log(level: int, line: Any, user: Any) -> None:
    logger.log(_LEVELS[min(max(level, 0), 1)], "%s", ffi.string(line).decode(errors="replace"))


def enable_logging(enabled: bool = True) -> None:
    """Sends the library's log lines to the logger "pyonert", or to nowhere again (the default)."""
    lib.onert_set_log_callback(lib.pyonert_log if enabled else ffi.NULL, ffi.NULL)
