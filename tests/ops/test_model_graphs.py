# SPDX-License-Identifier: Apache-2.0
"""Models of several operators: outputs, shared tensors and weights, frozen parts, folding, and
random graphs, which share memory in ways nobody has thought of."""

import numpy as np
import pytest
import reference
from builder import Model
from opcheck import (
    assert_near,
    build_model,
    check_case,
    check_gradient,
    check_step,
    draw,
    infer,
    run_step,
    training,
)


def dense(m: Model, x: int, k: int, units: int, act: str = "NONE") -> int:
    return m.op("FULLY_CONNECTED", x, m.weights(units, k), m.weights(units), act=act)


def two_branches(m: Model) -> None:
    x = m.op("TANH", dense(m, m.input(1, 4), 4, 5))
    m.output(dense(m, x, 5, 2), m.op("SOFTMAX", dense(m, x, 5, 3), beta=1.0))


def inner_output(m: Model) -> None:
    x = m.op("ADD", m.input(1, 4), m.weights(4))
    y = m.op("TANH", x)
    m.output(x, y, m.op("MUL", y, m.weights(1, 1)))


def outputs_of_several_shapes(m: Model) -> None:
    x, y = m.input(1, 6), m.input(1, 2, 3)
    m.output(m.op("RESHAPE", x, new_shape=[1, 2, 3]), m.op("MEAN", y, m.ints(0, 1, 2)),
             m.op("MUL", m.op("RESHAPE", y, new_shape=[6]), x))


def aliases_as_outputs(m: Model) -> None:
    x = m.op("MUL", m.input(1, 6), m.weights(6))
    y = m.op("RESHAPE", x, new_shape=[2, 3])
    m.output(x, y, m.op("TANH", y), m.op("RESHAPE", m.op("RELU", x), new_shape=[6, 1]))


def fan_out_3(m: Model) -> None:
    x = m.op("ADD", m.input(1, 2, 2, 3), m.weights(3))
    a = m.op("CONV_2D", x, m.weights(3, 1, 1, 3), stride_h=1, stride_w=1)
    b = m.op("MUL", x, m.op("MEAN", x, m.ints(1, 2), keep_dims=True))
    c = m.op("LOGISTIC", x)
    m.output(m.op("ADD", m.op("SUB", a, b), m.op("MUL", c, x)))


def fan_out_of_views(m: Model) -> None:
    x = m.op("TANH", m.input(1, 2, 3))
    flat = m.op("RESHAPE", x, new_shape=[1, 6])
    turned = m.op("RESHAPE", m.op("TRANSPOSE", x, m.ints(0, 2, 1)), new_shape=[1, 6])
    part = m.op("SLICE", flat, m.ints(0, 1), m.ints(1, 4))
    m.output(m.op("CONCATENATION", flat, m.op("MUL", flat, turned), part, flat, axis=1))


def fan_out_of_a_pool(m: Model) -> None:
    x = m.op("ADD", m.input(1, 4, 4, 2), m.weights(2))
    window = {"filter_height": 2, "filter_width": 2, "stride_h": 1, "stride_w": 1}
    a, b = m.op("MAX_POOL_2D", x, **window), m.op("AVERAGE_POOL_2D", x, **window)
    c = m.op("DEPTHWISE_CONV_2D", x, m.weights(1, 2, 2, 2), m.weights(2), stride_h=1, stride_w=1)
    m.output(m.op("ADD", m.op("MUL", a, b), m.op("ADD", c, x)))


def tied_dense(m: Model) -> None:
    w, b = m.weights(4, 4), m.weights(4)
    x = m.op("FULLY_CONNECTED", m.input(1, 4), w, b, act="TANH")
    m.output(m.op("FULLY_CONNECTED", x, w, b))


def tied_siamese(m: Model) -> None:
    w, b = m.weights(3, 4), m.weights(3)
    p, q = (m.op("FULLY_CONNECTED", m.input(1, 4), w, b) for _ in range(2))
    m.output(m.op("SUB", p, q), m.op("MUL", p, q))


