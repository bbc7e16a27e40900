# SPDX-License-Identifier: Apache-2.0
"""`pyonert demo` and the other commands."""

import json
import re

import numpy as np
import pytest

import pyonert
from pyonert.cli import main
from pyonert.demo import load_digits


@pytest.fixture(autouse=True)
def need_extras():
    pytest.importorskip("matplotlib")
    pytest.importorskip("tqdm")


def test_digits():
    images, labels = load_digits()
    assert images.shape == (1797, 8, 8, 1) and images.dtype == np.float32
    assert images.min() == 0 and images.max() == 1
    assert labels.shape == (1797, 10) and (labels.sum(axis=1) == 1).all()
    assert (labels.sum(axis=0) > 170).all()


def test_demo_and_resume(tmp_path, capsys):
    folder = tmp_path / "out"
    assert main(["demo", "--output", str(folder), "--epochs", "6"]) == 0
    out, err = capsys.readouterr()
    lines = [line for line in out.splitlines() if line.startswith("Epoch ")]
    assert len(lines) == 6 and lines[5].startswith("Epoch 6/6 - Train time: ")
    assert "Epoch 1/6" in err
    accuracy = float(re.search(r"CategoricalAccuracy: (\S+)", lines[-1])[1])
    assert accuracy >= 0.95
    # The trained model, loaded again, reads as many digits right as the session that trained it.
    right, total = map(int, re.search(r"reads (\d+) of (\d+) digits", out).groups())
    assert total == 360 and right / total == pytest.approx(accuracy, abs=1e-4)
    for name in ("digits.ckpt", "digits_trained.circle", "history.json", "learning_curves.png"):
        assert (folder / name).stat().st_size > 0 and str(folder / name) in out
    assert (folder / "learning_curves.png").read_bytes()[1:4] == b"PNG"

    assert (
        main(["demo", "--output", str(folder), "--epochs", "1", "--resume", "--no-progress"]) == 0
    )
    out, err = capsys.readouterr()
    assert "resumed after epoch 6" in out and "Epoch 7/7" in out and err == ""
    epochs = json.loads((folder / "history.json").read_text())["epochs"]
    assert [e["epoch"] for e in epochs] == [1, 2, 3, 4, 5, 6, 7]
    # An untrained network would start at ln 10 = 2.3.
    assert epochs[6]["loss"] < 2 * epochs[5]["loss"] < epochs[0]["loss"]


def test_nothing_to_resume(tmp_path, capsys):
    assert main(["demo", "--output", str(tmp_path), "--resume"]) == 1
    assert re.search(r"nothing to resume: .*history.json is missing", capsys.readouterr().err)
    (tmp_path / "history.json").write_text("{")
    assert main(["demo", "--output", str(tmp_path), "--resume"]) == 1
    assert "is not a history" in capsys.readouterr().err


def test_info(digits_cnn, capsys):
    assert main(["info", str(digits_cnn)]) == 0
    assert capsys.readouterr().out == (
        f"model: {digits_cnn}\ninput 0:  float32 [1, 8, 8, 1]\noutput 0: float32 [1, 10]\n"
    )
    assert main(["info", "none.circle"]) == 1
    assert "none.circle" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["demo", "--epochs", "0"], ["dance"]])
def test_usage(arguments):
    with pytest.raises(SystemExit) as e:
        main(arguments)
    assert e.value.code == 2


def test_version(capsys):
    with pytest.raises(SystemExit) as e:
        main(["--version"])
    assert e.value.code == 0
    assert capsys.readouterr().out == f"pyonert {pyonert.__version__}\n"
