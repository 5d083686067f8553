"""Parsers of what HTTP servers answer."""

from __future__ import annotations

from gradiva.ops.storage.http_checks import Expected, said_range
from gradiva.ops.storage.http_folders import links_below

URL = "http://host/folder"


def http_answer(data: bytes) -> None:
    """The lines of an answer about an object of 100 bytes, of which 10 were asked for."""
    first, *lines = data.decode("latin1").split("\n")
    headers = dict(line.partition(": ")[::2] for line in lines)
    expected = Expected(100, 'ETag "a"')
    expected.look(206 if first[:1] == "2" else 200, headers)
    said = said_range(headers, 0, 10)
    assert said is None or said[0] <= 0 < said[1]


def http_page(data: bytes) -> None:
    """The links of a page of a folder lead below it."""
    page = data.decode("utf-8", "ignore")
    for link in links_below(page, URL):
        below = link.replace("https", "http")
        assert below.startswith(f"{URL}/"), link


def pages() -> list[bytes]:
    return [
        b"<a href=\"a%20b.jpg\">a b.jpg</a> <a class='x' HREF = 'c&amp;d/'>c&amp;d/</a>",
        b'<a href="../">../</a> <a href="/folder/a.jpg">a</a> <a href="http://host/folder/b/">b</a>',
        b"see https://host/folder/a.jpg, and \xc3\xbc",
    ]
