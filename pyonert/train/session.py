# SPDX-License-Identifier: Apache-2.0
"""The training session."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence, Sized
from typing import Any, Optional, Union

import numpy as np
from numpy.typing import ArrayLike

from pyonert._arrays import Array, as_source, check_shape
from pyonert._convert import StrPath
from pyonert.common.basesession import BaseSession
from pyonert.native._capi import lib
from pyonert.native.types import DTYPES, lossinfo, traininfo
from pyonert.train.dataloader import DataLoader
from pyonert.train.losses.loss import LossFunction
from pyonert.train.losses.registry import LossRegistry
from pyonert.train.metrics.metric import Metric
from pyonert.train.metrics.registry import MetricsRegistry
from pyonert.train.optimizer.adam import Adam
from pyonert.train.optimizer.optimizer import Optimizer
from pyonert.train.optimizer.registry import OptimizerRegistry
from pyonert.train.reporting import (
    Callback,
    ConsoleReporter,
    EpochLog,
    TrainingSetup,
    time_block,
)

Arrays = Union[Sequence[ArrayLike], Array]
Batches = Iterable[tuple[Arrays, Arrays]]
BatchSource = Union[DataLoader, Batches, Callable[[], Batches]]

# Leading dimension of an array of a batch, and of a full one. Tensors of a model may differ in how
# many rows a sample has; the share of a full batch is the same for all.
_Rows = Optional[tuple[int, int]]


class TrainSession(BaseSession):
    """A model in training.

    Args:
        nnpackage_path: a .circle or .tflite file, or an nnpackage directory.
        backends: engines to choose from, separated by ";". All mean this library's own.
        verbose: print the parameter block and a line per epoch.
        num_threads: threads, the caller's included; 0: all that the process may use.

    Attributes:
        total_time: ms of MODEL_LOAD, COMPILE, and of the last `train` EXECUTE and the list
            EPOCH_TIMES.
        train_info: settings that the model file carries, or those of `compile`.
        optimizer, loss, metrics: those of `compile`.
        outputs: predictions of the last step; rows beyond its batch are of earlier ones.

    Raises:
        OnertError: the file is missing, damaged, or holds something unsupported.
    """

    def __init__(
        self,
        nnpackage_path: StrPath,
        backends: str = "train",
        *,
        verbose: bool = True,
        num_threads: int = 0,
    ) -> None:
        start = time.perf_counter()
        super().__init__(nnpackage_path, backends, num_threads)
        self.total_time: dict[str, Any] = {"MODEL_LOAD": _ms_since(start)}
        self.train_info: traininfo = self.train_get_traininfo()
        self.optimizer: Optimizer | None = None
        self.loss: LossFunction | None = None
        self.metrics: list[Metric] = []
        self.reporters: list[Callback] = [ConsoleReporter()] if verbose else []
        self._metric_names: list[str] = []
        self._updating: bool | None = None

    def compile(
        self,
        optimizer: str | Optimizer,
        loss: str | LossFunction,
        metrics: Sequence[str | Metric] = (),
        batch_size: int = 16,
        *,
        keep_gradients: bool = False,
        trainable: str | None = None,
        memory_limit: int = 0,
    ) -> None:
        """Prepares for training; once per session.

        Args:
            optimizer: "sgd", "adam", or an object.
            loss: "mean_squared_error", "categorical_crossentropy", or an object.
            metrics: one per model output, or none: "categorical_accuracy", or objects.
            batch_size: samples of a full batch; shorter batches can be given at any step.
            keep_gradients: make `gradients` possible.
            trainable: patterns over tensor names, separated by ";", that pick what is trained,
                instead of the optimizer's nums_trainable_ops.
            memory_limit: bytes that the intermediate tensors of a step may take, see
                `train_get_memory`; 0: any number. A step that needs more is refused.

        Raises:
            TypeError, ValueError: an unknown optimizer, loss or metric; a batch size below 1.
            OnertInvalidStateError: compiled before.
            OnertError: settings or operators that cannot be trained; compile may be called again.
        """
        start = time.perf_counter()
        optimizer_object = OptimizerRegistry.resolve(optimizer)
        loss_object = LossRegistry.resolve(loss)
        if batch_size < 1:
            raise ValueError(f"batch_size must be at least 1, was {batch_size}.")
        if not 0 <= memory_limit < 2**64:
            raise ValueError(f"memory_limit must be a number of bytes, was {memory_limit}.")
        metric_objects = [_as_metric(m) for m in metrics]
        if metric_objects and len(metric_objects) != self._n_outputs:
            raise ValueError(
                f"Number of metrics ({len(metric_objects)}) does not match outputs "
                f"({self._n_outputs}). "
                "Please ensure one metric is provided for each model output."
            )
        info = traininfo(
            learning_rate=optimizer_object.learning_rate,
            batch_size=batch_size,
            loss_info=lossinfo(loss_object.code, loss_object.reduction),
            opt=optimizer_object.code,
            num_of_trainable_ops=int(optimizer_object.nums_trainable_ops),
        )
        self.train_set_traininfo(info)
        moments: dict[str, float] = {}
        if isinstance(optimizer_object, Adam):
            moments = {
                "adam_beta1": optimizer_object.beta1,
                "adam_beta2": optimizer_object.beta2,
                "adam_epsilon": optimizer_object.epsilon,
            }
        self.train_set_options(keep_gradients=keep_gradients, trainable=trainable, **moments)
        self.train_set_memory_limit(memory_limit)
        self.train_prepare()
        self.train_info = info
        self.optimizer, self.loss, self.metrics = optimizer_object, loss_object, metric_objects
        self._metric_names = _unique([type(m).__name__ for m in metric_objects])
        self.outputs = []
        for i, output in enumerate(self.get_outputs_tensorinfo()):
            self.outputs.append(np.zeros(output.dims, DTYPES[output.dtype]))
            super().train_set_output(i, self.outputs[i])
        self.total_time["COMPILE"] = _ms_since(start)
        setup = TrainingSetup(optimizer_object, loss_object, batch_size)
        for reporter in self.reporters:
            reporter.on_compile_end(setup)

    def train(
        self,
        data_loader: BatchSource,
        epochs: int,
        validation_split: float = 0.0,
        checkpoint_path: StrPath | None = None,
        *,
        validation_data: BatchSource | None = None,
        initial_epoch: int = 0,
        callbacks: Sequence[Callback] = (),
    ) -> dict[str, Any]:
        """Trains for a number of epochs and prints a line for each.

        Args:
            data_loader: a DataLoader; or batches (inputs, expecteds): a list, any object that can
                be iterated once per epoch, or a function that returns an iterator.
            epochs: number of the last epoch.
            validation_split: share of a DataLoader's samples, its last ones, kept for validation.
            checkpoint_path: where to export a checkpoint to after every epoch.
            validation_data: other data for validation, instead of a split.
            initial_epoch: epochs done before, in an earlier run; counting goes on from there.
            callbacks: are told about every step and epoch, before the line is printed.

        Returns:
            `total_time`, in ms.

        Raises:
            RuntimeError: not compiled.
            TypeError, ValueError: an array that does not fit the model.
            OnertError: the library failed.
        """
        if self.optimizer is None:
            raise RuntimeError("Call compile() before train().")
        if validation_split:
            if validation_data is not None:
                raise ValueError("validation_split and validation_data exclude each other.")
            if not isinstance(data_loader, DataLoader):
                raise ValueError("validation_split needs a DataLoader; use validation_data.")
            data_loader, validation_data = data_loader.split(validation_split)
        listeners = [*callbacks, *self.reporters]
        times: list[float] = []
        for epoch in range(initial_epoch + 1, epochs + 1):
            start = time.perf_counter()
            batches = data_loader() if callable(data_loader) else data_loader
            steps = len(batches) if isinstance(batches, Sized) else None
            for listener in listeners:
                listener.on_epoch_begin(epoch, epochs, steps)
            loss, taken = self._run_phase(batches, True, listeners)
            train_time = _ms_since(start) / taken
            metrics = self._metric_results()
            val_loss: float | None = None
            val_metrics: dict[str, float] = {}
            if validation_data is not None:
                val_loss, val_metrics = self.evaluate(validation_data)
            if checkpoint_path is not None:
                self.export_checkpoint(checkpoint_path)
            times.append(_ms_since(start))
            log = EpochLog(
                epoch, epochs, taken, train_time, loss, metrics, val_loss, val_metrics, times[-1]
            )
            for listener in listeners:
                listener.on_epoch_end(log)
        self.total_time["EXECUTE"] = sum(times)
        self.total_time["EPOCH_TIMES"] = times
        return self.total_time

    def evaluate(self, data: BatchSource) -> tuple[float, dict[str, float]]:
        """Returns loss and metrics over all batches of `data`; weights stay as they are."""
        if self.optimizer is None:
            raise RuntimeError("Call compile() before evaluate().")
        loss, _ = self._run_phase(data() if callable(data) else data, False, ())
        return loss, self._metric_results()

    def train_step(self, inputs: Arrays, expecteds: Arrays) -> dict[str, Any]:
        """Trains on one batch.

        Args:
            inputs: one array [N, ...] per model input, 1 <= N <= batch_size.
            expecteds: the labels, one array per model output.

        Returns:
            "loss": list of floats, one per output, of before the update; "metrics": by class name,
            gathered over the steps of this kind since `reset_metrics` or a step of the other kind;
            "train_time": ms.

        Raises:
            RuntimeError: not compiled.
            TypeError, ValueError: an array that does not fit.
        """
        start = time.perf_counter()
        if self.optimizer is None:
            raise RuntimeError("Call `compile()` before `train_step()`")
        losses, _ = self._step(inputs, expecteds, True)
        return {
            "loss": losses,
            "metrics": self._metric_results(),
            "train_time": (time.perf_counter() - start) * 1e3,
        }

    def eval_step(self, inputs: Arrays, expecteds: Arrays) -> dict[str, Any]:
        """Same without changing weights; the time is under "eval_time"."""
        start = time.perf_counter()
        if self.optimizer is None:
            raise RuntimeError("Call `compile()` before `eval_step()`")
        losses, _ = self._step(inputs, expecteds, False)
        return {
            "loss": losses,
            "metrics": self._metric_results(),
            "eval_time": (time.perf_counter() - start) * 1e3,
        }

    def predict(self, inputs: Arrays) -> list[Array]:
        """Returns the model's outputs with the weights as they are, for any number of samples.

        Args:
            inputs: one array [N, ...] per model input; other settings of `run` are replaced.

        Raises:
            RuntimeError: not compiled.
            TypeError, ValueError: an array that does not fit.
        """
        if self.optimizer is None:
            raise RuntimeError("Call compile() before predict().")
        slots = [self._slot("input", i) for i in range(self._n_inputs)]
        arrays = [
            as_source(array, slot.dtype, slot.what)
            for array, slot in zip(self._listed("input", inputs, self._n_inputs), slots)
        ]
        for array, slot in zip(arrays, slots):
            check_shape(array.shape, [-1, *slot.dims[1:]], slot.what)
        batch, share = slots[0].dims[0], len(arrays[0]) / slots[0].dims[0]
        for array, slot in zip(arrays, slots):
            check_shape(array.shape, [round(share * slot.dims[0]), *slot.dims[1:]], slot.what)
        results = [[output[:0]] for output in self.outputs]
        for start in range(0, len(arrays[0]), batch):
            for i, (array, slot) in enumerate(zip(arrays, slots)):
                full = slot.dims[0]
                part = array[start // batch * full :][:full]
                if len(part) < full:
                    # A run takes a full batch; samples do not see each other.
                    rest = np.zeros((full - len(part), *part.shape[1:]), part.dtype)
                    part = np.concatenate([part, rest])
                self.set_input(i, part)
            for i, output in enumerate(self.outputs):
                results[i].append(np.empty(output.shape, output.dtype))
                self.set_output(i, results[i][-1])
            self.run()
        return [
            np.concatenate(parts)[: round(share * len(output))]
            for parts, output in zip(results, self.outputs)
        ]

    def train_set_output(self, index: int, buffer: Array) -> None:
        """See NnfwSession; `outputs` and the metrics then use this array."""
        super().train_set_output(index, buffer)
        self.outputs[index] = buffer

    def reset_metrics(self) -> None:
        """Forgets what the metrics have gathered."""
        for metric in self.metrics:
            metric.reset_state()

    def _step(self, inputs: Arrays, expecteds: Arrays, update: bool) -> tuple[list[float], int]:
        """Returns the losses of a batch, one per output, and its number of samples."""
        rows = self._bind_all("input", inputs, self._n_inputs, lib.nnfw_train_set_input, None)
        rows = self._bind_all(
            "expected", expecteds, self._n_outputs, lib.nnfw_train_set_expected, rows
        )
        for i, output in enumerate(self.outputs):
            slot = self._slots.get(("output", i))
            if slot is None or slot.array is not output:
                super().train_set_output(i, output)
        self.train_run(update)
        losses = [self.train_get_loss(i) for i in range(self._n_outputs)]
        if self.metrics:
            if update is not self._updating:
                self.reset_metrics()
                self._updating = update
            for i, metric in enumerate(self.metrics):
                label = self._slots["expected", i].array
                metric.update_state([self.outputs[i][: len(label)]], [label])
        return losses, rows[0] if rows else 0

    def _bind_all(self, kind: str, arrays: Arrays, wanted: int, call: Any, first: _Rows) -> _Rows:
        """Binds all inputs or all labels of a batch; returns the rows of the first, see _Rows."""
        for i, array in enumerate(self._listed(kind, arrays, wanted)):
            slot = self._slot(kind, i)
            n, full = self._bind(slot, call, array), slot.dims[0]
            if first is None:
                first = (n, full)
            elif n * first[1] != first[0] * full:
                raise ValueError(
                    f"{slot.what}: all arrays of a batch must have as many samples as input 0: "
                    f"{first[0] * full // first[1]} are wanted, {n} were given"
                )
        return first

    @staticmethod
    def _listed(kind: str, arrays: Arrays, wanted: int) -> Sequence[ArrayLike]:
        """Returns the arrays of a batch as a list; where one is wanted it may come without."""
        if wanted == 1 and isinstance(arrays, np.ndarray):
            return [arrays]
        if len(arrays) != wanted:
            raise ValueError(f"{wanted} {kind} array(s) are wanted, {len(arrays)} were given.")
        return [*arrays]

    def _run_phase(
        self, batches: Batches, update: bool, listeners: Sequence[Callback]
    ) -> tuple[float, int]:
        """Steps through all batches; returns the loss, weighed by samples, and the steps."""
        self.reset_metrics()
        total, samples, steps = 0.0, 0, 0
        for inputs, expecteds in batches:
            losses, n = self._step(inputs, expecteds, update)
            loss = sum(losses)
            total += loss * n
            samples += n
            steps += 1
            for listener in listeners:
                listener.on_batch_end(steps, loss)
        if not steps:
            raise ValueError(
                "The data has no batches. An iterator is used up after one epoch: give a list, a "
                "DataLoader, or a function that returns a new iterator."
            )
        return total / samples, steps

    def _metric_results(self) -> dict[str, float]:
        if not self.metrics:
            return {}
        return {name: m.result() for name, m in zip(self._metric_names, self.metrics)}

    def set_learning_rate(self, learning_rate: float) -> None:
        """Sets the step length of the steps to come, > 0."""
        self.train_set_learning_rate(learning_rate)
        self.train_info.learning_rate = learning_rate

    def import_checkpoint(self, path: StrPath) -> None:
        """Takes weights, optimizer state and step count from a checkpoint; after `compile`.

        Raises:
            OnertError: the file is missing or damaged, or of another model or optimizer; nothing
                has changed then.
        """
        self.train_import_checkpoint(path)

    def export_checkpoint(self, path: StrPath) -> None:
        """Writes weights, optimizer state and step count; after at least one step."""
        self.train_export_checkpoint(path)

    def export_circle(self, path: StrPath) -> None:
        """Writes the model with the trained weights; after at least one step."""
        self.train_export_circle(path)

    def export_circleplus(self, path: StrPath) -> None:
        """Writes the model with the trained weights and the training settings; after `compile`."""
        self.train_export_circleplus(path)

    def parameters(self) -> dict[str, Array]:
        """Returns copies of the trained parameters by tensor name, float32; after `compile`."""
        return {name: self.train_get_parameter(i) for i, name in self._parameter_names()}

    def gradients(self) -> dict[str, Array]:
        """Returns copies of the gradients of the last train_step by tensor name, float32.

        Needs compile(keep_gradients=True).
        """
        return {name: self.train_get_gradient(i) for i, name in self._parameter_names()}

    def set_parameters(self, values: dict[str, ArrayLike]) -> None:
        """Overwrites parameters, given by tensor name.

        Raises:
            KeyError: a name that is no trained parameter; nothing has changed then.
            TypeError, ValueError: dtype or shape of an array does not fit.
        """
        indices = {name: i for i, name in self._parameter_names()}
        unknown = [name for name in values if name not in indices]
        if unknown:
            raise KeyError(f"not a trained parameter: {', '.join(unknown)}")
        for name, value in values.items():
            self.train_set_parameter(indices[name], value)

    def _parameter_names(self) -> list[tuple[int, str]]:
        infos = [self.train_parameter_info(i) for i in range(self.train_parameter_count())]
        names = [name for name, _, _ in infos]
        return [
            (i, name if names.count(name) == 1 else f"{name}#{tensor_index}")
            for i, (name, tensor_index, _) in enumerate(infos)
        ]

    def print_time(self) -> None:
        """Prints the closing block of times, through the session's own reporter."""
        for reporter in self.reporters:
            if isinstance(reporter, ConsoleReporter):
                reporter.write(time_block(self.total_time))


def _as_metric(metric: str | Metric) -> Metric:
    if isinstance(metric, str):
        return MetricsRegistry.create(metric)
    if not isinstance(metric, Metric):
        raise TypeError(
            f"Invalid metric type: {type(metric).__name__}. "
            "All metrics must inherit from the Metric base class."
        )
    return metric


def _unique(names: list[str]) -> list[str]:
    """Numbers names that occur before: ["A", "A"] -> ["A", "A_1"]."""
    return [
        f"{name}_{names[:i].count(name)}" if name in names[:i] else name
        for i, name in enumerate(names)
    ]


def _ms_since(start: float) -> float:
    return (time.perf_counter() - start) * 1e3
