"""The tutorials run from top to bottom, assert what they claim, and show pictures."""

from __future__ import annotations

import ast
import hashlib
import json
import re
import sys
import types
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from docs.site.guides import tutorial_page
from docs.site.notebooks import NEEDS, TUTORIALS, build, built
from tests.tiers import few

MARKER = re.compile(r"^# %%(?P<markdown> \[markdown\])?$")
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
    assert [path.stem[:3] for path in TUTORIALS] == [f"{number:02}_" for number in range(16)]


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


@pytest.mark.full
@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_notebook(path: Path, tmp_path: Path) -> None:
    """As a notebook it runs, too, and has its outputs, as has its page on the site."""
    for package in ("jupytext", "nbclient", "nbformat", "ipykernel", NEEDS.get(path.stem)):
        if package is not None:
            pytest.importorskip(package)
    assert built(path, tmp_path) is None
    plain = tutorial_page(path, tmp_path)
    build(path, tmp_path)
    notebook = built(path, tmp_path)
    assert notebook is not None
    outputs = [one for cell in notebook["cells"] for one in cell.get("outputs", ())]
    assert {"stream"} < {one["output_type"] for one in outputs}
    assert not any(one["output_type"] == "error" for one in outputs)
    page = tutorial_page(path, tmp_path)
    assert page.count("````{raw} html") >= 1
    assert page.count("````text") >= 1
    assert page.count("````python") == plain.count("````python")


def test_pages_show_what_notebooks_hold(tmp_path: Path) -> None:
    """Texts, pictures and tables of a notebook, and not those of another text."""
    path = tmp_path / "01_small.py"
    path.write_text("# %% [markdown]\n# # Small\n#\n# Text.\n\n# %%\nprint(1)\n2\n")
    assert tutorial_page(path, tmp_path) == "# Small\n\nText.\n\n````python\nprint(1)\n2\n````\n"
    source = hashlib.blake2b(path.read_bytes(), digest_size=16).hexdigest()
    outputs = [
        {"output_type": "stream", "name": "stdout", "text": ["1\n", "`````\n"]},
        {"output_type": "stream", "name": "stderr", "text": ["progress"]},
        {"output_type": "execute_result", "data": {"text/plain": ["2"], "text/html": ["<b>2</b>"]}},
        {"output_type": "display_data", "data": {"image/svg+xml": ["<svg/>"]}},
        {"output_type": "execute_result", "data": {"text/plain": ["3"]}},
        {"output_type": "display_data", "data": {}},
    ]
    notebook = {
        "metadata": {"gradiva": {"source": source}},
        "cells": [
            {"cell_type": "markdown", "source": ["# Small\n", "\n", "Text."]},
            {"cell_type": "code", "source": ["print(1)\n", "2"], "outputs": outputs},
        ],
    }
    (tmp_path / "01_small.ipynb").write_text(json.dumps(notebook))
    page = tutorial_page(path, tmp_path)
    assert page.startswith("# Small\n\nText.\n\n````python\nprint(1)\n2\n````\n\n")
    assert "``````text\n1\n`````\n``````" in page
    assert "````{raw} html\n<b>2</b>\n````" in page
    assert "````{raw} html\n<svg/>\n````" in page
    assert "````text\n3\n````" in page
    assert "progress" not in page
    path.write_text(path.read_text() + "3\n")
    assert "<b>" not in tutorial_page(path, tmp_path)
