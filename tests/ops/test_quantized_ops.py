# SPDX-License-Identifier: Apache-2.0
"""Operators on quantized tensors: the reals are computed by the reference, and rounded to the steps
of the output. One step is what the order of a sum may cost."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import reference
from builder import Model, Quant
from opcheck import infer, run_step, seed_of, training

from pyonert.errors import OnertError

ONE = {"stride_h": 1, "stride_w": 1}
POOL = {**ONE, "filter_height": 2, "filter_width": 2}
X = (1, 5, 4, 4)
CASES: dict[str, Callable] = {
    "conv": lambda m: m.op("CONV_2D", m.input(*X), m.weights(6, 3, 3, 4), m.weights(6),
                           padding="SAME", act="RELU", **ONE),
    "conv without bias": lambda m: m.op("CONV_2D", m.input(*X), m.weights(3, 2, 2, 4),
                                        padding="VALID", stride_h=2, stride_w=1),
    "depthwise": lambda m: m.op("DEPTHWISE_CONV_2D", m.input(*X), m.weights(1, 3, 3, 8),
                                m.weights(8), padding="SAME", act="RELU6", depth_multiplier=2,
                                **ONE),
    "dense": lambda m: m.op("FULLY_CONNECTED", m.input(3, 40), m.weights(7, 40), m.weights(7)),
    "transpose conv": lambda m: m.op("TRANSPOSE_CONV", m.ints(1, 10, 8, 3), m.weights(3, 2, 2, 4),
                                     m.input(*X), padding="SAME", stride_h=2, stride_w=2),
    "matmul": lambda m: m.op("BATCH_MATMUL", m.input(2, 3, 9), m.input(2, 9, 4)),
    "average pool": lambda m: m.op("AVERAGE_POOL_2D", m.input(*X), padding="SAME", **POOL),
    "max pool": lambda m: m.op("MAX_POOL_2D", m.input(*X), padding="VALID", **POOL),
    "add": lambda m: m.op("ADD", m.input(2, 5), m.input(2, 5, scale=0.7), act="RELU"),
    "add a constant": lambda m: m.op("ADD", m.input(2, 5), m.weights(5)),
    "sub": lambda m: m.op("SUB", m.input(2, 5), m.input(5, scale=9)),
    "mul": lambda m: m.op("MUL", m.input(2, 5), m.input(2, 5)),
    "div": lambda m: m.op("DIV", m.input(2, 5), m.weights(2, 5)),
    "maximum": lambda m: m.op("MAXIMUM", m.input(2, 5), m.input(2, 5, scale=1)),
    "softmax": lambda m: m.op("SOFTMAX", m.input(2, 5), beta=1.0),
    "logistic": lambda m: m.op("LOGISTIC", m.input(2, 9, scale=8)),
    "tanh": lambda m: m.op("TANH", m.input(2, 9, scale=4)),
    "relu": lambda m: m.op("RELU", m.input(2, 9)),
    "relu6": lambda m: m.op("RELU6", m.input(2, 9, scale=9)),
    "leaky relu": lambda m: m.op("LEAKY_RELU", m.input(2, 9), alpha=0.2),
    "hard swish": lambda m: m.op("HARD_SWISH", m.input(2, 9, scale=5)),
    "mean": lambda m: m.op("MEAN", m.input(*X), m.ints(1, 2), keep_dims=True),
    "sum": lambda m: m.op("SUM", m.input(*X), m.ints(3), keep_dims=False),
    "concatenation": lambda m: m.op("CONCATENATION", m.input(2, 3), m.input(2, 4, scale=5), axis=1),
    "pad": lambda m: m.op("PAD", m.input(2, 3), m.ints([[0, 0], [1, 2]])),
    "reshape": lambda m: m.op("RESHAPE", m.input(2, 3), m.ints(3, 2)),
    "transpose": lambda m: m.op("TRANSPOSE", m.input(2, 3, 4), m.ints(0, 2, 1)),
    "slice": lambda m: m.op("SLICE", m.input(2, 6), m.ints(0, 1), m.ints(2, 3)),
    "gather": lambda m: m.op("GATHER", m.weights(6, 3), m.input(2, dtype=np.int32, below=6),
                             axis=0),
    "resize": lambda m: m.op("RESIZE_BILINEAR", m.input(*X), m.ints(9, 7)),
    "two layers": lambda m: m.op("FULLY_CONNECTED", m.op(
        "RESHAPE", m.op("CONV_2D", m.input(*X), m.weights(3, 3, 3, 4), m.weights(3),
                        padding="SAME", act="RELU", **ONE), m.ints(1, 60)),
        m.weights(5, 60), m.weights(5)),
}
LAYERS = {"CONV_2D": 0, "DEPTHWISE_CONV_2D": 3, "FULLY_CONNECTED": 0}  # the axis of output channels


def span_quant(x: np.ndarray, dtype: np.dtype) -> Quant:
    """The scale and zero point that a converter picks for these reals."""
    ends = np.iinfo(dtype)
    if dtype == np.int16:
        return Quant([float(np.max(abs(x))) / ends.max], [0])
    low, high = min(float(x.min()), 0.0), max(float(x.max()), 1e-3)
    scale = (high - low) / 255
    return Quant([scale], [int(np.clip(round(ends.min - low / scale), ends.min, ends.max))])


def channel_quant(w: np.ndarray, axis: int) -> Quant:
    peaks = np.max(abs(w), axis=tuple(i for i in range(w.ndim) if i != axis))
    return Quant([float(p) / 127 for p in peaks], [0] * len(peaks), axis)


def quantize(model: Model, sample: list, dtype: np.dtype) -> None:
    """Makes a float model one that a converter would have made of it; int8 layers have channels."""
    reals = run_reals(model, sample)
    weights = {op.inputs[1]: op.name for op in model.ops if op.name in LAYERS}
    for i, t in enumerate(model.tensors):
        if t.dtype != np.float32 or (bias_of(model, i) is not None):
            continue
        t.quant = span_quant(reals[i], dtype)
        if i in weights and dtype != np.uint8:
            t.quant = channel_quant(reals[i], LAYERS[weights[i]])
        t.dtype = np.dtype(np.int8 if i in weights and dtype == np.int16 else dtype)
        if t.value is not None:
            t.value = t.quant.stored(t.value, t.dtype)
    for i, t in enumerate(model.tensors):
        layer = bias_of(model, i)
        if layer is not None:
            x, w = (model.tensors[k].quant for k in layer.inputs[:2])
            t.quant = Quant([x.scale[0] * s for s in w.scale], [0] * len(w.scale))
            t.dtype = np.dtype(np.int64 if dtype == np.int16 else np.int32)
            t.value = t.quant.stored(t.value, t.dtype)


def bias_of(model: Model, tensor: int):
    return next((op for op in model.ops if op.name in LAYERS and tensor in op.inputs[2:]), None)


def run_reals(model: Model, sample: list) -> dict:
    """The value of every tensor of a model that may be quantized."""
    values: dict = {-1: None}
    for i, t in enumerate(model.tensors):
        if t.value is not None:
            values[i] = t.quant.real(t.value) if t.quant else t.value
    for i, x in zip(model.inputs, sample):
        values[i] = model.tensors[i].quant.real(x) if model.tensors[i].quant else x
    for op in model.ops:
        operands = [values[i] for i in op.inputs]
        # Of reals, conversions make the same reals; the output's steps come below.
        converts = op.name in ("QUANTIZE", "DEQUANTIZE")
        results = operands if converts else reference.apply(op, operands)
        for i, y in zip(op.outputs, results):
            t = model.tensors[i]
            values[i] = t.quant.real(t.quant.stored(y, t.dtype)) if t.quant else y
    return values


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
