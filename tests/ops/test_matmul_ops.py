# SPDX-License-Identifier: Apache-2.0
"""BATCH_MATMUL: matrices of all ranks, transposed, broadcast, constant on either side."""

import pytest
from builder import Model
from opcheck import check_case, check_training

# Shapes of both operands, before the matrices of either are transposed.
SHAPES = [
    ((3, 4), (4, 2)), ((1, 3, 4), (1, 4, 2)), ((2, 3, 4), (2, 4, 2)), ((1, 2, 3, 4), (1, 2, 4, 5)),
    ((1, 3, 4), (4, 2)), ((3, 4), (1, 4, 2)), ((1, 2, 3, 2), (2, 2)), ((3, 2), (2, 1, 2, 3)),
    ((2, 1, 2, 3), (1, 3, 3, 2)), ((1, 2, 1, 3, 2), (3, 2, 4)), ((1, 1, 1, 2, 2), (2, 1, 3, 2, 1)),
    ((1, 1, 5), (1, 5, 1)), ((2, 4, 1), (2, 1, 3)), ((1, 2, 1, 2, 3), (2, 1, 3, 2)),
]


def transposed(shape: tuple) -> tuple:
    return (*shape[:-2], shape[-1], shape[-2])


def operand(m: Model, shape: tuple, is_constant: bool) -> int:
    return m.weights(*shape) if is_constant else m.input(*shape, scale=1)


@pytest.mark.parametrize("constant", ["none", "left", "right"])
@pytest.mark.parametrize("i", range(len(SHAPES)))
def test_shapes(i: int, constant: str) -> None:
    adjoint = [(False, False), (True, False), (False, True), (True, True)][(i + len(constant)) % 4]
    a, b = [transposed(s) if t else s for s, t in zip(SHAPES[i], adjoint)]

    def build(m: Model) -> None:
        m.output(m.op("BATCH_MATMUL", operand(m, a, constant == "left"),
                      operand(m, b, constant == "right"), adjoint_lhs=adjoint[0],
                      adjoint_rhs=adjoint[1]))

    check_case(build, f"BATCH_MATMUL {i} {constant}")


@pytest.mark.parametrize("adjoint", [(False, False), (True, False), (False, True), (True, True)],
                         ids=str)
def test_product_with_itself(adjoint: tuple) -> None:
    def build(m: Model) -> None:
        x = m.input(2, 3, 3, scale=1)
        m.output(m.op("BATCH_MATMUL", x, x, adjoint_lhs=adjoint[0], adjoint_rhs=adjoint[1]))

    check_case(build, f"BATCH_MATMUL of itself {adjoint}")


@pytest.mark.parametrize("weights", [(5, 5), (1, 5, 5), (2, 5, 5)], ids=str)
def test_weights_used_twice(weights: tuple) -> None:
    def build(m: Model) -> None:
        w = m.weights(*weights)
        y = m.op("BATCH_MATMUL", m.op("TANH", m.op("BATCH_MATMUL", m.input(2, 3, 5, scale=1), w)),
                 w, adjoint_rhs=True)
        m.output(y)

    check_case(build, f"BATCH_MATMUL twice {weights}")


def attention(m: Model, heads: int, time: int, width: int) -> None:
    x = m.input(1, time, heads * width, scale=1)
    q, k, v = [m.op("TRANSPOSE", m.op("RESHAPE", m.op("BATCH_MATMUL", x, m.const(
        m.rng.normal(size=(heads * width, heads * width)) / (heads * width) ** 0.5)),
        m.ints(1, time, heads, width)), m.ints(0, 2, 1, 3)) for _ in range(3)]
    p = m.op("SOFTMAX", m.op("BATCH_MATMUL", q, k, adjoint_rhs=True), beta=1.0)
    y = m.op("TRANSPOSE", m.op("BATCH_MATMUL", p, v), m.ints(0, 2, 1, 3))
    m.output(m.op("RESHAPE", y, m.ints(1, time, heads * width)))


def test_attention() -> None:
    check_case(lambda m: attention(m, 2, 3, 2), "attention")


def test_larger_attention() -> None:
    m = Model(probe="MUL")
    attention(m, 3, 37, 19)
    check_training(m, 5)