def tied_in_two_roles(m: Model) -> None:
    w = m.weights(4, 4)
    x = m.op("FULLY_CONNECTED", m.input(1, 4), m.op("MUL", w, w))
    m.output(m.op("ADD", m.op("FULLY_CONNECTED", x, m.op("TRANSPOSE", w, m.ints(1, 0))), w))


def computed_weights(m: Model) -> None:
    # Gradients reach w through nodes that no sample touches.
    w = m.op("SOFTMAX", m.op("ADD", m.weights(3, 4), m.weights(4)), beta=1.0)
    m.output(m.op("FULLY_CONNECTED", m.input(1, 4), w, m.op("MEAN", w, m.ints(1))))


def samples_of_several_rows(m: Model) -> None:
    x = m.op("FULLY_CONNECTED", m.input(3, 1, 4), m.weights(5, 4), keep_num_dims=True, act="TANH")
    last = m.op("STRIDED_SLICE", x, m.ints(-1, 0, 0), m.ints(0, 0, 0), m.ints(1, 1, 1),
                begin_mask=6, end_mask=6, shrink_axis_mask=1)
    m.output(x, last)


def rows_to_time_and_back(m: Model) -> None:
    x = m.op("TRANSPOSE", m.input(1, 3, 4), m.ints(1, 0, 2))
    state = m.op("MUL", m.weights(1, 4), m.weights(1, 4))
    w = m.weights(4, 4)
    for t in range(3):
        now = m.op("STRIDED_SLICE", x, m.ints(t, 0, 0), m.ints(t + 1, 1, 4), m.ints(1, 1, 1),
                   shrink_axis_mask=1)
        state = m.op("ADD", now, m.op("FULLY_CONNECTED", state, w), act="TANH")
    m.output(state)


GRAPHS = [two_branches, inner_output, outputs_of_several_shapes, aliases_as_outputs, fan_out_3,
          fan_out_of_views, fan_out_of_a_pool, tied_dense, tied_siamese, tied_in_two_roles,
          computed_weights, samples_of_several_rows, rows_to_time_and_back]


@pytest.mark.parametrize("build", GRAPHS, ids=lambda b: b.__name__)
def test_graph(build: object) -> None:
    check_case(build, build.__name__)


def random_graph(m: Model) -> None:
    """A graph of some 9 operators over tensors of a few shapes."""
    rng = m.rng
    lead = int(rng.choice([1, 1, 3]))
    tensors = [m.input(lead, 2, 4) for _ in range(rng.integers(1, 3))]

    def pick() -> int:
        return tensors[rng.integers(max(0, len(tensors) - 4), len(tensors))]

    def weights_for(a: int) -> int:
        shape = m.tensors[a].shape
        return m.weights(*shape[rng.integers(0, len(shape)):])

    def binary() -> int:
        a, b = pick(), pick()
        act = "NONE"
        if rng.random() < 0.4:
            b = weights_for(a)
            act = str(rng.choice(["NONE", "RELU", "TANH"]))
        if rng.random() < 0.5:
            a, b = b, a
        name = str(rng.choice(["ADD", "SUB", "MUL"]))
        try:
            np.broadcast_shapes(m.tensors[a].shape, m.tensors[b].shape)
        except ValueError:
            a = b
        return m.op(name, a, b, act="TANH" if name == "MUL" else act)

    def unary() -> int:
        name = str(rng.choice(["TANH", "LOGISTIC", "RELU", "LEAKY_RELU", "SOFTMAX"]))
        options = {"LEAKY_RELU": {"alpha": float(rng.choice([-0.3, 0, 0.3]))},
                   "SOFTMAX": {"beta": 1.5}}.get(name, {})
        a = pick()
        if "RELU" in name:  # x may be exactly 0, where they have no derivative
            a = m.op("ADD", a, weights_for(a))
        return m.op(name, a, **options)

    def shape() -> int:
        a = pick()
        dims = m.tensors[a].shape
        kind = rng.integers(5)
        if kind == 0:
            return m.op("RESHAPE", a, new_shape=[dims[0], -1, dims[-1]])
        if kind == 1:
            return m.op("TRANSPOSE", a, m.ints([int(i) for i in rng.permutation(len(dims))]))
        if kind == 2:
            return m.op("CONCATENATION", a, m.op("TANH", a), axis=int(rng.integers(len(dims))))
        if kind == 3:
            begin = [int(n > 1 and rng.integers(2)) for n in dims]
            return m.op("SLICE", a, m.ints(begin), m.ints([-1] * len(dims)))
        return m.op("MEAN", a, m.ints(int(rng.integers(len(dims)))), keep_dims=True)

    def rows() -> int:
        a = pick()
        k, units = m.tensors[a].shape[-1], int(rng.integers(1, 5))
        return m.op("FULLY_CONNECTED", a, m.weights(units, k), m.weights(units),
                    keep_num_dims=True, act="TANH")

    for _ in range(9):
        tensors.append([binary, binary, unary, shape, rows][rng.integers(5)]())
    outputs = {int(t) for t in rng.choice(tensors[-5:], 2)} | {tensors[-1]}
    m.output(*sorted(outputs.difference(m.inputs)))


