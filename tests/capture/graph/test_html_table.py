"""Tables for notebooks."""

from __future__ import annotations

from gradiva.capture.graph.html_table import html_table


def test_cells_are_text() -> None:
    page = html_table("a <b>", ("", "n:", "`c`"), [("x\ny", 3, "f(<i>)")])
    assert page.startswith("<p>a &lt;b&gt;</p><table>")
    assert ">x<br>y</td>" in page
    assert "text-align:right;vertical-align:top'>3</td>" in page
    assert "<code>f(&lt;i&gt;)</code>" in page
    assert page.count("<th ") == 3


def test_without_rows() -> None:
    assert html_table("none", ("a", "b"), []) == "<p>none</p>"
