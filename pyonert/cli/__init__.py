# SPDX-License-Identifier: Apache-2.0
"""The command `pyonert`: demo, info.

Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import pyonert
from pyonert.common.basesession import BaseSession
from pyonert.native.types import tensorinfo


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line and returns the exit code."""
    arguments = _parser().parse_args(argv)
    try:
        if arguments.command == "demo":
            _demo(arguments)
        else:
            _info(arguments.model)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        return 1
    except (OSError, ValueError, ImportError, RuntimeError) as e:
        print(f"pyonert {arguments.command}: {e}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pyonert", description="Train and run .circle and .tflite models."
    )
    parser.add_argument("--version", action="version", version=f"pyonert {pyonert.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    demo = commands.add_parser(
        "demo",
        help="train a small network on handwritten digits",
        description="Trains a small network on handwritten digits; saves checkpoint, trained model "
        "and learning curves. Needs the extra: pip install 'pyonert[demo]'.",
    )
    demo.add_argument(
        "--output", type=Path, default=Path("pyonert-demo"), help="folder (default: %(default)s)"
    )
    demo.add_argument(
        "--epochs", type=_positive, default=10, help="epochs to train (default: %(default)s)"
    )
    demo.add_argument("--resume", action="store_true", help="go on from the checkpoint")
    demo.add_argument("--threads", type=_positive, default=0, help="threads (default: all)")
    demo.add_argument("--no-progress", action="store_true", help="no progress bar")

    info = commands.add_parser("info", help="show inputs and outputs of a model")
    info.add_argument("model", type=Path, help="a .circle or .tflite file, or an nnpackage folder")
    return parser


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, was {value}")
    return value


def _demo(arguments: argparse.Namespace) -> None:
    from pyonert import demo

    demo.run(
        arguments.output,
        arguments.epochs,
        resume=arguments.resume,
        progress=not arguments.no_progress,
        num_threads=arguments.threads,
    )


def _info(model: Path) -> None:
    with BaseSession(model, "cpu") as session:
        print(f"model: {model}")
        for i, info in enumerate(session.get_inputs_tensorinfo()):
            print(f"input {i}:  {_describe(info)}")
        for i, info in enumerate(session.get_outputs_tensorinfo()):
            print(f"output {i}: {_describe(info)}")


def _describe(info: tensorinfo) -> str:
    return f"{info.dtype} {info.dims}"
