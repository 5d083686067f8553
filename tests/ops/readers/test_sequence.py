"""readers.sequence: which frames, and what is wrong with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva.eager.execution.quarantine import Quarantine


@pytest.fixture
def streams(tmp_path: Path) -> Path:
    """Folders a, b, c with 4, 5 and 2 frames, of the colors 0, 10, 20 and so on, and 1 more."""
    for stream, frames in (("b", 5), ("a", 4), ("c", 2)):
        (tmp_path / stream).mkdir()
        for number in range(frames):
            color = bytes([10 * number + "abc".index(stream)])
            head = b"P6 5 %d 255\n" % (3 + "abc".index(stream))
            pixels = color * (15 * (3 + "abc".index(stream)))
            (tmp_path / stream / f"{number}.ppm").write_bytes(head + pixels)
    (tmp_path / "readme.txt").write_text("no stream")
    return tmp_path


def read(streams: Path, **arguments: Any) -> list[list[int]]:
    """The colors of the frames of each sequence."""
    reader = gradiva.readers.Sequence(file_root=str(streams), **arguments)
    found = next(reader.next_epoch(batch_size=100))
    assert found.layout == "FHWC"
    return [found.array(sample)[:, 0, 0, 0].tolist() for sample in range(len(found))]


def test_which_frames(streams: Path) -> None:
    assert read(streams, sequence_length=2, step=2, stride=2) == [[0, 20], [1, 21], [21, 41]]
    assert read(streams, sequence_length=2, step=2) == [
        [0, 10],
        [20, 30],
        [1, 11],
        [21, 31],
        [2, 12],
    ]
    assert read(streams, sequence_length=5) == [[1, 11, 21, 31, 41]]
    assert len(read(streams, sequence_length=1)) == 11


def test_colors(streams: Path) -> None:
    reader = gradiva.readers.Sequence(
        file_root=str(streams), sequence_length=4, image_type=gradiva.types.GRAY
    )
    found = next(reader.next_epoch(batch_size=1))
    assert found.array(0).shape == (4, 3, 5, 1)
    np.testing.assert_array_equal(found.array(0)[:, 0, 0, 0], [0, 10, 20, 30])
    assert found.source_info() == [str(streams / "a" / "0.ppm")]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, "cannot be read"),
        (b"no image", ""),
        (b"P6 5 3 255\nabc", ""),
        (b"P6 5 4 255\n" + bytes(60), "shape"),
    ],
)
def test_damaged_frames(streams: Path, content: bytes | None, text: str) -> None:
    reader = gradiva.readers.Sequence(file_root=str(streams), sequence_length=2)
    path = streams / "a" / "2.ppm"
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content)
    with pytest.raises(gradiva.OperatorRuntimeError, match=rf"2\.ppm|{text}"):
        next(reader.next_epoch(batch_size=3))
    with Quarantine(warns=False) as bad:
        if content is not None:
            assert read(streams, sequence_length=2, on_error="skip")[:2] == [[0, 10], [1, 11]]
            assert bad.total == 2


def test_cut_at_each_byte(streams: Path) -> None:
    path = streams / "a" / "1.ppm"
    whole = path.read_bytes()
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        with pytest.raises(gradiva.OperatorRuntimeError, match=r"a/1\.ppm"):
            read(streams, sequence_length=2)


@pytest.mark.parametrize(
    "refused", [{"sequence_length": 6}, {"sequence_length": 0}, {"step": 0}, {"stride": -1}]
)
def test_refusals(streams: Path, refused: dict[str, Any]) -> None:
    with pytest.raises(gradiva.OperatorValueError):
        read(streams, **{"sequence_length": 2, **refused})


def test_no_folder(tmp_path: Path) -> None:
    with pytest.raises(gradiva.OperatorValueError, match="file_root"):
        read(tmp_path / "no", sequence_length=1)


def test_buckets_by_the_bytes_of_all_frames(streams: Path) -> None:
    """Each sequence comes once, with others whose files are as long."""
    (streams / "a" / "3.ppm").write_bytes((streams / "a" / "3.ppm").read_bytes() + bytes(1000))
    bucket = gradiva.samplers.Bucket(tolerance=0.0)
    reader = gradiva.readers.Sequence(file_root=str(streams), sequence_length=2, bucket=bucket)
    epoch = [
        [one.array(k)[:, 0, 0, 0].tolist() for k in range(len(one))]
        for one in reader.next_epoch(batch_size=9)
    ]
    assert epoch == [
        [[20, 30]],
        [[1, 11], [11, 21], [21, 31], [31, 41]],
        [[0, 10], [10, 20]],
        [[2, 12]],
    ]
