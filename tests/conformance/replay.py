# SPDX-License-Identifier: Apache-2.0
"""Replays recorded calls of the nnfw C API on a library and compares every answer.

    python replay.py LIBRARY FOLDER TRACE...

Names of traces are relative to FOLDER/traces. Prints one JSON line before a trace ("begin") and
one after it ("problem": null, or the first difference), so that whoever started this knows which
trace a crash belongs to.
"""

from __future__ import annotations

import base64
import ctypes as c
import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ELEMENT = {0: "f4", 1: "i4", 2: "u1", 3: "u1", 4: "u1", 5: "i8", 6: "i1", 7: "i2"}
QUANTIZED = {2, 6}
# The functions that onert exports under their C++ names only.
MANGLED = {
    "set_config": "_Z15nnfw_set_configP12nnfw_sessionPKcS2_",
    "get_config": "_Z15nnfw_get_configP12nnfw_sessionPKcPcm",
    "load_circle_from_buffer": "_Z28nnfw_load_circle_from_bufferP12nnfw_sessionPhm",
}
CONFIG_BYTES = 1024
RECORDED_VERSION = 0x01001E00


class Problem(Exception):
    """The library answers differently than the recorded one."""


class TensorInfo(c.Structure):
    _fields_ = [("dtype", c.c_int), ("rank", c.c_int32), ("dims", c.c_int32 * 6)]


class TrainInfo(c.Structure):
    _fields_ = [("learning_rate", c.c_float), ("batch_size", c.c_uint32), ("loss", c.c_int),
                ("reduction", c.c_int), ("optimizer", c.c_int),
                ("num_of_trainable_ops", c.c_int32)]


def tensor_info(d: dict[str, Any] | None) -> TensorInfo | None:
    if d is None:
        return None
    info = TensorInfo(d["dtype"], d["rank"])
    info.dims[:len(d["dims"][:6])] = d["dims"][:6]
    return info


def text(value: str | None) -> bytes | None:
    return None if value is None else value.encode()


def same_values(want: bytes, got: bytes, dtype: int, what: str) -> None:
    a, b = (np.frombuffer(x, ELEMENT[dtype]) for x in (want, got))
    if dtype == 0:
        good = np.isclose(b, a, rtol=1e-4, atol=1e-4, equal_nan=True)
    elif dtype in QUANTIZED:
        good = np.abs(a.astype(int) - b.astype(int)) <= 1
    else:
        good = a == b
    if not good.all():
        at = int(np.argmin(good))
        raise Problem(f"{what}: element {at} of {a.size} is {b[at]}, recorded {a[at]}")


class Session:
    def __init__(self, handle: c.c_void_p | None) -> None:
        self.handle = handle
        self.buffers: dict[tuple[str, int], Any] = {}

    def bind(self, kind: str, index: int, length: int) -> Any:
        self.buffers[kind, index] = buffer = c.create_string_buffer(max(length, 1))
        return buffer

    def fill(self, kind: str, recorded: list[dict[str, Any]]) -> None:
        for r in recorded:
            if r["data"] is not None and (buffer := self.buffers.get((kind, r["index"]))):
                c.memmove(buffer, base64.b64decode(r["data"]), r["length"])

    def compare(self, recorded: list[dict[str, Any]], what: str) -> None:
        for r in recorded:
            if r["data"] is None:
                continue
            want = base64.b64decode(r["data"])
            got = self.buffers["output", r["index"]].raw[:len(want)]
            same_values(want, got, r["dtype"], f"{what}: output {r['index']}")