@pytest.mark.parametrize("seed", range(60))
def test_random_graph(seed: int) -> None:
    check_case(random_graph, f"random graph {seed}", magnitude=1)


def test_batches_of_many_sizes_in_one_session() -> None:
    m = build_model(samples_of_several_rows, 9, "MUL")
    samples, labels = draw(m, 9, 6)
    s = training(m, 6, trainable=m.patterns)
    for n in (6, 1, 2, 3, 4, 5, 1, 6, 3, 2):
        step = run_step(s, m, samples[:n], labels[:n], 6)
        check_step(m, step, samples[:n], labels[:n])
        for tensor, gradient in step.gradients.items():
            check_gradient(m, tensor, gradient, samples[:n], labels[:n])


def test_one_tensor_is_two_outputs() -> None:
    def build(m: Model) -> None:
        y = m.op("TANH", m.op("MUL", m.input(1, 4), m.weights(4)))
        m.output(y, y)

    check_case(build, "two outputs of one tensor")


def test_an_input_is_an_output_and_another_is_not_used() -> None:
    def build(m: Model) -> None:
        m.output(m.op("TANH", m.op("MUL", m.input(1, 4), m.weights(4))), m.inputs[0])
        m.input(1, 3)

    check_case(build, "input as output")


# What is trained


@pytest.mark.parametrize(("last_ops", "trained"), [
    (0, 0), (1, 2), (2, 2), (3, 4), (4, 4), (5, 6), (-1, 6)])
def test_frozen_prefix(last_ops: int, trained: int) -> None:
    def build(m: Model) -> None:
        x = m.op("TANH", dense(m, m.input(1, 4), 4, 3))
        m.output(dense(m, m.op("LOGISTIC", dense(m, x, 3, 3)), 3, 2))

    m = build_model(build, 5)
    samples, labels = draw(m, 5)
    step = run_step(training(m, last_ops=last_ops), m, samples, labels)
    check_step(m, step, samples, labels)
    assert set(step.gradients) == set(m.parameters[len(m.parameters) - trained:])
    for tensor, gradient in step.gradients.items():
        check_gradient(m, tensor, gradient, samples, labels)


def test_frozen_constants_stay_and_are_folded() -> None:
    def build(m: Model) -> None:
        folded = m.op("MUL", m.op("ADD", m.weights(1, 4, trainable=False),
                                  m.weights(4, trainable=False)), m.weights(4, trainable=False))
        x = m.op("ADD", m.input(1, 4), folded)
        w = m.op("TRANSPOSE", m.weights(4, 3, trainable=False), m.ints(1, 0))
        m.output(m.op("FULLY_CONNECTED", x, w, m.weights(3)))

    check_case(build, "folded constants")


def test_roles_are_what_is_trained_without_patterns() -> None:
    def build(m: Model) -> None:
        x = m.op("ADD", m.input(1, 3, 3, 2), m.weights(2, trainable=False))
        window = {"stride_h": 1, "stride_w": 1}
        x = m.op("CONV_2D", x, m.weights(2, 2, 2, 2), m.weights(2), **window)
        x = m.op("DEPTHWISE_CONV_2D", x, m.weights(1, 2, 2, 2), m.weights(2), **window)
        x = m.op("FULLY_CONNECTED", x, m.weights(2, 18), m.weights(2))
        m.output(m.op("MUL", x, m.weights(1, 2, trainable=False)))

    m = build_model(build, 6)
    samples, labels = draw(m, 6)
    step = run_step(training(m), m, samples, labels)
    assert set(step.gradients) == set(m.parameters)
    for tensor, gradient in step.gradients.items():
        check_gradient(m, tensor, gradient, samples, labels)


