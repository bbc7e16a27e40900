# SPDX-License-Identifier: Apache-2.0
"""Runs a model of a few operators in the library, and compares with the float64 reference.

A case is a function that builds a Model. It is run as it is, and once more with every input passing
an element-wise node with a trained constant, whose gradient then is made of dL/dx.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pytest
import reference
from builder import Model

from pyonert._session import NnfwSession
from pyonert.native.types import loss, loss_reduction, lossinfo, optimizer, traininfo

Array = np.ndarray
Sample = Sequence[Array]
Build = Callable[[Model], None]
N = 3  # samples of a step
MSE, CCE = loss.MEAN_SQUARED_ERROR, loss.CATEGORICAL_CROSSENTROPY
MEAN, SUM = loss_reduction.SUM_OVER_BATCH_SIZE, loss_reduction.SUM
NO_STEP = 1e-30  # a learning rate that changes no weight: w - 1e-30 g rounds to w
STEP = 1e-6  # of central differences, in float64


def seed_of(name: str) -> int:
    return zlib.crc32(name.encode())


def rows(model: Model) -> int:
    """Returns what one sample counts for in the library's batch size: the file's own batch."""
    first = {model.tensors[i].shape[:1] for i in model.inputs}
    return first.pop()[0] if len(first) == 1 and first != {()} else 1


def sample_losses(outputs: Sequence[Array], labels: Sequence[Array], of: Callable) -> Array:
    return np.array([of(p, t) for p, t in zip(outputs, labels)])


def squared_error(p: Array, t: Array) -> float:
    return float(np.mean((p - t) ** 2))


# The library


@dataclass
class Step:
    losses: list[float]
    outputs: list[Array]  # [N, *sample]
    gradients: dict[int, Array]  # by tensor


def training(model: Model, n: int = N, *, kind: loss = MSE, reduction: loss_reduction = MEAN,
             opt: optimizer = optimizer.SGD, rate: float = NO_STEP, last_ops: int = -1,
             trainable: str | None = None, threads: int = 1, **options: float) -> NnfwSession:
    """Returns a session that is prepared to train n samples a step."""
    s = NnfwSession()
    s.load_circle_from_buffer(model.file)
    s.set_num_threads(threads)
    info = traininfo(rate, n * rows(model), lossinfo(kind, reduction), opt, last_ops)
    s.train_set_traininfo(info)
    s.train_set_options(keep_gradients=True, trainable=trainable or None, **options)
    s.train_prepare()
    return s


def physical(batch: Array, dims: Sequence[int], full: int) -> Array:
    """Returns samples [n, ...] in the shape in which a session of `full` samples takes them."""
    return batch.reshape(dims[0] // full * len(batch), *dims[1:])


def run_step(s: NnfwSession, model: Model, samples: Sequence[Sample],
             labels: Sequence[Sample], full: int = N) -> Step:
    """Binds copies of samples and labels, runs a step with update, and reads everything back."""
    given = []
    for i in range(len(model.inputs)):
        x = np.stack([sample[i] for sample in samples])
        x = physical(x, s.input_tensorinfo(i).dims, full)
        given.append((x, x.copy()))
        s.train_set_input(i, x)
    outputs = []
    for i in range(len(model.outputs)):
        dims = s.output_tensorinfo(i).dims
        t = np.stack([label[i] for label in labels]).astype(np.float32)
        s.train_set_expected(i, physical(t, dims, full))
        outputs.append(np.full(dims, np.nan, np.float32))
        s.train_set_output(i, outputs[-1])
    s.train_run(True)
    for x, before in given:
        assert np.array_equal(x, before), "the step has written to an input"
    gradients = {}
    for i in range(s.train_parameter_count()):
        tensor = s.train_parameter_info(i)[1]
        gradients[tensor] = s.train_get_gradient(i)
    n = len(samples)
    used = [y.reshape(full, -1)[:n].reshape(n, *model.tensors[t].shape)
            for y, t in zip(outputs, model.outputs)]
    return Step([s.train_get_loss(i) for i in range(len(outputs))], used, gradients)


def infer(model: Model, sample: Sample) -> list[Array]:
    s = NnfwSession()
    s.load_circle_from_buffer(model.file)
    s.set_num_threads(1)
    for i, t in enumerate(model.inputs):
        if model.tensors[t].signature:
            info = s.input_tensorinfo(i)
            info.dims = list(model.tensors[t].shape)
            s.set_input_tensorinfo(i, info)
    s.prepare()
    given = [x.copy() for x in sample]
    for i, x in enumerate(given):
        s.set_input(i, x)
    outputs = []
    for i, t in enumerate(model.outputs):
        assert tuple(s.output_tensorinfo(i).dims) == model.tensors[t].shape
        outputs.append(np.zeros(model.tensors[t].shape, model.tensors[t].dtype))
        s.set_output(i, outputs[-1])
    s.run()
    for x, before in zip(given, sample):
        assert np.array_equal(x, before), "the run has written to an input"
    return outputs


# Comparisons


def assert_near(actual: Array, wanted: Array, relative: float, what: str,
                magnitude: float = 0) -> None:
    """Compares relative to the largest wanted magnitude, or to that of numbers which may have
    cancelled on the way."""
    assert actual.shape == wanted.shape, what
    scale = max(magnitude, float(np.max(abs(wanted), initial=0)))
    np.testing.assert_allclose(actual, wanted, rtol=0, atol=relative * scale + 1e-9, err_msg=what)


def directions(size: int, rng: np.random.Generator) -> Array:
    """Returns the directions in which a gradient of `size` elements is measured: all axes, or some
    and a few dense ones, which miss no element."""
    if size <= 12:
        return np.eye(size)
    axes = np.zeros((6, size))
    axes[np.arange(6), rng.choice(size, 6, replace=False)] = 1
    return np.concatenate([axes, rng.choice([-1.0, 1.0], (4, size))])


def check_gradient(model: Model, tensor: int, gradient: Array, samples: Sequence[Sample],
                   labels: Sequence[Sample], of: Callable = squared_error,
                   weight: float | None = None, magnitude: float = 0) -> None:
    """Compares with central differences of the reference's loss, the mean over samples (or
    `weight` times their sum) of the sum over outputs. Errors are relative to the gradient's largest
    element, or to a hundredth of `magnitude`, that of results which may cancel."""
    w = model.tensors[tensor].value.astype(np.float64)

    def value(v: Array) -> float:
        each = [sample_losses(reference.run(model, x, {tensor: v}), t, of).sum()
                for x, t in zip(samples, labels)]
        return float(np.sum(each)) * (1 / len(samples) if weight is None else weight)

    along = directions(w.size, np.random.default_rng(tensor))
    wanted = [(value(w + STEP * d.reshape(w.shape)) - value(w - STEP * d.reshape(w.shape)))
              / (2 * STEP) for d in along]
    actual = along @ gradient.astype(np.float64).reshape(-1)
    # A dense direction adds up the errors of all elements.
    spread = np.sqrt((along**2).sum(axis=1))
    scale = max(magnitude / 100, float(np.max(abs(np.array(wanted)) / spread)))
    assert np.all(abs(actual - wanted) <= (1e-4 * scale + 2e-8) * spread), (
        f"gradient of tensor {tensor} {list(w.shape)}: wanted {np.array(wanted)}, was {actual}")


def draw(model: Model, seed: int, n: int = N) -> tuple[list, list]:
    """Returns samples that are not near any kink, and random labels."""
    for attempt in range(200):
        rng = np.random.default_rng([seed, attempt])
        samples = [model.draw(rng) for _ in range(n)]
        if reference.kink_distance(model, samples) > 1e-4:
            labels = [[rng.normal(size=model.tensors[t].shape) for t in model.outputs]
                      for _ in range(n)]
            return samples, labels
    raise AssertionError("every draw is near a kink; the case has too many")


def build_model(build: Build, seed: int, probe: str | None = None) -> Model:
    model = Model(np.random.default_rng(seed), probe)
    build(model)
    return model


def check_step(model: Model, step: Step, samples: Sequence[Sample],
               labels: Sequence[Sample], magnitude: float = 0) -> None:
    """Outputs and losses of a step against the reference."""
    wanted = [reference.run(model, x) for x in samples]
    for i, y in enumerate(step.outputs):
        assert_near(y, np.stack([w[i] for w in wanted]), 1e-5, f"output {i}", magnitude)
    each = np.stack([sample_losses(w, t, squared_error) for w, t in zip(wanted, labels)])
    assert step.losses == pytest.approx(list(each.mean(axis=0)), rel=1e-5)


def live_parameters(model: Model) -> set[int]:
    """Returns the parameters that some output depends on with a slope: through floats."""
    live = set(model.outputs)
    for op in reversed(model.ops):
        if any(i in live and model.tensors[i].dtype.kind == "f" for i in op.outputs):
            live.update(op.inputs)
    return live.intersection(model.parameters)


def check_case(build: Build, name: str, magnitude: float = 0) -> None:
    """All that is checked of a case, see the module's text. Errors of outputs are relative to their
    largest element, or to `magnitude`, that of intermediate results which may cancel."""
    seed = seed_of(name)
    plain = build_model(build, seed)
    samples, labels = draw(plain, seed)
    for wanted, actual in zip(reference.run(plain, samples[0]), infer(plain, samples[0])):
        assert_near(actual, wanted, 1e-5, "inference", magnitude)
    patterns = ";".join(f"#{i}" for i in live_parameters(plain))
    step = run_step(training(plain, trainable=patterns), plain, samples, labels)
    check_step(plain, step, samples, labels, magnitude)
    check_training(build_model(build, seed, ["MUL", "ADD"][seed % 2]), seed, magnitude)


def check_training(model: Model, seed: int, magnitude: float = 0) -> None:
    """A full step, its gradients, and steps of fewer samples in the same session."""
    samples, labels = draw(model, seed)
    s = training(model, trainable=model.patterns)
    full = run_step(s, model, samples, labels)
    check_step(model, full, samples, labels, magnitude)
    assert set(full.gradients) == live_parameters(model)
    for tensor, gradient in full.gradients.items():
        check_gradient(model, tensor, gradient, samples, labels, magnitude=magnitude)
    check_batches(model, s, full, samples, labels, magnitude)


def check_batches(model: Model, s: NnfwSession, full: Step, samples: Sequence[Sample],
                  labels: Sequence[Sample], magnitude: float) -> None:
    """A full step's gradient is the mean of its samples' own; a short step is one of that batch."""
    single = [run_step(s, model, [x], [t]) for x, t in zip(samples, labels)]
    for tensor, gradient in full.gradients.items():
        each = np.stack([one.gradients[tensor] for one in single])
        assert_near(gradient, each.mean(axis=0), 1e-5, f"tensor {tensor}: batch and single samples",
                    max(magnitude / 100, float(np.max(abs(each), initial=0))))
    for i, y in enumerate(full.outputs):
        for k, one in enumerate(single):
            assert_near(one.outputs[i][0], y[k], 1e-5, f"output {i} of sample {k} alone", magnitude)
    partial = run_step(s, model, samples[:2], labels[:2])
    two = run_step(training(model, 2, trainable=model.patterns), model, samples[:2], labels[:2], 2)
    assert partial.losses == two.losses
    for a, b in zip(partial.outputs, two.outputs):
        assert np.array_equal(a, b), "two samples of three and a batch of two"
    for tensor in partial.gradients:
        assert np.array_equal(partial.gradients[tensor], two.gradients[tensor]), tensor
