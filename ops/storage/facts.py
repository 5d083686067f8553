"""The facts of a remote object, and how a change of it is noticed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from gradiva.eager.support.lazy_import import lazy_module

from .errors import StorageError

if TYPE_CHECKING:
    import asyncio
else:
    asyncio = lazy_module("asyncio")

__all__ = ["Checks", "Entry", "ObjectFacts", "facts_of"]

_VERSIONS: Final = (
    *("ETag", "etag", "generation", "version_id", "VersionId", "md5Hash", "blob_id", "checksum"),
    *("Content-MD5", "Digest", "Last-Modified", "LastModified", "last_modified", "updated"),
    *("mtime", "created"),
)
"""The names of version attributes in file systems, the most reliable first."""


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
