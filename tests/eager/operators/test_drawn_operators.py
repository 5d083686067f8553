"""Every operator is compared with DALI over drawn arguments, or it is said why not."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

import gradiva.ops.external_source.numba_function
from gradiva.eager.operators.operator import operators
from tests.oracle.drawn_elsewhere import ELSEWHERE, WITHOUT

HERE = Path(__file__).parents[2]
assert gradiva.ops.external_source.numba_function  # with this, all operators are declared
OURS = {name for name, one in operators.items() if one.__module__.startswith("gradiva.")}


@cache
def tree_of(file: str) -> ast.Module:
    return ast.parse((HERE / file).read_text(encoding="utf-8"))


def table_of(file: str) -> set[str]:
    """The keys of the table LINES, without importing DALI."""
    (table,) = (
        node.value
        for node in tree_of(file).body
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "LINES"
    )
    assert isinstance(table, ast.Dict)
    return {key.value for key in table.keys if isinstance(key, ast.Constant)}  # type: ignore[misc]


def decorators_of(place: str) -> str | None:
    """What stands above a test, or None if there is no such test."""
    file, _, name = place.partition("::")
    for node in tree_of(file).body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return "\n".join(map(ast.unparse, node.decorator_list))
    return None


def test_every_operator_is_drawn_or_excused() -> None:
    tables = [table_of("oracle/lines.py"), table_of("oracle/test_drawn_random.py")]
    lists = [*tables, set(ELSEWHERE), set(WITHOUT)]
    assert not OURS.symmetric_difference(set().union(*lists))
    assert sum(map(len, lists)) == len(OURS), "an operator is listed twice"
    for place in ("oracle/test_drawn.py::test_drawn", "oracle/test_drawn_random.py::test_drawn"):
        assert "LINES" in (decorators_of(place) or "")


@pytest.mark.full
def test_the_tests_are_there() -> None:
    for name, place in ELSEWHERE.items():
        found = decorators_of(place)
        assert found is not None, f"{name}: {place} is gone"
        assert "given(" in found, f"{name}: {place} draws nothing"
        file = place.partition("::")[0]
        last = name.rpartition(".")[2]
        general = ("test_arithmetic.py", "test_reductions.py", "test_math.py")
        written = last in ast.unparse(tree_of(file)) or file.endswith(general)
        assert written, f"{name} does not occur in {file}"
    for name, (reason, place) in WITHOUT.items():
        assert reason, name
        assert decorators_of(place) is not None, f"{name}: {place} is gone"
