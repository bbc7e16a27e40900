# SPDX-License-Identifier: Apache-2.0
"""Quantized models of Keras give what the TFLite interpreter gave."""

from pathlib import Path

import numpy as np
import pytest

from pyonert._session import NnfwSession

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
