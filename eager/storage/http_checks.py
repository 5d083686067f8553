"""What an HTTP answer says of the object, beside the bytes that fsspec hands on."""

from __future__ import annotations

import atexit
import os
from typing import TYPE_CHECKING, Any

from gradiva.eager.support.lazy_import import lazy_module

from .errors import changed

if TYPE_CHECKING:
    import asyncio
    from concurrent import futures

    aiohttp: Any
else:
    aiohttp = lazy_module("aiohttp")
    asyncio = lazy_module("asyncio")
    futures = lazy_module("concurrent.futures")

__all__ = ["Expected", "get_client", "http_range"]


class Expected:
    """What the answer must say of the object, where it says something.

    seen: whether an answer has told what is known of the object; size: of the object, where known
    or told.
    """

    def __init__(self, size: int | None, version: str) -> None:
        self._known = size, version
        self.clear()

    def clear(self) -> None:
        """For a request that is sent again."""
        self.size: int | None = self._known[0]
        self.seen = False
        self._headers: Any = {}

    def look(self, status: int, headers: Any) -> None:
        """Raises ObjectChangedError."""
        if status not in (200, 206):
            return
        size = _size(status, headers)
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


async def http_range(system: Any, url: str, begin: int, end: int, expected: Expected) -> bytes:
    """These bytes, or all where the server knows no ranges. Raises ObjectChangedError, and what
    fsspec raises.

    As `cat_file` of fsspec's file system, in its session, without what that costs beside the
    request; and what the answer says of the object is looked at before its bytes are waited for.
    """
    if begin == end:
        return b""
    more = {name: value for name, value in system.kwargs.items() if name != "headers"}
    wanted = {"Accept-Encoding": "identity", "Range": f"bytes={begin}-{end - 1}"}
    headers = {**system.kwargs.get("headers", {}), **wanted}
    session = await system.set_session()
    async with session.get(system.encode_url(url), headers=headers, **more) as answer:
        system._raise_not_found_for_status(answer, url)
        expected.look(answer.status, answer.headers)
        return bytes(await answer.read())


async def get_client(**options: Any) -> Any:
    """A session for fsspec, which is closed at the end of the process that made it."""
    if "connector" not in options:
        options["connector"] = aiohttp.TCPConnector(limit=0)  # `Fetcher` limits them
    session = aiohttp.ClientSession(**options)
    atexit.register(_close, os.getpid(), asyncio.get_running_loop(), session)
    return session


def _close(process: int, loop: asyncio.AbstractEventLoop, session: Any) -> None:
    if process == os.getpid():
        futures.wait([asyncio.run_coroutine_threadsafe(session.close(), loop)], timeout=1)
