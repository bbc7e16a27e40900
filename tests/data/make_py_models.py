# SPDX-License-Identifier: Apache-2.0
"""Writes the tiny models of the Python tests into tests/data/py.

    pip install circle-schema flatbuffers numpy
    python tests/data/make_py_models.py

dense.circle       x [1,3] -> fc -> y [1,2]
two.circle         a [1,3] -> fc -> p [1,2];  b [1,2] -> fc -> q [1,4]
unknown_op.circle  dense.circle with an operator code that nobody knows
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

from make_demo_model import NONE, Network

HERE = Path(__file__).parent / "py"


def dense() -> Network:
    net = Network("dense", [1, 3], seed=1)
    net.dense("fc", 2, NONE)
    return net


def main() -> None:
    dense().save(HERE / "dense.circle")

    net = dense()
    first = net.last
    net.last = net.tensor("b", [1, 2])
    net.graph.inputs.append(net.last)
    net.dense("fc2", 4, NONE)
    net.save(HERE / "two.circle", [first, net.last])

    net = dense()
    net.model.operatorCodes[0].builtinCode = 999
    net.model.operatorCodes[0].deprecatedBuiltinCode = 127
    net.save(HERE / "unknown_op.circle")


if __name__ == "__main__":
    main()
