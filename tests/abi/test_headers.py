# SPDX-License-Identifier: Apache-2.0
"""The public headers compile alone, as C and C++, without a warning, and say what they should."""

import re
import subprocess
from pathlib import Path

import pytest
from built import INCLUDE, compiler

HEADERS = sorted(p.name for p in (INCLUDE / "nnfw").glob("*.h"))
C = ["gcc", "-x", "c", "-pedantic", "-Wall", "-Wextra", "-Wstrict-prototypes", "-Wundef", "-Werror"]
CXX = ["g++", "-x", "c++", "-pedantic", "-Wall", "-Wextra", "-Wundef", "-Werror"]
LANGUAGES = [(C, "c99"), (C, "c11"), (C, "c17"), (CXX, "c++98"), (CXX, "c++11"), (CXX, "c++14"),
             (CXX, "c++17")]


def check(language: list[str], standard: str, source: str, folder: Path) -> None:
    file = folder / "source"
    file.write_text(source)
    done = subprocess.run(
        [compiler(language[0]), *language[1:], f"-std={standard}", "-fsyntax-only",
         f"-I{INCLUDE}", f"-I{INCLUDE / 'nnfw'}", str(file)],
        capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_there_are_five() -> None:
    assert HEADERS == ["nnfw.h", "nnfw_experimental.h", "nnfw_internal.h", "nnfw_version.h",
                       "onert_ext.h"]


@pytest.mark.parametrize("language,standard", LANGUAGES, ids=[s for _, s in LANGUAGES])
@pytest.mark.parametrize("header", HEADERS)
def test_alone(header: str, language: list[str], standard: str, tmp_path: Path) -> None:
    # Twice, for the guard; as <nnfw/x.h> and as <x.h>, both of which users write.
    check(language, standard,
          f"#include <nnfw/{header}>\n#include <{header}>\nextern int not_empty;\n", tmp_path)


@pytest.mark.parametrize("language,standard", [(C, "c11"), (CXX, "c++17")], ids=["c11", "c++17"])
def test_layout(language: list[str], standard: str, tmp_path: Path) -> None:
    check(language, standard, (Path(__file__).parent / "layout.c").read_text(), tmp_path)


def example(header: str) -> str:
    """The program in a comment of the header."""
    text = (INCLUDE / "nnfw" / header).read_text()
    found = re.search(r"^ \*   #include <nnfw\.h>\n.*?^ \*   \}\n", text, re.M | re.S)
    assert found, header
    return re.sub(r"^ \* {0,3}", "", found[0], flags=re.M)


@pytest.mark.parametrize("language,standard", [(C, "c11"), (CXX, "c++17")], ids=["c11", "c++17"])
@pytest.mark.parametrize("header", ["nnfw.h", "nnfw_experimental.h"])
def test_example(header: str, language: list[str], standard: str, tmp_path: Path) -> None:
    check(language, standard, example(header), tmp_path)


@pytest.mark.parametrize("header,guard", [
    ("nnfw.h", "__NNFW_H__"), ("nnfw_experimental.h", "__NNFW_EXPERIMENTAL_H__"),
    ("nnfw_internal.h", "__NNFW_INTERNAL_H__"), ("nnfw_version.h", "__NNFW_VERSION_H__")])
def test_guard(header: str, guard: str) -> None:
    # As published, so that ours and onert's headers do not meet in one translation unit.
    text = (INCLUDE / "nnfw" / header).read_text()
    assert f"#ifndef {guard}\n#define {guard}\n" in text


@pytest.mark.parametrize("header", HEADERS)
def test_marked_text_is_plain_c(header: str) -> None:
    """Between the markers is what the Python build hands to cffi."""
    text = (INCLUDE / "nnfw" / header).read_text()
    parts = re.findall(r"/\* cffi: begin \*/(.*?)/\* cffi: end \*/", text, re.S)
    assert parts
    for part in parts:
        code = re.sub(r"/\*.*?\*/|//[^\n]*", "", part, flags=re.S)
        for line in re.findall(r"^[ \t]*#.*$", code, re.M):
            assert re.fullmatch(r"#define [A-Z_]+ (0x[0-9a-f]+|\d+)", line), line
    outside = re.sub(r"/\* cffi: begin \*/.*?/\* cffi: end \*/", "", text, flags=re.S)
    functions = re.findall(r"^NNFW_STATUS (\w+)", outside, re.M)
    assert functions in ([], ["nnfw_prepare_pipeline"]), functions
