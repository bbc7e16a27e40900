# SPDX-License-Identifier: Apache-2.0
"""README.md is true: its Python, C and shell snippets run."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pyonert import demo

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.M | re.S)


def run(command: object, cwd: Path, **env: str) -> str:
    out = subprocess.run(
        command,
        cwd=cwd,
        shell=isinstance(command, str),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, **env},
    )
    assert out.returncode == 0, out.stdout[-4000:]
    return out.stdout


def test_every_block_is_covered() -> None:
    assert [len(blocks(x)) for x in ("sh", "python", "c")] == [4, 1, 1]
    assert len(re.findall(r"^```\w", README, re.M)) == 6


def test_python(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(blocks("python")[0])
    text = run([sys.executable, "train.py"], tmp_path)
    assert re.search(
        r"^Epoch 2/2 - Train time: \S+ms/step - Train Loss: \S+ - Validation Loss: ", text, re.M
    ), text
    assert (tmp_path / "digits.ckpt").stat().st_size > 0
    assert (tmp_path / "digits_trained.circle").stat().st_size > 0


def test_the_two_commands() -> None:
    first, second = blocks("sh")[:2]
    assert first.strip() == "pip install '.[demo]' && pyonert demo"
    assert second.strip() == "pip install '.[test]' && pytest"
    extras = re.search(
        r"\[project.optional-dependencies\]\n(.*?)\n\n", (ROOT / "pyproject.toml").read_text(), re.S
    ).group(1)
    assert re.findall(r"^(\w+) =", extras, re.M) == ["demo", "test"]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the third shell block installs."""
    prefix = tmp_path_factory.mktemp("prefix")
    source = tmp_path_factory.mktemp("source") / "pyonert"
    shutil.copytree(ROOT, source, ignore=shutil.ignore_patterns(".git", "build*", "*.so"))
    setup = blocks("sh")[2].strip().splitlines()[0]
    run(setup, source, PREFIX=str(prefix))
    return prefix


def compile_example(folder: Path, installed: Path, command: str, name: str) -> Path:
    (folder / name).write_text(blocks("c")[0])
    pkgconfig = next(installed.rglob("onert.pc")).parent
    run(command, folder, PKG_CONFIG_PATH=str(pkgconfig))
    return next(installed.rglob("libonert.so")).parent


@pytest.mark.skipif(not shutil.which("pkg-config"), reason="pkg-config is not installed")
@pytest.mark.parametrize(
    "command, name",
    [
        (blocks("sh")[2].strip().splitlines()[1], "train.c"),
        (
            "gcc -std=c11 -pedantic -Wall -Wextra -Werror train.c "
            "$(pkg-config --cflags --libs onert) -o train",
            "train.c",
        ),
        (
            "g++ -std=c++17 -pedantic -Wall -Wextra -Werror train.cc "
            "$(pkg-config --cflags --libs onert) -o train",
            "train.cc",
        ),
    ],
)
def test_c_against_the_installed_tree(
    installed: Path, tmp_path: Path, command: str, name: str
) -> None:
    library = compile_example(tmp_path, installed, command, name)
    text = run(["./train", str(demo.MODEL_PATH)], tmp_path, LD_LIBRARY_PATH=str(library))
    losses = [float(x) for x in re.findall(r"loss (\S+)", text)]
    assert len(losses) == 20 and losses[-1] < losses[0]
    assert (tmp_path / "c.ckpt").exists() and (tmp_path / "c_trained.circle").exists()


def test_command_line(tmp_path: Path) -> None:
    images, labels = demo.load_digits()
    images.tofile(tmp_path / "images.bin")
    labels.astype(np.float32).tofile(tmp_path / "labels.bin")
    shutil.copy(demo.MODEL_PATH, tmp_path / "digits.circle")
    text = run(blocks("sh")[3], tmp_path)
    assert re.search(
        r"^Epoch 3/3 - time: \S+ms/step - loss: \[0\] \S+ - categorical_accuracy: "
        r"\[0\] \S+ - val_loss: \[0\] \S+ - val_categorical_accuracy: \[0\] \S+$",
        text,
        re.M,
    ), text
    assert (tmp_path / "digits.ckpt").exists()
