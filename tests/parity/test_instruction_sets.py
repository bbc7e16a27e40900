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


def lacks(isa: str) -> bool:
    cpu = Path("/proc/cpuinfo")
    return bool(FLAGS[isa]) and FLAGS[isa] not in (cpu.read_text().split() if cpu.exists() else ())


@pytest.mark.parametrize("isa", OF_MACHINE.get(platform.machine(), ("base",)))
def test_golden_trainings_and_gradients(isa: str) -> None:
    if lacks(isa):
        pytest.skip(f"this CPU has no {isa}")
    out = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider",
                          *map(str, SELECTED)], cwd=TESTS, text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         env=dict(os.environ, ONERT_ISA=isa))
    assert out.returncode == 0, out.stdout[-5000:]


def test_the_mask_chooses_the_kernels(models: Path, tmp_path: Path) -> None:
    """Sums of another order, and products that are rounded or not, differ in the last bits."""
    best = OF_MACHINE.get(platform.machine(), ("base",))[1:2]
    if not best or lacks(best[0]):
        pytest.skip("this CPU has the baseline only")
    script = """if True:
        import sys
        from pathlib import Path
        from pyonert.native.types import optimizer
        from test_same_bits import train
        print(train(Path(sys.argv[1]), optimizer.SGD, 1, Path(sys.argv[2])))
    """
    model = models / "t_resnet_tiny.circle"
    said = [subprocess.run([sys.executable, "-c", script, model, tmp_path],
                           cwd=TESTS / "parity", check=True, text=True, stdout=subprocess.PIPE,
                           env=dict(os.environ, ONERT_ISA=isa)).stdout
            for isa in ("base", *best)]
    assert said[0] != said[1]
