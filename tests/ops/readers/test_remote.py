"""Readers of objects on other machines: the same samples as from a disk, fetched ahead."""

from __future__ import annotations

import io
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pytest

import gradiva
from gradiva import fn, pipeline_def
from gradiva.eager.execution.quarantine import Quarantine
from gradiva.eager.support.errors import (
    OperatorRuntimeError,
    OperatorTypeError,
    OperatorValueError,
    SampleDataError,
)
from gradiva.ops.storage import transport
from gradiva.ops.storage.ranges import LARGEST, Want
from gradiva.ops.storage.storage import Storage
from tests.ops.storage.loopback import Loopback, loopback
from tests.tiers import few

from .formats import FORMATS, Format, example, feature, read_epoch, values

SIZE = 9


@pytest.fixture(params=few(sorted(FORMATS), "numpy", "tfrecord", "webdataset"))
def kind(request: pytest.FixtureRequest) -> Format:
    return FORMATS[request.param]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    monkeypatch.setattr(transport, "_FIRST_PAUSE", 0.0)
    with loopback() as here:
        yield here


@pytest.fixture
def memory() -> Iterator[Any]:
    """An empty `memory://`."""
    system = fsspec.filesystem("memory")
    system.store.clear()
    yield system
    system.store.clear()


def moved(value: Any, folder: Path, url: str) -> Any:
    """Arguments of a reader of a folder, for the same data elsewhere."""
    if isinstance(value, list | tuple):
        return type(value)(moved(one, folder, url) for one in value)
    return value.replace(str(folder), url) if isinstance(value, str) else value


def uploaded(data: dict[str, Any], folder: Path, url: str, put: Any) -> dict[str, Any]:
    """Arguments of a reader for the same files elsewhere. put: keeps a file there, by its name."""
    for path in folder.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            if path.suffix in (".json", ".txt"):  # which name files by their whole paths
                content = content.replace(str(folder).encode(), url.encode())
            put(f"/data/{path.relative_to(folder)}", content)
    return {name: moved(value, folder, url) for name, value in data.items()}


def test_every_format_from_elsewhere(kind: Format, tmp_path: Path, memory: Any) -> None:
    """The same samples, in the same order, under the names of their URLs."""
    data = kind.write(tmp_path, SIZE)
    far = uploaded(data, tmp_path, "memory://data", memory.pipe_file)
    assert far != data
    expected = read_epoch(kind.reader(**data, random_shuffle=True, seed=3), 4)
    reader = kind.reader(**far, random_shuffle=True, seed=3)
    assert read_epoch(reader, 4) == expected
    first = values(next(iter(kind.reader(**far).next_epoch(batch_size=2))))[0]
    assert all(name.startswith("memory://data/") for name in first.source_info())
    if kind.indexed is not None:
        scanned = {name: value for name, value in far.items() if name != kind.indexed}
        assert read_epoch(kind.reader(**scanned, random_shuffle=True, seed=3), 4) == expected
    epoch = reader.next_epoch(batch_size=4)
    next(epoch)
    state = reader.get_state()
    rest = read_epoch(reader, 4)
    reader.set_state(state)
    assert read_epoch(reader, 4) == rest
    other = kind.reader(**data, random_shuffle=True, seed=3)
    other.set_state(state)
    assert read_epoch(other, 4) == rest


def test_file_urls_are_paths(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "1.jpg").write_bytes(b"one")
    for arguments in (
        {"file_root": f"file://{tmp_path}"},
        {"files": [f"file://{tmp_path}/a/1.jpg"]},
    ):
        ((files, _),) = gradiva.readers.File(**arguments).next_epoch(batch_size=4)
        assert files.at(0).tobytes() == b"one"
        assert files.source_info() == [str(tmp_path / "a" / "1.jpg")]


def test_lists_may_name_both(tmp_path: Path, memory: Any) -> None:
    (tmp_path / "here.jpg").write_bytes(b"here")
    memory.pipe_file("/data/there.jpg", b"there")
    lines = f"memory://data/there.jpg 1\n{tmp_path}/here.jpg 2\nthere.jpg 3\n"
    memory.pipe_file("/data/list.txt", lines.encode())
    reader = gradiva.readers.File(file_list="memory://data/list.txt")
    ((files, labels),) = reader.next_epoch(batch_size=3)
    assert [one.tobytes() for one in files.arrays()] == [b"there", b"here", b"there"]
    assert labels.as_array().ravel().tolist() == [1, 2, 3]


