# SPDX-License-Identifier: Apache-2.0
"""Operators that a model file gets wrong are refused, in a line that names operator and defect."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest
from builder import Model
from opcheck import training

from pyonert._session import NnfwSession
from pyonert.errors import OnertError

ONE = {"stride_h": 1, "stride_w": 1}
POOL = {**ONE, "filter_height": 2, "filter_width": 2}


def conv(x: tuple = (1, 4, 4, 4), w: tuple = (4, 2, 2, 4), *rest: tuple, op: str = "CONV_2D",
         **options: object) -> Callable:
    return lambda m: m.op(op, m.input(*x), m.weights(*w), *[m.weights(*r) for r in rest],
                          shape=(1, 1, 1, 1), **{**ONE, **options})


def depthwise(x: tuple = (1, 4, 4, 2), w: tuple = (1, 2, 2, 2), *rest: tuple,
              **options: object) -> Callable:
    return conv(x, w, *rest, op="DEPTHWISE_CONV_2D", **options)


def pool(op: str, x: tuple = (1, 4, 4, 2), **options: object) -> Callable:
    return lambda m: m.op(op, m.input(*x), shape=(1, 1, 1, 1), **{**POOL, **options})


def dense(x: tuple = (1, 4), w: tuple = (3, 4), *rest: tuple, **options: object) -> Callable:
    return lambda m: m.op("FULLY_CONNECTED", m.input(*x), m.weights(*w),
                          *[m.weights(*r) for r in rest], shape=(1, 3), **options)


def with_ints(op: str, x: tuple, *ints: list, **options: object) -> Callable:
    return lambda m: m.op(op, m.input(*x), *[m.ints(i) for i in ints], shape=(1, 1), **options)


def of_data(op: str, x: tuple, n: int, at: int = 1, operands: int = 2) -> Callable:
    """Operand `at`, which must be constant, is an input of the model."""
    def build(m: Model) -> int:
        rest = [m.input(*([n] if isinstance(n, int) else n), dtype=np.int32) if i == at
                else m.ints([1] * n) for i in range(1, operands)]
        return m.op(op, m.input(*x), *rest, shape=(1, 1))

    return build


def joined(op: str, *shapes: tuple, **options: object) -> Callable:
    return lambda m: m.op(op, *[m.input(*s) for s in shapes], shape=(1, 1), **options)


def integer(op: str, *rest: Callable, **options: object) -> Callable:
    """The first operand is int32, where a float is wanted."""
    return lambda m: m.op(op, m.input(1, 4, 4, 2, dtype=np.int32), *[r(m) for r in rest],
                          shape=(1, 1), **options)


def absent(m: Model) -> int:
    return m.op("ADD", m.input(1, 2), -1, shape=(1, 2))


def two_outputs(m: Model) -> int:
    y = m.op("TANH", m.input(1, 2))
    m.ops[-1].outputs.append(m._tensor((1, 2), np.dtype(np.float32)))
    return y


def float_axes(m: Model) -> int:
    return m.op("MEAN", m.input(1, 2), m.weights(1), shape=(1,))


def mixed(m: Model) -> int:
    return m.op("ADD", m.input(1, 4), m.ints(1, 2, 3, 4), shape=(1, 4))


def integer_activation(m: Model) -> int:
    x = m.input(4, dtype=np.int32)
    return m.op("ADD", x, m.ints(1, 2, 3, 4), shape=(4,), dtype=np.int32, act="RELU")


def transpose_conv(shape: list, w: tuple = (2, 3, 3, 4), *rest: tuple,
                   **options: object) -> Callable:
    return lambda m: m.op("TRANSPOSE_CONV", m.ints(shape), m.weights(*w), m.input(1, 3, 3, 4),
                          *[m.weights(*r) for r in rest], shape=(1, 6, 6, 2),
                          **{"stride_h": 2, "stride_w": 2, **options})


def boolean(m: Model) -> int:
    x = m.input(1, 4, dtype=np.bool_)
    return m.op("MUL", x, x, shape=(1, 4), dtype=np.bool_)


# Name, model, words of the message besides the operator's.
REFUSALS = [
    ("CONV_2D", conv(stride_h=0), "stride_h 0"),
    ("CONV_2D", conv(stride_w=-1), "stride_w -1"),
    ("CONV_2D", conv(dilation_h_factor=0), "dilation_h_factor 0"),
    ("CONV_2D", conv(padding=2), "padding 2"),
    ("CONV_2D", conv((1, 4, 4, 3), (4, 2, 2, 2)), "channels 2 3 [1,4,4,3] [4,2,2,2]"),
    ("CONV_2D", conv((1, 4, 4, 4), (3, 2, 2, 2)), "groups 3 2"),
    ("CONV_2D", conv((1, 4, 4, 4), (4, 2, 2, 4), (3,)), "bias 3 4"),
    ("CONV_2D", conv((1, 4, 4, 4), (4, 5, 2, 4), padding="VALID"), "filter [4,5,2,4] [1,4,4,4]"),
    ("CONV_2D", conv((1, 4, 4, 4), (4, 3, 2, 4), padding="VALID", dilation_h_factor=2), "dilation"),
    ("CONV_2D", conv((4, 4, 4)), "rank 4 [4,4,4]"),
    ("CONV_2D", conv((1, 4, 4, 4), (2, 2, 4)), "rank 4 [2,2,4]"),
    ("CONV_2D", conv((1, 4, 4, 4), (4, 2, 2, 4), (4,), (4,)), "4 inputs"),
    ("CONV_2D", conv(act="SIGN_BIT"), "activation 5"),
    ("CONV_2D", integer("CONV_2D", lambda m: m.weights(2, 1, 1, 2), **ONE), "int32 float32"),
    ("DEPTHWISE_CONV_2D", depthwise(stride_w=0), "stride_w 0"),
    ("DEPTHWISE_CONV_2D", depthwise(w=(1, 2, 2, 3)), "[1,2,2,3] [1,4,4,2]"),
    ("DEPTHWISE_CONV_2D", depthwise(w=(2, 2, 2, 2)), "[2,2,2,2]"),
    ("DEPTHWISE_CONV_2D", depthwise((1, 4, 4, 2), (1, 2, 2, 4), (2,)), "bias 2 4"),
    ("DEPTHWISE_CONV_2D", depthwise(w=(1, 5, 1, 2), padding="VALID"), "[1,5,1,2] [1,4,4,2]"),
    ("MAX_POOL_2D", pool("MAX_POOL_2D", stride_h=0), "stride_h 0"),
    ("AVERAGE_POOL_2D", pool("AVERAGE_POOL_2D", filter_width=0), "filter_width 0"),
    ("MAX_POOL_2D", pool("MAX_POOL_2D", filter_height=5, padding="VALID"), "5x2 [1,4,4,2]"),
    ("AVERAGE_POOL_2D", pool("AVERAGE_POOL_2D", (4, 4, 2)), "rank 4 [4,4,2]"),
    ("MAX_POOL_2D", integer("MAX_POOL_2D", **POOL), "int32 float32"),
    ("FULLY_CONNECTED", dense((1, 4), (3, 4), (3,), (3,)), "4 inputs"),
    ("FULLY_CONNECTED", dense(weights_format=1), "weights_format 1"),
    ("FULLY_CONNECTED", dense((1, 5)), "[1,5] [3,4]"),
    ("FULLY_CONNECTED", dense((1, 4), (3, 4), (4,)), "bias 4 3"),
    ("FULLY_CONNECTED", dense((1, 4), (1, 3, 4)), "rank 2 [1,3,4]"),
    ("FULLY_CONNECTED", dense((1, 2, 2), keep_num_dims=True), "[1,2,2] 4"),
    ("FULLY_CONNECTED", dense(act="SIGN_BIT"), "activation 5"),
    ("FULLY_CONNECTED", integer("FULLY_CONNECTED", lambda m: m.weights(3, 2)), "int32 float32"),
    ("TRANSPOSE_CONV", transpose_conv([1, 6, 6, 3]), "[1,6,6,3] [2,3,3,4] 2 channels"),
    ("TRANSPOSE_CONV", transpose_conv([2, 6, 6, 2]), "[2,6,6,2] 1 images"),
    ("TRANSPOSE_CONV", transpose_conv([6, 6, 2]), "3 dimensions 4"),
    ("TRANSPOSE_CONV", transpose_conv([1, 6, -1, 2]), "dimension 2 -1"),
    ("TRANSPOSE_CONV", transpose_conv([1, 6, 6, 2], (2, 3, 3, 3)), "channels 3 4"),
    ("TRANSPOSE_CONV", transpose_conv([1, 6, 6, 2], (2, 3, 3, 4), (3,)), "bias 3 2"),
    ("TRANSPOSE_CONV", transpose_conv([1, 6, 6, 2], stride_h=0), "stride_h 0"),
    ("TRANSPOSE_CONV", transpose_conv([1, 6, 6, 2], act="SIGN_BIT"), "activation 5"),
    ("ROPE", joined("ROPE", (1, 3), (3,), (3,)), "[1,3] 3 even"),
    ("ROPE", joined("ROPE", (1, 4), (4,), (2, 4)), "table 2 [2,4] [1,4]"),
    ("ROPE", joined("ROPE", (1, 4), (1,), (4,)), "table 1 [1] [1,4]"),
    ("ROPE", joined("ROPE", (1, 4), (4,), (4,), mode=2), "mode 2"),
    ("BATCH_MATMUL", joined("BATCH_MATMUL", (1, 2, 3), (1, 2, 3)), "[1,2,3] 3 columns 2 rows"),
    ("BATCH_MATMUL", joined("BATCH_MATMUL", (1, 2, 3), (1, 2, 3), adjoint_lhs=True,
                            adjoint_rhs=True), "[1,2,3] transposed 2 columns 3 rows"),
    ("BATCH_MATMUL", joined("BATCH_MATMUL", (2, 2, 2), (3, 2, 2)), "[2,2,2] [3,2,2] broadcast"),
    ("BATCH_MATMUL", joined("BATCH_MATMUL", (2,), (2, 2)), "[2] rank 2"),
    ("BATCH_MATMUL", integer("BATCH_MATMUL", lambda m: m.weights(2, 2)), "int32 float32"),
    ("TRANSPOSE", with_ints("TRANSPOSE", (1, 2, 3), [0, 1, 1]), "permutation 1"),
    ("TRANSPOSE", with_ints("TRANSPOSE", (1, 2, 3), [0, 1, 3]), "permutation 3"),
    ("TRANSPOSE", with_ints("TRANSPOSE", (1, 2, 3), [1, 0]), "permutation 2 [1,2,3]"),
    ("TRANSPOSE", of_data("TRANSPOSE", (1, 2, 3), 3), "constant"),
    ("RESHAPE", with_ints("RESHAPE", (1, 6), [2, 4]), "[1,6] [2,4]"),
    ("RESHAPE", with_ints("RESHAPE", (1, 6), [4, -1]), "[1,6] [4,-1]"),
    ("RESHAPE", with_ints("RESHAPE", (1, 6), [-1, -1]), "[-1,-1]"),
    ("RESHAPE", with_ints("RESHAPE", (1, 6), [-2, -3]), "-2"),
    ("RESHAPE", with_ints("RESHAPE", (1, 6)), "new_shape"),
    ("RESHAPE", with_ints("RESHAPE", (1, 6), new_shape=[5]), "[1,6] [5]"),
    ("RESHAPE", of_data("RESHAPE", (1, 6), 2), "constant"),
    ("SQUEEZE", with_ints("SQUEEZE", (1, 2), squeeze_dims=[1]), "1 [1,2]"),
    ("SQUEEZE", with_ints("SQUEEZE", (1, 2), squeeze_dims=[2]), "2 [1,2]"),
    ("EXPAND_DIMS", with_ints("EXPAND_DIMS", (1, 2), [3]), "axis 3 [1,2]"),
    ("EXPAND_DIMS", with_ints("EXPAND_DIMS", (1, 2), [-4]), "axis -4 [1,2]"),
    ("MEAN", with_ints("MEAN", (1, 2), [2]), "axis 2 rank"),
    ("SUM", with_ints("SUM", (1, 2), [0, -3]), "axis -3 rank"),
    ("MEAN", of_data("MEAN", (1, 6), 1), "constant"),
    ("MEAN", float_axes, "float32 int32"),
    ("SUM", integer("SUM", lambda m: m.ints(1)), "int32 float32"),
    ("PAD", of_data("PAD", (1, 2), (2, 2)), "constant"),
    ("PAD", with_ints("PAD", (1, 2), [[0, 0], [-1, 0]]), "-1"),
    ("PAD", with_ints("PAD", (1, 2), [[0, 1]]), "paddings [1,2] [2,2]"),
    ("PADV2", lambda m: m.op("PADV2", m.input(1, 2), m.ints([[0, 0], [1, 1]]), m.weights(2),
                             shape=(1, 4)), "value [2]"),
    ("CONCATENATION", joined("CONCATENATION", (1, 2), (1, 3), axis=2), "axis 2 rank"),
    ("CONCATENATION", joined("CONCATENATION", (1, 2), (2, 3), axis=1), "[1,2] [2,3] axis 1"),
    ("CONCATENATION", joined("CONCATENATION", (1, 2), (1, 2, 1), axis=1), "[1,2] [1,2,1]"),
    ("CONCATENATION", joined("CONCATENATION", (1, 2), (1, 2), axis=1, act="RELU"), "activation"),
    ("PACK", joined("PACK", (1, 2), (1, 3), axis=0, values_count=2), "[1,2] [1,3]"),
    ("PACK", joined("PACK", (1, 2), (1, 2), axis=3, values_count=2), "axis 3"),
    ("PACK", joined("PACK", (1, 2), (1, 2), axis=0, values_count=3), "values_count 3 2"),
    ("SLICE", with_ints("SLICE", (1, 4), [0, 3], [1, 2]), "3 2 [1,4]"),
    ("SLICE", with_ints("SLICE", (1, 4), [0, -1], [1, 1]), "-1 [1,4]"),
    ("SLICE", with_ints("SLICE", (1, 4), [0, 0], [1, -2]), "-2 [1,4]"),
    ("SLICE", with_ints("SLICE", (1, 4), [0], [1]), "[1,4]"),
    ("SLICE", of_data("SLICE", (1, 4), 2, 1, 3), "constant"),
    ("STRIDED_SLICE", with_ints("STRIDED_SLICE", (1, 4), [0, 0], [1, 4], [1, 0]), "stride 0"),
    ("STRIDED_SLICE", with_ints("STRIDED_SLICE", (4,), [0, 0], [1, 4], [1, 1]), "[4]"),
    ("STRIDED_SLICE", with_ints("STRIDED_SLICE", (1, 4), [0, 0], [1], [1, 1]), "ends"),
    ("STRIDED_SLICE", with_ints("STRIDED_SLICE", (1, 4), [0, 4], [1, 5], [1, 1],
                                shrink_axis_mask=2), "index 4 [1,4]"),
    ("STRIDED_SLICE", with_ints("STRIDED_SLICE", (1, 4), [0, 0], [1, 1], [1, 1], ellipsis_mask=3),
     "ellipsis"),
    ("STRIDED_SLICE", of_data("STRIDED_SLICE", (1, 4), 2, 3, 4), "constant"),
    ("SOFTMAX", joined("SOFTMAX", (), beta=1.0), "rank 0"),
    ("SOFTMAX", integer("SOFTMAX", beta=1.0), "int32 float32"),
    ("RELU", integer("RELU"), "int32 float32"),
    ("LEAKY_RELU", integer("LEAKY_RELU", alpha=0.1), "int32 float32"),
    ("LOGISTIC", joined("LOGISTIC", (1, 2), (1, 2)), "2 inputs"),
    ("TANH", two_outputs, "2 outputs"),
    ("ADD", joined("ADD", (1, 3), (1, 4)), "[1,3] [1,4]"),
    ("MUL", joined("MUL", (2, 3), (3, 2)), "[2,3] [3,2]"),
    ("SUB", joined("SUB", (1, 3), (1, 3), act="SIGN_BIT"), "activation 5"),
    ("DIV", joined("DIV", (1, 3), (1, 3), (1, 3)), "3 inputs"),
    ("ADD", absent, "input 1 absent"),
    ("ADD", mixed, "float32 int32"),
    ("ADD", integer_activation, "int32"),
    ("MUL", boolean, "bool"),
]


@pytest.mark.parametrize("i", range(len(REFUSALS)), ids=lambda i: f"{i}-{REFUSALS[i][0]}")
def test_refusal(i: int) -> None:
    op, build, words = REFUSALS[i]
    m = Model()
    m.output(build(m))
    texts = []
    with pytest.raises(OnertError) as failure:
        s = NnfwSession()
        s.load_circle_from_buffer(m.file)
        s.prepare()
    texts.append(str(failure.value))
    with pytest.raises(OnertError) as failure:
        training(m)
    texts.append(str(failure.value))
    for text in texts:
        assert "\n" not in text
        assert f"node {len(m.ops) - 1} ({op} " in text
        reason = text.split("): ", 1)[-1]
        for word in words.split():
            assert re.search(rf"(?<![\w-]){re.escape(word)}(?!\w)", reason), f"{word}: {text}"


def test_training_refuses_outputs_of_another_shape_than_declared() -> None:
    m = Model()
    m.output(m.op("TRANSPOSE", m.input(1, 2), m.ints(1, 0), shape=(1, 2)))
    with pytest.raises(OnertError, match=r"output 0 \('t2'\) .*\[2,1\].* declares \[1,2\]"):
        training(m)
