# SPDX-License-Identifier: Apache-2.0
"""Bad inputs: each is an exception whose text names the fault, and the process lives."""

import struct
import threading

import numpy as np
import pytest

import pyonert
from pyonert import OnertError, OnertInvalidStateError, infer, train
from pyonert._session import NnfwSession
from pyonert.errors import doing, error_of
from pyonert.native.libnnfw_api_pybind import exception, nnfw_session

X, Y = np.ones((4, 3), np.float32), np.ones((4, 2), np.float32)


def trained(path, opt):
    session = train.session(path, verbose=False)
    session.compile(opt, "mean_squared_error", batch_size=4)
    session.train_step([X], [Y])
    return session


def test_a_class_for_each_status():
    wanted = {
        1: "OnertError",
        2: "OnertUnexpectedNullError",
        3: "OnertInvalidStateError",
        4: "OnertOutOfMemoryError",
        5: "OnertInsufficientOutputError",
        6: "OnertDeprecatedApiError",
    }
    for status, name in wanted.items():
        error = error_of(status, "why")
        assert type(error).__name__ == name and error.status == status and str(error) == "why"
        assert isinstance(error, OnertError) and isinstance(error, RuntimeError)
        assert getattr(pyonert, name) is getattr(exception, name) is type(error)
    assert error_of(77, "").status == 77 and "UNKNOWN" in str(error_of(77, ""))
    assert str(error_of(3, "")) == "NNFW_STATUS_INVALID_STATE"


def test_prefix_keeps_the_class():
    with pytest.raises(OnertInvalidStateError, match="Binding: why") as e, doing("Binding"):
        raise error_of(3, "why")
    assert e.value.status == 3


@pytest.mark.parametrize("size", [0, 8, 100, 300])
def test_short_model(dense, tmp_path, size):
    """8 bytes, and a truncated model."""
    bad = tmp_path / "short.circle"
    bad.write_bytes(dense.read_bytes()[:size])
    for load in (infer.session, train.session):
        with pytest.raises(OnertError) as e:
            load(bad)
        assert "short.circle" in str(e.value) or "offset" in str(e.value) or "bytes" in str(e.value)


def test_missing_file(tmp_path):
    with pytest.raises(OnertError, match="none.circle"):
        train.session(tmp_path / "none.circle")


def test_unknown_operator(unknown_op):
    with pytest.raises(OnertError, match="999"):
        session = train.session(unknown_op, verbose=False)
        session.compile("sgd", "mean_squared_error")


def test_wrong_arrays(dense):
    with trained(dense, "sgd") as s:
        before = s.parameters()
        for x, error, words in [
            (np.ones((4, 2), np.float32), ValueError, r"input 0: shape \[N, 3\] .* \[4, 2\]"),
            (np.ones(3, np.float32), ValueError, r"input 0: shape \[N, 3\] .* \[3\]"),
            (np.ones((5, 3), np.float32), ValueError, r"shape\[0\] = 5 vs batch size = 4"),
            (np.ones((0, 3), np.float32), ValueError, r"shape\[0\] = 0 vs batch size = 4"),
            (np.array([[None] * 3] * 4, object), TypeError, "input 0.*float32.*object"),
            (np.array([["1"] * 3] * 4), TypeError, "input 0.*float32.*<U1"),
            (X + 1j, TypeError, "input 0.*float32.*complex"),
        ]:
            with pytest.raises(error, match=words):
                s.train_step([x], [Y])
        with pytest.raises(ValueError, match=r"expected 0: shape \[N, 2\] is wanted"):
            s.train_step([X], [X])
        for name, value in s.parameters().items():
            assert np.array_equal(value, before[name])
        s.train_step([X], [Y])


def test_checkpoint_of_another_optimizer(dense, tmp_path):
    with trained(dense, "sgd") as s:
        s.export_checkpoint(tmp_path / "sgd.ckpt")
    with trained(dense, "adam") as s:
        s.train_step([X], [Y])
        before = s.parameters()
        with pytest.raises(OnertError, match="optimizer"):
            s.import_checkpoint(tmp_path / "sgd.ckpt")
        for name, value in s.parameters().items():
            assert np.array_equal(value, before[name])