def test_imread_and_files_by_path(memory: Any) -> None:
    path = next((Path(gradiva.__file__).parent / "photographs").glob("*/*.jpg"))
    memory.pipe_file("/data/x.jpg", path.read_bytes())
    there = gradiva.imread("memory://data/x.jpg")
    assert np.array_equal(np.asarray(there), np.asarray(gradiva.imread(path)))
    name = np.frombuffer(b"memory://data/x.jpg", np.uint8)
    assert gradiva.io.file.read(gradiva.batch([name])).at(0).tobytes() == path.read_bytes()
    # What has changed since is read as it is now.
    memory.pipe_file("/data/x.jpg", b"other")
    assert gradiva.io.file.read(gradiva.batch([name])).at(0).tobytes() == b"other"
    with pytest.raises(OperatorRuntimeError, match="memory://data/no"):
        gradiva.imread("memory://data/no.jpg")


def test_the_plan_is_fetched_ahead(server: Loopback) -> None:
    """While the server answers no more, what was planned is there."""
    server.objects |= {f"/{number}": bytes([number]) * 1000 for number in range(20)}
    files = [f"{server.url}/{number}" for number in range(20)]
    reader = gradiva.readers.File(files=files, read_ahead_bytes=1 << 24)
    epoch = reader.next_epoch(batch_size=4)
    next(epoch)
    storage = reader._source._opened[0].storage  # type: ignore[attr-defined]
    for part in storage._parts.every():
        part.ready.result(60)
    server.always |= dict.fromkeys(server.objects, "404")
    rest = [files.at(0).tobytes() for files, _ in epoch]
    assert rest == [bytes([number]) * 1000 for number in (4, 8, 12, 16)]
    # All of it is still there: the next epoch asks for nothing.
    assert len([*reader.next_epoch(batch_size=4)]) == 5
    assert len(server.asked()) == 20


def test_no_more_is_fetched_ahead_than_allowed(server: Loopback) -> None:
    server.objects |= {f"/{number:02}": bytes([number]) * 1000 for number in range(50)}
    files = [f"{server.url}/{number:02}" for number in range(50)]
    reader = gradiva.readers.File(files=files, read_ahead_bytes=10_000)
    epoch = reader.next_epoch(batch_size=2)
    next(epoch)
    storage = reader._source._opened[0].storage  # type: ignore[attr-defined]
    for number, (files_read, _) in enumerate(epoch, 1):
        assert files_read.at(1).tobytes() == bytes([2 * number + 1]) * 1000
        held = [part for part in storage._parts.every() if not part.idle]
        assert sum(part.cost for part in held) <= 10_000 + (1 << 18)  # a guess at the first one
    assert len(server.asked()) >= 50


def test_records_are_fetched_together(server: Loopback, tmp_path: Path) -> None:
    data = FORMATS["tfrecord"].write(tmp_path, 40)
    for path in tmp_path.iterdir():
        server.objects[f"/{path.name}"] = path.read_bytes()
    far = {name: moved(value, tmp_path, server.url) for name, value in data.items()}
    reader = gradiva.readers.TFRecord(**far, random_shuffle=True)
    server.requests.clear()
    assert sum(len(batch) for batch in _firsts(reader)) == 40
    assert len(server.asked()) <= 2 * len(data["path"]) + 1


