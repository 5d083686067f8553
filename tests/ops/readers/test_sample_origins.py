"""Identities of the samples of readers, and samples that are not read because a cache has them."""

from __future__ import annotations

import gc
import os
import pickle
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva.eager.runtime.worker_pool import WorkerPool
from gradiva.eager.support.errors import SampleDataError
from gradiva.eager.support.local_files import opened
from gradiva.eager.types.sample_origin import SampleOrigin
from gradiva.eager.values.batch import Batch
from gradiva.eager.values.tensor import Tensor
from gradiva.ops.readers.core import files as file_reads
from gradiva.ops.readers.core.identities import arguments_digest, file_identity, library_version
from gradiva.ops.readers.core.source import Source

POOL = WorkerPool(2)


def settle() -> None:
    """Wait until files that were just written have an identity."""
    time.sleep(0.03)


def source_of(reader: Any) -> Source:
    found: Source = reader._source
    return found


def origin_of(batch: Batch | Tensor) -> SampleOrigin:
    assert batch.provenance is not None
    assert batch.provenance.origin is not None
    return batch.provenance.origin


def identities_of(batch: Batch | Tensor) -> list[str | None]:
    return list(origin_of(batch).identities)


class Kept:
    """The part of a cache: which identities it has."""

    def __init__(self, output: int = 0) -> None:
        self.output = output
        self.has: set[str | None] = set()
        self.asked: list[dict[int, list[str | None]]] = []

    def __call__(self, given: dict[int, Sequence[str | None]]) -> Any:
        self.asked.append({output: list(rows) for output, rows in given.items()})
        rows = given[self.output]
        return np.array([one is not None and one in self.has for one in rows], np.bool_)

    def keep(self, batch: Batch) -> None:
        self.has.update(one for one in identities_of(batch) if one is not None)


@pytest.fixture
def paths(tmp_path: Path) -> list[str]:
    found = []
    for number in range(6):
        path = tmp_path / f"{number}.bin"
        path.write_bytes(bytes([number]) * (10 + number))
        found.append(str(path))
    settle()
    return found


def read(reader: Any, batch_size: int = 6) -> list[Any]:
    return list(reader.next_epoch(batch_size=batch_size))


def test_equal_between_readers_and_epochs(paths: list[str]) -> None:
    first = gradiva.readers.File(files=paths)
    again = gradiva.readers.File(files=paths[::-1], random_shuffle=True, seed=3, read_ahead=True)
    (contents, labels), (same, _) = read(first)[0], read(first)[0]
    assert identities_of(contents) == identities_of(same)
    assert None not in identities_of(contents)
    assert len({*identities_of(contents), *identities_of(labels)}) == 12
    (others, _) = read(again)[0]
    assert sorted(map(str, identities_of(contents))) == sorted(map(str, identities_of(others)))


@pytest.mark.full
def test_equal_in_another_process(paths: list[str]) -> None:
    code = (
        "import sys, gradiva\n"
        "(files, labels), = gradiva.readers.File(files=sys.argv[1:]).next_epoch(batch_size=9)\n"
        "for batch in (files, labels):\n"
        "    print(ascii(list(batch.provenance.origin.identities)))\n"
    )
    found = subprocess.run(
        [sys.executable, "-c", code, *paths], capture_output=True, text=True, check=True
    )
    here = read(gradiva.readers.File(files=paths), 9)[0]
    assert found.stdout.splitlines() == [ascii(identities_of(batch)) for batch in here]


def _rewritten(path: str) -> None:
    """With the old size and time, in the same file."""
    facts = os.stat(path)
    with open(path, "r+b") as stream:
        stream.write(b"x" * facts.st_size)
    os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))


def _replaced(path: str) -> None:
    """By another file with the old size and time."""
    facts = os.stat(path)
    Path(path + ".new").write_bytes(b"y" * facts.st_size)
    os.utime(path + ".new", ns=(facts.st_atime_ns, facts.st_mtime_ns))
    os.replace(path + ".new", path)


