"""Objects without a byte, in every storage: what an empty file of this machine is, they are."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pytest

import gradiva
from gradiva.eager.support.errors import GradivaError
from gradiva.ops.storage import transport
from gradiva.ops.storage.handles import open_handle, read_fully
from gradiva.ops.storage.ranges import fill
from gradiva.ops.storage.storage import Storage
from tests.ops.storage.loopback import Loopback, loopback
from tests.tiers import few

from .formats import FORMATS, Format, read_epoch

Place = Callable[[Path], str]
"""Takes the files of a folder to another storage; the URL of the folder there."""
PLACES = ["memory", "http", "http without ranges", "file", "simplecache", "zip"]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    monkeypatch.setattr(transport, "_FIRST_PAUSE", 0.0)
    with loopback() as here:
        yield here


@pytest.fixture
def memory() -> Iterator[Any]:
    system = fsspec.filesystem("memory")
    system.store.clear()
    yield system
    system.store.clear()


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest, server: Loopback, memory: Any, tmp_path: Path) -> Place:
    def taken(folder: Path) -> str:
        kind = request.param
        server.ranges = kind != "http without ranges"
        files = {
            str(path.relative_to(folder)): path.read_bytes()
            for path in folder.rglob("*")
            if path.is_file()
        }
        if kind == "zip":
            with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
                for name, content in files.items():
                    archive.writestr(name, content)
        for name, content in files.items():
            if kind.startswith("http"):
                server.objects[f"/data/{name}"] = content
            elif kind != "zip":
                memory.pipe_file(f"/data/{name}", content)
        return {
            "memory": "memory://data",
            "http": f"{server.url}/data",
            "http without ranges": f"{server.url}/data",
            "file": f"file://{folder}",
            "simplecache": "simplecache::memory://data",
            "zip": f"zip://{{}}::file://{tmp_path}/all.zip",
        }[kind]

    return taken


def below(url: str, name: str) -> str:
    return url.format(name) if "{}" in url else f"{url}/{name}"


def bytes_of(data: Any) -> list[bytes]:
    return [np.asarray(one).tobytes() for one in data.arrays()]


def test_files_without_bytes(place: Place, tmp_path: Path) -> None:
    """Alone, with others, and with files of this machine."""
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "empty.bin").write_bytes(b"")
    (folder / "full.bin").write_bytes(b"full")
    url = place(folder)
    empty, full = (below(url, f"{name}.bin") for name in ("empty", "full"))
    here = [str(folder / f"{name}.bin") for name in ("empty", "full")]
    for files, expected in (
        ([empty], [b""]),
        ([empty, empty], [b"", b""]),
        ([empty, full, *here], [b"", b"full", b"", b"full"]),
        ([here[0], full], [b"", b"full"]),
        ([here[0], empty], [b"", b""]),
    ):
        ((read, _),) = gradiva.readers.File(files=files).next_epoch(batch_size=len(files))
        assert bytes_of(read) == expected
        names = gradiva.batch([np.frombuffer(file.encode(), np.uint8) for file in files])
        assert bytes_of(gradiva.io.file.read(names)) == expected
    storage = Storage()
    assert storage.read(full) == b"full"
    handle = open_handle(empty, storage)
    read_fully(handle, 0, np.empty(0, np.uint8))


def test_pictures_without_bytes(place: Place, tmp_path: Path) -> None:
    """The error that a file of this machine gets, and the other samples stay."""
    folder = tmp_path / "data"
    folder.mkdir()
    photo = next((Path(gradiva.__file__).parent / "photographs").glob("*/*.jpg"))
    shutil.copy(photo, folder / "photo.jpg")
    (folder / "empty.jpg").write_bytes(b"")
    url = place(folder)
    files = [below(url, f"{name}.jpg") for name in ("photo", "empty", "photo")]
    with pytest.raises(GradivaError, match=r"empty\.jpg"):
        gradiva.imread(files)
    with pytest.warns(UserWarning, match=r"empty\.jpg"), gradiva.Quarantine():
        pictures = gradiva.imread(files, on_error="skip")
    expected = np.asarray(gradiva.imread(photo))
    assert len(pictures) == 2
    assert all(np.array_equal(one, expected) for one in pictures.arrays())


def test_nothing_is_filled_with_nothing() -> None:
    fill(np.empty(0, np.uint8), [])
    fill(np.empty((0, 3), np.float32), [memoryview(b"")])
    fill(np.empty(0, np.uint8), [memoryview(b""), memoryview(b"")])


def outcome(kind: Format, data: dict[str, Any], places: tuple[str, ...]) -> Any:
    """The samples, or the class and the text of the error."""
    try:
        return read_epoch(kind.reader(**data), 4)
    except GradivaError as error:
        text = str(error).splitlines()[0]
        for one in places:
            text = text.replace(one, "")
        return type(error), text


@pytest.mark.parametrize(
    "name", few(sorted(FORMATS), "numpy", "tfrecord", "webdataset", "nemo_asr")
)
def test_every_format_of_empty_files(name: str, tmp_path: Path, memory: Any) -> None:
    """Of no storage another error than of a disk, and never a bare one."""
    kind = FORMATS[name]
    data = kind.write(tmp_path, 5)
    far: dict[str, Any] = {}
    for path in tmp_path.rglob("*"):
        if path.is_file():
            if path.suffix not in (".json", ".txt", ".idx"):
                path.write_bytes(b"")
            content = path.read_bytes()
            if path.suffix in (".json", ".txt"):
                content = content.replace(str(tmp_path).encode(), b"memory://data")
            memory.pipe_file(f"/data/{path.relative_to(tmp_path)}", content)

    def moved(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return type(value)(map(moved, value))
        return value.replace(str(tmp_path), "memory://data") if isinstance(value, str) else value

    far = {argument: moved(value) for argument, value in data.items()}
    places = str(tmp_path), "memory://data"
    assert outcome(kind, far, places) == outcome(kind, data, places)
