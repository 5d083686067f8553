"""Write the tables of support in docs/convert.md: `python -m building.make_convert_tables`.

They are made of the rules that the converters declare. `test_convert_tables` checks that they are
up to date.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

from gradiva.convert.core.rules import Rules
from gradiva.convert.from_albumentations.convert import RULES as ALBUMENTATIONS
from gradiva.convert.from_huggingface.table import TABLE as HUGGINGFACE
from gradiva.convert.from_torchvision.convert import RULES as TORCHVISION

PAGE = Path(__file__).parents[1] / "docs" / "convert.md"


class Table(Protocol):
    """Something with a table in Markdown, which begins with `head`."""

    @property
    def head(self) -> str: ...
    def table(self) -> str: ...


RULES: tuple[Rules[Any], ...] = (TORCHVISION, ALBUMENTATIONS)
TABLES: tuple[Table, ...] = (*RULES, HUGGINGFACE)
"""The tables of all packages; each stands below a head of its own."""


def written(text: str) -> str:
    """The page with the tables in place of those that are there."""
    for rules in TABLES:
        before, head, rest = text.partition(rules.head)
        if not head:
            raise SystemExit(f"docs/convert.md has no table that begins with {rules.head!r}")
        text = before + rules.table() + "\n" + rest.partition("\n\n")[2]
    return text


def main() -> None:
    PAGE.write_text(written(PAGE.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
