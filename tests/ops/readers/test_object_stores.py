"""Readers of buckets on a server that speaks S3: the same samples as from a disk, by signed
requests, in every kind of process, whatever the server does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("obstore")
pytest.importorskip("moto")

import boto3
import requests

import gradiva
from gradiva import fn, pipeline_def
from gradiva.eager.execution.quarantine import Quarantine
from gradiva.eager.support.errors import OperatorValueError, SampleDataError
from gradiva.ops.storage import transport
from gradiva.ops.storage.storage import Storage
from gradiva.ops.storage.transport import TRIES
from tests.ops.storage.s3 import S3, s3

from .formats import FORMATS, Format, read_epoch
from .test_remote import uploaded

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def running() -> Iterator[S3]:
    with s3() as server:
        yield server


@pytest.fixture
def server(running: S3, monkeypatch: pytest.MonkeyPatch) -> S3:
    """Nothing is in its bucket, and a request is soon sent again. Not at once: on a busy machine,
    a server that has closed a connection may not be ready for the next one."""
    monkeypatch.setattr(transport, "_FIRST_PAUSE", 0.05)
    monkeypatch.setenv("AWS_ENDPOINT_URL", running.proxy.url)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    running.clear()
    return running


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_every_format(name: str, tmp_path: Path, server: S3) -> None:
    """The same samples, in the same order, resumed in the middle of an epoch."""
    kind: Format = FORMATS[name]
    data = kind.write(tmp_path, 9)
    far = uploaded(data, tmp_path, "s3://bucket/data", server.put)
    assert far != data
    expected = read_epoch(kind.reader(**data, random_shuffle=True, seed=3), 4)
    reader = kind.reader(**far, random_shuffle=True, seed=3)
    assert read_epoch(reader, 4) == expected
    epoch = reader.next_epoch(batch_size=4)
    next(epoch)
    state = reader.get_state()
    rest = read_epoch(reader, 4)
    other = kind.reader(**far, random_shuffle=True, seed=3)
    other.set_state(state)
    assert read_epoch(other, 4) == rest


def test_requests_are_signed(server: S3, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server checks the signatures: of a user who may read, and of a wrong secret. New
    credentials are taken from the environment."""
    server.put("a", b"content")
    endpoint = server.client.meta.endpoint_url
    iam = boto3.client(
        "iam",
        endpoint_url=endpoint,
        region_name="us-east-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
    )
    iam.create_user(UserName="reader")
    rule = {"Effect": "Allow", "Action": "s3:*", "Resource": "*"}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [rule]})
    iam.put_user_policy(UserName="reader", PolicyName="all", PolicyDocument=policy)
    key = iam.create_access_key(UserName="reader")["AccessKey"]
    requests.post(f"{endpoint}/moto-api/reset-auth", data=b"0", timeout=60)
    try:
        good = {"key": key["AccessKeyId"], "secret": key["SecretAccessKey"]}
        reader = gradiva.readers.File(files=["s3://bucket/a"], storage_options=good)
        ((files, _),) = reader.next_epoch(batch_size=1)
        assert files.at(0).tobytes() == b"content"
        for given in ({**good, "secret": "wrong"}, {**good, "key": "AKIAUNKNOWN"}, {"anon": True}):
            reader = gradiva.readers.File(files=["s3://bucket/a"], storage_options=given)
            with pytest.raises(SampleDataError, match=r"403.*check the credentials.*s3://bucket/a"):
                next(reader.next_epoch(batch_size=1))
        reader = gradiva.readers.File(files=["s3://bucket/a"])
        with pytest.raises(SampleDataError, match=r"403.*check the credentials.*s3://bucket/a"):
            next(reader.next_epoch(batch_size=1))
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", good["key"])
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", good["secret"])
        ((files, _),) = reader.next_epoch(batch_size=1)
        assert files.at(0).tobytes() == b"content"
    finally:
        requests.post(f"{endpoint}/moto-api/reset-auth", data=b"1e99", timeout=60)