CHANGES = {
    "longer": lambda path: Path(path).write_bytes(bytes(99)),
    "another time": lambda path: os.utime(path, (1e9, 1e9)),
    "rewritten": _rewritten,
    "replaced": _replaced,
}


@pytest.mark.parametrize("change", CHANGES)
def test_changes_of_a_file(paths: list[str], change: str) -> None:
    reader = gradiva.readers.File(files=paths)
    before = identities_of(read(reader)[0][0])
    CHANGES[change](paths[2])
    settle()
    after = identities_of(read(reader)[0][0])
    assert [a == b for a, b in zip(before, after, strict=True)] == [True] * 2 + [False] + [True] * 3
    assert after[2] is not None


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="no links here")
def test_a_link_that_leads_elsewhere(tmp_path: Path) -> None:
    link = tmp_path / "link"
    found = set()
    for name in ("one", "two"):
        (tmp_path / name).write_bytes(name.encode())
        os.utime(tmp_path / name, (1e9, 1e9))
    settle()
    for name in ("one", "two"):
        link.unlink(missing_ok=True)
        link.symlink_to(tmp_path / name)
        found.add(file_identity(str(link)))
    assert len(found) == 2
    assert None not in found


def test_files_without_an_identity(tmp_path: Path, paths: list[str]) -> None:
    assert file_identity(str(tmp_path)) is None
    assert file_identity(str(tmp_path / "missing")) is None
    assert file_identity("a\0b") is None
    facts = os.stat(paths[0])
    assert file_identity(paths[0], facts.st_ctime_ns) is None
    assert file_identity(paths[0], facts.st_ctime_ns + 10**10) is not None


def test_file_systems_with_other_clocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Times that tell of no change: of seconds only, of one for all files, of the future."""

    def known(changed: float, modified: float, now: float) -> bool:
        class Facts:
            st_ctime_ns, st_mtime_ns = int(changed * 1e9), int(modified * 1e9)
            st_size, st_ino, st_mode = 5, 7, 0o100644

        monkeypatch.setattr("gradiva.ops.readers.core.identities.os.stat", lambda _: Facts)
        found = file_identity("/a", int(now * 1e9))
        monkeypatch.undo()
        return found is not None

    year = 1.7e9
    assert known(year, year, year + 3)
    assert not known(year, year, year + 1)  # seconds only
    assert known(year + 0.5, year, year + 1)
    assert not known(year + 0.5, year, year + 0.515)
    assert not known(0, 0, year)
    assert not known(315532800, 315532800, year)
    assert not known(year + 0.5, year + 99, year + 1)
    assert not known(year + 99, year, year + 1)


def test_libraries_that_decode() -> None:
    assert library_version("numpy").startswith(f"numpy ['{np.__version__}'")
    assert library_version("no_such_module") == "no_such_module absent"


def test_a_file_that_changes_after_it_was_read(paths: list[str]) -> None:
    """It is asked for its identity afterwards: the new one would be that of other bytes."""
    contents, _ = read(gradiva.readers.File(files=paths))[0]
    Path(paths[1]).write_bytes(b"other")
    settle()
    assert [one is None for one in identities_of(contents)] == [n == 1 for n in range(6)]


def test_relative_paths_and_odd_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = os.fsdecode(b"\xff\xe4 \xc3\xa4")
    (tmp_path / name).write_bytes(b"1")
    settle()
    whole = file_identity(str(tmp_path / name))
    monkeypatch.chdir(tmp_path)
    assert whole is not None
    assert file_identity(name) == whole
    whole.encode()  # has an encoding


def test_labels_and_arguments(paths: list[str]) -> None:
    plain = read(gradiva.readers.File(files=paths, labels=[0, 1, 2, 3, 4, 5]))[0]
    other = read(gradiva.readers.File(files=paths, labels=[0, 1, 2, 9, 4, 5]))[0]
    wide = read(gradiva.readers.File(files=paths, label_dtype="int64", label_shape=()))[0]
    numbered = read(gradiva.readers.File(files=paths, with_index=True))[0]
    assert identities_of(plain[0]) == identities_of(other[0]) == identities_of(wide[0])
    assert identities_of(plain[0]) == identities_of(numbered[0])
    changed = zip(identities_of(plain[1]), identities_of(other[1]), strict=True)
    assert [a == b for a, b in changed] == [True] * 3 + [False] + [True] * 2
    assert not set(identities_of(plain[1])) & set(identities_of(wide[1]))
    assert identities_of(numbered[2]) == [f"number {number}" for number in range(6)]


def test_arguments_that_have_no_form() -> None:
    nothing: frozenset[str] = frozenset()
    assert arguments_digest({"dtype": gradiva.types.FLOAT, "seed": 3}, nothing) == arguments_digest(
        {"dtype": gradiva.types.FLOAT, "seed": 4, "path": "b"}, nothing
    )
    assert arguments_digest({"dtype": gradiva.types.FLOAT}, nothing) != arguments_digest(
        {"dtype": gradiva.types.UINT8}, nothing
    )
    assert arguments_digest({"function": len}, nothing) is None
    assert arguments_digest({"values": np.array([len])}, nothing) is None
    assert arguments_digest({"function": len}, frozenset({"function"})) is not None


def test_selections(paths: list[str]) -> None:
    contents, _ = read(gradiva.readers.File(files=paths))[0]
    every = identities_of(contents)
    assert identities_of(contents.select([4, 1])) == [every[4], every[1]]
    assert identities_of(contents.select(slice(2, 5)).select([1])) == [every[3]]
    assert identities_of(contents.tensors[3]) == [every[3]]
    copied = pickle.loads(pickle.dumps(contents.provenance))
    assert copied.origin is None
    assert copied.positions.tolist() == [*range(6)]


@pytest.mark.filterwarnings("ignore:samples that cannot be read")
def test_skipped_samples(paths: list[str]) -> None:
    whole = identities_of(read(gradiva.readers.File(files=paths))[0][0])
    os.remove(paths[2])
    (contents, labels) = read(gradiva.readers.File(files=paths, on_error="skip"))[0]
    assert identities_of(contents) == whole[:2] + whole[3:]
    assert len(identities_of(labels)) == 5


def opened_files(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that are opened from now on."""
    found: list[str] = []
    actual = opened

    def noting(path: str) -> int:
        found.append(path)
        return actual(path)

    monkeypatch.setattr(file_reads._background, "is_worth_compiling", lambda *_: False)
    monkeypatch.setattr("gradiva.ops.readers.core.files.opened", noting)
    return found


