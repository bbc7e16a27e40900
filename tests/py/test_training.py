# SPDX-License-Identifier: Apache-2.0
"""TrainSession against the formulas, computed here in double precision with NumPy."""

import numpy as np
import pytest

from pyonert import OnertError, OnertInvalidStateError, train
from pyonert.train import Callback, DataLoader, losses, metrics, optimizer

RNG = np.random.default_rng(7)
X = RNG.normal(size=(7, 3)).astype(np.float32)
Y = RNG.normal(size=(7, 2)).astype(np.float32)


def make(path, opt="sgd", loss="mean_squared_error", metric=(), batch=4, **options):
    session = train.session(path, verbose=False)
    session.compile(opt, loss, metric, batch, **options)
    return session


def mse(w, b, x, y):
    """Loss [N], gradients of their mean; y = x w^T + b, loss of a sample: mean of squares."""
    error = (x.astype(float) @ w.T + b) - y
    scale = 2 / error.size
    return (error**2).mean(axis=1), scale * error.T @ x, scale * error.sum(axis=0)


def weights(session):
    p = session.parameters()
    return p["fc/weights"].astype(float), p["fc/bias"].astype(float)


def test_sgd_steps_full_and_short_batches(dense):
    with make(dense, optimizer.SGD(0.1), keep_gradients=True) as s:
        w, b = weights(s)
        for start in (0, 4, 2):
            x, y = X[start : start + 4], Y[start : start + 4]
            loss, dw, db = mse(w, b, x, y)
            result = s.train_step([x], [y])
            assert result["loss"] == pytest.approx([loss.mean()], rel=1e-5)
            assert result["metrics"] == {} and result["train_time"] > 0
            gradients = s.gradients()
            np.testing.assert_allclose(gradients["fc/weights"], dw, rtol=1e-4, atol=1e-6)
            np.testing.assert_allclose(gradients["fc/bias"], db, rtol=1e-4, atol=1e-6)
            w, b = w - 0.1 * dw, b - 0.1 * db
            for got, wanted in zip(weights(s), (w, b)):
                np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)


def test_adam_takes_its_hyper_parameters(dense):
    lr, beta1, beta2, epsilon = 0.05, 0.6, 0.8, 1e-2
    with make(dense, optimizer.Adam(lr, beta1, beta2, epsilon)) as s:
        w, b = weights(s)
        m, v = 0, 0
        for t in (1, 2, 3):
            _, dw, _ = mse(w, b, X[:4], Y[:4])
            m, v = beta1 * m + (1 - beta1) * dw, beta2 * v + (1 - beta2) * dw**2
            s.train_step([X[:4]], [Y[:4]])
            new_w, b = weights(s)
            step = lr * np.sqrt(1 - beta2**t) / (1 - beta1**t)
            np.testing.assert_allclose(new_w, w - step * m / (np.sqrt(v) + epsilon), rtol=2e-4)
            w = new_w


def test_reduction_sum(dense):
    with make(dense, loss=losses.MeanSquaredError("sum")) as s:
        loss, _, _ = mse(*weights(s), X[:4], Y[:4])
        assert s.eval_step([X[:4]], [Y[:4]])["loss"] == pytest.approx([loss.sum()], rel=1e-5)


def test_memory_limit_is_exact(dense):
    def trained(limit):
        with make(dense, memory_limit=limit) as s:
            s.train_step([X[:4]], [Y[:4]])
            return s.train_get_memory(), weights(s)

    needed, (w, b) = trained(0)
    assert needed >= 4 * 2 * 4 * 2  # prediction and its gradient, at least
    held, (limited_w, limited_b) = trained(needed)
    assert held == needed
    np.testing.assert_array_equal(w, limited_w)
    np.testing.assert_array_equal(b, limited_b)
    with train.session(dense, verbose=False) as s:
        arguments = ("sgd", "mean_squared_error", (), 4)
        text = f"4 samples needs {needed} bytes, the memory limit is {needed - 1}"
        for _ in range(2):
            with pytest.raises(OnertError, match=text):
                s.compile(*arguments, memory_limit=needed - 1)
        with pytest.raises(OnertInvalidStateError):
            s.train_get_memory()
        with pytest.raises(ValueError, match="memory_limit must be a number of bytes, was -1"):
            s.compile(*arguments, memory_limit=-1)
        s.compile(*arguments)
        s.train_step([X[:4]], [Y[:4]])
        np.testing.assert_array_equal(w, weights(s)[0])
        with pytest.raises(OnertInvalidStateError):
            s.train_set_memory_limit(needed)


def test_eval_changes_nothing(dense):
    with make(dense) as s:
        before = weights(s)
        result = s.eval_step([X[:3]], [Y[:3]])
        assert result["loss"] == pytest.approx([mse(*before, X[:3], Y[:3])[0].mean()], rel=1e-5)
        assert "eval_time" in result
        for a, b in zip(before, weights(s)):
            assert np.array_equal(a, b)


