# SPDX-License-Identifier: Apache-2.0
"""CONV_2D, DEPTHWISE_CONV_2D and pooling: geometry, groups, multipliers, bias, activations."""

import numpy as np
import pytest
from builder import Model
from opcheck import check_case

# Input [N,H,W,C], filters, rows and columns of the kernel, groups (CONV_2D) or multiplier
# (DEPTHWISE_CONV_2D), strides, dilations.
GEOMETRY = [
    ((1, 5, 5, 2), 3, (3, 3), 1, (1, 1), (1, 1)),
    ((1, 4, 6, 3), 2, (1, 1), 1, (1, 1), (1, 1)),
    ((1, 4, 6, 3), 2, (1, 1), 1, (2, 3), (1, 1)),
    ((1, 6, 4, 1), 4, (2, 3), 1, (2, 1), (1, 1)),
    ((1, 7, 5, 2), 2, (3, 2), 1, (1, 2), (2, 1)),
    ((1, 7, 8, 1), 2, (2, 3), 1, (3, 2), (2, 3)),
    ((1, 5, 6, 4), 4, (3, 2), 2, (1, 2), (1, 1)),
    ((1, 4, 4, 6), 9, (2, 2), 3, (1, 1), (1, 1)),
    ((2, 4, 3, 2), 3, (2, 2), 1, (1, 1), (1, 1)),
    ((1, 1, 9, 2), 3, (1, 4), 1, (1, 2), (1, 2)),
    ((1, 8, 1, 1), 2, (5, 1), 1, (3, 1), (1, 1)),
    ((1, 3, 3, 17), 19, (2, 2), 1, (1, 1), (1, 1)),
]
ACTIVATIONS = ["NONE", "RELU", "RELU6", "RELU_N1_TO_1", "TANH"]


def options(strides: tuple, dilations: tuple, padding: str, act: str) -> dict:
    return {"stride_h": strides[0], "stride_w": strides[1], "dilation_h_factor": dilations[0],
            "dilation_w_factor": dilations[1], "padding": padding, "act": act}


def small(m: Model, *shape: int) -> int:
    """Weights that keep sums over a window near 1."""
    return m.const(m.rng.normal(size=shape) / np.sqrt(np.prod(shape[1:])))


