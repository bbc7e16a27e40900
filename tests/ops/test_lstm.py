# SPDX-License-Identifier: Apache-2.0
"""UNIDIRECTIONAL_SEQUENCE_LSTM: all gradients go through all time steps."""

from collections.abc import Callable
from typing import Any

import pytest
from builder import Model
from opcheck import check_case

from pyonert._session import NnfwSession
from pyonert.errors import OnertError

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


def refusal(m: Model) -> str:
    s = NnfwSession()
    with pytest.raises(OnertError) as failure:
        s.load_circle_from_buffer(m.file)
        s.prepare()
    return str(failure.value)


def test_refusals() -> None:
    m = Model()
    m.output(m.op("ADD", m.input(2), m.variable(2)))
    assert "(ADD 't2'): input 1 ('t1') is no constant" in refusal(m)

    def broken(index: int, make: Callable[[Model], int]) -> str:
        m = Model()
        lstm(m)
        m.ops[0].inputs += [-1] * (index - 19)
        m.ops[0].inputs[index] = make(m)
        return refusal(m)

    def weights(*shape: int) -> Callable[[Model], int]:
        return lambda m: m.weights(*shape)

    assert "is float32 [3,2], wanted float32 [3,3]" in broken(6, weights(3, 2))
    assert "input 14 is absent" in broken(14, lambda m: -1)
    assert "input 1 is absent, so inputs 5, 9 and 12 must be" in broken(1, lambda m: -1)
    assert "input 17 is its bias" in broken(17, weights(3))
    assert "layer normalization (input 21) is not supported" in broken(21, weights(3))
