# SPDX-License-Identifier: Apache-2.0
"""Circle files that carry training information, against what onert 0.1.0 makes of them."""

import json
from pathlib import Path

import numpy as np
import pytest
from test_golden_training import compare_checkpoints

from pyonert._session import NnfwSession
from pyonert.errors import OnertError

FILES = ["sgd_mse_all", "adam_cce_sum_last", "adam_cce_sum_all", "none_ops", "first_op_only",
         "sparse_cce_rejected", "batch0"]


def recorded(golden: Path, name: str) -> dict:
    cases = json.loads((golden / "circleplus" / "expected.json").read_text())
    return next(c for c in cases if c["file"] == f"{name}.circle")


def train(s: NnfwSession, golden: Path, steps: int) -> list:
    x = np.load(golden / "circleplus" / "input.npy")
    y = np.load(golden / "circleplus" / "expected.npy")
    if x.ndim == 2:
        x, y = x[None], y[None]
    losses = []
    for t in range(steps):
        s.train_set_input(0, x[t % len(x)])
        s.train_set_expected(0, y[t % len(y)])
        s.train_run(True)
        losses.append(s.train_get_loss(0))
    return losses


def cross_entropy(path: Path, golden: Path) -> float:
    """Sum over the batch of the cross-entropy of the model's logits, in float64."""
    x = np.load(golden / "circleplus" / "input.npy")
    y = np.load(golden / "circleplus" / "expected.npy")
    x, y = (x, y) if x.ndim == 2 else (x[0], y[0])
    total = 0.0
    s = NnfwSession()
    s.load_model_from_file(path)
    s.prepare()
    out = np.empty(s.output_tensorinfo(0).dims, np.float32)
    s.set_output(0, out)
    for row, label in zip(x, y):
        s.set_input(0, row[None])
        s.run()
        z = out[0].astype(np.float64) - out[0].max()
        total += float((label * (np.log(np.exp(z).sum()) - z)).sum())
    return total


@pytest.mark.parametrize("name", FILES)
def test_as_onert(golden: Path, tmp_path: Path, name: str) -> None:
    case = recorded(golden, name)
    path = golden / "circleplus" / f"{name}.circle"
    s = NnfwSession()
    if case["load"]:
        with pytest.raises(OnertError, match="(?i)sparse"):
            s.load_model_from_file(path)
        return
    s.load_model_from_file(path)
    info = case["get_traininfo"]
    # Where the trained operators are not the last ones the C call fails with INVALID_STATE and -2;
    # the Python call returns what it has.
    mine = s.train_get_traininfo()
    assert mine.learning_rate == pytest.approx(info["learning_rate"])
    assert (mine.batch_size, int(mine.opt)) == (info["batch_size"], info["opt"])
    assert int(mine.loss_info.loss) == info["loss"]
    assert int(mine.loss_info.reduction_type) == info["reduction"]
    assert mine.num_of_trainable_ops == info["num_of_trainable_ops"]
    if case["prepare"]:
        with pytest.raises(OnertError, match="batch size is 0"):
            s.train_prepare()
        return
    s.train_prepare()
    losses = train(s, golden, 3)
    if name == "adam_cce_sum_last":
        # Nothing is trained: onert then takes the logarithm of raw logits, we do not.
        assert losses == pytest.approx([cross_entropy(path, golden)] * 3, rel=2e-5)
    else:
        assert losses == pytest.approx(case["train_loss"], rel=2e-5)
    recorded_file = golden / "circleplus" / f"{name}.step3.ckpt"
    if recorded_file.exists():
        s.train_export_checkpoint(tmp_path / "mine")
        raw = np.fromfile(recorded_file, np.uint32, count=1, offset=16)[0]
        order = [{"name": f"entry {i}", "dtype": "float32", "origin_tensor": i,
                  "copy_for_op": None} for i in range(raw)]
        compare_checkpoints(tmp_path / "mine", recorded_file, order, set())


def test_export_and_load_again(golden: Path, tmp_path: Path) -> None:
    s = NnfwSession()
    s.load_model_from_file(golden / "circleplus" / "sgd_mse_all.circle")
    s.train_prepare()
    train(s, golden, 2)
    s.train_export_circleplus(tmp_path / "plus.circle")
    expected = train(s, golden, 1)
    again = NnfwSession()
    again.load_model_from_file(tmp_path / "plus.circle")
    assert again.train_get_traininfo().num_of_trainable_ops == -1
    again.train_prepare()
    assert train(again, golden, 1) == expected


def test_export_from_a_model_in_memory(golden: Path, tmp_path: Path) -> None:
    data = (golden / "circleplus" / "sgd_mse_all.circle").read_bytes()
    s = NnfwSession()
    s.load_circle_from_buffer(data)
    s.train_prepare()
    train(s, golden, 2)
    s.train_export_circle(tmp_path / "trained.circle")
    expected = train(s, golden, 1)
    again = NnfwSession()
    again.load_model_from_file(tmp_path / "trained.circle")
    again.train_prepare()
    assert train(again, golden, 1) == expected
