# SPDX-License-Identifier: Apache-2.0
"""Rules of the source tree that a reader relies on, see capi/ARCHITECTURE.md."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
SRC = ROOT / "capi" / "src"
# What a layer may include besides itself.
BELOW = {
    "base": set(),
    "fb": {"base"},
    "kernels": {"base"},
    "graph": {"base"},
    "ops": {"base", "fb", "kernels", "graph"},
    "format": {"base", "fb", "graph", "ops"},
    "compile": {"base", "graph", "ops"},
    "plan": {"base", "graph", "ops"},
    "exec": {"base", "graph", "ops", "compile", "plan"},
    "train": {"base", "graph", "ops", "format", "compile", "plan", "exec"},
    "api": {"base", "graph", "ops", "format", "exec", "train", "nnfw"},
}
PUBLIC = {"nnfw"}


def sources(*folders: Path) -> list:
    return sorted(p for f in folders for p in f.rglob("*.[ch]"))


def includes(path: Path) -> list:
    return re.findall(r'^\s*#\s*include\s+["<]([^">]+)[">]', path.read_text(), re.M)


def test_includes_go_one_way() -> None:
    wrong = []
    for path in sources(SRC):
        layer = path.relative_to(SRC).parts[0]
        for name in includes(path):
            target = name.split("/")[0] if "/" in name else None
            known = target in BELOW or target in PUBLIC
            if known and target != layer and target not in BELOW[layer]:
                wrong.append(f"{path.relative_to(ROOT)} includes {name}")
    assert not wrong, "\n".join(wrong)


def test_tools_use_public_headers_only() -> None:
    wrong = [f"{p.name} includes {n}" for p in sources(ROOT / "tools") for n in includes(p)
             if n.split("/")[0] in BELOW]
    assert not wrong, "\n".join(wrong)


def test_file_names_are_unique() -> None:
    seen = {}
    for path in sources(SRC):
        seen.setdefault(path.name, []).append(str(path.relative_to(SRC)))
    assert {k: v for k, v in seen.items() if len(v) > 1} == {}


def test_files_begin_with_their_licence() -> None:
    files = sources(ROOT / "capi", ROOT / "tools", ROOT / "tests") + sorted(
        p for f in ("pyonert", "tests", "tools") for p in (ROOT / f).rglob("*.py*")
        if p.suffix in (".py", ".pyi"))
    licence = "SPDX-License-Identifier: Apache-2.0"
    wrong = [str(p.relative_to(ROOT)) for p in files
             if licence not in "".join(p.read_text().splitlines(True)[:2])]
    assert not wrong, "\n".join(wrong)


def test_files_stay_readable() -> None:
    long = [f"{p.relative_to(ROOT)}: {n} lines" for p in sources(SRC, ROOT / "tools")
            if (n := len(p.read_text().splitlines())) > 600]
    assert not long, "\n".join(long)
