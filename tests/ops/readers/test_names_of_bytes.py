"""Names of files that are no UTF-8: on Linux a name is bytes, and a list or an index that holds
these bytes names the file. Other separators than blanks and ends of lines may stand in names."""

from __future__ import annotations

import io
import os
import sys
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import fn, pipeline_def
from gradiva import tfrecord as tfr
from gradiva.__main__ import main
from gradiva.eager.support.checked_file import read_checked, write_checked
from gradiva.eager.support.errors import GradivaError
from gradiva.ops.readers.core import scan_cache
from gradiva.ops.storage.storage import Storage
from tests.ops.storage.loopback import loopback

from .formats import example, feature, write_tfrecord

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="names of files are text there")

NAMES = [
    b"gr\xfcn",  # Latin 1
    b"\xca\xd3\xc6\xb5",  # GBK
    "größe".encode(),
    "a\u2028b\u0085c".encode(),
    "a\u00a0b\u3000c".encode(),
    b"a\x1cb\x1dc\x85",
    b"plain",
]


def texts(suffix: bytes = b"") -> list[str]:
    return [os.fsdecode(name + suffix) for name in NAMES]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A file of each name, whose content is its number."""
    for number, name in enumerate(texts(b".bin")):
        (tmp_path / name).write_bytes(b"%d" % number)
    return tmp_path


def contents(batch: Any) -> list[bytes]:
    return [np.asarray(one).tobytes() for one in batch.arrays()]


def test_lists_of_files(folder: Path) -> None:
    listed = folder / "list.txt"
    lines = [name + b".bin %d\n" % (10 + number) for number, name in enumerate(NAMES)]
    listed.write_bytes(b"".join(lines))
    ((files, labels),) = gradiva.readers.File(file_list=str(listed)).next_epoch(batch_size=9)
    assert contents(files) == [b"%d" % number for number in range(len(NAMES))]
    assert labels.as_array().ravel().tolist() == [10 + number for number in range(len(NAMES))]
    assert files.source_info() == [str(folder / name) for name in texts(b".bin")]
    reader = gradiva.readers.File(file_list=str(listed))
    reader.set_state(reader.get_state())

    @pipeline_def(batch_size=len(NAMES), num_threads=1, device_id=None)
    def definition() -> Any:
        read, _ = fn.readers.file(file_list=str(listed))
        return read, fn.get_property(read, key="source_info")

    read, names = definition().run()
    assert contents(read) == contents(files)
    assert contents(names) == [os.fsencode(folder) + b"/" + name + b".bin" for name in NAMES]
    listed.write_bytes(b"n\xfcx.bin 1\n")
    with pytest.raises(GradivaError, match=r"n\\udcfcx\.bin"):
        next(gradiva.readers.File(file_list=str(listed)).next_epoch(batch_size=1))


def test_lists_of_arrays(tmp_path: Path) -> None:
    for number, name in enumerate(texts(b".npy")):
        np.save(tmp_path / name, np.arange(number + 1))
    listed = tmp_path / "list.txt"
    listed.write_bytes(b"".join(b" " + name + b".npy \t\r\n" for name in NAMES))
    (arrays,) = gradiva.readers.Numpy(file_list=str(listed)).next_epoch(batch_size=9)
    assert [len(one) for one in arrays.arrays()] == [*range(1, len(NAMES) + 1)]


def archive(path: Path) -> list[bytes]:
    """An archive of samples of these names, and its index with names."""
    with tarfile.open(path, "w", format=tarfile.GNU_FORMAT) as written:
        for number, name in enumerate(texts()):
            for extension in ("bin", "cls"):
                info = tarfile.TarInfo(f"{name}.{extension}")
                info.size = 1
                written.addfile(info, io.BytesIO(b"%d" % number))
    return [
        b" ".join(
            b"%s %d 1 %s.%s" % (extension, 512 + 2048 * number + 1024 * part, name, extension)
            for part, extension in enumerate((b"bin", b"cls"))
        )
        for number, name in enumerate(NAMES)
    ]


def test_indices_of_archives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours and those of others, and the scans that are kept."""
    path = tmp_path / os.fsdecode(b"t\xfcr.tar")
    lines = archive(path)
    (tmp_path / "other.idx").write_bytes(b"v1.2 %d\n" % len(lines) + b"\n".join(lines) + b"\n")
    assert main(["wds2idx", str(path), str(tmp_path / "our.idx")]) == 0
    assert (tmp_path / "our.idx").read_bytes() == (tmp_path / "other.idx").read_bytes()
    monkeypatch.setenv("GRADIVA_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(scan_cache, "_WORTH_KEEPING", 0)
    monkeypatch.setattr(scan_cache, "_SETTLED", 0)
    expected = [b"%d" % number for number in range(len(NAMES))]
    for index in (None, None, "our.idx", "other.idx"):
        indexed: dict[str, Any] = {} if index is None else {"index_paths": str(tmp_path / index)}
        reader = gradiva.readers.Webdataset(paths=str(path), ext=["bin", "cls"], **indexed)
        ((first, second),) = reader.next_epoch(batch_size=9)
        assert contents(first) == contents(second) == expected


def test_what_is_kept_of_such_files(tmp_path: Path) -> None:
    place = tmp_path / "kept"
    write_checked(place, "scan of gr\udcfcn", b"content", tmp_path)
    assert read_checked(place, "scan of gr\udcfcn") == b"content"
    assert read_checked(place, "scan of grün") is None


def test_containers(tmp_path: Path) -> None:
    records = [example({"label": feature([number])}) for number in range(3)]
    path, index = write_tfrecord(tmp_path, os.fsdecode(b"d\xe4ta"), records)
    features = {"label": tfr.FixedLenFeature([1], tfr.int64, -1)}
    made = str(tmp_path / os.fsdecode(b"m\xe4de.idx"))
    assert main(["tfrecord2idx", path, made]) == 0
    ways: list[dict[str, Any]] = [{}, {"index_path": index}, {"index_path": made}]
    for given in ways:
        reader = gradiva.readers.TFRecord(path=path, features=features, **given)
        (labels,) = reader.next_epoch(batch_size=9)
        labels = labels["label"] if isinstance(labels, dict) else labels
        labels = labels[0] if isinstance(labels, tuple | list) else labels
        assert labels.as_array().ravel().tolist() == [0, 1, 2]
    bad = tmp_path / "bad.idx"
    bad.write_bytes(b"\xfc 1\n")
    with pytest.raises(GradivaError, match="line 1"):
        gradiva.readers.TFRecord(path=path, features=features, index_path=str(bad))


def test_lists_of_what_is_elsewhere(tmp_path: Path) -> None:
    """Such a name is sent as the bytes that it has."""
    with loopback() as server:
        server.objects["/a/gr%FCn.bin"] = b"there"
        (tmp_path / "list.txt").write_bytes(f"{server.url}/a/gr".encode() + b"\xfcn.bin 1\n")
        reader = gradiva.readers.File(file_list=str(tmp_path / "list.txt"))
        ((files, _),) = reader.next_epoch(batch_size=1)
        assert contents(files) == [b"there"]
        assert Storage().read(server.url + "/a/gr%FCn.bin") == b"there"


def test_an_index_that_cannot_be_written_is_not_begun(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    archive(path)
    before = {one.name for one in tmp_path.iterdir()}
    assert main(["wds2idx", str(path), str(tmp_path / "none" / "a.idx")]) == 1
    assert main(["wds2idx", str(path), str(tmp_path / ("n" * 400))]) == 1
    assert {one.name for one in tmp_path.iterdir()} == before
    assert main(["wds2idx", str(path)]) == 0
    assert {one.name for one in tmp_path.iterdir()} == {*before, "a.idx"}
    assert main(["wds2idx", str(path), os.devnull]) == 0