def add_bias(m: Model, kind: str, n: int) -> list[int]:
    return [m.weights(n)] if kind == "bias" else [-1] if kind == "absent" else []


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("i", range(len(GEOMETRY)))
def test_conv_2d(i: int, padding: str) -> None:
    shape, filters, (kh, kw), groups, strides, dilations = GEOMETRY[i]
    kind, act = ["bias", "absent", "two"][i % 3], ACTIVATIONS[(i + (padding == "SAME")) % 5]

    def build(m: Model) -> None:
        x = m.input(*shape)
        w = small(m, filters, kh, kw, shape[3] // groups)
        m.output(m.op("CONV_2D", x, w, *add_bias(m, kind, filters),
                      **options(strides, dilations, padding, act)))

    check_case(build, f"CONV_2D {i} {padding}")


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("multiplier", [1, 2, 3])
@pytest.mark.parametrize("i", [0, 3, 4, 5, 6, 8, 9, 10, 11])
def test_depthwise_conv_2d(i: int, multiplier: int, padding: str) -> None:
    shape, _, (kh, kw), _, strides, dilations = GEOMETRY[i]
    kind = ["bias", "absent", "two"][(i + multiplier) % 3]
    act = ACTIVATIONS[(i + multiplier) % 5]

    def build(m: Model) -> None:
        w = small(m, 1, kh, kw, shape[3] * multiplier)
        m.output(m.op("DEPTHWISE_CONV_2D", m.input(*shape), w,
                      *add_bias(m, kind, shape[3] * multiplier), depth_multiplier=multiplier,
                      **options(strides, dilations, padding, act)))

    check_case(build, f"DEPTHWISE_CONV_2D {i} {multiplier} {padding}")


@pytest.mark.parametrize("act", ACTIVATIONS)
@pytest.mark.parametrize("op", ["CONV_2D", "DEPTHWISE_CONV_2D"])
def test_activation(op: str, act: str) -> None:
    def build(m: Model) -> None:
        w = m.weights(3, 2, 2, 3) if op == "CONV_2D" else m.weights(1, 2, 2, 3)
        m.output(m.op(op, m.input(1, 3, 4, 3), w, m.weights(3),
                      **options((1, 1), (1, 1), "VALID", act)))

    check_case(build, f"{op} {act}")


@pytest.mark.parametrize("op", ["CONV_2D", "DEPTHWISE_CONV_2D"])
def test_filter_and_bias_that_depend_on_the_data(op: str) -> None:
    def build(m: Model) -> None:
        w = m.input(2, 2, 2, 2) if op == "CONV_2D" else m.input(1, 2, 2, 2)
        m.output(m.op(op, m.input(1, 3, 4, 2), w, m.input(2),
                      **options((1, 1), (1, 1), "SAME", "TANH")))

    check_case(build, f"{op} data filter")


@pytest.mark.parametrize("op", ["CONV_2D", "DEPTHWISE_CONV_2D"])
def test_constant_image(op: str) -> None:
    def build(m: Model) -> None:
        x = m.weights(1, 3, 4, 2)
        w = m.input(2, 2, 2, 2) if op == "CONV_2D" else m.input(1, 2, 2, 2)
        m.output(m.op(op, x, w, **options((1, 2), (1, 1), "SAME", "NONE")))

    check_case(build, f"{op} constant image")


@pytest.mark.parametrize("shape", [(2,), (1, 2), (1, 1, 1, 2), (2, 1)], ids=str)
@pytest.mark.parametrize("op", ["CONV_2D", "DEPTHWISE_CONV_2D"])
def test_shape_of_bias(op: str, shape: tuple) -> None:
    def build(m: Model) -> None:
        w = m.weights(2, 2, 2, 2) if op == "CONV_2D" else m.weights(1, 2, 2, 2)
        m.output(m.op(op, m.input(1, 3, 5, 2), w, m.weights(*shape),
                      **options((1, 1), (1, 1), "SAME", "NONE")))

    check_case(build, f"{op} bias {shape}")


# Input, window, strides.
POOLS = [
    ((1, 4, 4, 3), (2, 2), (2, 2)), ((1, 5, 7, 2), (2, 3), (2, 1)), ((1, 6, 5, 1), (3, 2), (1, 2)),
    ((1, 5, 5, 2), (3, 3), (1, 1)), ((1, 4, 6, 2), (4, 6), (1, 1)), ((1, 7, 7, 1), (2, 2), (3, 3)),
    ((2, 3, 4, 3), (2, 2), (1, 2)), ((1, 1, 8, 2), (1, 3), (1, 2)), ((1, 3, 3, 17), (2, 1), (1, 1)),
    ((1, 4, 4, 2), (1, 1), (2, 2)),
]


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("i", range(len(POOLS)))
@pytest.mark.parametrize("op", ["MAX_POOL_2D", "AVERAGE_POOL_2D"])
def test_pool(op: str, i: int, padding: str) -> None:
    shape, (fh, fw), (sh, sw) = POOLS[i]

    def build(m: Model) -> None:
        m.output(m.op(op, m.input(*shape), filter_height=fh, filter_width=fw, stride_h=sh,
                      stride_w=sw, padding=padding, act=ACTIVATIONS[i % 5]))

    check_case(build, f"{op} {i} {padding}")


@pytest.mark.parametrize("op", ["MAX_POOL_2D", "AVERAGE_POOL_2D"])
def test_window_larger_than_the_input(op: str) -> None:
    def build(m: Model) -> None:
        m.output(m.op(op, m.input(1, 2, 3, 2), filter_height=5, filter_width=4, stride_h=2,
                      stride_w=1, padding="SAME"))

    check_case(build, f"{op} large window")


def test_activation_of_pools() -> None:
    for op in ["MAX_POOL_2D", "AVERAGE_POOL_2D"]:
        for act in ACTIVATIONS:
            def build(m: Model, op: str = op, act: str = act) -> None:
                m.output(m.op(op, m.input(1, 4, 4, 2, scale=9), filter_height=2, filter_width=2,
                              stride_h=2, stride_w=2, padding="VALID", act=act))

            check_case(build, f"{op} {act}")


def random_window(m: Model, op: str) -> None:
    rng = m.rng

    def pair(high: int) -> tuple[int, int]:
        return int(rng.integers(1, high)), int(rng.integers(1, high))

    (kh, kw), strides, dilations = pair(4), pair(4), pair(3)
    padding = str(rng.choice(["SAME", "VALID"]))
    least = (kh - 1) * dilations[0] + 1, (kw - 1) * dilations[1] + 1
    more = rng.integers(0, 4, 2) if padding == "VALID" else rng.integers(-2, 4, 2)
    h, w = (max(1, int(a + b)) for a, b in zip(least, more))
    groups, per_group, each = (int(v) for v in rng.integers(1, 4, 3))
    n, act = int(rng.choice([1, 1, 2])), str(rng.choice(ACTIVATIONS))
    if "POOL" in op:
        h, w = max(h, kh), max(w, kw)
        m.output(m.op(op, m.input(n, h, w, each), filter_height=kh, filter_width=kw,
                      stride_h=strides[0], stride_w=strides[1], padding=padding, act=act))
        return
    channels = groups * per_group if op == "CONV_2D" else per_group
    filters = small(m, *((groups * each, kh, kw, per_group) if op == "CONV_2D"
                         else (1, kh, kw, per_group * each)))
    n_out = m.tensors[filters].shape[0 if op == "CONV_2D" else 3]
    bias = add_bias(m, str(rng.choice(["bias", "absent", "two"])), n_out)
    m.output(m.op(op, m.input(n, h, w, channels), filters, *bias,
                  **options(strides, dilations, padding, act)))


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("op", ["CONV_2D", "DEPTHWISE_CONV_2D", "MAX_POOL_2D", "AVERAGE_POOL_2D"])
def test_random_geometry(op: str, seed: int) -> None:
    check_case(lambda m: random_window(m, op), f"{op} random {seed}")
