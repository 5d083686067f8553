"""Identities of objects on other machines, and no requests for those that a cache has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva.eager.support.errors import SampleDataError
from gradiva.eager.types.sample_origin import SampleOrigin
from gradiva.eager.values.batch import Batch
from gradiva.ops.readers import ahead
from gradiva.ops.storage import transport
from gradiva.ops.storage.facts import ObjectFacts, identity_of
from tests.ops.storage.loopback import Loopback, loopback

from .formats import FORMATS

COUNT = 20


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    monkeypatch.setattr(transport, "_FIRST_PAUSE", 0.0)
    with loopback() as here:
        here.objects |= {f"/{number:02}": bytes([number]) * 1000 for number in range(COUNT)}
        yield here


class Kept:
    """The part of a cache: which identities it has."""

    def __init__(self, has: Sequence[str | None] = ()) -> None:
        self.has = set(has) - {None}

    def __call__(self, given: dict[int, Sequence[str | None]]) -> Any:
        return np.array([one in self.has for one in given[min(given)]], np.bool_)


def origin_of(batch: Batch) -> SampleOrigin:
    assert batch.provenance is not None
    assert batch.provenance.origin is not None
    return batch.provenance.origin


def opened(server: Loopback, kept: Kept, **options: Any) -> Any:
    files = [f"{server.url}/{number:02}" for number in range(COUNT)]
    return cached(gradiva.readers.File(files=files, lazy_init=True, **options), kept)


def cached(reader: Any, kept: Kept) -> Any:
    reader._source.left, reader._source.known = frozenset({0}), kept
    return reader


def identities(reader: Any) -> list[str | None]:
    batches = list(reader.next_epoch(batch_size=4))
    return [one for batch in batches for one in origin_of(batch[0]).identities]


def test_no_request_for_known_objects(server: Loopback) -> None:
    found = identities(opened(server, Kept()))
    assert None not in found
    assert len(set(found)) == COUNT
    assert len(server.asked("HEAD")) == COUNT
    assert len(server.asked("GET")) == COUNT
    server.requests.clear()
    half = Kept(found[::2])
    reader = opened(server, half)
    for _ in range(2):
        batches = list(reader.next_epoch(batch_size=4))
        for number, (files, labels) in enumerate(batches):
            left_out = origin_of(files).left_out
            assert left_out is not None
            assert left_out.tolist() == [True, False] * 2
            first = 4 * number
            assert files.array(1).tobytes() == bytes([first + 1]) * 1000
            assert [int(one[0]) for one in labels.arrays()] == [*range(first, first + 4)]
    assert len(server.asked("HEAD")) == COUNT  # one for each object and process
    assert {path for _, path, _ in server.asked("GET")} == {f"/{n:02}" for n in range(1, COUNT, 2)}
    server.requests.clear()
    half.has.update(one for one in found if one)
    list(reader.next_epoch(batch_size=4))
    assert server.requests == []


def test_versions_are_not_asked_for_far_ahead(
    server: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of known objects, which take no room in memory."""
    found = identities(opened(server, Kept()))
    server.requests.clear()
    monkeypatch.setattr(ahead, "_FAR", 4)
    epoch = opened(server, Kept(found)).next_epoch(batch_size=1)
    next(epoch)
    assert len(server.requests) <= 6
    assert len(list(epoch)) == COUNT - 1
    assert len(server.asked("HEAD")) == COUNT
    assert server.asked("GET") == []


def test_left_out_and_loaded(server: Loopback) -> None:
    found = identities(opened(server, Kept()))
    server.requests.clear()
    files, _ = next(opened(server, Kept(found)).next_epoch(batch_size=4))
    load = origin_of(files).load
    assert server.asked("GET") == []
    assert load is not None
    assert load([3]).array(0).tobytes() == bytes([3]) * 1000
    assert {path for _, path, _ in server.asked("GET")} == {"/03"}
    server.always["/02"] = "404"
    with pytest.raises(SampleDataError, match="cannot be read") as failure:
        load([1, 2])
    assert failure.value.sample == 2
    assert str(failure.value.file).endswith("/02")


def test_other_bytes_have_another_identity(server: Loopback) -> None:
    before = identities(opened(server, Kept()))
    server.objects["/07"] = b"x" * 1000
    after = identities(opened(server, Kept()))
    assert [n for n, (a, b) in enumerate(zip(before, after, strict=True)) if a != b] == [7]


def test_servers_without_versions(server: Loopback) -> None:
    server.tags = False
    assert identities(opened(server, Kept())) == [None] * COUNT


def test_without_a_cache_nothing_is_asked(server: Loopback) -> None:
    files = [f"{server.url}/{number:02}" for number in range(COUNT)]
    reader = gradiva.readers.File(files=files)
    # Their versions were not known when they were read.
    assert identities(reader) == [None] * COUNT
    assert server.asked("HEAD") == []
    assert len(server.asked("GET")) == COUNT


def test_members_of_archives(server: Loopback, tmp_path: Path) -> None:
    """Labels are read of all samples, images of those that are needed."""
    data = FORMATS["webdataset"].write(tmp_path, 9)
    server.objects["/data.tar"] = (tmp_path / "data.tar").read_bytes()
    there = {"paths": f"{server.url}/data.tar", "index_paths": data["index_paths"]}

    def read(kept: Kept) -> list[Any]:
        reader = gradiva.readers.Webdataset(**there, ext=["jpg", "cls"], lazy_init=True)
        return list(cached(reader, kept).next_epoch(batch_size=3))

    whole = read(Kept())
    found = [one for files, _ in whole for one in origin_of(files).identities]
    assert len(set(found)) == 9
    assert None not in found
    for (files, labels), (others, same) in zip(read(Kept(found[1:])), whole, strict=True):
        left_out = origin_of(files).left_out
        assert left_out is not None
        assert [one.tobytes() for one in labels.arrays()] == [o.tobytes() for o in same.arrays()]
        for sample in np.flatnonzero(~left_out).tolist():
            assert files.array(sample).tobytes() == others.array(sample).tobytes()


@pytest.mark.parametrize(
    ("version", "known"),
    [
        ('ETag "5f"', True),
        ('ETag W/"5f"', False),
        ("generation 17", True),
        ("Last-Modified Fri, 27 Nov 2020 10:00:00 GMT", True),
        ("Last-Modified Fri, 27 Nov 2026 10:00:00 GMT", False),
        ("LastModified 1600000000.0", True),
        ("mtime 1795773600", False),
        ("mtime now", False),
        ("mtime nan", False),
        ("updated 0001-01-01", False),
        ("last_modified 2020-11-27T10:00:00+00:00", True),
        ("created 1600000000.0", False),
        ("", False),
    ],
)
def test_versions(version: str, known: bool) -> None:
    """A time of a moment ago may be that of two versions."""
    asked = 1795773600.0 + 1
    found = identity_of("s3://a/b", ObjectFacts(5, version), asked)
    assert (found is not None) == known
    if found is not None:
        assert found != identity_of("s3://a/c", ObjectFacts(5, version), asked)
        assert found != identity_of("s3://a/b", ObjectFacts(6, version), asked)
