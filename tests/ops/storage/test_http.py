"""What a server may do to those who read from it."""

from __future__ import annotations

import random
import threading
from typing import Any

import pytest

from gradiva.ops.storage.errors import ObjectChangedError, StorageError
from gradiva.ops.storage.handles import RemoteFile
from gradiva.ops.storage.plain_http import PlainHttp
from gradiva.ops.storage.ranges import LARGEST, Content, Want
from gradiva.ops.storage.storage import Storage
from gradiva.ops.storage.transport import TRIES

from .loopback import Loopback

DATA = random.Random(1).randbytes(300_000)


def joined(found: Content | StorageError) -> bytes:
    assert not isinstance(found, StorageError), found
    return b"".join(found)


def test_facts_ranges_and_whole_objects(server: Loopback) -> None:
    server.objects |= {"/a": DATA, "/empty": b"", "/b": DATA[:7]}
    storage = Storage()
    urls = [server.url + path for path in server.objects]
    found = storage.facts(urls)
    assert [one.size for one in found if not isinstance(one, StorageError)] == [len(DATA), 0, 7]
    assert len(server.asked("HEAD")) == 3
    assert storage.facts(urls) == found
    assert len(server.asked("HEAD")) == 3
    wants = [Want(urls[0], 5, 100), Want(urls[2]), Want(urls[0], 90, 200_000), Want(urls[1])]
    pieces = [joined(one) for one in storage.take([*wants, Want(urls[0], 3, 3)])]
    assert pieces == [DATA[5:100], DATA[:7], DATA[90:200_000], b"", b""]
    assert Storage().read(urls[0]) == DATA
    assert Storage().read(urls[1]) == b""


