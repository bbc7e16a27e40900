# SPDX-License-Identifier: Apache-2.0
"""TILE BROADCAST_TO FILL RANGE RANK ONE_HOT REVERSE_V2 MIRROR_PAD, and all that only
move bytes with elements of every type."""

from collections.abc import Callable

import numpy as np
import pytest
from builder import Model
from opcheck import check_case, infer
from reference import run

TILES = [
    ((1, 3), [1, 2]), ((1, 3), [4, 1]), ((1, 3), [2, 3]), ((3,), [2]), ((2, 3), [2, 2]), ((), []),
    ((1, 2, 1, 3), [1, 1, 2, 1]), ((1, 2, 3, 2), [1, 2, 2, 1]), ((3, 1, 2), [1, 3, 2]),
    ((1, 2, 1, 2, 1, 2), [1, 1, 2, 1, 2, 1]), ((1, 2, 2, 2, 2), [1, 2, 3, 2, 2])]


@pytest.mark.parametrize(("shape", "multiples"), TILES, ids=str)
def test_tile(shape: tuple, multiples: list) -> None:
    check_case(lambda m: m.output(m.op("TILE", m.input(*shape),
                                       m.ints(multiples, dtype=np.int64))),
               f"TILE {shape} {multiples}")


@pytest.mark.parametrize(("shape", "target"), [
    ((1, 3), [1, 3]), ((1, 3), [4, 3]), ((1, 1), [1, 3]), ((3,), [2, 3]), ((), [2, 2]),
    ((3, 1), [3, 4]), ((1, 2, 1, 3), [1, 2, 4, 3]), ((1, 3), [1, 2, 1, 3]), ((2, 1, 3), [2, 2, 3])],
    ids=str)
@pytest.mark.parametrize("kind", ["input", "weights"])
def test_broadcast_to(shape: tuple, target: list, kind: str) -> None:
    def build(m: Model) -> None:
        x = m.input(*shape) if kind == "input" else m.weights(*shape)
        y = m.op("BROADCAST_TO", x, m.ints(target))
        m.output(y if kind == "input" else m.op("MUL", y, m.input(*target)))

    check_case(build, f"BROADCAST_TO {shape} {target} {kind}")


@pytest.mark.parametrize("shape", [(1, 4), (3, 2), (2,)], ids=str)
@pytest.mark.parametrize("value", [(), (1,), (1, 1)], ids=str)
def test_fill(shape: tuple, value: tuple) -> None:
    """Its dimensions are the shape of an input, as for the first state of a cell."""
    def build(m: Model) -> None:
        x = m.input(*shape)
        filled = m.op("FILL", m.op("SHAPE", x), m.weights(*value))
        m.output(m.op("ADD", x, filled))

    check_case(build, f"FILL {shape} {value}")


def test_ranges_and_ranks_are_known_when_shapes_are_computed() -> None:
    """rank -> range -> reversed -> permutation; range -> target of a reshape."""
    def build(m: Model) -> None:
        x = m.input(1, 2, 3)
        axes = m.op("RANGE", m.scalar(0), m.op("RANK", x), m.scalar(1))
        y = m.op("TRANSPOSE", x, m.op("REVERSE_V2", axes, m.ints(0)))
        ones = m.op("TILE", m.op("FILL", m.ints(1), m.scalar(1)), m.ints(2))
        six = m.op("RANGE", m.scalar(6), m.scalar(7), m.scalar(4))
        m.output(m.op("RESHAPE", y, m.op("CONCATENATION", ones, six, axis=0)))

    check_case(build, "RANGE and RANK")


@pytest.mark.parametrize(("shape", "axis"), [
    ((1, 3), -1), ((1, 3), 0), ((1, 3), 1), ((), 0), ((4,), -1), ((2, 3), 1), ((1, 2, 2), 3)],
    ids=str)
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_one_hot(shape: tuple, axis: int, dtype: type) -> None:
    def build(m: Model) -> None:
        # One of the values is outside: it marks nothing.
        index = m.input(*shape, below=5, dtype=dtype)
        m.output(m.op("ONE_HOT", index, m.scalar(4), m.weights(), m.weights(1), axis=axis))

    check_case(build, f"ONE_HOT {shape} {axis} {dtype}")


@pytest.mark.parametrize(("shape", "axes"), [
    ((1, 4), [1]), ((1, 4), [0]), ((3,), [-1]), ((3, 4), [0, 1]), ((1, 5, 2), [1]),
    ((1, 3, 4, 2), [2, 1]), ((1, 3, 2), [])], ids=str)
def test_reverse(shape: tuple, axes: list) -> None:
    check_case(lambda m: m.output(m.op("REVERSE_V2", m.input(*shape), m.ints(axes))),
               f"REVERSE_V2 {shape} {axes}")


@pytest.mark.parametrize(("shape", "pads", "mode"), [
    ((1, 4), [[0, 0], [2, 3]], 0), ((1, 4), [[0, 0], [4, 1]], 1), ((3,), [[1, 2]], 0),
    ((1, 3), [[1, 1], [0, 2]], 1), ((1, 4, 5, 2), [[0, 0], [1, 1], [2, 3], [0, 0]], 0),
    ((1, 4, 5, 2), [[0, 0], [4, 0], [0, 1], [1, 2]], 1), ((2, 3), [[1, 0], [2, 2]], 0)], ids=str)
def test_mirror_pad(shape: tuple, pads: list, mode: int) -> None:
    check_case(lambda m: m.output(m.op("MIRROR_PAD", m.input(*shape),
                                       m.ints(pads, dtype=np.int64), mode=mode)),
               f"MIRROR_PAD {shape} {pads} {mode}")


