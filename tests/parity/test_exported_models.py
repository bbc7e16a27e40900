# SPDX-License-Identifier: Apache-2.0
"""Models as Keras and PyTorch export them train with the numbers that the frameworks gave.

NAME.train.npz holds two samples, the loss (mean squared error), its gradient for every float
constant, and the losses of four steps of plain SGD over weights and biases of dense and convolution
layers (traj_w).
"""

from pathlib import Path

import numpy as np
import pytest

from pyonert._session import NnfwSession
from pyonert.native.types import loss, loss_reduction, lossinfo, optimizer, traininfo

MODELS = ["f_mnist_dense", "f_mnist_cnn", "t_mnist_cnn", "t_resnet_tiny"]
# The numbers were recorded in float32 by another order of summation.
RELATIVE, ABSOLUTE = 1e-4, 1e-5


def session(path: Path, rate: float, batch: int, **options: object) -> NnfwSession:
    s = NnfwSession()
    s.load_model_from_file(path)
    s.train_set_traininfo(traininfo(
        rate, batch, lossinfo(loss.MEAN_SQUARED_ERROR, loss_reduction.SUM_OVER_BATCH_SIZE),
        optimizer.SGD, -1))
    s.train_set_options(**options)
    s.train_prepare()
    return s


def bind(s: NnfwSession, z: dict) -> None:
    for i in range(sum(k.startswith("x") for k in z)):
        s.train_set_input(i, z[f"x{i}"])
    for i in range(sum(k.startswith("y") for k in z)):
        s.train_set_expected(i, z[f"y{i}"])


@pytest.fixture(params=MODELS)
def recorded(request: pytest.FixtureRequest, models: Path) -> tuple:
    path = models / f"{request.param}.circle"
    return path, dict(np.load(models / f"{request.param}.train.npz"))


def test_loss_and_gradients(recorded: tuple) -> None:
    path, z = recorded
    s = session(path, 0.1, 2, keep_gradients=True, trainable="*")
    bind(s, z)
    out = np.empty_like(z["out0"])
    s.train_set_output(0, out)
    s.train_run(True)
    assert s.train_get_loss(0) == pytest.approx(float(z["loss"]), rel=RELATIVE)
    np.testing.assert_allclose(out, z["out0"], rtol=RELATIVE, atol=ABSOLUTE)
    ours = {}
    for i in range(s.train_parameter_count()):
        _, tensor, _ = s.train_parameter_info(i)
        ours[tensor] = s.train_get_gradient(i)
    theirs = {int(k[1:]): v for k, v in z.items() if k[0] == "g"}
    assert set(theirs) <= set(ours)
    for tensor, expected in theirs.items():
        np.testing.assert_allclose(ours[tensor].reshape(expected.shape), expected, rtol=RELATIVE,
                                   atol=ABSOLUTE, err_msg=f"gradient of tensor {tensor}")


def test_four_steps_of_sgd(recorded: tuple) -> None:
    path, z = recorded
    s = session(path, float(z["lr"]), 2)
    bind(s, z)
    losses = []
    for _ in range(4):
        s.train_run(True)
        losses.append(s.train_get_loss(0))
    np.testing.assert_allclose(losses, z["traj_w"], rtol=RELATIVE)


def test_inference(recorded: tuple) -> None:
    path, _ = recorded
    io = np.load(path.with_suffix(".npz"))
    s = NnfwSession()
    s.load_model_from_file(path)
    s.prepare()
    out = np.empty(s.output_tensorinfo(0).dims, np.float32)
    s.set_input(0, io["input0"])
    s.set_output(0, out)
    s.run()
    np.testing.assert_allclose(out, io["output0"], rtol=1e-4, atol=1e-5)
