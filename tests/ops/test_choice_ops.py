# SPDX-License-Identifier: Apache-2.0
"""Comparisons, logic of truth values, and the choice between two operands."""

import itertools

import numpy as np
import pytest
from builder import Model
from opcheck import check_case

COMPARISONS = ["EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL"]
# Two operands.
PAIRS = [((1, 6), (1, 6)), ((1, 6), (6,)), ((1, 6), ()), ((3, 1, 4), (2, 1)), ((4,), (3, 4)),
         ((1, 2, 1, 3), (1, 1, 2, 1)), ((2, 3), (2, 1))]


def chosen(m: Model, truth: int, shape: tuple) -> None:
    m.output(m.op("SELECT_V2", truth, m.op("TANH", m.input(*shape)), m.weights(1)))


@pytest.mark.parametrize("op", COMPARISONS)
@pytest.mark.parametrize("shapes", PAIRS, ids=str)
def test_comparison(op: str, shapes: tuple) -> None:
    a, b = shapes

    def build(m: Model) -> None:
        truth = m.op(op, m.op("MUL", m.input(*a), m.const(1, trainable=False)),
                     m.weights(*b, trainable=False))
        chosen(m, truth, np.broadcast_shapes(a, b))

    check_case(build, f"{op} {shapes}")


@pytest.mark.parametrize(("op", "dtype"), [
    *itertools.product(COMPARISONS, [np.int32, np.int64]),
    *itertools.product(["EQUAL", "NOT_EQUAL"], [np.bool_])])
def test_comparison_of_integers(op: str, dtype: type) -> None:
    def build(m: Model) -> None:
        a, b = m.input(1, 8, dtype=dtype), m.input(1, 1, dtype=dtype)
        chosen(m, m.op(op, a, b), (1, 8))

    check_case(build, f"{op} {dtype}")


@pytest.mark.parametrize("op", ["LOGICAL_AND", "LOGICAL_OR", "LOGICAL_NOT"])
@pytest.mark.parametrize("shapes", PAIRS, ids=str)
def test_logic(op: str, shapes: tuple) -> None:
    a, b = shapes

    def build(m: Model) -> None:
        truth = m.input(*a, dtype=np.bool_)
        other = m.bits(m.rng.integers(0, 2, b), np.bool_)
        one = op == "LOGICAL_NOT"
        chosen(m, m.op(op, truth) if one else m.op(op, truth, other),
               a if one else np.broadcast_shapes(a, b))

    check_case(build, f"{op} {shapes}")


# Condition, first, second.
CHOICES = [((1, 5), (1, 5), (1, 5)), ((5,), (1, 5), (1, 5)), ((1, 5), (5,), (1, 1)),
           ((), (1, 5), (5,)), ((1, 1), (1, 5), ()), ((2, 1), (1, 3), (2, 3)), ((3, 1, 4),) * 3,
           ((1, 1, 3, 3), (), (1, 2, 3, 3)), ((1, 1, 3, 3), (1, 2, 3, 3), ()),
           ((2, 1, 2), (1, 2, 1, 3, 1), (1,)), ((4,), (4,), (4,)), ((4,), (), (1,)),
           ((1, 2, 1, 1, 2, 1), (2, 1, 3), (1, 2, 2, 2, 1, 1))]


@pytest.mark.parametrize("constant", ["condition", "first", "second", "none"])
@pytest.mark.parametrize("shapes", CHOICES, ids=str)
def test_select_v2(shapes: tuple, constant: str) -> None:
    def build(m: Model) -> None:
        c, a, b = shapes
        is_true = m.bits(m.rng.integers(0, 2, c), np.bool_) if constant == "condition" or c == () \
            else m.input(*c, dtype=np.bool_)
        first = m.weights(*a) if constant == "first" or a == () else m.input(*a)
        second = m.weights(*b) if constant == "second" or b == () else m.input(*b)
        if not m.inputs:
            first = m.op("MUL", first, m.input(1))
        m.output(m.op("SELECT_V2", is_true, first, second))

    check_case(build, f"SELECT_V2 {shapes} {constant}")


@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("shapes", [((1, 5), (1, 5)), ((1,), (1, 5)), ((3,), (3, 4)),
                                    ((3,), (3, 3)), ((3, 4), (3, 4)), ((2,), (2, 3, 2)),
                                    ((4,), (4,))], ids=str)
def test_select(shapes: tuple, constant: bool) -> None:
    def build(m: Model) -> None:
        c, x = shapes
        is_true = m.bits(m.rng.integers(0, 2, c), np.bool_) if constant \
            else m.input(*c, dtype=np.bool_)
        m.output(m.op("SELECT", is_true, m.input(*x), m.weights(*x)))

    check_case(build, f"SELECT {shapes} {constant}")


@pytest.mark.parametrize("op", ["SELECT", "SELECT_V2"])
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.bool_])
def test_select_of_integers(op: str, dtype: type) -> None:
    """As an embedding does it that counts negative rows from the end."""
    def build(m: Model) -> None:
        a, b = m.input(1, 6, dtype=dtype), m.input(1, 6, dtype=dtype)
        y = m.op(op, m.input(1, 6, dtype=np.bool_), a, b)
        m.output(m.op("MUL", m.op("CAST", y), m.weights(6)))

    check_case(build, f"{op} {dtype}")


@pytest.mark.parametrize("op", ["SELECT", "SELECT_V2"])
def test_what_is_not_taken_gets_no_gradient(op: str) -> None:
    """An infinite slope on the side that is not taken does not become NaN."""
    def build(m: Model) -> None:
        x = m.input(1, 6)
        square = m.op("MUL", x, x)
        is_true = m.op("GREATER", x, m.const([0], trainable=False))
        m.output(m.op(op, is_true, m.op("MUL", square, m.weights(6)), m.op("NEG", square)))

    check_case(build, f"{op} of a ramp")
