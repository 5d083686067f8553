"""A server of the files in a folder, which waits before each answer; for `storage.py`.

One thread, which waits with `epoll` and sends with `sendfile`, and no more Python for an answer
than it takes: it runs on the cores that are measured, and what it costs there is nothing that a
server elsewhere would. The latency is real: no byte of an answer is sent before it has passed.
HEAD of `/cpu` answers with its seconds of CPU until then.
"""

from __future__ import annotations

import os
import re
import select
import socket
import sys
import time
from collections import deque
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
        self.socket, self.number = connection, connection.fileno()
        self.text = b""
        self.file = self.begin = self.end = 0

    def read(self) -> bool:
        """Take what has come; whether it ends a request. Raises ConnectionError."""
        try:
            data = self.socket.recv(1 << 16)
        except BlockingIOError:
            return False
        if not data:
            raise ConnectionResetError
        self.text += data
        return self.text.endswith(b"\r\n\r\n")

    def answer(self) -> bool:
        """Whether all of it was sent. Raises ConnectionError."""
        request, self.text = self.text, b""
        method, path, _ = request.split(b" ", 2)
        if path == b"/cpu":
            head = b"HTTP/1.1 200 OK\r\nContent-Length: %d" % int(time.process_time() * 1e6)
            self.begin = self.end = 0
        else:
            self.file, size = opened(path[1:])
            found = RANGE.search(request)
            self.begin, self.end = 0, size
            if found:
                self.begin, self.end = int(found[1]), min(int(found[2]) + 1, size)
                place = self.begin, self.end - 1, size
                head = b"HTTP/1.1 206 Partial Content\r\nContent-Range: bytes %d-%d/%d" % place
            else:
                head = b"HTTP/1.1 200 OK"
            length = self.end - self.begin
            head += b'\r\nContent-Length: %d\r\nETag: "%d"' % (length, size)
        if method == b"HEAD":
            self.end = self.begin
        more = socket.MSG_MORE if self.begin < self.end else 0
        self.socket.send(head + b"\r\n\r\n", more)
        return self.send()

    def send(self) -> bool:
        """Go on with the body; whether it ended. Raises ConnectionError."""
        try:
            while self.begin < self.end:
                left = self.end - self.begin
                self.begin += os.sendfile(self.number, self.file, self.begin, left)
        except BlockingIOError:
            return False
        return True


class Server:
    """Connections, and the requests that wait until the latency has passed, the first one first."""

    def __init__(self, listening: socket.socket) -> None:
        self._listening = listening
        self._poll = select.epoll()
        self._poll.register(listening, select.EPOLLIN)
        self._connections: dict[int, Connection] = {}
        self._waiting: deque[tuple[float, Connection]] = deque()

    def run(self) -> None:
        while True:
            timeout = None
            if self._waiting:
                timeout = max(0.0, self._waiting[0][0] - time.monotonic())
            for number, event in self._poll.poll(timeout):
                if number == self._listening.fileno():
                    self._accept()
                else:
                    self._serve(self._connections[number], event)
            now = time.monotonic()
            while self._waiting and self._waiting[0][0] <= now:
                self._answer(self._waiting.popleft()[1])

    def _accept(self) -> None:
        made, _ = self._listening.accept()
        made.setblocking(False)
        self._connections[made.fileno()] = Connection(made)
        self._poll.register(made, select.EPOLLIN)

    def _serve(self, connection: Connection, event: int) -> None:
        try:
            if event & select.EPOLLOUT:
                if connection.send():
                    self._poll.modify(connection.number, select.EPOLLIN)
            elif connection.read():
                self._waiting.append((time.monotonic() + LATENCY, connection))
        except ConnectionError:
            self._close(connection)

    def _answer(self, connection: Connection) -> None:
        if self._connections.get(connection.number) is not connection:  # it is closed
            return
        try:
            if not connection.answer():
                self._poll.modify(connection.number, select.EPOLLOUT)
        except ConnectionError:
            self._close(connection)

    def _close(self, connection: Connection) -> None:
        del self._connections[connection.number]
        connection.socket.close()


def main() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=1024) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, ROOM)  # those of it have it too
        print(listening.getsockname()[1], flush=True)
        Server(listening).run()


if __name__ == "__main__":
    main()
