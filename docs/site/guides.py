"""The front page, the guides and the tutorials: documents of the repository as pages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from . import markup
from .notebooks import FOLDER, TUTORIALS, built
from .operator_pages import page_name
from .registry import ROOT, known

__all__ = [
    "GUIDES",
    "TUTORIALS",
    "guide_page",
    "guides_index",
    "home_page",
    "page_of",
    "tutorial_page",
    "tutorials_index",
]

README = ROOT / "README.md"
INDEX = ROOT / "docs" / "README.md"
"""The list of the pages in docs, in the order in which a reader needs them."""
_LISTED = re.compile(r"^- \[([^\]\n]+)\]\(([^)\n]+)\): ", re.MULTILINE)
GUIDES = [
    *(INDEX.parent / name for _, name in _LISTED.findall(INDEX.read_text("utf-8"))),
    ROOT / "CONTRIBUTING.md",
    ROOT / "SECURITY.md",
    ROOT / "CHANGELOG.md",
]
_LINK = re.compile(r"(!?)\[([^\]\n]*(?:\n[^\]\n]*)?)\]\(([^)\s#:]+)(#[^)]*)?\)")
_FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
_MARKER = re.compile(r"^# %%( \[markdown\])?.*$", re.MULTILINE)


def page_of(path: Path) -> str | None:
    """The page of a document or tutorial, from the root of the site; None for other files."""
    if path == README:
        return "index"
    if path == INDEX:
        return "guides/index"
    if path in GUIDES:
        return f"guides/{path.stem.lower()}"
    return f"tutorials/{path.stem}" if path in TUTORIALS else None


def _linked(text: str, home: Path, root: str = "../") -> str:
    """Links to guides and tutorials lead to their pages; other files are named.

    root: the way from the page to the root of the site.
    """

    def replace(matched: re.Match[str]) -> str:
        target = (home / matched[3]).resolve()
        if matched[1]:
            return f"![{matched[2]}]({root}pictures/{target.name})"
        page = page_of(target)
        if page is not None:
            return f"[{matched[2]}]({root}{page}.md{matched[4] or ''})"
        place = target.relative_to(ROOT).as_posix()
        return f"`{place}`" if matched[2] == place else f"{matched[2]} (`{place}`)"

    parts = _FENCE.split(text)
    return "".join(part if i % 2 else _LINK.sub(replace, part) for i, part in enumerate(parts))


def guide_page(path: Path) -> str:
    """A document of the repository. In the table of operators each has a link to its page."""
    text = _linked(path.read_text("utf-8"), path.parent)
    if path.name != "operators.md":
        return text
    pages = {name: page_name(operator) for name, operator in known().items()}

    def replace(matched: re.Match[str]) -> str:
        page = pages.get(matched[1])
        return f"[{matched[0]}](../operators/{page}.md)" if page else matched[0]

    lines = text.splitlines(keepends=True)
    return "".join(
        re.sub(r"`([\w.]+)`", replace, line) if line.startswith("|") else line for line in lines
    )


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
        whole = text[mark.end() : following.start() if following else len(text)]
        cell = whole.strip("\n")
        if mark[1]:
            lines = (line.removeprefix("#").removeprefix(" ") for line in cell.split("\n"))
            cell = "\n".join(lines)
        yield Cell(bool(mark[1]), cell)


def _output(output: dict[str, Any]) -> str:
    """What a cell has printed or shown: the richest form that a page can hold."""
    if output["output_type"] == "stream":
        return markup.fenced("".join(output["text"]).rstrip()) if output["name"] == "stdout" else ""
    data = {kind: "".join(value) for kind, value in output.get("data", {}).items()}
    for kind in ("text/html", "image/svg+xml"):
        if kind in data:
            return markup.fenced(data[kind].rstrip(), "{raw} html")
    return markup.fenced(data["text/plain"].rstrip()) if "text/plain" in data else ""


def _index(title: str, text: str, names: list[str]) -> str:
    return f"# {title}\n\n{text}\n\n```{{toctree}}\n:maxdepth: 1\n\n" + "\n".join(names) + "\n```\n"


def guides_index() -> str:
    """All guides, in the sections of docs/README.md."""
    text = INDEX.read_text("utf-8").replace("\n\n## ", "\n\n\0## ")
    opening, *sections = text.split("\0")
    parts = [_linked(opening, INDEX.parent)]
    for section in sections:
        pages = [Path(name).stem.lower() for _, name in _LISTED.findall(section)]
        parts += [_linked(_titled(section), INDEX.parent), _hidden(pages)]
    others = [path for path in GUIDES if path.parent == ROOT]
    lines = [f"- [{_title(path)}]({path.stem.lower()}.md)" for path in others]
    parts += ["## For contributors\n\n" + "\n".join(lines) + "\n"]
    parts += [_hidden([path.stem.lower() for path in others])]
    return "\n".join(parts)


def _title(path: Path) -> str:
    """The heading of a document."""
    return path.read_text("utf-8").partition("\n")[0].removeprefix("# ")


def _titled(section: str) -> str:
    """The section with the titles of pages in place of the names of their files."""

    def replace(matched: re.Match[str]) -> str:
        return f"- [{_title(INDEX.parent / matched[2])}]({matched[2]}): "

    return _LISTED.sub(replace, section)


def _hidden(names: list[str]) -> str:
    """The order of pages for the sidebar; the page itself names them already."""
    return "```{toctree}\n:hidden:\n\n" + "\n".join(names) + "\n```\n"


def home_page() -> str:
    """The README as the front page, and the parts of the site for the sidebar."""
    parts = ["tutorials/index", "guides/index", "operators/index", "reference/index"]
    return _linked(README.read_text("utf-8"), ROOT, root="") + "\n" + _hidden(parts)


def tutorials_index() -> str:
    """All tutorials."""
    text = (
        "Python files in `tutorials/`, which Jupytext opens as notebooks. "
        "`python -m docs.site.notebooks` runs them, and writes notebooks with all outputs."
    )
    return _index("Tutorials", text, [path.stem for path in TUTORIALS])
