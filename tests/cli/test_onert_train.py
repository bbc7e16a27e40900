# SPDX-License-Identifier: Apache-2.0
"""onert_train: options, what it prints, exit codes; its numbers against NumPy.

The model of most tests is y = x W' + b, so that training it is a few lines here.
"""

import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

RULE = "=" * 35
N = 25  # samples: batches of 10, 10 and 5


class Data:
    """25 samples of x [3] and one-hot y [2] in raw files."""

    def __init__(self, folder: Path) -> None:
        rng = np.random.default_rng(3)
        self.x = rng.normal(size=(N, 3)).astype("<f4")
        self.y = np.eye(2, dtype="<f4")[rng.integers(0, 2, N)]
        self.x_path, self.y_path = folder / "x.raw", folder / "y.raw"
        self.x.tofile(self.x_path)
        self.y.tofile(self.y_path)
        self.files = ["--load_input:raw", self.x_path, "--load_expected:raw", self.y_path]


@pytest.fixture
def data(tmp_path):
    return Data(tmp_path)


@pytest.fixture
def weights(dense, onert_run, tmp_path):
    """W [2,3] and b [2] of the model, found by asking it."""
    answers = []
    for i, x in enumerate([np.zeros(3), *np.eye(3)]):
        x.astype("<f4").tofile(tmp_path / f"probe{i}.0")
        done = onert_run(dense, "--load:raw", tmp_path / f"probe{i}",
                         "--dump:raw", tmp_path / f"answer{i}")
        assert done.returncode == 0, done.stderr
        answers.append(np.fromfile(tmp_path / f"answer{i}.0", "<f4").astype(np.float64))
    return np.stack([a - answers[0] for a in answers[1:]], axis=1), answers[0]


SGD = ["--loss", 1, "--loss_reduction_type", 1, "--optimizer", 1, "--learning_rate", 0.1,
       "--batch_size", 10]
ADAM = ["--loss", 1, "--loss_reduction_type", 1, "--optimizer", 2, "--learning_rate", 0.02,
        "--batch_size", 10]


class Adam:
    def __init__(self, beta1=0.9, beta2=0.999, epsilon=1e-7):
        self.beta1, self.beta2, self.epsilon = beta1, beta2, epsilon
        self.t, self.m, self.v = 0, [0.0, 0.0], [0.0, 0.0]

    def __call__(self, parameters, gradients, rate):
        self.t += 1
        alpha = rate * np.sqrt(1 - self.beta2**self.t) / (1 - self.beta1**self.t)
        for i, (p, g) in enumerate(zip(parameters, gradients)):
            self.m[i] += (g - self.m[i]) * (1 - self.beta1)
            self.v[i] += (g * g - self.v[i]) * (1 - self.beta2)
            p -= self.m[i] * alpha / (np.sqrt(self.v[i]) + self.epsilon)


def sgd(parameters, gradients, rate):
    for p, g in zip(parameters, gradients):
        p -= rate * g


class Reference:
    """The same training in double precision."""

    def __init__(self, data, weights, rate=0.1, update=sgd, mean=True):
        self.w, self.b = weights[0].copy(), weights[1].copy()
        self.data, self.rate, self.update, self.mean = data, rate, update, mean

    def run(self, first: int, last: int, train: bool) -> tuple[float, float]:
        """One pass over samples first .. last - 1: loss and accuracy."""
        loss, right = 0.0, 0
        for begin in range(first, last, 10):
            x = self.data.x[begin:min(begin + 10, last)].astype(np.float64)
            y = self.data.y[begin:min(begin + 10, last)]
            p = x @ self.w.T + self.b
            rows = len(x) if self.mean else 1
            loss += len(x) * ((p - y)**2).mean(1).sum() / rows
            right += (p.argmax(1) == y.argmax(1)).sum()
            if train:
                dp = (p - y) / rows  # 2 (p - y) / (2 classes)
                self.update([self.w, self.b], [dp.T @ x, dp.sum(0)], self.rate)
        return loss / (last - first), right / (last - first)


def numbers(line: str) -> dict[str, list[float]]:
    """The values of an epoch line by name."""
    found = re.findall(r" - (\w+): ((?:\[\d+\] -?\d+\.\d{4})+)", line)
    return {name: [float(v) for v in re.findall(r"\[\d+\] (\S+?)(?=\[|$)", values)]
            for name, values in found}