@pytest.mark.parametrize("used", [None, frozenset({0, 1}), frozenset({0})])
def test_known_samples_are_left_out(
    paths: list[str], monkeypatch: pytest.MonkeyPatch, used: frozenset[int] | None
) -> None:
    reader = gradiva.readers.File(files=paths, with_index=True)
    kept, source = Kept(), source_of(reader)
    source.left, source.known, source.used = frozenset({0}), kept, used
    touched = opened_files(monkeypatch)
    whole, labels, _ = read(reader)[0]
    assert origin_of(whole).left_out is None
    assert kept.asked == [{0: identities_of(whole)}]
    kept.keep(whole.select([0, 3, 4]))
    touched.clear()
    part, again, numbers = read(reader)[0]
    assert touched == [paths[1], paths[2], paths[5]]
    origin = origin_of(part)
    assert origin.left_out is not None
    assert origin.left_out.tolist() == [True, False, False, True, True, False]
    for sample in range(6):
        if origin.left_out[sample]:
            assert part.at(sample).shape == (0,)
        else:
            np.testing.assert_array_equal(part.array(sample), whole.array(sample))
    assert origin_of(again).left_out is None
    assert [one.tolist() for one in again.arrays()] == [one.tolist() for one in labels.arrays()]
    assert [one.tolist() for one in numbers.arrays()] == [[n] for n in range(6)]
    assert part.provenance is not None
    assert list(part.provenance.names or ()) == paths
    assert origin.load is not None
    loaded = origin.load([4, 0])
    np.testing.assert_array_equal(loaded.array(0), whole.array(4))
    np.testing.assert_array_equal(loaded.array(1), whole.array(0))
    chosen = origin_of(part.select([5, 4, 3]))
    assert chosen.left_out is not None
    assert chosen.left_out.tolist() == [False, True, True]
    assert chosen.load is not None
    np.testing.assert_array_equal(chosen.load([1]).array(0), whole.array(4))


