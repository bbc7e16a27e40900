# SPDX-License-Identifier: Apache-2.0
"""Records what the TFLite interpreter computes of quantized operators.

    python tests/data/make_quantized_ops.py

Needs ai_edge_litert and circle_schema. Writes quantized_ops.npz: models of tests/ops/quantized.py
as circle files, their inputs and outputs. What TFLite does not take in a type is left out.
"""

import sys
import zlib
from pathlib import Path

import flatbuffers
import numpy as np
from ai_edge_litert.interpreter import Interpreter
from circle_schema import circle

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "ops"))
from builder import Model, Quant  # noqa: E402
from quantized import CASES, quantize  # noqa: E402

# What TFLite asks for: fixed scales of results, or the input's.
FIXED = {"SOFTMAX": (1 / 256, -128), "LOGISTIC": (1 / 256, -128), "TANH": (1 / 128, 0)}
SAME = {"RESHAPE", "PAD", "TRANSPOSE", "SLICE", "GATHER", "MAX_POOL_2D", "AVERAGE_POOL_2D",
        "RESIZE_BILINEAR", "MAXIMUM"}


def adapt(model: Model, dtype: np.dtype) -> None:
    for op in model.ops:
        y = model.tensors[op.outputs[0]]
        if op.name in FIXED:
            scale, zero = FIXED[op.name]
            y.quant = Quant([scale], [zero + (128 if dtype == np.uint8 else 0)])
        elif op.name in SAME:
            y.quant = model.tensors[op.inputs[0]].quant
            for i in op.inputs[1:]:
                if i >= 0 and model.tensors[i].quant:
                    model.tensors[i].quant = y.quant


def as_tflite(file: bytes, version: int) -> bytes:
    model = circle.Model.ModelT.InitFromObj(circle.Model.Model.GetRootAs(file, 0))
    model.version = 3
    for code in model.operatorCodes:
        code.version = version
    b = flatbuffers.Builder(1024)
    b.Finish(model.Pack(b), b"TFL3")
    return bytes(b.Output())


def interpret(file: bytes, inputs: list) -> np.ndarray | None:
    for version in (3, 2, 1):
        try:
            run = Interpreter(model_content=as_tflite(file, version))
            run.allocate_tensors()
        except (RuntimeError, ValueError) as e:
            print(str(e).splitlines()[0])
            continue
        for d, x in zip(run.get_input_details(), inputs):
            run.set_tensor(d["index"], x)
        run.invoke()
        return run.get_tensor(run.get_output_details()[0]["index"])
    return None


def main() -> None:
    record = {}
    for name, build in CASES.items():
        for dtype in (np.dtype(np.int8), np.dtype(np.uint8)):
            model = Model(np.random.default_rng(zlib.crc32(name.encode())))
            model.output(build(model))
            sample = model.draw(np.random.default_rng(5))
            quantize(model, sample, dtype)
            adapt(model, dtype)
            tensors = [model.tensors[i] for i in model.inputs]
            inputs = [t.quant.stored(x, dtype) if t.quant else x for t, x in zip(tensors, sample)]
            y = interpret(model.file, inputs)
            if y is None:
                continue
            key = f"{name} {dtype}"
            record[f"{key}/file"] = np.frombuffer(model.file, np.uint8)
            record[f"{key}/y"] = y
            record.update({f"{key}/x{i}": x for i, x in enumerate(inputs)})
    np.savez_compressed(HERE / "quantized_ops.npz", **record)


if __name__ == "__main__":
    main()
