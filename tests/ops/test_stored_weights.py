# SPDX-License-Identifier: Apache-2.0
"""Weights that a file stores as float16 or int8 train as float32 copies: gradients and steps are
those of the float32 model with the same values, checkpoints keep the copies, exported models hold
them rounded to what the file stores."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from builder import Model, Quant
from opcheck import run_step, training

from pyonert._session import NnfwSession
from pyonert.native.types import optimizer

W, B = (4, 6), (4,)
KINDS = ["float16", "int8", "int8 behind DEQUANTIZE"]
SCALES = Quant([0.02, 0.03, 0.015, 0.01], [0, 0, 0, 0])


def weights_of(model: Model, kind: str) -> tuple[int, np.ndarray]:
    """Adds stored weights; returns the tensor a layer takes, and the reals."""
    values = model.rng.uniform(-1, 1, W)
    if kind == "float16":
        t = model.bits(values, np.float16)
        real = model.tensors[t].value.astype(np.float32)
    else:
        q = SCALES.stored(values, np.dtype(np.int8))
        t = model.bits(q, np.int8)
        model.tensors[t].quant = SCALES
        real = SCALES.real(q).astype(np.float32)
    return (t if kind == "int8" else model.op("DEQUANTIZE", t, shape=W)), real


def models(kind: str) -> tuple[Model, Model]:
    """A layer with stored weights, and the same in float32; the weights are tensor 1 or 2 there."""
    stored, plain = Model(), Model()
    x = stored.input(1, 6)
    w, real = weights_of(stored, kind)
    b = np.linspace(-1, 1, 4)
    stored.output(stored.op("FULLY_CONNECTED", x, w, stored.const(b), shape=(1, 4)))
    x = plain.input(1, 6)
    plain.output(plain.op("FULLY_CONNECTED", x, plain.const(real), plain.const(b)))
    return stored, plain


def data(model: Model) -> tuple[list, list]:
    rng = np.random.default_rng(8)
    samples = [model.draw(rng) for _ in range(3)]
    return samples, [[rng.uniform(-1, 1, (1, 4)).astype(np.float32)] for _ in samples]


def parameters(s: NnfwSession) -> list[np.ndarray]:
    return [s.train_get_parameter(i) for i in range(s.train_parameter_count())]


@pytest.mark.parametrize("opt", [optimizer.SGD, optimizer.ADAM])
@pytest.mark.parametrize("kind", KINDS)
def test_training(kind: str, opt: optimizer, tmp_path: Path) -> None:
    stored, plain = models(kind)
    samples, labels = data(plain)
    a, b = (training(m, 3, rate=0.05, opt=opt) for m in (stored, plain))
    for _ in range(3):
        one, other = run_step(a, stored, samples, labels, 3), run_step(b, plain, samples, labels, 3)
        assert one.losses == pytest.approx(other.losses, rel=1e-6)
        assert len(one.gradients) == 2
    ours = sorted(parameters(a), key=lambda v: v.size)
    theirs = sorted(parameters(b), key=lambda v: v.size)
    for v, wanted in zip(ours, theirs):
        np.testing.assert_allclose(v.ravel(), wanted.ravel(), rtol=1e-5, atol=1e-6)
    # A checkpoint keeps what is trained exactly.
    a.train_export_checkpoint(tmp_path / "c")
    resumed = training(stored, 3, rate=0.05, opt=opt)
    resumed.train_import_checkpoint(tmp_path / "c")
    for v, wanted in zip(parameters(resumed), parameters(a)):
        np.testing.assert_array_equal(v, wanted)
    assert run_step(resumed, stored, samples, labels, 3).losses == \
        run_step(a, stored, samples, labels, 3).losses
    # An exported model holds it as the file stores it.
    trained = sorted(parameters(a), key=lambda v: v.size)[1].reshape(W)
    a.train_export_circle(tmp_path / "m.circle")
    again = NnfwSession()
    again.load_model_from_file(tmp_path / "m.circle")
    again.prepare()
    bias = sorted(parameters(a), key=lambda v: v.size)[0].ravel()
    if kind == "float16":
        kept = trained.astype(np.float16).astype(np.float64)
    else:
        kept = SCALES.real(SCALES.stored(trained.astype(np.float64), np.dtype(np.int8)))
    for (x,) in samples:
        y = np.empty((1, 4), np.float32)
        given = x.copy()
        again.set_input(0, given)
        again.set_output(0, y)
        again.run()
        np.testing.assert_allclose(y, x @ kept.T + bias, rtol=1e-5, atol=1e-5)
