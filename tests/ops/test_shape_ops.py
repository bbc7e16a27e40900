# SPDX-License-Identifier: Apache-2.0
"""RESHAPE SQUEEZE EXPAND_DIMS TRANSPOSE CONCATENATION PACK SPLIT SPLIT_V UNPACK SLICE STRIDED_SLICE
PAD PADV2."""

import itertools

import numpy as np
import pytest
from builder import Model
from opcheck import check_case


@pytest.mark.parametrize("where", ["operand", "option", "int64"])
@pytest.mark.parametrize(("shape", "target"), [
    ((1, 6), [2, 3]), ((1, 6), [1, 2, 3]), ((1, 6), [-1]), ((1, 2, 3), [1, -1]),
    ((1, 2, 3), [2, 1, 3]), ((1, 2, 3), [3, -1]), ((6,), [2, 3]), ((1,), []), ((1, 1), []),
    ((3, 1, 4), [1, 12]), ((1, 4), [1, 1, 1, 2, 1, 2])], ids=str)
def test_reshape(shape: tuple, target: list, where: str) -> None:
    def build(m: Model) -> None:
        x = m.input(*shape)
        if where == "option":
            m.output(m.op("RESHAPE", x, new_shape=target))
        else:
            to = m.ints(target, dtype=np.int64 if where == "int64" else np.int32)
            m.output(m.op("RESHAPE", x, to, new_shape=[99]))

    check_case(build, f"RESHAPE {shape} {target} {where}")


@pytest.mark.parametrize(("shape", "dims"), [
    ((1, 1, 4), [1]), ((1, 1, 4), [0, 1]), ((1, 1, 4), [-2]), ((1, 1, 4), None), ((1, 1, 4), []),
    ((3, 1, 4), [1]), ((1, 1), []), ((1, 2, 1, 3, 1), [2, -1])], ids=str)
def test_squeeze(shape: tuple, dims: list) -> None:
    check_case(lambda m: m.output(m.op("SQUEEZE", m.input(*shape), squeeze_dims=dims)),
               f"SQUEEZE {shape} {dims}")


@pytest.mark.parametrize(("shape", "axis"), [
    ((1, 4), 0), ((1, 4), 1), ((1, 4), 2), ((1, 4), -1), ((1, 4), -3), ((), 0), ((3,), 0),
    ((3, 1, 4), 1), ((1, 2, 1, 2, 3), -1)], ids=str)
def test_expand_dims(shape: tuple, axis: int) -> None:
    check_case(lambda m: m.output(m.op("EXPAND_DIMS", m.input(*shape), m.scalar(axis, np.int64))),
               f"EXPAND_DIMS {shape} {axis}")


PERMUTATIONS = [
    ((1, 4), [0, 1]), ((1, 4), [1, 0]), ((3, 4), [1, 0]), ((1, 2, 3), [0, 2, 1]),
    ((1, 2, 3), [1, 0, 2]), ((3, 1, 4), [1, 0, 2]), ((3, 1, 4), [2, 1, 0]),
    ((1, 2, 3, 4), [0, 3, 1, 2]), ((1, 2, 3, 4), [0, 2, 3, 1]), ((1, 2, 3, 4), [3, 2, 1, 0]),
    ((1, 2, 3, 4), [0, -1, 1, -2]), ((1, 2, 3, 2, 2), [0, 1, 4, 2, 3]), ((4,), [0]),
    ((1, 2, 3, 1, 2, 2), [0, 5, 1, 4, 2, 3]), ((2, 3, 2, 2), [0, 2, 1, 3])]


@pytest.mark.parametrize(("shape", "perm"), PERMUTATIONS, ids=str)
def test_transpose(shape: tuple, perm: list) -> None:
    check_case(lambda m: m.output(m.op("TRANSPOSE", m.input(*shape), m.ints(perm))),
               f"TRANSPOSE {shape} {perm}")


# Shapes of the operands, axis; a shape in a list is a constant's.
JOINS = [
    ([(1, 3), (1, 2)], 1), ([(1, 3), (1, 2)], -1), ([(1, 3), (2, 3)], 0), ([(3,), (2,)], 0),
    ([(1, 3), [1, 2]], 1), ([[1, 3], (1, 2)], 1), ([(1, 3), [2, 3]], 0), ([[2], (3,), [1]], 0),
    ([(1, 2, 3), (1, 1, 3), (1, 2, 3)], 1), ([(1, 2, 2, 3), (1, 2, 2, 1)], 3),
    ([(1, 2, 2, 3), [1, 1, 2, 3]], -3), ([(3, 1, 4), (3, 1, 2)], 2), ([(3, 1, 4), (3, 2, 4)], 1),
    ([(3, 1, 4), (2, 1, 4)], 0), ([(1, 4)], 1), ([(1, 2, 1, 2, 1, 3), (1, 2, 1, 2, 2, 3)], 4)]


