"""Objects in buckets, by obstore: what a server may do to those who read from it."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import unquote

import pytest

pytest.importorskip("obstore")

from gradiva.eager.support.errors import OperatorValueError
from gradiva.ops.storage.errors import ObjectChangedError, StorageError
from gradiva.ops.storage.facts import ObjectFacts
from gradiva.ops.storage.loop import InThread, storage_loop
from gradiva.ops.storage.ranges import LARGEST, Want
from gradiva.ops.storage.storage import Storage, default_storage
from gradiva.ops.storage.transport import TRIES

from .loopback import Loopback, loopback
from .test_http import joined

DATA = random.Random(1).randbytes(300_000)
URL = "s3://bucket/a"


@pytest.fixture(autouse=True)
def environment(server: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.delenv("AWS_PROFILE", raising=False)


def test_facts_ranges_and_whole_objects(server: Loopback) -> None:
    server.objects |= {"/bucket/a": DATA, "/bucket/empty": b"", "/bucket/b": DATA[:7]}
    storage = Storage()
    urls = [f"s3:/{path}" for path in server.objects]
    found = storage.facts(urls)
    tags = [f"ETag {server.tag(content)}" for content in server.objects.values()]
    sizes = [len(DATA), 0, 7]
    assert found == [ObjectFacts(size, tag) for size, tag in zip(sizes, tags, strict=True)]
    assert storage.facts(urls) == found
    assert len(server.asked("HEAD")) == 3
    wants = [Want(urls[0], 5, 100), Want(urls[2]), Want(urls[0], 90, 200_000), Want(urls[1])]
    pieces = [joined(one) for one in storage.take([*wants, Want(urls[0], 3, 3)])]
    assert pieces == [DATA[5:100], DATA[:7], DATA[90:200_000], b"", b""]
    assert len(server.asked()) == 3  # near ranges are joined


def test_another_endpoint_is_asked(server: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of what was made after the environment has changed, also where no options are given."""
    server.objects["/bucket/a"] = b"here"
    assert Storage().read(URL) == b"here"
    assert default_storage().read(URL) == b"here"
    with loopback() as other:
        other.objects["/bucket/a"] = b"there"
        monkeypatch.setenv("AWS_ENDPOINT_URL", other.url)
        assert Storage().read(URL) == b"there"
        assert default_storage().read(URL) == b"there"
    assert len(server.asked()) == 2


def test_objects_of_unknown_size_are_one_request(server: Loopback) -> None:
    server.objects |= {"/bucket/a": DATA, "/bucket/empty": b""}
    assert Storage().read(URL) == DATA
    assert Storage().read("s3://bucket/empty") == b""
    assert server.requests == [("GET", "/bucket/a", ""), ("GET", "/bucket/empty", "")]


@pytest.mark.full
def test_large_objects_come_in_parts(server: Loopback) -> None:
    server.objects["/bucket/a"] = data = bytes(LARGEST) + DATA
    assert Storage().read(URL) == data
    assert [wanted for _, _, wanted in server.asked()] == ["", f"bytes={LARGEST}-{len(data) - 1}"]
    storage = Storage()
    storage.facts([URL])
    assert storage.read(URL) == data


@pytest.mark.parametrize("fault", ["503 SlowDown", "500 InternalError", "429", "cut"])
def test_what_passes_is_tried_again(server: Loopback, fault: str) -> None:
    server.objects["/bucket/a"] = DATA
    server.faults.extend([fault] * (TRIES - 1))
    assert Storage().read(URL) == DATA
    storage = Storage()
    server.faults.extend([fault] * (TRIES - 1))
    assert joined(storage.take([Want(URL, 10, 999)])[0]) == DATA[10:999]
    server.requests.clear()
    server.faults.extend([fault] * TRIES)
    with pytest.raises(StorageError, match=f"after {TRIES} tries: try again later.*{URL}"):
        Storage().read(URL)
    assert len(server.asked()) == TRIES
    server.faults.extend([fault] * TRIES)
    assert isinstance(storage.take([Want(URL, 1000, 1999)])[0], StorageError)
    assert joined(storage.take([Want(URL, 1000, 1999)])[0]) == DATA[1000:1999]


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        ("404 NoSuchKey", "there is no such object"),
        ("403 AccessDenied", "403 AccessDenied: Told by the test.: check the credentials, and"),
        ("403 SignatureDoesNotMatch", "SignatureDoesNotMatch: .*: check the credentials"),
        ("400 ExpiredToken", "400 ExpiredToken: Told by the test.: renew the credentials"),
        ("301 PermanentRedirect", "in another region: set AWS_REGION"),
        ("400 AuthorizationHeaderMalformed", "in another region: set AWS_REGION"),
        ("400 SomethingElse", "400 SomethingElse: Told by the test"),
    ],
)
@pytest.mark.parametrize("known", [False, True])
def test_what_does_not_pass_is_an_error_at_once(
    server: Loopback, fault: str, text: str, known: bool
) -> None:
    server.objects["/bucket/a"] = DATA
    storage = Storage()
    if known:
        storage.facts([URL])
    server.always["/bucket/a"] = fault
    (found,) = storage.take([Want(URL, 5, 50)])
    assert isinstance(found, StorageError)
    with pytest.raises(StorageError, match=rf"{text}.*\({URL}\)"):
        Storage().read(URL)
    assert len(server.requests) <= 5
    (failed,) = Storage().facts([URL])
    assert isinstance(failed, StorageError)
    # An answer to HEAD has no body that would tell more of it.
    assert text.partition(":")[0].rpartition(" ")[2] in str(failed)


