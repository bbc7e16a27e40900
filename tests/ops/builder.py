# SPDX-License-Identifier: Apache-2.0
"""Circle models of a few operators, made in memory.

A Model is both what the file is written from and what the reference evaluates: tensors by index,
operators with their options under the schema's own (snake case) names. Output shapes are computed
by the reference and declared in the file.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, field
from typing import Any

import flatbuffers
import numpy as np
import reference
from circle_schema import circle

TYPES = {np.dtype(np.float32): 0, np.dtype(np.float16): 1, np.dtype(np.int32): 2,
         np.dtype(np.uint8): 3, np.dtype(np.int64): 4, np.dtype(np.bool_): 6,
         np.dtype(np.int16): 7, np.dtype(np.int8): 9}
OPTIONS = {
    "ADD": "Add", "SUB": "Sub", "MUL": "Mul", "DIV": "Div", "CONV_2D": "Conv2D",
    "DEPTHWISE_CONV_2D": "DepthwiseConv2D", "FULLY_CONNECTED": "FullyConnected",
    "BATCH_MATMUL": "BatchMatMul", "GELU": "Gelu", "TRANSPOSE_CONV": "TransposeConv",
    "UNIDIRECTIONAL_SEQUENCE_LSTM": "UnidirectionalSequenceLSTM",
    "ROPE": "RoPE", "LEAKY_RELU": "LeakyRelu", "MAX_POOL_2D": "Pool2D", "AVERAGE_POOL_2D": "Pool2D",
    "MEAN": "Reducer", "SUM": "Reducer", "PAD": "Pad", "PADV2": "PadV2", "RESHAPE": "Reshape",
    "SQUEEZE": "Squeeze", "EXPAND_DIMS": "ExpandDims", "TRANSPOSE": "Transpose",
    "CONCATENATION": "Concatenation", "SOFTMAX": "Softmax", "SLICE": "Slice",
    "STRIDED_SLICE": "StridedSlice", "PACK": "Pack", "SHAPE": "Shape",
    "SPLIT": "Split", "SPLIT_V": "SplitV", "UNPACK": "Unpack", "GATHER": "Gather",
    "GATHER_ND": "GatherNd", "TILE": "Tile", "BROADCAST_TO": "BroadcastTo", "FILL": "Fill",
    "RANGE": "Range", "RANK": "Rank", "ZEROS_LIKE": "ZerosLike", "ONE_HOT": "OneHot",
    "REVERSE_V2": "ReverseV2", "MIRROR_PAD": "MirrorPad", "SPACE_TO_DEPTH": "SpaceToDepth",
    "DEPTH_TO_SPACE": "DepthToSpace", "SPACE_TO_BATCH_ND": "SpaceToBatchND",
    "BATCH_TO_SPACE_ND": "BatchToSpaceND", "DYNAMIC_UPDATE_SLICE": "DynamicUpdateSlice",
    "RESIZE_BILINEAR": "ResizeBilinear", "RESIZE_NEAREST_NEIGHBOR": "ResizeNearestNeighbor",
}


@dataclass
class Quant:
    """real = scale * (q - zero), one of each or one for each index of an axis."""
    scale: list[float]
    zero: list[int]
    axis: int = 0

    def _along(self, values: list, rank: int) -> np.ndarray:
        shape = [-1 if len(values) > 1 and i == self.axis else 1 for i in range(rank)]
        return np.array(values).reshape(shape if len(values) > 1 else ())

    def real(self, q: np.ndarray) -> np.ndarray:
        scale = self._along([np.float32(x) for x in self.scale], q.ndim).astype(np.float64)
        return scale * (q.astype(np.float64) - self._along(self.zero, q.ndim))

    def stored(self, x: np.ndarray, dtype: np.dtype) -> np.ndarray:
        scale = self._along([np.float32(v) for v in self.scale], x.ndim).astype(np.float64)
        q = np.sign(x) * np.floor(abs(x / scale) + 0.5) + self._along(self.zero, x.ndim)
        return np.clip(q, np.iinfo(dtype).min, np.iinfo(dtype).max).astype(dtype)


@dataclass
class Tensor:
    shape: tuple[int, ...]
    dtype: np.dtype
    value: np.ndarray | None = None
    trainable: bool = False
    signature: tuple[int, ...] | None = None
    scale: float = 2  # of the random values of an input
    away: bool = False  # and whether they are kept away from 0
    below: int = 2  # random integers of an input are 0 .. below - 1
    quant: Quant | None = None
    variable: bool = False


@dataclass
class Op:
    name: str
    inputs: list[int]
    outputs: list[int]
    options: dict[str, Any]
    has_options: bool = True


@dataclass
class Model:
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(1))
    # Operator ("ADD", "MUL") that every float input passes with a trained constant of its shape:
    # with MUL its gradient is the sum over samples of dL/dx * x.
    probe: str | None = None
    tensors: list[Tensor] = field(default_factory=list)
    ops: list[Op] = field(default_factory=list)
    inputs: list[int] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)
    _known: dict[int, np.ndarray] = field(default_factory=dict)  # integers made by operators

    def _tensor(self, *args: Any, **kwargs: Any) -> int:
        self.tensors.append(Tensor(*args, **kwargs))
        return len(self.tensors) - 1

    def input(self, *shape: int, scale: float = 2, away: bool = False, below: int = 2,
              signature: tuple[int, ...] | None = None, dtype: type = np.float32) -> int:
        """Adds a graph input; returns it, or what its probe makes of it."""
        t = self._tensor(shape, np.dtype(dtype), scale=scale, away=away, below=below,
                         signature=signature)
        self.inputs.append(t)
        if not self.probe or dtype is not np.float32:
            return t
        return self.op(self.probe, t, self.const(self.rng.uniform(0.7, 1.3, shape)))

    def const(self, value: Any, trainable: bool = True) -> int:
        """Adds a float32 constant."""
        v = np.asarray(value, np.float32)
        return self._tensor(v.shape, v.dtype, v, trainable)

    def weights(self, *shape: int, trainable: bool = True) -> int:
        """Adds a random constant whose elements are away from 0."""
        return self.const(draw_away(self.rng, shape), trainable)

    def variable(self, *shape: int) -> int:
        """Adds a variable, which is zero before every sample."""
        t = self._tensor(shape, np.dtype(np.float32), variable=True)
        self._known[t] = np.zeros(shape)
        return t

    def ints(self, *values: Any, dtype: type = np.int32) -> int:
        """Adds an integer constant: values, or one list for another shape than a vector."""
        v = np.array(values[0] if len(values) == 1 and isinstance(values[0], list) else values,
                     dtype)
        return self._tensor(v.shape, v.dtype, v)

    def bits(self, value: Any, dtype: type) -> int:
        """Adds a constant of any type."""
        v = np.asarray(value).astype(dtype)
        return self._tensor(v.shape, v.dtype, v)

    def scalar(self, value: int, dtype: type = np.int32) -> int:
        """Adds an integer constant of rank 0."""
        return self._tensor((), np.dtype(dtype), np.array(value, dtype))

    def op(self, name: str, *inputs: int, shape: tuple[int, ...] | None = None,
           dtype: type = np.float32, has_options: bool = True, **options: Any) -> int:
        """Adds an operator and returns its output. A given shape is not computed, for models that
        are refused."""
        op = Op(name, list(inputs), [], options, has_options)
        self.ops.append(op)
        if shape is None:
            return self._results(op)[0]
        op.outputs.append(self._tensor(shape, np.dtype(dtype)))
        return op.outputs[0]

    def op_outputs(self, name: str, *inputs: int, **options: Any) -> list[int]:
        """Adds an operator with any number of outputs and returns them."""
        self.ops.append(Op(name, list(inputs), [], options))
        return self._results(self.ops[-1])

    def _results(self, op: Op) -> list[int]:
        with np.errstate(all="ignore"):
            examples = reference.apply(op, [self._example(i) for i in op.inputs])
        for example in examples:
            kind = np.dtype(np.float32) if example.dtype.kind == "f" else example.dtype
            if kind.kind != "f":
                self._known[len(self.tensors)] = example
            op.outputs.append(self._tensor(example.shape, kind))
        return op.outputs

    def _example(self, i: int) -> np.ndarray | None:
        if i < 0:
            return None
        t = self.tensors[i]
        if t.value is not None:
            return t.value.astype(np.float64) if t.dtype.kind == "f" else t.value
        floats = t.dtype.kind == "f"
        return self._known.get(i, np.ones(t.shape) if floats else np.zeros(t.shape, t.dtype))

    def output(self, *tensors: int) -> None:
        self.outputs.extend(tensors)

    @property
    def parameters(self) -> list[int]:
        return [i for i, t in enumerate(self.tensors) if t.trainable]

    @property
    def patterns(self) -> str:
        """The parameters as onert_train_options.trainable."""
        return ";".join(f"#{i}" for i in self.parameters)

    def draw(self, rng: np.random.Generator) -> list[np.ndarray]:
        """Returns one sample: random values for all inputs."""
        def values(t: Tensor) -> np.ndarray:
            if t.dtype.kind != "f":
                return rng.integers(0, t.below, t.shape).astype(t.dtype)
            if t.away:
                return draw_away(rng, t.shape)
            return rng.uniform(-t.scale, t.scale, t.shape).astype(np.float32)

        return [values(self.tensors[i]) for i in self.inputs]

    @functools.cached_property
    def file(self) -> bytes:
        """The model as a file; once asked for, the model must not change."""
        file = circle.Model.ModelT()
        file.buffers = [circle.Buffer.BufferT()]
        graph = circle.SubGraph.SubGraphT()
        graph.name = "main"
        graph.inputs, graph.outputs = self.inputs, self.outputs
        graph.tensors, graph.operators, file.operatorCodes = [], [], []
        for i, t in enumerate(self.tensors):
            x = circle.Tensor.TensorT()
            x.name, x.type, x.shape = f"t{i}", TYPES[t.dtype], list(t.shape)
            x.shapeSignature = None if t.signature is None else list(t.signature)
            if t.quant:
                x.quantization = circle.QuantizationParameters.QuantizationParametersT()
                x.quantization.scale, x.quantization.zeroPoint = t.quant.scale, t.quant.zero
                x.quantization.quantizedDimension = t.quant.axis
            x.isVariable = t.variable
            if t.value is not None:
                x.buffer = len(file.buffers)
                buffer = circle.Buffer.BufferT()
                buffer.data = np.frombuffer(t.value.tobytes(), np.uint8)
                file.buffers.append(buffer)
            graph.tensors.append(x)
        for i, op in enumerate(self.ops):
            code = circle.OperatorCode.OperatorCodeT()
            code.builtinCode = getattr(circle.BuiltinOperator.BuiltinOperator, op.name)
            code.deprecatedBuiltinCode = min(code.builtinCode, 127)
            file.operatorCodes.append(code)
            x = circle.Operator.OperatorT()
            x.opcodeIndex, x.inputs, x.outputs = i, op.inputs, op.outputs
            if op.name in OPTIONS and op.has_options:
                table = OPTIONS[op.name] + "Options"
                x.builtinOptionsType = getattr(circle.BuiltinOptions.BuiltinOptions, table)
                x.builtinOptions = getattr(getattr(circle, table), table + "T")()
                for key, value in op.options.items():
                    set_option(x.builtinOptions, key, value)
            graph.operators.append(x)
        file.subgraphs = [graph]
        b = flatbuffers.Builder(1024)
        b.Finish(file.Pack(b), b"CIR0")
        return bytes(b.Output())


def set_option(table: Any, key: str, value: Any) -> None:
    if key in ("act", "kind"):  # LSTM: the kind of its inner activation
        key, value = "fused_activation_function", reference.ACTIVATIONS.index(value)
    elif key == "padding" and isinstance(value, str):
        value = ["SAME", "VALID"].index(value)
    name = re.sub("_(.)", lambda m: m[1].upper(), key)
    assert hasattr(table, name), name
    setattr(table, name, value)


def draw_away(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Returns random numbers of magnitude 0.4 to 1.6 and either sign."""
    return (rng.uniform(0.4, 1.6, shape) * rng.choice([-1.0, 1.0], shape)).astype(np.float32)
