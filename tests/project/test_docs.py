"""The documents are true: their examples run and print what they say, their links lead somewhere.

A block fenced as `python run` is executed; one fenced as `python run PACKAGE ...` is executed where
these packages are installed. The blocks of one document share their names, like the cells of a
notebook. A block fenced as `text output` that follows one is what it must print.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import linecache
import re
import runpy
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import gradiva
from gradiva.eager.operators.operator import operators

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("llms.txt")])
MADE_LATER = {"gradiva/prebuilt"}
"""What documents name and a clone does not have: a build makes it."""
MOST_LINES = 30
"""Of a recipe in docs/tasks.md."""

_BLOCK = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
_NAMED = re.compile(
    r"`((?:benchmarks|building|capture|docs|eager|examples|gradiva|ops|tests|tutorials)/[\w/.<>]+)`"
)
_TREE_LINE = re.compile(r"^( *)(\S+\.py|\S+/)(?: |$)")


def blocks(document: Path) -> list[tuple[str, str]]:
    """(what stands after the fence, text) of all fenced blocks."""
    return [(kind.strip(), text) for kind, text in _BLOCK.findall(document.read_text("utf-8"))]


def timeless(text: str) -> str:
    """The text without the times in it, which are others in each run."""
    return re.sub(r"\d+\.\d\d ms", "# ms", text)


def forget_all_but(names: set[str]) -> None:
    """Remove the operators that an example has declared."""
    for name in dict.keys(operators) - names:
        if not operators[name].__module__.startswith("gradiva."):
            del operators[name]


def with_examples() -> list[Path]:
    return [
        document
        for document in DOCUMENTS
        if any(kind.startswith("python run") for kind, _ in blocks(document))
    ]


def name_of(document: Path) -> str:
    return str(document.relative_to(ROOT))


@pytest.mark.parametrize("document", with_examples(), ids=name_of)
def test_examples(
    document: Path,
    photographs: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    for name in [*sys.modules]:
        if name.split(".")[:2] == ["nvidia", "dali"]:  # which other tests compare with
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.chdir(tmp_path)
    request.addfinalizer(partial(gradiva.set_num_threads, gradiva.get_num_threads()))
    request.addfinalizer(partial(forget_all_but, {*dict.keys(operators)}))
    (tmp_path / "photos").symlink_to(photographs, target_is_directory=True)
    names: dict[str, Any] = {}
    printed: str | None = ""
    number = 0
    linecache.clearcache()
    for kind, text in blocks(document):
        if kind.startswith("python run"):
            if any(importlib.util.find_spec(name) is None for name in kind.split()[2:]):
                printed = None
                continue
            number += 1
            script = f"example{number}.py"  # errors and reports show lines of earlier examples
            (tmp_path / script).write_text(text, "utf-8")
            stream = io.StringIO()
            with contextlib.redirect_stdout(stream):
                names = runpy.run_path(script, names, "__main__")
            printed = stream.getvalue()
        elif kind == "text output" and printed is not None:
            assert timeless(printed) == timeless(text), (
                f"the example before this output in {name_of(document)}"
            )


def test_examples_are_found() -> None:
    assert {ROOT / "README.md", ROOT / "llms.txt", ROOT / "docs" / "tasks.md"} <= {*with_examples()}


def test_the_error_policy_names_all_operators() -> None:
    """docs/errors.md lists what takes `on_error`; readers are said to take it all."""
    text = (ROOT / "docs" / "errors.md").read_text("utf-8").partition("\n|")[0]
    named = set(re.findall(r"`(?:decoders\.)?(\w+)`", text))
    taking = {
        name.removeprefix("decoders.")
        for name, operator in operators.items()
        if "on_error" in operator.arguments and "readers." not in name and name != "cached"
    }
    assert len(taking) >= 8
    assert sorted(taking - named) == []


def test_recipes_are_short() -> None:
    for kind, text in blocks(ROOT / "docs" / "tasks.md"):
        assert len(text.splitlines()) <= MOST_LINES, kind


def test_the_readme_is_short() -> None:
    lines = (ROOT / "README.md").read_text("utf-8").splitlines()
    assert len(lines) <= 150
    assert lines.index("import gradiva") < 60


def test_the_index_names_every_page() -> None:
    """docs/README.md has a line for each page, and each page stands there once."""
    index = ROOT / "docs" / "README.md"
    linked = re.findall(r"^- \[[^\]]+\]\(([^)]+)\):", index.read_text("utf-8"), re.MULTILINE)
    pages = {path.name for path in index.parent.glob("*.md")} - {index.name}
    assert len(linked) == len({*linked})
    assert pages <= {*linked}


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_links(document: Path) -> None:
    for target in _LINK.findall(_BLOCK.sub("", document.read_text("utf-8"))):
        assert (document.parent / target).exists(), target


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_files_that_are_named_exist(document: Path) -> None:
    if document.name == "CHANGELOG.md":
        return
    named = _NAMED.findall(document.read_text("utf-8"))
    missing = {name for name in named if "<" not in name and not (ROOT / name).exists()}
    assert missing - MADE_LATER == set()


def tree(document: Path) -> list[Path]:
    """Files and folders that the picture of the tree names."""
    text = next(text for kind, text in blocks(document) if kind == "text tree")
    folders: list[tuple[int, Path]] = [(-1, ROOT)]
    found = []
    for line in text.splitlines():
        matched = _TREE_LINE.match(line)
        if matched:
            depth, name = len(matched[1]), matched[2]
            while folders[-1][0] >= depth:
                folders.pop()
            path = folders[-1][1] / name
            found.append(path)
            if name.endswith("/"):
                folders.append((depth, path))
    return found


def test_tree() -> None:
    """What the picture names is there; it names the packages of the layers."""
    named = tree(ROOT / "docs" / "design.md")
    assert [str(path) for path in named if not path.exists()] == []
    for layer in ("eager", "ops", "capture"):
        for file in (ROOT / layer).rglob("__init__.py"):
            assert file.parent in named, file.parent


def test_the_design_is_short() -> None:
    """What each module does is said in its first line, details are in documents of their own."""
    assert len((ROOT / "docs" / "design.md").read_text("utf-8").splitlines()) <= 300


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_lines_are_short(document: Path) -> None:
    """Beside tables and code."""
    if document.name == "CHANGELOG.md":
        return
    text = _BLOCK.sub("", document.read_text("utf-8"))
    long = [line for line in text.splitlines() if len(line) > 100 and not line.startswith("|")]
    assert long == []