def test_near_ranges_are_one_request_and_large_ones_several(server: Loopback) -> None:
    server.objects["/a"] = data = bytes(range(251)) * (2 * LARGEST // 251 + 1)
    url = server.url + "/a"
    storage = Storage()
    for begin in (0, 40_000, 90_000):
        storage.expect([Want(url, begin, begin + 30_000)])
    storage.fetch()
    assert joined(storage.take([Want(url, 40_000, 70_000)])[0]) == data[40_000:70_000]
    assert [one[2] for one in server.asked()] == ["bytes=0-119999"]
    assert joined(storage.take([Want(url, 0, len(data))])[0]) == data
    assert len(server.asked()) == 1 + 3


@pytest.mark.parametrize("padding", [0, 2_000, 2_048, 7_000])
def test_heads_of_any_length(
    server: Loopback, padding: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of large bodies little is read with the head; a head that is longer is read on. No other
    client steps in."""
    server.objects |= {"/large": DATA, "/small": DATA[:5_000]}
    server.padding = padding
    storage = Storage()
    large, small = server.url + "/large", server.url + "/small"
    storage.facts([large])
    monkeypatch.setattr(PlainHttp, "_let_go", _usual_only(PlainHttp._let_go))
    wants = [Want(large, 1_000, 299_000), Want(large, 7, 9), Want(small)]
    for want, expected in zip(wants, (DATA[1_000:299_000], DATA[7:9], DATA[:5_000]), strict=True):
        assert joined(storage.take([want])[0]) == expected


def _usual_only(let_go: Any) -> Any:
    def watched(self: Any, server: Any, connection: Any, found: Any) -> None:
        assert found is not None  # else aiohttp is asked
        let_go(self, server, connection, found)

    return watched


@pytest.mark.parametrize("fault", ["503", "429", "cut"])
def test_what_passes_is_tried_again(server: Loopback, fault: str) -> None:
    server.objects["/a"] = DATA
    url = server.url + "/a"
    server.faults.extend([fault] * (TRIES - 1))
    assert Storage().read(url) == DATA
    storage = Storage()
    server.faults.extend([fault] * (TRIES - 1))
    assert joined(storage.take([Want(url, 10, 999)])[0]) == DATA[10:999]
    server.requests.clear()
    server.faults.extend([fault] * TRIES)
    with pytest.raises(StorageError, match=f"after {TRIES} tries: try again later.*{url}"):
        Storage().read(url)
    assert len(server.asked()) == TRIES
    # What could not be read is asked for again by the next who needs it.
    server.faults.extend([fault] * TRIES)
    assert isinstance(storage.take([Want(url, 1000, 1999)])[0], StorageError)
    assert joined(storage.take([Want(url, 1000, 1999)])[0]) == DATA[1000:1999]


@pytest.mark.parametrize(("fault", "text"), [("404", "no such object"), ("403", "credentials")])
def test_what_does_not_pass_is_an_error_at_once(server: Loopback, fault: str, text: str) -> None:
    server.objects["/a"] = DATA
    server.always["/a"] = fault
    with pytest.raises(StorageError, match=text):
        Storage().read(server.url + "/a")
    assert len(server.asked()) == 1 + (fault == "403")  # there, whether it is empty is asked


def test_a_server_that_stalls_is_an_error(
    server: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRADIVA_STORAGE_TIMEOUT", "0.05")
    server.objects["/a"] = DATA
    server.always["/a"] = "stall"
    with pytest.raises(StorageError, match="does not answer, after 5 tries"):
        Storage().read(server.url + "/a")
    assert server.stalled.is_set()


@pytest.mark.parametrize("tags", [True, False])
def test_an_object_that_changes_is_an_error(server: Loopback, tags: bool) -> None:
    """Also where only its size tells."""
    server.tags = tags
    server.objects["/a"] = DATA
    url = server.url + "/a"
    storage = Storage()
    assert joined(storage.take([Want(url, 0, 100)])[0]) == DATA[:100]
    server.objects["/a"] = DATA[::-1] if tags else DATA[:-1]
    (found,) = storage.take([Want(url, 200_000, 200_100)])
    assert isinstance(found, ObjectChangedError)
    assert "changed during the epoch" in str(found)
    assert joined(Storage().take([Want(url, 0, 100)])[0]) == server.objects["/a"][:100]
    server.objects["/a"] = DATA[:1000]
    assert isinstance(storage.take([Want(url, 250_000, 250_100)])[0], ObjectChangedError)


def test_a_server_without_ranges(server: Loopback) -> None:
    server.ranges = False
    server.objects["/a"] = DATA
    assert joined(Storage().take([Want(server.url + "/a", 7, 70)])[0]) == DATA[7:70]
    assert Storage().read(server.url + "/a") == DATA


def test_reading_on_goes_in_ever_larger_steps(server: Loopback) -> None:
    server.objects["/a"] = data = random.Random(3).randbytes(3_000_000)
    file = RemoteFile(server.url + "/a", Storage())
    found = b"".join(file.read(9_999, place) for place in range(0, len(data), 9_999))
    assert found == data
    assert len(server.asked()) < 12
    assert file.read(10, len(data) - 3) == data[-3:]
    assert file.read(10, len(data) + 3) == b""
    file.close()


def test_what_is_expected_comes_while_nobody_waits(server: Loopback) -> None:
    server.objects["/a"] = DATA
    url = server.url + "/a"
    storage = Storage(read_ahead=200_000)
    assert storage.room == 200_000
    storage.facts([url])
    storage.plan(3)
    storage.expect([Want(url, 0, 150_000)])
    assert storage.room == 50_000
    storage.fetch()
    asked = len(server.asked())
    assert joined(storage.take([Want(url, 10, 20)])[0]) == DATA[10:20]
    assert len(server.asked()) == max(asked, 1) == 1
    storage.passed(3)
    assert storage.room == 50_000
    storage.passed(4)
    assert storage.room == 200_000
    # What has passed stays as long as there is room, and is not asked for again.
    assert joined(storage.take([Want(url, 30, 40)])[0]) == DATA[30:40]
    storage.expect([Want(url, 150_000, 300_000)])
    storage.fetch()
    storage.passed(4)
    assert joined(storage.take([Want(url, 30, 40)])[0]) == DATA[30:40]
    assert joined(storage.take([Want(url, 200_000, 200_009)])[0]) == DATA[200_000:200_009]
    assert len(server.asked()) == 3


def test_what_is_forgotten_does_not_come(server: Loopback) -> None:
    server.objects["/a"] = DATA
    server.always["/a"] = "stall"
    url = server.url + "/a"
    storage = Storage(read_ahead=1_000_000)
    storage.expect([Want(url)])
    storage.fetch()
    assert server.stalled.wait(60)
    storage.forget()
    assert storage.room == 1_000_000
    del server.always["/a"]
    assert storage.read(url) == DATA


def test_secrets_are_not_in_errors(server: Loopback) -> None:
    url = server.url.replace("//", "//user:word@") + "/no?signature=abc"
    with pytest.raises(StorageError) as caught:
        Storage().read(url)
    assert "word" not in str(caught.value)
    assert "abc" not in str(caught.value)


def test_folders_are_lists_of_links(server: Loopback) -> None:
    server.objects |= {"/top/a/1": b"1", "/top/a/2": b"2", "/top/b/3": b"3", "/top/x": b""}
    inside, below = Storage().entries([server.url + "/top", server.url + "/top/a"])
    assert [(one.name, one.is_folder) for one in inside] == [("a", True), ("b", True), ("x", False)]
    assert [one.url for one in below] == [f"{server.url}/top/a/{name}" for name in "12"]


def test_many_threads_wait_for_one_request(server: Loopback) -> None:
    server.objects["/a"] = DATA
    storage, url = Storage(), server.url + "/a"
    found: list[bytes] = []
    threads = [
        threading.Thread(target=lambda: found.append(joined(storage.take([Want(url)])[0])))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [DATA] * 4
