"""The links of pages that servers make of their folders."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from gradiva.ops.storage import http_folders
from gradiva.ops.storage.errors import StorageError
from gradiva.ops.storage.http_folders import links_below
from gradiva.ops.storage.storage import Storage

URL = "https://host:8443/data/set"
PAGES = {
    "of Apache": (
        '<img src="/icons/blank.gif"> <a href="?C=N;O=D">Name</a>\n'
        '<a href="/data/">Parent Directory</a> <a href="a.jpg">a.jpg</a>'
        '<td class="n"><a class="x" title=\'b\' HREF="b%20c.jpg">b c.jpg</a>',
        ["?C=N;O=D", "a.jpg", "b%20c.jpg"],
    ),
    "of nginx": ('<a href="../">../</a>\r\n<a href="train/">train/</a>  1-Jan  -', ["train/"]),
    "of Python": ("<li><a href='a&amp;b.jpg'>a&amp;b</a></li><a\n href = 'x.jpg'>", None),
    "absolute": (
        f'<a href="/data/set/a.jpg"> <a href="{URL}/b.jpg"> <a href="http://host:8443/data/set/c/">'
        '<a href="https://other/data/set/d.jpg"> <a href="/data/settled.jpg">',
        ["a.jpg", "b.jpg", "c/"],
    ),
    "in a text": (f"see {URL}/a.jpg, and {URL}/b/", ["a.jpg", "b/"]),
    "without links": ("<abbr href='a.jpg'> <a name='b.jpg'> <a data-href='c.jpg'> a href='d'", []),
    "damaged": ("<a href='a.jpg <a href=\"b.jpg", []),
}


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("slash", ["", "/"])
def test_links(name: str, slash: str) -> None:
    page, expected = PAGES[name]
    expected = ["a&b.jpg", "x.jpg"] if expected is None else expected
    found = links_below(page, URL + slash)
    assert sorted(link.split("/data/set/")[1] for link in found) == expected


@pytest.mark.parametrize(
    "piece", ["<a ", "<a href=", '<a href="', "<a href='x' ", "\n", "href=' ", "http://", "<a\t\n"]
)
def test_pages_without_an_end_of_anything(piece: str) -> None:
    """Next to nothing in time; a search that begins again at each piece would take hours."""
    found = links_below(f"<a {piece * 300_000}", URL)
    assert len(found) <= 1


@pytest.fixture
def endless() -> Iterator[str]:
    """A server whose folder has no end."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            try:
                while True:
                    self.wfile.write(b"1000\r\n" + b"<a href='a'>    ".ljust(4096) + b"\r\n")
            except OSError:
                self.close_connection = True

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/folder"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_a_page_without_end(endless: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_folders, "_LONGEST", 1 << 16)
    with pytest.raises(StorageError, match="folder has more than 65536 bytes"):
        Storage().entries([endless])
