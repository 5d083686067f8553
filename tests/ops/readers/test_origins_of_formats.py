"""Identities of the samples of each format, and samples that are left out of its batches."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva.eager.types.sample_origin import SampleOrigin
from gradiva.eager.values.batch import Batch
from tests.ops.readers.formats import FORMATS, Format

SIZE = 10
pytestmark = pytest.mark.filterwarnings("ignore:samples that cannot be read")

WITHOUT = {
    "hdf5": {0, 1, 2},
    "coco": {1, 2, 3, 4, 5},
    "nemo_asr": {2, 3},
    "legacy_video": {1},
    "video": {1},
}
"""Outputs whose samples have no identity."""


@pytest.fixture(params=sorted(FORMATS))
def name(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.fixture
def data(name: str, tmp_path: Path) -> dict[str, Any]:
    found = FORMATS[name].write(tmp_path, SIZE)
    aged(tmp_path)
    return found


def aged(folder: Path) -> None:
    """Wait until what was just written has an identity."""
    newest = max(path.stat().st_ctime_ns for path in folder.rglob("*"))
    while True:
        probe = folder / ".clock"
        probe.write_bytes(b"")
        if probe.stat().st_ctime_ns > newest + 25 * 10**6:
            probe.unlink()
            return


def origin_of(batch: Batch) -> SampleOrigin:
    assert batch.provenance is not None
    assert batch.provenance.origin is not None
    return batch.provenance.origin


def taken(reader: Any, batch_size: int) -> list[tuple[Batch, ...]]:
    found = []
    for one in reader.next_epoch(batch_size=batch_size):
        values = [*one.values()] if isinstance(one, dict) else one
        found.append(tuple(values) if isinstance(values, list | tuple) else (values,))
    return found


def contents(batch: Batch) -> list[tuple[Any, ...]]:
    return [(one.dtype, one.shape, one.tobytes()) for one in map(np.asarray, batch.arrays())]


def test_identities_mean_bytes(name: str, data: dict[str, Any]) -> None:
    """They are the same for any batch size and order, and so are the bytes that they stand for."""
    meant: dict[str, Any] = {}
    kind = FORMATS[name]
    for options, batch_size in (({}, SIZE), ({"random_shuffle": True, "seed": 4}, 3)):
        for batches in taken(kind.reader(**data, **options), batch_size):
            for output, batch in enumerate(batches):
                identities = list(origin_of(batch).identities)
                assert len(identities) == len(batch)
                for identity, content in zip(identities, contents(batch), strict=True):
                    if identity is None:
                        assert output in WITHOUT.get(name, set()) or not content[2]
                    else:
                        assert meant.setdefault(identity, content) == content
    outputs = len(taken(kind.reader(**data), SIZE)[0])
    there = [one for one in range(outputs) if one not in WITHOUT.get(name, set())]
    assert len(meant) >= len(there) * (SIZE - 4)


def test_a_changed_file_is_another_one(name: str, data: dict[str, Any], tmp_path: Path) -> None:
    kind = FORMATS[name]
    before = [{*origin_of(one).identities} for one in taken(kind.reader(**data), SIZE)[0]]
    for path in tmp_path.glob(kind.files):
        facts = path.stat()
        path.chmod(0o640)
        path.chmod(0o600)
        os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    aged(tmp_path)
    after = [{*origin_of(one).identities} for one in taken(kind.reader(**data), SIZE)[0]]
    assert all(not (one & other) - {None} for one, other in zip(before, after, strict=True))


class Kept:
    """The part of a cache: which identities it has."""

    def __init__(self, output: int, has: set[str | None]) -> None:
        self.output, self.has = output, has

    def __call__(self, given: dict[int, Sequence[str | None]]) -> Any:
        return np.array([one in self.has for one in given[self.output]], np.bool_)


def check_left_out(
    kind: Format, data: dict[str, Any], left: frozenset[int], used: frozenset[int] | None
) -> None:
    """Batches of which a cache has half of the samples, none, and all."""
    whole = taken(kind.reader(**data), 4)
    first = min(left)
    identities = [one for batch in whole for one in origin_of(batch[first]).identities]
    every: set[str | None] = {one for one in identities if one is not None}
    half: set[str | None] = {one for one in identities[::2] if one is not None}
    for has in (half, set[str | None](), every):
        reader = kind.reader(**data)
        reader._source.left, reader._source.used = left, used
        reader._source.known = Kept(first, has)
        for batches, others in zip(taken(reader, 4), whole, strict=True):
            for output, (batch, other) in enumerate(zip(batches, others, strict=True)):
                if used is None or output in used or output in left:
                    _check(batch, other, output in left, output == first, has)


def _check(batch: Batch, other: Batch, left: bool, first: bool, has: set[str | None]) -> None:
    origin, expected = origin_of(batch), contents(other)
    if origin.left_out is None:
        assert contents(batch) == expected
        return
    assert left
    assert len(origin.identities) == len(batch)
    gone = np.flatnonzero(origin.left_out).tolist()
    for sample, content in enumerate(contents(batch)):
        if sample in gone:
            assert not any(content[2])
            assert (origin.identities[sample] in has) is first
        else:
            assert content == expected[sample]
    assert origin.load is not None
    loaded = contents(origin.load(gone[::-1]))
    assert loaded == [expected[sample] for sample in gone[::-1]]
    assert list(batch.provenance.names or ()) == list(other.provenance.names or ())  # type: ignore[union-attr]


def test_left_out_alone(name: str, data: dict[str, Any]) -> None:
    """Nothing else of the reader is used."""
    check_left_out(FORMATS[name], data, frozenset({0}), frozenset({0}))


def test_left_out_beside_others(name: str, data: dict[str, Any]) -> None:
    check_left_out(FORMATS[name], data, frozenset({0}), None)
    outputs = len(taken(FORMATS[name].reader(**data), SIZE)[0])
    check_left_out(FORMATS[name], data, frozenset({outputs - 1}), None)
    check_left_out(FORMATS[name], data, frozenset(range(outputs)), None)


def test_mixed_readers(tmp_path: Path) -> None:
    data = FORMATS["webdataset"].write(tmp_path, SIZE)
    others = tmp_path / "others"
    others.mkdir()
    more = FORMATS["webdataset"].write(others, SIZE)
    aged(tmp_path)
    readers = [gradiva.readers.Webdataset(**data), gradiva.readers.Webdataset(**more)]

    def mixed(**given: Any) -> Any:
        return gradiva.readers.Mix(readers=readers, seed=3, **given)

    kind = Format(FORMATS["webdataset"].write, mixed, mixed)
    check_left_out(kind, {"with_source": True}, frozenset({0}), frozenset({0, 2}))
    check_left_out(kind, {"with_source": True}, frozenset({0}), None)
    found = [origin_of(one[0]) for one in taken(kind.reader(), 5)]
    assert None not in {one for origin in found for one in origin.identities}


def test_clips_that_are_begun_ahead(tmp_path: Path) -> None:
    """What is known is not decoded, in batches that were begun before they are asked for."""
    data = FORMATS["video"].write(tmp_path, 12)
    aged(tmp_path)
    kind = FORMATS["video"]
    with gradiva.EvalContext(num_threads=3) as context:
        whole = list(kind.reader(**data).next_epoch(batch_size=2, ctx=context))
        found = [one for clips, *_ in whole for one in origin_of(clips).identities]
        assert None not in found
        for has in (set(found[::2]), set(found), set[str | None]()):
            reader = kind.reader(**data)
            reader._source.left, reader._source.known = frozenset({0}), Kept(0, has)
            for clips, others in zip(
                reader.next_epoch(batch_size=2, ctx=context), whole, strict=True
            ):
                for number, (one, other) in enumerate(zip(clips, others, strict=True)):
                    _check(one, other, number == 0, number == 0, has)


def test_loaded_while_it_is_read(tmp_path: Path) -> None:
    """By other threads than the one that reads."""
    data = FORMATS["webdataset"].write(tmp_path, 40)
    aged(tmp_path)
    reader = gradiva.readers.Webdataset(**data)
    whole = [one for files, _ in taken(reader, 4) for one in contents(files)]
    found = {one for files, _ in taken(reader, 4) for one in origin_of(files).identities}
    reader._source.left, reader._source.known = frozenset({0}), Kept(0, found)

    def load(origin: SampleOrigin) -> list[tuple[Any, ...]]:
        assert origin.load is not None
        return contents(origin.load([0, 1, 2, 3]))

    with ThreadPoolExecutor(4) as pool:
        loaded = [pool.submit(load, origin_of(files)) for files, _ in taken(reader, 4)]
        assert [one for part in loaded for one in part.result()] == whole
