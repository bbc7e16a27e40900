# SPDX-License-Identifier: Apache-2.0
"""GATHER GATHER_ND EMBEDDING_LOOKUP."""

import numpy as np
import pytest
from builder import Model
from opcheck import N, check_case, infer, run_step, training

# Shape of the table, of the indices, axis, batch_dims.
GATHERS = [
    ((5, 3), (1, 4), 0, 0), ((5, 3), (1,), 0, 0), ((5,), (4,), 0, 0), ((5, 3), (), 0, 0),
    ((1, 5, 3), (4,), 1, 0), ((1, 5, 3), (2, 2), -2, 0), ((1, 5), (1, 3), -1, 0),
    ((1, 5), (1, 3), 1, 1), ((3, 5, 2), (3, 4), 1, 1), ((2, 3, 5, 2), (2, 3, 2), 2, 2),
    ((2, 3, 5, 2), (2, 4), 2, 1), ((3, 4), (2,), 0, 0), ((2, 3, 5), (2, 1), 2, -1),
    ((5, 2, 3), (1, 3), 0, 0), ((1, 2, 5, 2, 2), (3,), 2, 0)]


@pytest.mark.parametrize(("table", "index", "axis", "batch"), GATHERS, ids=str)
@pytest.mark.parametrize("kind", ["weights", "constant", "data", "const table"])
def test_gather(table: tuple, index: tuple, axis: int, batch: int, kind: str) -> None:
    """Every choice of table and indices that depend on the samples, or do not."""
    def build(m: Model) -> None:
        rows, dtype = table[axis], np.int64 if len(index) % 2 else np.int32
        if kind in ("data", "constant"):
            x = m.input(*table)
        else:
            x = m.weights(*table, trainable=kind == "weights")
        if kind == "constant":
            ids = m.ints(m.rng.integers(0, rows, index).tolist(), dtype=dtype)
        else:
            ids = m.input(*index, below=rows, dtype=dtype)
        y = m.op("GATHER", x, ids, axis=axis, batch_dims=batch)
        # Something to train also where the table is not.
        m.output(m.op("MUL", y, m.weights(1)))

    check_case(build, f"GATHER {table} {index} {axis} {batch} {kind}")


@pytest.mark.parametrize(("table", "index"), [
    ((5, 3), (1, 4, 2)), ((5, 3), (1, 4, 1)), ((5, 3), (1,)), ((1, 4, 3), (2, 3)),
    ((3, 4, 2), (2, 2, 2))], ids=str)
@pytest.mark.parametrize("kind", ["weights", "constant", "data"])
def test_gather_nd(table: tuple, index: tuple, kind: str) -> None:
    def build(m: Model) -> None:
        below = min(table[:index[-1]])
        x = m.weights(*table) if kind == "weights" else m.input(*table)
        if kind == "constant":
            ids = m.ints(m.rng.integers(0, below, index).tolist())
        else:
            ids = m.input(*index, below=below, dtype=np.int32)
        m.output(m.op("GATHER_ND", x, ids))

    check_case(build, f"GATHER_ND {table} {index} {kind}")


@pytest.mark.parametrize("table", [(5, 3), (4, 2, 3)], ids=str)
@pytest.mark.parametrize("n", [1, 6])
def test_embedding_lookup(table: tuple, n: int) -> None:
    check_case(lambda m: m.output(m.op("EMBEDDING_LOOKUP",
                                       m.input(n, below=table[0], dtype=np.int32),
                                       m.weights(*table))), f"EMBEDDING_LOOKUP {table} {n}")


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_indices_outside_pick_zeros(dtype: type) -> None:
    """They are data of the caller: no reason to read memory that is not the table's."""
    m = Model()
    table = m.weights(3, 2)
    m.output(m.op("GATHER", table, m.input(1, 4, dtype=dtype), axis=0))
    ids = np.array([[-1, 3, 2, np.iinfo(dtype).min]], dtype)
    w = m.tensors[table].value
    assert infer(m, [ids])[0].tolist() == [[[0, 0], [0, 0], w[2].tolist(), [0, 0]]]
    s = training(m, trainable="*")
    label = [np.ones((1, 4, 2))]
    step = run_step(s, m, [[ids]] * N, [label] * N)
    wanted = np.zeros((3, 2), np.float32)
    wanted[2] = 2 * (w[2] - 1) / 8
    np.testing.assert_allclose(step.gradients[table], wanted, rtol=1e-6)


def test_words_that_repeat_add_up_the_same_on_any_number_of_threads() -> None:
    m = Model()
    table = m.weights(40, 130)
    m.output(m.op("GATHER", table, m.input(1, 50, below=40, dtype=np.int64), axis=0))
    rng = np.random.default_rng(5)
    samples = [m.draw(rng) for _ in range(N)]
    labels = [[rng.normal(size=(1, 50, 130))] for _ in range(N)]
    bits = {run_step(training(m, trainable="*", threads=n), m, samples, labels)
            .gradients[table].tobytes() for n in (1, 2, 3, 8)}
    assert len(bits) == 1
