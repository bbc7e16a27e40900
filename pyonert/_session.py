# SPDX-License-Identifier: Apache-2.0
"""NnfwSession: the C API as one class. A method is: convert, call, check.

Method names follow the C functions, without their prefix (`nnfw_train` is `train_run`). Arrays that
C only borrows are kept alive by the session until they are replaced or the session is closed. A
failing call raises a subclass of OnertError with the library's text and changes nothing.
One session may be used from one thread at a time; every call releases the GIL.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from pyonert._arrays import (
    Array,
    BatchSlot,
    as_source,
    borrow,
    borrow_target,
    check_shape,
    check_target,
)
from pyonert._convert import (
    StrPath,
    info_from_c,
    info_to_c,
    path_bytes,
    read_text,
    text_bytes,
)
from pyonert.errors import OnertError, OnertInvalidStateError, error_of
from pyonert.native._capi import ffi, lib
from pyonert.native.types import (
    DTYPE_CODES,
    DTYPE_NAMES,
    DTYPES,
    loss,
    loss_reduction,
    lossinfo,
    optimizer,
    prepare_config,
    tensorinfo,
    trainable_ops,
    traininfo,
)

_Self = TypeVar("_Self", bound="NnfwSession")

_LAYOUTS = {"NONE": 0, "NHWC": 1, "NCHW": 2}


def version() -> int:
    """Returns the version of the C library, 0xMMmmmmPP: major, minor, patch."""
    value = ffi.new("uint32_t *")
    status = lib.nnfw_query_info_u32(ffi.NULL, 0, value)
    if status:
        raise error_of(status, read_text(lib.onert_get_thread_error_message))
    return int(value[0])


class NnfwSession:
    """A session of the C library: its handle and the calls on it.

    Usable as a context manager; `close()` may be called more than once. After it every other call
    raises OnertInvalidStateError.
    """

    _owned: Any = None
    # Within reach when the interpreter shuts down and has dropped the module's names.
    _release = staticmethod(ffi.release)

    def __init__(self) -> None:
        self._borrowed: dict[tuple[str, int], Any] = {}
        self._slots: dict[tuple[str, int], BatchSlot] = {}
        self._loss = ffi.new("float *")
        self._create()

    def _create(self) -> None:
        out = ffi.new("nnfw_session **")
        status = lib.nnfw_create_session(out)
        if status:
            raise error_of(status, read_text(lib.onert_get_thread_error_message))
        self._owned = ffi.gc(out[0], lib.nnfw_close_session)

    def close(self) -> None:
        """Frees the session and lets go of all borrowed arrays."""
        if self._owned is not None:
            owned, self._owned = self._owned, None
            self._release(owned)
            self._borrowed.clear()
            self._slots.clear()

    def __del__(self) -> None:
        # The handle goes before the arrays that C borrows, also for a session that is running.
        self.close()

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def _handle(self) -> Any:
        if self._owned is None:
            raise OnertInvalidStateError("the session is closed")
        return self._owned

    def _check(self, status: int) -> None:
        if status:
            # A call that found the session in use by another thread has left its text in this one.
            text = self.get_last_error_message() or read_text(lib.onert_get_thread_error_message)
            raise error_of(status, text)

    def get_last_error_message(self) -> str:
        """Returns the text of the last failure, "" if there was none."""
        handle = self._handle
        return read_text(lambda buffer, size: lib.nnfw_get_last_error_message(handle, buffer, size))

    # Loading

    def load_model_from_file(self, path: StrPath) -> None:
        """Loads a .circle or .tflite file, or an nnpackage directory."""
        self._check(lib.nnfw_load_model_from_file(self._handle, path_bytes(path)))

    def load_circle_from_buffer(self, data: bytes | bytearray | memoryview) -> None:
        """Loads a circle model from memory, which is kept until the session is closed."""
        borrowed = ffi.from_buffer("uint8_t[]", data)
        self._check(lib.nnfw_load_circle_from_buffer(self._handle, borrowed, len(borrowed)))
        self._borrowed["model", 0] = borrowed

    def set_available_backends(self, backends: str) -> None:
        """Names the engines to choose from, separated by ";". All mean this library's own."""
        name = text_bytes(backends, "backends")
        self._check(lib.nnfw_set_available_backends(self._handle, name))

    def set_backends_per_operation(self, settings: str) -> None:
        """`index=backend;...`"""
        text = text_bytes(settings, "settings")
        self._check(lib.nnfw_set_backends_per_operation(self._handle, text))

    def set_workspace(self, directory: StrPath) -> None:
        """Sets the folder of trace files. Before loading."""
        self._check(lib.nnfw_set_workspace(self._handle, path_bytes(directory)))

    def set_num_threads(self, n_threads: int) -> None:
        """Sets the number of threads, the caller's included; 0: all that the process may use."""
        self._check(lib.onert_set_num_threads(self._handle, n_threads))

    # Queries

    def input_size(self) -> int:
        """Returns the number of inputs; once prepared for training, labels are counted too."""
        return self._count(lib.nnfw_input_size)

    def output_size(self) -> int:
        """Returns the number of outputs."""
        return self._count(lib.nnfw_output_size)

    def _count(self, call: Any) -> int:
        number = ffi.new("uint32_t *")
        self._check(call(self._handle, number))
        return int(number[0])

    def input_tensorinfo(self, index: int) -> tensorinfo:
        """Returns dtype and shape of an input."""
        return self._tensorinfo(lib.nnfw_input_tensorinfo, index)

    def output_tensorinfo(self, index: int) -> tensorinfo:
        """Returns dtype and shape of an output."""
        return self._tensorinfo(lib.nnfw_output_tensorinfo, index)

    def _tensorinfo(self, call: Any, index: int) -> tensorinfo:
        info = ffi.new("nnfw_tensorinfo *")
        self._check(call(self._handle, index, info))
        return info_from_c(info)

    def input_tensorindex(self, name: str) -> int:
        """Returns the index of the input of this name."""
        return self._tensorindex(lib.nnfw_input_tensorindex, name)

    def output_tensorindex(self, name: str) -> int:
        """Returns the index of the output of this name."""
        return self._tensorindex(lib.nnfw_output_tensorindex, name)

    def _tensorindex(self, call: Any, name: str) -> int:
        index = ffi.new("uint32_t *")
        self._check(call(self._handle, text_bytes(name, "tensor name"), index))
        return int(index[0])

    # Settings of inputs and outputs

    def set_input_tensorinfo(self, index: int, tensor_info: tensorinfo) -> None:
        """Gives an input another shape; the dtype is ignored."""
        info = info_to_c(tensor_info)
        self._check(lib.nnfw_set_input_tensorinfo(self._handle, index, info))

    def set_input_layout(self, index: int, layout: str = "NONE") -> None:
        """Declares the layout of the caller's data: "NCHW", "NHWC" or "NONE" (the model's own)."""
        self._check(lib.nnfw_set_input_layout(self._handle, index, self._layout(layout)))

    def set_output_layout(self, index: int, layout: str = "NONE") -> None:
        """Same for an output."""
        self._check(lib.nnfw_set_output_layout(self._handle, index, self._layout(layout)))

    @staticmethod
    def _layout(layout: str) -> int:
        code = _LAYOUTS.get(layout)
        if code is None:
            raise OnertError(f"Unknown layout type: '{layout}'")
        return code

    def set_input(self, index: int, buffer: ArrayLike) -> None:
        """Binds the array that `run` reads; a converted array is a copy of the moment.

        Raises:
            TypeError, ValueError: dtype or shape is not the input's.
        """
        info = self.input_tensorinfo(index)
        what = f"input {index}"
        array = as_source(buffer, DTYPES[info.dtype], what)
        check_shape(array.shape, info.dims, what)
        pointer = borrow(array)
        code = DTYPE_CODES[info.dtype]
        self._check(lib.nnfw_set_input(self._handle, index, code, pointer, array.nbytes))
        self._borrowed["input", index] = pointer
        # A training session has one binding per input, for steps and for runs.
        self._slots.pop(("input", index), None)

    def set_output(self, index: int, buffer: Array) -> None:
        """Binds the array that `run` writes: exact dtype, writable, contiguous, large enough."""
        info = self.output_tensorinfo(index)
        array = check_target(buffer, DTYPES[info.dtype], f"output {index}")
        pointer = borrow_target(array)
        code = DTYPE_CODES[info.dtype]
        self._check(lib.nnfw_set_output(self._handle, index, code, pointer, array.nbytes))
        self._borrowed["output", index] = pointer
        self._slots.pop(("output", index), None)

    # Inference

    def set_prepare_config(self, config: prepare_config) -> None:
        """Switches a setting of `prepare` on."""
        self._check(lib.nnfw_set_prepare_config(self._handle, int(config), ffi.NULL))

    def prepare(self) -> None:
        """Prepares the model for inference."""
        self._check(lib.nnfw_prepare(self._handle))

    def run(self) -> None:
        """Reads the bound inputs, writes the bound outputs."""
        self._check(lib.nnfw_run(self._handle))

    def run_async(self) -> None:
        """Starts `run` in a thread of its own; `wait` must follow."""
        self._check(lib.nnfw_run_async(self._handle))

    def wait(self) -> None:
        """Waits for the end of `run_async` (nnfw_await)."""
        self._check(lib.nnfw_await(self._handle))

    def get_output(self, index: int) -> Array:
        """Returns a read-only copy of an output that the library holds itself.

        For sessions prepared with ENABLE_INTERNAL_OUTPUT_ALLOC.
        """
        info = ffi.new("nnfw_tensorinfo *")
        data = ffi.new("const void **")
        self._check(lib.nnfw_get_output(self._handle, index, info, data))
        shape = list(info.dims)[: info.rank]
        array: Array = np.empty(shape, DTYPES[DTYPE_NAMES[info.dtype]])
        if array.nbytes:
            ffi.memmove(
                ffi.from_buffer("char[]", array, require_writable=True), data[0], array.nbytes
            )
        array.flags.writeable = False
        return array

    # Training

    def train_get_traininfo(self) -> traininfo:
        """Returns what was set, or what the model file carries.

        For a file that trains other operators than its last ones, num_of_trainable_ops is
        trainable_ops.INCORRECT_STATE.
        """
        c = ffi.new("nnfw_train_info *")
        status = lib.nnfw_train_get_traininfo(self._handle, c)
        if c.num_of_trainable_ops != trainable_ops.INCORRECT_STATE:
            self._check(status)
        return traininfo(
            c.learning_rate,
            c.batch_size,
            lossinfo(loss(c.loss_info.loss), loss_reduction(c.loss_info.reduction_type)),
            optimizer(c.opt),
            c.num_of_trainable_ops,
        )

    def train_set_traininfo(self, info: traininfo) -> None:
        """Sets what `train_prepare` goes by."""
        c = ffi.new("nnfw_train_info *")
        c.learning_rate = info.learning_rate
        c.batch_size = info.batch_size
        c.loss_info.loss = int(info.loss_info.loss)
        c.loss_info.reduction_type = int(info.loss_info.reduction_type)
        c.opt = int(info.opt)
        c.num_of_trainable_ops = int(info.num_of_trainable_ops)
        self._check(lib.nnfw_train_set_traininfo(self._handle, c))

    def train_set_options(
        self,
        *,
        adam_beta1: float = 0.9,
        adam_beta2: float = 0.999,
        adam_epsilon: float = 1e-7,
        keep_gradients: bool = False,
        trainable: str | None = None,
    ) -> None:
        """Sets what traininfo has no room for, see onert_train_options in onert_ext.h.

        Args:
            adam_beta1, adam_beta2: decay of the first and second moment, in [0, 1).
            adam_epsilon: added to the root of the second moment, > 0.
            keep_gradients: keep gradients readable after a step.
            trainable: patterns over tensor names, separated by ";", instead of
                num_of_trainable_ops.
        """
        c = ffi.new("onert_train_options *")
        c.struct_size = ffi.sizeof("onert_train_options")
        self._check(lib.onert_train_options_init(c))
        c.adam_beta1 = adam_beta1
        c.adam_beta2 = adam_beta2
        c.adam_epsilon = adam_epsilon
        c.keep_gradients = keep_gradients
        patterns = ffi.NULL
        if trainable is not None:
            patterns = ffi.new("char[]", text_bytes(trainable, "trainable"))
        c.trainable = patterns
        self._check(lib.onert_train_set_options(self._handle, c))

    def train_set_memory_limit(self, n_bytes: int) -> None:
        """Sets how many bytes the intermediate tensors of a step may take; 0: any number."""
        self._check(lib.onert_train_set_memory_limit(self._handle, n_bytes))

    def train_get_memory(self) -> int:
        """Returns the bytes held for the intermediate tensors of steps."""
        c = ffi.new("uint64_t *")
        self._check(lib.onert_train_get_memory(self._handle, c))
        return int(c[0])

    def train_prepare(self) -> None:
        """Prepares the model for training."""
        self._slots.clear()
        self._check(lib.nnfw_train_prepare(self._handle))

    def _slot(self, kind: str, index: int) -> BatchSlot:
        slot = self._slots.get((kind, index))
        if slot is None:
            info = (
                self.input_tensorinfo(index) if kind == "input" else self.output_tensorinfo(index)
            )
            slot = BatchSlot(kind, index, info, DTYPES[info.dtype])
            self._slots[kind, index] = slot
        return slot

    def _bind(self, slot: BatchSlot, call: Any, value: ArrayLike) -> int:
        """Binds a batch to an input or label, unless it is bound already; returns its samples."""
        if slot.holds(value):
            return slot.n_samples
        array = as_source(value, slot.dtype, slot.what)
        n = slot.check_batch(array.shape)
        info = slot.infos.get(n)
        if info is None:
            info = info_to_c(tensorinfo(slot.dtype.name, (n, *slot.dims[1:])))
            slot.infos[n] = info
        pointer = borrow(array)
        status = call(self._handle, slot.index, pointer, info)
        if status:
            self._check(status)
        slot.keep(value, array, pointer, n)
        return n

    def train_set_input(self, index: int, buffer: ArrayLike) -> int:
        """Binds the batch that the next steps read; returns its number of samples.

        Args:
            buffer: [N, ...] with 1 <= N <= batch size; a converted array is a copy of the moment.

        Raises:
            TypeError, ValueError: dtype or shape is not the input's.
        """
        return self._bind(self._slot("input", index), lib.nnfw_train_set_input, buffer)

    def train_set_expected(self, index: int, buffer: ArrayLike) -> int:
        """Same for the labels, which have dtype and shape of the output `index`."""
        return self._bind(self._slot("expected", index), lib.nnfw_train_set_expected, buffer)

    def train_set_output(self, index: int, buffer: Array) -> None:
        """Binds the array that each step writes predictions to.

        Args:
            buffer: [N, ...], N the largest batch to come; exact dtype, writable, contiguous.
        """
        slot = self._slot("output", index)
        array = check_target(buffer, slot.dtype, slot.what)
        slot.check_batch(array.shape)
        pointer = borrow_target(array)
        code = DTYPE_CODES[slot.dtype.name]
        self._check(lib.nnfw_train_set_output(self._handle, index, code, pointer, array.nbytes))
        slot.keep(array, array, pointer, slot.dims[0])

    def train_run(self, update_weights: bool = True) -> None:
        """One step over the bound batch (nnfw_train); without update it only evaluates."""
        status = lib.nnfw_train(self._handle, update_weights)
        if status:
            self._check(status)

    def train_get_loss(self, index: int) -> float:
        """Returns the loss of output `index` in the last step, of before the update."""
        status = lib.nnfw_train_get_loss(self._handle, index, self._loss)
        if status:
            self._check(status)
        return float(self._loss[0])

    def train_set_learning_rate(self, learning_rate: float) -> None:
        """Sets the step length of the steps to come, > 0."""
        self._check(lib.onert_train_set_learning_rate(self._handle, learning_rate))

    # Files of a training session

    def train_export_circle(self, path: StrPath) -> None:
        """Writes the model with the trained weights."""
        self._check(lib.nnfw_train_export_circle(self._handle, path_bytes(path)))

    def train_export_circleplus(self, path: StrPath) -> None:
        """Same, with the training settings inside."""
        self._check(lib.nnfw_train_export_circleplus(self._handle, path_bytes(path)))

    def train_import_checkpoint(self, path: StrPath) -> None:
        """Takes weights, optimizer state and step count from a checkpoint, all or nothing."""
        self._check(lib.nnfw_train_import_checkpoint(self._handle, path_bytes(path)))

    def train_export_checkpoint(self, path: StrPath) -> None:
        """Writes weights, optimizer state and step count."""
        self._check(lib.nnfw_train_export_checkpoint(self._handle, path_bytes(path)))

    # Parameters of a training session

    def train_parameter_count(self) -> int:
        """Returns the number of trained parameters."""
        return self._count(lib.onert_train_parameter_count)

    def train_parameter_info(self, index: int) -> tuple[str, int, tensorinfo]:
        """Returns name, tensor index in the model file, and shape of a trained parameter."""
        c = ffi.new("onert_parameter_info *")
        c.struct_size = ffi.sizeof("onert_parameter_info")
        self._check(lib.onert_train_parameter_info(self._handle, index, c))
        name = ffi.string(c.name).decode(errors="replace")
        return name, int(c.tensor_index), info_from_c(c.tensor)

    def train_get_parameter(self, index: int) -> Array:
        """Returns a copy of a trained parameter, float32."""
        return self._read_parameter(lib.onert_train_get_parameter, index)

    def train_get_gradient(self, index: int) -> Array:
        """Returns a copy of a parameter's gradient in the last step; needs keep_gradients."""
        return self._read_parameter(lib.onert_train_get_gradient, index)

    def _read_parameter(self, call: Any, index: int) -> Array:
        _, _, info = self.train_parameter_info(index)
        array: Array = np.empty(info.dims, np.float32)
        pointer = ffi.from_buffer("float[]", array, require_writable=True)
        self._check(call(self._handle, index, pointer, array.nbytes))
        return array

    def train_set_parameter(self, index: int, value: ArrayLike) -> None:
        """Overwrites a trained parameter."""
        name, _, info = self.train_parameter_info(index)
        what = f"parameter '{name}'"
        array = as_source(value, DTYPES["float32"], what)
        check_shape(array.shape, info.dims, what)
        pointer = ffi.from_buffer("float[]", array)
        self._check(lib.onert_train_set_parameter(self._handle, index, pointer, array.nbytes))
