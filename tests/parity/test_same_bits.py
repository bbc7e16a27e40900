# SPDX-License-Identifier: Apache-2.0
"""Training gives the same bits on any number of threads and in every run."""

import hashlib
from pathlib import Path

import numpy as np
import pytest

from pyonert._session import NnfwSession
from pyonert.native.types import loss, loss_reduction, lossinfo, optimizer, traininfo

STEPS = 3
BATCH = 16  # enough samples to be divided among the workers
THREADS = (1, 2, 3, 8, 1)  # the last one repeats the first
NETWORKS = ("t_resnet_tiny", "f_mnist_dense", "t_transformer_encoder_slow")


def train(path: Path, opt: optimizer, threads: int, folder: Path) -> tuple:
    """Returns losses and the digests of the checkpoint and of the trained model."""
    s = NnfwSession()
    s.load_model_from_file(path)
    s.set_num_threads(threads)
    s.train_set_traininfo(traininfo(
        0.01, BATCH, lossinfo(loss.MEAN_SQUARED_ERROR, loss_reduction.SUM_OVER_BATCH_SIZE), opt,
        -1))
    s.train_prepare()
    random = np.random.default_rng(5)
    x = [random.standard_normal(s.input_tensorinfo(i).dims, np.float32)
         for i in range(s.input_size())]
    y = [random.standard_normal(s.output_tensorinfo(i).dims, np.float32)
         for i in range(s.output_size())]
    losses = []
    for _ in range(STEPS):
        for i, array in enumerate(x):
            s.train_set_input(i, array)
        for i, array in enumerate(y):
            s.train_set_expected(i, array)
        s.train_run(True)
        losses.append(tuple(s.train_get_loss(i) for i in range(len(y))))
    s.train_export_checkpoint(folder / "checkpoint")
    s.train_export_circle(folder / "circle")
    return losses, *(hashlib.sha256((folder / name).read_bytes()).hexdigest()
                     for name in ("checkpoint", "circle"))


@pytest.mark.parametrize("opt", [optimizer.SGD, optimizer.ADAM], ids=["sgd", "adam"])
@pytest.mark.parametrize("name", NETWORKS)
def test_any_number_of_threads(models: Path, tmp_path: Path, name: str, opt: optimizer) -> None:
    first, *others = (train(models / f"{name}.circle", opt, n, tmp_path) for n in THREADS)
    assert np.isfinite(first[0]).all()
    assert len(set(first[0])) == STEPS, "the weights do not move"
    for threads, run in zip(THREADS[1:], others):
        assert run == first, f"{threads} threads"
