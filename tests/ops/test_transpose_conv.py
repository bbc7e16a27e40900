# SPDX-License-Identifier: Apache-2.0
"""TRANSPOSE_CONV: geometry, crops, bias, activations, and output shapes that are computed."""

import numpy as np
import pytest
from builder import Model
from opcheck import check_case, check_training

# Image [N,h,w,I], filters, rows and columns of the kernel, strides, output rows and columns.
GEOMETRY = [
    ((1, 3, 3, 2), 3, (2, 2), (2, 2), (6, 6)), ((1, 3, 4, 2), 2, (3, 3), (1, 1), (3, 4)),
    ((1, 3, 4, 2), 2, (3, 3), (1, 1), (5, 6)), ((1, 2, 3, 1), 4, (3, 2), (2, 3), (4, 9)),
    ((1, 2, 3, 3), 1, (4, 4), (2, 2), (4, 6)), ((1, 2, 2, 2), 2, (1, 1), (2, 3), (4, 6)),
    ((2, 2, 3, 2), 3, (2, 3), (2, 1), (4, 3)), ((1, 1, 5, 2), 2, (1, 5), (1, 2), (1, 10)),
    ((1, 2, 2, 17), 19, (2, 2), (2, 2), (4, 4)), ((1, 3, 3, 2), 2, (3, 3), (2, 2), (7, 7)),
    ((1, 3, 3, 2), 2, (3, 3), (2, 2), (4, 5)),
]
ACTIVATIONS = ["NONE", "RELU", "RELU6", "RELU_N1_TO_1", "TANH"]


def filters(m: Model, n: int, kernel: tuple, channels: int) -> int:
    return m.const(m.rng.normal(size=(n, *kernel, channels)) / np.sqrt(channels * 4))


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("i", range(len(GEOMETRY)))
def test_geometry(i: int, padding: str) -> None:
    shape, n, kernel, strides, size = GEOMETRY[i]
    act = ACTIVATIONS[(i + (padding == "SAME")) % 5]

    def build(m: Model) -> None:
        bias = [[m.weights(n)], [-1], [], [m.weights(1, 1, 1, n)]][(i + 3) % 4]
        m.output(m.op("TRANSPOSE_CONV", m.ints(shape[0], *size, n),
                      filters(m, n, kernel, shape[3]), m.input(*shape), *bias, padding=padding,
                      stride_h=strides[0], stride_w=strides[1], act=act))

    check_case(build, f"TRANSPOSE_CONV {i} {padding}")


def test_filter_that_depends_on_the_data() -> None:
    def build(m: Model) -> None:
        m.output(m.op("TRANSPOSE_CONV", m.ints(1, 4, 4, 2), m.input(2, 3, 3, 2, scale=1),
                      m.input(1, 2, 2, 2), m.input(2), stride_h=2, stride_w=2, act="TANH"))

    check_case(build, "TRANSPOSE_CONV data filter")


def test_constant_image() -> None:
    def build(m: Model) -> None:
        m.output(m.op("TRANSPOSE_CONV", m.ints(1, 4, 4, 2), m.input(2, 3, 3, 2),
                      m.weights(1, 2, 2, 2), stride_h=2, stride_w=2))

    check_case(build, "TRANSPOSE_CONV constant image")


def test_output_shape_from_the_input() -> None:
    """As Keras exports it: batch and sizes are taken from SHAPE and packed again."""
    def build(m: Model) -> None:
        x = m.input(1, 3, 4, 2)
        size = m.op("SHAPE", x, out_type=2)
        dims = [m.op("STRIDED_SLICE", size, m.ints(i), m.ints(i + 1), m.ints(1),
                     shrink_axis_mask=1) for i in range(3)]
        doubled = [m.op("MUL", d, m.scalar(2)) for d in dims[1:]]
        shape = m.op("PACK", dims[0], *doubled, m.scalar(3), axis=0, values_count=4)
        m.output(m.op("TRANSPOSE_CONV", shape, filters(m, 3, (3, 3), 2), x, m.weights(3),
                      stride_h=2, stride_w=2, act="TANH"))

    check_case(build, "TRANSPOSE_CONV computed shape")


@pytest.mark.parametrize("stride", [1, 2])
def test_autoencoder(stride: int) -> None:
    """A residual, and a gradient that is added up: the code is used twice."""
    def build(m: Model) -> None:
        options = {"stride_h": stride, "stride_w": stride}
        x = m.input(1, 4, 6, 2)
        code = m.op("CONV_2D", x, filters(m, 3, (3, 3), 2), m.weights(3), act="TANH", **options)
        w = filters(m, 2, (3, 3), 3)
        y = [m.op("TRANSPOSE_CONV", m.ints(1, 4, 6, 2), w, code, m.weights(2), **options)
             for _ in range(2)]
        m.output(m.op("ADD", m.op("ADD", y[0], x, act="RELU6"), y[1]))

    check_case(build, f"autoencoder {stride}")


def test_larger() -> None:
    m = Model(probe="MUL")
    m.output(m.op("TRANSPOSE_CONV", m.ints(1, 18, 22, 37), filters(m, 37, (3, 3), 19),
                  m.input(1, 9, 11, 19), m.weights(37), stride_h=2, stride_w=2, act="TANH"))
    check_training(m, 3)
