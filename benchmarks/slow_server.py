"""A server of the files in a folder, which waits before each answer; for `storage.py`.

One thread, which sends with `sendfile`: it runs on the cores that are measured, and should cost
little there. HEAD of `/cpu` answers with its seconds of CPU until then.
"""

from __future__ import annotations

import asyncio
import os
import re
import socket
import sys
import time
from pathlib import Path

FOLDER, LATENCY = Path(sys.argv[1]), float(sys.argv[2])
RANGE = re.compile(rb"\r\n[Rr]ange: *bytes=(\d+)-(\d+)")
ROOM = 4 << 20
"""Bytes of an answer that the system takes over at once."""

files: dict[bytes, tuple[int, int]] = {}
"""Descriptor and size of each file that was asked for."""


def opened(path: bytes) -> tuple[int, int]:
    if path not in files:
        number = os.open(FOLDER / path.decode(), os.O_RDONLY)
        files[path] = number, os.fstat(number).st_size
    return files[path]


class Connection:
    """What one client asks for, one request after the other."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket, self._number = connection, connection.fileno()
        self._loop = asyncio.get_running_loop()
        self._text = b""
        self._file = self._begin = self._end = 0
        self._loop.add_reader(self._number, self._read)

    def _close(self) -> None:
        self._loop.remove_reader(self._number)
        self._loop.remove_writer(self._number)
        self._socket.close()

    def _read(self) -> None:
        try:
            data = self._socket.recv(1 << 16)
        except BlockingIOError:
            return
        except ConnectionError:
            data = b""
        if not data:
            self._close()
            return
        self._text += data
        if self._text.endswith(b"\r\n\r\n"):
            request, self._text = self._text, b""
            self._loop.call_later(LATENCY, self._answer, request)

    def _answer(self, request: bytes) -> None:
        method, path, _ = request.split(b" ", 2)
        if path == b"/cpu":
            head = [f"HTTP/1.1 200 OK\r\nContent-Length: {int(time.process_time() * 1e6)}"]
            self._file = self._begin = self._end = 0
        else:
            self._file, size = opened(path[1:])
            found = RANGE.search(request)
            self._begin, self._end = 0, size
            if found:
                self._begin, self._end = int(found[1]), min(int(found[2]) + 1, size)
            head = [
                "HTTP/1.1 206 Partial Content" if found else "HTTP/1.1 200 OK",
                f"Content-Length: {self._end - self._begin}",
                f'ETag: "{size}"',
                *([f"Content-Range: bytes {self._begin}-{self._end - 1}/{size}"] if found else []),
            ]
        if method == b"HEAD":
            self._end = self._begin
        try:
            more = socket.MSG_MORE if self._begin < self._end else 0
            self._socket.send(("\r\n".join(head) + "\r\n\r\n").encode(), more)
        except ConnectionError:
            self._close()
            return
        self._send(waits=False)

    def _send(self, waits: bool = True) -> None:
        try:
            while self._begin < self._end:
                left = self._end - self._begin
                self._begin += os.sendfile(self._number, self._file, self._begin, left)
        except BlockingIOError:
            if not waits:
                self._loop.add_writer(self._number, self._send)
            return
        except ConnectionError:
            self._close()
            return
        if waits:
            self._loop.remove_writer(self._number)


def accept(listening: socket.socket) -> None:
    connection, _ = listening.accept()
    connection.setblocking(False)
    Connection(connection)


async def serve() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=1024) as listening:
        listening.setblocking(False)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, ROOM)  # those of it have it too
        asyncio.get_running_loop().add_reader(listening.fileno(), accept, listening)
        print(listening.getsockname()[1], flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve())
