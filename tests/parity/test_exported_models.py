# SPDX-License-Identifier: Apache-2.0
"""Models as Keras and PyTorch export them train with the numbers that the frameworks gave.

NAME.train.npz holds two samples, the loss (mean squared error, of all outputs), its gradient for
every float constant, and the losses of four steps of plain SGD: over weights and biases of dense
and convolution layers (traj_w), over every float constant of more than one element (traj_all).
"""

from pathlib import Path

import numpy as np
import pytest
from archives import packed

from pyonert._session import NnfwSession
from pyonert.native.types import loss, loss_reduction, lossinfo, optimizer, traininfo

# f_ are exported by TensorFlow with an unknown batch, f1_ with a batch of 1, t_ by tico from
# PyTorch, d_ the same with an unknown batch; p_ are made by hand.
MODELS = sorted(p[: -len(".train.npz")] for p in packed("models.tar.xz")
                if p.endswith(".train.npz"))
# The numbers were recorded in float32 by another order of summation.
RELATIVE, ABSOLUTE = 1e-4, 1e-5


# PReLU slopes and embedding tables train by default, but traj_w leaves them alone: their tensors.
FROZEN = {"t_prelu": 1, "f_embedding": 3}


def session(path: Path, rate: float, batch: int, **options: object) -> NnfwSession:
    s = NnfwSession()
    s.load_model_from_file(path)
    s.train_set_traininfo(traininfo(
        rate, batch, lossinfo(loss.MEAN_SQUARED_ERROR, loss_reduction.SUM_OVER_BATCH_SIZE),
        optimizer.SGD, -1))
    s.train_set_options(**options)
    s.train_prepare()
    return s


def numbered(z: dict, name: str) -> list:
    """Returns z[name0], z[name1].."""
    return [z[f"{name}{i}"] for i in range(len(z)) if f"{name}{i}" in z]


def bind(s: NnfwSession, z: dict) -> None:
    for i, x in enumerate(numbered(z, "x")):
        s.train_set_input(i, x)
    for i, y in enumerate(numbered(z, "y")):
        s.train_set_expected(i, y)


def loss_of(s: NnfwSession, z: dict) -> float:
    return sum(s.train_get_loss(i) for i in range(len(numbered(z, "y"))))


def assert_near(actual: np.ndarray, wanted: np.ndarray, what: str) -> None:
    """Compares to the largest element: what cancels out is only as exact as its terms."""
    scale = float(np.max(abs(wanted), initial=0))
    np.testing.assert_allclose(actual.reshape(wanted.shape), wanted, rtol=RELATIVE,
                               atol=ABSOLUTE + RELATIVE * scale, err_msg=what)


@pytest.fixture(params=MODELS)
def recorded(request: pytest.FixtureRequest, models: Path) -> tuple:
    path = models / f"{request.param}.circle"
    return path, dict(np.load(models / f"{request.param}.train.npz"))


def test_loss_and_gradients(recorded: tuple) -> None:
    path, z = recorded
    s = session(path, 0.1, 2, keep_gradients=True, trainable="*")
    bind(s, z)
    outputs = [np.empty_like(y) for y in numbered(z, "out")]
    for i, y in enumerate(outputs):
        s.train_set_output(i, y)
    s.train_run(True)
    assert loss_of(s, z) == pytest.approx(float(z["loss"]), rel=RELATIVE)
    for i, (ours, theirs) in enumerate(zip(outputs, numbered(z, "out"))):
        assert_near(ours, theirs, f"output {i}")
    ours = {}
    for i in range(s.train_parameter_count()):
        _, tensor, _ = s.train_parameter_info(i)
        ours[tensor] = s.train_get_gradient(i)
    theirs = {int(k[1:]): v for k, v in z.items() if k[0] == "g"}
    assert set(theirs) <= set(ours)
    for tensor, expected in theirs.items():
        # PyTorch has none for the exponent of a negative number; here it is 0.
        if np.isfinite(expected).all():
            assert_near(ours[tensor], expected, f"gradient of tensor {tensor}")


def four_steps(path: Path, z: dict, **options: object) -> list[float]:
    s = session(path, float(z["lr"]), 2, **options)
    bind(s, z)
    losses = []
    for _ in range(4):
        s.train_run(True)
        losses.append(loss_of(s, z))
    return losses


def test_four_steps_of_sgd(recorded: tuple) -> None:
    path, z = recorded
    options = {}
    if path.stem in FROZEN:
        s = session(path, float(z["lr"]), 2)
        tensors = {s.train_parameter_info(i)[1] for i in range(s.train_parameter_count())}
        options["trainable"] = ";".join(f"#{t}" for t in tensors - {FROZEN[path.stem]})
        assert FROZEN[path.stem] in tensors
    np.testing.assert_allclose(four_steps(path, z, **options), z["traj_w"], rtol=10 * RELATIVE)


def test_four_steps_of_sgd_on_everything(recorded: tuple) -> None:
    path, z = recorded
    parameters = ";".join(f"#{k[1:]}" for k, v in z.items() if k[0] == "g" and v.size > 1)
    losses = four_steps(path, z, trainable=parameters)
    np.testing.assert_allclose(losses, z["traj_all"], rtol=10 * RELATIVE)


def test_inference(recorded: tuple) -> None:
    path, _ = recorded
    io = dict(np.load(path.with_suffix(".npz")))
    s = NnfwSession()
    s.load_model_from_file(path)
    # Of unknown batch: as many samples as were recorded.
    for i, x in enumerate(numbered(io, "input")):
        info = s.input_tensorinfo(i)
        if list(info.dims) != list(x.shape):
            info.dims = list(x.shape)
            s.set_input_tensorinfo(i, info)
    s.prepare()
    outputs = []
    for i, x in enumerate(numbered(io, "input")):
        s.set_input(i, x)
    for i, _ in enumerate(numbered(io, "output")):
        outputs.append(np.empty(s.output_tensorinfo(i).dims, np.float32))
        s.set_output(i, outputs[-1])
    s.run()
    for i, (ours, theirs) in enumerate(zip(outputs, numbered(io, "output"))):
        assert_near(ours, theirs, f"output {i}")
