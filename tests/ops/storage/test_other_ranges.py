"""Answers that have other bytes than were asked for, and answers without an end: what an answer
says of itself counts, and no more of it is kept than was asked for."""

from __future__ import annotations

import asyncio
import tracemalloc
from collections.abc import Callable, Iterator

import pytest

from gradiva.ops.storage import http_checks, transport
from gradiva.ops.storage.errors import StorageError
from gradiva.ops.storage.facts import ObjectFacts
from gradiva.ops.storage.http_checks import Expected
from gradiva.ops.storage.storage import Storage

from .test_plain_http import DATA, Served, serving, taken

SIZE = len(DATA)
OPTIONS = ["{}", '{"headers": {"x": "y"}}']
"""With those of the user, requests are sent by another client."""
PIECE = bytes(1 << 16)
ENDLESS = 1 << 14
"""Pieces of an answer that nobody should read to its end: a GiB."""


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    monkeypatch.setattr(transport, "_FIRST_PAUSE", 0.0)
    transport._shared.cache_clear()
    yield from serving(None)
    transport._shared.cache_clear()


def told(first: int, last: int, size: str = str(SIZE), body: bytes | None = None) -> bytes:
    """An answer that says which bytes it has."""
    body = DATA[first:last] if body is None else body
    return (
        f"HTTP/1.1 206 Partial Content\r\nContent-Range: bytes {first}-{last - 1}/{size}\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    ).encode() + body


def endless(head: str) -> Callable[[str, int, int], Iterator[bytes]]:
    def answer(_path: str, begin: int, end: int) -> Iterator[bytes]:
        yield head.format(begin=begin, last=end - 1).encode() + b"\r\n"
        chunked = "chunked" in head
        for _ in range(ENDLESS):
            yield b"10000\r\n" + PIECE + b"\r\n" if chunked else PIECE

    return answer


SAID = "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes {begin}-{last}/200000\r\n"
ALL = "HTTP/1.1 200 OK\r\n"
CHUNKED = "Transfer-Encoding: chunked\r\n"
CLOSED = "Connection: close\r\n"


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("size", [str(SIZE), "*"])
@pytest.mark.parametrize("shift", [5, -60, 1 << 16, "from the first byte"])
def test_another_range_is_an_error(
    served: Served, options: str, size: str, shift: int | str
) -> None:
    """Bytes of another place are never taken for those that were asked for."""

    def answer(_path: str, begin: int, end: int) -> bytes:
        first = begin + shift if isinstance(shift, int) else 0
        return told(first, first + end - begin, size)

    served.answer = answer
    with pytest.raises(StorageError, match=r"other bytes than it was asked for \('bytes \d+-"):
        taken(Storage(options), served.url, 100, 150)


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize(
    "said", ["bytes 150-100/200000", "bytes */200000", "bytes", "lines 1-2/200000"]
)
def test_a_range_that_cannot_be_is_an_error(served: Served, options: str, said: str) -> None:
    served.answer = lambda *_: (
        b"HTTP/1.1 206 Partial Content\r\nContent-Range: %s\r\nContent-Length: 50\r\n\r\n%s"
        % (said.encode(), DATA[100:150])
    )
    with pytest.raises(StorageError, match="other bytes"):
        taken(Storage(options), served.url, 100, 150)


@pytest.mark.parametrize("options", OPTIONS)
def test_several_parts_are_an_error(served: Served, options: str) -> None:
    body = b"--x\r\nContent-Range: bytes 100-149/200000\r\n\r\n" + DATA[100:150] + b"\r\n--x--\r\n"
    served.answer = lambda *_: (
        b"HTTP/1.1 206 Partial Content\r\nContent-Type: multipart/byteranges; boundary=x\r\n"
        b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
    )
    with pytest.raises(StorageError, match="several parts"):
        taken(Storage(options), served.url, 100, 150)


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("size", [str(SIZE), "*"])
def test_the_rest_of_a_short_answer_is_asked_for(served: Served, options: str, size: str) -> None:
    """A server may give less than it is asked for, and one more where a range begins."""
    served.answer = lambda _path, begin, end: told(begin, min(begin + 30_000, end, SIZE), size)
    assert taken(Storage(options), served.url, 100, 150_000) == DATA[100:150_000]
    assert Storage(options).read(served.url) == DATA


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("size", [str(SIZE), "*"])
def test_an_answer_may_have_more_around(served: Served, options: str, size: str) -> None:
    """As of a proxy that keeps blocks."""
    served.answer = lambda _path, begin, end: told(
        begin // 4096 * 4096, min(-(-end // 4096) * 4096, SIZE), size
    )
    assert taken(Storage(options), served.url, 5_000, 50_000) == DATA[5_000:50_000]
    assert Storage(options).read(served.url) == DATA


@pytest.mark.parametrize("options", OPTIONS)
def test_more_than_the_answer_says_is_an_error(served: Served, options: str) -> None:
    served.answer = lambda _path, begin, end: told(begin, end, body=DATA[begin : end + 7])
    with pytest.raises(StorageError, match="more bytes came than the 50"):
        taken(Storage(options), served.url, 100, 150)


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("head", [SAID + CHUNKED, SAID + CLOSED, ALL + CHUNKED, ALL + CLOSED])
def test_answers_without_an_end(
    served: Served,
    options: str,
    head: str,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """For a range, and for the whole of an object of which the size is known, or not."""
    monkeypatch.setattr(http_checks, "_MOST_UNTOLD", 1 << 23)
    served.hangs_up = True
    served.answer = endless(head)
    tracemalloc.start()
    try:
        with pytest.raises(StorageError, match="copy the data to a disk"):
            Storage(options).read(served.url)
        known = Storage(options)
        known.facts([served.url])
        with pytest.raises(StorageError, match="more bytes came than the 200000"):
            known.read(served.url)
        if head.startswith(SAID):
            with pytest.raises(StorageError, match="more bytes came than the 50"):
                taken(Storage(options), served.url, 100, 150)
        else:  # that server sends the whole object, of which the first bytes are enough
            assert taken(Storage(options), served.url, 100, 150) == bytes(50)
        assert tracemalloc.get_traced_memory()[1] < 1 << 27
    finally:
        tracemalloc.stop()
    assert served.sent < 1 << 27
    assert "Traceback" not in capfd.readouterr().err


def test_a_large_object_whose_size_is_not_told(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is read to its end, as long as it is not longer than what may be read so."""
    content = bytes(range(250)) * 50_000

    def answer(*_: object) -> bytes:
        body = b"".join(
            b"%x\r\n%s\r\n"
            % (len(content[place : place + 99_999]), content[place : place + 99_999])
            for place in range(0, len(content), 99_999)
        )
        return f"{ALL}{CHUNKED}\r\n".encode() + body + b"0\r\n\r\n"

    served.answer = answer
    assert Storage().read(served.url) == content
    monkeypatch.setattr(http_checks, "_MOST_UNTOLD", len(content))
    assert Storage().read(served.url) == content
    monkeypatch.setattr(http_checks, "_MOST_UNTOLD", len(content) - 1)
    with pytest.raises(StorageError, match="does not say how large it is"):
        Storage().read(served.url)


@pytest.mark.parametrize("size", [1 << 56, 1 << 80])
def test_an_object_that_is_said_to_be_larger_than_memory(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not asked for in millions of requests."""
    taken = transport.Transport({}, 1.0)

    async def facts(_url: str) -> ObjectFacts:
        return ObjectFacts(size, "")

    monkeypatch.setattr(taken, "facts", facts)
    first = transport.Beginning(b"first", Expected(size, ""))
    with pytest.raises(StorageError, match=f"not enough memory for the {size} bytes"):
        asyncio.run(taken.read_whole("http://host/large", first))