def test_the_first_batches_do_not_wait_for_what_lies_near_them(
    server: Loopback, tmp_path: Path
) -> None:
    """All that is wanted is joined to large requests, which are held back here: what the first two
    batches need has come before."""
    records = [bytes([number % 256]) + bytes([number // 256]) * 40_000 for number in range(400)]
    path = tmp_path / "data.tfrecord"
    path.write_bytes(b"".join(_record(one) for one in records))
    server.objects["/data"] = path.read_bytes()
    features = {"data": gradiva.tfrecord.FixedLenFeature([], gradiva.tfrecord.string, "")}
    reader = gradiva.readers.TFRecord(
        path=f"{server.url}/data", features=features, random_shuffle=True, seed=1
    )
    server.requests.clear()
    server.longest = 1_000_000
    epoch = reader.next_epoch(batch_size=2)
    firsts = [next(iter(next(epoch).values())) for _ in range(2)]
    assert not server.let_go.is_set()
    server.let_go.set()
    rest = [next(iter(batch.values())) for batch in epoch]
    found = [one.tobytes() for batch in [*firsts, *rest] for one in batch.arrays()]
    assert sorted(found) == sorted(records)
    assert max(_lengths(server)) > server.longest
    assert len(server.asked()) < 100


def test_the_first_samples_are_on_their_way_when_a_reader_is_made(server: Loopback) -> None:
    """So what is made of them begins at once; a state takes the reader elsewhere, without harm."""
    server.objects |= {f"/{number:02}": bytes([number]) * 100 for number in range(90)}
    files = [f"{server.url}/{number:02}" for number in range(90)]
    reader = gradiva.readers.File(files=files)
    storage = reader._source._opened[0].storage  # type: ignore[attr-defined]
    first = [part.ready.result(30)[0] for part in storage._parts.every()]
    assert first == [*range(64)]
    assert len(server.asked()) == 64
    found = [batch.at(0).tobytes()[0] for batch, _ in reader.next_epoch(batch_size=30)]
    assert found == [0, 30, 60]
    assert len(server.asked()) == 90
    reader.set_state({**reader.get_state(), "index": 80, "epoch": 0})
    (last,) = [batch.at(0).tobytes()[0] for batch, _ in reader.next_epoch(batch_size=30)]
    assert last == 80


@pytest.mark.parametrize("count", [1, 5, 8, 13])
def test_no_more_is_begun_than_a_batch(server: Loopback, count: int) -> None:
    server.objects |= {f"/{number:02}": bytes([number]) * 100 for number in range(40)}
    files = [f"{server.url}/{number:02}" for number in range(40)]
    make: Any = gradiva.readers.File
    reader = make(files=files, max_batch_size=count)
    storage = reader._source._opened[0].storage
    assert [part.url for part in storage._parts.every()] == files[:count]


@pytest.mark.full
def test_the_plan_does_not_run_dry_where_little_may_wait(
    server: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A shuffled container of which a quarter may wait in memory: all that is taken is there, or on
    its way."""
    records = [bytes([number % 251]) * 60_000 for number in range(400)]
    path = tmp_path / "a"
    path.write_bytes(b"".join(map(_record, records)))
    server.objects["/a"] = data = path.read_bytes()
    features = {"data": gradiva.tfrecord.FixedLenFeature([], gradiva.tfrecord.string, "")}
    reader = gradiva.readers.TFRecord(
        path=server.url + "/a",
        features=features,
        random_shuffle=True,
        seed=1,
        read_ahead_bytes=len(data) // 4,
    )
    missing: list[int] = []
    take = Storage.take

    def watched(storage: Storage, wants: Sequence[Want]) -> Any:
        missing.append(sum(storage._holders(want, 0) is None for want in wants))
        return take(storage, wants)

    monkeypatch.setattr(Storage, "take", watched)
    seen = sum(len(batch["data"]) for batch in reader.next_epoch(batch_size=40))
    assert seen == 400
    assert len(missing) == 10
    assert not any(missing)


@pytest.mark.parametrize("name", ["tfrecord", "webdataset"])
def test_indices_are_asked_for_at_once(server: Loopback, tmp_path: Path, name: str) -> None:
    """No answer comes until all of them were asked for."""
    kind = FORMATS[name]
    data = kind.write(tmp_path, 12)
    for path in tmp_path.iterdir():
        for copy in "ab":
            server.objects[f"/{copy}/{path.name}"] = path.read_bytes()
    far = {name: moved(value, tmp_path, f"{server.url}/a") for name, value in data.items()}
    for name in (str(kind.indexed), "path" if "path" in far else "paths"):
        one = [far[name]] if isinstance(far[name], str) else [*far[name]]
        far[name] = one + [path.replace("/a/", "/b/") for path in one]
    server.longest = LARGEST - 1
    with ThreadPoolExecutor(1) as pool:
        making = pool.submit(kind.reader, **far)
        while len(server.asked()) < len(far[str(kind.indexed)]) and not making.done():
            time.sleep(0.01)
        server.let_go.set()
        assert sum(map(len, _firsts(making.result(), 5))) == 24


def _record(data: bytes) -> bytes:
    message = example({"data": feature([data])})
    return len(message).to_bytes(8, "little") + bytes(4) + message + bytes(4)


def _lengths(server: Loopback) -> list[int]:
    """Of the ranges that were asked for."""
    ranges = [wanted.removeprefix("bytes=").split("-") for _, _, wanted in server.asked()]
    return [int(end) + 1 - int(begin) for begin, end in ranges]


def _firsts(reader: Any, batch_size: int = 4) -> list[Any]:
    return [values(batch)[0] for batch in reader.next_epoch(batch_size=batch_size)]


def test_a_container_that_changes_is_an_error_of_its_samples(
    server: Loopback, tmp_path: Path
) -> None:
    data = FORMATS["mxnet"].write(tmp_path, 10)
    for path in tmp_path.iterdir():
        server.objects[f"/{path.name}"] = path.read_bytes()
    far = {name: moved(value, tmp_path, server.url) for name, value in data.items()}
    changed = next(path for path in server.objects if path.endswith(".rec"))
    # What is fetched when the reader is made comes later than the change.
    server.always[changed] = "held"
    skips, raises = [gradiva.readers.MXNet(**far, on_error=way) for way in ("skip", "raise")]
    server.objects[changed] += b"\0\0\0\0"
    server.let_go.set()
    with Quarantine(warns=False) as bad:
        lengths = [len(images) for images, _ in skips.next_epoch(batch_size=5)]
    assert sum(lengths) == 10 - len(bad)
    assert len(bad)
    for entry in bad:
        assert "changed during the epoch" in entry.reason
        assert f"{server.url}{changed} at index" in str(entry.file)
    with pytest.raises(SampleDataError, match=f"{server.url}{changed} at index"):
        for _ in raises.next_epoch(batch_size=5):
            pass


def test_what_cannot_be_opened_is_an_error_of_the_argument(server: Loopback) -> None:
    with pytest.raises(OperatorValueError, match="no such object"):
        gradiva.readers.TFRecord(path=f"{server.url}/no", features={"a": _feature()})
    with pytest.raises(OperatorValueError, match="file_root"):
        gradiva.readers.File(file_root=f"{server.url}/no")
    with pytest.raises(OperatorTypeError, match="storage_options"):
        gradiva.readers.File(files=["memory://a"], storage_options="[1]")
    with pytest.raises(OperatorValueError, match="nothing-of-the-kind://"):
        next(iter(gradiva.readers.File(files=["nothing-of-the-kind://a/b"]).next_epoch()))


def _feature() -> Any:
    return gradiva.tfrecord.FixedLenFeature([1], gradiva.tfrecord.int64, 0)


def test_options_reach_the_file_system(server: Loopback, memory: Any) -> None:
    """And are not stored with a pipeline."""
    server.objects["/a"] = b"data"

    @pipeline_def
    def pipe() -> Any:
        options = {"headers": {"X-Asked-By": "test"}, "encoded": True}
        files, _ = fn.readers.file(files=[f"{server.url}/a"], storage_options=options)
        return files

    first = pipe(batch_size=1, num_threads=1, device_id=None)
    assert first.run()[0].at(0).tobytes() == b"data"
    with pytest.raises(OperatorValueError, match="no place for this argument"):
        first.serialize()


FORKED = """
import multiprocessing, os, sys
import gradiva

def read(reader):
    return [files.at(0).tobytes() for files, _ in reader.next_epoch(batch_size=1)]

def child(url, expected):
    reader = gradiva.readers.File(files=[f"{url}/{n}" for n in range(6)])
    sys.exit(read(reader) != expected)

if __name__ == "__main__":
    url = sys.argv[1]
    reader = gradiva.readers.File(files=[f"{url}/{n}" for n in range(6)])
    expected = [bytes([n]) * 1000 for n in range(6)]
    epoch = reader.next_epoch(batch_size=1)
    first = next(epoch)[0].at(0).tobytes()  # the rest is on its way
    forked = os.fork()
    rest = [files.at(0).tobytes() for files, _ in epoch]
    good = [first, *rest] == expected and read(reader) == expected
    if forked == 0:
        os._exit(0 if good else 3)
    assert good
    assert os.waitstatus_to_exitcode(os.waitpid(forked, 0)[1]) == 0
    spawned = multiprocessing.get_context("spawn").Process(target=child, args=(url, expected))
    spawned.start()
    spawned.join()
    assert spawned.exitcode == 0
    print("good")
"""


@pytest.mark.full
def test_readers_go_on_after_a_fork(server: Loopback, tmp_path: Path) -> None:
    server.objects |= {f"/{number}": bytes([number]) * 1000 for number in range(6)}
    script = tmp_path / "script.py"
    script.write_text(FORKED)
    run = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", str(script), server.url],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.stdout == "good\n", run.stderr


MISSING = """
import sys
for name in sys.argv[1].split(","):
    sys.modules[name] = None
import gradiva
try:
    next(iter(gradiva.readers.File(files=[sys.argv[2]]).next_epoch(batch_size=1)))
except RuntimeError as error:
    print(error)
"""


@pytest.mark.full
@pytest.mark.parametrize(
    ("modules", "url", "hint"),
    [
        ("fsspec", "http://127.0.0.1/a", "pip install 'gradiva[remote]'"),
        ("aiohttp", "http://127.0.0.1/a", "pip install aiohttp"),
        ("obstore,s3fs", "s3://bucket/a", "pip install 'gradiva[s3]'"),
        ("obstore,fsspec", "s3://bucket/a", "pip install 'gradiva[s3]'"),
        ("obstore,fsspec", "gs://bucket/a", "pip install 'gradiva[gcs]'"),
        ("obstore,adlfs", "az://bucket/a", "pip install 'gradiva[azure]'"),
        ("s3fs", "s3://bucket/a//b", "pip install s3fs"),
    ],
)
def test_what_is_not_installed_is_named(modules: str, url: str, hint: str) -> None:
    run = subprocess.run(
        [sys.executable, "-c", MISSING, modules, url], capture_output=True, text=True, check=True
    )
    assert hint in run.stdout, run.stdout


def _arrays(server: Loopback, order: Any = np.ascontiguousarray) -> tuple[list[str], list[Any]]:
    """Arrays of 800 kB on a server, and their URLs."""
    arrays = [np.arange(200_000, dtype=np.int32).reshape(400, 500) + number for number in range(12)]
    for number, array in enumerate(arrays):
        stream = io.BytesIO()
        np.save(stream, order(array))
        server.objects[f"/{number:02}.npy"] = stream.getvalue()
    return [f"{server.url}/{number:02}.npy" for number in range(len(arrays))], arrays


@pytest.mark.parametrize("order", [np.ascontiguousarray, np.asfortranarray])
def test_regions_of_arrays_are_fetched_ahead(server: Loopback, order: Any) -> None:
    """While the server answers no more, headers and regions of what was planned are there; where
    the region lies is known from files of the same size."""
    files, arrays = _arrays(server, order)
    region: dict[str, Any] = {"roi_start": (200, 300), "roi_shape": (7, 9)}
    reader = gradiva.readers.Numpy(files=files, read_ahead_bytes=1 << 24, **region)
    assert sum(len(batch) for batch in reader.next_epoch(batch_size=4)) == 12
    epoch = reader.next_epoch(batch_size=4)
    made = [*next(epoch).arrays()]
    storage = reader._source._opened[0].storage  # type: ignore[attr-defined]
    for part in storage._parts.every():
        part.ready.result(60)
    server.always |= dict.fromkeys(server.objects, "404")
    made += [array for batch in epoch for array in batch.arrays()]
    for found, array in zip(made, arrays, strict=True):
        np.testing.assert_array_equal(found, array[200:207, 300:309])
    ranges = [
        [int(place) for place in wanted.removeprefix("bytes=").split("-")]
        for _, _, wanted in server.asked()
    ]
    assert all(len(one) == 2 for one in ranges)  # never a whole file
    assert sum(end - begin for begin, end in ranges) < 12 * 100_000


def test_regions_of_arrays_are_asked_for_together(server: Loopback) -> None:
    """Nothing is fetched ahead: a request for the header of each file, and one for its region."""
    files, arrays = _arrays(server)
    reader = gradiva.readers.Numpy(
        files=[*files, files[3]], read_ahead_bytes=0, roi_start=(300, 0), roi_end=(301, 500)
    )
    (batch,) = reader.next_epoch(batch_size=13)
    for found, array in zip(batch.arrays(), [*arrays, arrays[3]], strict=True):
        np.testing.assert_array_equal(found, array[300:301])
    assert len(server.asked()) <= 2 * len(files)


def test_regions_of_files_that_are_wrong(server: Loopback) -> None:
    """No array, a cut one, none at all, and a region that leaves one: the file is named."""
    files, arrays = _arrays(server)
    server.objects["/01.npy"] = b"no array"
    server.objects["/02.npy"] = server.objects["/02.npy"][:-9]
    del server.objects["/03.npy"]
    region: dict[str, Any] = {"roi_start": (200, 300), "roi_shape": (7, 9)}
    with Quarantine(warns=False) as bad:
        reader = gradiva.readers.Numpy(files=files[:5], on_error="skip", **region)
        (batch,) = reader.next_epoch(batch_size=5)
    assert [str(entry.file) for entry in bad] == files[1:4]
    for found, array in zip(batch.arrays(), (arrays[0], arrays[4]), strict=True):
        np.testing.assert_array_equal(found, array[200:207, 300:309])
    reader = gradiva.readers.Numpy(files=files[4:], roi_start=(0, 499), roi_shape=(1, 2))
    with pytest.raises(OperatorValueError, match="leaves the sample") as caught:
        next(reader.next_epoch(batch_size=3))
    assert files[4] in str(caught.value)
