# SPDX-License-Identifier: Apache-2.0
"""The learning curves of the demo as a PNG. Needs matplotlib, but no display."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from pyonert.demo import EpochRecord


def plot_curves(records: Sequence[EpochRecord], path: Path) -> None:
    """Draws loss and accuracy over epochs, for training and validation data."""
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    FigureCanvasAgg(figure)
    epochs = [r.epoch for r in records]
    left, right = figure.subplots(1, 2)
    left.plot(epochs, [r.loss for r in records], marker="o", markersize=3, label="training")
    left.plot(epochs, [r.val_loss for r in records], marker="o", markersize=3, label="validation")
    left.set(xlabel="epoch", ylabel="cross-entropy", title="Loss")
    right.plot(
        epochs, [100 * r.accuracy for r in records], marker="o", markersize=3, label="training"
    )
    right.plot(
        epochs,
        [100 * r.val_accuracy for r in records],
        marker="o",
        markersize=3,
        label="validation",
    )
    right.set(xlabel="epoch", ylabel="digits read right, %", title="Accuracy")
    for axes in (left, right):
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.grid(alpha=0.3)
        axes.legend()
    figure.savefig(path, dpi=120)
