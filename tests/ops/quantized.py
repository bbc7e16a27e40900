# SPDX-License-Identifier: Apache-2.0
"""Models of one operator or two, quantized as converters do it, and the values they compute."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import reference
from builder import Model, Op, Quant

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
# The axis of output channels. TRANSPOSE_CONV has x and its bias one place further on.
LAYERS = {"CONV_2D": 0, "DEPTHWISE_CONV_2D": 3, "FULLY_CONNECTED": 0, "TRANSPOSE_CONV": 0}


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


def bias_of(model: Model, tensor: int) -> Op | None:
    """The layer that has this tensor as its bias."""
    return next((op for op in model.ops if op.name in LAYERS and op.name != "TRANSPOSE_CONV"
                 and tensor in op.inputs[2:]), None)


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
