"""Sessions for HTTP: URLs are sent as they were given, and answers are looked at for what they say
of the object, beside the bytes that fsspec hands on."""

from __future__ import annotations

import atexit
import functools
import os
import re
from typing import TYPE_CHECKING, Any, Final

from gradiva.eager.support.lazy_import import lazy_module

from .errors import CutError, StorageError, changed
from .urls import sendable

if TYPE_CHECKING:
    import asyncio
    from concurrent import futures

    aiohttp: Any
    yarl: Any
else:
    aiohttp = lazy_module("aiohttp")
    asyncio = lazy_module("asyncio")
    futures = lazy_module("concurrent.futures")
    yarl = lazy_module("yarl")

__all__ = ["Expected", "get_client", "http_range", "said_range"]

_MOST_UNTOLD: Final = 1 << 26
"""Bytes that are read of an object whose size nobody tells: its answer may have no end."""
_RANGE: Final = re.compile(r"\s*bytes\s+(\d{1,18})-(\d{1,18})/(?:\d{1,18}|\*)\s*", re.IGNORECASE)


class Expected:
    """What the answer must say of the object, where it says something.

    seen: whether an answer has told what is known of the object; size: of the object, where known
    or told; whole: the answer has all of the object, for its server knows no ranges.
    """

    def __init__(self, size: int | None, version: str) -> None:
        self._known = size, version
        self.clear()

    def clear(self) -> None:
        """For a request that is sent again."""
        self.size: int | None = self._known[0]
        self.seen = self.partial = self.whole = False
        self._headers: Any = {}

    def look(self, status: int, headers: Any) -> None:
        """Raises ObjectChangedError."""
        if status not in (200, 206):
            return
        self.partial, self.whole = status == 206, status == 200
        self.tell(_size(status, headers), headers)

    def tell(self, size: int | None, headers: Any) -> None:
        """What an answer says of the object. Raises ObjectChangedError."""
        if self.size is not None and size is not None and size != self.size:
            raise changed(f"of {self.size} bytes", f"of {size}")
        self.size = size if self.size is None else self.size
        self._headers = headers
        self.seen = self.compare(self._known[1])

    def compare(self, version: str) -> bool:
        """Whether the answer has told this version. Raises ObjectChangedError for another one."""
        name, _, value = version.partition(" ")
        told = self._headers.get(name) if name else None
        if told is not None and told.removeprefix("W/") != value.removeprefix("W/"):
            raise changed(version, told)
        return not version or told is not None


def _size(status: int, headers: Any) -> int | None:
    """Of the whole object."""
    if headers.get("Content-Encoding", "identity") not in ("identity", ""):
        return None
    if status == 206:
        total = headers.get("Content-Range", "").rpartition("/")[2]
    else:
        total = headers.get("Content-Length", "")
    return int(total) if total.isdecimal() and len(total) < 19 else None


def said_range(headers: Any, begin: int, end: int) -> tuple[int, int] | None:
    """The bytes that an answer of status 206 says it has; None where it says nothing. Raises
    StorageError where it has not even the first of those that were asked for."""
    said = headers.get("Content-Range")
    if said is None and "multipart" not in headers.get("Content-Type", ""):
        return None
    found = _RANGE.fullmatch(said or "")
    if found is None or not int(found[1]) <= begin <= int(found[2]):
        told = "several parts" if said is None else repr(said)
        raise StorageError(
            f"the server answers other bytes than it was asked for ({told} for bytes {begin} to "
            f"{end}): copy the data to a disk"
        )
    return int(found[1]), int(found[2]) + 1


async def http_range(system: Any, url: str, begin: int, end: int, expected: Expected) -> bytes:
    """These bytes, or the first of them; all bytes from `begin` on, where the server knows no
    ranges and the size was not known. Raises ObjectChangedError, StorageError, CutError, and what
    fsspec raises.

    As `cat_file` of fsspec's file system, in its session, without what that costs beside the
    request. What the answer says of the object is looked at before its bytes are waited for, and no
    more of them is kept than was asked for.
    """
    if begin == end:
        return b""
    more = {name: value for name, value in system.kwargs.items() if name != "headers"}
    wanted = {"Accept-Encoding": "identity", "Range": f"bytes={begin}-{end - 1}"}
    headers = {**system.kwargs.get("headers", {}), **wanted}
    session = await system.set_session()
    known = expected.size
    async with session.get(system.encode_url(url), headers=headers, **more) as answer:
        system._raise_not_found_for_status(answer, url)
        expected.look(answer.status, answer.headers)
        if expected.partial:
            said = said_range(answer.headers, begin, end)
            first, last = (begin, end) if said is None else said
            count = min(end, last) - begin
            return await _part(answer, begin - first, count, last <= end, said is None)
        if known is not None:
            return await _part(answer, begin, end - begin, end == known)
        if expected.size is not None:
            return await _part(answer, begin, expected.size - begin, True)
        return await _part(answer, begin, None, True)


async def _part(
    answer: Any, skipped: int, count: int | None, ends: bool, fewer: bool = False
) -> bytes:
    """That many bytes of the body behind the first ones, all of them for None. ends: nothing is
    behind them; fewer: there may be fewer."""
    kept: list[bytes] = []
    left = _MOST_UNTOLD if count is None else count
    # A body that ends is read to its end, so that the connection is used again.
    while left or ends:
        piece = await answer.content.readany()
        if not piece:
            break
        if skipped:
            cut = min(skipped, len(piece))
            skipped, piece = skipped - cut, piece[cut:]
        if len(piece) > left:
            if count is None:
                raise StorageError(
                    f"the server does not say how large it is, and has sent {_MOST_UNTOLD} bytes: "
                    "copy the data to a disk"
                )
            if ends:
                raise StorageError(
                    f"more bytes came than the {count} that the server was asked for: copy the "
                    "data to a disk"
                )
            piece = piece[:left]
        left -= len(piece)
        kept.append(piece)
    if left and count is not None and not fewer:
        raise CutError(f"{count - left} bytes came")
    return b"".join(kept)


@functools.lru_cache(None)
def _request_class() -> Any:
    """Requests, the redirected ones among them, whose URLs are sent as they are. Otherwise what is
    encoded without need is decoded on the way, and a signature of the URL no longer fits it."""

    class Request(aiohttp.ClientRequest):  # type: ignore[misc]
        def __init__(self, method: str, url: Any, *args: Any, **options: Any) -> None:
            host = url.raw_authority
            if not host.isascii():
                host = yarl.URL(f"{url.scheme}://{host}").raw_authority
            target = sendable(url.raw_path, url.raw_query_string)
            whole = yarl.URL(f"{url.scheme}://{host}{target}", encoded=True)
            super().__init__(method, whole, *args, **options)

    return Request


async def get_client(**options: Any) -> Any:
    """A session for fsspec, which is closed at the end of the process that made it. It is given
    URLs as they are (`encoded=True`)."""
    if "connector" not in options:
        options["connector"] = aiohttp.TCPConnector(limit=0)  # `Fetcher` limits them
    session = aiohttp.ClientSession(
        **{"request_class": _request_class(), "requote_redirect_url": False, **options}
    )
    atexit.register(_close, os.getpid(), asyncio.get_running_loop(), session)
    return session


def _close(process: int, loop: asyncio.AbstractEventLoop, session: Any) -> None:
    if process == os.getpid():
        futures.wait([asyncio.run_coroutine_threadsafe(session.close(), loop)], timeout=1)