def test_lists_of_many_pages(server: S3) -> None:
    """1,000 names are a page; one of the pages is refused at first."""
    for number in range(2300):
        server.put(f"many/{number % 2}/{number:05}.jpg", b"%d" % number)
    server.proxy.requests.clear()
    server.proxy.faults.extend(["ok", "503 SlowDown", "503 SlowDown"])
    reader = gradiva.readers.File(file_root="s3://bucket/many", file_filters=["*0.jpg"])
    names = [name for files, _ in reader.next_epoch(batch_size=64) for name in files.source_info()]
    assert names == [f"s3://bucket/many/0/{number:05}.jpg" for number in range(0, 2300, 10)]
    lists = [path for _, path, _ in server.proxy.requests if "list-type" in path]
    assert len(lists) == 1 + 2 * 2 + 2
    # The lists have told the facts of the objects.
    assert not server.proxy.asked("HEAD")


def test_folders_and_their_markers(server: S3) -> None:
    """Consoles make a folder by an object of no bytes whose name ends in a slash."""
    for key in ("top/", "top/a/", "top/a/1.jpg", "top/b/2.jpg", "top/empty/", "top/1.jpg", "other"):
        server.put(key, key.encode() if key.endswith("jpg") else b"")
    (inside,) = Storage().entries(["s3://bucket/top"])
    assert [(one.name, one.is_folder) for one in inside] == [
        ("1.jpg", False),
        ("a", True),
        ("b", True),
        ("empty", True),
    ]
    assert Storage().entries(["s3://bucket/top/empty/"]) == [[]]
    ((files, labels),) = gradiva.readers.File(file_root="s3://bucket/top").next_epoch(batch_size=3)
    assert [one.tobytes() for one in files.arrays()] == [b"top/a/1.jpg", b"top/b/2.jpg"]
    assert labels.as_array().ravel().tolist() == [0, 1]
    with pytest.raises(OperatorValueError, match=r"no such object.*s3://bucket/none"):
        gradiva.readers.File(file_root="s3://bucket/none")
    with pytest.raises(OperatorValueError, match=r"NoSuchBucket.*s3://nobucket/none"):
        gradiva.readers.File(file_root="s3://nobucket/none")


def test_objects_of_several_parts(server: S3) -> None:
    """Their ETag is no digest of their bytes, and tells of changes all the same."""
    drawn = np.random.default_rng(1)
    parts = [drawn.bytes(5 << 20), drawn.bytes(5 << 20), drawn.bytes(1000)]

    def write(parts: list[bytes]) -> None:
        made = server.client.create_multipart_upload(Bucket="bucket", Key="large")["UploadId"]
        tags = [
            server.client.upload_part(
                Bucket="bucket", Key="large", PartNumber=number, UploadId=made, Body=part
            )["ETag"]
            for number, part in enumerate(parts, 1)
        ]
        rows = [{"PartNumber": number, "ETag": tag} for number, tag in enumerate(tags, 1)]
        server.client.complete_multipart_upload(
            Bucket="bucket", Key="large", UploadId=made, MultipartUpload={"Parts": rows}
        )

    write(parts)
    storage = Storage()
    assert storage.read("s3://bucket/large") == b"".join(parts)
    (first,) = storage.identities(["s3://bucket/large"], ask=True)
    assert first is not None
    assert first.endswith('-3"')
    write([parts[1], parts[0], parts[2]])
    assert storage.identities(["s3://bucket/large"], ask=True) == [first]
    with pytest.raises(OSError, match="changed during the epoch"):
        Storage.read(storage, "s3://bucket/large")
    assert Storage().identities(["s3://bucket/large"], ask=True) != [first]


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        ("403 AccessDenied", "403 AccessDenied.*check the credentials"),
        ("400 ExpiredToken", "400 ExpiredToken.*renew the credentials"),
        ("404 NoSuchKey", "no such object"),
        ("503 SlowDown", f"503 SlowDown.*after {TRIES} tries"),
        ("cut", f"after {TRIES} tries"),
    ],
)
def test_errors_of_samples(server: S3, fault: str, text: str) -> None:
    """They name the object and the reason; the other samples are read."""
    for number in range(6):
        server.put(f"{number}", b"%d" % number * 100)
    files = [f"s3://bucket/{number}" for number in range(6)]
    server.proxy.always["/bucket/2"] = fault
    with pytest.raises(SampleDataError, match=rf"(?s){text}.*\(.*s3://bucket/2\)"):
        next(gradiva.readers.File(files=files).next_epoch(batch_size=6))
    with Quarantine(warns=False) as bad:
        reader = gradiva.readers.File(files=files, on_error="skip")
        ((found, _),) = reader.next_epoch(batch_size=6)
    assert [one.file for one in bad] == ["s3://bucket/2"]
    assert [one.tobytes()[:1] for one in found.arrays()] == [b"0", b"1", b"3", b"4", b"5"]


