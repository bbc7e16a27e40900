# SPDX-License-Identifier: Apache-2.0
"""`pyonert demo`: trains a small network on handwritten digits, and can go on from a checkpoint.

The digits are the 1,797 images of 8x8 pixels of the test set of E. Alpaydin and C. Kaynak, "Optical
Recognition of Handwritten Digits", UCI Machine Learning Repository, 1998,
https://doi.org/10.24432/C50P49, licence CC BY 4.0 (tools/make_demo_data.py packed them). The
network is written by tools/make_demo_model.py.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pyonert import infer, train
from pyonert._arrays import Array
from pyonert.train.reporting import Callback, ConsoleReporter, EpochLog

BATCH_SIZE = 32
VALIDATION_SPLIT = 0.2
LEARNING_RATE = 0.002

MODEL_PATH = Path(__file__).with_name("digits_cnn.circle")
DATA_PATH = Path(__file__).with_name("digits.npz")

CHECKPOINT = "digits.ckpt"
TRAINED = "digits_trained.circle"
HISTORY = "history.json"
CURVES = "learning_curves.png"


class DemoError(RuntimeError):
    """The demo cannot run; the message says why and what to do."""


@dataclass
class EpochRecord:
    """Loss and accuracy after an epoch, both over training and validation data."""

    epoch: int
    loss: float
    accuracy: float
    val_loss: float
    val_accuracy: float


class History(Callback):
    """A record per epoch, kept in a JSON file beside the checkpoint and as current as that."""

    def __init__(self, path: Path, records: list[EpochRecord]) -> None:
        self.path = path
        self.records = records

    def on_epoch_end(self, log: EpochLog) -> None:
        assert log.val_loss is not None
        self.records.append(
            EpochRecord(
                log.epoch,
                log.loss,
                log.metrics["CategoricalAccuracy"],
                log.val_loss,
                log.val_metrics["CategoricalAccuracy"],
            )
        )
        document = {"epochs": [asdict(r) for r in self.records]}
        self.path.write_text(json.dumps(document, indent=1) + "\n")

    @classmethod
    def load(cls, path: Path) -> History:
        """Reads the file; DemoError if it is missing or damaged."""
        try:
            document: Any = json.loads(path.read_text())
            return cls(path, [EpochRecord(**record) for record in document["epochs"]])
        except FileNotFoundError:
            raise DemoError(
                f"nothing to resume: {path} is missing; run `pyonert demo` first"
            ) from None
        except (ValueError, TypeError, KeyError) as e:
            raise DemoError(f"{path} is not a history of this demo: {e}") from None


def load_digits() -> tuple[Array, Array]:
    """Returns images [1797,8,8,1] float32 in 0..1 and one-hot labels [1797,10] float32.

    The order is shuffled, always in the same way: in that of the source the last fifth is of other
    writers than the rest.
    """
    with np.load(DATA_PATH) as data:
        images, labels = data["images"], data["labels"]
    order = np.random.default_rng(0).permutation(len(labels))
    pixels = (images[order, :, :, np.newaxis] / 16).astype(np.float32)
    return pixels, np.eye(10, dtype=np.float32)[labels[order]]


def run(
    output: Path,
    epochs: int = 10,
    *,
    resume: bool = False,
    seed: int = 0,
    progress: bool = True,
    num_threads: int = 0,
) -> list[EpochRecord]:
    """Trains, saves checkpoint, model, history and curves in the folder `output`.

    Args:
        output: folder, made if missing.
        epochs: how many epochs to train (more, when resuming).
        resume: go on from the checkpoint in `output`.
        seed: of the order of the training data.
        progress: show a progress bar.
        num_threads: threads; 0: all that the process may use.

    Returns:
        A record per epoch, those of earlier runs included.

    Raises:
        DemoError: nothing to resume.
        ImportError: tqdm or matplotlib is missing.
    """
    plot = _import_plot()
    callbacks: list[Callback] = [train.ProgressBar()] if progress else []
    console = ConsoleReporter()

    history = History.load(output / HISTORY) if resume else History(output / HISTORY, [])
    output.mkdir(parents=True, exist_ok=True)
    done = len(history.records)

    images, labels = load_digits()
    loader = train.DataLoader(images, labels, BATCH_SIZE, shuffle=True, seed=seed + done)
    with train.session(MODEL_PATH, num_threads=num_threads) as session:
        console.write(f"{len(images)} handwritten digits, {VALIDATION_SPLIT:.0%} for validation")
        session.compile(
            train.optimizer.Adam(LEARNING_RATE),
            train.losses.CategoricalCrossentropy(),
            [train.metrics.CategoricalAccuracy()],
            BATCH_SIZE,
        )
        if resume:
            session.import_checkpoint(output / CHECKPOINT)
            console.write(f"resumed after epoch {done} from {output / CHECKPOINT}")
        session.train(
            loader,
            epochs=done + epochs,
            validation_split=VALIDATION_SPLIT,
            checkpoint_path=output / CHECKPOINT,
            initial_epoch=done,
            callbacks=[*callbacks, history],
        )
        session.export_circle(output / TRAINED)
        session.print_time()
    plot(history.records, output / CURVES)

    _, held_out = loader.split(VALIDATION_SPLIT)
    right = count_right(output / TRAINED, held_out.inputs[0], held_out.expecteds[0])
    console.write(
        f"The trained model reads {right} of {held_out.num_samples} digits right that it was not "
        f"trained on ({right / held_out.num_samples:.1%})."
    )
    for title, name in (
        ("checkpoint", CHECKPOINT),
        ("trained model", TRAINED),
        ("learning curves", CURVES),
        ("history", HISTORY),
    ):
        console.write(f"{title + ':':<16} {output / name}")
    console.write(f"Go on from the checkpoint with: pyonert demo --resume --output {output}")
    return history.records


def count_right(model: Path, images: Array, labels: Array) -> int:
    """Returns how many images the model file puts into the class of their label."""
    with infer.session(model) as session:
        right = 0
        for image, label in zip(images, labels):
            (probability,) = session.infer([image[np.newaxis]])
            right += int(probability[0].argmax() == label.argmax())
    return right


def _import_plot() -> Any:
    try:
        from pyonert.demo.plot import plot_curves
    except ImportError as e:
        raise ImportError(
            f"the demo draws with matplotlib, which cannot be imported ({e}): "
            "pip install 'pyonert[demo]'"
        ) from None
    return plot_curves
