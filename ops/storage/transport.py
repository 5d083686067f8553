"""Requests for objects: by obstore or fsspec, with a time limit, sent again where that helps. An
object that is another one than it was is an error.

All of it are coroutines of the loop in which fsspec runs its own.
"""

from __future__ import annotations

import functools
import html
import json
import os
from collections.abc import Awaitable, Callable
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import numpy as np

from gradiva.eager.support.errors import GradivaError, OperatorRuntimeError, OperatorValueError
from gradiva.eager.support.lazy_import import can_import, lazy_module

from .buckets.options import environment
from .errors import (
    CutError,
    ObjectChangedError,
    StorageError,
    changed,
    describe_failure,
    passes,
    status_of,
)
from .facts import Checks, Entry, ObjectFacts, facts_of
from .http_checks import Expected, get_client, http_range
from .http_folders import folder_links
from .loop import InThread, storage_loop
from .plain_http import PlainHttp
from .ranges import LARGEST, Data
from .urls import ODD_NAMES, place_of, scheme_of, service_of, shown

if TYPE_CHECKING:
    import asyncio
    from concurrent import futures

    from .buckets import store

    aiohttp: Any
    fsspec: Any
else:
    aiohttp = lazy_module("aiohttp")
    asyncio = lazy_module("asyncio")
    futures = lazy_module("concurrent.futures")
    fsspec = lazy_module("fsspec")
store = lazy_module("gradiva.ops.storage.buckets.store")

__all__ = ["Beginning", "Transport", "transport_of"]

T = TypeVar("T")

TRIES: Final = 5
_FIRST_PAUSE: float = 0.1
"""Seconds before the second try; each later one waits twice as long."""
_WHOLE: Final = 10
"""A request may take that many times what may pass without a byte."""
_PIECES: Final = 1 << 10
"""Answers in which a range may come."""
_REQUESTS: Final = 192
"""Requests that obstore runs at once, each in a thread: as many as `Fetcher` begins."""
_PACKAGES: Final = {
    "s3": "s3fs",
    "s3a": "s3fs",
    "gs": "gcsfs",
    "gcs": "gcsfs",
    "hf": "huggingface_hub",
    "abfs": "adlfs",
    "az": "adlfs",
    "http": "aiohttp",
    "https": "aiohttp",
}


class Beginning(NamedTuple):
    """The first `LARGEST` bytes of an object that has more, and what their answer said of it."""

    data: Data
    expected: Expected


