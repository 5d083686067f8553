"""Messages between the main process and its workers: a fixed header, JSON, and file descriptors.

Bulk data are not sent this way: they are in shared memory. Nothing that is received is executed:
there is no pickle, and a reply consists of numbers and text.
"""

from __future__ import annotations

import array
import json
import socket
import struct
from collections import deque
from collections.abc import Iterator, Sequence
from enum import IntEnum
from typing import Any

__all__ = ["BrokenMessageError", "MessageKind", "Received", "Stream", "send"]

_HEADER = struct.Struct("<4sHHI")  # mark, kind, descriptors, bytes of JSON
_MARK = b"grd1"
_LARGEST = 1 << 28
_CHUNK = 1 << 18
_MOST_DESCRIPTORS = 16


class MessageKind(IntEnum):
    """The kinds of messages."""

    SETUP = 1  # to a worker: its control page, and its sources if it did not inherit them
    SLOT = 2  # to a worker: a new place for results
    REFUSED = 3  # to a worker: there is no larger place
    TASK = 4  # to a worker: do this
    STOP = 5  # to a worker: end
    READY = 6  # from a worker: its sources are loaded
    UNUSABLE = 7  # from a worker: its sources cannot be loaded
    NEED = 8  # from a worker: the result needs a larger place
    DONE = 9  # from a worker: the result is there
    FORK = 10  # to the fork server: a new worker, on this connection
    STATUS = 11  # to the fork server: how did that worker end?
    ANSWER = 12  # from the fork server


NO_SIGNAL = getattr(socket, "MSG_NOSIGNAL", 0)
"""Flags for sending. Without them, a program with the default action for SIGPIPE would end without
a message when a worker has ended."""


class BrokenMessageError(Exception):
    """The received bytes are not a message."""


Received = tuple[MessageKind, dict[str, Any], list[int]]


def send(
    connection: socket.socket, kind: MessageKind, message: dict[str, Any], fds: Sequence[int] = ()
) -> None:
    """Send one message. Raises OSError if the other side is gone."""
    body = json.dumps(message, separators=(",", ":")).encode()
    data = memoryview(_HEADER.pack(_MARK, kind, len(fds), len(body)) + body)
    if fds:
        # Like socket.send_fds, which ignores the flags that it is given.
        rights = socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds)
        data = data[connection.sendmsg([data], [rights], NO_SIGNAL) :]
    if data:
        connection.sendall(data, NO_SIGNAL)


class Stream:
    """The messages that come over a connection."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._data = bytearray()
        self._fds: deque[int] = deque()

    def fill(self, flags: int = 0) -> bool:
        """Receive what has arrived, or wait for something. Returns False at the end of the
        connection."""
        try:
            data, fds, _, _ = socket.recv_fds(self._connection, _CHUNK, _MOST_DESCRIPTORS, flags)
        except (BlockingIOError, InterruptedError):
            return True
        except OSError:
            return False
        self._fds.extend(fds)
        self._data += data
        return bool(data)

    def messages(self) -> Iterator[Received]:
        """The complete messages so far. Raises BrokenMessageError."""
        while len(self._data) >= _HEADER.size:
            mark, kind, descriptors, length = _HEADER.unpack_from(self._data)
            if mark != _MARK or length > _LARGEST:
                raise BrokenMessageError("not a message")
            end = _HEADER.size + length
            if len(self._data) < end:
                return
            body = bytes(self._data[_HEADER.size : end])
            del self._data[:end]
            try:
                message = json.loads(body)
                known = MessageKind(kind)
            except (ValueError, RecursionError) as error:
                raise BrokenMessageError(str(error)) from None
            if not isinstance(message, dict) or len(self._fds) < descriptors:
                raise BrokenMessageError("not a message")
            yield known, message, [self._fds.popleft() for _ in range(descriptors)]

    def next(self) -> Received | None:
        """Wait for the next message; None at the end of the connection."""
        while True:
            for received in self.messages():
                return received
            if not self.fill():
                return None
