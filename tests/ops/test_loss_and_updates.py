# SPDX-License-Identifier: Apache-2.0
"""Losses and their gradients, and optimizer steps, against their formulas in float64."""

from __future__ import annotations

import numpy as np
import pytest
import reference
from builder import Model
from opcheck import CCE, MEAN, MSE, SUM, N, build_model, check_gradient, draw, run_step, training

from pyonert.native.types import loss_reduction, optimizer


def cross_entropy(p: np.ndarray, t: np.ndarray) -> np.ndarray:
    return -(t * np.log(np.maximum(p, 1e-20))).sum(axis=-1)


def cross_entropy_of_logits(z: np.ndarray, t: np.ndarray) -> np.ndarray:
    z = z - z.max(axis=-1, keepdims=True)
    return (t * (np.log(np.exp(z).sum(axis=-1, keepdims=True)) - z)).sum(axis=-1)


SHAPES = [(1, 5), (1, 3, 4), (2, 3), (4,), (1, 2, 2, 3), (1, 1)]


@pytest.mark.parametrize("reduction", [MEAN, SUM], ids=str)
@pytest.mark.parametrize("last", ["softmax", "softmax 2", "logits"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_categorical_cross_entropy(shape: tuple, last: str, reduction: loss_reduction) -> None:
    def build(m: Model) -> None:
        z = m.op("MUL", m.input(*shape), m.weights(*shape))
        beta = 2.0 if last == "softmax 2" else 1.0
        m.output(z if last == "logits" else m.op("SOFTMAX", z, beta=beta))

    m = build_model(build, 11)
    samples, _ = draw(m, 11)
    rng = np.random.default_rng(12)
    labels = [[rng.uniform(0, 1, shape)] for _ in samples]  # rows that do not add up to 1
    labels[0][0] = np.broadcast_to(np.eye(shape[-1])[0], shape)
    rows = cross_entropy_of_logits if last == "logits" else cross_entropy
    combine = np.mean if reduction is MEAN else np.sum
    step = run_step(training(m, kind=CCE, reduction=reduction, trainable=m.patterns), m, samples,
                    labels)
    each = [rows(reference.run(m, x)[0], t[0]) for x, t in zip(samples, labels)]
    assert step.losses == pytest.approx([combine(each)], rel=1e-5)
    assert list(step.gradients) == m.parameters
    check_gradient(m, m.parameters[0], step.gradients[m.parameters[0]], samples, labels,
                   lambda p, t: float(combine(rows(p, t))), None if reduction is MEAN else 1)


def test_probabilities_that_underflow() -> None:
    """The loss is cut off at 1e-20, the gradient is exact: p - t."""
    def build(m: Model) -> None:
        m.output(m.op("SOFTMAX", m.op("ADD", m.input(1, 3), m.const([200, 0, -200])), beta=1.0))

    m = build_model(build, 13)
    zero, label = np.zeros((1, 3), np.float32), np.array([[0, 0, 1.0]])
    step = run_step(training(m, 1, kind=CCE, trainable=m.patterns), m, [[zero]], [[label]], 1)
    assert step.losses == pytest.approx([-np.log(1e-20)], rel=1e-6)
    np.testing.assert_allclose(step.gradients[m.parameters[0]], [1, 0, -1], atol=1e-6)


def test_softmax_that_is_read_elsewhere_too() -> None:
    def build(m: Model) -> None:
        p = m.op("SOFTMAX", m.op("MUL", m.input(1, 4), m.weights(4)), beta=1.0)
        m.output(p, m.op("MUL", p, m.weights(4)))

    m = build_model(build, 14)
    samples, _ = draw(m, 14)
    labels = [[np.full((1, 4), 0.5), np.full((1, 4), 0.25)] for _ in samples]
    step = run_step(training(m, kind=CCE, trainable=m.patterns), m, samples, labels)

    def of(p: np.ndarray, t: np.ndarray) -> float:
        rows = cross_entropy if t[0, 0] == 0.5 else cross_entropy_of_logits
        return float(rows(p, t).mean())

    for tensor, gradient in step.gradients.items():
        check_gradient(m, tensor, gradient, samples, labels, of)


@pytest.mark.parametrize("shape", [(1, 5), (1, 3, 2), (4, 2), (4,)], ids=str)
def test_squared_error_summed_over_rows(shape: tuple) -> None:
    """SUM adds up what each row of dimension 0 has as its mean, over samples and a file's own
    batch alike."""
    def build(m: Model) -> None:
        m.output(m.op("MUL", m.input(*shape), m.weights(*shape)))

    m = build_model(build, 15)
    samples, labels = draw(m, 15)
    step = run_step(training(m, kind=MSE, reduction=SUM, trainable=m.patterns), m, samples, labels)
    each = [np.mean((reference.run(m, x)[0] - t[0]) ** 2) for x, t in zip(samples, labels)]
    assert step.losses == pytest.approx([shape[0] * np.sum(each)], rel=1e-5)
    check_gradient(m, m.parameters[0], step.gradients[m.parameters[0]], samples, labels,
                   weight=shape[0])


# Steps


def line(m: Model) -> None:
    """y = s * (x W^T + b)"""
    y = m.op("FULLY_CONNECTED", m.input(1, 4), m.weights(3, 4), m.weights(3))
    m.output(m.op("MUL", y, m.weights(1, 3)))


def line_gradients(w: list, x: np.ndarray, t: np.ndarray) -> list:
    """Gradients of the mean squared error of `line` for W, b and s."""
    weights, bias, s = w
    z = x @ weights.T + bias
    d = 2 * (s * z - t) / t.size
    return [(d * s).T @ x, (d * s).sum(axis=0), (d * z).sum(axis=0, keepdims=True)]


@pytest.mark.parametrize(("beta1", "beta2", "epsilon"), [
    (0.9, 0.999, 1e-7), (0.6, 0.8, 1e-2), (0.0, 0.5, 1e-3), (0.5, 0.0, 0.1)])
def test_adam(beta1: float, beta2: float, epsilon: float) -> None:
    m, rate = build_model(line, 21), 0.03
    s = training(m, opt=optimizer.ADAM, rate=rate, trainable=m.patterns, adam_beta1=beta1,
                 adam_beta2=beta2, adam_epsilon=epsilon)
    w = [m.tensors[i].value.astype(float) for i in m.parameters]
    moment = [[np.zeros_like(v) for v in w] for _ in range(2)]
    for t in range(1, 6):
        samples, labels = draw(m, 21 + t, 2 if t == 3 else N)  # one short batch
        run_step(s, m, samples, labels)
        gradients = line_gradients(w, np.concatenate([x[0] for x in samples]).astype(float),
                                   np.concatenate([y[0] for y in labels]).astype(np.float32))
        for i, g in enumerate(gradients):
            moment[0][i] = beta1 * moment[0][i] + (1 - beta1) * g
            moment[1][i] = beta2 * moment[1][i] + (1 - beta2) * g**2
            alpha = rate * np.sqrt(1 - beta2**t) / (1 - beta1**t)
            w[i] = w[i] - alpha * moment[0][i] / (np.sqrt(moment[1][i]) + epsilon)
            # float32 gradients near 0 decide on the direction of a step of length `rate`.
            np.testing.assert_allclose(s.train_get_parameter(i), w[i], rtol=0, atol=2e-3 * rate,
                                       err_msg=f"step {t}")


def test_sgd() -> None:
    m, rate = build_model(line, 31), 0.2
    s = training(m, rate=rate, trainable=m.patterns)
    w = [m.tensors[i].value.astype(float) for i in m.parameters]
    for t in range(5):
        samples, labels = draw(m, 31 + t, 2 if t == 2 else N)
        run_step(s, m, samples, labels)
        gradients = line_gradients(w, np.concatenate([x[0] for x in samples]).astype(float),
                                   np.concatenate([y[0] for y in labels]).astype(np.float32))
        for i, g in enumerate(gradients):
            w[i] = w[i] - rate * g
            np.testing.assert_allclose(s.train_get_parameter(i), w[i], rtol=0, atol=2e-6)


def test_tied_weights_take_one_step_of_the_summed_gradient() -> None:
    def build(m: Model) -> None:
        w = m.weights(3, 3)
        m.output(m.op("FULLY_CONNECTED", m.op("FULLY_CONNECTED", m.input(1, 3), w, act="TANH"), w))

    m = build_model(build, 41)
    samples, labels = draw(m, 41)
    before = m.tensors[m.parameters[0]].value
    s = training(m, rate=0.5)
    step = run_step(s, m, samples, labels)
    assert s.train_parameter_count() == 1
    np.testing.assert_allclose(s.train_get_parameter(0),
                               before - 0.5 * step.gradients[m.parameters[0]], rtol=0, atol=1e-6)
