# SPDX-License-Identifier: Apache-2.0
"""The order of tensors in checkpoints, against 40 graphs recorded from onert 0.1.0."""

import json
import subprocess
from pathlib import Path

from test_c_programs import build, builds  # noqa: F401  (fixture)


def listed(values: list) -> str:
    return " ".join(str(v) for v in [len(values), *values])


def line(case: dict) -> str:
    ops = case["operators"]
    parts = [str(case["num_tensors"]), listed(case["inputs"]), listed(case["outputs"]),
             listed(case["constants"]), str(len(ops))]
    parts += [f"{listed(o['inputs'])} {listed(o['outputs'])}" for o in ops]
    return " ".join(parts)


def test_recorded_graphs(golden: Path, builds: dict) -> None:  # noqa: F811
    cases = json.loads((golden / "checkpoint_order_cases.json").read_text())
    assert len(cases) == 40
    program = build(builds, "plain") / "tests" / "c" / "order_of_graph"
    out = subprocess.run([str(program)], input="\n".join(map(line, cases)) + "\n", text=True,
                         capture_output=True, check=True)
    answers = out.stdout.splitlines()
    assert len(answers) == 40
    for case, answer in zip(cases, answers):
        entries = [tuple(map(int, e.split(":"))) for e in answer.split()]
        assert [t for t, _ in entries] == case["checkpoint_origin_order"]
        # "copies" names, for each operand that was added, the operator it was added for.
        copies = {int(k): c["op"] for k, c in case["copies"].items()}
        wanted = [copies.get(operand, -1) for operand in case["checkpoint_operand_order"]]
        assert [owner for _, owner in entries] == wanted
