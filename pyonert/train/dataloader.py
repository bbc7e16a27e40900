# SPDX-License-Identifier: Apache-2.0
"""Data sets cut into batches.

Every sample is there exactly once: the last batch is as long as what is left. Without shuffling,
batches are views into the data set, not copies.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Union

import numpy as np
from numpy.typing import DTypeLike

from pyonert._arrays import Array

Dataset = Union[Sequence[Array], Array, str, "os.PathLike[str]"]
Batch = tuple[list[Array], list[Array]]


class DataLoader:
    """Batches of inputs and labels.

    Args:
        input_dataset: a list of arrays, one per model input, samples along axis 0; or one array,
            which is one input; or the path of a .npy, .bin or .raw file, which is one input.
        expected_dataset: the labels, same forms, one array per model output.
        batch_size: samples of a batch, >= 1.
        input_shape: whole shape of a raw input file, number of samples first.
        expected_shape: same for the labels.
        dtype: element type of raw files. Floating arrays of another type are converted to it once
            where it is floating, too.
        shuffle: a new order for each iteration; batches are then copies.
        seed: of the order, so that it can be had again.

    Attributes:
        inputs, expecteds: the data sets as lists of arrays.
        num_samples: number of samples.
        batched_inputs, batched_expecteds: the batches in file order.

    Raises:
        ValueError: data that is none of the above, or of differing numbers of samples.
    """

    def __init__(
        self,
        input_dataset: Dataset,
        expected_dataset: Dataset,
        batch_size: int,
        input_shape: Sequence[int] | None = None,
        expected_shape: Sequence[int] | None = None,
        dtype: DTypeLike = np.float32,
        *,
        shuffle: bool = False,
        seed: int | None = None,
    ) -> None:
        if batch_size < 1:
            raise ValueError(f"batch_size must be at least 1, was {batch_size}.")
        self.batch_size = batch_size
        self.shuffle = shuffle
        self.seed = seed
        self._rng = np.random.default_rng(seed)
        element = np.dtype(dtype)
        self.inputs = _as_arrays(input_dataset, input_shape, element)
        self.expecteds = _as_arrays(expected_dataset, expected_shape, element)
        counts = [a.shape[0] for a in (*self.inputs, *self.expecteds)]
        if len(set(counts)) != 1:
            raise ValueError(
                "Input data and expected data must have the same number of samples. "
                f"Got {counts[: len(self.inputs)]} and {counts[len(self.inputs) :]}."
            )
        self.num_samples: int = counts[0]
        self._cursor: Iterator[Batch] | None = None

    def __len__(self) -> int:
        """Number of batches."""
        return -(-self.num_samples // self.batch_size)

    def __iter__(self) -> Iterator[Batch]:
        """Starts anew and yields (inputs, expecteds), two lists of arrays, per batch."""
        order = self._rng.permutation(self.num_samples) if self.shuffle else None
        self._cursor = self._batches(order)
        return self._cursor

    def __next__(self) -> Batch:
        """Returns the next batch of the iteration begun last."""
        if self._cursor is None:
            iter(self)
        assert self._cursor is not None
        return next(self._cursor)

    def _batches(self, order: Array | None) -> Iterator[Batch]:
        for start in range(0, self.num_samples, self.batch_size):
            part: Any = slice(start, start + self.batch_size)
            if order is not None:
                part = order[part]
            yield [a[part] for a in self.inputs], [a[part] for a in self.expecteds]

    @property
    def batched_inputs(self) -> list[list[Array]]:
        return [inputs for inputs, _ in self._batches(None)]

    @property
    def batched_expecteds(self) -> list[list[Array]]:
        return [expecteds for _, expecteds in self._batches(None)]

    def split(self, validation_split: float) -> tuple[DataLoader, DataLoader]:
        """Cuts off the last share of the samples for validation, which is never shuffled.

        Args:
            validation_split: 0.0 to 1.0; the first int(N * (1 - share)) samples are for training.

        Returns:
            Loaders for training and for validation.

        Raises:
            ValueError: another share, or one that leaves nothing for either.
        """
        if not 0.0 <= validation_split <= 1.0:
            raise ValueError("Validation split must be between 0.0 and 1.0.")
        # The small addend keeps 10 * (1 - 0.9) from becoming 0.
        index = int(self.num_samples * (1.0 - validation_split) + 1e-9)
        if not 0 < index < self.num_samples:
            raise ValueError(
                f"A validation split of {validation_split} divides {self.num_samples} sample(s) "
                f"into {index} and {self.num_samples - index}; both must have some."
            )
        train = DataLoader(
            [a[:index] for a in self.inputs],
            [a[:index] for a in self.expecteds],
            self.batch_size,
            shuffle=self.shuffle,
            seed=self.seed,
        )
        validation = DataLoader(
            [a[index:] for a in self.inputs], [a[index:] for a in self.expecteds], self.batch_size
        )
        return train, validation


def _as_arrays(data: Dataset, shape: Sequence[int] | None, dtype: np.dtype[Any]) -> list[Array]:
    if isinstance(data, (str, os.PathLike)):
        arrays = [_load(Path(data), shape, dtype)]
    elif isinstance(data, np.ndarray):
        arrays = [data]
    elif isinstance(data, (list, tuple)):
        if not data or not all(isinstance(a, np.ndarray) for a in data):
            raise ValueError("All elements in the list must be NumPy arrays.")
        arrays = list(data)
    else:
        raise ValueError("Data must be a NumPy array or a valid file path.")
    for i, array in enumerate(arrays):
        if array.ndim == 0 or array.shape[0] == 0:
            raise ValueError(f"Array {i} of the data has no samples: its shape is {array.shape}.")
        if array.dtype.kind == "f" and dtype.kind == "f" and array.dtype != dtype:
            arrays[i] = array.astype(dtype)
    return arrays


def _load(path: Path, shape: Sequence[int] | None, dtype: np.dtype[Any]) -> Array:
    extension = path.suffix.lower()
    if extension == ".npy":
        loaded: Array = np.load(path, allow_pickle=False)
        return loaded
    if extension not in (".bin", ".raw"):
        raise ValueError(f"Unsupported file format: {extension}")
    if shape is None:
        raise ValueError(f"Shape must be provided for raw file: {path}")
    size = path.stat().st_size
    expected = math.prod(shape) * dtype.itemsize
    if size != expected:
        raise ValueError(
            f"Raw file size ({size} bytes) does not match the expected size ({expected} bytes) "
            f"based on the provided shape {tuple(shape)} and dtype {dtype}."
        )
    data: Array = np.fromfile(path, dtype)
    return data.reshape(shape)
