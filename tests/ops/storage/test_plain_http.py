"""Ranges by HTTP: what a server may answer beside the usual, and connections that are kept."""

from __future__ import annotations

import gzip
import random
import re
import shutil
import socketserver
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gradiva.ops.storage import fetcher, http_connection, transport
from gradiva.ops.storage import storage as storage_module
from gradiva.ops.storage.errors import StorageError
from gradiva.ops.storage.facts import ObjectFacts
from gradiva.ops.storage.ranges import Want
from gradiva.ops.storage.storage import Storage

DATA = random.Random(2).randbytes(200_000)
Answer = Callable[[str, int, int], bytes | Iterator[bytes]]


def usual(_path: str, begin: int, end: int, more: str = "", body: bytes | None = None) -> bytes:
    """What servers answer to a range."""
    end = min(end, len(DATA))
    body = DATA[begin:end] if body is None else body
    head = f"HTTP/1.1 206 Partial Content\r\nContent-Range: bytes {begin}-{end - 1}/{len(DATA)}\r\n"
    length = "" if "Transfer-Encoding" in more else f"Content-Length: {len(body)}\r\n"
    return f"{head}{length}{more}\r\n".encode() + body


def moved(path: str, begin: int, end: int) -> bytes:
    if path != "/there":
        return b"HTTP/1.1 302 Found\r\nLocation: /there\r\nContent-Length: 0\r\n\r\n"
    return usual(path, begin, end)


def chunked(path: str, begin: int, end: int) -> bytes:
    data = DATA[begin:end]
    body = (
        b"".join(b"%x\r\n%s\r\n" % (len(one), one) for one in (data[:9], data[9:]) if one)
        + b"0\r\n\r\n"
    )
    return usual(path, begin, end, "Transfer-Encoding: chunked\r\n", body)


def packed(path: str, begin: int, end: int) -> bytes:
    body = gzip.compress(DATA[begin:end])
    return usual(path, begin, end, "Content-Encoding: gzip\r\n", body)


def closing(path: str, begin: int, end: int) -> bytes:
    return usual(path, begin, end, "Connection: close\r\n")


def whole(*_: object) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(DATA), DATA)


def old(path: str, begin: int, end: int) -> bytes:
    return usual(path, begin, end).replace(b"HTTP/1.1", b"HTTP/1.0", 1)


class Served:
    """What a server has seen. answer: what it says to a range; hangs_up: after each answer;
    agents: who asked for ranges; connections: how many there were; sent: bytes of answers."""

    def __init__(self, answer: Answer) -> None:
        self.answer, self.hangs_up = answer, False
        self.agents: list[str] = []
        self.connections = self.sent = 0
        self.url = ""


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    monkeypatch.setattr(transport, "_FIRST_PAUSE", 0.0)
    yield from serving(None)


def serving(context: ssl.SSLContext | None) -> Iterator[Served]:
    here = Served(usual)

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            here.connections += 1
            text = b""
            while data := self.request.recv(1 << 16):
                text += data
                if text.endswith(b"\r\n\r\n"):
                    self._answer(text.decode())
                    text = b""
                    if here.hangs_up:
                        return

        def _answer(self, text: str) -> None:
            path = text.split(" ")[1]
            if text.startswith("HEAD"):
                self.request.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(DATA))
                return
            found = re.search(r"Range: bytes=(\d+)-(\d+)", text)
            assert found
            agent = re.search(r"User-Agent: (\S+)", text)
            here.agents.append(agent[1] if agent else "")
            made = here.answer(path, int(found[1]), int(found[2]) + 1)
            for piece in [made] if isinstance(made, bytes) else made:
                self.request.sendall(piece)
                here.sent += len(piece)

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        request_queue_size = 128

        def get_request(self) -> tuple[Any, Any]:
            connection, address = super().get_request()
            if context is not None:
                connection = context.wrap_socket(connection, server_side=True)
            return connection, address

        def handle_error(self, *_: object) -> None:  # who asked has gone
            pass

    server = Server(("127.0.0.1", 0), Handler)
    scheme = "http" if context is None else "https"
    here.url = f"{scheme}://127.0.0.1:{server.server_address[1]}/data"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield here
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def taken(storage: Storage, url: str, begin: int, end: int) -> bytes:
    (found,) = storage.take([Want(url, begin, end)])
    if isinstance(found, StorageError):
        raise found
    return b"".join(found)


def read_some(url: str, rounds: int = 6) -> None:
    """One range after the other, far from each other."""
    storage = Storage(read_ahead=0)
    for number in range(rounds):
        begin = number * 30_000
        size = 1 << number
        assert taken(storage, url, begin, begin + size) == DATA[begin : begin + size]


def test_one_connection_is_enough(served: Served) -> None:
    read_some(served.url)
    assert served.agents == ["gradiva"] * 6
    assert served.connections == 1 + 1  # one of aiohttp, for the size


