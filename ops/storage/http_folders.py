"""Folders of HTTP servers: the links of their pages that lead to what is below them.

As `ls` of fsspec's file system, which reads a page however long it is, and takes time by more than
the square of the length of some.
"""

from __future__ import annotations

import codecs
import html
import re
from typing import Any, Final

from .errors import StorageError

__all__ = ["folder_links", "links_below"]

_LONGEST: Final = 1 << 25
"""Bytes of a page: some 300,000 links."""
_TAG: Final = re.compile(r"<a\s([^<>]*)", re.IGNORECASE)
_TARGET: Final = re.compile(r"(?:^|\s)href\s*=\s*(?:\"([^\"]*)\"|'([^']*)')", re.IGNORECASE)
_BARE: Final = re.compile(r"https?://[-a-zA-Z0-9@:%_+.~#?&/=]+")


async def folder_links(system: Any, url: str) -> set[str]:
    """URLs of what is in a folder; those of folders end in a slash. Raises StorageError for a page
    that is too long, and what aiohttp and fsspec raise."""
    session = await system.set_session()
    async with session.get(system.encode_url(url), **system.kwargs) as answer:
        system._raise_not_found_for_status(answer, url)
        kind = answer.headers.get("Content-Type", "text/html").partition(";")[0]
        page = await _text(answer) if kind == "text/html" else ""
    found = links_below(page, url)
    if not found and url.endswith("/"):
        return await folder_links(system, url.rstrip("/"))
    return found


async def _text(answer: Any) -> str:
    pieces: list[bytes] = []
    size = 0
    while piece := await answer.content.readany():
        size += len(piece)
        if size > _LONGEST:
            raise StorageError(f"the page of the folder has more than {_LONGEST} bytes")
        pieces.append(piece)
    try:
        name = codecs.lookup(answer.charset or "utf-8").name
    except LookupError:
        name = "utf-8"
    return b"".join(pieces).decode(name, "ignore")


def links_below(page: str, url: str) -> set[str]:
    """The URLs in a page, as they are, that lead below the one that it is from."""
    folder = url.rstrip("/") + "/"
    server = "/".join(url.split("/", 3)[:3])
    links = _BARE.findall(page)
    for tag in _TAG.finditer(page):
        if target := _TARGET.search(tag[1]):
            links.append(html.unescape(target[1] or target[2] or ""))
    found = set()
    for link in links:
        whole = f"{server}{link}" if link.startswith("/") and len(link) > 1 else link
        if not whole.startswith("http"):
            if whole not in ("", "..", "../"):
                found.add(folder + whole.lstrip("/"))
        elif whole.replace("https", "http").startswith(folder.replace("https", "http")):
            found.add(whole)
    return found