@pytest.mark.full
def test_a_server_that_stalls_is_an_error(
    server: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRADIVA_STORAGE_TIMEOUT", "0.05")
    server.objects["/bucket/a"] = DATA
    server.always["/bucket/a"] = "stall"
    with pytest.raises(StorageError, match="does not answer, after 5 tries"):
        Storage().read(URL)
    assert server.stalled.is_set()


def test_no_server(server: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("GRADIVA_STORAGE_TIMEOUT", "29.5")
    with pytest.raises(StorageError, match=f"cannot be reached.*after 5 tries.*{URL}"):
        Storage().read(URL)


@pytest.mark.parametrize(
    ("url", "options", "text"),
    [
        (URL, '{"skip_signature": "perhaps"}', "perhaps"),
        (URL, '{"endpoint_url": "no endpoint"}', "'no endpoint' is no URL with"),
        (URL, '{"endpoint_url": "127.0.0.1:80"}', "'127.0.0.1:80' is no URL with"),
        ("az://container/a", "{}", "Account must be specified"),
        ("gs://bucket/a", '{"token": {"type": "wrong"}}', "missing field"),
    ],
)
def test_options_that_are_wrong(url: str, options: str, text: str) -> None:
    with pytest.raises(OperatorValueError, match=rf"storage_options.*{url}.*{text}[^\n]*$"):
        Storage(options).facts([url])


def test_a_panic_is_an_error(server: Loopback) -> None:
    """Compiled code raises what is no Exception: who waits learns of it."""

    class Panic(BaseException):
        pass

    def work() -> None:
        raise Panic("of the library")

    found: list[object] = []
    told = threading.Event()

    def done(result: object) -> None:
        found.append(result)
        told.set()

    with ThreadPoolExecutor(1) as threads:
        InThread(work, threads, storage_loop(), done)
        assert told.wait(60)
    assert repr(found) == "[OSError('Panic: of the library')]"


@pytest.mark.parametrize("size", ["the same", "less", "more"])
def test_an_object_that_changes_is_an_error(server: Loopback, size: str) -> None:
    server.objects["/bucket/a"] = DATA
    storage = Storage()
    assert joined(storage.take([Want(URL, 0, 100)])[0]) == DATA[:100]
    server.objects["/bucket/a"] = changed = {
        "the same": DATA[::-1],
        "less": DATA[:1000],
        "more": DATA + b"1",
    }[size]
    (found,) = storage.take([Want(URL, 200_000, 200_100)])
    assert isinstance(found, ObjectChangedError)
    assert "changed during the epoch" in str(found)
    (whole,) = storage.take([Want(URL)])
    assert isinstance(whole, ObjectChangedError)
    assert joined(Storage().take([Want(URL, 0, 100)])[0]) == changed[:100]


def test_an_object_that_changes_between_its_parts(server: Loopback) -> None:
    server.objects["/bucket/a"] = data = bytes(LARGEST) + DATA

    class Changing(dict[str, bytes]):
        def get(self, path: str, default: object = None) -> bytes:
            whole = len(server.asked()) == 1
            return data if whole else data[::-1]

    server.objects = Changing(server.objects)
    with pytest.raises(ObjectChangedError, match="changed during the epoch"):
        Storage().read(URL)


def test_objects_without_a_version(server: Loopback) -> None:
    server.tags = False
    server.objects["/bucket/a"] = DATA
    storage = Storage()
    assert storage.facts([URL]) == [ObjectFacts(len(DATA), "")]
    assert joined(storage.take([Want(URL, 5, 50)])[0]) == DATA[5:50]
    assert storage.identities([URL], ask=True) == [None]


def test_the_identity_is_the_etag(server: Loopback) -> None:
    server.objects["/bucket/a"] = DATA
    (first,) = Storage().identities([URL], ask=True)
    assert first == f"{URL}\0{len(DATA)} ETag {server.tag(DATA)}"


@pytest.mark.full
def test_many_requests_run_at_once(server: Loopback) -> None:
    """No answer comes until all were asked for."""
    names = [f"{number:03}" for number in range(100)]
    server.objects |= {f"/bucket/{name}": name.encode() for name in names}
    server.always |= dict.fromkeys(server.objects, "held")
    storage = Storage()
    storage.expect([Want(f"s3://bucket/{name}") for name in names])
    storage.fetch()
    begun = time.monotonic()
    while len(server.asked()) < 100 and time.monotonic() < begun + 60:
        time.sleep(0.005)
    assert len(server.asked()) == 100
    server.let_go.set()
    found = storage.take([Want(f"s3://bucket/{name}") for name in names])
    assert [joined(one) for one in found] == [name.encode() for name in names]


def test_what_is_forgotten_does_not_come(server: Loopback) -> None:
    server.objects["/bucket/a"] = DATA
    server.always["/bucket/a"] = "stall"
    storage = Storage(read_ahead=1_000_000)
    storage.expect([Want(URL)])
    storage.fetch()
    assert server.stalled.wait(60)
    storage.forget()
    assert storage.room == 1_000_000
    del server.always["/bucket/a"]
    assert storage.read(URL) == DATA


def test_blocks_are_kept_on_disk(
    server: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRADIVA_STORAGE_CACHE", str(tmp_path / "kept"))
    server.objects["/bucket/a"] = DATA
    storage = Storage()
    assert joined(storage.take([Want(URL, 10, 999)])[0]) == DATA[10:999]
    storage.close()
    server.faults.extend(["503"] * TRIES)
    assert Storage().read(URL) == DATA
    assert len(server.asked()) == 1


@pytest.mark.parametrize(
    "key", ["a b", "a%20b", "a~b#c?d&e=f+g", "é/日本", "[1]{2}*!'()", ".a/..b"]
)
def test_names_are_sent_as_they_are(server: Loopback, key: str) -> None:
    server.objects = AnyObject()
    storage = Storage()
    storage.read(f"s3://bucket/{key}")
    storage.take([Want(f"s3://bucket/{key}", 1, 3)])
    assert {unquote(path) for _, path, _ in server.requests} == {f"/bucket/{key}"}


class AnyObject(dict[str, bytes]):
    def get(self, path: str, default: object = None) -> bytes:
        return b"bytes"


FORKED = """
import os, signal, sys
signal.alarm(100)
from gradiva.ops.storage.storage import Storage
from gradiva.ops.storage.loop import InThread, storage_loop
from gradiva.ops.storage.ranges import Want

def read(storage):
    wants = [Want("s3://bucket/a"), Want("s3://bucket/b", 1, 3)]
    return [b"".join(one) for one in storage.take(wants)]

def same(process):
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0

storage, expected = Storage(), [b"first", b"ec"]
if sys.argv[1] == "used":
    assert read(storage) == expected
elif sys.argv[1] == "imported":
    import obstore
first = os.fork()
if first == 0:
    assert read(storage) == expected
    second = os.fork()
    if second == 0:
        assert read(storage) == read(Storage()) == expected
        os._exit(0)
    same(second)
    assert read(Storage()) == expected
    os._exit(0)
same(first)
assert read(storage) == expected
import obstore
assert obstore.exceptions.BaseError is sys.modules["obstore.exceptions"].BaseError
print("good")
"""


@pytest.mark.full
@pytest.mark.parametrize("before", ["used", "imported", "nothing"])
@pytest.mark.parametrize("memory", [True, False])
def test_after_a_fork(server: Loopback, before: str, memory: bool) -> None:
    """obstore's own threads do not survive it. memory: whether the system has files in memory."""
    server.objects |= {"/bucket/a": b"first", "/bucket/b": b"second"}
    script = FORKED if memory else f"import os; del os.memfd_create\n{FORKED}"
    run = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", script, before],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.stdout == "good\n", run.stderr
