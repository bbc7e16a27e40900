# SPDX-License-Identifier: Apache-2.0
"""The published Python contract of onert, and a script written for it."""

import importlib
import inspect
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import pyonert
from pyonert import infer, train
from pyonert.native import libnnfw_api_pybind as native

# Parameters that onert has, in its order; those behind them are this package's own.
CONTRACT = {
    infer.session: ["path", "backends='cpu'"],
    infer.session.infer: ["inputs_array", "*measure=False"],
    train.session: ["nnpackage_path", "backends='train'"],
    train.session.compile: ["optimizer", "loss", "metrics=()", "batch_size=16"],
    train.session.train: ["data_loader", "epochs", "validation_split=0.0", "checkpoint_path=None"],
    train.session.train_step: ["inputs", "expecteds"],
    train.session.eval_step: ["inputs", "expecteds"],
    train.session.set_inputs: ["size", "inputs_array=()"],
    train.session.get_inputs_tensorinfo: [],
    train.session.get_outputs_tensorinfo: [],
    train.DataLoader: [
        "input_dataset",
        "expected_dataset",
        "batch_size",
        "input_shape=None",
        "expected_shape=None",
        "dtype=<class 'numpy.float32'>",
    ],
    train.DataLoader.split: ["validation_split"],
    train.optimizer.SGD: ["learning_rate=0.001", "momentum=0.0"],
    train.optimizer.Adam: [
        "learning_rate=0.001",
        "beta1=0.9",
        "beta2=0.999",
        "epsilon=1e-07",
    ],
    train.losses.MeanSquaredError: ["reduction='mean'"],
    train.losses.CategoricalCrossentropy: ["reduction='mean'"],
    train.metrics.Metric.update_state: ["outputs", "expecteds"],
    train.metrics.Metric.reset_state: [],
    train.metrics.Metric.result: [],
    native.nnfw_session: ["package_file_path", "backends"],
    native.nnfw_session.set_input_tensorinfo: ["index", "tensor_info"],
    native.nnfw_session.prepare: [],
    native.nnfw_session.run: [],
    native.nnfw_session.run_async: [],
    native.nnfw_session.wait: [],
    native.nnfw_session.set_input: ["index", "buffer"],
    native.nnfw_session.input_size: [],
    native.nnfw_session.output_size: [],
    native.nnfw_session.set_input_layout: ["index", "layout='NONE'"],
    native.nnfw_session.input_tensorinfo: ["index"],
    native.nnfw_session.output_tensorinfo: ["index"],
    native.nnfw_session.get_output: ["index"],
    native.nnfw_session.set_prepare_config: ["config"],
    native.nnfw_session.train_get_traininfo: [],
    native.nnfw_session.train_set_traininfo: ["info"],
    native.nnfw_session.train_prepare: [],
    native.nnfw_session.train: ["update_weights=True"],
    native.nnfw_session.train_get_loss: ["index"],
    native.nnfw_session.train_set_input: ["index", "buffer"],
    native.nnfw_session.train_set_expected: ["index", "buffer"],
    native.nnfw_session.train_set_output: ["index", "buffer"],
    native.nnfw_session.train_export_circle: ["path"],
    native.nnfw_session.train_import_checkpoint: ["path"],
    native.nnfw_session.train_export_checkpoint: ["path"],
}


@pytest.mark.parametrize("function", CONTRACT, ids=lambda f: f.__qualname__)
def test_signature(function):
    parameters = [p for p in inspect.signature(function).parameters.values() if p.name != "self"]
    wanted = CONTRACT[function]
    for parameter, text in zip(parameters, wanted):
        keyword_only = parameter.kind is parameter.KEYWORD_ONLY
        default = "" if parameter.default is parameter.empty else f"={parameter.default!r}"
        assert ("*" if keyword_only else "") + parameter.name + default == text
    assert len(parameters) >= len(wanted)
    for extra in parameters[len(wanted) :]:
        assert extra.kind is extra.KEYWORD_ONLY and extra.default is not extra.empty


def test_session_objects_have_the_native_methods():
    names = [n for n, _ in inspect.getmembers(native.nnfw_session, inspect.isfunction)]
    for cls in (train.session, infer.session):
        assert all(hasattr(cls, n) for n in names if n != "train" and not n.startswith("__"))
    assert not hasattr(train.session, "train_prepair")


