# SPDX-License-Identifier: Apache-2.0
"""Conversions of arrays on their way to C: what passes, what is converted, what is refused."""

import numpy as np
import pytest

from pyonert._arrays import as_source, check_shape, check_target

F32 = np.dtype("float32")


def test_a_fitting_array_is_not_copied():
    a = np.zeros((2, 3), np.float32)
    assert as_source(a, F32, "input 0") is a


@pytest.mark.parametrize(
    "value",
    [
        np.array([[1.5, -2.0]]),
        np.array([[1.5, -2.0]], ">f4"),
        np.array([[1.5, 9.0, -2.0, 9.0]], np.float32)[:, ::2],
        np.array([[1.5], [-2.0]], np.float32).T,
        [[1.5, -2.0]],
    ],
    ids=["float64", "big_endian", "strided", "transposed", "list"],
)
def test_converted_once(value):
    a = as_source(value, F32, "input 0")
    assert a.dtype is F32 and a.flags.c_contiguous and a.flags.aligned
    assert a.tolist() == [[1.5, -2.0]]


def test_unaligned_is_copied():
    raw = np.zeros(4 * 3 + 1, np.uint8)
    a = raw[1:].view(np.float32)
    a[:] = [1, 2, 3]
    assert not a.flags.aligned
    b = as_source(a, F32, "input 0")
    assert b.flags.aligned and b.tolist() == [1, 2, 3]


def test_integers_become_floats_and_scalars_stay_scalars():
    assert as_source(np.arange(3), F32, "input 0").tolist() == [0, 1, 2]
    assert as_source(np.float64(2.5), F32, "input 0").shape == ()


def test_nan_and_infinity_pass():
    a = as_source(np.array([np.nan, np.inf, -np.inf]), F32, "input 0")
    assert np.isnan(a[0]) and a[1] == np.inf and a[2] == -np.inf


@pytest.mark.parametrize(
    ("value", "given"),
    [
        (np.array([1, "a"], object), "object"),
        (np.array(["1.0"]), "<U3"),
        (np.array([1j]), "complex128"),
        (np.array(["2020-01-01"], "M8[D]"), "datetime64[D]"),
        (None, "object"),
    ],
)
def test_refused_with_names(value, given):
    with pytest.raises(TypeError) as e:
        as_source(value, F32, "input 3")
    assert "input 3" in str(e.value) and "float32" in str(e.value) and given in str(e.value)


def test_floats_do_not_become_integers():
    with pytest.raises(TypeError, match=r"expected 0.*int32.*float32"):
        as_source(np.zeros(2, np.float32), np.dtype("int32"), "expected 0")


def test_ragged_lists_are_refused():
    with pytest.raises(ValueError, match="input 0"):
        as_source([[1.0, 2.0], [3.0]], F32, "input 0")


def test_shapes():
    check_shape((2, 5), (2, -1), "input 0")
    with pytest.raises(ValueError, match=r"input 0: shape \[2, 3\] is wanted, \[3, 2\] was given"):
        check_shape((3, 2), (2, 3), "input 0")
    with pytest.raises(ValueError):
        check_shape((2, 3, 1), (2, 3), "input 0")


def test_targets_are_never_converted():
    a = np.zeros((2, 2), np.float32)
    assert check_target(a, F32, "output 0") is a
    with pytest.raises(TypeError, match="float64"):
        check_target(np.zeros(2), F32, "output 0")
    with pytest.raises(TypeError, match="list"):
        check_target([0.0], F32, "output 0")
    with pytest.raises(ValueError, match="contiguous"):
        check_target(a[:, :1], F32, "output 0")
    a.flags.writeable = False
    with pytest.raises(ValueError, match="writable"):
        check_target(a, F32, "output 0")