def test_set_learning_rate(dense):
    with make(dense, optimizer.SGD(0.1)) as s:
        w, b = weights(s)
        _, dw, _ = mse(w, b, X[:4], Y[:4])
        s.set_learning_rate(0.5)
        s.train_step([X[:4]], [Y[:4]])
        np.testing.assert_allclose(weights(s)[0], w - 0.5 * dw, rtol=1e-5, atol=1e-6)


def test_nums_trainable_ops_none(dense):
    with make(dense, optimizer.SGD(0.1, nums_trainable_ops=optimizer.trainable_ops.NONE)) as s:
        first = s.train_step([X[:4]], [Y[:4]])["loss"]
        assert s.train_step([X[:4]], [Y[:4]])["loss"] == first


def test_trainable_patterns(dense):
    with make(dense, optimizer.SGD(0.1), trainable="*bias") as s:
        assert list(s.parameters()) == ["fc/bias"]
        s.train_step([X[:4]], [Y[:4]])
        assert np.abs(s.parameters()["fc/bias"]).max() > 0


def test_set_parameters(dense):
    with make(dense) as s:
        s.set_parameters({"fc/bias": [1.0, 2.0], "fc/weights": np.zeros((2, 3))})
        assert s.parameters()["fc/bias"].tolist() == [1, 2]
        assert s.predict([X[:1]])[0].tolist() == [[1, 2]]
        with pytest.raises(ValueError, match=r"'fc/bias'.*\[2\].*\[3\]"):
            s.set_parameters({"fc/bias": [1.0, 2.0, 3.0]})
        with pytest.raises(KeyError, match="nothing"):
            s.set_parameters({"nothing": [1.0]})


def test_epoch_loss_weighs_samples_and_metrics_see_outputs(dense):
    """3 + 3 + 1 samples with a rate near 0, so that weights stay: loss and accuracy are those of
    all seven at once."""
    y = np.eye(2, dtype=np.float32)[RNG.integers(0, 2, 7)]
    logs = []

    class Keep(Callback):
        def on_epoch_end(self, log):
            logs.append(log)

    with make(dense, optimizer.SGD(1e-12), metric=["categorical_accuracy"], batch=3) as s:
        w, b = weights(s)
        loss = mse(w, b, X, y)[0].mean()
        accuracy = ((X @ w.T + b).argmax(axis=1) == y.argmax(axis=1)).mean()
        loader = DataLoader(X, y, 3)
        s.train(loader, 2, validation_data=loader, callbacks=[Keep()])
        assert s.evaluate(loader)[0] == pytest.approx(loss, rel=1e-5)
    assert [(g.epoch, g.epochs, g.steps) for g in logs] == [(1, 2, 3), (2, 2, 3)]
    for log in logs:
        assert log.loss == pytest.approx(loss, rel=1e-5) == log.val_loss
        assert log.metrics["CategoricalAccuracy"] == pytest.approx(accuracy)
        assert log.val_metrics["CategoricalAccuracy"] == pytest.approx(accuracy)
        assert log.train_time > 0 and log.total_time >= log.train_time


def test_step_metrics_gather_until_the_kind_of_step_changes(dense):
    metric = metrics.CategoricalAccuracy()
    with make(dense, metric=[metric]) as s:
        s.train_step([X[:4]], [Y[:4]])
        s.train_step([X[4:]], [Y[4:]])
        assert metric.total == 7
        s.eval_step([X[:2]], [Y[:2]])
        assert metric.total == 2
        s.reset_metrics()
        s.eval_step([X[:3]], [Y[:3]])
        assert metric.total == 3


def test_two_inputs_and_outputs(two):
    a, b = X[:5], Y[:5]
    p, q = Y[1:6], RNG.normal(size=(5, 4)).astype(np.float32)
    with make(two, metric=["categorical_accuracy"] * 2, batch=5) as s:
        result = s.train_step([a, b], [p, q])
        assert len(result["loss"]) == 2
        assert list(result["metrics"]) == ["CategoricalAccuracy", "CategoricalAccuracy_1"]
        w, bias = (s.parameters()[n] for n in ("fc2/weights", "fc2/bias"))
        np.testing.assert_allclose(s.predict([a, b])[1], b @ w.T + bias, rtol=1e-5, atol=1e-6)
        with pytest.raises(ValueError, match="expected 1: .* 5 are wanted, 4 were given"):
            s.train_step([a, b], [p, q[:4]])
        with pytest.raises(ValueError, match="2 input array"):
            s.train_step([a], [p, q])


def test_arrays_are_read_when_a_step_runs(dense):
    """The same array refilled is bound once and read each time."""
    x, y = X[:4].copy(), Y[:4]
    with make(dense) as s:
        s.eval_step([x], [y])
        x[:] = X[3:]
        loss, _, _ = mse(*weights(s), X[3:], y)
        assert s.eval_step([x], [y])["loss"] == pytest.approx([loss.mean()], rel=1e-5)