def epochs(done) -> list[dict[str, list[float]]]:
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    lines = [line for line in done.stdout.splitlines() if line.startswith("Epoch ")]
    for i, line in enumerate(lines):
        assert re.match(rf"Epoch {i + 1}/{len(lines)} - time: \d+\.\d{{3}}ms/step - loss: \[0\] ",
                        line), line
    return [numbers(line) for line in lines]


def close(printed: float, exact: float) -> bool:
    return abs(printed - exact) < 0.5e-4 + 2e-5


def losses(done) -> list[list[float]]:
    return [e["loss"] for e in epochs(done)]


# ---- what it prints ----

def test_published_command_line(onert_train, dense, data, tmp_path):
    done = onert_train("--modelfile", dense, *data.files, "--epoch", 1, *SGD,
                       "--num_of_trainable_ops", -1, "--export_checkpoint", tmp_path / "t.ckpt")
    assert done.returncode == 0, done.stderr
    pattern = "\n".join([
        rf"Model Filename {re.escape(str(dense))}",
        r"== training parameter ==",
        r"- learning_rate        = 0\.1",
        r"- batch_size           = 10",
        r"- loss_info            = \{loss = mean squared error, reduction = sum over batch size\}",
        r"- optimizer            = sgd",
        r"- num_of_trainable_ops = -1",
        r"========================",
        r"Epoch 1/1 - time: \d+\.\d{3}ms/step - loss: \[0\] \d+\.\d{4}",
        RULE,
        r"MODEL_LOAD   takes \d+\.\d{4} ms",
        r"PREPARE      takes \d+\.\d{4} ms",
        r"EXECUTE      takes \d+\.\d{4} ms",
        r"- Epoch 1      takes \d+\.\d{4} ms",
        RULE + "\n",
    ])
    assert re.fullmatch(pattern, done.stdout), done.stdout
    assert (tmp_path / "t.ckpt").read_bytes()[:4] == b"\xad\x01\x01\x00"


def test_both_spellings(onert_train, dense, data):
    words = [dense, *data.files, *SGD, "--epoch", 2]
    joined = [f"--modelfile={dense}"]
    joined += [f"{a}={b}" for a, b in zip(words[1::2], words[2::2])]
    one, other = onert_train(*words), onert_train(*joined)
    assert len(losses(one)) == 2
    assert losses(one) == losses(other)


def test_the_last_of_a_repeated_option_counts(onert_train, dense, data):
    assert len(losses(onert_train(dense, *data.files, *SGD, "--epoch", 4, "--epoch", 2))) == 2


def test_default_is_five_epochs_of_all_operators(onert_train, dense, data):
    done = onert_train(dense, *data.files, *SGD)
    assert len(losses(done)) == 5
    assert "- num_of_trainable_ops = -1\n" in done.stdout


def test_metric_and_validation_columns(onert_train, dense, data):
    done = onert_train(dense, *data.files, *SGD, "--validation_split", 0.2, "--metric", 0)
    assert [list(e) for e in epochs(done)] == 5 * [
        ["loss", "categorical_accuracy", "val_loss", "val_categorical_accuracy"]]


def test_memory_blocks(onert_train, dense, data):
    done = onert_train(dense, *data.files, *SGD, "-m")
    assert done.returncode == 0, done.stderr
    row = r"- {} takes [1-9]\d* kb\n"
    rows = "".join(row.format(n) for n in ("MODEL_LOAD  ", "PREPARE     ", "EXECUTE     "))
    blocks = "".join(f"{name}\n{rows}{RULE}\n" for name in ("RSS", "HWM", "PSS"))
    assert re.search(f"{RULE}\n{blocks}$", done.stdout), done.stdout


def test_package_directory(onert_train, dense, data, tmp_path):
    package = tmp_path / "package"
    (package / "metadata").mkdir(parents=True)
    (package / "dense.circle").write_bytes(dense.read_bytes())
    (package / "metadata" / "MANIFEST").write_text(
        '{"major-version": "1", "minor-version": "0", "patch-version": "0",'
        ' "models": ["dense.circle"], "model-types": ["circle"]}')
    done = onert_train(package, *data.files, *SGD)
    assert done.stdout.startswith(f"Package Filename {package}\n")
    assert len(losses(done)) == 5


# ---- its numbers ----

@pytest.mark.parametrize("mean", [True, False], ids=["mean", "sum"])
def test_losses_of_full_and_partial_batches(onert_train, dense, data, weights, mean):
    done = onert_train(dense, *data.files, *SGD, "--learning_rate", 0.02,
                       "--loss_reduction_type", 1 if mean else 2)
    reference = Reference(data, weights, rate=0.02, mean=mean)
    for epoch in epochs(done):
        assert close(epoch["loss"][0], reference.run(0, N, True)[0])


