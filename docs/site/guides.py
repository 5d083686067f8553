"""The guides and tutorials of the repository as pages of the site."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from .notebooks import FOLDER, TUTORIALS, built
from .registry import ROOT

__all__ = ["GUIDES", "TUTORIALS", "guide_page", "guides_index", "tutorial_page", "tutorials_index"]

GUIDES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    ROOT / "CONTRIBUTING.md",
    ROOT / "SECURITY.md",
    ROOT / "CHANGELOG.md",
]
_LINK = re.compile(r"(!?)\[([^\]\n]*(?:\n[^\]\n]*)?)\]\(([^)\s#:]+)(#[^)]*)?\)")
_FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
_MARKER = re.compile(r"^# %%( \[markdown\])?.*$", re.MULTILINE)


def _linked(text: str, home: Path) -> str:
    """Links to guides and tutorials lead to their pages; other files are named."""

    def replace(matched: re.Match[str]) -> str:
        target = (home / matched[3]).resolve()
        if target in GUIDES:
            return f"[{matched[2]}](../guides/{target.stem.lower()}.md)"
        if target in TUTORIALS:
            return f"[{matched[2]}](../tutorials/{target.stem}.md)"
        place = target.relative_to(ROOT).as_posix()
        return f"`{place}`" if matched[2] == place else f"{matched[2]} (`{place}`)"

    parts = _FENCE.split(text)
    return "".join(part if i % 2 else _LINK.sub(replace, part) for i, part in enumerate(parts))


def guide_page(path: Path) -> str:
    """A document of the repository."""
    return _linked(path.read_text("utf-8"), path.parent)


class Cell(NamedTuple):
    """A cell of a tutorial. outputs: as notebooks have them."""

    is_text: bool
    source: str
    outputs: Sequence[dict[str, Any]] = ()


def tutorial_page(path: Path, folder: Path = FOLDER) -> str:
    """A tutorial: its text, its code, and its outputs where a notebook of it was built."""
    notebook = built(path, folder)
    parts: list[str] = []
    for cell in _cells_of_text(path) if notebook is None else _cells_of(notebook):
        if cell.is_text:
            parts.append(_linked(cell.source, path.parent))
        elif cell.source:
            parts.append(f"````python\n{cell.source}\n````")
        parts += filter(None, map(_output, cell.outputs))
    return "\n\n".join(parts) + "\n"


def _cells_of(notebook: dict[str, Any]) -> Iterator[Cell]:
    for cell in notebook["cells"]:
        outputs = cell.get("outputs", ())
        yield Cell(cell["cell_type"] == "markdown", "".join(cell["source"]), outputs)


def _cells_of_text(path: Path) -> Iterator[Cell]:
    """The cells of a file in the percent format, which was not run."""
    text = path.read_text("utf-8")
    marks = list(_MARKER.finditer(text))
    for mark, following in zip(marks, [*marks[1:], None], strict=True):
        cell = text[mark.end() : following.start() if following else len(text)].strip("\n")
        if mark[1]:
            lines = (line.removeprefix("#").removeprefix(" ") for line in cell.split("\n"))
            cell = "\n".join(lines)
        yield Cell(bool(mark[1]), cell)


def _output(output: dict[str, Any]) -> str:
    """What a cell has printed or shown: the richest form that a page can hold."""
    if output["output_type"] == "stream":
        return _block("text", "".join(output["text"])) if output["name"] == "stdout" else ""
    data = {kind: "".join(value) for kind, value in output.get("data", {}).items()}
    for kind in ("text/html", "image/svg+xml"):
        if kind in data:
            return _block("{raw} html", data[kind])
    return _block("text", data["text/plain"]) if "text/plain" in data else ""


def _block(kind: str, text: str) -> str:
    """A block of code or HTML, between more backticks than are in it."""
    longest = max((len(found) for found in re.findall("`+", text)), default=0)
    fence = "`" * max(4, longest + 1)
    return f"{fence}{kind}\n{text.rstrip()}\n{fence}"


def _index(title: str, text: str, names: list[str]) -> str:
    return f"# {title}\n\n{text}\n\n```{{toctree}}\n:maxdepth: 1\n\n" + "\n".join(names) + "\n```\n"


def guides_index() -> str:
    """All guides."""
    return _index("Guides", "How the parts work.", [path.stem.lower() for path in GUIDES])


def tutorials_index() -> str:
    """All tutorials."""
    text = (
        "Python files in `tutorials/`, which Jupytext opens as notebooks. "
        "`python -m docs.site.notebooks` runs them, and writes notebooks with all outputs."
    )
    return _index("Tutorials", text, [path.stem for path in TUTORIALS])
