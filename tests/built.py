# SPDX-License-Identifier: Apache-2.0
"""Where the library under test is, and C programs built against it."""

import functools
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
INCLUDE = ROOT / "capi" / "include"
TOOLS = ROOT / "tools"
SHARED = ("tool.c", "tool_options.c", "tool_json.c", "tool_meter.c", "raw_data.c")
PROGRAMS = {"onert_train": ("onert_train.c", "train_loop.c"), "onert_run": ("onert_run.c",)}


def compiler(name: str) -> str:
    path = shutil.which(name)
    if not path:
        pytest.skip(f"no {name} on this machine")
    return path


@functools.cache
def library() -> Path:
    """libonert.so: the one that ONERT_LIBRARY names, else the one the Python package has loaded."""
    named = os.environ.get("ONERT_LIBRARY")
    if named:
        return Path(named)
    pytest.importorskip("pyonert.native._capi", reason="pyonert is not installed")
    loaded = re.findall(r"(/\S*/libonert\.so)$", Path("/proc/self/maps").read_text(), re.M)
    assert loaded, "pyonert.native._capi is there without a libonert.so"
    return Path(loaded[0])


def build_program(sources: list[Path], out: Path, *flags: str) -> Path:
    """Compiles C sources and links them with the library under test."""
    folder = library().parent
    subprocess.run(
        [compiler("cc"), "-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", f"-I{INCLUDE}", *flags,
         *map(str, sources), "-o", str(out), f"-L{folder}", "-lonert", f"-Wl,-rpath,{folder}",
         "-lpthread", "-lm"],
        check=True)
    return out


def build_tool(name: str, folder: Path) -> Path:
    """Builds a command line tool from its sources."""
    return build_program([TOOLS / s for s in (*PROGRAMS[name], *SHARED)], folder / name)