def test_accuracy_and_validation(onert_train, dense, data, weights):
    done = onert_train(dense, *data.files, *SGD, "--validation_split", 0.4, "--metric", 0)
    keep = np.float32(1) - np.float32(0.4)
    n_train = int(np.float32(N) * keep)
    n_validate = N - n_train
    assert (n_train, n_validate) == (15, 10)
    reference = Reference(data, weights)
    for epoch in epochs(done):
        loss, accuracy = reference.run(0, n_train, True)
        val_loss, val_accuracy = reference.run(n_train, n_train + n_validate, False)
        assert close(epoch["loss"][0], loss)
        assert close(epoch["categorical_accuracy"][0], accuracy)
        assert close(epoch["val_loss"][0], val_loss)
        assert close(epoch["val_categorical_accuracy"][0], val_accuracy)


@pytest.mark.parametrize("options,settings", [
    ([], {}),
    (["--beta1", 0.5, "--beta2", 0.9, "--epsilon", 0.01],
     {"beta1": 0.5, "beta2": 0.9, "epsilon": 0.01}),
], ids=["defaults", "given"])
def test_adam(onert_train, dense, data, weights, options, settings):
    done = onert_train(dense, *data.files, *ADAM, *options)
    reference = Reference(data, weights, rate=0.02, update=Adam(**settings))
    for epoch in epochs(done):
        assert close(epoch["loss"][0], reference.run(0, N, True)[0])


def test_fewer_samples_than_a_batch(onert_train, dense, data):
    done = onert_train(dense, *data.files, *SGD, "--batch_size", 100)
    assert len(losses(done)) == 5


def test_nothing_trainable(onert_train, dense, data, weights):
    done = onert_train(dense, *data.files, *SGD, "--num_of_trainable_ops", 0, "--epoch", 2)
    loss = Reference(data, weights).run(0, N, False)[0]
    assert all(close(line[0], loss) for line in losses(done))


def test_several_inputs_and_outputs(onert_train, two, tmp_path):
    """All samples of one tensor lie before those of the next."""
    rng = np.random.default_rng(5)
    a, b = rng.normal(size=(N, 3)), rng.normal(size=(N, 2))
    p, q = rng.normal(size=(N, 2)), 100 + rng.normal(size=(N, 4))
    x, y = tmp_path / "x.raw", tmp_path / "y.raw"
    np.concatenate([a.ravel(), b.ravel()]).astype("<f4").tofile(x)
    np.concatenate([p.ravel(), q.ravel()]).astype("<f4").tofile(y)
    found = losses(onert_train(two, "--load_input:raw", x, "--load_expected:raw", y, *SGD,
                               "--num_of_trainable_ops", 0, "--epoch", 1))
    assert len(found[0]) == 2
    assert found[0][0] < 100 and 9000 < found[0][1] < 11000


def test_thread_count_changes_nothing(onert_train, dense, data):
    runs = [onert_train(dense, *data.files, *SGD, "--num_threads", n) for n in (1, 2)]
    assert losses(runs[0]) == losses(runs[1])


# ---- its files ----

@pytest.mark.parametrize("options", [SGD, ADAM], ids=["sgd", "adam"])
def test_resume(onert_train, dense, data, tmp_path, options):
    whole, part = tmp_path / "whole.ckpt", tmp_path / "part.ckpt"
    uninterrupted = losses(onert_train(dense, *data.files, *options, "--epoch", 3,
                                       "--export_checkpoint", whole))
    first = losses(onert_train(dense, *data.files, *options, "--epoch", 1,
                               "--export_checkpoint", part))
    rest = losses(onert_train(dense, *data.files, *options, "--epoch", 2, "--checkpoint", part,
                              "--export_checkpoint", part))
    assert first + rest == uninterrupted
    assert part.read_bytes() == whole.read_bytes()


