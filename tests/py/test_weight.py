# SPDX-License-Identifier: Apache-2.0
"""What the library weighs on disk."""

import shutil
import subprocess
from pathlib import Path

import pytest

import pyonert

LARGEST = 3 << 20


def test_stripped_library(tmp_path: Path) -> None:
    if not shutil.which("strip"):
        pytest.skip("no strip (Debian: binutils)")
    stripped = tmp_path / "libonert.so"
    shutil.copy(Path(pyonert.__file__).parent / "native" / "libonert.so", stripped)
    subprocess.run(["strip", stripped], check=True)
    assert stripped.stat().st_size <= LARGEST
