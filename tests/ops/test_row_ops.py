# SPDX-License-Identifier: Apache-2.0
"""FULLY_CONNECTED, SOFTMAX, MEAN and SUM."""

import pytest
from builder import Model
from opcheck import check_case

ACTIVATIONS = ["NONE", "RELU", "RELU6", "RELU_N1_TO_1", "TANH"]
# Input, length of a row of weights, units, keep_num_dims.
DENSE = [
    ((1, 5), 5, 3, False), ((1, 5), 5, 3, True), ((1, 1), 1, 1, False), ((1, 17), 17, 19, False),
    ((3, 4), 4, 2, False), ((1, 3, 4), 4, 2, True), ((1, 3, 4), 4, 2, False),
    ((1, 3, 4), 12, 2, False), ((1, 2, 3, 4), 24, 5, False), ((1, 2, 3, 4), 4, 5, True),
    ((1, 2, 3, 4), 12, 5, False), ((3, 1, 4), 4, 2, True), ((3, 1, 4), 4, 2, False),
    ((6,), 6, 2, False), ((6,), 3, 2, False), ((6,), 6, 2, True), ((1, 8), 4, 3, False),
    ((1, 2, 1, 2, 1, 3), 3, 2, True),
]


@pytest.mark.parametrize("i", range(len(DENSE)))
@pytest.mark.parametrize("bias", ["bias", "absent", "two"])
def test_fully_connected(i: int, bias: str) -> None:
    shape, k, units, keep = DENSE[i]

    def build(m: Model) -> None:
        b = [m.weights(units)] if bias == "bias" else [-1] if bias == "absent" else []
        m.output(m.op("FULLY_CONNECTED", m.input(*shape), m.weights(units, k), *b,
                      keep_num_dims=keep, act=ACTIVATIONS[(i + len(bias)) % 5]))

    check_case(build, f"FULLY_CONNECTED {i} {bias}")


@pytest.mark.parametrize("act", ACTIVATIONS)
def test_fully_connected_activation(act: str) -> None:
    def build(m: Model) -> None:
        m.output(m.op("FULLY_CONNECTED", m.input(1, 6, scale=3), m.weights(7, 6), m.weights(7),
                      act=act))

    check_case(build, f"FULLY_CONNECTED {act}")


@pytest.mark.parametrize("shape", [(1, 3), (3, 1), (1, 1, 3)], ids=str)
def test_fully_connected_shape_of_bias(shape: tuple) -> None:
    def build(m: Model) -> None:
        m.output(m.op("FULLY_CONNECTED", m.input(2, 4), m.weights(3, 4), m.weights(*shape)))

    check_case(build, f"FULLY_CONNECTED bias {shape}")


@pytest.mark.parametrize("case", ["weights", "all", "x constant"])
def test_fully_connected_of_data(case: str) -> None:
    def build(m: Model) -> None:
        x = m.weights(2, 4) if case == "x constant" else m.input(2, 4)
        b = m.input(3) if case == "all" else m.weights(3)
        m.output(m.op("FULLY_CONNECTED", x, m.input(3, 4), b))

    check_case(build, f"FULLY_CONNECTED {case}")


@pytest.mark.parametrize("beta", [1.0, 0.5, 2.0])
@pytest.mark.parametrize("shape", [(1, 5), (5,), (3, 4), (1, 3, 4), (3, 1, 4), (1, 2, 3, 4),
                                   (1, 1), (1, 2, 1, 2, 1, 3), (1, 37)], ids=str)
def test_softmax(shape: tuple, beta: float) -> None:
    def build(m: Model) -> None:
        m.output(m.op("SOFTMAX", m.input(*shape), beta=beta))

    check_case(build, f"SOFTMAX {shape} {beta}")


def test_softmax_without_options_has_a_beta_of_1() -> None:
    check_case(lambda m: m.output(m.op("SOFTMAX", m.input(1, 4), has_options=False)),
               "SOFTMAX without options")


def test_softmax_inside_a_model() -> None:
    def build(m: Model) -> None:
        y = m.op("SOFTMAX", m.op("MUL", m.input(1, 3, 4), m.weights(4)), beta=1.0)
        m.output(m.op("MUL", m.op("ADD", y, m.weights(3, 1)), m.op("MUL", y, y)))

    check_case(build, "SOFTMAX inside")


# Input, axes.
REDUCTIONS = [
    ((1, 4), [1]), ((1, 4), [-1]), ((1, 4), [0]), ((1, 4), [0, 1]), ((1, 4, 3, 2), [1, 2]),
    ((1, 4, 3, 2), [-3, -2]), ((1, 4, 3, 2), [3]), ((1, 4, 3, 2), [1, 3]), ((1, 4, 3, 2), [2]),
    ((1, 4, 3, 2), [1, 2, 3]), ((1, 4, 3, 2), [2, -2, 2]), ((1, 4, 3, 2), [0, 2]),
    ((1, 4, 3, 2), [0, 1, 2, 3]), ((5,), [0]), ((3, 1, 4), [0]), ((3, 1, 4), [1]),
    ((3, 1, 4), [2]), ((3, 1, 4), [0, 2]), ((3, 1, 4), [0, 1, 2]),
    ((1, 2, 3, 2, 3), [1, 3]), ((1, 2, 3, 1, 2, 3), [2, 4]), ((1, 2, 2, 2, 1, 2), [-1, -4]),
    ((1, 40, 3), [1]), ((2, 3), []),
]


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("op", ["MEAN", "SUM"])
@pytest.mark.parametrize(("shape", "axes"), REDUCTIONS, ids=str)
def test_reduction(op: str, shape: tuple, axes: list, keep: bool) -> None:
    def build(m: Model) -> None:
        t = m.ints(axes) if len(axes) != 1 or keep else m.scalar(axes[0])
        m.output(m.op(op, m.input(*shape), t, keep_dims=keep))

    check_case(build, f"{op} {shape} {axes} {keep}")


@pytest.mark.parametrize("op", ["MEAN", "SUM"])
def test_what_layer_norm_does_with_a_mean(op: str) -> None:
    def build(m: Model) -> None:
        x = m.input(1, 3, 4)
        centred = m.op("SUB", x, m.op(op, x, m.ints(-1), keep_dims=True))
        m.output(m.op("MUL", centred, m.op("MUL", centred, m.weights(4))))

    check_case(build, f"{op} layer norm")