class Replay:
    def __init__(self, library: str) -> None:
        self.lib = c.CDLL(library)
        self.sessions: dict[int, Session] = {-1: Session(None)}
        self.models: list[Any] = []  # the API does not ask for a copy

    def function(self, name: str) -> Callable[..., int]:
        return self.lib[MANGLED.get(name, f"nnfw_{name}")]

    def call(self, d: dict[str, Any]) -> None:
        name = d["call"]
        if d["session"] == -2:
            return
        if name == "create_session":
            session = Session(c.c_void_p())
            null = d["session"] == -1
            status = self.function(name)(None if null else c.byref(session.handle))
            if not null:
                self.sessions[d["session"]] = session
            self.check_status(d, status)
            return
        session = self.sessions[d["session"]]
        method = getattr(self, f"call_{name}", None)
        if method:
            method(d, session, lambda *args: self.check_status(
                d, self.function(name)(session.handle, *args)))
        else:
            arguments = [text(d[k]) if k in ("op", "value") else d[k]
                         for k in ("op", "id", "key", "value") if k in d]
            self.check_status(d, self.function(name)(session.handle, *arguments))

    @staticmethod
    def check_status(d: dict[str, Any], status: int) -> None:
        if status != d["status"]:
            raise Problem(f"{d['call']}: status {status}, recorded {d['status']}")

    @staticmethod
    def check_value(d: dict[str, Any], got: object, key: str = "value") -> None:
        if d["status"] == 0 and got != d[key]:
            raise Problem(f"{d['call']}: {got}, recorded {d[key]}")

    # Every method: the recorded call, the session, and the call with its status compared.

    def call_load_circle_from_buffer(self, d: Any, _: Session, run: Any) -> None:
        model = None if d["model"] is None else base64.b64decode(d["model"])
        buffer = None if model is None else c.create_string_buffer(model, max(len(model), 1))
        self.models.append(buffer)
        run(buffer, c.c_size_t(len(model or b"")))

    def call_load_model_from_file(self, d: Any, _: Session, run: Any) -> None:
        run(text(d["path"]))

    def call_apply_tensorinfo(self, d: Any, _: Session, run: Any) -> None:
        run(c.c_uint32(d["index"]), tensor_info(d["info"]) or TensorInfo())

    def call_push_pipeline_input(self, d: Any, _: Session, run: Any) -> None:
        run(None, None)

    def call_pop_pipeline_output(self, d: Any, _: Session, run: Any) -> None:
        run(None)

    def call_set_config(self, d: Any, _: Session, run: Any) -> None:
        run(text(d["key"]), text(d["value"]))

    def call_get_config(self, d: Any, _: Session, run: Any) -> None:
        # The room is not recorded. Where a known key was refused it was NULL or too little.
        room = CONFIG_BYTES
        if d["status"] == 1 and d["key"] in ("EXECUTOR", "BACKENDS"):
            room = 1
        buffer = c.create_string_buffer(room)
        run(text(d["key"]), None if d["status"] == 2 and d["key"] else buffer, c.c_size_t(room))
        if d["status"] == 0:
            # The recorded value may have what was in the memory after it: it had no terminator.
            got = buffer.value.decode()
            if not got or not d["value"].startswith(got):
                raise Problem(f"get_config: '{got}', recorded '{d['value'][:60]}'")

    def call_query_info_u32(self, d: Any, _: Session, run: Any) -> None:
        value = c.c_uint32()
        run(d["id"], None if d["null"] else c.byref(value))
        if d["status"] == 0 and value.value < RECORDED_VERSION:
            raise Problem(f"query_info_u32: version {value.value:#x} is older than the recorded")

    def size(self, d: Any, _: Session, run: Any) -> None:
        value = c.c_uint32()
        run(None if d["null"] else c.byref(value))
        self.check_value(d, value.value)

    call_input_size = call_output_size = size

    def info(self, d: Any, _: Session, run: Any) -> None:
        info = TensorInfo()
        run(c.c_uint32(d["index"]), None if d["null"] else c.byref(info))
        if d["status"] == 0:
            dims = list(info.dims[:max(info.rank, 0)])
            self.check_value(d, {"dtype": info.dtype, "rank": info.rank, "dims": dims}, "info")

    call_input_tensorinfo = call_output_tensorinfo = info

    def index_of(self, d: Any, _: Session, run: Any) -> None:
        value = c.c_uint32()
        run(text(d["name"]), None if d["null"] else c.byref(value))
        self.check_value(d, value.value)

    call_input_tensorindex = call_output_tensorindex = index_of

    def call_set_input_tensorinfo(self, d: Any, _: Session, run: Any) -> None:
        info = tensor_info(d["info"])
        run(c.c_uint32(d["index"]), info and c.byref(info))

    def set_buffer(self, d: Any, session: Session, run: Any) -> None:
        kind = d["call"].removeprefix("train_").removeprefix("set_")
        previous = session.buffers.get((kind, d["index"]))
        buffer = None if d["null"] else session.bind(kind, d["index"], d["length"])
        run(c.c_uint32(d["index"]), d["dtype"], buffer, c.c_size_t(d["length"]))
        if d["status"] and previous is not None:
            session.buffers[kind, d["index"]] = previous

    call_set_input = call_set_output = call_train_set_output = set_buffer

    def train_buffer(self, d: Any, session: Session, run: Any) -> None:
        info = tensor_info(d["info"])
        size = int(np.prod(d["info"]["dims"])) * 8 if info else 1 << 16
        kind = d["call"].removeprefix("train_set_")
        buffer = None if d["null"] else session.bind(kind, d["index"], size)
        run(c.c_uint32(d["index"]), buffer, info and c.byref(info))

    call_train_set_input = call_train_set_expected = train_buffer

    def call_train_set_traininfo(self, d: Any, _: Session, run: Any) -> None:
        info = d["info"]
        value = info and TrainInfo(*(info[name] for name, _type in TrainInfo._fields_))
        run(value and c.byref(value))

    def run_session(self, d: Any, session: Session, run: Any) -> None:
        session.fill("input", d.get("inputs", []))
        run()
        if d["status"] == 0 and "outputs" in d:
            session.compare(d["outputs"], d["call"])

    call_run = call_run_async = run_session

    def call_await(self, d: Any, session: Session, run: Any) -> None:
        run()
        if d["status"] == 0:
            session.compare(d.get("outputs", []), "await")

    def call_train(self, d: Any, session: Session, run: Any) -> None:
        session.fill("input", d.get("inputs", []))
        session.fill("expected", d.get("expected", []))
        run(c.c_bool(d["update"]))

    def call_train_get_loss(self, d: Any, _: Session, run: Any) -> None:
        value = c.c_float()
        run(c.c_uint32(d["index"]), c.byref(value))
        if d["status"] == 0:
            want = float(d["value"])
            if not np.isclose(value.value, want, rtol=1e-3, atol=1e-3, equal_nan=True):
                raise Problem(f"train_get_loss: {value.value}, recorded {want}")


def replay(library: str, trace: Path) -> str | None:
    """The first difference, or None."""
    run = Replay(library)
    for number, line in enumerate(trace.read_text().splitlines(), 1):
        try:
            run.call(json.loads(line))
        except Problem as problem:
            return f"call {number}: {problem}"
    return None


def main(library: str, folder: Path, names: list[str]) -> None:
    # Paths in traces are relative to the folder, and the library may write where it runs.
    with tempfile.TemporaryDirectory() as place:
        os.symlink(folder / "packages", Path(place, "packages"))
        os.chdir(place)
        for name in names:
            print(json.dumps({"begin": name}), flush=True)
            print(json.dumps({"problem": replay(library, folder / "traces" / name)}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]).resolve(), sys.argv[3:])