@pytest.mark.parametrize(("shapes", "axis"), JOINS, ids=str)
def test_concatenation(shapes: list, axis: int) -> None:
    def build(m: Model) -> None:
        parts = [m.weights(*s) if isinstance(s, list) else m.input(*s) for s in shapes]
        m.output(m.op("CONCATENATION", *parts, axis=axis))

    check_case(build, f"CONCATENATION {shapes} {axis}")


@pytest.mark.parametrize("axis", [1, 0])
def test_concatenation_of_one_tensor_twice(axis: int) -> None:
    def build(m: Model) -> None:
        x = m.input(1, 3)
        m.output(m.op("CONCATENATION", x, m.op("TANH", x), x, axis=axis))

    check_case(build, f"CONCATENATION twice {axis}")


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2, -3])
@pytest.mark.parametrize("shape", [(1, 3), (3, 2)], ids=str)
@pytest.mark.parametrize("kind", ["inputs", "constant", "twice"])
def test_pack(shape: tuple, axis: int, kind: str) -> None:
    def build(m: Model) -> None:
        x = m.input(*shape)
        y = {"inputs": m.input, "constant": m.weights, "twice": lambda *_: x}[kind](*shape)
        m.output(m.op("PACK", x, y, axis=axis, values_count=2))

    check_case(build, f"PACK {shape} {axis} {kind}")


@pytest.mark.parametrize("shape", [(), (4,), (1, 2, 1, 2)], ids=str)
def test_pack_of_other_ranks(shape: tuple) -> None:
    check_case(lambda m: m.output(m.op("PACK", *[m.input(*shape) for _ in range(3)], axis=0,
                                       values_count=3)), f"PACK {shape}")


# Shape, axis, number or sizes of the parts.
CUTS = [
    ((1, 6), 1, 3), ((1, 6), -1, [2, 4]), ((1, 6), 1, [1, -1, 2]), ((1, 6), 0, 1), ((4, 3), 0, 2),
    ((4, 3), 0, [1, 3]), ((4,), -1, 4), ((1, 4, 3, 2), 1, 2), ((1, 4, 3, 2), 2, [-1, 1]),
    ((1, 4, 3, 2), -1, 2), ((1, 2, 1, 2, 6, 2), 4, 3), ((3, 1, 4), -3, [2, 1])]


@pytest.mark.parametrize(("shape", "axis", "parts"), CUTS, ids=str)
@pytest.mark.parametrize("used", ["all", "last"])
def test_split(shape: tuple, axis: int, parts: int | list, used: str) -> None:
    def build(m: Model) -> None:
        x = m.input(*shape)
        if isinstance(parts, int):
            cut = m.op_outputs("SPLIT", m.scalar(axis), x, num_splits=parts)
        else:
            sizes = m.ints(parts, dtype=np.int64 if axis < 0 else np.int32)
            cut = m.op_outputs("SPLIT_V", x, sizes, m.scalar(axis), num_splits=len(parts))
        m.output(*cut if used == "all" else cut[-1:])

    check_case(build, f"SPLIT {shape} {axis} {parts} {used}")


@pytest.mark.parametrize(("shape", "axis"), [
    ((1, 3), 1), ((1, 3), 0), ((3,), 0), ((3, 2), -2), ((1, 3, 4), 1), ((1, 2, 3, 2), -1),
    ((2, 1, 3), 1)], ids=str)
@pytest.mark.parametrize("used", ["all", "last"])
def test_unpack(shape: tuple, axis: int, used: str) -> None:
    def build(m: Model) -> None:
        steps = m.op_outputs("UNPACK", m.input(*shape), num=shape[axis], axis=axis)
        m.output(*steps if used == "all" else steps[-1:])

    check_case(build, f"UNPACK {shape} {axis} {used}")


def test_unpacked_steps_of_a_sequence_packed_again() -> None:
    """A hundred steps, as Keras unrolls a recurrent network."""
    def build(m: Model) -> None:
        steps = m.op_outputs("UNPACK", m.input(1, 100, 2), num=100, axis=1)
        w = m.weights(2)
        m.output(m.op("PACK", *[m.op("MUL", s, w) for s in reversed(steps)], axis=1,
                      values_count=100))

    check_case(build, "UNPACK a hundred")


@pytest.mark.parametrize(("shape", "begin", "size"), [
    ((1, 5), [0, 1], [1, 3]), ((1, 5), [0, 2], [-1, -1]), ((4,), [1], [2]),
    ((3, 4), [1, 0], [2, -1]),
    ((3, 1, 4), [1, 0, 1], [1, 1, 2]), ((1, 4, 3, 2), [0, 1, 1, 0], [1, 2, 2, 1]),
    ((1, 4, 3, 2), [0, 0, 0, 0], [-1, -1, -1, -1]), ((1, 2, 3, 2, 3, 2), [0, 0, 1, 1, 1, 0],
                                                     [1, 2, 2, 1, -1, 2])], ids=str)
