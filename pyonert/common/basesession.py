# SPDX-License-Identifier: Apache-2.0
"""BaseSession: a loaded model with its inputs and outputs, the parent of both kinds of session."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from pyonert._arrays import Array, as_source
from pyonert._convert import StrPath
from pyonert._session import NnfwSession
from pyonert.errors import doing
from pyonert.native.types import DTYPES, tensorinfo


def num_elems(tensor_info: tensorinfo) -> int:
    """Returns the number of elements of a tensor."""
    return math.prod(tensor_info.dims)


class BaseSession(NnfwSession):
    """A session with a model in it.

    Attributes:
        inputs: arrays bound last as inputs.
        outputs: arrays that hold the outputs of the last run or step.
    """

    def __init__(self, path: StrPath, backends: str, num_threads: int = 0) -> None:
        super().__init__()
        self.inputs: list[Array] = []
        self.outputs: list[Array] = []
        self._backends = backends
        self._num_threads = num_threads
        try:
            self._path = os.path.abspath(os.fspath(path))
            self._load()
            # Asked once: in training the library counts the labels as inputs, too.
            self._n_inputs = self.input_size()
            self._n_outputs = self.output_size()
        except BaseException:
            self.close()
            raise

    def _load(self) -> None:
        self.load_model_from_file(self._path)
        self.set_available_backends(self._backends)
        if self._num_threads:
            self.set_num_threads(self._num_threads)

    @property
    def session(self) -> NnfwSession:
        """The session itself, under the name that scripts written for onert reach its calls by."""
        return self

    def get_inputs_tensorinfo(self) -> list[tensorinfo]:
        """Returns dtype and shape of each model input."""
        infos = []
        for i in range(self._n_inputs):
            with doing(f"Failed to get input tensorinfo #{i}"):
                infos.append(self.input_tensorinfo(i))
        return infos

    def get_outputs_tensorinfo(self) -> list[tensorinfo]:
        """Returns dtype and shape of each model output."""
        infos = []
        for i in range(self._n_outputs):
            with doing(f"Failed to get output tensorinfo #{i}"):
                infos.append(self.output_tensorinfo(i))
        return infos

    def set_inputs(self, size: int, inputs_array: Sequence[ArrayLike] = ()) -> None:
        """Binds the arrays that `run` reads, giving an input the shape of its array.

        Args:
            size: number of inputs to bind.
            inputs_array: one array per input; inputs without one are filled with zeros, with a
                warning.

        Raises:
            TypeError, ValueError: an array whose dtype does not fit.
        """
        bound = []
        for i in range(size):
            with doing(f"Failed to get input tensorinfo #{i}"):
                info = self.input_tensorinfo(i)
            dtype = DTYPES[info.dtype]
            if i < len(inputs_array):
                array = as_source(inputs_array[i], dtype, f"input {i}")
            else:
                warnings.warn(
                    f"Model's input size is {size}, but given inputs_array size is "
                    f"{len(inputs_array)}. {i}-th index input is replaced by an array "
                    "filled with 0.",
                    stacklevel=2,
                )
                array = np.zeros([max(d, 1) for d in info.dims], dtype)
            if list(array.shape) != info.dims:
                info.dims = array.shape
                with doing(f"Failed to set input tensor info #{i}"):
                    self.set_input_tensorinfo(i, info)
            with doing(f"Failed to set input #{i}"):
                self.set_input(i, array)
            bound.append(array)
        self.inputs = bound
