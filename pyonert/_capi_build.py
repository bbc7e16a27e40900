# SPDX-License-Identifier: Apache-2.0
"""Writes the C source of the extension module `pyonert.native._capi`, and its type stub.

The declarations come from the public headers themselves: the text between `/* cffi: begin */` and
`/* cffi: end */` of each header, so the binding cannot drift from the C API. The C compiler checks
every layout and signature (cffi API mode).

    python _capi_build.py source OUT.c nnfw.h nnfw_experimental.h nnfw_internal.h onert_ext.h
    python _capi_build.py stub OUT.pyi nnfw.h nnfw_experimental.h nnfw_internal.h onert_ext.h
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

MODULE = "pyonert.native._capi"
_MARKED = re.compile(r"/\* cffi: begin \*/(.*?)/\* cffi: end \*/", re.S)
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
_FUNCTION = re.compile(r"^[ \t]*NNFW_STATUS\s+(\w+)\s*\(([^;]*?)\)\s*;", re.M | re.S)
_ENUMERATION = re.compile(r"typedef\s+enum\b[^{]*\{(.*?)\}", re.S)

# Lines that the library logs, sent on to Python.
_CALLBACKS = 'extern "Python" void pyonert_log(int32_t level, const char *line, void *user);\n'


def declarations(headers: list[Path]) -> str:
    """Returns the marked declarations of the headers, without comments, as cffi takes them."""
    parts = []
    for header in headers:
        marked = _MARKED.findall(header.read_text(encoding="utf-8"))
        if not marked:
            raise SystemExit(f"{header}: no text between the cffi markers")
        parts += marked
    text = _COMMENT.sub("", "\n".join(parts))
    # cffi takes plain numbers in a #define; the compiler knows the value of any other.
    text = re.sub(
        r"^([ \t]*#[ \t]*define[ \t]+\w+)[ \t]+\(.*\)[ \t]*$", r"\1 ...", text, flags=re.M
    )
    return re.sub(r"\bNNFW_(EXPORT|API|PUBLIC|DEPRECATED)\b(\([^)]*\))?", "", text)


def c_source(headers: list[Path], out: Path) -> None:
    """Writes the C source of the extension module."""
    from cffi import FFI

    ffi = FFI()
    ffi.cdef(declarations(headers) + _CALLBACKS)
    includes = "".join(f"#include <nnfw/{header.name}>\n" for header in headers)
    ffi.set_source(MODULE, includes, py_limited_api=True)
    ffi.emit_c_code(str(out))


def _python_type(parameter: str) -> tuple[str, str]:
    """`const char *path` -> ("path", "CData"): name and Python type of a C parameter."""
    name = re.findall(r"\w+", parameter)[-1]
    if "*" in parameter or re.search(
        r"\bnnfw_(tensorinfo|\w+_callback)\b|\bonert_\w+_callback\b", parameter
    ):
        return name, "CData"
    if re.search(r"\b(float|double)\b", parameter):
        return name, "float"
    return name, "bool" if re.search(r"\b(_Bool|bool)\b", parameter) else "int"


def stub(headers: list[Path]) -> str:
    """Returns the text of the type stub."""
    text = declarations(headers)
    lines = [
        "# SPDX-License-Identifier: Apache-2.0",
        "# Written by `_capi_build.py stub` from the public headers; tests compare the two.",
        "from typing import Any",
        "",
        "CData = Any",
        "",
        "class _Ffi:",
        "    NULL: CData",
        "    error: type[Exception]",
        "    def new(self, ctype: str, init: object = ...) -> CData: ...",
        "    def gc(self, cdata: CData, destructor: object, size: int = ...) -> CData: ...",
        "    def release(self, cdata: CData) -> None: ...",
        "    def memmove(self, dest: CData, src: CData, n: int) -> None: ...",
        "    def from_buffer(self, ctype: str, data: object, require_writable: bool = ...)"
        " -> CData: ...",
        "    def buffer(self, cdata: CData, size: int = ...) -> Any: ...",
        "    def cast(self, ctype: str, value: object) -> CData: ...",
        "    def string(self, cdata: CData, maxlen: int = ...) -> bytes: ...",
        "    def sizeof(self, ctype: object) -> int: ...",
        "    def def_extern(self, name: str = ...) -> Any: ...",
        "",
        "class _Lib:",
    ]
    for body in _ENUMERATION.findall(text):
        lines += [f"    {name}: int" for name in re.findall(r"(?:^|,)\s*(\w+)", body)]
    lines += [f"    {name}: int" for name in re.findall(r"#[ \t]*define[ \t]+(\w+)", text)]
    lines.append("    pyonert_log: CData")
    for name, parameters in _FUNCTION.findall(text):
        arguments = [_python_type(p) for p in parameters.split(",") if p.strip() != "void"]
        head = f"    def {name}("
        listed = ["self"] + [f"{a}: {t}" for a, t in arguments]
        line = head + ", ".join(listed) + ") -> int: ..."
        if len(line) > 100:
            line = head + "\n        " + ",\n        ".join(listed) + ",\n    ) -> int: ..."
        lines.append(line)
    lines += ["", "ffi: _Ffi", "lib: _Lib", ""]
    return "\n".join(lines)


def main(argv: list[str]) -> None:
    """Command line, see the head of the file."""
    mode, out, headers = argv[0], Path(argv[1]), [Path(a) for a in argv[2:]]
    if mode == "source":
        c_source(headers, out)
    elif mode == "stub":
        out.write_text(stub(headers), encoding="utf-8")
    else:
        raise SystemExit(f"unknown mode {mode!r}")


if __name__ == "__main__":
    main(sys.argv[1:])
