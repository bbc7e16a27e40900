# SPDX-License-Identifier: Apache-2.0
"""Operators of two operands with broadcasting, element-wise functions, and fused activations."""

import itertools
from functools import partial

import pytest
from builder import Model
from opcheck import check_case, training

ARITHMETIC = ["ADD", "SUB", "MUL", "DIV"]
BINARY = [*ARITHMETIC, "MAXIMUM", "MINIMUM", "SQUARED_DIFFERENCE", "POW", "FLOOR_DIV", "FLOOR_MOD",
          "ATAN2", "PRELU"]
ACTIVATIONS = ["NONE", "RELU", "RELU6", "RELU_N1_TO_1", "TANH"]
# Shapes of two operands, one broadcast against the other in every position.
BROADCASTS = [
    ((1, 5), (1, 5)), ((1, 5), (5,)), ((1, 5), ()), ((1, 5), (1,)), ((1, 5), (1, 1)),
    ((1, 5), (4, 1)), ((1, 1), (1, 5)), ((1, 1), (3, 4)), ((1, 4, 3, 2), (2,)),
    ((1, 4, 3, 2), (3, 1)), ((1, 4, 3, 2), (4, 1, 2)), ((1, 4, 3, 2), (1, 1, 1, 2)),
    ((1, 4, 3, 2), (1, 4, 1, 1)), ((1, 4, 1, 2), (1, 1, 3, 1)), ((1, 3), (2, 1, 1, 3)),
    ((4,), (4,)), ((4,), (1,)), ((4,), ()), ((1,), (4,)), ((4,), (3, 4)), ((4,), (3, 1)),
    ((), ()), ((), (3,)), ((3, 1, 4), (3, 1, 4)), ((3, 1, 4), (1, 1, 4)), ((3, 1, 4), (3, 1, 1)),
    ((3, 1, 4), (1, 2, 1)), ((3, 1, 4), (2, 4)), ((2, 3), (2, 1)), ((2, 1, 2, 1, 3), (3, 1, 2, 1)),
    ((1, 2, 1, 2, 1, 2), (1, 1, 2, 1, 2, 1)), ((1, 17), (17,)), ((1, 3, 17), (3, 1)),
]


def apply(m: Model, op: str, a: int, b: int, act: str = "NONE") -> int:
    if op == "POW":
        a = m.op("ABS", a)
    return m.op(op, a, b, act=act)


def with_constant(m: Model, op: str, x: tuple, c: tuple, constant_first: bool, act: str) -> None:
    a, b = m.input(*x, away=True), m.weights(*c)
    m.output(apply(m, op, b, a, act) if constant_first else apply(m, op, a, b, act))


@pytest.mark.parametrize("constant_first", [False, True], ids=["xc", "cx"])
@pytest.mark.parametrize("shapes", BROADCASTS, ids=str)
def test_constant_operand(shapes: tuple, constant_first: bool) -> None:
    for i, op in enumerate(["SUB", "DIV", *BINARY[4:]] if constant_first else BINARY):
        act = ACTIVATIONS[(i + len(shapes[0]) + len(shapes[1])) % 5]
        act = act if op in ARITHMETIC else "NONE"
        x, c = shapes
        build = partial(with_constant, op=op, x=x, c=c, constant_first=constant_first, act=act)
        check_case(build, f"{op} {shapes} {constant_first} {act}")


def with_input(m: Model, op: str, x: tuple, y: tuple) -> None:
    m.output(apply(m, op, m.input(*x, away=True), m.input(*y, away=True)))


@pytest.mark.parametrize("shapes", [s for s in BROADCASTS if () not in s], ids=str)
def test_two_inputs(shapes: tuple) -> None:
    for i, op in enumerate(BINARY):
        a, b = shapes if i % 2 else shapes[::-1]
        check_case(partial(with_input, op=op, x=a, y=b), f"{op} {a} {b}")


@pytest.mark.parametrize(("op", "act"), [*itertools.product(ARITHMETIC, ACTIVATIONS)])
def test_fused_activation(op: str, act: str) -> None:
    def build(m: Model) -> None:
        x = m.input(1, 9, scale=5)
        m.output(m.op(op, x, m.weights(1, 9), act=act))

    check_case(build, f"{op} {act}")


@pytest.mark.parametrize("op", [*ARITHMETIC, "SQUARED_DIFFERENCE", "ATAN2"])
def test_same_tensor_twice(op: str) -> None:
    def build(m: Model) -> None:
        x = m.input(1, 6, away=True)
        m.output(m.op("ADD", m.op(op, x, x), m.weights(6)))

    check_case(build, f"{op} twice")


@pytest.mark.parametrize("n", [1, 2, 5])
def test_sum_of_many(n: int) -> None:
    def build(m: Model) -> None:
        x = m.input(2, 3)
        m.output(m.op("ADD_N", x, *[m.weights(2, 3) if i % 2 else m.op("TANH", x)
                                    for i in range(n - 1)]))

    check_case(build, f"ADD_N {n}")


def test_zeros() -> None:
    def build(m: Model) -> None:
        x = m.input(2, 3)
        m.output(m.op("ADD", m.op("ZEROS_LIKE", x), m.op("MUL", x, m.weights(3))))

    check_case(build, "ZEROS_LIKE")


def test_slopes_of_prelu_train_by_default() -> None:
    m = Model()
    m.output(m.op("PRELU", m.input(1, 4), m.weights(4)))
    assert training(m).train_parameter_count() == 1


UNARY = [("RELU", {}), ("RELU6", {}), ("RELU_N1_TO_1", {}), ("LOGISTIC", {}), ("TANH", {}),
         ("LEAKY_RELU", {"alpha": 0.2}), ("LEAKY_RELU", {"alpha": 0.0}),
         ("LEAKY_RELU", {"alpha": -0.5}), ("LEAKY_RELU", {"alpha": 1.5}), ("RELU_0_TO_1", {}),
         ("ELU", {}), ("GELU", {}), ("GELU", {"approximate": True}), ("HARD_SWISH", {}),
         ("NEG", {}), ("ABS", {}), ("SQUARE", {}), ("SQRT", {}), ("RSQRT", {}), ("EXP", {}),
         ("LOG", {}), ("SIN", {}), ("COS", {}), ("FLOOR", {}), ("CEIL", {}), ("ROUND", {}),
         ("SIGN", {})]
OF_POSITIVE = {"SQRT", "RSQRT", "LOG"}
WIDE = {"RELU6": 8, "HARD_SWISH": 5}


@pytest.mark.parametrize(("op", "options"), UNARY)
@pytest.mark.parametrize("shape", [(1, 11), (5,), (), (3, 1, 4), (1, 2, 2, 3), (1, 1, 2, 1, 3, 2)],
                         ids=str)
def test_function(op: str, options: dict, shape: tuple) -> None:
    def build(m: Model) -> None:
        x = m.input(*shape, scale=WIDE.get(op, 3), away=op in OF_POSITIVE)
        m.output(m.op(op, m.op("ABS", x) if op in OF_POSITIVE else x, **options))

    check_case(build, f"{op} {options} {shape}")


@pytest.mark.parametrize(("op", "options"), UNARY)
def test_function_of_what_is_needed_elsewhere(op: str, options: dict) -> None:
    def build(m: Model) -> None:
        x = m.op("MUL", m.input(1, 7, away=op in OF_POSITIVE), m.weights(7))
        x = m.op("ABS", x) if op in OF_POSITIVE else x
        y = m.op(op, x, **options)
        m.output(m.op("MUL", x, m.op("MUL", y, y)), y)

    check_case(build, f"{op} {options} reused")
