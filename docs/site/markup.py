"""Text of docstrings as MyST Markdown."""

from __future__ import annotations

import re

from .docstrings import paragraphs

__all__ = ["escaped", "fenced", "indented", "inline", "table", "text"]

_SPECIAL = re.compile(r"([\\*_<>\[\]#$~{}|])")


def escaped(line: str) -> str:
    """Plain words: nothing in them is markup."""
    return _SPECIAL.sub(r"\\\1", line)


def inline(line: str) -> str:
    """Words with code between backticks, in which nothing else is markup."""
    parts = line.split("`")
    if len(parts) % 2 == 0:
        return escaped(line.replace("`", "'"))
    return "".join(
        (f"`{part}`" if part else "") if i % 2 else escaped(part) for i, part in enumerate(parts)
    )


def text(plain: str) -> str:
    """Paragraphs; what is laid out in columns, or indented, stays as it is."""
    return "\n\n".join(_paragraph(part) for part in paragraphs(plain))


def _paragraph(part: str) -> str:
    lines = part.splitlines()
    laid_out = [i for i, line in enumerate(lines) if re.search(r"\S {3,}\S|^ {4}", line)]
    if not laid_out:
        joined = inline(" ".join(line.strip() for line in lines))
        return (
            re.sub(r"^(\d+)([.)])|^([+=-])", r"\1\\\2\3", joined) if joined[:1] in "+=-" else joined
        )
    first, last = laid_out[0], laid_out[-1] + 1
    around = [lines[:first], lines[first:last], lines[last:]]
    before, after = (_paragraph("\n".join(piece)) if piece else "" for piece in around[::2])
    return "\n\n".join(filter(None, [before, fenced("\n".join(around[1])), after]))


def fenced(code: str, kind: str = "text") -> str:
    """Code, between more backticks than are in it."""
    longest = max((len(found) for found in re.findall("`+", code)), default=0)
    fence = "`" * max(4, longest + 1)
    return f"{fence}{kind}\n{code}\n{fence}"


def indented(block: str, width: int) -> str:
    """The lines of a block further to the right."""
    return "\n".join(" " * width + line if line else "" for line in block.splitlines())


def table(head: list[str], rows: list[list[str]]) -> str:
    """A table; the cells are markup already, but for line ends and what would end a cell."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(_cell(cell) for cell in row)} |" for row in lines)


def _cell(cell: str) -> str:
    return re.sub(r"(?<!\\)\|", r"\\|", cell.replace("\n", " "))
