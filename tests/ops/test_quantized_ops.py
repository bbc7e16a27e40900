# SPDX-License-Identifier: Apache-2.0
"""Operators on quantized tensors: the reals are computed by the reference, and rounded to the steps
of the output. One step is what the order of a sum may cost."""

from __future__ import annotations

import numpy as np
import pytest
import reference
from builder import Model, Quant
from opcheck import infer, run_step, seed_of, training
from quantized import CASES, LAYERS, channel_quant, quantize, run_reals

from pyonert.errors import OnertError


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16])
@pytest.mark.parametrize("name", CASES)
def test_operator(name: str, dtype: type) -> None:
    model = Model(np.random.default_rng(seed_of(name)))
    model.output(CASES[name](model))
    sample = model.draw(np.random.default_rng(5))
    quantize(model, sample, np.dtype(dtype))
    given = [model.tensors[i].quant.stored(x, np.dtype(dtype)) if model.tensors[i].quant else x
             for i, x in zip(model.inputs, sample)]
    (actual,) = infer(model, given)
    y = model.tensors[model.outputs[0]]
    wanted = y.quant.stored(run_reals(model, given)[model.outputs[0]], y.dtype)
    steps = abs(actual.astype(np.int64) - wanted.astype(np.int64))
    assert np.ptp(wanted.astype(np.int64)) > 20
    assert steps.max() <= 1
    assert np.mean(steps > 0) < 0.05  # only where a real is between two steps


@pytest.mark.parametrize("name", ["conv", "depthwise", "dense"])
def test_integer_weights_of_float_activations(name: str) -> None:
    model = Model(np.random.default_rng(seed_of(name)))
    model.output(CASES[name](model))
    sample = model.draw(np.random.default_rng(5))
    w = model.tensors[model.ops[0].inputs[1]]
    before = reference.run(model, sample)[0]
    w.quant = channel_quant(w.value, LAYERS[model.ops[0].name])
    w.dtype = np.dtype(np.int8)
    w.value = w.quant.stored(w.value, w.dtype)
    (actual,) = infer(model, sample)
    wanted = run_reals(model, sample)[model.outputs[0]]
    np.testing.assert_allclose(actual, wanted, rtol=1e-5, atol=1e-5)
    assert np.max(abs(before - wanted)) > 1e-3  # the weights are those stored


def test_requantize() -> None:
    model = Model()
    x = model.input(50, dtype=np.uint8)
    model.tensors[x].quant = Quant([0.5], [3])
    y = model.op("QUANTIZE", x, shape=(50,), dtype=np.int8)
    model.tensors[y].quant = Quant([1.5], [-7])
    model.output(y)
    given = np.arange(0, 250, 5, dtype=np.uint8)
    (actual,) = infer(model, [given])
    wanted = model.tensors[y].quant.stored(model.tensors[x].quant.real(given), np.dtype(np.int8))
    np.testing.assert_array_equal(actual, wanted)


def test_integers_without_a_scale_are_refused() -> None:
    model = Model()
    model.output(model.op("LOGISTIC", model.input(4, dtype=np.int8), shape=(4,), dtype=np.int8))
    with pytest.raises(OnertError, match=r"node 0 \(LOGISTIC 't1'\).*is int8, wanted float32"):
        infer(model, [np.zeros(4, np.int8)])


def body_and_head(model: Model) -> tuple[int, int]:
    """Adds float32 -> int8 layer -> float32 layer, and returns the parameters of the last."""
    rng = np.random.default_rng(3)
    x = model.input(1, 6)
    w = model.bits(rng.integers(-127, 128, (5, 6)), np.int8)
    model.tensors[w].quant = Quant([0.01 + 0.002 * i for i in range(5)], [0] * 5)
    quantized = model.op("QUANTIZE", x, shape=(1, 6), dtype=np.int8)
    model.tensors[quantized].quant = Quant([0.02], [1])
    y = model.op("FULLY_CONNECTED", quantized, w, shape=(1, 5), dtype=np.int8, act="RELU")
    model.tensors[y].quant = Quant([0.05], [-100])
    head = model.weights(3, 5), model.weights(3)
    real = model.op("DEQUANTIZE", y, shape=(1, 5))
    model.output(model.op("FULLY_CONNECTED", real, *head, shape=(1, 3)))
    return head


def test_a_float_head_trains_on_a_frozen_int8_body() -> None:
    model = Model()
    head = body_and_head(model)
    rng = np.random.default_rng(4)
    samples = [model.draw(rng) for _ in range(3)]
    labels = [[rng.uniform(-1, 1, (1, 3)).astype(np.float32)] for _ in samples]
    s = training(model, 3, rate=0.05)
    step = run_step(s, model, samples, labels, 3)
    assert set(step.gradients) == set(head)
    features, residual = [], []
    for x, t in zip(samples, labels):
        values = run_reals(model, x)
        features.append(values[model.ops[2].outputs[0]])
        residual.append(values[model.outputs[0]] - t[0])
    wanted = sum(2 / 9 * r.T @ h for r, h in zip(residual, features))
    np.testing.assert_allclose(step.gradients[head[0]], wanted, rtol=1e-4, atol=1e-5)
    assert run_step(s, model, samples, labels, 3).losses[0] < step.losses[0]


def test_an_int8_layer_is_refused_where_it_is_chosen() -> None:
    model = Model()
    body_and_head(model)
    with pytest.raises(OnertError, match=r"node 1 \(FULLY_CONNECTED .*computes in int8"):
        training(model, last_ops=3)
    training(model, last_ops=2)
