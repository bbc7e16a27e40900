# SPDX-License-Identifier: Apache-2.0
"""Recorded trainings and gradients hold for the kernels of every instruction set."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
SELECTED = [TESTS / "parity" / "test_golden_training.py", TESTS / "ops" / "test_larger_shapes.py"]
FLAGS = {"base": "", "avx2": "avx2", "avx512": "avx512f", "neon": "asimd"}
OF_MACHINE = {"x86_64": ("base", "avx2", "avx512"), "aarch64": ("base", "neon")}


@pytest.mark.parametrize("isa", OF_MACHINE.get(platform.machine(), ("base",)))
def test_golden_trainings_and_gradients(isa: str) -> None:
    cpu = Path("/proc/cpuinfo")
    if FLAGS[isa] and FLAGS[isa] not in (cpu.read_text().split() if cpu.exists() else ()):
        pytest.skip(f"this CPU has no {isa}")
    out = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider",
                          *map(str, SELECTED)], cwd=TESTS, text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         env=dict(os.environ, ONERT_ISA=isa))
    assert out.returncode == 0, out.stdout[-5000:]
