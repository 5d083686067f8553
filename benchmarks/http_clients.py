"""CPU of HTTP clients for small files over connections that are kept: ours against others.

What is measured is `PlainHttp`, which exists because it costs less; other clients of which this is
not so any more should replace it. The server is that of `storage.py`, a process of its own, whose
CPU is not counted. Clients that are not installed are left out.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import importlib
import os
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

from side_by_side import in_turns, row, save
from storage import Server

from gradiva.ops.storage.loop import storage_loop
from gradiva.ops.storage.plain_http import PlainHttp

Get = Callable[[str], Any]


def module(name: str) -> Any:
    return importlib.import_module(name)


def in_threads(connect: Callable[[], Get], paths: list[str], connections: int) -> list[Any]:
    """What each thread gets with a client, or a connection, of its own."""
    found: list[Any] = []
    left: Iterator[str] = iter(paths)
    lock = threading.Lock()

    def work() -> None:
        get = connect()
        while True:
            with lock:
                path = next(left, None)
            if path is None:
                return
            found.append(get(path))

    threads = [threading.Thread(target=work) for _ in range(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


async def in_loop(get: Callable[[str], Awaitable[Any]], paths: list[str], most: int) -> list[Any]:
    slots = asyncio.Semaphore(most)

    async def one(path: str) -> Any:
        async with slots:
            return await get(path)

    return [*await asyncio.gather(*map(one, paths))]


def run(work: Coroutine[Any, Any, Any]) -> Any:
    """In the loop where the library's own requests run."""
    return asyncio.run_coroutine_threadsafe(work, storage_loop()).result()


class Clients:
    """How each client gets `size` bytes of a path."""

    def __init__(self, port: int, size: int, connections: int) -> None:
        self.port, self.size, self.connections = port, size, connections
        self.base = f"http://127.0.0.1:{port}"
        self.headers = {"Accept-Encoding": "identity", "Range": f"bytes=0-{size - 1}"}
        self.sessions: list[Any] = []

    def close(self) -> None:
        for session in self.sessions:
            run(session.close())

    def threaded(self, connect: Callable[[], Get]) -> Callable[[list[str]], list[Any]]:
        return lambda paths: in_threads(connect, paths, self.connections)

    def looped(self, get: Callable[[str], Awaitable[Any]]) -> Callable[[list[str]], list[Any]]:
        return lambda paths: run(in_loop(get, paths, self.connections))

    def ours(self) -> Any:
        plain = PlainHttp(30.0)
        return self.looped(
            lambda path: plain.get(self.base + path, 0, self.size, lambda _status, _headers: None)
        )

    def http_client(self) -> Any:
        def connect() -> Get:
            connection = http.client.HTTPConnection("127.0.0.1", self.port)

            def get(path: str) -> bytes:
                connection.request("GET", path, headers=self.headers)
                return connection.getresponse().read()

            return get

        return self.threaded(connect)

    def urllib3(self) -> Any:
        pool = module("urllib3").PoolManager(maxsize=self.connections)
        return self.threaded(
            lambda: lambda path: pool.request("GET", self.base + path, headers=self.headers).data
        )

    def aiohttp(self) -> Any:
        library = module("aiohttp")

        async def session() -> Any:
            return library.ClientSession(connector=library.TCPConnector(limit=0))

        made = run(session())
        self.sessions.append(made)

        async def get(path: str) -> Any:
            async with made.get(self.base + path, headers=self.headers) as answer:
                return await answer.read()

        return self.looped(get)

    def obstore(self) -> Any:
        library, store = module("obstore"), module("obstore.store")
        made = store.HTTPStore.from_url(self.base, client_options={"allow_http": True})
        return self.looped(
            lambda path: library.get_range_async(made, path[1:], start=0, end=self.size)
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--size", type=int, default=40_960)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=9)
    given = parser.parse_args()
    paths = [f"/{number:05}" for number in range(given.files)]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for path in paths:
            (Path(folder) / path[1:]).write_bytes(os.urandom(given.size))
        server = Server(folder, 0.05)
        try:
            clients = Clients(server.port, given.size, given.connections)

            def cost(get: Callable[[list[str]], list[Any]]) -> float:
                """Seconds of CPU for 1,000 files."""
                before = time.process_time()
                found = get(paths)
                spent = time.process_time() - before
                assert [len(data) for data in found] == [given.size] * given.files
                return 1000 * spent / given.files

            ours = clients.ours()
            for name in ("http_client", "urllib3", "aiohttp", "obstore"):
                try:
                    other = getattr(clients, name)()
                except ImportError:
                    print(f"{name} is not installed")
                    continue
                cost(ours), cost(other)
                figures = in_turns(
                    lambda: cost(ours), lambda other=other: cost(other), given.rounds
                )
                rows.append(row(f"PlainHttp / {name}", *figures, "s of CPU", bigger=False))
            clients.close()
        finally:
            server.process.terminate()
            server.process.wait()
    save("http_clients", rows, files=given.files, size=given.size)


if __name__ == "__main__":
    main()
