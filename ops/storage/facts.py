"""The facts of a remote object, and how a change of it is noticed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from gradiva.eager.support.lazy_import import lazy_module

from .errors import StorageError

if TYPE_CHECKING:
    import asyncio
    import email.utils as mail
else:
    asyncio = lazy_module("asyncio")
    mail = lazy_module("email.utils")

_VERSIONS: Final = (
    *("ETag", "etag", "generation", "version_id", "VersionId", "md5Hash", "blob_id", "checksum"),
    *("Content-MD5", "Digest", "Last-Modified", "LastModified", "last_modified", "updated"),
    *("mtime", "created"),
)
"""The names of version attributes in file systems, the most reliable first."""
_TIMES: Final = frozenset(_VERSIONS[_VERSIONS.index("Last-Modified") : _VERSIONS.index("created")])
"""Those that are times of the last change."""
_SETTLED: Final = 2.0
"""Seconds: an object that was changed that long ago gets another time when it is changed again."""


class ObjectFacts(NamedTuple):
    """The version of an object. version: the attribute and its value, such as `ETag "5f3a"`; "" if
    there is none."""

    size: int
    version: str


class Entry(NamedTuple):
    """An entry of a folder."""

    name: str
    url: str
    is_folder: bool
    facts: ObjectFacts | None


def facts_of(info: dict[str, Any]) -> ObjectFacts:
    """The facts from a file system's answer. Raises StorageError if the size is missing."""
    size = info.get("size")
    if size is None:
        raise StorageError("the server does not say how large it is: copy the data to a disk")
    name = next((name for name in _VERSIONS if info.get(name)), "")
    value = info.get(name, "")
    if hasattr(value, "timestamp"):  # some file systems list times, others numbers
        value = value.timestamp()
    return ObjectFacts(int(size), f"{name} {value}" if name else "")


def identity_of(url: str, facts: ObjectFacts, asked: float) -> str | None:
    """A text that changes whenever the bytes of an object change; None where its version does not
    promise that. asked: the time before which its facts were not asked for, in seconds."""
    name, _, value = facts.version.partition(" ")
    if name in _TIMES:
        changed = _seconds(value)
        if changed is None or not changed + _SETTLED < asked:  # it may be no number
            return None
    elif name in ("", "created") or value.startswith("W/"):
        return None  # no version, or a weak ETag, which only tells of objects that mean the same
    return f"{url}\0{facts.size} {facts.version}"


def _seconds(value: str) -> float | None:
    """The seconds since 1970 of a time as servers and file systems tell it."""
    try:
        return float(value)
    except ValueError:
        pass
    try:
        return mail.parsedate_to_datetime(value).timestamp()
    except (ValueError, TypeError, OverflowError, IndexError):
        pass
    try:
        return datetime.fromisoformat(value).timestamp()
    except (ValueError, OverflowError):
        return None


class Checks:
    """Requests for the facts of an object. Callers that wait at the same time share one request."""

    def __init__(self) -> None:
        self._running: asyncio.Task[ObjectFacts] | None = None
        self._coming: asyncio.Task[ObjectFacts] | None = None

    @property
    def idle(self) -> bool:
        return self._coming is None and (self._running is None or self._running.done())

    async def next(self, ask: Callable[[], Awaitable[ObjectFacts]]) -> ObjectFacts:
        if self._coming is None:
            self._coming = asyncio.ensure_future(self._ask(self._running, ask))
        return await asyncio.shield(self._coming)

    async def _ask(
        self, before: asyncio.Task[ObjectFacts] | None, ask: Callable[[], Awaitable[ObjectFacts]]
    ) -> ObjectFacts:
        if before is not None:
            await asyncio.wait([before])
        self._running, self._coming = self._coming, None
        return await ask()
