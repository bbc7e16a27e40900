# SPDX-License-Identifier: Apache-2.0
"""Builds the C test programs, plain and with sanitizers, and runs each of them."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAMS = re.findall(r"^\s*'(test_\w+|check_kernels)':",
                      (ROOT / "tests/c/meson.build").read_text(), re.M)
SANITIZERS = {
    "plain": [],
    "asan": ["-Db_sanitize=address,undefined", "-Db_lundef=false", "-Dbuildtype=debug",
             "-Doptimization=1"],
    "tsan": ["-Db_sanitize=thread", "-Db_lundef=false", "-Dbuildtype=debug", "-Doptimization=1"],
    "aarch64": ["--cross-file", str(ROOT / "tools/cross/aarch64.ini")],
}
EMULATOR = ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"]


def run(*command: object, **more: object) -> subprocess.CompletedProcess:
    return subprocess.run([str(c) for c in command], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, **more)


@pytest.fixture(scope="session")
def builds(tmp_path_factory: pytest.TempPathFactory) -> dict:
    return {"root": tmp_path_factory.mktemp("c"), "done": {}}


def build(builds: dict, kind: str) -> Path:
    if kind not in builds["done"]:
        for tool in ("meson", "ninja"):
            assert shutil.which(tool), f"{tool} is part of the test extra"
        folder = builds["root"] / kind
        out = run("meson", "setup", folder, ROOT, "-Dtests=true", *SANITIZERS[kind])
        assert out.returncode == 0, out.stdout
        out = run("meson", "compile", "-C", folder)
        assert out.returncode == 0, out.stdout[-5000:]
        builds["done"][kind] = folder
    return builds["done"][kind]


@pytest.fixture(scope="session")
def case(golden: Path) -> Path:
    return golden / "cnn_softmax_cce_adam"


def check(folder: Path, program: str, case: Path, rounds: int = 40, runner: tuple = ()) -> None:
    arguments = ["--rounds", rounds] if program == "check_kernels" else [case]
    env = dict(os.environ, ASAN_OPTIONS="detect_leaks=1", UBSAN_OPTIONS="halt_on_error=1",
               TSAN_OPTIONS="halt_on_error=1")
    out = run(*runner, folder / "tests" / "c" / program, *arguments, env=env)
    assert out.returncode == 0, out.stdout[-5000:]


@pytest.mark.parametrize("program", PROGRAMS)
def test_plain(builds: dict, case: Path, program: str) -> None:
    check(build(builds, "plain"), program, case)


@pytest.mark.parametrize("program", PROGRAMS)
def test_address_and_undefined_sanitizer(builds: dict, case: Path, program: str) -> None:
    check(build(builds, "asan"), program, case)


@pytest.mark.parametrize("program", ["test_training", "test_plan"])
def test_thread_sanitizer(builds: dict, case: Path, program: str) -> None:
    check(build(builds, "tsan"), program, case)


@pytest.mark.skipif(not all(map(shutil.which, ("aarch64-linux-gnu-gcc", EMULATOR[0]))),
                    reason="no cross compiler and emulator for aarch64 (Debian: "
                           "gcc-aarch64-linux-gnu, qemu-user)")
@pytest.mark.parametrize("program", PROGRAMS)
def test_aarch64(builds: dict, case: Path, program: str) -> None:
    check(build(builds, "aarch64"), program, case, rounds=4, runner=tuple(EMULATOR))


def test_mutated_models(builds: dict, models: Path, golden: Path, tmp_path: Path) -> None:
    """Thousands of damaged model files under the sanitizers: an error text or a working session."""
    program = build(builds, "asan") / "tests" / "c" / "fuzz_load"
    seeds = [models / "f_mnist_dense.circle", models / "t_resnet_tiny.circle",
             golden / "cnn_softmax_cce_adam" / "model.circle",
             golden / "mix_ops_mse_sum_sgd" / "model.circle",
             golden / "circleplus" / "adam_cce_sum_all.circle"]
    out = run(program, "-n", 100, "-s", 1, "-o", tmp_path / "saved.circle", *seeds,
              env=dict(os.environ, UBSAN_OPTIONS="halt_on_error=1",
                       ASAN_OPTIONS="allocator_may_return_null=1"))
    assert out.returncode == 0, out.stdout[-5000:]
