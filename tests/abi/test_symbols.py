# SPDX-License-Identifier: Apache-2.0
"""Headers, version script and library name the same functions."""

import re
import subprocess

import pytest
from built import INCLUDE, ROOT, compiler, library

PUBLISHED = {"nnfw.h": 22, "nnfw_experimental.h": 36, "nnfw_internal.h": 5}
# onert's library has the functions of nnfw_internal.h under these names only (LP64).
MANGLED = {
    "_Z15nnfw_set_configP12nnfw_sessionPKcS2_",
    "_Z15nnfw_get_configP12nnfw_sessionPKcPcm",
    "_Z28nnfw_load_circle_from_bufferP12nnfw_sessionPhm",
    "_Z28nnfw_train_export_circleplusP12nnfw_sessionPKc",
    "_Z15nnfw_get_outputP12nnfw_sessionjP15nnfw_tensorinfoPPKv",
}


def declared(header: str) -> set[str]:
    text = (INCLUDE / "nnfw" / header).read_text()
    code = re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.S)
    return set(re.findall(r"^NNFW_STATUS\s+(\w+)\s*\(", code, re.M))


def all_declared() -> set[str]:
    return set().union(*(declared(h) for h in (*PUBLISHED, "onert_ext.h")))


def in_map() -> set[str]:
    text = re.sub(r"/\*.*?\*/", "", (ROOT / "capi" / "libonert.map").read_text(), flags=re.S)
    nodes = re.fullmatch(r"\s*ONERT_1\.0\s*\{\s*global:(.*)local:\s*\*;\s*\};\s*", text, re.S)
    assert nodes, "one version node, everything else local"
    names = re.findall(r"(\w+);", nodes[1])
    assert len(names) == len(set(names))
    return set(names)


@pytest.mark.parametrize("header", PUBLISHED)
def test_number_of_published_functions(header: str) -> None:
    assert len(declared(header)) == PUBLISHED[header]


def test_map_has_the_headers_functions() -> None:
    assert in_map() == all_declared() | MANGLED


def test_library_exports_the_map() -> None:
    listed = subprocess.run([compiler("nm"), "-D", "--defined-only", str(library())], check=True,
                            capture_output=True, text=True).stdout
    symbols = [(line.split()[-2], line.split()[-1]) for line in listed.splitlines()]
    functions = {name.split("@")[0] for kind, name in symbols if kind == "T"}
    others = {name for kind, name in symbols if kind != "T" and not name.startswith("ONERT_")}
    assert functions == in_map()
    assert others == set()


def test_soname() -> None:
    dynamic = subprocess.run([compiler("readelf"), "-d", str(library())], check=True,
                             capture_output=True, text=True).stdout
    assert re.search(r"\(SONAME\).*\[libonert\.so\]", dynamic)
    needed = set(re.findall(r"\(NEEDED\).*\[([^]]+)\]", dynamic))
    assert not {n for n in needed if not re.match(r"(libc|libm|libpthread|ld-linux.*)\.so", n)}