def test_predict_between_steps(dense):
    with make(dense) as s:
        s.train_step([X[:4]], [Y[:4]])
        w, b = weights(s)
        np.testing.assert_allclose(s.predict(X)[0], X @ w.T + b, rtol=1e-5, atol=1e-6)
        assert s.predict(X[:0])[0].shape == (0, 2)
        with pytest.raises(ValueError, match=r"input 0: shape \[-1, 3\] is wanted, \[\] was given"):
            s.predict([np.float32(1)])
        loss, _, _ = mse(w, b, X[:4], Y[:4])
        assert s.eval_step([X[:4]], [Y[:4]])["loss"] == pytest.approx([loss.mean()], rel=1e-5)
        np.testing.assert_allclose(s.outputs[0], X[:4] @ w.T + b, rtol=1e-5, atol=1e-6)


def test_own_output_array(dense):
    own = np.full((4, 2), 9, np.float32)
    with make(dense) as s:
        s.train_set_output(0, own)
        s.train_step([X[:3]], [Y[:3]])
        assert s.outputs[0] is own and (own[:3] != 9).all() and (own[3] == 9).all()


@pytest.mark.parametrize("opt", ["sgd", "adam"])
def test_resume_is_the_same_as_going_on(dense, tmp_path, opt):
    batches = [([X[i : i + 4]], [Y[i : i + 4]]) for i in (0, 1, 2, 3)]
    with make(dense, opt) as s:
        for x, y in batches[:2]:
            s.train_step(x, y)
        s.export_checkpoint(tmp_path / "two.ckpt")
        for x, y in batches[2:]:
            s.train_step(x, y)
        s.export_checkpoint(str(tmp_path / "four.ckpt"))
    with make(dense, opt) as s:
        s.import_checkpoint(tmp_path / "two.ckpt")
        for x, y in batches[2:]:
            s.train_step(x, y)
        s.export_checkpoint(tmp_path / "again.ckpt")
    assert (tmp_path / "again.ckpt").read_bytes() == (tmp_path / "four.ckpt").read_bytes()


def test_exported_models_train_on(dense, tmp_path):
    with make(dense, optimizer.SGD(0.1)) as s:
        s.train_step([X[:4]], [Y[:4]])
        s.export_circle(tmp_path / "t.circle")
        s.export_circleplus(tmp_path / "p.circle")
        wanted = s.parameters()
    with train.session(tmp_path / "p.circle", verbose=False) as s:
        assert s.train_info.batch_size == 4 and s.train_info.opt.name == "SGD"
        assert s.train_info.learning_rate == pytest.approx(0.1)
    with make(tmp_path / "t.circle") as s:
        for name, value in s.parameters().items():
            assert np.array_equal(value, wanted[name])


def test_sources_of_batches(dense):
    batches = [([X[:4]], [Y[:4]]), ([X[4:]], [Y[4:]])]
    with make(dense, optimizer.SGD(1e-12), batch=4) as s:
        s.train(batches, 2)
        s.train(lambda: iter(batches), 2)
        assert len(s.total_time["EPOCH_TIMES"]) == 2
        with pytest.raises(ValueError, match="used up after one epoch"):
            s.train(iter(batches), 2)
        with pytest.raises(ValueError, match="needs a DataLoader"):
            s.train(batches, 1, validation_split=0.5)
        with pytest.raises(ValueError, match="exclude each other"):
            s.train(DataLoader(X, Y, 4), 1, 0.5, validation_data=batches)


def test_checkpoint_after_every_epoch(dense, tmp_path):
    with make(dense, "adam") as s:
        s.train(DataLoader(X, Y, 4), 3, checkpoint_path=tmp_path / "c.ckpt")
        s.export_checkpoint(tmp_path / "now.ckpt")
    assert (tmp_path / "c.ckpt").read_bytes() == (tmp_path / "now.ckpt").read_bytes()


def test_compile_after_a_refused_compile(dense):
    with train.session(dense, verbose=False) as s:
        with pytest.raises(RuntimeError, match="compile"):
            s.train(DataLoader(X, Y, 4), 1)
        with pytest.raises(RuntimeError, match="before `train_step"):
            s.train_step([X], [Y])
        with pytest.raises(RuntimeError, match="before `eval_step"):
            s.eval_step([X], [Y])
        with pytest.raises(ValueError, match=r"Number of metrics \(2\) does not match outputs \(1"):
            s.compile("sgd", "mean_squared_error", ["categorical_accuracy"] * 2)
        with pytest.raises(TypeError, match="Invalid metric type: int"):
            s.compile("sgd", "mean_squared_error", [3])
        with pytest.raises(Exception, match="learning rate"):
            s.compile(optimizer.SGD(0.0), "mean_squared_error")
        with pytest.raises(Exception, match="beta1"):
            s.compile(optimizer.Adam(beta1=1.0), "mean_squared_error")
        s.compile("sgd", "mean_squared_error", batch_size=7)
        assert s.train_step([X], [Y])["loss"][0] > 0
