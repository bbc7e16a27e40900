# SPDX-License-Identifier: Apache-2.0
"""Small models, and recorded runs of onert 0.1.0, PyTorch and Keras, unpacked once a session."""

from pathlib import Path

import pytest
from archives import ARCHIVES, unpack

DATA = ARCHIVES / "py"


@pytest.fixture
def dense() -> Path:
    """x [1,3] -> fully connected -> y [1,2]."""
    return DATA / "dense.circle"


@pytest.fixture
def two() -> Path:
    """a [1,3] -> p [1,2]; b [1,2] -> q [1,4]."""
    return DATA / "two.circle"


@pytest.fixture
def unknown_op() -> Path:
    """dense, with an operator code that nobody knows."""
    return DATA / "unknown_op.circle"


@pytest.fixture
def digits_cnn() -> Path:
    """The network of the demo: [1,8,8,1] -> softmax [1,10]."""
    from pyonert import demo

    return demo.MODEL_PATH


@pytest.fixture(scope="session")
def golden(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack("golden.tar.xz", tmp_path_factory.mktemp("golden"))


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack("models.tar.xz", tmp_path_factory.mktemp("models"))
