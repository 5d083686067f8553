"""What an HTTP answer says of the object, beside the bytes that fsspec hands on."""

from __future__ import annotations

import atexit
import os
from typing import TYPE_CHECKING, Any

from gradiva.eager.support.lazy_import import lazy_module

from .errors import ObjectChangedError, changed

if TYPE_CHECKING:
    import asyncio
    from concurrent import futures

    aiohttp: Any
else:
    aiohttp = lazy_module("aiohttp")
    asyncio = lazy_module("asyncio")
    futures = lazy_module("concurrent.futures")

__all__ = ["Expected", "tracing"]


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


def tracing() -> Any:
    """For a client session: looks at the answers to requests that have an `Expected`."""
    config = aiohttp.TraceConfig()
    config.on_request_end.append(_look)
    return config


async def _look(session: Any, context: Any, answer: Any) -> None:
    expected = getattr(context, "trace_request_ctx", None)
    if isinstance(expected, Expected):
        try:
            expected.look(answer.response.status, answer.response.headers)
        except ObjectChangedError:
            answer.response.close()
            raise


async def get_client(**options: Any) -> Any:
    """A session for fsspec, which is closed at the end of the process that made it."""
    session = aiohttp.ClientSession(**options)
    atexit.register(_close, os.getpid(), asyncio.get_running_loop(), session)
    return session


def _close(process: int, loop: asyncio.AbstractEventLoop, session: Any) -> None:
    if process == os.getpid():
        futures.wait([asyncio.run_coroutine_threadsafe(session.close(), loop)], timeout=1)