def test_exported_models_hold_the_trained_weights(onert_train, dense, data, weights, tmp_path):
    circle, plus = tmp_path / "trained.circle", tmp_path / "plus.circle"
    done = onert_train(dense, *data.files, *SGD, "--epoch", 2, "--export_circle", circle,
                       "--export_circleplus", plus)
    assert len(losses(done)) == 2
    reference = Reference(data, weights)
    for _ in range(2):
        reference.run(0, N, True)
    loss = reference.run(0, N, False)[0]
    done = onert_train(circle, *data.files, *SGD, "--epoch", 1, "--num_of_trainable_ops", 0)
    assert close(losses(done)[0][0], loss)
    # The training parameters are in the file: no option is needed.
    done = onert_train(plus, *data.files, "--epoch", 1)
    assert close(losses(done)[0][0], reference.run(0, N, True)[0])
    assert "- learning_rate        = 0.1\n- batch_size           = 10\n" in done.stdout


def test_option_overrides_the_models_parameters(onert_train, dense, data, tmp_path):
    plus = tmp_path / "plus.circle"
    onert_train(dense, *data.files, *SGD, "--epoch", 1, "--num_of_trainable_ops", 0,
                "--export_circleplus", plus)
    done = onert_train(plus, *data.files, "--optimizer", 2, "--epoch", 1)
    assert len(losses(done)) == 1
    assert "- optimizer            = adam\n- num_of_trainable_ops = 0\n" in done.stdout


# ---- the command line ----

def test_version_alone(onert_train):
    done = onert_train("--version")
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(r"onert_train \(nnfw runtime: v1\.31\.0\)\n", done.stdout)


@pytest.mark.parametrize("words", [["--help"], ["-h"], ["a.circle", "--epoch", "3", "-h"],
                                   ["--no_such_option", "--help"]], ids=" ".join)
def test_help_anywhere(onert_train, words):
    done = onert_train(*words)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Usage: onert_train ")
    for name in ("--load_expected:raw", "-m, --mem_poll", "--num_of_trainable_ops", "--beta1"):
        assert name in done.stdout


LINE = "E: Fail to run by runtime error:Invalid argument. "
MISSING = LINE + "You must have missed some argument."
TOO_MANY = LINE + "You've given more positional argument than necessary."


@pytest.mark.parametrize("code,text,words", [
    (255, MISSING, []),
    (255, MISSING, ["{model}", "--epoch"]),
    (255, MISSING, ["--modelfile"]),
    (255, TOO_MANY, ["{model}", "{model}"]),
    (255, TOO_MANY, ["{model}", "--modelfile", "{model}"]),
    (255, TOO_MANY, ["{model}", "--no_such_option", "1"]),
    (255, TOO_MANY, ["{model}", "-z"]),
    (255, TOO_MANY, ["{model}", "--mem_poll=1"]),
    (1, "Cannot find: no/such.circle", ["no/such.circle"]),
    (1, "Model file not found: no.ckpt", ["{model}", "--checkpoint", "no.ckpt"]),
    (1, "Model input file not found: no.raw", ["{model}", "--load_input:raw", "no.raw"]),
    (1, "Model expected file not found: no.raw", ["{model}", "--load_expected:raw", "no.raw"]),
    (1, "loss 3 is unsupported argument", ["{model}", "--loss", "3"]),
    (1, "loss_reduction_type 0 is unsupported argument",
     ["{model}", "--loss_reduction_type", "0"]),
    (1, "optimizer 7 is unsupported argument", ["{model}", "--optimizer", "7"]),
    (1, "Invalid validation_split. Float between 0 and 1.",
     ["{model}", "--validation_split", "1.5"]),
    (1, "Invalid validation_split. Float between 0 and 1.",
     ["{model}", "--validation_split", "-0.1"]),
    (1, "--epoch: 'five' is not a whole number", ["{model}", "--epoch", "five"]),
    (1, "--epoch: '5x' is not a whole number", ["{model}", "--epoch", "5x"]),
    (1, "--epoch: '' is not a whole number", ["{model}", "--epoch="]),
    (1, "--epoch: -1 is not in 0 .. 2147483647", ["{model}", "--epoch", "-1"]),
    (1, "--batch_size: 99999999999999999999 is not in 0 .. 2147483647",
     ["{model}", "--batch_size", "99999999999999999999"]),
    (1, "--learning_rate: 'fast' is not a finite number", ["{model}", "--learning_rate", "fast"]),
    (1, "--learning_rate: 'nan' is not a finite number", ["{model}", "--learning_rate", "nan"]),
    (1, 'Invalid JSON format for output_sizes "[0, 4"', ["{model}", "--output_sizes", "[0, 4"]),
    (1, "JSON argument must be an even-sized array in JSON", ["{model}", "--output_sizes", "[0]"]),
    (1, "JSON argument must be an even-sized array in JSON",
     ["{model}", "--output_sizes", '{"a": [1]}']),
    (1, "Key values(values in even indices) must be unsigned integers",
     ["{model}", "--output_sizes", "[-1, 4]"]),
    (1, "All the values in `output_sizes` must be unsigned integers",
     ["{model}", "--output_sizes", "[0, 4.5]"]),
    (255, "E: not supported random input and expected generator", ["{model}"]),
    (255, "E: not supported random input and expected generator",
     ["{model}", "--output_sizes", " [0, 4, 1, 8] "]),
])
def test_bad_command_lines(onert_train, dense, code, text, words):
    done = onert_train(*(w.format(model=dense) if w == "{model}" else w for w in words))
    assert done.returncode == code
    assert done.stderr.startswith(text), done.stderr
    assert done.stderr.count("\n") == 1