def test_a_server_may_hang_up(served: Served) -> None:
    """Whether it says so or not."""
    served.hangs_up = True
    read_some(served.url)
    served.answer = closing
    read_some(served.url)
    assert set(served.agents) == {"gradiva"}


@pytest.mark.parametrize("answer", [moved, chunked, packed, whole, old])
def test_what_is_unusual_is_left_to_aiohttp(served: Served, answer: Answer) -> None:
    served.answer = answer
    read_some(served.url)
    assert served.agents[0] == "gradiva"
    assert "gradiva" not in served.agents[1:]
    assert Storage().read(served.url) == DATA


@pytest.mark.parametrize("path", ["?a=b", "/a%20b", "/a b", "/../b", "/ü", "//b"])
def test_paths_that_need_care_are_left_to_aiohttp(served: Served, path: str) -> None:
    assert taken(Storage(), served.url + path, 3, 30) == DATA[3:30]
    assert "gradiva" not in served.agents


def test_bytes_that_nobody_asked_for_are_not_taken_for_the_next_answer(served: Served) -> None:
    served.answer = lambda *place: usual(*place) + usual(*place)
    read_some(served.url)


def test_what_is_cancelled_costs_its_own_connection_only(served: Served) -> None:
    """Those that wait are not asked for, and the other connections are kept."""
    storage = Storage()
    wants = [Want(served.url, begin, begin + 10) for begin in range(0, 200_000, 1000)]
    for want in wants[:4]:  # as many connections
        storage.expect([want])
        storage.fetch(near=0)
    assert all(part.ready.result(30) for part in storage._parts.every())
    before, asked = served.connections, len(served.agents)
    gate, began = threading.Event(), threading.Event()

    def held(*place: Any) -> bytes:
        began.set()
        gate.wait(30)
        return usual(*place)

    served.answer = held
    storage._fetcher._lines[False].most = 1
    for want in wants[100:]:
        storage.expect([want])
        storage.fetch(near=0)
    assert began.wait(30)
    storage.forget()
    served.answer = usual
    assert taken(storage, served.url, 50_500, 50_510) == DATA[50_500:50_510]
    gate.set()
    assert served.connections == before
    assert len(served.agents) == asked + 2


def test_large_objects_of_unknown_size_are_fetched_once(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first bytes, by a kept connection, and then the rest."""
    for module in (transport, fetcher, storage_module):
        monkeypatch.setattr(module, "LARGEST", 60_000)
    lengths: list[int] = []

    def counted(path: str, begin: int, end: int) -> bytes:
        lengths.append(min(end, len(DATA)) - begin)
        return usual(path, begin, end)

    served.answer = counted
    storage = Storage()
    assert taken(storage, served.url, 0, 10) == DATA[:10]
    lengths.clear()
    assert storage.read(f"{served.url}-b") == DATA
    assert sum(lengths) == len(DATA)
    assert len(lengths) == 4


def test_lengths_that_lie(served: Served) -> None:
    huge = b"HTTP/1.1 206 Partial Content\r\nContent-Length: 99999999999999\r\n\r\nab"
    served.hangs_up = True
    served.answer = lambda *_: huge
    with pytest.raises(StorageError, match="tries"):
        taken(Storage(), served.url, 3, 30)


def test_a_head_without_an_end(served: Served) -> None:
    served.answer = lambda *_: b"HTTP/1.1 206 Partial Content\r\n" + b"a" * (1 << 17)
    with pytest.raises(StorageError, match="no end of its head, after 5 tries"):
        taken(Storage(), served.url, 3, 30)


@pytest.mark.parametrize("size", [http_connection._HEAD + step for step in (-200, -1, 0, 1, 99)])
def test_bodies_as_long_as_what_is_read_at_once(served: Served, size: int) -> None:
    for begin in (0, 90_000):
        assert taken(Storage(), served.url, begin, begin + size) == DATA[begin : begin + size]


def test_encrypted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = shutil.which("openssl")
    if program is None:
        pytest.skip("no openssl to make a certificate with")
    name, key = tmp_path / "name.pem", tmp_path / "key.pem"
    subprocess.run(
        [
            *(program, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
            *("-nodes", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"),
            *("-keyout", key, "-out", name),
        ],
        check=True,
        capture_output=True,
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(name, key)
    monkeypatch.setenv("SSL_CERT_FILE", str(name))
    transport._shared.cache_clear()
    for here in serving(context):
        storage = Storage()
        facts = ObjectFacts(len(DATA), "")
        storage._facts[here.url] = facts  # aiohttp has made its context when it was imported
        for begin, end in ((0, 10), (50, 150_000)):
            assert taken(storage, here.url, begin, end) == DATA[begin:end]
        assert here.agents == ["gradiva"] * len(here.agents)
    transport._shared.cache_clear()
