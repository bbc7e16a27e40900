# SPDX-License-Identifier: Apache-2.0
"""What the operators compute, in float64 NumPy, one sample at a time.

An operator is a function of its operands (None where absent) and the options of its node. Those
with kinks tell how near their operands come to one, so that tests can stay away from them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from builder import Model, Op

Array = np.ndarray
ACTIVATIONS = ["NONE", "RELU", "RELU_N1_TO_1", "RELU6", "TANH", "SIGN_BIT"]
CLAMPS = {"RELU": (0, np.inf), "RELU6": (0, 6), "RELU_N1_TO_1": (-1, 1)}

# Distances to kinks met since the last call of kink_distance; None while nobody asks.
_distances: list[float] | None = None


def _near(distance: Array) -> None:
    if _distances is not None and distance.size:
        _distances.append(float(np.min(distance)))


def clamp(x: Array, low: float, high: float) -> Array:
    _near(np.minimum(abs(x - low), abs(x - high)))
    return np.clip(x, low, high)


def activate(name: str, x: Array) -> Array:
    if name == "NONE":
        return x
    return np.tanh(x) if name == "TANH" else clamp(x, *CLAMPS[name])


# Element by element


def divide(a: Array, b: Array) -> Array:
    return a / b if a.dtype.kind == "f" else a // b


def leaky_relu(x: Array, alpha: float = 0.0) -> Array:
    _near(abs(x))
    return np.where(x < 0, np.float64(np.float32(alpha)) * x, x)


def kinked(f: Any, *at: float) -> Any:
    """Returns f, telling how near its operand comes to the kinks `at`."""
    def function(x: Array) -> Array:
        for place in at:
            _near(abs(x - place))
        return f(x)
    return function


def stepped(f: Any, half: float) -> Any:
    """Returns f, which jumps at every whole number plus `half`."""
    def function(x: Array) -> Array:
        _near(abs(x - half - np.rint(x - half)))
        return f(x)
    return function


def maximum(a: Array, b: Array) -> Array:
    _near(abs(a - b))
    return np.maximum(a, b)


def minimum(a: Array, b: Array) -> Array:
    _near(abs(a - b))
    return np.minimum(a, b)


def floor_div(a: Array, b: Array) -> Array:
    if a.dtype.kind != "f":
        return a // b
    q = a / b
    _near(abs(q - np.rint(q)) * np.minimum(1, b * b))  # q changes with a / b^2
    return np.floor(q)


def floor_mod(a: Array, b: Array) -> Array:
    return a - b * floor_div(a, b)


def prelu(x: Array, alpha: Array) -> Array:
    _near(abs(x))
    return np.where(x < 0, alpha * x, x)


def select(condition: Array, a: Array, b: Array) -> Array:
    """A condition that is a vector is one of rows."""
    rows = condition.ndim == 1 and a.ndim > 1
    return np.where(condition.reshape(-1, *[1] * (a.ndim - 1)) if rows else condition, a, b)


def compared(f: Any) -> Any:
    """Returns the comparison f, which jumps where floats are equal."""
    def function(a: Array, b: Array) -> Array:
        if a.dtype.kind == "f":
            _near(abs(a - b))
        return f(a, b)
    return function


ERF = np.vectorize(math.erf, otypes=[np.float64])


def gelu(x: Array, approximate: bool = False) -> Array:
    if approximate:
        return x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    return x / 2 * (1 + ERF(x / np.sqrt(2)))


# Windows, NHWC


def window_axis(size: int, kernel: int, stride: int, dilation: int, padding: str) -> tuple:
    """Returns how many windows there are, and the padding before and behind."""
    extent = (kernel - 1) * dilation + 1
    if padding == "VALID":
        return -(-(size - extent + 1) // stride), 0, 0
    n = -(-size // stride)
    total = max(0, (n - 1) * stride + extent - size)
    return n, total // 2, total - total // 2


def windows(x: Array, fill: float, kh: int, kw: int, o: dict) -> Array:
    """Returns [kh,kw,N,OH,OW,C]: for every cell of the window what it lies on."""
    sh, sw = o["stride_h"], o["stride_w"]
    dh, dw = o.get("dilation_h_factor", 1), o.get("dilation_w_factor", 1)
    padding = o.get("padding", "SAME")
    oh, top, bottom = window_axis(x.shape[1], kh, sh, dh, padding)
    ow, left, right = window_axis(x.shape[2], kw, sw, dw, padding)
    x = np.pad(x, ((0, 0), (top, bottom), (left, right), (0, 0)), constant_values=fill)
    return np.array([[x[:, i * dh:, j * dw:][:, :(oh - 1) * sh + 1:sh, :(ow - 1) * sw + 1:sw]
                      for j in range(kw)] for i in range(kh)])


def conv_2d(x: Array, w: Array, b: Array | None = None, **o: Any) -> Array:
    n_out, kh, kw, per_group = w.shape
    groups = x.shape[3] // per_group
    taps = windows(x, 0, kh, kw, o)
    parts = [np.tensordot(t, f, ([0, 1, 5], [1, 2, 3])) for t, f in
             zip(np.split(taps, groups, axis=5), np.split(w, groups))]
    assert sum(p.shape[3] for p in parts) == n_out
    return np.concatenate(parts, axis=3) + (0 if b is None else b.reshape(-1))


def depthwise_conv_2d(x: Array, w: Array, b: Array | None = None, **o: Any) -> Array:
    kh, kw, n_out = w.shape[1:]
    taps = windows(np.repeat(x, n_out // x.shape[3], axis=3), 0, kh, kw, o)
    return np.einsum("ijnhwc,ijc->nhwc", taps, w[0]) + (0 if b is None else b.reshape(-1))


def transpose_conv(shape: Array, w: Array, x: Array, b: Array | None = None, **o: Any) -> Array:
    n, rows, columns, _ = x.shape
    kh, kw = w.shape[1:3]
    sh, sw = o["stride_h"], o["stride_w"]
    h, width = [int(d) for d in shape[1:3]]
    full = np.zeros((n, max(h, (rows - 1) * sh + kh) + kh, max(width, (columns - 1) * sw + kw) + kw,
                     len(w)))
    for i in range(rows):
        for j in range(columns):
            window = np.einsum("nc,oyxc->nyxo", x[:, i, j], w)
            full[:, i * sh:i * sh + kh, j * sw:j * sw + kw] += window
    same = o.get("padding", "SAME") == "SAME"
    top = max(0, (rows - 1) * sh + kh - h) // 2 if same else 0
    left = max(0, (columns - 1) * sw + kw - width) // 2 if same else 0
    y = full[:, top:top + h, left:left + width]
    return y + (0 if b is None else b.reshape(-1))


def max_pool_2d(x: Array, **o: Any) -> Array:
    cells = windows(x, -np.inf, o["filter_height"], o["filter_width"], o)
    cells = cells.reshape(-1, *cells.shape[2:])
    if len(cells) > 1:
        first, second = np.sort(cells, axis=0)[:-3:-1]
        _near(first - second)
    return cells.max(axis=0)


def average_pool_2d(x: Array, **o: Any) -> Array:
    cells = windows(x, np.nan, o["filter_height"], o["filter_width"], o)
    return np.nanmean(cells, axis=(0, 1))


# Rows and sums


def fully_connected(x: Array, w: Array, b: Array | None = None, keep_num_dims: bool = False,
                    **o: Any) -> Array:
    y = x.reshape(-1, w.shape[1]) @ w.T + (0 if b is None else b.reshape(-1))
    return y.reshape(*x.shape[:-1], len(w)) if keep_num_dims else y


def batch_matmul(a: Array, b: Array, adjoint_lhs: bool = False, adjoint_rhs: bool = False,
                 **o: Any) -> Array:
    return (a.swapaxes(-1, -2) if adjoint_lhs else a) @ (b.swapaxes(-1, -2) if adjoint_rhs else b)


def rope(x: Array, sin: Array, cos: Array, mode: int = 0) -> Array:
    shape = (-1, 2) if mode == 1 else (2, -1)
    pairs = x.reshape(*x.shape[:-1], *shape)
    axis = -1 if mode == 1 else -2
    a, b = np.take(pairs, 0, axis), np.take(pairs, 1, axis)
    return x * cos + np.stack([-b, a], axis).reshape(x.shape) * sin


def softmax(x: Array, beta: float = 1.0) -> Array:
    e = np.exp(beta * (x - x.max(axis=-1, keepdims=True)))
    return e / e.sum(axis=-1, keepdims=True)


def axes_of(x: Array, axes: Array) -> tuple[int, ...]:
    return tuple({int(a) % x.ndim for a in axes.reshape(-1)})


def mean(x: Array, axes: Array, keep_dims: bool = False) -> Array:
    return np.mean(x, axis=axes_of(x, axes), keepdims=keep_dims)


def total(x: Array, axes: Array, keep_dims: bool = False) -> Array:
    return np.sum(x, axis=axes_of(x, axes), keepdims=keep_dims)


# Shapes and places


def reshape(x: Array, shape: Array | None = None, new_shape: Sequence[int] | None = None) -> Array:
    return x.reshape([int(d) for d in (new_shape if shape is None else shape)])


def squeeze(x: Array, squeeze_dims: Sequence[int] | None = None) -> Array:
    return np.squeeze(x, tuple(squeeze_dims) if squeeze_dims else None)


def expand_dims(x: Array, axis: Array) -> Array:
    return np.expand_dims(x, int(axis.reshape(())))


def transpose(x: Array, perm: Array) -> Array:
    return np.transpose(x, [int(p) for p in perm])


def pad(x: Array, pads: Array, value: Array | None = None) -> Array:
    fill = 0 if value is None else value.reshape(-1)[0]
    widths = pads.reshape(-1, 2)
    y = np.full([n + a + b for n, (a, b) in zip(x.shape, widths)], fill, x.dtype)
    y[tuple(slice(a, a + n) for n, (a, _) in zip(x.shape, widths))] = x
    return y


def concatenation(*x: Array, axis: int = 0) -> Array:
    return np.concatenate(x, axis)


def pack(*x: Array, axis: int = 0, values_count: int = 0) -> Array:
    return np.stack(x, axis)


def split(axis: Array, x: Array, num_splits: int = 0) -> list[Array]:
    return np.split(x, num_splits, int(axis.reshape(())))


def split_v(x: Array, sizes: Array, axis: Array, num_splits: int = 0) -> list[Array]:
    n = x.shape[int(axis.reshape(()))]
    known = [int(s) for s in sizes]
    ends = np.cumsum([n - sum(known) - 1 if s == -1 else s for s in known])
    return np.split(x, ends[:-1], int(axis.reshape(())))


def unpack(x: Array, num: int = 0, axis: int = 0) -> list[Array]:
    return list(np.moveaxis(x, axis, 0))


def slice_(x: Array, begin: Array, size: Array) -> Array:
    return x[tuple(slice(b, None if n == -1 else b + n) for b, n in zip(begin, size))]


def strided_slice(x: Array, begin: Array, end: Array, strides: Array, begin_mask: int = 0,
                  end_mask: int = 0, ellipsis_mask: int = 0, new_axis_mask: int = 0,
                  shrink_axis_mask: int = 0, offset: bool = False) -> Array:
    index: list[Any] = []
    for i, (b, e, s) in enumerate(zip(begin, end, strides)):
        bit = 1 << i
        e = b + e if offset else e
        if ellipsis_mask & bit:
            index.append(...)
        elif new_axis_mask & bit:
            index.append(None)
        elif shrink_axis_mask & bit:
            index.append(int(b))
        else:
            index.append(slice(None if begin_mask & bit else int(b),
                               None if end_mask & bit else int(e), int(s)))
    return np.asarray(x[tuple(index)])


def gather(x: Array, index: Array, axis: int = 0, batch_dims: int = 0) -> Array:
    axis = axis % x.ndim
    batch = batch_dims + index.ndim if batch_dims < 0 else batch_dims
    if batch == 0:
        return np.take(x, index, axis)
    return np.stack([gather(a, b, axis - 1, batch - 1) for a, b in zip(x, index)])


def gather_nd(x: Array, index: Array) -> Array:
    return x[tuple(np.moveaxis(index, -1, 0))]


def embedding_lookup(index: Array, x: Array) -> Array:
    return x[index]


def tile(x: Array, multiples: Array) -> Array:
    return np.tile(x, [int(m) for m in multiples])


def broadcast_to(x: Array, shape: Array) -> Array:
    return np.broadcast_to(x, [int(n) for n in shape])


def fill(dims: Array, value: Array) -> Array:
    return np.full([int(n) for n in dims], value.reshape(()))


def range_(start: Array, limit: Array, delta: Array) -> Array:
    return np.arange(start.reshape(()), limit.reshape(()), delta.reshape(()), start.dtype)


def one_hot(index: Array, depth: Array, on: Array, off: Array, axis: int = -1) -> Array:
    hot = np.expand_dims(index, -1) == np.arange(int(depth.reshape(())))
    return np.moveaxis(np.where(hot, on.reshape(()), off.reshape(())), -1, axis)


def reverse(x: Array, axes: Array) -> Array:
    return np.flip(x, [int(a) for a in axes])


def mirror_pad(x: Array, pads: Array, mode: int = 0) -> Array:
    return np.pad(x, pads.reshape(-1, 2), ["reflect", "symmetric"][mode])


def space_to_depth(x: Array, block_size: int) -> Array:
    n, h, w, c = x.shape
    b = block_size
    cut = x.reshape(n, h // b, b, w // b, b, c)
    return cut.transpose(0, 1, 3, 2, 4, 5).reshape(n, h // b, w // b, b * b * c)


def depth_to_space(x: Array, block_size: int) -> Array:
    n, h, w, c = x.shape
    b = block_size
    cut = x.reshape(n, h, w, b, b, c // b // b)
    return cut.transpose(0, 1, 3, 2, 4, 5).reshape(n, h * b, w * b, c // b // b)


def space_to_batch(x: Array, block: Array, pads: Array) -> Array:
    rest = [(0, 0)] * (x.ndim - 1 - len(block))
    x = np.pad(x, [(0, 0), *pads.reshape(-1, 2).tolist(), *rest])
    places = [x[(slice(None), *[slice(i, None, b) for i, b in zip(at, block)])]
              for at in np.ndindex(*[int(b) for b in block])]
    return np.concatenate(places)


def batch_to_space(x: Array, block: Array, crops: Array) -> Array:
    blocks = [int(b) for b in block]
    n = x.shape[0] // int(np.prod(blocks))
    sizes = [d * b for d, b in zip(x.shape[1:], blocks)]
    y = np.empty((n, *sizes, *x.shape[1 + len(blocks):]), x.dtype)
    for part, at in zip(np.split(x, len(x) // n), np.ndindex(*blocks)):
        y[(slice(None), *[slice(i, None, b) for i, b in zip(at, blocks)])] = part
    inside = [slice(a, size - b) for (a, b), size in zip(crops.reshape(-1, 2), sizes)]
    return y[(slice(None), *inside)]


def dynamic_update_slice(x: Array, update: Array, start: Array) -> Array:
    y = x.copy()
    at = np.clip(start, 0, np.subtract(x.shape, update.shape))
    y[tuple(slice(int(b), int(b) + n) for b, n in zip(at, update.shape))] = update
    return y


def resize_places(size: int, to: int, align_corners: bool, half_pixel: bool,
                  nearest: bool) -> Array:
    """Places of the elements of a resized axis, with the roundings of float32."""
    f = np.float32
    scale = f(size - 1) / f(to - 1) if align_corners and to > 1 else f(size) / f(to)
    at = (np.arange(to, dtype=f) + f(0.5 * half_pixel)) * scale
    return at if nearest else at - f(0.5 * half_pixel)


def resize_bilinear(x: Array, size: Array, align_corners: bool = False,
                    half_pixel_centers: bool = False) -> Array:
    for axis, to in enumerate(size, 1):
        n = x.shape[axis]
        at = resize_places(n, int(to), align_corners, half_pixel_centers, False)
        below = np.floor(at)
        lo, hi = (np.clip(below + k, 0, n - 1).astype(int) for k in (0, 1))
        share = (at - below).astype(np.float64).reshape(-1, *[1] * (3 - axis))
        x = np.take(x, lo, axis) * (1 - share) + np.take(x, hi, axis) * share
    return x


def resize_nearest(x: Array, size: Array, align_corners: bool = False,
                   half_pixel_centers: bool = False) -> Array:
    for axis, to in enumerate(size, 1):
        n = x.shape[axis]
        at = resize_places(n, int(to), align_corners, half_pixel_centers, True)
        at = np.floor(at + np.float32(0.5) if align_corners else at)
        x = np.take(x, np.clip(at, 0, n - 1).astype(int), axis)
    return x


def lstm(*operands: Array | None, kind: str = "TANH", time_major: bool = False,
         cell_clip: float = 0, proj_clip: float = 0) -> Array:
    """UNIDIRECTIONAL_SEQUENCE_LSTM; `kind` is the activation inside."""
    x, wi, wf, wc, wo, ri, rf, rc, ro, pi, pf, po, bi, bf, bc, bo, proj, proj_b, h, c = operands
    x = x if time_major else np.swapaxes(x, 0, 1)
    h = np.zeros((x.shape[1], ro.shape[1])) if h is None else h
    c = np.zeros((x.shape[1], len(wo))) if c is None else c
    steps = []

    def gate(w: Array, r: Array, b: Array, peephole: Array | None, cell: Array) -> Array:
        s = now @ w.T + h @ r.T + b
        return 1 / (1 + np.exp(-(s if peephole is None else s + peephole * cell)))

    for now in x:
        f = gate(wf, rf, bf, pf, c)
        i = 1 - f if wi is None else gate(wi, ri, bi, pi, c)
        c = f * c + i * activate(kind, now @ wc.T + h @ rc.T + bc)
        c = clamp(c, -cell_clip, cell_clip) if cell_clip else c
        h = gate(wo, ro, bo, po, c) * activate(kind, c)
        if proj is not None:
            h = h @ proj.T + (0 if proj_b is None else proj_b)
            h = clamp(h, -proj_clip, proj_clip) if proj_clip else h
        steps.append(h)
    return np.stack(steps, axis=0 if time_major else 1)


def shape_of(x: Array, out_type: int = 2) -> Array:
    return np.array(x.shape, np.int64 if out_type == 4 else np.int32)


OPERATORS = {
    "ADD": np.add, "SUB": np.subtract, "MUL": np.multiply, "DIV": divide, "MAXIMUM": maximum,
    "MINIMUM": minimum, "SQUARED_DIFFERENCE": lambda a, b: (a - b)**2, "POW": np.power,
    "FLOOR_DIV": floor_div, "FLOOR_MOD": floor_mod, "ATAN2": np.arctan2, "PRELU": prelu,
    "ADD_N": lambda *x: np.sum(x, axis=0), "ZEROS_LIKE": np.zeros_like,
    "EQUAL": compared(np.equal), "NOT_EQUAL": compared(np.not_equal), "LESS": compared(np.less),
    "LESS_EQUAL": compared(np.less_equal), "GREATER": compared(np.greater),
    "GREATER_EQUAL": compared(np.greater_equal), "LOGICAL_AND": np.logical_and,
    "LOGICAL_OR": np.logical_or, "LOGICAL_NOT": np.logical_not, "SELECT": select,
    "SELECT_V2": np.where, "CAST": lambda x: x.astype(np.float64),
    "RELU": lambda x: activate("RELU", x), "RELU6": lambda x: activate("RELU6", x),
    "RELU_N1_TO_1": lambda x: activate("RELU_N1_TO_1", x), "TANH": np.tanh,
    "RELU_0_TO_1": lambda x: clamp(x, 0, 1),
    "LOGISTIC": lambda x: 1 / (1 + np.exp(-x)), "LEAKY_RELU": leaky_relu, "GELU": gelu,
    "ELU": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
    "HARD_SWISH": kinked(lambda x: x * np.clip(x + 3, 0, 6) / 6, -3, 3),
    "NEG": np.negative, "ABS": kinked(np.abs, 0), "SQUARE": np.square, "SQRT": np.sqrt,
    "RSQRT": lambda x: 1 / np.sqrt(x), "EXP": np.exp, "LOG": np.log, "SIN": np.sin,
    "COS": np.cos, "FLOOR": stepped(np.floor, 0), "CEIL": stepped(np.ceil, 0),
    "ROUND": stepped(np.rint, 0.5), "SIGN": kinked(np.sign, 0), "CONV_2D": conv_2d,
    "DEPTHWISE_CONV_2D": depthwise_conv_2d, "FULLY_CONNECTED": fully_connected,
    "BATCH_MATMUL": batch_matmul, "TRANSPOSE_CONV": transpose_conv, "ROPE": rope,
    "MAX_POOL_2D": max_pool_2d, "AVERAGE_POOL_2D": average_pool_2d, "SOFTMAX": softmax,
    "MEAN": mean, "SUM": total, "RESHAPE": reshape, "SQUEEZE": squeeze,
    "EXPAND_DIMS": expand_dims, "TRANSPOSE": transpose, "PAD": pad, "PADV2": pad,
    "CONCATENATION": concatenation, "PACK": pack, "SLICE": slice_,
    "STRIDED_SLICE": strided_slice, "SHAPE": shape_of, "SPLIT": split, "SPLIT_V": split_v,
    "UNPACK": unpack, "GATHER": gather, "GATHER_ND": gather_nd,
    "EMBEDDING_LOOKUP": embedding_lookup, "TILE": tile, "BROADCAST_TO": broadcast_to,
    "FILL": fill, "RANGE": range_, "RANK": lambda x: np.array(x.ndim, np.int32),
    "ONE_HOT": one_hot, "REVERSE_V2": reverse,
    "MIRROR_PAD": mirror_pad, "SPACE_TO_DEPTH": space_to_depth, "DEPTH_TO_SPACE": depth_to_space,
    "SPACE_TO_BATCH_ND": space_to_batch, "BATCH_TO_SPACE_ND": batch_to_space,
    "DYNAMIC_UPDATE_SLICE": dynamic_update_slice, "RESIZE_BILINEAR": resize_bilinear,
    "RESIZE_NEAREST_NEIGHBOR": resize_nearest, "UNIDIRECTIONAL_SEQUENCE_LSTM": lstm,
}


def apply(op: Op, operands: Sequence[Array | None]) -> list[Array]:
    """Returns the outputs of an operator."""
    options = dict(op.options)
    act = options.pop("act", "NONE")
    results = OPERATORS[op.name](*operands, **options)
    results = results if isinstance(results, list) else [results]
    return [activate(act, np.asarray(y)) for y in results]


def run(model: Model, sample: Sequence[Array], constants: dict[int, Array] | None = None) -> list:
    """Returns the outputs for one sample; `constants` are taken instead of the model's own."""
    values: dict[int, Array | None] = {-1: None}
    for i, t in enumerate(model.tensors):
        if t.value is not None:
            values[i] = t.value.astype(np.float64) if t.dtype.kind == "f" else t.value
        elif t.variable:
            values[i] = np.zeros(t.shape)
    values.update(constants or {})
    for i, x in zip(model.inputs, sample):
        values[i] = np.asarray(x, np.float64) if x.dtype.kind == "f" else x
    for op in model.ops:
        values.update(zip(op.outputs, apply(op, [values[i] for i in op.inputs])))
    return [values[i] for i in model.outputs]


def kink_distance(model: Model, samples: Sequence[Sequence[Array]]) -> float:
    """Returns how near the samples come to a point without derivative; infinity: never."""
    global _distances
    _distances = [np.inf]
    try:
        for sample in samples:
            run(model, sample)
        return min(_distances)
    finally:
        _distances = None
