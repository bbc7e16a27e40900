# SPDX-License-Identifier: Apache-2.0
"""NnfwSession and inference: bindings, lifetime of arrays, shapes."""

import gc
import warnings
import weakref
from pathlib import Path

import numpy as np
import pytest

from pyonert import OnertError, infer, tensorinfo
from pyonert._session import NnfwSession, version
from pyonert.native.libnnfw_api_pybind import nnfw_session

X = np.array([[1, 2, 3]], np.float32)


@pytest.fixture
def wanted(dense):
    """Output of the dense model for X."""
    return infer.session(dense).infer([X])[0]


def run(session):
    out = np.zeros((1, 2), np.float32)
    session.set_output(0, out)
    session.run()
    return out


def test_version():
    assert version() >= 0x01001F00


def test_load_from_memory(dense, wanted):
    data = bytearray(dense.read_bytes())
    with NnfwSession() as s:
        s.load_circle_from_buffer(data)
        s.prepare()
        s.set_input(0, X)
        assert np.array_equal(run(s), wanted)


def test_queries(two):
    with nnfw_session(two, "cpu") as s:
        assert (s.input_size(), s.output_size()) == (2, 2)
        assert s.input_tensorinfo(1) == tensorinfo("float32", [1, 2])
        assert s.output_tensorinfo(1) == tensorinfo("float32", [1, 4])
        assert (s.input_tensorindex("image"), s.input_tensorindex("b")) == (0, 1)
        assert (s.output_tensorindex("fc"), s.output_tensorindex("fc2")) == (0, 1)
        with pytest.raises(OnertError, match="nothing"):
            s.input_tensorindex("nothing")


def test_a_borrowed_array_lives_until_it_is_replaced(dense, wanted):
    class Watched(np.ndarray):
        pass

    s = nnfw_session(dense, "cpu")
    s.prepare()
    x = X.copy()
    alive = weakref.ref(x)
    s.set_input(0, x)
    del x
    gc.collect()
    assert alive() is not None
    assert np.array_equal(run(s), wanted)
    s.set_input(0, X)
    gc.collect()
    assert alive() is None
    s.close()


def test_a_bound_array_cannot_be_resized(dense):
    x = X.copy()
    with nnfw_session(dense, "cpu") as s:
        s.prepare()
        s.set_input(0, x)
        with pytest.raises(ValueError):
            x.resize((100, 3))
    x.resize((100, 3), refcheck=False)


def test_converted_and_plain_arrays_give_the_same(dense, wanted):
    with nnfw_session(dense, "cpu") as s:
        s.prepare()
        for x in (
            X.astype(np.float64),
            X.astype(">f4"),
            X.astype(np.uint8),
            X.tolist(),
            np.asfortranarray(X),
            np.repeat(X, 2, axis=1)[:, ::2],
        ):
            s.set_input(0, x)
            assert np.array_equal(run(s), wanted)


def test_bind_errors(dense):
    with nnfw_session(dense, "cpu") as s:
        s.prepare()
        with pytest.raises(ValueError, match=r"input 0: shape \[1, 3\] is wanted, \[3\] was given"):
            s.set_input(0, X[0])
        with pytest.raises(TypeError, match="output 0.*float32.*float64"):
            s.set_output(0, np.zeros((1, 2)))
        with pytest.raises(OnertError, match="[Ii]nput"):
            s.run()
        s.set_input(0, X)
        s.set_output(0, np.zeros(1, np.float32))
        with pytest.raises(OnertError, match="[Oo]utput"):
            s.run()


def test_infer(dense, wanted):
    s = infer.session(Path(dense))
    (out,), times = s.infer([X], measure=True)
    assert np.array_equal(out, wanted) and not out.flags.writeable
    assert set(times) == {"prepare_time_ms", "input_time_ms", "run_time_ms", "output_time_ms"}
    (second,), times = s.infer([2 * X], measure=True)
    assert "prepare_time_ms" not in times
    assert np.array_equal(out, wanted) and not np.array_equal(second, wanted)
    assert s.outputs[0] is second and np.array_equal(s.inputs[0], 2 * X)


def test_infer_with_other_batch_sizes(dense, wanted):
    s = infer.session(dense)
    with pytest.warns(UserWarning, match=r"input 0's shape=\(4, 3\), which differs .*=\(1, 3\)"):
        (four,) = s.infer([np.repeat(X, 4, axis=0)])
    assert np.array_equal(four, np.repeat(wanted, 4, axis=0))
    (one,) = s.infer([X])
    assert np.array_equal(one, wanted)
    (two_rows,) = s.infer([np.repeat(X, 2, axis=0)])
    assert two_rows.shape == (2, 2)


def test_infer_errors(dense):
    s = infer.session(dense)
    with pytest.raises(ValueError, match=r"Expected 1 input\(s\), but received 2."):
        s.infer([X, X])
    with pytest.raises(TypeError, match="input 0"):
        s.infer([np.array([["a", "b", "c"]])])
    s = infer.session(dense)
    with pytest.warns(UserWarning), pytest.raises(OnertError, match="Session preparation failed: "):
        s.infer([np.ones((1, 4), np.float32)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert s.infer([X])[0].shape == (1, 2)


def test_set_inputs_fills_with_zeros(two):
    with infer.session(two) as s:
        s.prepare()
        with pytest.warns(UserWarning, match="1-th index input is replaced"):
            s.set_inputs(2, [X])
        assert s.inputs[1].tolist() == [[0, 0]]
