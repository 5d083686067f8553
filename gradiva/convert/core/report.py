"""`ConversionReport`: how a converted function and the original differ on images, step by step."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from .report_html import page, table
from .rows import Row

__all__ = ["ConversionReport"]


class ConversionReport:
    """How a converted function and the original differ: `rows`, one for each step, and `whole`.

    `ok` says whether all are as promised, `exact` whether all bits were equal. A notebook shows the
    report; `save(path)` writes it as HTML.
    """

    def __init__(self, name: str, versions: str, names: Sequence[str], rows: Sequence[Row]) -> None:
        self.name = name
        self.versions = versions
        self.images = tuple(names)
        self.rows = tuple(rows[:-1])
        self.whole = rows[-1]

    @property
    def _head(self) -> str:
        count = len(self.images)
        return f"{self.name} on {count} image{'' if count == 1 else 's'}; {self.versions}"

    @property
    def ok(self) -> bool:
        """Whether each step and the whole are as promised."""
        return all(row.kept for row in (*self.rows, self.whole))

    @property
    def exact(self) -> bool:
        """Whether all bits of the whole result were equal, on all images."""
        return self.whole.compared > 0 and self.whole.equal == self.whole.compared

    @property
    def largest(self) -> float:
        """The largest difference of the whole result."""
        return self.whole.largest

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the report as a page of HTML, in one file with its pictures."""
        Path(path).write_text(page(self.name, self._head, [*self.rows, self.whole]), "utf-8")

    def _repr_html_(self) -> str:
        return table(self._head, [*self.rows, self.whole])

    def __repr__(self) -> str:
        lines = [self._head]
        rows = [*self.rows, self.whole]
        titles = [row.title if len(row.title) <= 60 else row.title[:57] + "..." for row in rows]
        width = max(map(len, titles))
        for title, row in zip(titles, rows, strict=True):
            missed = "" if row.kept else f"; promised: {row.promise}"
            lines.append(f"  {title:{width}}  {row.result}{missed}")
        return "\n".join(lines)
