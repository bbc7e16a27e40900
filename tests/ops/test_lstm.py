# SPDX-License-Identifier: Apache-2.0
"""UNIDIRECTIONAL_SEQUENCE_LSTM: all gradients go through all time steps."""

from typing import Any

import pytest
from builder import Model
from opcheck import check_case

CASES: dict[str, dict[str, Any]] = {
    "plain": {},
    "time first": {"time_major": True},
    "clipped cell": {"cell_clip": 0.3},
    "peepholes": {"peephole": True},
    "CIFG": {"cifg": True},
    "CIFG, peepholes": {"cifg": True, "peephole": True, "time_major": True},
    "projection": {"projection": 2},
    "projection, clipped": {"projection": 4, "proj_clip": 0.5, "peephole": True},
    "nothing inside": {"kind": "NONE"},
    "a clamp inside": {"kind": "RELU_N1_TO_1"},
    "initial states": {"states": "constant"},
    "states of the data": {"states": "input", "projection": 5},
}


def lstm(m: Model, cells: int = 3, peephole: bool = False, cifg: bool = False, projection: int = 0,
         states: str = "variable", kind: str = "TANH", **options: Any) -> None:
    batch, steps, features = 1, 4, 2
    out = projection or cells
    x = m.input(*([steps, batch] if options.get("time_major") else [batch, steps]), features)
    gates = [not cifg, True, True, True]
    operands = [m.weights(cells, features) if has else -1 for has in gates]
    operands += [m.weights(cells, out) if has else -1 for has in gates]
    operands += [m.weights(cells) if peephole and has else -1 for has in (not cifg, True, True)]
    operands += [m.weights(cells) if has else -1 for has in gates]
    operands += [m.weights(out, cells), m.weights(out)] if projection else [-1, -1]
    make = {"variable": m.variable, "constant": m.weights, "input": m.input}[states]
    operands += [make(batch, out), make(batch, cells)]
    m.output(m.op("UNIDIRECTIONAL_SEQUENCE_LSTM", x, *operands, kind=kind, **options))


@pytest.mark.parametrize("name", CASES)
def test_gradients(name: str) -> None:
    check_case(lambda m: lstm(m, **CASES[name]), f"LSTM {name}")
