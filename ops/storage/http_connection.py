"""A connection to an HTTP server, which reads bodies right into the memory where they stay.

This module imports asyncio: import it when the first request is sent.
"""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np

from .errors import CutError, StatusError
from .ranges import LARGEST

_HEAD: Final = 1 << 16
"""Bytes that the head of an answer may have; small bodies come with it."""
_FIRST: Final = 1 << 11
"""Bytes that are read with the head where the body is known to be larger: they are copied to their
place. Of a body whose size is guessed, `LARGEST`, all may come with the head."""
_STATUS: Final = re.compile(rb"HTTP/1\.1 (\d{3}) ?([^\r\n]*)\r\n")


class Headers(dict[str, str]):
    """By names in lower case."""

    def get(self, name: str, default: Any = None) -> Any:
        return super().get(name.lower(), default)


class Request(NamedTuple):
    """What is asked for. text: as it is sent; begin, end: the bytes that it asks for, of which
    there may be fewer; look: sees status and headers before the bytes are waited for."""

    text: bytes
    begin: int
    end: int
    look: Callable[[int, Headers], None]


Result = memoryview | Exception | None
"""The bytes, or what went wrong; None where the answer is not the usual one."""


def _parsed(head: bytes) -> Headers:
    found = Headers()
    for line in head.decode("latin-1").split("\r\n"):
        name, _, value = line.partition(":")
        found[name.strip().lower()] = value.strip()
    return found


def _is_range(said: str, begin: int, count: int) -> bool:
    """Whether an answer says that it has these bytes."""
    return said.partition("/")[0] == f"bytes {begin}-{begin + count - 1}"


class Connection(asyncio.BufferedProtocol):
    """One request at a time.

    since: when the request was sent, or the last one was over; heard: when the last bytes came.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._head = bytearray(_HEAD)
        self._room = memoryview(self._head)
        self._used, self._most = 0, _HEAD
        self._body: memoryview | None = None
        self._place = 0
        self._request: Request | None = None
        self._done: Callable[[Result], None] | None = None
        self._transport: Any = None
        self._socket: Any = None
        self.since = self.heard = 0.0
        self.keep = self.open = True
        self.began = False
        """Whether bytes of an answer have come."""

    def ask(self, request: Request, done: Callable[[Result], None]) -> None:
        """Send a request. `done` is called in the loop when it is over, and may send the next."""
        self.began, self._place = False, 0
        self._most = _FIRST if _HEAD <= request.end - request.begin < LARGEST else _HEAD
        self._request, self._done = request, done
        self.since = self.heard = self._loop.time()
        self._transport.write(request.text)

    def get(self, request: Request) -> asyncio.Future[memoryview | None]:
        """Send a request."""
        ready = self._loop.create_future()

        def done(result: Result) -> None:
            if ready.done():
                return
            if isinstance(result, Exception):
                ready.set_exception(result)
            else:
                ready.set_result(result)

        self.ask(request, done)
        return ready

    def cancel(self) -> None:
        """Nobody wants the answer any more."""
        self.end(InterruptedError("nobody waits for it"))  # the other connections are good

    def end(self, error: Exception | None = None) -> None:
        """Close it at once; who waits gets this error."""
        self.keep = self.open = False
        if error is not None:
            self._over(error)
        self._transport.abort()

    def _over(self, result: Result) -> None:
        done, self._done = self._done, None
        self._body, self._used = None, 0
        self.since = self._loop.time()
        if done is not None:
            done(result)

    # What the loop calls.

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        if hasattr(socket, "TCP_QUICKACK"):
            self._socket = transport.get_extra_info("socket")

    def connection_lost(self, exc: Exception | None) -> None:
        self.keep = self.open = False
        what = f"{self._place} bytes came" if self._body is not None else "the server hung up"
        self._over(exc or CutError(what))

    def eof_received(self) -> bool:
        return False

    def get_buffer(self, sizehint: int) -> memoryview:
        if self._body is None:
            return self._room[self._used : self._most]
        return self._body[self._place :]

    def buffer_updated(self, nbytes: int) -> None:
        if self._done is None:  # nobody asked
            self.end()
            return
        self.heard = self._loop.time()
        self.began = True
        if self._body is None:
            begin = max(self._used - 3, 0)
            self._used += nbytes
            end = self._head.find(b"\r\n\r\n", begin, self._used)
            if end >= 0:
                self._begin(end)
            elif self._used == _HEAD:
                self.end(CutError("the answer has no end of its head"))
            self._most = _HEAD  # the head is longer than most
            return
        self._place += nbytes
        self._finish()

    def _finish(self) -> None:
        body = self._body
        if body is not None and self._place == len(body):
            self._over(body.toreadonly())

    def _begin(self, end: int) -> None:
        """The head is there, up to this byte."""
        try:
            length = self._length(bytes(self._room[:end]) + b"\r\n")
        except Exception as error:  # noqa: BLE001  for who waits
            self.end(error)
            return
        came = self._used - end - 4
        if length is None or came > length:
            self._over(None)
            self.end()
            return
        body = memoryview(np.empty(length, np.uint8).data)
        body[:came] = self._room[end + 4 : self._used]
        self._body, self._place = body, came
        if came < length and self._socket is not None:
            # Else servers that wait for an acknowledgment before they send the rest may do so for
            # 40 ms. The system forgets it with the next request.
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
        self._finish()

    def _length(self, head: bytes) -> int | None:
        """Bytes of the body; None where the answer is not the usual one. Raises what it says."""
        line = _STATUS.match(head)
        if line is None:
            return None
        status = int(line[1])
        if status >= 400:
            raise StatusError(status, line[2].decode("latin-1"))
        request = self._request
        assert request is not None
        headers = _parsed(head[line.end() :])
        length = headers.get("content-length", "")
        if (
            status != 206
            or "transfer-encoding" in headers
            or headers.get("content-encoding", "identity") not in ("identity", "")
            or not length.isdecimal()
            or len(length) > 18
            or int(length) > request.end - request.begin
            # Bytes of another place, as those that were left of an earlier answer, are not taken.
            or not _is_range(headers.get("content-range", ""), request.begin, int(length))
        ):
            return None
        request.look(status, headers)
        self.keep = headers.get("connection", "").lower() != "close"
        return int(length)
