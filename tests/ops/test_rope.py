# SPDX-License-Identifier: Apache-2.0
"""ROPE: halves and neighbours, and tables that broadcast, constant or not."""

import numpy as np
import pytest
from builder import Model
from opcheck import check_case

# Input, sines, cosines.
SHAPES = [
    ((1, 2, 3, 4), (1, 1, 3, 4), (1, 1, 3, 4)), ((1, 3, 2, 6), (1, 3, 1, 6), (3, 1, 6)),
    ((2, 3, 2), (3, 2), (2,)), ((1, 8), (8,), (1, 8)), ((3, 2, 2, 10), (3, 1, 2, 10), (2, 10)),
]


@pytest.mark.parametrize("mode", [0, 1])
@pytest.mark.parametrize("tables", ["constant", "of the data"])
@pytest.mark.parametrize("i", range(len(SHAPES)))
def test_shapes(i: int, tables: str, mode: int) -> None:
    x, sin, cos = SHAPES[i]

    def build(m: Model) -> None:
        make = m.weights if tables == "constant" else m.input
        m.output(m.op("ROPE", m.input(*x), make(*sin), make(*cos), mode=mode))

    check_case(build, f"ROPE {i} {tables} {mode}")


def test_queries_and_keys_share_tables() -> None:
    angles = np.outer(np.arange(5), 1 / 10 ** (np.arange(3) / 3))

    def build(m: Model) -> None:
        sin, cos = [m.const(np.concatenate([f(angles)] * 2, axis=1)) for f in (np.sin, np.cos)]
        q, k = [m.op("ROPE", m.input(1, 2, 5, 6, scale=1), sin, cos) for _ in range(2)]
        m.output(m.op("SOFTMAX", m.op("BATCH_MATMUL", q, k, adjoint_rhs=True), beta=1.0))

    check_case(build, "queries and keys")
