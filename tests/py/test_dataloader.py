# SPDX-License-Identifier: Apache-2.0
"""DataLoader: every sample exactly once, in batches of true size."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyonert.train import DataLoader


def numbered(n, *shape):
    return np.arange(n, dtype=np.float32).reshape(n, *[1] * len(shape)) * np.ones(shape, np.float32)


@settings(max_examples=50, deadline=None)
@given(n=st.integers(1, 40), batch=st.integers(1, 50), shuffle=st.booleans())
def test_every_sample_once(n, batch, shuffle):
    loader = DataLoader(numbered(n, 2), numbered(n, 3), batch, shuffle=shuffle, seed=5)
    seen = []
    for inputs, expecteds in loader:
        assert inputs[0].shape[1:] == (2,) and expecteds[0].shape[1:] == (3,)
        assert np.array_equal(inputs[0][:, 0], expecteds[0][:, 0])
        seen.append(inputs[0][:, 0])
    assert [len(s) for s in seen[:-1]] == [batch] * (len(loader) - 1)
    assert sorted(np.concatenate(seen)) == list(range(n))


def test_batches_are_views():
    x, y = numbered(5, 2), numbered(5, 1)
    loader = DataLoader([x], [y], 2)
    assert all(np.shares_memory(i[0], x) and np.shares_memory(e[0], y) for i, e in loader)
    assert [b[0].shape[0] for b in loader.batched_inputs] == [2, 2, 1]
    assert [b[0].shape[0] for b in loader.batched_expecteds] == [2, 2, 1]


def test_one_array_is_one_input():
    loader = DataLoader(numbered(4, 2, 3), numbered(4), 2)
    assert [a.shape for a in loader.inputs] == [(4, 2, 3)] and loader.num_samples == 4


def test_several_inputs():
    loader = DataLoader([numbered(4, 2), numbered(4, 5)], [numbered(4, 1)], 3)
    inputs, _ = next(iter(loader))
    assert [a.shape for a in inputs] == [(3, 2), (3, 5)]


def test_shuffle_is_new_each_time_and_can_be_had_again():
    x = numbered(30)
    orders = [
        [float(v) for i, _ in DataLoader(x, x, 7, shuffle=True, seed=s) for v in i[0]]
        for s in (1, 1, 2)
    ]
    assert orders[0] == orders[1] != orders[2]
    loader = DataLoader(x, x, 7, shuffle=True, seed=1)
    rounds = [[float(v) for i, _ in loader for v in i[0]] for _ in range(2)]
    assert rounds[0] != rounds[1]


def test_next_steps_through_and_iter_starts_anew():
    loader = DataLoader(numbered(3), numbered(3), 2)
    assert len(next(loader)[0][0]) == 2
    assert len(next(loader)[0][0]) == 1
    with pytest.raises(StopIteration):
        next(loader)
    iter(loader)
    assert len(next(loader)[0][0]) == 2


@pytest.mark.parametrize(("n", "share", "first"), [(10, 0.2, 8), (10, 0.9, 1), (7, 0.5, 3)])
def test_split(n, share, first):
    train, validation = DataLoader(numbered(n), numbered(n), 4, shuffle=True, seed=0).split(share)
    assert train.num_samples == first and validation.num_samples == n - first
    assert train.shuffle and not validation.shuffle
    assert validation.inputs[0].tolist() == list(range(first, n))


@pytest.mark.parametrize("share", [-0.1, 1.1, 0.0, 1.0, 0.999])
def test_split_refuses(share):
    with pytest.raises(ValueError, match="[Vv]alidation split"):
        DataLoader(numbered(10), numbered(10), 4).split(share)


def test_files(tmp_path):
    x = numbered(6, 2)
    x.tofile(tmp_path / "x.bin")
    x.tofile(tmp_path / "x.RAW")
    np.save(tmp_path / "y.npy", x.astype(np.float64))
    for name in ("x.bin", "x.RAW"):
        loader = DataLoader(str(tmp_path / name), tmp_path / "y.npy", 4, input_shape=(6, 2))
        assert np.array_equal(loader.inputs[0], x)
        # Floating data is converted once, here, and not in every epoch.
        assert loader.expecteds[0].dtype == np.float32
    loader = DataLoader(tmp_path / "x.bin", tmp_path / "x.bin", 4, (6, 2), (6, 2), dtype="<i4")
    assert loader.inputs[0].dtype == np.int32


def test_file_errors(tmp_path):
    numbered(6, 2).tofile(tmp_path / "x.bin")
    (tmp_path / "x.csv").write_text("1")
    np.save(tmp_path / "o.npy", np.array([{}], object), allow_pickle=True)
    y = numbered(6)
    with pytest.raises(ValueError, match="Shape must be provided for raw file: .*x.bin"):
        DataLoader(tmp_path / "x.bin", y, 2)
    with pytest.raises(ValueError, match=r"Raw file size \(48 bytes\).*\(60 bytes\).*float32"):
        DataLoader(tmp_path / "x.bin", y, 2, input_shape=(5, 3))
    with pytest.raises(ValueError, match="Unsupported file format: .csv"):
        DataLoader(tmp_path / "x.csv", y, 2)
    with pytest.raises(FileNotFoundError):
        DataLoader(tmp_path / "none.npy", y, 2)
    with pytest.raises(ValueError, match="[Oo]bject"):
        DataLoader(tmp_path / "o.npy", y, 2)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ([[1.0], [2.0]], "All elements in the list must be NumPy arrays"),
        ([], "All elements in the list must be NumPy arrays"),
        (5, "Data must be a NumPy array or a valid file path"),
        (np.array(3.0), "no samples"),
        (np.zeros((0, 2), np.float32), "no samples"),
        (numbered(3), "must have the same number of samples"),
    ],
)
def test_refused(inputs, message):
    with pytest.raises(ValueError, match=message):
        DataLoader(inputs, numbered(4), 2)


def test_batch_size():
    with pytest.raises(ValueError, match="batch_size"):
        DataLoader(numbered(4), numbered(4), 0)