def test_slice(shape: tuple, begin: list, size: list) -> None:
    def build(m: Model) -> None:
        kind = np.int64 if sum(begin) % 2 else np.int32
        m.output(m.op("SLICE", m.input(*shape), m.ints(begin, dtype=kind), m.ints(size)))

    check_case(build, f"SLICE {shape} {begin} {size}")


# Input, begin, end, strides, options.
STRIDED = [
    ((1, 6), [0, 1], [1, 5], [1, 2], {}),
    ((1, 6), [0, 0], [1, 100], [1, 4], {}),
    ((1, 6), [0, -4], [1, -1], [1, 1], {}),
    ((1, 6), [0, 5], [1, 0], [1, -2], {}),
    ((1, 6), [0, -1], [1, -100], [1, -1], {}),
    ((1, 6), [0, 3], [0, 3], [1, -1], {"begin_mask": 3, "end_mask": 3}),
    ((1, 6), [9, 4], [9, 2], [1, 1], {"begin_mask": 1, "end_mask": 3}),
    ((1, 6), [0], [1], [1], {}),
    ((1, 6), [0], [1], [1], {"shrink_axis_mask": 1}),
    ((1, 6), [0, 2], [1, 3], [1, 1], {"shrink_axis_mask": 2, "begin_mask": 1, "end_mask": 1}),
    ((1, 6), [0, -2], [0, 0], [1, 1], {"shrink_axis_mask": 3}),
    ((3, 4), [1, 0], [3, 4], [1, 3], {}),
    ((3, 4), [2, 0], [0, 4], [-1, 1], {}),
    ((4,), [1], [4], [2], {}),
    ((4,), [-1], [0], [1], {"shrink_axis_mask": 1}),
    ((1, 4, 3, 2), [0, 3], [0, 0], [1, -1], {"begin_mask": 1, "end_mask": 1}),
    ((1, 4, 3, 2), [0, 1], [0, 2], [1, 1], {"ellipsis_mask": 1, "shrink_axis_mask": 2}),
    ((1, 4, 3, 2), [0, 0, 1], [0, 0, 2], [1, 1, 1], {"ellipsis_mask": 2, "end_mask": 1}),
    ((1, 4, 3, 2), [0, 0, 0, 1], [1, 0, 0, 2], [1, 1, 1, 1],
     {"ellipsis_mask": 4, "new_axis_mask": 2}),
    ((1, 3), [0, 0, 1], [1, 0, 3], [1, 1, 1], {"new_axis_mask": 2}),
    ((1, 3), [0, 0, 0], [0, 0, 0], [1, 1, 1], {"new_axis_mask": 1, "begin_mask": 6, "end_mask": 6}),
    ((1, 3), [0, 0, 0], [0, 0, 0], [1, 1, 1], {"new_axis_mask": 5, "ellipsis_mask": 2}),
    ((1, 8), [0, 2], [1, 3], [1, 1], {"offset": True}),
    ((3, 1, 4), [1, 0, 0], [2, 1, 4], [1, 1, 2], {}),
    ((3, 1, 4), [1, 0, 0], [2, 1, 4], [1, 1, 2], {"shrink_axis_mask": 3}),
    ((1, 2, 3, 2, 3, 2), [0, 0, 2, 0, 0, 1], [1, 2, 0, 2, 3, 2], [1, 1, -1, 1, 2, 1], {}),
]


@pytest.mark.parametrize("i", range(len(STRIDED)))
def test_strided_slice(i: int) -> None:
    shape, begin, end, strides, options = STRIDED[i]

    def build(m: Model) -> None:
        m.output(m.op("STRIDED_SLICE", m.input(*shape), m.ints(begin), m.ints(end),
                      m.ints(strides), **options))

    check_case(build, f"STRIDED_SLICE {i}")


@pytest.mark.parametrize("seed", range(20))
def test_strided_slice_of_random_bounds(seed: int) -> None:
    def build(m: Model) -> None:
        rng = np.random.default_rng(seed)
        shape = [1, *rng.integers(1, 5, size=rng.integers(0, 4))]
        while True:
            n = int(rng.integers(1, len(shape) + 1))
            begin, end = rng.integers(-6, 7, (2, n))
            strides = rng.choice([-3, -2, -1, 1, 2, 3], n)
            masks = {f"{k}_mask": int(rng.integers(0, 1 << n)) for k in ("begin", "end")}
            index = tuple(slice(None if masks["begin_mask"] >> i & 1 else b,
                                None if masks["end_mask"] >> i & 1 else e, s)
                          for i, (b, e, s) in enumerate(zip(begin, end, strides)))
            if np.ones(shape)[index].size:
                break
        m.output(m.op("STRIDED_SLICE", m.input(*map(int, shape)), m.ints(list(begin)),
                      m.ints(list(end)), m.ints(list(strides)), **masks))

    check_case(build, f"STRIDED_SLICE random {seed}")


