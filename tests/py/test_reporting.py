# SPDX-License-Identifier: Apache-2.0
"""What is printed, to the letter, and that it can be silenced."""

import builtins
import re
import sys

import numpy as np
import pytest

from pyonert import train
from pyonert.train import DataLoader, losses, metrics, optimizer
from pyonert.train.reporting import ConsoleReporter, EpochLog, ProgressBar, time_block

X, Y = np.ones((6, 3), np.float32), np.ones((6, 2), np.float32)


def test_block_and_lines(dense, capsys):
    s = train.session(dense)
    s.compile(
        optimizer.Adam(0.01),
        losses.CategoricalCrossentropy(),
        [metrics.CategoricalAccuracy()],
        batch_size=2,
    )
    assert capsys.readouterr().out == (
        "== training parameter ==\n"
        "- learning_rate        = 0.01\n"
        "- batch_size           = 2\n"
        "- loss_info            = {loss = CategoricalCrossentropy, "
        "reduction = sum over batch size}\n"
        "- optimizer            = Adam\n"
        "- num_of_trainable_ops = -1\n"
        "========================\n"
    )
    s.train(DataLoader(X, Y, 2), 2, 0.5)
    first, second = capsys.readouterr().out.splitlines()
    line = (
        r"Epoch %d/2 - Train time: \d+\.\d{3}ms/step - Train Loss: -?\d+\.\d{4}"
        r" - Validation Loss: -?\d+\.\d{4} - CategoricalAccuracy: [01]\.\d{4}"
    )
    assert re.fullmatch(line % 1, first) and re.fullmatch(line % 2, second)
    s.train(DataLoader(X, Y, 2), 1)
    assert re.fullmatch(
        r"Epoch 1/1 - Train time: \d+\.\d{3}ms/step - Train Loss: \d+\.\d{4}\n",
        capsys.readouterr().out,
    )
    s.print_time()
    assert capsys.readouterr().out.startswith("=" * 35 + "\nMODEL_LOAD   takes ")


@pytest.mark.parametrize(("rate", "text"), [(0.001, "0.001"), (1e-5, "1e-05"), (0.5, "0.5")])
def test_learning_rate(dense, capsys, rate, text):
    train.session(dense).compile(optimizer.SGD(rate), losses.MeanSquaredError("sum"))
    out = capsys.readouterr().out
    assert f"- learning_rate        = {text}\n" in out
    assert "{loss = MeanSquaredError, reduction = sum}" in out


def test_silence(dense, capsys):
    s = train.session(dense, verbose=False)
    s.compile("sgd", "mean_squared_error", batch_size=2)
    s.train(DataLoader(X, Y, 2), 2)
    s.print_time()
    assert capsys.readouterr() == ("", "")


def test_another_stream(tmp_path):
    with (tmp_path / "log").open("w") as f:
        ConsoleReporter(f).on_epoch_end(EpochLog(1, 2, 3, 4.0, 0.5))
    assert (tmp_path / "log").read_text() == (
        "Epoch 1/2 - Train time: 4.000ms/step - Train Loss: 0.5000\n"
    )


def test_time_block():
    times = {"MODEL_LOAD": 8.39494, "COMPILE": 243.6544, "EXECUTE": 3.5, "EPOCH_TIMES": [1, 2.5]}
    assert time_block(times) == (
        "===================================\n"
        "MODEL_LOAD   takes 8.3949 ms\n"
        "COMPILE      takes 243.6544 ms\n"
        "EXECUTE      takes 3.5000 ms\n"
        "- Epoch 1      takes 1.0000 ms\n"
        "- Epoch 2      takes 2.5000 ms\n"
        "==================================="
    )


def test_progress_bar(dense, capsys):
    pytest.importorskip("tqdm")
    s = train.session(dense, verbose=False)
    s.compile("sgd", "mean_squared_error", batch_size=2)
    s.train(DataLoader(X, Y, 2), 2, callbacks=[ProgressBar()])
    out, err = capsys.readouterr()
    assert out == ""
    assert re.search(r"Epoch 1/2: .* 3/6 .*loss \d.*Epoch 2/2: .* 6/6 ", err, re.S)


def test_a_missing_extra_is_named(monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.split(".")[0] in ("tqdm", "matplotlib"):
            raise ImportError(f"No module named '{name}'")
        return real(name, *args, **kwargs)

    for module in [m for m in sys.modules if m.split(".")[0] in ("tqdm", "matplotlib")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.delitem(sys.modules, "pyonert.demo.plot", raising=False)
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"tqdm.*pip install 'pyonert\[demo\]'"):
        ProgressBar()
    from pyonert.demo import run

    with pytest.raises(ImportError, match=r"matplotlib.*pip install 'pyonert\[demo\]'"):
        run("unused")
