"""Ranges of objects by HTTP/1.1, for the usual answer: status 206, a length, no coding.

A request costs less than half of the CPU that it costs by way of aiohttp, obstore or urllib3, and
about half of what it costs by `http.client` in threads (`benchmarks/http_clients.py`); bytes come
right into the memory where they stay. Whatever is less usual (a redirect, a body in chunks, a
server that knows no ranges) is None here, and aiohttp's from then on for all of that server.
"""

from __future__ import annotations

import atexit
import os
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from gradiva.eager.support.lazy_import import lazy_module

from .errors import CutError, StatusError

if TYPE_CHECKING:
    import asyncio
    import ssl
    from concurrent import futures

    from . import http_connection
    from .http_connection import Connection, Headers, Request, Result
else:
    asyncio = lazy_module("asyncio")
    futures = lazy_module("concurrent.futures")
    http_connection = lazy_module("gradiva.ops.storage.http_connection")
    ssl = lazy_module("ssl")

__all__ = ["PlainHttp"]

_URL: Final = re.compile(
    r"(https?)://([A-Za-z0-9][A-Za-z0-9.-]*)(?::(\d{1,5}))?((?:/[\w~-][\w.~-]*)+)"
)
"""Nothing to quote, no user, no query, no dots for folders."""
_IDLE: Final = 15.0
"""Seconds that a connection is kept for."""
_WHOLE: Final = 10
"""A request may take that many times what may pass without a byte."""

Server = tuple[str, str, int]
"""Scheme, host and port."""


class PlainHttp:
    """Connections to servers. timeout: seconds without a byte. All but the constructor runs in one
    loop."""

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._idle: dict[Server, list[Connection]] = {}
        self._busy: set[Connection] = set()
        self._unusual: set[Server] = set()
        self._watching = self._used = False
        self._context: Any = None

    async def get(
        self, url: str, begin: int, end: int, look: Callable[[int, Headers], None]
    ) -> memoryview | None:
        """These bytes of an object, or fewer where it ends; None: aiohttp is to ask.

        look: sees status and headers before the bytes are waited for. Raises what it raises,
        StatusError, FileNotFoundError, CutError, TimeoutError and OSError.
        """
        asked = self._request(url, begin, end, look)
        if asked is None:
            return None
        server, request = asked
        while True:
            connection, used = await self._connected(server)
            try:
                return await self._asked(server, connection, request)
            except StatusError as error:
                if error.status == 404:
                    raise FileNotFoundError(url) from error
                raise
            except (CutError, ConnectionError):
                if not used or connection.began:
                    raise
                # The server has closed it meanwhile; none of the others is tried like that.
                self._drop_idle(server)

    def ask(
        self,
        url: str,
        begin: int,
        end: int,
        look: Callable[[int, Headers], None],
        done: Callable[[Result], None],
    ) -> Connection | None:
        """As `get`, without a coroutine, if a connection is there that was used before: this one.

        done: called when it is over, with None where `get` is to ask. It may ask for the next.
        """
        asked = self._request(url, begin, end, look)
        connection = None if asked is None else self._kept(asked[0])
        if asked is None or connection is None:
            return None
        server, request = asked
        self._busy.add(connection)
        self._watch()

        def over(result: Result) -> None:
            self._busy.discard(connection)
            self._let_go(server, connection, result)
            if isinstance(result, CutError | ConnectionError) and not connection.began:
                self._drop_idle(server)
                result = None
            elif isinstance(result, StatusError) and result.status == 404:
                result = FileNotFoundError(url)
            done(result)

        connection.ask(request, over)
        return connection

    def _request(
        self, url: str, begin: int, end: int, look: Callable[[int, Headers], None]
    ) -> tuple[Server, Request] | None:
        """None: aiohttp is to ask."""
        parts = _URL.fullmatch(url)
        if parts is None or not parts[4].isascii():
            return None
        scheme, host = parts[1], parts[2]
        port = int(parts[3]) if parts[3] else 443 if scheme == "https" else 80
        server = scheme, host, port
        if server in self._unusual or port > 65535:
            return None
        name = f"{host}:{port}" if parts[3] else host
        text = (
            f"GET {parts[4]} HTTP/1.1\r\nHost: {name}\r\nAccept: */*\r\nAccept-Encoding: identity"
            f"\r\nRange: bytes={begin}-{end - 1}\r\nUser-Agent: gradiva\r\n\r\n"
        )
        return server, http_connection.Request(text.encode(), begin, end, look)

    async def _asked(
        self, server: Server, connection: Connection, request: Request
    ) -> memoryview | None:
        self._busy.add(connection)
        self._watch()
        try:
            found = await connection.get(request)
        except asyncio.CancelledError:
            connection.end()
            raise
        finally:
            self._busy.discard(connection)
        self._let_go(server, connection, found)
        return found

    def _let_go(self, server: Server, connection: Connection, found: Result) -> None:
        """A request is over: keep the connection, if it can be used again."""
        if found is None:
            self._unusual.add(server)
        elif connection.keep:
            self._idle.setdefault(server, []).append(connection)
        else:
            connection.end()

    def _kept(self, server: Server) -> Connection | None:
        """A connection that was used before."""
        idle = self._idle.get(server, [])
        while idle:
            connection = idle.pop()
            if connection.open:
                return connection
        return None

    async def _connected(self, server: Server) -> tuple[Connection, bool]:
        """A connection, and whether it was used before."""
        kept = self._kept(server)
        if kept is not None:
            return kept, True
        loop = asyncio.get_running_loop()
        scheme, host, port = server
        secure: dict[str, Any] = {}
        if scheme == "https":
            if self._context is None:
                self._context = ssl.create_default_context()
                self._context.set_alpn_protocols(["http/1.1"])
            secure = {"ssl": self._context, "ssl_handshake_timeout": self._timeout}
        making = loop.create_connection(
            lambda: http_connection.Connection(loop),
            host,
            port,
            happy_eyeballs_delay=0.25,
            **secure,
        )
        _, made = await asyncio.wait_for(making, self._timeout)
        if not self._used:
            self._used = True
            atexit.register(self._close, os.getpid(), loop)
        return made, False

    def _drop_idle(self, server: Server) -> None:
        for connection in self._idle.pop(server, []):
            connection.end()

    def _watch(self) -> None:
        if not self._watching:
            self._watching = True
            asyncio.get_running_loop().call_later(self._pause(), self._look_round)

    def _pause(self) -> float:
        return min(self._timeout / 4, _IDLE)

    def _look_round(self) -> None:
        """End what has stalled, and what nobody has used for a while."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        for connection in [*self._busy]:
            silent = now - connection.heard > self._timeout
            if silent or now - connection.since > _WHOLE * self._timeout:
                connection.end(TimeoutError("no bytes came"))
        for server, idle in self._idle.items():
            for connection in idle:
                if now - connection.since > _IDLE:
                    connection.end()
            self._idle[server] = [one for one in idle if one.open]
        self._watching = bool(self._busy) or any(self._idle.values())
        if self._watching:
            loop.call_later(self._pause(), self._look_round)

    def _close(self, process: int, loop: asyncio.AbstractEventLoop) -> None:
        if process != os.getpid():
            return

        async def every() -> None:
            for server in [*self._idle]:
                self._drop_idle(server)

        futures.wait([asyncio.run_coroutine_threadsafe(every(), loop)], timeout=1)
