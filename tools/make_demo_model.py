#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the small convolutional network of `pyonert demo`, with random weights.

    pip install circle-schema flatbuffers numpy
    python tools/make_demo_model.py pyonert/demo/digits_cnn.circle

image [1,8,8,1] -> conv 3x3, 16, relu -> conv 3x3, 16, relu -> max pool 2x2 -> conv 3x3, 32, relu ->
max pool 2x2 -> dense 64, relu -> dense 10 -> softmax -> probability [1,10]; 16 thousand weights.
They are drawn as He et al. 2015 propose (normal, variance 2 / fan-in), biases are 0.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import flatbuffers
import numpy as np
from circle_schema import circle

OPS = circle.BuiltinOperator.BuiltinOperator
OPTIONS = circle.BuiltinOptions.BuiltinOptions
RELU = circle.ActivationFunctionType.ActivationFunctionType.RELU
NONE = circle.ActivationFunctionType.ActivationFunctionType.NONE
SAME = circle.Padding.Padding.SAME
INT32 = circle.TensorType.TensorType.INT32
FLOAT32 = circle.TensorType.TensorType.FLOAT32


class Network:
    """A chain of operators under construction; `last` is the tensor at its end."""

    def __init__(self, name: str, input_shape: Sequence[int], seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.model = circle.Model.ModelT()
        self.model.version = 3
        self.model.description = name
        self.model.buffers = [circle.Buffer.BufferT()]
        self.model.operatorCodes = []
        self.graph = circle.SubGraph.SubGraphT()
        self.graph.name = name
        self.graph.tensors, self.graph.operators = [], []
        self.model.subgraphs = [self.graph]
        self.last = self.tensor("image", input_shape)
        self.graph.inputs = [self.last]

    def tensor(self, name: str, shape: Sequence[int], data: Any = None) -> int:
        """Adds a tensor, a constant if it has data, and returns its index."""
        tensor = circle.Tensor.TensorT()
        tensor.name, tensor.shape, tensor.buffer = name, list(shape), 0
        tensor.type = FLOAT32
        if data is not None:
            tensor.type = INT32 if data.dtype == np.int32 else FLOAT32
            buffer = circle.Buffer.BufferT()
            buffer.data = np.frombuffer(data.tobytes(), np.uint8)
            tensor.buffer = len(self.model.buffers)
            self.model.buffers.append(buffer)
        self.graph.tensors.append(tensor)
        return len(self.graph.tensors) - 1

    def weights(self, name: str, shape: Sequence[int]) -> list[int]:
        """Adds a filter [out, ...] and its bias."""
        fan_in = int(np.prod(shape[1:]))
        filters = self.rng.normal(0, np.sqrt(2 / fan_in), shape).astype(np.float32)
        bias = np.zeros(shape[0], np.float32)
        return [
            self.tensor(f"{name}/weights", shape, filters),
            self.tensor(f"{name}/bias", [shape[0]], bias),
        ]

    def add(
        self,
        code: int,
        name: str,
        constants: list[int],
        shape: Sequence[int],
        kind: int,
        options: Any,
    ) -> None:
        """Appends an operator on the last tensor."""
        codes = [c.builtinCode for c in self.model.operatorCodes]
        if code not in codes:
            entry = circle.OperatorCode.OperatorCodeT()
            entry.builtinCode = entry.deprecatedBuiltinCode = code
            entry.version = 1
            self.model.operatorCodes.append(entry)
            codes.append(code)
        operator = circle.Operator.OperatorT()
        operator.opcodeIndex = codes.index(code)
        operator.inputs = [self.last, *constants]
        self.last = self.tensor(name, shape)
        operator.outputs = [self.last]
        operator.builtinOptionsType, operator.builtinOptions = kind, options
        self.graph.operators.append(operator)

    def shape(self) -> list[int]:
        """Shape of the last tensor."""
        return list(self.graph.tensors[self.last].shape)

    def conv(self, name: str, channels: int) -> None:
        """3x3 convolution, stride 1, zero padding, relu."""
        n, h, w, c = self.shape()
        options = circle.Conv2DOptions.Conv2DOptionsT()
        options.padding = SAME
        options.strideH = options.strideW = 1
        options.dilationHFactor = options.dilationWFactor = 1
        options.fusedActivationFunction = RELU
        constants = self.weights(name, [channels, 3, 3, c])
        self.add(OPS.CONV_2D, name, constants, [n, h, w, channels], OPTIONS.Conv2DOptions, options)

    def pool(self, name: str) -> None:
        """2x2 max pooling, stride 2."""
        n, h, w, c = self.shape()
        options = circle.Pool2DOptions.Pool2DOptionsT()
        options.padding = circle.Padding.Padding.VALID
        options.strideH = options.strideW = options.filterHeight = options.filterWidth = 2
        options.fusedActivationFunction = NONE
        self.add(OPS.MAX_POOL_2D, name, [], [n, h // 2, w // 2, c], OPTIONS.Pool2DOptions, options)

    def flatten(self, name: str) -> None:
        """[N, ...] -> [N, rest]."""
        size = int(np.prod(self.shape()[1:]))
        options = circle.ReshapeOptions.ReshapeOptionsT()
        options.newShape = [-1, size]
        target = self.tensor(f"{name}/shape", [2], np.array([-1, size], np.int32))
        self.add(OPS.RESHAPE, name, [target], [1, size], OPTIONS.ReshapeOptions, options)

    def dense(self, name: str, units: int, activation: int) -> None:
        """Fully connected."""
        n, size = self.shape()
        options = circle.FullyConnectedOptions.FullyConnectedOptionsT()
        options.fusedActivationFunction = activation
        constants = self.weights(name, [units, size])
        self.add(
            OPS.FULLY_CONNECTED, name, constants, [n, units], OPTIONS.FullyConnectedOptions, options
        )

    def softmax(self, name: str) -> None:
        """Softmax over the last axis."""
        options = circle.SoftmaxOptions.SoftmaxOptionsT()
        options.beta = 1.0
        self.add(OPS.SOFTMAX, name, [], self.shape(), OPTIONS.SoftmaxOptions, options)

    def save(self, path: Path, outputs: Sequence[int] = ()) -> None:
        """Writes the file; without a list of outputs the last tensor is the output."""
        self.graph.outputs = list(outputs) or [self.last]
        builder = flatbuffers.Builder(1 << 16)
        builder.Finish(self.model.Pack(builder), b"CIR0")
        path.write_bytes(bytes(builder.Output()))


def main(out: Path) -> None:
    """Writes the demo's model."""
    net = Network("digits_cnn", [1, 8, 8, 1], seed=8)
    net.conv("conv1", 16)
    net.conv("conv2", 16)
    net.pool("pool1")
    net.conv("conv3", 32)
    net.pool("pool2")
    net.flatten("flatten")
    net.dense("dense1", 64, RELU)
    net.dense("logits", 10, NONE)
    net.softmax("probability")
    net.save(out)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
