# SPDX-License-Identifier: Apache-2.0
"""Quantized models of Keras, and single operators, give what the TFLite interpreter gave."""

from pathlib import Path

import numpy as np
import pytest
from archives import ARCHIVES

from pyonert._session import NnfwSession
from pyonert.errors import OnertError
from pyonert.native.types import loss, loss_reduction, lossinfo, optimizer, traininfo

# What the results may differ by. Integers: one step of the output. TFLite rounds the activations of
# weights with scales (dynamic range) to int8; ours stay float32.
MODELS = {"q_mnist_cnn_int8": 1, "q_mnist_cnn_fp16": 1e-6, "q_mnist_cnn_dynrange": 1e-3}


@pytest.mark.parametrize("suffix", ["circle", "tflite"])
@pytest.mark.parametrize("name", MODELS)
def test_outputs(models: Path, name: str, suffix: str) -> None:
    z = np.load(models / f"{name}.npz")
    wanted = z["output0"]
    s = NnfwSession()
    s.load_model_from_file(models / f"{name}.{suffix}")
    s.prepare()
    s.set_input(0, z["input0"].copy())
    actual = np.empty_like(wanted)
    s.set_output(0, actual)
    s.run()
    assert np.ptp(wanted.astype(float)) > 20 * MODELS[name]  # the tolerance tells results apart
    assert np.max(abs(actual.astype(float) - wanted.astype(float))) <= MODELS[name]


def test_a_body_of_integers_does_not_train(models: Path) -> None:
    s = NnfwSession()
    s.load_model_from_file(models / "q_mnist_cnn_int8.circle")
    s.train_set_traininfo(traininfo(
        0.1, 1, lossinfo(loss.MEAN_SQUARED_ERROR, loss_reduction.SUM_OVER_BATCH_SIZE),
        optimizer.SGD, -1))
    with pytest.raises(OnertError, match=r"node 0 \(CONV_2D .*cannot be trained.* int8"):
        s.train_prepare()


RECORDED = dict(np.load(ARCHIVES / "quantized_ops.npz"))
OPERATORS = sorted(k.removesuffix("/y") for k in RECORDED if k.endswith("/y"))


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_are_within_a_step_of_tflite(name: str) -> None:
    wanted = RECORDED[f"{name}/y"]
    s = NnfwSession()
    s.load_circle_from_buffer(RECORDED[f"{name}/file"].tobytes())
    s.prepare()
    inputs = [RECORDED[k] for k in sorted(RECORDED) if k.startswith(f"{name}/x")]
    for i, x in enumerate(inputs):
        s.set_input(i, x)
    actual = np.empty_like(wanted)
    s.set_output(0, actual)
    s.run()
    assert np.ptp(wanted.astype(int)) > 100
    assert np.max(abs(actual.astype(int) - wanted.astype(int))) <= 1
