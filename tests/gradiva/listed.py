"""Pages that list names with the tests of them, as the tests of these pages read them."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

__all__ = ["ROOT", "listed", "named_in", "page"]

ROOT = Path(__file__).parents[2]


@cache
def page(name: str) -> str:
    """The text of docs/`name`."""
    return (ROOT / "docs" / name).read_text("utf-8")


@cache
def listed(name: str, twice: tuple[str, ...] = ()) -> dict[str, tuple[str, str]]:
    """The names in the tables of docs/`name`, each with its test: a file and a function.

    twice: names that stand there more than once; the first place counts.
    """
    found: dict[str, tuple[str, str]] = {}
    rows = re.findall(r"^\| (`.*?`) \| .*? \| (tests/\S+\.py)::(\w+) \|$", page(name), re.MULTILINE)
    for names, file, test in rows:
        for one in re.findall(r"`([\w.]+)`", names):
            assert one not in found or one in twice, f"{one} is listed twice"
            found.setdefault(one, (file, test))
    return found


@cache
def named_in(file: str) -> set[str]:
    """The names of all functions that a file defines."""
    tree = ast.parse((ROOT / file).read_text("utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
