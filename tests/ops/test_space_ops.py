# SPDX-License-Identifier: Apache-2.0
"""SPACE_TO_DEPTH DEPTH_TO_SPACE SPACE_TO_BATCH_ND BATCH_TO_SPACE_ND DYNAMIC_UPDATE_SLICE
RESIZE_BILINEAR RESIZE_NEAREST_NEIGHBOR."""

import numpy as np
import pytest
from builder import Model
from opcheck import check_case


@pytest.mark.parametrize(("op", "shape", "block"), [
    ("SPACE_TO_DEPTH", (1, 4, 6, 2), 2), ("SPACE_TO_DEPTH", (1, 3, 6, 1), 3),
    ("SPACE_TO_DEPTH", (2, 2, 2, 3), 2), ("DEPTH_TO_SPACE", (1, 2, 3, 8), 2),
    ("DEPTH_TO_SPACE", (1, 1, 2, 9), 3), ("DEPTH_TO_SPACE", (2, 1, 1, 4), 2),
    ("DEPTH_TO_SPACE", (1, 2, 2, 3), 1)], ids=str)
def test_depth(op: str, shape: tuple, block: int) -> None:
    check_case(lambda m: m.output(m.op(op, m.input(*shape), block_size=block)),
               f"{op} {shape} {block}")


@pytest.mark.parametrize(("shape", "block", "pads"), [
    ((1, 4, 6, 2), [2, 2], [[0, 0], [0, 0]]), ((1, 3, 5, 2), [2, 3], [[1, 0], [2, 2]]),
    ((1, 3, 5, 2), [2, 2], [[3, 2], [1, 0]]), ((1, 5), [3], [[2, 2]]),
    ((2, 3, 4), [2], [[0, 1]]), ((1, 2, 2, 1), [4, 4], [[1, 1], [2, 0]]),
    ((1, 7, 1, 2), [2, 1], [[0, 1], [0, 0]])], ids=str)
def test_space_to_batch(shape: tuple, block: list, pads: list) -> None:
    check_case(lambda m: m.output(m.op("SPACE_TO_BATCH_ND", m.input(*shape), m.ints(block),
                                       m.ints(pads))), f"SPACE_TO_BATCH_ND {shape} {block} {pads}")


@pytest.mark.parametrize(("shape", "block", "crops"), [
    ((4, 2, 3, 2), [2, 2], [[0, 0], [0, 0]]), ((6, 3, 3, 2), [2, 3], [[1, 0], [2, 2]]),
    ((3, 3), [3], [[2, 2]]), ((4, 2, 4), [2], [[0, 1]]), ((2, 4, 1, 2), [2, 1], [[3, 1], [0, 0]])],
    ids=str)
def test_batch_to_space(shape: tuple, block: list, crops: list) -> None:
    check_case(lambda m: m.output(m.op("BATCH_TO_SPACE_ND", m.input(*shape), m.ints(block),
                                       m.ints(crops))),
               f"BATCH_TO_SPACE_ND {shape} {block} {crops}")


def test_dilation_as_older_exporters_write_it() -> None:
    """Space to batch, a convolution, and back: samples stay apart all the way."""
    def build(m: Model) -> None:
        x = m.op("SPACE_TO_BATCH_ND", m.input(1, 5, 6, 2), m.ints(2, 2), m.ints([[2, 3], [2, 2]]))
        y = m.op("CONV_2D", x, m.weights(3, 3, 3, 2), m.weights(3), padding="VALID", stride_h=1,
                 stride_w=1)
        m.output(m.op("BATCH_TO_SPACE_ND", y, m.ints(2, 2), m.ints([[0, 1], [0, 0]])))

    check_case(build, "SPACE_TO_BATCH_ND CONV_2D BATCH_TO_SPACE_ND")


@pytest.mark.parametrize(("shape", "update", "start"), [
    ((1, 5), (1, 2), [0, 3]), ((1, 5), (1, 2), [7, -1]), ((4, 3), (2, 3), [1, 0]),
    ((1, 4, 2), (1, 1, 2), [0, 2, 0]), ((3,), (3,), [1])], ids=str)
@pytest.mark.parametrize("kind", ["inputs", "weights", "update", "start"])
def test_dynamic_update_slice(shape: tuple, update: tuple, start: list, kind: str) -> None:
    """Which operand is a trained constant, and where the start is data."""
    def build(m: Model) -> None:
        x = m.weights(*shape) if kind == "weights" else m.input(*shape)
        part = m.weights(*update) if kind == "update" else m.input(*update)
        n = len(start)
        at = m.input(n, below=4, dtype=np.int64) if kind == "start" else m.ints(start)
        m.output(m.op("DYNAMIC_UPDATE_SLICE", x, part, at))

    check_case(build, f"DYNAMIC_UPDATE_SLICE {shape} {update} {start} {kind}")


SIZES = [((1, 3, 4, 2), (6, 8)), ((1, 3, 4, 2), (7, 3)), ((1, 5, 5, 1), (2, 3)),
         ((2, 3, 2, 3), (3, 5)), ((1, 1, 1, 3), (2, 4)), ((1, 4, 3, 2), (1, 1)),
         ((1, 4, 3, 2), (4, 3))]


@pytest.mark.parametrize(("shape", "size"), SIZES, ids=str)
@pytest.mark.parametrize("mode", [{}, {"align_corners": True}, {"half_pixel_centers": True}],
                         ids=str)
def test_resize_bilinear(shape: tuple, size: tuple, mode: dict) -> None:
    check_case(lambda m: m.output(m.op("RESIZE_BILINEAR", m.input(*shape), m.ints(*size), **mode)),
               f"RESIZE_BILINEAR {shape} {size} {mode}")


@pytest.mark.parametrize(("shape", "size"), SIZES, ids=str)
@pytest.mark.parametrize("mode", [{}, {"align_corners": True}, {"half_pixel_centers": True},
                                  {"align_corners": True, "half_pixel_centers": True}], ids=str)
def test_resize_nearest(shape: tuple, size: tuple, mode: dict) -> None:
    check_case(lambda m: m.output(m.op("RESIZE_NEAREST_NEIGHBOR", m.input(*shape), m.ints(*size),
                                       **mode)), f"RESIZE_NEAREST_NEIGHBOR {shape} {size} {mode}")