def test_an_archive_that_changes(server: S3, tmp_path: Path) -> None:
    """Its samples are errors, and never bytes of both."""
    data = FORMATS["webdataset"].write(tmp_path, 12)
    far = uploaded(data, tmp_path, "s3://bucket/data", server.put)
    reader = FORMATS["webdataset"].reader(**far, read_ahead_bytes=0)
    epoch = reader.next_epoch(batch_size=3)
    next(epoch)
    for key in server.client.list_objects_v2(Bucket="bucket")["Contents"]:
        if key["Key"].endswith(".tar"):
            server.put(key["Key"], bytes(key["Size"]))
    with pytest.raises(SampleDataError, match=r"(?s)changed during.*s3://bucket/data/.*\.tar"):
        for _ in epoch:
            pass


def test_names_that_obstore_does_not_take(server: S3) -> None:
    """fsspec reads what has such names, and lists folders that have one."""
    pytest.importorskip("s3fs")
    keys = ["odd/a//b.jpg", "odd/a/./c.jpg", "odd/a/d.jpg", "odd/a/\x01e.jpg"]
    for key in keys:
        server.put(key, key.encode())
    reader = gradiva.readers.File(files=[f"s3://bucket/{key}" for key in keys])
    ((files, _),) = reader.next_epoch(batch_size=4)
    assert [one.tobytes().decode() for one in files.arrays()] == keys
    (inside,) = Storage().entries(["s3://bucket/odd/a"])
    assert [one.name for one in inside if not one.is_folder] == ["\x01e.jpg", "d.jpg"]


def test_options_that_obstore_does_not_take(server: S3) -> None:
    pytest.importorskip("s3fs")
    server.put("a", b"content")
    given = {"config_kwargs": {"max_pool_connections": 3}, "endpoint_url": server.proxy.url}
    reader = gradiva.readers.File(files=["s3://bucket/a"], storage_options=given)
    ((files, _),) = reader.next_epoch(batch_size=1)
    assert files.at(0).tobytes() == b"content"


def test_both_clients_tell_the_same_identity(server: S3) -> None:
    """So what a cache holds stays valid when obstore is installed."""
    pytest.importorskip("s3fs")
    server.put("a", b"content")
    options = f'{{"default_block_size": 100000, "endpoint_url": "{server.proxy.url}"}}'
    (ours,) = Storage().identities(["s3://bucket/a"], ask=True)
    (theirs,) = Storage(options).identities(["s3://bucket/a"], ask=True)
    assert ours == theirs is not None


