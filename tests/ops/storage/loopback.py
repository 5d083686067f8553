"""A server of objects on this machine, which does what it should not when it is told to."""

from __future__ import annotations

import contextlib
import http.client
import re
import socket
import threading
import time
from collections import deque
from collections.abc import Iterator
from hashlib import blake2b
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

__all__ = ["Loopback", "loopback"]


class Loopback:
    """objects: by path, such as "/a.bin". faults: one for each of the next requests for bytes:
    "503", "404", "503 SlowDown" (an error as S3 tells it), "cut", "stall", "ok", and "held", which
    waits until `let_go` is set. always: the fault of all requests for the bytes of a path.
    requests: method, path and range of what was asked. ranges: whether ranges are served. tags:
    whether objects have an ETag. latency: seconds before each answer. behind: the host and port of
    a server that answers in place of `objects`, where there is no fault. padding: bytes of a header
    that says nothing. longest: requests for more bytes are held as well."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.objects: dict[str, bytes] = {}
        self.faults: deque[str] = deque()
        self.always: dict[str, str] = {}
        self.requests: list[tuple[str, str, str]] = []
        self.ranges = self.tags = True
        self.latency = 0.0
        self.behind = ""
        self.padding = 0
        self.longest = 1 << 62
        self.let_go = threading.Event()
        self._tags: dict[int, tuple[bytes, str]] = {}
        self.released = threading.Event()
        """Ends what is stalled."""
        self.stalled = threading.Event()

    def tag(self, content: bytes) -> str:
        """The same for the same bytes."""
        found = self._tags.get(id(content))
        if found is None or found[0] is not content:
            digest = blake2b(content, digest_size=8).hexdigest()
            found = self._tags[id(content)] = content, f'"{digest}"'
        return found[1]

    def asked(self, method: str = "GET") -> list[tuple[str, str, str]]:
        return [one for one in self.requests if one[0] == method]


def _page(here: Loopback, path: str) -> bytes | None:
    """The list of a folder, as a page with links."""
    folder = path.rstrip("/") + "/"
    below = {one[len(folder) :].partition("/") for one in here.objects if one.startswith(folder)}
    if not below:
        return None
    names = sorted({name + slash for name, slash, _ in below})
    return "".join(f'<a href="{folder}{name}">{name}</a>\n' for name in names).encode()


@contextlib.contextmanager
def loopback() -> Iterator[Loopback]:
    """Serves until it is left."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def log_message(self, *_: object) -> None:
            pass

        def do_HEAD(self) -> None:
            self._answer(False)

        def do_GET(self) -> None:
            self._answer(True)

        def _refuse(self, status: int, code: str, body: bool) -> None:
            if not code:
                self.send_error(status)
                return
            text = f"<Error><Code>{code}</Code><Message>Told by the test.</Message></Error>"
            self.send_response(status)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text.encode() if body else b"")

        def _pass_on(self, body: bool, cut: bool) -> None:
            """The answer of the server behind this one, to the same request."""
            connection = http.client.HTTPConnection(here.behind)
            connection.request(self.command, self.path, headers=dict(self.headers.items()))
            answer = connection.getresponse()
            content = answer.read()
            connection.close()
            self.send_response_only(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in ("connection", "transfer-encoding"):
                    self.send_header(name, value)
            if body and answer.getheader("Content-Length") is None:
                self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if cut:
                content = content[: len(content) // 2]
                self.close_connection = True
            self.wfile.write(content if body else b"")
            if cut:
                self.wfile.flush()
                self.connection.shutdown(socket.SHUT_RDWR)

        def _answer(self, body: bool) -> None:
            wanted = self.headers.get("Range", "")
            here.requests.append((self.command, self.path, wanted))
            if here.latency:
                time.sleep(here.latency)
            fault = here.always.get(self.path, "ok")
            if body and fault == "ok" and here.faults:
                fault = here.faults.popleft()
            asked_for = re.fullmatch(r"bytes=(\d+)-(\d+)", wanted)
            if asked_for and int(asked_for[2]) - int(asked_for[1]) >= here.longest:
                here.let_go.wait()
            if body and fault == "held":
                here.let_go.wait()
            if fault[:3].isdecimal():
                self._refuse(int(fault[:3]), fault[4:], body)
                return
            if fault == "stall":
                here.stalled.set()
                here.released.wait()
                self.close_connection = True
                return
            if here.behind:
                self._pass_on(body, fault == "cut")
                return
            content = here.objects.get(self.path)
            page = content is None
            content = _page(here, self.path) if content is None else content
            if content is None:
                self.send_error(404)
                return
            found = re.fullmatch(r"bytes=(\d+)-(\d+)", wanted)
            begin, end, status = 0, len(content), 200
            if found and here.ranges and not page:
                begin, end, status = int(found[1]), min(int(found[2]) + 1, end), 206
                if begin >= len(content):
                    self.send_error(416)
                    return
            self.send_response(status)
            self.send_header("Content-Length", str(end - begin))
            if here.padding:
                self.send_header("X-Padding", "x" * here.padding)
            if status == 206:
                self.send_header("Content-Range", f"bytes {begin}-{end - 1}/{len(content)}")
            if here.tags and not page:
                self.send_header("ETag", here.tag(content))
                self.send_header("Last-Modified", "Fri, 02 Jan 2026 03:04:05 GMT")
            if page:
                self.send_header("Content-Type", "text/html")
            self.end_headers()
            if body:
                if fault == "cut":
                    end = begin + (end - begin) // 2
                    self.close_connection = True
                self.wfile.write(memoryview(content)[begin:end])
                if fault == "cut":
                    self.wfile.flush()
                    self.connection.shutdown(socket.SHUT_RDWR)

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 128

        def handle_error(self, *_: object) -> None:  # who asked has gone
            pass

    server = Server(("127.0.0.1", 0), Handler)
    here = Loopback(server.server_address[1])
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield here
    finally:
        here.released.set()
        here.let_go.set()
        server.shutdown()
        server.server_close()
        thread.join()