@pytest.mark.parametrize("op", ["PAD", "PADV2", "PADV2 of data"])
@pytest.mark.parametrize(("shape", "pads"), [
    ((1, 4), [[0, 0], [1, 2]]), ((1, 4), [[1, 0], [0, 0]]), ((3,), [[2, 1]]),
    ((1, 2, 3, 2), [[0, 0], [1, 1], [0, 2], [0, 0]]),
    ((1, 2, 3, 2), [[0, 0], [0, 0], [0, 0], [1, 2]]),
    ((1, 2, 3, 2), [[0, 0]] * 4), ((3, 1, 2), [[0, 1], [1, 0], [0, 0]]),
    ((3, 1, 2), [[0, 0], [1, 1], [0, 1]]), ((1, 2, 1, 2, 1, 2), [[0, 0], [0, 1]] * 3)], ids=str)
def test_pad(op: str, shape: tuple, pads: list) -> None:
    def build(m: Model) -> None:
        x = m.input(*shape)
        kind = np.int64 if len(shape) == 4 else np.int32
        if op == "PAD":
            m.output(m.op("PAD", x, m.ints(pads, dtype=kind)))
            return
        # The value is not differentiated, so nothing that is trained may stand behind it.
        probe, m.probe = m.probe, None
        value = m.const(-1.5, trainable=False) if op == "PADV2" else m.input(1)
        m.probe = probe
        m.output(m.op("PADV2", x, m.ints(pads, dtype=kind), value))

    check_case(build, f"{op} {shape} {pads}")


def eight(m: Model, x: int) -> int:
    return m.op("RESHAPE", x, new_shape=[1, 2, 1, 3, 2, 1, 2, 1])


@pytest.mark.parametrize("op", ["TRANSPOSE", "ADD", "MUL", "SUM", "MEAN", "SLICE", "STRIDED_SLICE",
                                "PAD", "CONCATENATION", "SOFTMAX", "TANH", "FULLY_CONNECTED"])
def test_rank_8(op: str) -> None:
    dims = [1, 2, 1, 3, 2, 1, 2, 1]

    def build(m: Model) -> None:
        x = eight(m, m.input(1, 24))
        y = {
            "TRANSPOSE": lambda: m.op(op, x, m.ints(0, 3, 1, 6, 2, 7, 4, 5)),
            "ADD": lambda: m.op(op, x, m.weights(1, 2, 3, 1, 2)),
            "MUL": lambda: m.op(op, m.op("RESHAPE", m.weights(2, 2, 3),
                                         new_shape=[1, 1, 2, 1, 2, 1, 1, 3]), x),
            "SUM": lambda: m.op(op, x, m.ints(1, 4, 6), keep_dims=True),
            "MEAN": lambda: m.op(op, x, m.ints(3, 6)),
            "SLICE": lambda: m.op(op, x, m.ints([0] * 8), m.ints(1, 1, 1, 2, 2, 1, 1, 1)),
            "STRIDED_SLICE": lambda: m.op(op, x, m.ints([0] * 8), m.ints(dims),
                                          m.ints(1, 1, 1, 2, 1, 1, 1, 1)),
            "PAD": lambda: m.op(op, x, m.ints([[0, 0], [0, 1]] * 4)),
            "CONCATENATION": lambda: m.op(op, x, m.op("TANH", x), axis=6),
            "SOFTMAX": lambda: m.op(op, m.op("TRANSPOSE", x, m.ints(0, 1, 2, 4, 5, 6, 7, 3)),
                                    beta=1.0),
            "TANH": lambda: m.op(op, x),
            "FULLY_CONNECTED": lambda: m.op(op, x, m.weights(3, 1), keep_num_dims=True),
        }[op]()
        m.output(m.op("RESHAPE", y, new_shape=[1, -1]))

    check_case(build, f"rank 8 {op}")


# A sample may have any shape; each of these goes through an operator that keeps or moves dim 0.
@pytest.mark.parametrize(("shape", "op"), [
    *itertools.product([(4,), (4, 1, 3), (2, 3), ()], ["TANH", "RESHAPE"])], ids=str)
def test_output_is_an_input_in_another_shape(shape: tuple, op: str) -> None:
    def build(m: Model) -> None:
        x = m.input(*shape)
        m.output(m.op(op, x) if op == "TANH" else m.op(op, x, new_shape=[1, -1]))

    check_case(build, f"{op} alone {shape}")
