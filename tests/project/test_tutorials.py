"""The tutorials run from top to bottom, assert what they claim, and show pictures."""

from __future__ import annotations

import ast
import re
import sys
import types
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.tiers import few

TUTORIALS = sorted((Path(__file__).parents[2] / "tutorials").glob("*.py"))
MARKER = re.compile(r"^# %%(?P<markdown> \[markdown\])?$")
NEEDS = {"09_pytorch": "torch", "10_jax": "jax", "11_tensorflow": "tensorflow"}
"""What is not there wherever the tests run."""
MOST_LINES = 500
"""What can be read in a quarter of an hour."""


class Cell(NamedTuple):
    """A cell of a tutorial; `first` is the number of its first line, below the marker."""

    markdown: bool
    first: int
    lines: list[str]


def cells_of(path: Path) -> list[Cell]:
    """The cells of a file in the percent format."""
    cells: list[Cell] = []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        marker = MARKER.match(line)
        if marker:
            cells.append(Cell(bool(marker["markdown"]), number + 1, []))
        elif cells:
            cells[-1].lines.append(line)
        else:
            sound = line.startswith("# ") or not line
            assert sound, f"{path.name}:{number}: a line before the first cell"
    return cells


def run(path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Run a tutorial cell by cell; what a notebook would show: the last expression of each."""
    module = types.ModuleType("tutorial")
    monkeypatch.setitem(sys.modules, "tutorial", module)
    body = ast.parse(path.read_text("utf-8")).body
    shown = []
    for cell in cells_of(path):
        inside = range(cell.first, cell.first + len(cell.lines))
        statements = [node for node in body if node.lineno in inside]
        last = statements.pop() if statements and isinstance(statements[-1], ast.Expr) else None
        exec(compile(ast.Module(statements, []), path, "exec"), module.__dict__)
        if isinstance(last, ast.Expr):
            whole = compile(ast.Expression(last.value), path, "eval")
            shown.append(eval(whole, module.__dict__))
    return [value for value in shown if value is not None]


def assertions(path: Path) -> int:
    """How many claims a tutorial makes: assert statements, and calls of numpy.testing."""
    nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
    plain = sum(isinstance(node, ast.Assert) for node in nodes)
    calls = [node.func for node in nodes if isinstance(node, ast.Call)]
    return plain + sum(
        isinstance(function, ast.Attribute) and function.attr.startswith("assert_")
        for function in calls
    )


def test_all_are_there() -> None:
    assert [path.stem[:3] for path in TUTORIALS] == [f"{number:02}_" for number in range(12)]


@pytest.mark.parametrize("path", few(TUTORIALS, count=2), ids=lambda path: path.stem)
def test_tutorial(
    path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each asserts what it claims, prints something, and shows pictures that are sound."""
    if path.stem in NEEDS:
        pytest.importorskip(NEEDS[path.stem])
    shown = run(path, monkeypatch)
    assert capsys.readouterr().out
    assert assertions(path) >= 3
    pictures = 0
    for value in shown:
        svg = getattr(value, "_repr_svg_", None)
        html = getattr(value, "_repr_html_", None)
        if svg is not None:
            assert ElementTree.fromstring(svg()).tag.endswith("svg")
            pictures += 1
        elif html is not None:
            pictures += any(tag in html() for tag in ("<img", "<svg", "<table"))
    assert pictures >= 1


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_form(path: Path) -> None:
    """A title first, then cells of text and cells of code that a reader can take in."""
    cells = cells_of(path)
    assert cells[0].markdown
    assert cells[0].lines[0].startswith("# # ")
    for cell in cells:
        text = [line for line in cell.lines if line]
        assert text, f"{path.name}:{cell.first}: an empty cell"
        if cell.markdown:
            assert all(line.startswith("#") for line in text), f"{path.name}:{cell.first}"
        else:
            ast.parse("\n".join(cell.lines))
    assert sum(len(cell.lines) for cell in cells) < MOST_LINES
    assert sum(cell.markdown for cell in cells) >= 5


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_each_becomes_a_notebook(path: Path) -> None:
    """jupytext finds the same cells, and what it writes is a valid notebook."""
    jupytext = pytest.importorskip("jupytext")
    nbformat = pytest.importorskip("nbformat")
    notebook = nbformat.reads(jupytext.writes(jupytext.read(path), "ipynb"), as_version=4)
    nbformat.validate(notebook)
    kinds = [cell.cell_type for cell in notebook.cells]
    assert kinds == ["markdown" if cell.markdown else "code" for cell in cells_of(path)]
    assert notebook.cells[0].source.startswith("# ")