@pytest.mark.parametrize("listed", [True, False])
def test_a_cache_asks_for_no_sample_again(server: S3, tmp_path: Path, listed: bool) -> None:
    """listed: a list of the folder has told the versions of the objects; else they are asked for,
    once for each object."""
    photos = sorted((Path(gradiva.__file__).parent / "photographs").glob("*/*.jpg"))[:4]
    for number, path in enumerate(photos):
        server.put(f"photos/a/{number}.jpg", path.read_bytes())
    files = [f"s3://bucket/photos/a/{number}.jpg" for number in range(len(photos))]
    data: dict[str, Any] = {"file_root": "s3://bucket/photos"} if listed else {"files": files}

    def epoch() -> list[Any]:
        @pipeline_def
        def pipe() -> Any:
            encoded, _ = fn.readers.file(**data)
            image = fn.resize(fn.decoders.image(encoded), size=(32, 32))
            return gradiva.cache(image, where=str(tmp_path / "kept"))

        made = pipe(batch_size=2, num_threads=2, device_id=None)
        return [made.run()[0].as_array().tobytes() for _ in range(2)]

    first = epoch()
    server.proxy.requests.clear()
    assert epoch() == first
    assert not [path for _, path, _ in server.proxy.asked() if "list-type" not in path]
    heads = sorted(path for _, path, _ in server.proxy.asked("HEAD"))
    assert heads == ([] if listed else [f"/bucket/photos/a/{number}.jpg" for number in range(4)])
    server.put("photos/a/1.jpg", photos[0].read_bytes())
    server.proxy.requests.clear()
    epoch()
    asked = {path for _, path, _ in server.proxy.asked() if "list-type" not in path}
    assert asked == {"/bucket/photos/a/1.jpg"}


def test_imread_and_files_by_path(server: S3) -> None:
    path = next((Path(gradiva.__file__).parent / "photographs").glob("*/*.jpg"))
    server.put("x.jpg", path.read_bytes())
    there = gradiva.imread("s3://bucket/x.jpg")
    assert np.array_equal(np.asarray(there), np.asarray(gradiva.imread(path)))
    name = np.frombuffer(b"s3://bucket/x.jpg", np.uint8)
    assert gradiva.io.file.read(gradiva.batch([name])).at(0).tobytes() == path.read_bytes()


def test_the_plan_is_fetched_ahead(server: S3) -> None:
    for number in range(20):
        server.put(f"{number}", bytes([number]) * 1000)
    files = [f"s3://bucket/{number}" for number in range(20)]
    reader = gradiva.readers.File(files=files, read_ahead_bytes=1 << 24)
    epoch = reader.next_epoch(batch_size=4)
    next(epoch)
    storage = reader._source._opened[0].storage  # type: ignore[attr-defined]
    for part in storage._parts.every():
        part.ready.result(60)
    server.proxy.always |= {f"/bucket/{number}": "404" for number in range(20)}
    rest = [files.at(0).tobytes() for files, _ in epoch]
    assert rest == [bytes([number]) * 1000 for number in (4, 8, 12, 16)]
    assert len(server.proxy.asked()) == 20


PROCESSES = """
import multiprocessing, os, signal, sys
signal.alarm(200)
import numpy as np
import gradiva

FILES = [f"s3://bucket/{n}" for n in range(12)]
EXPECTED = [b"%d" % n * 50 for n in range(12)]

def read(reader):
    return [files.at(0).tobytes() for files, _ in reader.next_epoch(batch_size=1)]

def child(reader, number, results):
    results.put((number, read(reader)))

if __name__ == "__main__":
    way = sys.argv[1]
    reader = gradiva.readers.File(files=FILES, seed=1)
    epoch = reader.next_epoch(batch_size=1)
    first = [next(epoch)[0].at(0).tobytes() for _ in range(3)]  # the rest is on its way
    assert first == EXPECTED[:3]
    state = reader.get_state()
    context = multiprocessing.get_context(way)
    results = context.Queue()
    workers = [context.Process(target=child, args=(reader, n, results)) for n in range(3)]
    for worker in workers:
        worker.start()
    found = dict(results.get() for _ in workers)
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    assert sorted(found) == [0, 1, 2]
    for rows in found.values():
        assert rows == EXPECTED[3:], rows
    assert [files.at(0).tobytes() for files, _ in epoch] == EXPECTED[3:]
    other = gradiva.readers.File(files=FILES, seed=1)
    other.set_state(state)
    assert read(other) == EXPECTED[3:]
    print("good")
"""


@pytest.mark.parametrize("way", ["fork", "spawn", "forkserver"])
def test_worker_processes(server: S3, tmp_path: Path, way: str) -> None:
    for number in range(12):
        server.put(f"{number}", b"%d" % number * 50)
    script = tmp_path / "script.py"
    script.write_text(PROCESSES)
    run = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", str(script), way],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ},
    )
    assert run.stdout == "good\n", run.stderr
