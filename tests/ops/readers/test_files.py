"""Files read by a kernel and in Python: the same bytes, the same errors."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva.eager.execution.quarantine import Quarantine
from gradiva.eager.runtime.worker_pool import WorkerPool
from gradiva.eager.support.errors import GradivaError, OperatorRuntimeError, SampleDataError
from gradiva.eager.types.provenance import Provenance
from gradiva.eager.values.batch import Batch
from gradiva.ops.readers.core import files
from gradiva.ops.readers.core.files import RateTracker, read_files

POOL = WorkerPool(2)


@pytest.fixture(params=["kernel", "python"])
def compiled(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    kernel: bool = request.param == "kernel"
    if kernel and files._calls() is None:
        pytest.skip("this system has other functions")
    monkeypatch.setattr(files._background, "is_worth_compiling", lambda *_: kernel)
    return kernel


def read(paths: list[str], failures: dict[int, GradivaError] | None = None) -> list[bytes]:
    where = Provenance(np.arange(len(paths)), paths)
    return [array.tobytes() for array in read_files(paths, where, POOL, failures).arrays()]


def make(folder: Path, contents: list[bytes]) -> list[str]:
    paths = [folder / f"{number} \N{SNOWMAN}" for number in range(len(contents))]
    for path, content in zip(paths, contents, strict=True):
        path.write_bytes(content)
    return list(map(str, paths))


def open_files(folder: Path) -> list[str]:
    """Those of this folder: what else is open, other tests have left to the collector."""
    descriptors = Path("/proc/self/fd")
    found = []
    for one in descriptors.iterdir() if descriptors.is_dir() else ():
        with suppress(OSError):  # it was that of the listing, or was closed meanwhile
            found.append(os.readlink(one))
    return [name for name in found if name.startswith(f"{folder}/")]


@pytest.mark.usefixtures("compiled")
def test_bytes(tmp_path: Path) -> None:
    contents = [bytes([k % 256]) * (k * k) for k in range(50)]
    assert read(make(tmp_path, contents)) == contents
    assert open_files(tmp_path) == []


@pytest.mark.usefixtures("compiled")
def test_names_that_are_no_text(tmp_path: Path) -> None:
    path = os.path.join(os.fsencode(tmp_path), b"\xff\xfe")
    Path(os.fsdecode(path)).write_bytes(b"there")
    assert read([os.fsdecode(path)]) == [b"there"]


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize(("bad", "reason"), [("missing", "No such file"), (".", "directory")])
def test_errors_name_sample_and_file(tmp_path: Path, bad: str, reason: str) -> None:
    paths = make(tmp_path, [b"a", b"bb", b"ccc"])
    paths[1] = str(tmp_path / bad)
    with pytest.raises(SampleDataError, match=reason) as raised:
        read(paths)
    assert (raised.value.sample, raised.value.file) == (1, paths[1])
    failures: dict[int, GradivaError] = {}
    assert read(paths, failures) == [b"a", b"", b"ccc"]
    assert list(failures) == [1]
    assert open_files(tmp_path) == []


@pytest.mark.usefixtures("compiled")
def test_a_zero_in_a_name(tmp_path: Path) -> None:
    paths = make(tmp_path, [b"a", b"bb"])
    with pytest.raises(OperatorRuntimeError, match="no file has such a name"):
        read([paths[0], "a\0b"])


def test_a_file_that_shrinks(
    compiled: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = make(tmp_path, [b"a" * 9, b"b" * 9])
    empty = Batch.empty

    def shrink(*arguments: object) -> object:
        os.truncate(paths[1], 4)
        return empty(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Batch, "empty", staticmethod(shrink))
    with pytest.raises(SampleDataError, match="shrank to 4 bytes") as raised:
        read(paths)
    assert raised.value.sample == 1


def test_what_the_process_has_run_out_of(
    compiled: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    resource = pytest.importorskip("resource")
    paths = make(tmp_path, [b"a"] * 8)
    read(paths)
    failures: dict[int, GradivaError] = {}
    with no_descriptors_left(resource), pytest.raises(OperatorRuntimeError, match="Too many open"):
        read(paths * 40, failures)
    assert not failures


@contextmanager
def no_descriptors_left(resource: Any) -> Iterator[None]:
    """A process that can open nothing more, whichever numbers other tests have left free."""
    gc.collect()  # what they have left to the collector would be closed in between
    gc.disable()
    least, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    taken = []
    try:
        resource.setrlimit(
            resource.RLIMIT_NOFILE, (max(map(int, os.listdir("/proc/self/fd"))), most)
        )
        with suppress(OSError):
            while True:
                taken.append(os.open(os.devnull, os.O_RDONLY))
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (least, most))
        for one in taken:
            os.close(one)
        gc.enable()


def test_pace() -> None:
    rates = RateTracker()
    assert len(rates.ranges(64, reading=True)) == 8
    for _ in range(100):
        rates.note(time.perf_counter(), 64, reading=True)
    assert rates.ranges(64, reading=True) == [(0, 64)]
    for _ in range(100):
        rates.note(time.perf_counter() - 1.0, 64, reading=True)
    assert len(rates.ranges(64, reading=True)) == 64
    assert len(rates.ranges(64, reading=False)) == 8


@pytest.mark.usefixtures("compiled")
def test_pipes_are_not_waited_for(tmp_path: Path) -> None:
    """Nor files of devices, which never end."""
    os.mkfifo(tmp_path / "pipe")
    good = make(tmp_path, [b"abc"] * 3)
    for bad in (str(tmp_path / "pipe"), "/dev/zero"):
        with pytest.raises(OperatorRuntimeError, match="no regular file") as caught:
            gradiva.readers.File(files=[*good, bad]).next_epoch(batch_size=50).__next__()
        assert bad in str(caught.value)
        reader = gradiva.readers.File(files=[*good, bad], on_error="skip")
        with Quarantine(warns=False) as found:
            ((contents, _),) = reader.next_epoch(batch_size=50)
        assert len(contents) == len(good)
        assert [one.file for one in found] == [bad]


def test_a_file_that_is_larger_than_the_memory_fails_alone(tmp_path: Path) -> None:
    good = make(tmp_path, [b"abc", b"defg"])
    for size in (8 << 40, 1 << 47):
        huge = tmp_path / f"huge {size}"
        with open(huge, "wb") as file:
            try:
                file.truncate(size)
            except OSError:
                pytest.skip("no file can be that large here")
        files = [good[0], str(huge), good[1]]
        with pytest.raises(OperatorRuntimeError, match=f"memory for the {size} bytes") as caught:
            gradiva.readers.File(files=files).next_epoch(batch_size=3).__next__()
        assert str(huge) in str(caught.value)
        reader = gradiva.readers.File(files=files, on_error="skip")
        with Quarantine(warns=False) as found:
            ((contents, _),) = reader.next_epoch(batch_size=3)
        assert [one.tobytes() for one in contents.arrays()] == [b"abc", b"defg"]
        assert found[0].file == str(huge)
        os.remove(huge)
