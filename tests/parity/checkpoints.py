# SPDX-License-Identifier: Apache-2.0
"""A reader of checkpoint files for the tests, written from the format alone, with no checks."""

import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np


@dataclass
class Checkpoint:
    header: tuple
    tables: list  # offset tables of values, first and second moments; the latter only with Adam
    values: list  # bytes of each tensor, in file order
    m: list
    v: list
    step: int
    epoch: int


def _section(data: bytes, at: int, length: int, end: int) -> tuple:
    table = struct.unpack_from(f"<{length}I", data, at)
    edges = [*table, end]
    return table, [data[a:b] for a, b in zip(edges, edges[1:])]


def read(path: Path) -> Checkpoint:
    data = Path(path).read_bytes()
    header = struct.unpack_from("<HBB4I", data)
    opt1, opt2, other, length = header[3:]
    tables, sections = [], []
    starts = [20] if opt2 == 0 else [20, opt1, opt2]
    ends = [opt1] if opt2 == 0 else [opt1, opt2, other]
    for start, end in zip(starts, ends):
        table, parts = _section(data, start, length, end)
        tables.append(table)
        sections.append(parts)
    sections += [[]] * (3 - len(sections))
    step, epoch = struct.unpack_from("<II", data, other)
    return Checkpoint(header, tables, *sections, step, epoch)


def floats(raw: bytes) -> np.ndarray:
    return np.frombuffer(raw, np.float32)
