"""What a wheel has beside the package: the page of differences, stub files for old import paths."""

from __future__ import annotations

import re
import runpy
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PRIVATE = (
    *("gradiva.namespaces", "gradiva.operators"),
    *("gradiva.ops.class_names", "gradiva.ops.places"),
)
"""Old paths of what no user calls, besides those with a name that begins with _."""
UNTYPED = "from typing import Any\n\ndef __getattr__(name: str) -> Any: ...\n"


def contents() -> dict[str, bytes]:
    """The files by their names in the wheel."""
    page = (ROOT / "docs" / "differences.md").read_bytes()
    table = runpy.run_path(str(ROOT / "gradiva" / "compat" / "aliases.py"))
    stubs = dict(_stubs(table["ALIASES"]))
    for package in table["CLASS_PACKAGES"]:
        stubs[Path("gradiva", "ops", *package.split("."), "__init__.pyi")] = UNTYPED
    return {
        "gradiva/compat/differences.md": page,
        **{path.as_posix(): text.encode() for path, text in sorted(stubs.items())},
    }


def _stubs(aliases: dict[str, str]) -> Iterator[tuple[Path, str]]:
    """For type checkers, which know nothing of the finder that serves old paths."""
    for alias, real in aliases.items():
        if alias.startswith(PRIVATE) or "._" in alias:
            continue
        source = ROOT.joinpath(*real.split("."))
        for file in [source.with_suffix(".py"), *sorted(source.rglob("*.py"))]:
            if file.exists():
                inside = file.with_suffix("").relative_to(source).parts
                module = ".".join((real, *inside)).removesuffix(".__init__")
                yield Path(*alias.split("."), *inside).with_suffix(".pyi"), _stub(module, file)


def _stub(module: str, file: Path) -> str:
    lines = [f"from {module} import *"]
    if re.search(r"^(def )?__getattr__\b", file.read_text("utf-8"), re.MULTILINE):
        lines.append(f"from {module} import __getattr__ as __getattr__")
    return "\n".join(lines) + "\n"
