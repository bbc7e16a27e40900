# SPDX-License-Identifier: Apache-2.0
"""The inference session."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from typing import Literal, overload

import numpy as np
from numpy.typing import ArrayLike

from pyonert._arrays import Array
from pyonert._convert import StrPath
from pyonert.common.basesession import BaseSession
from pyonert.errors import doing
from pyonert.native.types import DTYPES, tensorinfo

Times = dict[str, float]


class session(BaseSession):
    """A model prepared for inference at the first call of `infer`.

    Args:
        path: a .circle or .tflite file, or an nnpackage directory.
        backends: engines to choose from, separated by ";". All mean this library's own.
        num_threads: threads, the caller's included; 0: all that the process may use.

    Raises:
        OnertError: the file is missing, damaged, or holds something unsupported.
    """

    def __init__(self, path: StrPath, backends: str = "cpu", *, num_threads: int = 0) -> None:
        super().__init__(path, backends, num_threads)
        self._model_inputs = self.get_inputs_tensorinfo()
        self._shapes: list[tuple[int, ...]] | None = None

    @overload
    def infer(
        self, inputs_array: Sequence[ArrayLike], *, measure: Literal[False] = False
    ) -> list[Array]: ...

    @overload
    def infer(
        self, inputs_array: Sequence[ArrayLike], *, measure: Literal[True]
    ) -> tuple[list[Array], Times]: ...

    def infer(
        self, inputs_array: Sequence[ArrayLike], *, measure: bool = False
    ) -> list[Array] | tuple[list[Array], Times]:
        """Runs the model once.

        Args:
            inputs_array: one array per model input. A shape that differs from the model's is taken
                over, with a warning at the first call; each change of shapes prepares anew.
            measure: also return times in ms: prepare_time_ms (only where the call prepared),
                input_time_ms, run_time_ms, output_time_ms.

        Returns:
            One read-only array per model output; with `measure` a pair of those and the times.

        Raises:
            ValueError: another number of arrays than the model has inputs.
            TypeError: an array whose dtype does not fit.
            OnertError: the model cannot be prepared or run with these shapes.
        """
        if len(inputs_array) != self._n_inputs:
            raise ValueError(
                f"Expected {self._n_inputs} input(s), but received {len(inputs_array)}."
            )
        arrays = [np.asarray(a) for a in inputs_array]
        times: Times = {}
        start = time.perf_counter()
        shapes = [a.shape for a in arrays]
        if shapes != self._shapes:
            with doing("Session preparation failed"):
                self._prepare(shapes)
            start = _lap(times, "prepare_time_ms", start)
        with doing("Failed to bind inputs"):
            self.set_inputs(self._n_inputs, arrays)
        start = _lap(times, "input_time_ms", start)
        with doing("Failed to bind outputs"):
            outputs = self._new_outputs()
        start = _lap(times, "output_time_ms", start)
        with doing("Inference execution failed"):
            self.run()
        _lap(times, "run_time_ms", start)
        for output in outputs:
            output.flags.writeable = False
        self.outputs = outputs
        return (outputs, times) if measure else outputs

    def _new_outputs(self) -> list[Array]:
        """Binds a new array to each output: what a call returns stays as it is at the next."""
        outputs = []
        for i, info in enumerate(self.get_outputs_tensorinfo()):
            outputs.append(np.empty(info.dims, DTYPES[info.dtype]))
            self.set_output(i, outputs[i])
        return outputs

    def _prepare(self, shapes: list[tuple[int, ...]]) -> None:
        if self._shapes is None:
            self._warn_of_shapes(shapes)
        else:
            # A prepared session tells the shapes of its outputs only after a run with new inputs.
            self._shapes = None
            self.close()
            self._create()
            self._load()
        infos = self.get_inputs_tensorinfo()
        for info, shape in zip(infos, shapes):
            info.dims = shape
        self._update_inputs_tensorinfo(infos)
        self.prepare()
        self._shapes = shapes

    def _warn_of_shapes(self, shapes: list[tuple[int, ...]]) -> None:
        for i, (info, shape) in enumerate(zip(self._model_inputs, shapes)):
            dims = info.dims
            if len(shape) != len(dims) or any(d not in (-1, s) for s, d in zip(shape, dims)):
                warnings.warn(
                    f"infer() called with input {i}'s shape={shape}, which differs from "
                    f"model's expected shape={tuple(dims)}. Ensure this is intended.",
                    UserWarning,
                    stacklevel=4,
                )

    def _update_inputs_tensorinfo(self, new_infos: Sequence[tensorinfo]) -> None:
        if len(new_infos) != self._n_inputs:
            raise ValueError(
                f"Expected {self._n_inputs} input tensorinfo(s), but got {len(new_infos)}."
            )
        for i, info in enumerate(new_infos):
            if any(d < 0 for d in info.dims):
                raise ValueError(
                    f"Input tensorinfo at index {i} contains negative dimension(s): {info.dims}"
                )
            if info != self.input_tensorinfo(i):
                self.set_input_tensorinfo(i, info)


def _lap(times: Times, key: str, start: float) -> float:
    """Notes the ms since `start` and returns the time now."""
    now = time.perf_counter()
    times[key] = (now - start) * 1e3
    return now
