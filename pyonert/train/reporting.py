# SPDX-License-Identifier: Apache-2.0
"""What training tells while it runs: callbacks, and the one that prints.

Nothing else in the package prints. `session(path, verbose=False)` is silent; `callbacks=[...]` of
`train` adds others.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from pyonert.train.losses import LossFunction
    from pyonert.train.optimizer import Optimizer


@dataclass(frozen=True)
class TrainingSetup:
    """What a session was compiled with."""

    optimizer: Optimizer
    loss: LossFunction
    batch_size: int


@dataclass(frozen=True)
class EpochLog:
    """How an epoch went.

    Attributes:
        epoch: 1 for the first.
        epochs: number of the last one.
        steps: training steps taken.
        train_time: ms per training step, getting the batch included.
        loss: training loss: mean over the samples of their batches' losses, summed over outputs.
        metrics: training metrics by class name, over the predictions made while training.
        val_loss: same over the validation data; None without.
        val_metrics: same; empty without.
        total_time: ms of the whole epoch.
    """

    epoch: int
    epochs: int
    steps: int
    train_time: float
    loss: float
    metrics: Mapping[str, float] = field(default_factory=dict)
    val_loss: float | None = None
    val_metrics: Mapping[str, float] = field(default_factory=dict)
    total_time: float = 0.0


class Callback:
    """Is told how training goes. Derive from it and override what is of interest."""

    def on_compile_end(self, setup: TrainingSetup) -> None:
        """The session is ready to train."""

    def on_epoch_begin(self, epoch: int, epochs: int, steps: int | None) -> None:
        """An epoch begins.

        Args:
            epoch: 1 for the first.
            epochs: number of the last one.
            steps: how many training steps it has, None if not known before.
        """

    def on_batch_end(self, step: int, loss: float) -> None:
        """A training step is done; `step` is 1 for the first, `loss` that of its batch."""

    def on_epoch_end(self, log: EpochLog) -> None:
        """An epoch is done, validation and checkpoint included."""


class ConsoleReporter(Callback):
    """Prints the parameter block and a line per epoch.

    Args:
        stream: where to; None: sys.stdout of the moment.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = stream

    def write(self, line: str) -> None:
        """Prints a line."""
        print(line, file=self.stream or sys.stdout, flush=True)

    def on_compile_end(self, setup: TrainingSetup) -> None:
        reduction = setup.loss.reduction.name.lower().replace("_", " ")
        self.write("== training parameter ==")
        self.write(f"- learning_rate        = {setup.optimizer.learning_rate:g}")
        self.write(f"- batch_size           = {setup.batch_size}")
        self.write(
            f"- loss_info            = {{loss = {type(setup.loss).__name__}, "
            f"reduction = {reduction}}}"
        )
        self.write(f"- optimizer            = {type(setup.optimizer).__name__}")
        self.write(f"- num_of_trainable_ops = {int(setup.optimizer.nums_trainable_ops)}")
        self.write("========================")

    def on_epoch_end(self, log: EpochLog) -> None:
        items = [
            f"Epoch {log.epoch}/{log.epochs}",
            f"Train time: {log.train_time:.3f}ms/step",
            f"Train Loss: {log.loss:.4f}",
        ]
        if log.val_loss is not None:
            items.append(f"Validation Loss: {log.val_loss:.4f}")
            items += [f"{name}: {value:.4f}" for name, value in log.val_metrics.items()]
        self.write(" - ".join(items))


class ProgressBar(Callback):
    """A bar over all steps of a training, on stderr; needs tqdm: `pip install 'pyonert[demo]'`."""

    def __init__(self) -> None:
        try:
            from tqdm import tqdm
        except ImportError:
            raise ImportError(
                "a progress bar needs tqdm, which is not installed: pip install 'pyonert[demo]'"
            ) from None
        self._tqdm: Any = tqdm
        self._bar: Any = None

    def on_epoch_begin(self, epoch: int, epochs: int, steps: int | None) -> None:
        if self._bar is None:
            total = None if steps is None else steps * (epochs - epoch + 1)
            self._bar = self._tqdm(total=total, unit="step", leave=False, mininterval=0.05)
        self._bar.set_description(f"Epoch {epoch}/{epochs}")

    def on_batch_end(self, step: int, loss: float) -> None:
        self._bar.set_postfix_str(f"loss {loss:.4f}", refresh=False)
        self._bar.update()

    def on_epoch_end(self, log: EpochLog) -> None:
        self._bar.refresh()
        # Out of the way of the epoch's line.
        self._bar.clear()
        if log.epoch == log.epochs:
            self._bar.close()
            self._bar = None


def time_block(total_time: Mapping[str, Any]) -> str:
    """Returns the closing block of times for a session's `total_time`, all in ms."""
    lines = ["=" * 35]
    for name in ("MODEL_LOAD", "COMPILE", "EXECUTE"):
        if name in total_time:
            lines.append(f"{name:<12} takes {total_time[name]:.4f} ms")
    epochs: Sequence[float] = total_time.get("EPOCH_TIMES", ())
    lines += [f"- {f'Epoch {i}':<12} takes {ms:.4f} ms" for i, ms in enumerate(epochs, 1)]
    return "\n".join([*lines, "=" * 35])
