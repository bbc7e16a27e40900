# SPDX-License-Identifier: Apache-2.0
"""Every recorded training run of onert 0.1.0: losses, checkpoints, trained models, resuming.

Two things differ by design. Weights that several operators share train as one, where onert trains a
copy for each: the files have onert's header, tables and order, and every copy holds the shared
value. And the loss of an evaluation step is the true cross-entropy also where the model ends in
logits, where onert takes the logarithm of raw logits.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from checkpoints import floats, read

import pyonert
from pyonert._session import NnfwSession
from pyonert.native.types import loss, loss_reduction, lossinfo, optimizer, traininfo

NETWORKS = [
    "cnn_logits_cce_sum_adam", "cnn_logits_cce_sum_sgd", "cnn_softmax_cce_adam",
    "cnn_softmax_cce_sgd", "dense_conv_adam", "dense_conv_sgd", "mix_ops_mse_sum_sgd",
    "mlp_partial_adam_ntr0", "mlp_partial_adam_ntr1", "mlp_partial_adam_ntr3",
    "mlp_partial_adam_ntr5", "order_28_tensors_sgd", "shared_weights_adam", "shared_weights_sgd",
]
OPS = [
    "add_none", "add_relu", "add_relu6", "avepool_same_s1_none", "avepool_same_s1_relu",
    "avepool_same_s2_relu", "avepool_valid_s1_none", "avepool_valid_s1_relu",
    "avepool_valid_s2_relu", "avepool_valid_s2_relu6", "conv_same_s1_none", "conv_same_s1_relu",
    "conv_same_s2_relu", "conv_valid_s1_none", "conv_valid_s1_relu", "conv_valid_s2_relu",
    "conv_valid_s2_relu6", "dwconv_x1_same_s1_none", "dwconv_x1_same_s1_relu",
    "dwconv_x1_same_s2_relu", "dwconv_x1_same_s2_relu6", "dwconv_x1_valid_s1_none",
    "dwconv_x1_valid_s1_relu", "dwconv_x1_valid_s2_relu", "dwconv_x1_valid_s2_relu6",
    "dwconv_x2_same_s1_none", "dwconv_x2_same_s1_relu", "dwconv_x2_same_s2_relu",
    "dwconv_x2_valid_s1_none", "dwconv_x2_valid_s1_relu", "dwconv_x2_valid_s2_relu",
    "dwconv_x2_valid_s2_relu6", "fanout3", "fc_none", "fc_relu", "fc_relu6",
    "maxpool_same_s1_none", "maxpool_same_s1_relu", "maxpool_same_s2_relu",
    "maxpool_valid_s1_none", "maxpool_valid_s1_relu", "maxpool_valid_s2_relu",
    "maxpool_valid_s2_relu6", "mean_keep1", "mul_none", "mul_relu", "pad", "relu", "relu6",
    "reshape", "softmax_mse", "sub_none", "sub_relu", "sub_relu6",
]
CASES = NETWORKS + [f"ops/{name}" for name in OPS]
LOSS = {"MSE": loss.MEAN_SQUARED_ERROR, "CCE": loss.CATEGORICAL_CROSSENTROPY}


class Run:
    """One recorded case and a session that repeats it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.meta = json.loads((folder / "meta.json").read_text())
        self.config = self.meta["config"]
        self.x = np.load(folder / "input.npy")
        self.y = np.load(folder / "expected.npy")
        self.session = self.new_session()

    def new_session(self) -> NnfwSession:
        s = NnfwSession()
        s.load_model_from_file(self.folder / "model.circle")
        s.set_available_backends("train")
        c = self.config
        s.train_set_traininfo(traininfo(
            c["learning_rate"]["value"], c["batch_size"],
            lossinfo(LOSS[c["loss"]], loss_reduction[c["reduction"]]),
            optimizer[c["optimizer"]], c["num_of_trainable_ops"]))
        s.train_prepare()
        return s

    def step(self, t: int, update: bool = True) -> float:
        s = self.session
        s.train_set_input(0, self.x[t % len(self.x)])
        s.train_set_expected(0, self.y[t % len(self.y)])
        if not update:
            self.output = np.empty_like(self.y[0])
            s.train_set_output(0, self.output)
        s.train_run(update)
        return s.train_get_loss(0)


def close(ours: bytes, theirs: bytes, what: str) -> None:
    np.testing.assert_allclose(floats(ours), floats(theirs), rtol=1e-5, atol=2e-5, err_msg=what)


def compare_checkpoints(ours: Path, theirs: Path, order: list, shared: set) -> None:
    a, b = read(ours), read(theirs)
    assert a.header == b.header
    assert a.tables == b.tables
    assert (a.step, a.epoch) == (b.step, b.epoch)
    assert ours.stat().st_size == theirs.stat().st_size
    first = {}
    for i, entry in enumerate(order):
        what = f"{entry['name']} (entry {i})"
        if entry["dtype"] != "float32":
            assert a.values[i] == b.values[i], what
            continue
        origin = entry["origin_tensor"]
        if origin in shared:
            kept = first.setdefault(origin, i)
            assert a.values[i] == a.values[kept], f"{what}: copies of a tied tensor differ"
            continue
        close(a.values[i], b.values[i], what)
        for ours_state, theirs_state in ((a.m, b.m), (a.v, b.v)):
            if ours_state:
                close(ours_state[i], theirs_state[i], f"{what} optimizer state")


