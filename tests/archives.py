# SPDX-License-Identifier: Apache-2.0
"""The archives of recorded data, as tests/data/pack.py packs them."""

from __future__ import annotations

import tarfile
from pathlib import Path

ARCHIVES = Path(__file__).parent / "data"


def packed(name: str) -> list[str]:
    """Names of the files in an archive."""
    with tarfile.open(ARCHIVES / name) as tar:
        return tar.getnames()


def unpack(name: str, into: Path) -> Path:
    """Unpacks an archive into a folder and returns the folder."""
    with tarfile.open(ARCHIVES / name) as tar:
        # Plain files with plain names.
        for member in tar.getmembers():
            assert member.isfile() and not member.name.startswith(("/", "..")), member.name
            tar.extract(member, into)
    return into
