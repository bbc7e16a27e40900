# SPDX-License-Identifier: Apache-2.0
"""Every recorded scenario of the nnfw C API gets the answers of onert 0.1.0 from this library.

deviations.txt lists the traces where this library answers better than onert, each with its reason:
pending.txt lists those that need what this library does not have yet. A listed trace that passes is
a failure: it belongs off the list, so that it cannot fail again unseen. No trace may crash.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from archives import packed, unpack
from built import library

HERE = Path(__file__).parent
ARCHIVE = "conformance.tar.xz"
TRACES = sorted(n.split("/")[1] for n in packed(ARCHIVE) if n.startswith("traces/"))
MAX_DEVIATIONS = 25


def listed(name: str) -> dict[str, str]:
    """Trace to reason; lines are "TRACE: REASON" or comments."""
    lines = (HERE / name).read_text().splitlines()
    pairs = [line.split(": ", 1) for line in lines if line and not line.startswith("#")]
    assert len({p[0] for p in pairs}) == len(pairs)
    return {p[0] + ".jsonl": p[1] for p in pairs}


DEVIATIONS = listed("deviations.txt")
PENDING = listed("pending.txt")


@pytest.fixture(scope="session")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str | None]:
    """Trace to its first difference. A crash costs its trace only: the rest start afresh."""
    folder = unpack(ARCHIVE, tmp_path_factory.mktemp("conformance"))
    found: dict[str, str | None] = {}
    while todo := [t for t in TRACES if t not in found]:
        process = subprocess.run(
            [sys.executable, str(HERE / "replay.py"), str(library()), str(folder), *todo],
            capture_output=True, text=True, timeout=300)
        current = None
        for line in process.stdout.splitlines():
            said = json.loads(line)
            if "begin" in said:
                current = said["begin"]
            else:
                assert current
                found[current] = said["problem"]
                current = None
        if process.returncode:
            assert current, process.stderr
            found[current] = f"exit status {process.returncode}: {process.stderr[-2000:]}"
    return found


@pytest.mark.parametrize("trace", TRACES)
def test_trace(trace: str, results: dict[str, str | None]) -> None:
    problem = results[trace]
    assert problem is None or not problem.startswith("exit status"), problem
    listed_as = DEVIATIONS.get(trace) or PENDING.get(trace)
    if listed_as:
        assert problem, f"passes, but is listed: {listed_as}"
    if trace in PENDING:
        pytest.xfail(f"{PENDING[trace]}: {problem}")
    assert problem is None or trace in DEVIATIONS, problem


def test_lists_name_traces() -> None:
    assert len(DEVIATIONS) <= MAX_DEVIATIONS
    assert all(DEVIATIONS.values())
    assert all(PENDING.values())
    assert not set(DEVIATIONS) & set(PENDING)
    assert set(DEVIATIONS) | set(PENDING) <= set(TRACES)
