# SPDX-License-Identifier: Apache-2.0
"""Recorded runs of onert 0.1.0, PyTorch and Keras, unpacked once a session."""

import tarfile
from pathlib import Path

import pytest

DATA = Path(__file__).parents[1] / "data"


def unpack(name: str, into: Path) -> Path:
    with tarfile.open(DATA / name) as tar:
        for member in tar.getmembers():  # plain files with plain names, packed by tests/data/pack.py
            assert member.isfile() and not member.name.startswith(("/", "..")), member.name
            tar.extract(member, into)
    return into


@pytest.fixture(scope="session")
def golden(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack("golden.tar.xz", tmp_path_factory.mktemp("golden"))


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack("models.tar.xz", tmp_path_factory.mktemp("models"))