def test_checkpoint_with_an_offset_beyond_the_file(dense, tmp_path):
    with trained(dense, "sgd") as s:
        s.export_checkpoint(tmp_path / "good.ckpt")
        data = bytearray((tmp_path / "good.ckpt").read_bytes())
        # The header has 20 bytes; the table of offsets follows.
        struct.pack_into("<I", data, 24, len(data) + 4)
        (tmp_path / "bad.ckpt").write_bytes(data)
        before = s.parameters()
        with pytest.raises(OnertError, match="offset"):
            s.import_checkpoint(tmp_path / "bad.ckpt")
        for name, value in s.parameters().items():
            assert np.array_equal(value, before[name])
        with pytest.raises(OnertError, match="none.ckpt"):
            s.import_checkpoint(tmp_path / "none.ckpt")
        s.import_checkpoint(tmp_path / "good.ckpt")


def test_unwritable_places(dense, tmp_path):
    with trained(dense, "sgd") as s:
        for export in (s.export_checkpoint, s.export_circle, s.export_circleplus):
            with pytest.raises(OnertError, match="no_folder"):
                export(tmp_path / "no_folder" / "file")


def test_wrong_state(dense):
    with train.session(dense, verbose=False) as s:
        with pytest.raises(OnertInvalidStateError) as e:
            s.train_run()
        assert e.value.status == 3 and "nnfw_train" in str(e.value)
        s.compile("sgd", "mean_squared_error")
        with pytest.raises(OnertInvalidStateError):
            s.compile("sgd", "mean_squared_error")


def test_arguments(dense):
    with nnfw_session(dense, "cpu") as s:
        with pytest.raises(OnertError, match="Unknown layout type: 'HWC'"):
            s.set_input_layout(0, "HWC")
        with pytest.raises(TypeError, match="backends"):
            s.set_available_backends(3)
        with pytest.raises(OnertError, match="out of range"):
            s.input_tensorinfo(1)
        with pytest.raises(OverflowError):
            s.input_tensorinfo(-1)
        with pytest.raises(ValueError, match="NUL"):
            s.train_import_checkpoint("a\0b")
        with pytest.raises(TypeError):
            s.train_import_checkpoint(None)
        with pytest.raises(ValueError, match="float16"):
            s.set_input_tensorinfo(0, pyonert.tensorinfo("float16", [1]))
        with pytest.raises(AttributeError):
            s.prepre()


def test_a_closed_session_says_so(dense):
    s = trained(dense, "sgd")
    s.close()
    s.close()
    for call in (s.input_size, s.train_run, s.parameters, s.get_last_error_message):
        with pytest.raises(OnertInvalidStateError, match="the session is closed"):
            call()
    with pytest.raises(OnertInvalidStateError, match="closed"):
        s.train_step([X], [Y])
    with NnfwSession() as empty:
        pass
    with pytest.raises(OnertInvalidStateError, match="closed"):
        empty.load_model_from_file(dense)


def test_a_failed_constructor_leaves_nothing_open(tmp_path):
    for _ in range(200):
        with pytest.raises(OnertError):
            nnfw_session(tmp_path / "none.circle", "cpu")


def test_sessions_in_threads(dense):
    losses = []

    def work():
        with trained(dense, "adam") as s:
            losses.append([s.train_step([X], [Y])["loss"][0] for _ in range(50)])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(losses) == 4 and all(each == losses[0] for each in losses)


def test_one_session_in_two_threads(digits_cnn):
    """The second caller gets an error that says so, and the session goes on."""
    x, y = np.ones((32, 8, 8, 1), np.float32), np.ones((32, 10), np.float32)
    session = train.session(digits_cnn, verbose=False)
    session.compile("sgd", "mean_squared_error", batch_size=32)
    texts = []

    def work():
        for _ in range(100):
            try:
                session.train_step([x], [y])
            except OnertError as e:
                texts.append(str(e))

    threads = [threading.Thread(target=work) for _ in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert set(texts) <= {"session is in use by another thread"}
    assert session.train_step([x], [y])["loss"][0] >= 0
    session.close()