# ---- data and models that do not fit ----

def refused(done) -> str:
    assert done.returncode == 255
    assert done.stderr.startswith("E: ") and done.stderr.count("\n") == 1, done.stderr
    return done.stderr


def test_no_whole_number_of_samples(onert_train, dense, data):
    data.x_path.write_bytes(data.x.tobytes()[:-1])
    text = refused(onert_train(dense, *data.files, *SGD))
    assert f"{data.x_path}: 299 bytes" in text and "12 bytes" in text


def test_different_numbers_of_samples(onert_train, dense, data):
    data.y[:20].tofile(data.y_path)
    text = refused(onert_train(dense, *data.files, *SGD))
    assert "runtime error:The length of input data and expected data does not match." in text
    assert "25 and 20" in text


@pytest.mark.parametrize("empty", [True, False])
def test_nothing_to_train_on(onert_train, dense, data, empty):
    if empty:
        data.x_path.write_bytes(b"")
        data.y_path.write_bytes(b"")
    split = [] if empty else ["--validation_split", 1]
    text = refused(onert_train(dense, *data.files, *SGD, *split))
    assert text == ("E: training data is not enough for training."
                    "Reduce batch_size or add more data\n")


def test_library_errors_are_printed(onert_train, dense, unknown_op, data, tmp_path):
    broken = tmp_path / "broken.circle"
    broken.write_bytes(b"12345678")
    checkpoint = tmp_path / "broken.ckpt"
    checkpoint.write_bytes(b"no checkpoint")
    for arguments in ([broken, *SGD], [unknown_op, *SGD],
                      [dense, *SGD, "--learning_rate", 0],
                      [dense],  # neither the model nor options say how to train
                      [dense, *SGD, "--num_of_trainable_ops", 99],
                      [dense, *SGD, "--checkpoint", checkpoint],
                      [dense, *ADAM, "--beta1", 1.5],
                      [dense, *SGD, "--export_circle", tmp_path / "no" / "folder.circle"]):
        assert len(refused(onert_train(*arguments, *data.files))) > len("E: ERROR\n")


def test_checkpoint_of_another_optimizer(onert_train, dense, data, tmp_path):
    checkpoint = tmp_path / "sgd.ckpt"
    onert_train(dense, *data.files, *SGD, "--epoch", 1, "--export_checkpoint", checkpoint)
    refused(onert_train(dense, *data.files, *ADAM, "--checkpoint", checkpoint))


def test_lines_appear_as_they_happen(onert_train, dense, data):
    """Standard output is line-buffered, also into a pipe."""
    np.tile(data.x, (8000, 1)).tofile(data.x_path)
    np.tile(data.y, (8000, 1)).tofile(data.y_path)
    words = [dense, *data.files, *SGD, "--epoch", 1000000]
    with subprocess.Popen([str(onert_train.program), *map(str, words)],
                          stdout=subprocess.PIPE) as process:
        first = os.read(process.stdout.fileno(), 1 << 16)
        process.kill()
    assert first.startswith(b"Model Filename ") and first.endswith(b"\n")
    assert len(first) < 4096  # a full buffer would come at once


def test_memory_limit(onert_train, dense, data):
    plain = onert_train(dense, *data.files, *SGD)
    limited = onert_train(dense, *data.files, *SGD, "--memory_limit", 1)
    assert limited.returncode == 0, limited.stderr
    assert losses(plain) and losses(plain) == losses(limited)
    large = [*SGD[:-1], 1_000_000]
    refused = onert_train(dense, *data.files, *large, "--memory_limit", 1)
    assert refused.returncode == 255
    assert re.search(r"1000000 samples needs \d{7,} bytes, the memory limit is 1048576",
                     refused.stderr), refused.stderr