def shared_tensors(order: list) -> set:
    return {e["origin_tensor"] for e in order if e["copy_for_op"] is not None}


@pytest.mark.parametrize("name", CASES)
def test_run_matches_onert(golden: Path, tmp_path: Path, name: str) -> None:
    run = Run(golden / name)
    meta = run.meta
    order = meta["checkpoint"]["order"]
    shared = shared_tensors(order)
    # After the first update of a tied weight the runs part by design.
    comparable = 1 if shared else meta["steps"]
    logits = "logits" in name
    if meta["eval_loss_before_after"] and not logits:
        expected = meta["eval_loss_before_after"][0]["value"]
        assert run.step(0, update=False) == pytest.approx(expected, rel=2e-5)
    for t in range(meta["steps"]):
        loss_value = run.step(t)
        if t < comparable:
            assert loss_value == pytest.approx(meta["train_loss"][t]["value"], rel=2e-5), t
        recorded = meta["checkpoint"]["files"].get(str(t + 1))
        if recorded:
            mine = tmp_path / recorded
            run.session.train_export_checkpoint(mine)
            compare_checkpoints(mine, run.folder / recorded, order, shared)
    if meta["eval_loss_before_after"] and not logits and not shared:
        expected = meta["eval_loss_before_after"][1]["value"]
        assert run.step(0, update=False) == pytest.approx(expected, rel=2e-5)


def test_all_recorded_cases_are_listed(golden: Path) -> None:
    found = {str(p.parent.relative_to(golden)) for p in golden.rglob("meta.json")}
    assert found == set(CASES)


@pytest.mark.parametrize("name", [n for n in NETWORKS if "logits" in n])
def test_evaluation_on_logits_is_cross_entropy(golden: Path, name: str) -> None:
    run = Run(golden / name)
    value = run.step(0, update=False)
    z = run.output.astype(np.float64)
    z -= z.max(axis=-1, keepdims=True)
    rows = (run.y[0] * (np.log(np.exp(z).sum(axis=-1, keepdims=True)) - z)).sum(axis=-1)
    assert value == pytest.approx(rows.sum(), rel=2e-5)  # these cases reduce by SUM
    # The same data in a training step has the same loss, which onert computes right.
    assert run.step(0) == pytest.approx(run.meta["train_loss"][0]["value"], rel=2e-5)


@pytest.mark.parametrize("name", ["cnn_softmax_cce_adam", "cnn_softmax_cce_sgd"])
def test_resume_is_exact(golden: Path, tmp_path: Path, name: str) -> None:
    whole = Run(golden / name)
    for t in range(8):
        whole.step(t)
        if t == 3:
            whole.session.train_export_checkpoint(tmp_path / "step4")
    whole.session.train_export_checkpoint(tmp_path / "whole")
    resumed = Run(golden / name)
    resumed.session.train_import_checkpoint(tmp_path / "step4")
    for t in range(4, 8):
        resumed.step(t)
    resumed.session.train_export_checkpoint(tmp_path / "resumed")
    assert (tmp_path / "resumed").read_bytes() == (tmp_path / "whole").read_bytes()


@pytest.mark.parametrize("name", ["cnn_softmax_cce_adam", "cnn_softmax_cce_sgd"])
def test_resume_from_a_checkpoint_of_onert(golden: Path, name: str) -> None:
    run = Run(golden / name)
    run.session.train_import_checkpoint(run.folder / "step4.ckpt")
    for t in range(4, 8):
        assert run.step(t) == pytest.approx(run.meta["train_loss"][t]["value"], rel=2e-5)


@pytest.mark.parametrize("name", ["dense_conv_adam", "cnn_softmax_cce_sgd", "mix_ops_mse_sum_sgd"])
def test_exported_model_holds_the_trained_weights(golden: Path, tmp_path: Path, name: str) -> None:
    run = Run(golden / name)
    for t in range(run.meta["steps"]):
        run.step(t)
    run.session.train_export_circle(tmp_path / "mine.circle")
    trained = Run(golden / name)
    losses = []
    for path in (tmp_path / "mine.circle", run.folder / "trained.circle"):
        run.folder, saved = path.parent, run.folder
        s = NnfwSession()
        s.load_model_from_file(path)
        s.train_set_traininfo(trained.session.train_get_traininfo())
        s.train_prepare()
        s.train_set_input(0, run.x[0])
        s.train_set_expected(0, run.y[0])
        s.train_run(True)
        losses.append(s.train_get_loss(0))
        run.folder = saved
    assert losses[0] == pytest.approx(losses[1], rel=2e-5)


def test_copies_of_a_tied_tensor_that_differ_are_told(
    golden: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run = Run(golden / "shared_weights_sgd")
    recorded = sorted(run.folder.glob("step*.ckpt"))[-1]
    pyonert.enable_logging()
    try:
        run.session.train_import_checkpoint(recorded)
    finally:
        pyonert.enable_logging(False)
    assert "differs from the tensor, whose value is taken" in caplog.text
    caplog.clear()
    run.session.train_import_checkpoint(recorded)
    assert caplog.text == ""
