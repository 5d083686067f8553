"""`readers.mxnet`: records of several parts, labels, indices."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradiva import OperatorRuntimeError, OperatorValueError, readers
from gradiva.eager.execution.quarantine import Quarantine

from .formats import MAGIC, image_record, write_recordio


def test_labels_and_parts(tmp_path: Path) -> None:
    """The magic number in the data cuts a record, where it is aligned; several labels."""
    images = [MAGIC * 3, b"1234" + MAGIC + b"5", b"", b"x" + MAGIC + b"yz", b"12345678" + MAGIC]
    labels = [[1.5], [2.0, 3.0], [4.0], [], [7.0, 8.0, 9.0]]
    records = [
        image_record(image, label or [0.0]) for image, label in zip(images, labels, strict=True)
    ]
    path, index = write_recordio(tmp_path, "a", records)
    for given in (index, None):
        ((files, found),) = readers.MXNet(path=path, index_path=given).next_epoch(batch_size=5)
        assert [files.at(i).tobytes() for i in range(5)] == images
        assert [found.at(i).tolist() for i in range(5)] == [label or [0.0] for label in labels]
        assert found.dtype.numpy == np.float32


def test_several_files(tmp_path: Path) -> None:
    """One index for all of them, whose lines may be in any order; one for each; none."""
    first, one = write_recordio(tmp_path, "a", [image_record(b"a", [0.0])] * 2)
    second, two = write_recordio(
        tmp_path, "b", [image_record(b"bb", [1.0]), image_record(b"c", [2.0])]
    )
    size = Path(first).stat().st_size
    offsets = [int(line.split()[1]) for line in Path(two).read_text().splitlines()]
    lines = Path(one).read_text().splitlines() + [f"9\t{size + place}" for place in offsets]
    joined = tmp_path / "all.idx"
    joined.write_text("\n".join([*reversed(lines), lines[0]]))
    expected = [b"a", b"a", b"bb", b"c"]
    for index in ([str(joined)], [one, two], None):
        ((files, _),) = readers.MXNet(path=[first, second], index_path=index).next_epoch(4)
        assert [files.at(i).tobytes() for i in range(4)] == expected
        names = files.source_info()
        assert names[2] == f"{second} at index 0"
    with pytest.raises(OperatorValueError, match=r"`index_path`.*or 3"):
        readers.MXNet(path=[first, second, first], index_path=[one, two])


def test_a_damaged_record(tmp_path: Path) -> None:
    records = [image_record(bytes([65 + i]) * 5, [float(i)]) for i in range(4)]
    path, index = write_recordio(tmp_path, "a", records)
    data = bytearray(Path(path).read_bytes())
    begin = int(Path(index).read_text().splitlines()[2].split()[1])
    data[begin] ^= 255
    Path(path).write_bytes(data)
    reader = readers.MXNet(path=path, index_path=index)
    with pytest.raises(
        OperatorRuntimeError, match=rf"magic number.*(?s:.)*sample 2.*index {begin}"
    ):
        next(reader.next_epoch(batch_size=4))
    with Quarantine(warns=False) as bad:
        ((files, labels),) = readers.MXNet(path=path, index_path=index, on_error="skip").next_epoch(
            4
        )
    assert [files.at(i).tobytes() for i in range(3)] == [b"AAAAA", b"BBBBB", b"DDDDD"]
    assert "magic number" in bad[0].reason
    assert labels.positions is not None
    assert labels.positions.tolist() == [0, 1, 3]
    replaced = readers.MXNet(path=path, index_path=index, on_error="replace")
    with Quarantine(warns=False):
        ((files, labels),) = replaced.next_epoch(4)
    assert [sample.size for sample in files.arrays()] == [5, 5, 0, 5]
    assert [sample.size for sample in labels.arrays()] == [1, 1, 0, 1]
    with pytest.raises(OperatorRuntimeError, match=rf"record 2, at byte {begin}(?s:.)*a.rec"):
        readers.MXNet(path=path)


def test_too_many_labels(tmp_path: Path) -> None:
    """A count of labels that is larger than the record."""
    record = bytearray(image_record(b"image", [1.0]))
    record[3] = 0x7F
    path, index = write_recordio(tmp_path, "a", [bytes(record)])
    with pytest.raises(OperatorRuntimeError, match="labels"):
        next(readers.MXNet(path=path, index_path=index).next_epoch(1))


def test_a_scan_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Found again, unless the file or the cache changed."""
    import os

    from gradiva.ops.readers.core import scan_cache
    from gradiva.ops.readers.records import mxnet as module

    path, _ = write_recordio(tmp_path, "a", [image_record(b"abc", [0.0])] * 3)
    os.utime(path, (1e9, 1e9))
    monkeypatch.setattr(scan_cache, "_WORTH_KEEPING", 0)
    monkeypatch.setattr(scan_cache, "cache_folder", lambda: tmp_path / "cache")
    scans = []
    scan = module.scan_records

    def counted(handle: int, size: int) -> Any:
        scans.append(size)
        return scan(handle, size)

    monkeypatch.setattr(module, "scan_records", counted)
    expected = [f"{path} at index {place}" for place in (0, 36, 72)]

    def names() -> list[str]:
        ((files, _),) = readers.MXNet(path=path).next_epoch(3)
        return list(files.source_info())

    assert names() == names() == expected
    assert len(scans) == 1
    (kept,) = (tmp_path / "cache" / "scans").iterdir()
    kept.write_bytes(kept.read_bytes()[:-1])
    assert names() == names() == expected
    assert len(scans) == 2
    os.utime(path, (2e9, 1.1e9))
    assert names() == expected
    assert len(scans) == 3