def test_all_samples_left_out(paths: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    reader = gradiva.readers.File(files=paths)
    kept, source = Kept(), source_of(reader)
    source.left, source.known = frozenset({0}), kept
    kept.keep(read(reader)[0][0])
    touched = opened_files(monkeypatch)
    part, labels = read(reader)[0]
    assert touched == []
    assert part.shape == [(0,)] * 6
    assert [one.tolist() for one in labels.arrays()] == [[n] for n in range(6)]


@pytest.mark.filterwarnings("ignore:samples that cannot be read")
def test_files_that_fail_beside_known_ones(paths: list[str]) -> None:
    reader = gradiva.readers.File(files=paths, on_error="skip")
    kept, source = Kept(), source_of(reader)
    source.left, source.known = frozenset({0}), kept
    kept.keep(read(reader)[0][0].select([0, 2, 4]))
    os.remove(paths[3])
    os.remove(paths[4])  # it has no identity any more, so it is read, and fails
    part, labels = read(reader)[0]
    origin = origin_of(part)
    assert origin.left_out is not None
    assert origin.left_out.tolist() == [True, False, True, False]
    assert [int(one[0]) for one in labels.arrays()] == [0, 1, 2, 5]
    assert origin.load is not None
    assert origin.load([2]).array(0).tolist() == [2] * 12
    os.remove(paths[2])
    with pytest.raises(SampleDataError, match="cannot be read") as failure:
        origin.load([0, 2])
    assert failure.value.file == paths[2]
    assert failure.value.sample == 2
    strict = gradiva.readers.File(files=paths)
    source = source_of(strict)
    source.left, source.known = frozenset({0}), kept
    with pytest.raises(gradiva.OperatorRuntimeError, match="cannot be read") as strictly:
        read(strict)
    assert strictly.value.sample == 2


def test_loaded_while_a_batch_is_read(paths: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread that reads may wait for the one that loads, where both are of one pool."""
    reader = gradiva.readers.File(files=paths)
    kept, source = Kept(), source_of(reader)
    source.left, source.known = frozenset({0}), kept
    kept.keep(read(reader)[0][0].select([0, 1]))
    load = origin_of(read(reader)[0][0]).load
    assert load is not None
    under_way, loaded = threading.Event(), threading.Event()
    actual = source._reads._table.read  # type: ignore[attr-defined]

    def waiting(*given: Any) -> Any:
        if threading.current_thread() is not threading.main_thread():
            under_way.set()
            assert loaded.wait(30)
        return actual(*given)

    monkeypatch.setattr(source._reads._table, "read", waiting)  # type: ignore[attr-defined]
    with ThreadPoolExecutor(1) as pool:
        batch = pool.submit(read, reader)
        assert under_way.wait(30)
        assert load([1]).array(0).tolist() == [1] * 11
        loaded.set()
        assert len(batch.result()) == 1


def test_no_cycles(paths: list[str]) -> None:
    """A source is freed when nobody holds it, with what was left out of its batches."""
    gc.collect()
    gc.disable()
    try:
        reader = gradiva.readers.File(files=paths)
        kept, source = Kept(), source_of(reader)
        source.left, source.known = frozenset({0}), kept
        kept.keep(read(reader)[0][0].select([0, 1]))
        part = read(reader)[0][0]
        gone = weakref.ref(source)
        del reader, source
        assert gone() is None
        load = origin_of(part).load  # a batch may be left
        assert load is not None
        assert load([1]).array(0).tolist() == [1] * 11
    finally:
        gc.enable()


def test_nothing_is_asked_without_a_cache(
    paths: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("an identity was made")

    monkeypatch.setattr("gradiva.ops.readers.listing.file_identities", refuse)
    reader = gradiva.readers.File(files=paths)
    read(reader, 2)