class Transport:
    """The file systems behind URLs. options: for them; timeout: seconds without a byte."""

    def __init__(self, options: dict[str, Any], timeout: float) -> None:
        self._options, self._timeout = options, timeout
        self._systems: dict[str, tuple[Any, str]] = {}
        self._refused: set[str] = set()
        """Places that are opened again: credentials were refused for them, or the environment from
        which their stores were made has changed."""
        self._checks: dict[str, Checks] = {}
        self._plain = None if options else PlainHttp(timeout)
        self._untold: set[str] = set()
        """Servers whose answers do not say which object they are of."""
        self.threads = futures.ThreadPoolExecutor(16, "gradiva-storage")
        self._requests = futures.ThreadPoolExecutor(_REQUESTS, "gradiva-buckets")
        self.loop = storage_loop()

    def look_again(self) -> None:
        """Let the stores of buckets be made again where the environment has changed."""
        systems = list(self._systems.items())
        stores = [(place, system) for place, (system, _) in systems if _is_store(system)]
        if stores:
            now = environment()
            self._refused.update(place for place, one in stores if one.made_from[1] != now)

    def prepare(self, url: str) -> None:
        """Make the file system of a URL, in a thread that is not the loop's. Raises
        OperatorRuntimeError for a package that is missing, OperatorValueError for options."""
        self._prepare(url, place_of(url))

    def _prepare(self, url: str, place: str) -> None:
        known, _ = self._systems.get(place, (None, ""))
        if known is not None and (place not in self._refused or not _is_store(known)):
            return
        self._refused.discard(place)
        scheme, service = scheme_of(url), service_of(place)
        try:
            found = None
            if service is not None and not place.endswith(ODD_NAMES):
                found = store.store_of(url, self._options, self._timeout, known)
            self._systems[place] = self._opened(url, scheme) if found is None else (found, "")
        except ImportError as error:
            raise OperatorRuntimeError(
                f"paths with {scheme}:// need {_missing(url, error)}"
            ) from error
        except GradivaError:
            raise
        except (TypeError, ValueError, OSError) as error:
            raise OperatorValueError(
                f"{shown(url)} cannot be reached: {error}", argument="storage_options"
            ) from error

    def _opened(self, url: str, scheme: str) -> tuple[Any, str]:
        """A file system, and the path in it. Raises what fsspec and its like raise."""
        options = {"use_listings_cache": False, "skip_instance_cache": True, **self._options}
        classes = fsspec.get_filesystem_class
        first = url.partition("://")[0].partition("::")[0].lower()
        try:
            kind = classes(first)
        except ValueError as error:
            raise OperatorValueError(f"{shown(url)} cannot be reached: {error}") from error
        behind = url.rpartition("::")[2].partition("://")[0].lower()
        if "::" in url and behind in ("http", "https"):
            # Some file systems call the one behind them right away, in this loop.
            client = self._client(options.get(behind) or {})
            options[behind] = {**client, "asynchronous": False, "loop": self.loop}
        elif scheme in ("http", "https"):
            options |= self._client(options)
        elif kind.async_impl:
            options["loop"] = self.loop
        system, path = fsspec.core.url_to_fs(url, **options)
        return system, path

    def _client(self, given: dict[str, Any]) -> dict[str, Any]:
        """Sessions with a time limit, whose answers are looked at, and which are closed at the end:
        fsspec's own way of doing so would disturb the parent of a process that was forked."""
        limit = aiohttp.ClientTimeout(
            total=_WHOLE * self._timeout, sock_connect=self._timeout, sock_read=self._timeout
        )
        more = given.get("client_kwargs") or {}
        return {
            "encoded": True,
            **given,
            "asynchronous": True,
            "get_client": get_client,
            "client_kwargs": {"timeout": limit, **more},
        }

    def _at(self, url: str) -> tuple[Any, str]:
        system, path = self._systems[place_of(url)]
        return system, path if "::" in url else system._strip_protocol(url)

    async def _call(self, system: Any, name: str, *args: Any, **facts: Any) -> Any:
        """A function of a file system; TimeoutError if it takes too long."""
        if _is_store(system):  # it has limits of its own
            work = functools.partial(getattr(system, name), *args, **facts)
            return await asyncio.get_running_loop().run_in_executor(self._requests, work)
        if system.async_impl:
            running = getattr(system, f"_{name}")(*args, **facts)
        else:
            work = functools.partial(getattr(system, name), *args, **facts)
            running = asyncio.get_running_loop().run_in_executor(self.threads, work)
        return await asyncio.wait_for(running, _WHOLE * self._timeout)

    async def _tried(
        self,
        url: str,
        where: str,
        work: Callable[[], Awaitable[T]],
        failed: Exception | None = None,
    ) -> T:
        """What `work` returns, sent again while that may help. failed: how the first try ended, if
        there was one. Raises StorageError."""
        for number in range(1, TRIES + 1):
            try:
                if failed is not None and number == 1:
                    raise failed
                return await work()
            except StorageError:
                raise
            except Exception as error:
                if number < TRIES and passes(error):
                    await asyncio.sleep(_pause(number, url, where))
                    continue
                if isinstance(error, PermissionError) or status_of(error) in (400, 401, 403):
                    self._refused.add(place_of(url))
                text = f"{describe_failure(error, number)} ({where}{shown(url)})"
                raise StorageError(text) from error
        raise AssertionError

    async def facts(self, url: str) -> ObjectFacts:
        """Raises StorageError."""
        system, path = self._at(url)

        async def ask() -> ObjectFacts:
            info = await self._call(system, "info", path)
            if info.get("type") == "directory":
                raise IsADirectoryError("it is a folder")
            return facts_of(info)

        return await self._tried(url, "", ask)

    async def entries(self, url: str) -> list[Entry]:
        """What is in a folder, by name. Raises StorageError."""
        system, path = self._at(url)

        async def ask() -> list[dict[str, Any]]:
            nonlocal system, path
            try:
                if _is_store(system):
                    listed: list[dict[str, Any]] = await self._call(system, "ls", path)
                    return listed
            except store.OddNamesError:  # obstore refuses the whole list for one of its names
                loop, place = asyncio.get_running_loop(), place_of(url) + ODD_NAMES
                await loop.run_in_executor(self.threads, self._prepare, url, place)
                system = self._systems[place][0]
                path = system._strip_protocol(url)
            if not _is_http(system):
                rows: list[dict[str, Any]] = await self._call(system, "ls", path, detail=True)
                return rows
            links = await asyncio.wait_for(folder_links(system, path), _WHOLE * self._timeout)
            return [
                {"name": link, "type": "directory" if link.endswith("/") else "file"}
                for link in links
            ]

        rows = await self._tried(url, "the list of ", ask)
        found = {}
        # In a chain, the links of a page are text of HTML.
        text = html.unescape if "::" in url and scheme_of(url) in ("http", "https") else str
        for row in rows:
            full = text(str(row["name"])).rstrip("/")
            name = full.rpartition("/")[2]
            if full != path.rstrip("/") and name:
                folder = row.get("type") == "directory"
                known = None if folder or row.get("size") is None else facts_of(row)
                found[name] = Entry(name, f"{url.rstrip('/')}/{name}", folder, known)
        return [found[name] for name in sorted(found)]

    async def read(
        self, url: str, begin: int, end: int, facts: ObjectFacts, failed: Exception | None = None
    ) -> Data:
        """These bytes of an object that has these facts. failed: what `ask` told, if it was tried.
        Raises StorageError."""
        system, path = self._at(url)
        where = f"bytes {begin} to {end} of "

        async def ask() -> Data:
            expected = Expected(facts.size, facts.version)
            data = await self._range(system, path, begin, end, expected)
            whole = len(data) == facts.size and (begin, end) != (0, facts.size)
            if not expected.seen:  # a file system that says nothing beside the bytes
                await self._confirm(url, facts)
            if whole:  # the server knows no ranges
                data = data[begin:end]
            if len(data) != end - begin:
                raise CutError(f"{len(data)} bytes came")
            return data

        try:
            return await self._tried(url, where, ask, failed)
        except StorageError as error:
            if (
                error.__cause__ is not None and status_of(error.__cause__) == 416
            ):  # it has become shorter
                await self._confirm(url, facts)
            raise

    def ask(
        self,
        url: str,
        begin: int,
        end: int,
        facts: ObjectFacts | None,
        done: Callable[[Data | Beginning | Exception | None], None],
    ) -> Any:
        """As the first try of `read`, without its coroutines, or of `read_whole` up to this end for
        an object without facts: what can be cancelled, or None where it cannot be done.

        done: called with the bytes when they are there, or what went wrong, or the first bytes of a
        larger object, with which those two go on; with None if they are to begin.
        """
        place = place_of(url)
        system, _ = self._systems[place]
        bucket = _is_store(system)
        if (self._plain is None and not bucket) or place in self._untold:
            return None
        expected = Expected(*(None, "") if facts is None else (facts.size, facts.version))
        wanted = None if facts is None else end - begin

        def over(data: Data | Exception | None) -> None:
            if isinstance(data, bytes | memoryview):
                told = expected.size if wanted is None else wanted
                if told is None or not expected.seen:
                    self._untold.add(place)  # `read` asks for more than bytes
                if wanted is None and told is not None and told > len(data) == end:
                    done(Beginning(data, expected))
                    return
                if told != len(data) or not expected.seen:
                    data = None
            done(data)

        if bucket:
            read = functools.partial(system.read, system._strip_protocol(url), begin, end, expected)
            return InThread(read, self._requests, self.loop, over)
        assert self._plain is not None
        return self._plain.ask(url, begin, end, expected.look, over)

    async def read_whole(self, url: str, first: Beginning | Exception | None = None) -> Data:
        """All bytes of an object of which nothing is known yet. first: what `ask` told, if it was
        tried. Raises StorageError."""
        if isinstance(first, Beginning):
            return await self._with_rest(url, *first)
        system, path = self._at(url)
        expected = Expected(None, "")

        async def ask() -> Data:
            expected.clear()
            data = await self._range(system, path, 0, LARGEST, expected)
            if expected.partial and len(data) < min(expected.size or 0, LARGEST):
                raise CutError(f"{len(data)} bytes came")
            return data

        try:
            data = await self._tried(url, "", ask, first)
        except ObjectChangedError:
            raise
        except StorageError as error:
            # Where there are no bytes, the first ones cannot be asked for; obstore asks for all.
            if (
                _is_store(system)
                or isinstance(error.__cause__, FileNotFoundError | PermissionError)
                or (error.__cause__ is not None and passes(error.__cause__))
            ):
                raise
            if (await self.facts(url)).size:
                raise
            return b""
        # An answer of a part may be a short one; other storages tell the end by giving less.
        complete = len(data) == expected.size or (not expected.partial and len(data) < LARGEST)
        if expected.whole or complete:
            return data
        return await self._with_rest(url, data, expected)

    async def _with_rest(self, url: str, data: Data, expected: Expected) -> Data:
        """All bytes of an object of which these are the first ones."""
        facts = await self.facts(url)
        expected.compare(facts.version)
        try:
            np.empty(facts.size, np.uint8)
        except (MemoryError, ValueError):
            text = f"there is not enough memory for the {facts.size} bytes ({shown(url)})"
            raise StorageError(text) from None
        rest = [
            self.read(url, begin, min(begin + LARGEST, facts.size), facts)
            for begin in range(len(data), facts.size, LARGEST)
        ]
        return b"".join([data, *await asyncio.gather(*rest)])

    async def _range(
        self, system: Any, path: str, begin: int, end: int, expected: Expected
    ) -> Data:
        """These bytes, or fewer at the end; of a storage that knows no ranges, all bytes."""
        if _is_store(system):
            data: Data = await self._call(system, "read", path, begin, end, expected)
            return data
        if not _is_http(system):
            return bytes(await self._call(system, "cat_file", path, start=begin, end=end))
        found: list[Data] = []
        place = begin
        while place < end and len(found) < _PIECES:
            data = await self._http_range(system, path, place, end, expected)
            found.append(data)
            place += len(data)
            # A server may answer less than it is asked for; then it is asked for the rest.
            if not data or not expected.partial or expected.size is None:
                break
            end = min(end, expected.size)
        return found[0] if len(found) == 1 else b"".join(found)

    async def _http_range(
        self, system: Any, path: str, begin: int, end: int, expected: Expected
    ) -> Data:
        """The first of these bytes; of an object of unknown size all, if that is the answer."""
        if self._plain is not None:
            data = await self._plain.get(path, begin, end, expected.look)
            if data is not None:
                return data
        asked = http_range(system, path, begin, end, expected)
        if "timeout" in {**self._options, **(self._options.get("client_kwargs") or {})}:
            return await asyncio.wait_for(asked, _WHOLE * self._timeout)
        return await asked

    async def _confirm(self, url: str, facts: ObjectFacts) -> None:
        """Raise ObjectChangedError if the object is another one, now that its bytes have come."""
        checks = self._checks.setdefault(url, Checks())
        found = await checks.next(lambda: self.facts(url))
        if checks.idle:
            self._checks.pop(url, None)
        kinds = [one.version.partition(" ")[0] for one in (found, facts)]
        if found.size != facts.size or (kinds[0] == kinds[1] and found.version != facts.version):
            raise changed(f"{facts.size} bytes, {facts.version}", f"{found.size}, {found.version}")


