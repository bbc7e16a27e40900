# SPDX-License-Identifier: Apache-2.0
"""Shapes that fill vectors and leave a rest, and are cut into pieces for several threads."""

import numpy as np
import pytest
import reference
from builder import Model
from opcheck import assert_near, build_model, check_gradient, check_step, draw, run_step, training


def small(m: Model, *shape: int) -> int:
    return m.const(m.rng.normal(size=shape) / np.sqrt(np.prod(shape[1:])))


def conv(m: Model) -> None:
    m.output(m.op("CONV_2D", m.input(1, 6, 7, 35), small(m, 37, 3, 3, 35), m.weights(37),
                  stride_h=1, stride_w=1, act="TANH"))


def conv_of_groups(m: Model) -> None:
    m.output(m.op("CONV_2D", m.input(1, 9, 11, 34), small(m, 38, 3, 3, 17), m.weights(38),
                  stride_h=2, stride_w=1))


def conv_1x1(m: Model) -> None:
    m.output(m.op("CONV_2D", m.input(1, 9, 9, 67), small(m, 19, 1, 1, 67), stride_h=1, stride_w=1))


def depthwise(m: Model) -> None:
    m.output(m.op("DEPTHWISE_CONV_2D", m.input(1, 12, 13, 37), small(m, 1, 3, 3, 37), m.weights(37),
                  stride_h=1, stride_w=1, act="TANH"))


def depthwise_multiplier(m: Model) -> None:
    m.output(m.op("DEPTHWISE_CONV_2D", m.input(1, 12, 13, 19), small(m, 1, 3, 3, 38),
                  stride_h=2, stride_w=2, dilation_h_factor=1, padding="VALID"))


def dense(m: Model) -> None:
    m.output(m.op("FULLY_CONNECTED", m.input(1, 5, 133), small(m, 71, 133), m.weights(71),
                  keep_num_dims=True, act="TANH"))


def elementwise(m: Model) -> None:
    x = m.op("MUL", m.input(1, 40, 67), m.weights(67), act="TANH")
    m.output(m.op("DIV", m.op("LOGISTIC", x), m.weights(40, 1)))


def sums(m: Model) -> None:
    x = m.input(1, 21, 23, 19)
    m.output(m.op("MEAN", x, m.ints(1, 2)), m.op("SUM", x, m.ints(2)), m.op("SUM", x, m.ints(3)))


def softmax(m: Model) -> None:
    m.output(m.op("SOFTMAX", m.input(1, 31, 133), beta=1.0))


def average_pool(m: Model) -> None:
    m.output(m.op("AVERAGE_POOL_2D", m.input(1, 15, 17, 35), filter_height=3, filter_width=2,
                  stride_h=2, stride_w=2))


def moves(m: Model) -> None:
    x = m.op("TRANSPOSE", m.input(1, 11, 13, 35), m.ints(0, 3, 1, 2))
    x = m.op("PAD", x, m.ints([[0, 0], [1, 2], [0, 1], [3, 0]]))
    part = m.op("STRIDED_SLICE", x, m.ints(0, 0, 0, 20), m.ints(1, 36, 12, 0), m.ints(1, 2, 1, -1))
    m.output(part, m.op("CONCATENATION", x, x, axis=2))


@pytest.mark.parametrize("build", [conv, conv_of_groups, conv_1x1, depthwise, depthwise_multiplier,
                                   dense, elementwise, sums, softmax, average_pool, moves],
                         ids=lambda b: b.__name__)
def test_larger(build: object) -> None:
    m = build_model(build, 3, "MUL")
    samples, labels = draw(m, 3)
    steps = [run_step(training(m, trainable=m.patterns, threads=n), m, samples, labels)
             for n in (1, 3)]
    check_step(m, steps[0], samples, labels)
    for tensor, gradient in steps[0].gradients.items():
        check_gradient(m, tensor, gradient, samples, labels)
        assert np.array_equal(gradient, steps[1].gradients[tensor]), "depends on threads"
    for one, three in zip(steps[0].outputs, steps[1].outputs):
        assert np.array_equal(one, three), "depends on threads"
    assert steps[0].losses == steps[1].losses


def test_max_pool() -> None:
    """Larger, and nearly free of ties: every element is another number."""
    def build(m: Model) -> None:
        m.output(m.op("MAX_POOL_2D", m.input(1, 15, 17, 19), filter_height=3, filter_width=2,
                      stride_h=2, stride_w=1))

    m = build_model(build, 4, "ADD")
    rng = np.random.default_rng(4)
    size = 15 * 17 * 19
    samples = [[(rng.permutation(size) / 256 - 8).astype(np.float32).reshape(1, 15, 17, 19)]
               for _ in range(3)]
    m.tensors[m.parameters[0]].value[:] = 0
    labels = [[rng.normal(size=m.tensors[m.outputs[0]].shape)] for _ in samples]
    step = run_step(training(m, trainable=m.patterns), m, samples, labels)
    wanted = np.stack([reference.run(m, x)[0] for x in samples])
    assert_near(step.outputs[0], wanted, 1e-7, "output")
    check_gradient(m, m.parameters[0], step.gradients[m.parameters[0]], samples, labels)
