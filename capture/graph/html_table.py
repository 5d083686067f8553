"""Tables of text for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def html_table(head: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A line of text over a table, as HTML; without rows, the line alone.

    columns: their names, "" for none; a name that ends in ":" stands over numbers, which are set
    right, and one in backticks over code. Cells are text, which is escaped; lines stay apart.
    """
    styles = ["right" if name.endswith(":") else "left" for name in columns]

    def cell(kind: str, style: str, text: str, code: bool) -> str:
        text = escape(text).replace("\n", "<br>")
        inner = f"<code>{text}</code>" if code else text
        return f"<{kind} style='text-align:{style};vertical-align:top'>{inner}</{kind}>"

    body = "".join(
        "<tr>"
        + "".join(
            cell("td", style, str(value), name.startswith("`"))
            for style, name, value in zip(styles, columns, row, strict=True)
        )
        + "</tr>"
        for row in rows
    )
    if not body:
        return f"<p>{escape(head)}</p>"
    names = "".join(
        cell("th", style, name.strip(":`"), False)
        for style, name in zip(styles, columns, strict=True)
    )
    return f"<p>{escape(head)}</p><table><tr>{names}</tr>{body}</table>"