# All that only move bytes: of x [2,3,4] of some type.
MOVES: dict[str, Callable[[Model, int], list]] = {
    "RESHAPE": lambda m, x: [m.op("RESHAPE", x, m.ints(4, 6))],
    "SQUEEZE": lambda m, x: [m.op("SQUEEZE", m.op("RESHAPE", x, m.ints(6, 1, 4)))],
    "EXPAND_DIMS": lambda m, x: [m.op("EXPAND_DIMS", x, m.scalar(1))],
    "TRANSPOSE": lambda m, x: [m.op("TRANSPOSE", x, m.ints(2, 0, 1))],
    "CONCATENATION": lambda m, x: [m.op("CONCATENATION", x, x, axis=1)],
    "PACK": lambda m, x: [m.op("PACK", x, x, axis=-1, values_count=2)],
    "UNPACK": lambda m, x: m.op_outputs("UNPACK", x, axis=2, num=4),
    "SPLIT": lambda m, x: m.op_outputs("SPLIT", m.scalar(2), x, num_splits=2),
    "SPLIT_V": lambda m, x: m.op_outputs("SPLIT_V", x, m.ints(2, -1), m.scalar(1), num_splits=2),
    "SLICE": lambda m, x: [m.op("SLICE", x, m.ints(1, 0, 1), m.ints(1, -1, 2))],
    "STRIDED_SLICE": lambda m, x: [m.op("STRIDED_SLICE", x, m.ints(0, 2, 3), m.ints(2, 0, 0),
                                        m.ints(1, -1, -2))],
    "PAD": lambda m, x: [m.op("PAD", x, m.ints([[1, 0], [0, 2], [1, 1]]))],
    "MIRROR_PAD": lambda m, x: [m.op("MIRROR_PAD", x, m.ints([[1, 0], [0, 2], [1, 1]]))],
    "GATHER": lambda m, x: [m.op("GATHER", x, m.ints(2, 0, 2), axis=1)],
    "GATHER_ND": lambda m, x: [m.op("GATHER_ND", x, m.ints([[1, 2], [0, 0]]))],
    "TILE": lambda m, x: [m.op("TILE", x, m.ints(2, 1, 3))],
    "BROADCAST_TO": lambda m, x: [m.op("BROADCAST_TO", x, m.ints(2, 2, 3, 4))],
    "REVERSE_V2": lambda m, x: [m.op("REVERSE_V2", x, m.ints(0, 2))],
    "ZEROS_LIKE": lambda m, x: [m.op("ZEROS_LIKE", x)],
    "SPACE_TO_DEPTH": lambda m, x: [m.op("SPACE_TO_DEPTH", m.op("RESHAPE", x, m.ints(1, 2, 6, 2)),
                                         block_size=2)],
    "DEPTH_TO_SPACE": lambda m, x: [m.op("DEPTH_TO_SPACE", m.op("RESHAPE", x, m.ints(1, 3, 1, 8)),
                                         block_size=2)],
    "SPACE_TO_BATCH_ND": lambda m, x: [m.op("SPACE_TO_BATCH_ND", x, m.ints(2),
                                            m.ints([[1, 0]]))],
    "BATCH_TO_SPACE_ND": lambda m, x: [m.op("BATCH_TO_SPACE_ND", x, m.ints(2),
                                            m.ints([[1, 2]]))],
    "DYNAMIC_UPDATE_SLICE": lambda m, x: [m.op("DYNAMIC_UPDATE_SLICE", x,
                                               m.op("SLICE", x, m.ints(0, 1, 0), m.ints(1, 2, 2)),
                                               m.ints(1, 9, 1))],
    "RESIZE_NEAREST_NEIGHBOR": lambda m, x: [m.op("RESIZE_NEAREST_NEIGHBOR",
                                                  m.op("RESHAPE", x, m.ints(1, 3, 4, 2)),
                                                  m.ints(5, 2))],
}
TYPES = [np.float32, np.int32, np.int64, np.bool_, np.uint8, np.int8, np.int16]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("op", MOVES)
@pytest.mark.parametrize("kind", ["input", "constant"])
def test_bytes_of_every_type(op: str, dtype: type, kind: str) -> None:
    m = Model()
    values = np.random.default_rng(4).integers(0, 255, (2, 3, 4))
    values = (values % 2 if dtype is np.bool_ else values - 100 * (dtype is not np.uint8))
    x = values.astype(dtype)
    t = m.input(2, 3, 4, dtype=dtype) if kind == "input" else m.bits(x, dtype)
    if kind == "constant":
        m.input(1)
    outputs = MOVES[op](m, t)
    m.output(*outputs)
    sample = [x] if kind == "input" else [np.zeros(1, np.float32)]
    for actual, wanted in zip(infer(m, sample), run(m, sample)):
        assert actual.dtype == dtype
        np.testing.assert_array_equal(actual, wanted)


@pytest.mark.parametrize("dtype", TYPES)
def test_fill_and_one_hot_of_every_type(dtype: type) -> None:
    m = Model()
    on, off = m.bits(1, dtype), m.bits(0, dtype)
    index = m.input(3, dtype=np.int32)
    m.output(m.op("ONE_HOT", index, m.scalar(2), on, off, axis=0), m.op("FILL", m.ints(2, 2), on))
    sample = [np.array([1, 0, 1], np.int32)]
    for actual, wanted in zip(infer(m, sample), run(m, sample)):
        np.testing.assert_array_equal(actual, wanted)
