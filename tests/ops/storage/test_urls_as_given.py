"""URLs reach the server as they were given: a signature in them is of these very characters."""

from __future__ import annotations

import io
import json
import re
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

import gradiva
from gradiva.ops.storage.ranges import Want
from gradiva.ops.storage.storage import Storage
from gradiva.ops.storage.urls import sendable
from tests.tiers import few

PAGE = b"""<a href="a%20b.jpg">a b.jpg</a> <a href="%41%7e%2F.jpg">A~/.jpg</a>
<a href="c&amp;d.jpg">c&amp;d.jpg</a> <a href="\xc3\xbc.jpg">u</a>"""


def archive() -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as written:
        written.writestr("inside.bin", b"inside")
        written.writestr("empty.bin", b"")
    return stream.getvalue()


class Served:
    """targets: what was asked for, in its order, each once. url: of the server. data: what it
    answers, an archive."""

    def __init__(self) -> None:
        self.targets: dict[str, None] = {}
        self.url = ""
        self.data = archive()


@pytest.fixture
def served() -> Iterator[Served]:
    """A server that has all objects. `/moved` is elsewhere."""
    here = Served()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def do_HEAD(self) -> None:
            self._answer()

        def do_GET(self) -> None:
            self._answer()

        def _answer(self) -> None:
            target = self.requestline.split(" ")[1]  # `self.path` is tidied up
            here.targets[target] = None
            moved = target.startswith("/moved")
            body = b"" if moved else PAGE if target.rstrip("/").endswith("folder") else here.data
            asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
            status = 302 if moved else 200 if body is PAGE or asked is None else 206
            self.send_response(status)
            if status == 206 and asked is not None:
                begin, end = int(asked[1]), min(int(asked[2]) + 1, len(body))
                self.send_header("Content-Range", f"bytes {begin}-{end - 1}/{len(body)}")
                body = body[begin:end]
            if moved:
                self.send_header("Location", target.replace("/moved", "").replace("_", " "))
            if body is PAGE:
                self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    here.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield here
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


GIVEN = {
    "/a?sig=a%2Fb%3D": "/a?sig=a%2Fb%3D",
    "/%7Ea%21%41%2f.jpg?x=%7e%20+%2B&y": "/%7Ea%21%41%2f.jpg?x=%7e%20+%2B&y",
    "/a%2Fb/../c?x=/../%2E": "/c?x=/../%2E",
    "/%2E%2E/a": "/%2E%2E/a",
    "/a//b": "/a//b",
    "/a?u=http://h:1/p?q=1;r,s": "/a?u=http://h:1/p?q=1;r,s",
    "/a$&'()*+,;=:@!~-_.b": "/a$&'()*+,;=:@!~-_.b",
    # What cannot stand in a request.
    "/a b?c d": "/a%20b?c%20d",
    "/ü\u00a0%C3%BC": "/%C3%BC%C2%A0%C3%BC",
    "/a%?x=%zz%4": "/a%25?x=%25zz%254",
    '/<a>"\\^`{|}': "/%3Ca%3E%22%5C%5E%60%7B%7C%7D",
    # What is not for the server.
    "/a?b#c%2F": "/a?b",
}


@pytest.mark.parametrize("given", few(GIVEN, every=3))
@pytest.mark.parametrize("options", ["{}", '{"headers": {"x": "y"}}'])
def test_as_it_was_given(served: Served, given: str, options: str) -> None:
    """Whole, by ranges, and when its size is asked for."""
    url = served.url + given
    assert Storage(options).read(url) == served.data
    storage = Storage(options)
    storage.facts([url])
    (found,) = storage.take([Want(url, 3, 50)])
    assert not isinstance(found, OSError)
    assert b"".join(found) == served.data[3:50]
    assert [*served.targets] == [GIVEN[given]]


def test_a_place_that_another_server_names(served: Served) -> None:
    """It is sent as that server wrote it."""
    url = served.url + "/moved/x%2Fy%7E_z?sig=%2F%7E%41_b"
    assert Storage().read(url) == served.data
    assert [*served.targets] == [
        "/moved/x%2Fy%7E_z?sig=%2F%7E%41_b",
        "/x%2Fy%7E%20z?sig=%2F%7E%41%20b",
    ]


@pytest.mark.full
@pytest.mark.parametrize("front", ["simplecache::", "zip://inside.bin::", "zip://empty.bin::"])
def test_behind_another_file_system(served: Served, front: str) -> None:
    url = f"{front}{served.url}/a%7E?sig=a%2Fb"
    expected = {"simplecache::": served.data, "zip://inside.bin::": b"inside"}.get(front, b"")
    storage = Storage()
    assert storage.read(url) == expected
    (found,) = storage.take([Want(url, 0, len(expected) // 2)])
    assert not isinstance(found, OSError)
    assert b"".join(found) == expected[: len(expected) // 2]
    assert [*served.targets] == ["/a%7E?sig=a%2Fb"]


def test_in_lists_and_by_readers(served: Served, tmp_path: Path) -> None:
    url = f"{served.url}/a%7E.jpg?sig=a%2Fb"
    (tmp_path / "list.txt").write_text(f"{url} 0\n")
    for arguments in ({"files": [url]}, {"file_list": str(tmp_path / "list.txt")}):
        ((files, _),) = gradiva.readers.File(**arguments).next_epoch(batch_size=1)
        assert files.at(0).tobytes() == served.data
        assert files.source_info() == [url]
    annotations = {
        "images": [{"id": 1, "file_name": url, "height": 1, "width": 1}],
        "annotations": [],
    }
    (tmp_path / "a.json").write_text(json.dumps(annotations))
    reader = gradiva.readers.COCO(annotations_file=str(tmp_path / "a.json"))
    ((files, _, _),) = reader.next_epoch(batch_size=1)
    assert files.at(0).tobytes() == served.data
    name = np.frombuffer(url.encode(), np.uint8)
    assert gradiva.io.file.read(gradiva.batch([name])).at(0).tobytes() == served.data
    assert [*served.targets] == ["/a%7E.jpg?sig=a%2Fb"]


def test_in_folders(served: Served) -> None:
    """A link is text of HTML, and then as its server has written it."""
    storage = Storage()
    (entries,) = storage.entries([f"{served.url}/folder"])
    assert {one.name for one in entries} >= {"a%20b.jpg", "c&d.jpg", "ü.jpg"}
    served.targets.clear()
    for one in entries:
        assert storage.read(one.url) == served.data
    expected = {"a%20b.jpg", "%41%7e%2F.jpg", "c&d.jpg", "%C3%BC.jpg"}
    assert {target.rpartition("/")[2] for target in served.targets} == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("", "/"),
        ("/", "/"),
        ("/a/./b", "/a/b"),
        ("/a/../b", "/b"),
        ("/../../b", "/b"),
        ("/a/..", "/"),
        ("/a/b/.", "/a/b/"),
        ("/a/b/..", "/a/"),
        ("/a/.b/..c/d..", "/a/.b/..c/d.."),
        ("/a//../b", "/a/b"),
        ("/\udcfc.jpg", "/%FC.jpg"),
    ],
)
def test_steps_to_other_folders(path: str, expected: str) -> None:
    assert sendable(path, "") == expected
    assert sendable(path, "q=/../%2e") == f"{expected}?q=/../%2e"
