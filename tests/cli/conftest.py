# SPDX-License-Identifier: Apache-2.0
"""The command line tools, built once against the library under test."""

import subprocess
from pathlib import Path
from typing import Callable

import pytest
from built import build_tool

Tool = Callable[..., "subprocess.CompletedProcess[str]"]


def runner(program: Path) -> Tool:
    def run(*arguments: object) -> "subprocess.CompletedProcess[str]":
        return subprocess.run([str(program), *map(str, arguments)], capture_output=True, text=True,
                              timeout=120)
    run.program = program
    return run


@pytest.fixture(scope="session")
def onert_train(tmp_path_factory: pytest.TempPathFactory) -> Tool:
    return runner(build_tool("onert_train", tmp_path_factory.mktemp("onert_train")))


@pytest.fixture(scope="session")
def onert_run(tmp_path_factory: pytest.TempPathFactory) -> Tool:
    return runner(build_tool("onert_run", tmp_path_factory.mktemp("onert_run")))