@functools.lru_cache(None)
def _shared(process: int, options: str, timeout: float) -> Transport:
    return Transport(json.loads(options), timeout)


def transport_of(options: str, timeout: float) -> Transport:
    """The transport of this process for options, as JSON text. All are kept, and so are their
    connections, those to buckets as long as the environment is the same."""
    found = _shared(os.getpid(), options, timeout)
    found.look_again()
    return found


def _is_http(system: Any) -> bool:
    return getattr(system, "protocol", None) == ("http", "https")


def _missing(url: str, error: ImportError) -> str:
    """The package that reads a URL, and how it is installed."""
    scheme, service = scheme_of(url), service_of(url)
    package = _PACKAGES.get(scheme)
    if service is not None and not store.has_obstore():
        return f"obstore: pip install 'gradiva[{service}]' (or {package}: pip install {package})"
    if not can_import("fsspec"):
        return "fsspec: pip install 'gradiva[remote]'" + (f" {package}" if service else "")
    return f"{package}: pip install {package}" if package else f"a package: {error}"


def _is_store(system: Any) -> bool:
    return getattr(system, "protocol", None) == ("obstore",)


def _pause(number: int, url: str, where: str) -> float:
    """Seconds before the next try: longer each time, and not the same for all that failed."""
    digest = blake2b(f"{number}\0{where}\0{url}".encode("utf-8", "surrogateescape"), digest_size=2)
    part = int.from_bytes(digest.digest(), "little") / (1 << 16)
    return float(_FIRST_PAUSE * 2 ** (number - 1) * (0.5 + part))
