"""The guides and tutorials of the repository as pages of the site."""

from __future__ import annotations

import re
from pathlib import Path

from .registry import ROOT

__all__ = ["GUIDES", "TUTORIALS", "guide_page", "guides_index", "tutorial_page", "tutorials_index"]

GUIDES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    ROOT / "CONTRIBUTING.md",
    ROOT / "SECURITY.md",
    ROOT / "CHANGELOG.md",
]
TUTORIALS = sorted((ROOT / "tutorials").glob("*.py"))
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


def tutorial_page(path: Path) -> str:
    """A tutorial in the percent format: its text, and its code, which is not run."""
    text = path.read_text("utf-8")
    parts: list[str] = []
    marks = list(_MARKER.finditer(text))
    for mark, following in zip(marks, [*marks[1:], None], strict=True):
        cell = text[mark.end() : following.start() if following else len(text)].strip("\n")
        if mark[1]:
            lines = (line.removeprefix("#").removeprefix(" ") for line in cell.split("\n"))
            parts.append("\n".join(lines))
        elif cell:
            parts.append(f"````python\n{cell}\n````")
    return _linked("\n\n".join(parts) + "\n", path.parent)


def _index(title: str, text: str, names: list[str]) -> str:
    return f"# {title}\n\n{text}\n\n```{{toctree}}\n:maxdepth: 1\n\n" + "\n".join(names) + "\n```\n"


def guides_index() -> str:
    """All guides."""
    return _index("Guides", "How the parts work.", [path.stem.lower() for path in GUIDES])


def tutorials_index() -> str:
    """All tutorials."""
    text = "Python files in `tutorials/`, which Jupytext opens as notebooks, with pictures."
    return _index("Tutorials", text, [path.stem for path in TUTORIALS])