# Folding of shapes


def flatten(m: Model, x: int, to: int, dtype: type = np.int32) -> int:
    """What Keras makes of Flatten, or Reshape, with an unknown batch."""
    shape = m.op("SHAPE", x, out_type=4 if dtype is np.int64 else 2)
    batch = m.op("STRIDED_SLICE", shape, m.ints(0), m.ints(1), m.ints(1), shrink_axis_mask=1)
    return m.op("RESHAPE", x, m.op("PACK", batch, m.scalar(to, dtype), axis=0, values_count=2))


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_keras_flatten(dtype: type) -> None:
    def build(m: Model) -> None:
        x = m.input(1, 2, 3, signature=(-1, 2, 3))
        m.output(dense(m, flatten(m, x, 6, dtype), 6, 2))

    check_case(build, f"flatten {dtype}")


def test_arithmetic_on_shapes() -> None:
    def build(m: Model) -> None:
        x = m.input(1, 2, 3, 4)
        shape = m.op("SHAPE", x)
        part = m.op("SLICE", shape, m.ints(1), m.ints(2))  # 2 3
        part = m.op("SUB", m.op("MUL", part, m.ints(2, 2)), m.scalar(1))  # 3 5
        part = m.op("ADD", part, m.ints(3, 1))  # 6 6
        part = m.op("DIV", part, m.ints(1, 2))  # 6 3
        part = m.op("STRIDED_SLICE", part, m.ints(0), m.ints(1), m.ints(1))
        to = m.op("CONCATENATION", m.ints(1), part, m.ints(-1), axis=0)
        m.output(m.op("MUL", m.op("RESHAPE", x, to), m.weights(6, 1)))

    check_case(build, "shape arithmetic")


def test_other_operands_from_folded_shapes() -> None:
    def build(m: Model) -> None:
        x = m.input(1, 4, 3)
        half = m.op("DIV", m.op("SHAPE", x), m.ints(1, 2, 1))  # 1 2 3
        first = m.op("SLICE", x, m.ints(0, 0, 0), half)
        turned = m.op("TRANSPOSE", first, m.op("SUB", m.op("SHAPE", first), m.ints(1, 0, 2)))
        m.output(m.op("SUM", turned, m.op("STRIDED_SLICE", half, m.ints(1), m.ints(2), m.ints(1))))

    check_case(build, "folded operands")


def test_integer_results_are_outputs() -> None:
    def build(m: Model) -> None:
        x = m.input(2, 3, dtype=np.int32)
        y = m.op("ADD", m.op("MUL", x, m.ints(2, 3, 4)), m.scalar(1))
        z = m.op("PACK", m.op("TRANSPOSE", y, m.ints(1, 0)), m.op("TRANSPOSE", x, m.ints(1, 0)),
                 axis=1, values_count=2)
        back = m.op("STRIDED_SLICE", z, m.ints(2, 0, 0), m.ints(-9, 2, 2), m.ints(-1, 1, 1))
        m.output(y, z, back)

    m = build_model(build, 7)
    sample = [np.arange(-3, 3, dtype=np.int32).reshape(2, 3)]
    for actual, wanted in zip(infer(m, sample), reference.run(m, sample)):
        assert np.array_equal(actual, wanted)


def test_outputs_that_depend_on_no_input() -> None:
    def build(m: Model) -> None:
        x = m.input(1, 2, 3)
        m.output(m.op("SHAPE", x), m.op("TANH", m.weights(2, 2)), m.op("TANH", x))

    m = build_model(build, 8)
    sample = m.draw(np.random.default_rng(8))
    for actual, wanted in zip(infer(m, sample), reference.run(m, sample)):
        assert_near(actual, wanted, 1e-5, "output")