def test_names():
    experimental = importlib.import_module("pyonert.experimental.train")
    for name in ("session", "traininfo", "DataLoader", "optimizer", "losses", "metrics"):
        assert getattr(experimental, name) is getattr(train, name)
    for module in ("losses", "metrics", "optimizer", "dataloader", "session"):
        assert importlib.import_module(f"pyonert.experimental.train.{module}") is (
            importlib.import_module(f"pyonert.train.{module}")
        )
    assert pyonert.tensorinfo is native.tensorinfo
    assert pyonert.__version__ and infer.session.__mro__[1] is train.session.__mro__[1]
    assert native.train.traininfo is train.traininfo
    assert issubclass(native.exception.OnertError, RuntimeError)


SCRIPT = """
import argparse

import numpy as np
from onert import infer
from onert.experimental.train import DataLoader, losses, metrics, optimizer, session
from onert.native.libnnfw_api_pybind.exception import OnertError

parser = argparse.ArgumentParser()
parser.add_argument("model")
parser.add_argument("folder")
args = parser.parse_args()

sess = session(args.model, backends="train")
info = sess.get_inputs_tensorinfo()[0]
shape = (10, *info.dims[1:])
images = np.linspace(0, 1, int(np.prod(shape)), dtype=np.float32).reshape(shape)
images.tofile(args.folder + "/x.bin")
np.eye(10, dtype=np.float32).tofile(args.folder + "/y.bin")
loader = DataLoader(args.folder + "/x.bin", args.folder + "/y.bin", 4, input_shape=shape,
                    expected_shape=(10, 10))
sess.compile(optimizer.Adam(learning_rate=0.01), losses.CategoricalCrossentropy(reduction="mean"),
             metrics=[metrics.CategoricalAccuracy()], batch_size=4)
times = sess.train(loader, epochs=2, validation_split=0.2, checkpoint_path=args.folder + "/c.ckpt")
print("keys", sorted(times), len(times["EPOCH_TIMES"]))
for inputs, expecteds in loader:
    result = sess.train_step(inputs, expecteds)
    print("step", len(result["loss"]), list(result["metrics"]), result["train_time"] > 0)
print("native", sess.input_size(), sess.session.train_get_loss(0) > 0)
sess.train_import_checkpoint(args.folder + "/c.ckpt")
sess.train_export_circle(args.folder + "/t.circle")
try:
    infer.session(args.folder + "/none.circle")
except OnertError as e:
    print("error", type(e).__name__)
outputs = infer.session(args.folder + "/t.circle", backends="cpu").infer([inputs[0][:1]])
print("outputs", outputs[0].shape, outputs[0].dtype)
"""


def run_python(arguments, folder):
    """Returns what Python prints, run outside of the source tree, with this process's packages."""
    done = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_script_for_onert_runs_under_the_other_name(digits_cnn, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(re.sub(r"\bonert\b", "pyonert", SCRIPT))
    lines = run_python([script, digits_cnn, tmp_path], tmp_path).splitlines()
    assert lines[0] == "== training parameter ==" and lines[7].startswith("Epoch 1/2 - Train time:")
    assert (
        lines[9:]
        == textwrap.dedent("""\
        keys ['COMPILE', 'EPOCH_TIMES', 'EXECUTE', 'MODEL_LOAD'] 2
        step 1 ['CategoricalAccuracy'] True
        step 1 ['CategoricalAccuracy'] True
        step 1 ['CategoricalAccuracy'] True
        native 2 True
        error OnertError
        outputs (1, 10) float32""").splitlines()
    )


def test_type_stub_is_that_of_the_headers(tmp_path):
    root = Path(__file__).parents[2]
    build = root / "pyonert" / "_capi_build.py"
    headers = [
        root / "capi" / "include" / "nnfw" / f"{name}.h"
        for name in ("nnfw", "nnfw_experimental", "nnfw_internal", "onert_ext")
    ]
    out = tmp_path / "_capi.pyi"
    subprocess.run([sys.executable, build, "stub", out, *headers], check=True)
    committed = root / "pyonert" / "native" / "_capi.pyi"
    assert out.read_text() == committed.read_text()
    from pyonert.native._capi import lib

    names = re.findall(r"^    (?:def )?(\w+)[(:]", out.read_text().split("class _Lib:")[1], re.M)
    assert len(names) > 100 and all(hasattr(lib, name) for name in names)


def test_numpy_is_all_that_is_imported(tmp_path):
    code = """if True:
        import sys, numpy
        before = set(sys.modules)
        import pyonert
        for name in set(sys.modules) - before:
            file = getattr(sys.modules[name], "__file__", None) or ""
            if "-packages" in file:
                print(name.partition(".")[0])
    """
    assert set(run_python(["-c", code], tmp_path).split()) <= {"numpy", "pyonert", "_cffi_backend"}
