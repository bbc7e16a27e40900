# SPDX-License-Identifier: Apache-2.0
"""What the package weighs: the library on disk, and what `import pyonert` draws in."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import pyonert

LARGEST = 3 << 20
ALLOWED = {"numpy", "pyonert", "_cffi_backend"}


def test_stripped_library(tmp_path: Path) -> None:
    if not shutil.which("strip"):
        pytest.skip("no strip (Debian: binutils)")
    stripped = tmp_path / "libonert.so"
    shutil.copy(Path(pyonert.__file__).parent / "native" / "libonert.so", stripped)
    subprocess.run(["strip", stripped], check=True)
    assert stripped.stat().st_size <= LARGEST


def test_import_draws_in_numpy_and_the_binding_only(tmp_path: Path) -> None:
    script = """
import sys
before = set(sys.modules)
import pyonert
print(*{name.partition(".")[0] for name in set(sys.modules) - before})
"""
    out = subprocess.run([sys.executable, "-c", script], check=True, stdout=subprocess.PIPE,
                         text=True, cwd=tmp_path)
    others = set(out.stdout.split()) - set(sys.stdlib_module_names) - ALLOWED
    assert "pyonert" in out.stdout.split()
    assert not others
