# SPDX-License-Identifier: Apache-2.0
"""Checkpoints go both ways between this library and the real onert 0.1.0, where it is installed.

onert's library is driven through ctypes in a process of its own: two libraries of one SONAME do not
share a process.
"""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest
from test_golden_training import Run

PEER = importlib.util.find_spec("onert")
pytestmark = pytest.mark.skipif(PEER is None, reason="PyPI onert 0.1.0 is not installed")

DRIVER = r"""
import ctypes, json, sys
import numpy as np
lib_path, folder, steps_from, steps_to, checkpoint_in, checkpoint_out = sys.argv[1:7]
meta = json.load(open(folder + "/meta.json"))
lib = ctypes.CDLL(lib_path)
class Info(ctypes.Structure):
    _fields_ = [("rate", ctypes.c_float), ("batch", ctypes.c_uint32), ("loss", ctypes.c_int),
                ("reduction", ctypes.c_int), ("opt", ctypes.c_int), ("n", ctypes.c_int32)]
def ok(status):
    if status:
        raise SystemExit(f"onert returned status {status}")
c = meta["config"]
s = ctypes.c_void_p()
ok(lib.nnfw_create_session(ctypes.byref(s)))
ok(lib.nnfw_load_model_from_file(s, (folder + "/model.circle").encode()))
ok(lib.nnfw_set_available_backends(s, b"train"))
info = Info(c["learning_rate"]["value"], c["batch_size"], {"MSE": 1, "CCE": 2}[c["loss"]],
            {"SUM_OVER_BATCH_SIZE": 1, "SUM": 2}[c["reduction"]],
            {"SGD": 1, "ADAM": 2}[c["optimizer"]], c["num_of_trainable_ops"])
ok(lib.nnfw_train_set_traininfo(s, ctypes.byref(info)))
ok(lib.nnfw_train_prepare(s))
if checkpoint_in != "-":
    ok(lib.nnfw_train_import_checkpoint(s, checkpoint_in.encode()))
x, y = np.load(folder + "/input.npy"), np.load(folder + "/expected.npy")
losses = []
for t in range(int(steps_from), int(steps_to)):
    a, b = (np.ascontiguousarray(v[t % len(v)]) for v in (x, y))
    ok(lib.nnfw_train_set_input(s, 0, a.ctypes.data_as(ctypes.c_void_p), None))
    ok(lib.nnfw_train_set_expected(s, 0, b.ctypes.data_as(ctypes.c_void_p), None))
    ok(lib.nnfw_train(s, True))
    value = ctypes.c_float()
    ok(lib.nnfw_train_get_loss(s, 0, ctypes.byref(value)))
    losses.append(value.value)
if checkpoint_out != "-":
    ok(lib.nnfw_train_export_checkpoint(s, checkpoint_out.encode()))
print("LOSSES", json.dumps(losses))
"""


def onert(folder: Path, first: int, last: int, read: object = "-", write: object = "-") -> list:
    library = Path(PEER.origin).parent / "native" / "libonert.so"
    out = subprocess.run(
        [sys.executable, "-c", DRIVER, str(library), str(folder), str(first), str(last), str(read),
         str(write)], capture_output=True, text=True)
    line = [x for x in out.stdout.splitlines() if x.startswith("LOSSES ")]
    assert line, out.stdout + out.stderr
    return json.loads(line[0][7:])


CASES = ["cnn_softmax_cce_adam", "cnn_softmax_cce_sgd", "dense_conv_adam", "dense_conv_sgd"]


@pytest.mark.parametrize("name", CASES)
def test_onert_continues_from_our_checkpoint(golden: Path, tmp_path: Path, name: str) -> None:
    run = Run(golden / name)
    for t in range(3):
        run.step(t)
    run.session.train_export_checkpoint(tmp_path / "ours")
    mine = [run.step(t) for t in range(3, 8)]
    theirs = onert(golden / name, 3, 8, read=tmp_path / "ours")
    assert theirs == pytest.approx(mine, rel=2e-5)


@pytest.mark.parametrize("name", CASES)
def test_we_continue_from_a_checkpoint_of_onert(golden: Path, tmp_path: Path, name: str) -> None:
    onert(golden / name, 0, 3, write=tmp_path / "theirs")
    theirs = onert(golden / name, 3, 8, read=tmp_path / "theirs")
    run = Run(golden / name)
    run.session.train_import_checkpoint(tmp_path / "theirs")
    assert [run.step(t) for t in range(3, 8)] == pytest.approx(theirs, rel=2e-5)
