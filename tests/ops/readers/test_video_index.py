"""The index of a video in readers: one for all of them, by which lists count, and which is kept
where a video was decoded for it."""

from __future__ import annotations

import os
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva.ops.readers.core import scan_cache
from gradiva.ops.readers.video import video_files
from gradiva.ops.video import frame_index
from gradiva.ops.video.decoded_scan import scan_decoded
from gradiva.ops.video.video_file import VideoData

from ..video.bars import as_array, encoded, number_of, numbers_of
from ..video.recordings import dropped, fields, whole
from .formats import values

READER: Any = gradiva.experimental.readers.Video
LEGACY: Any = gradiva.readers.Video
RESIZED: Any = gradiva.readers.VideoResize
LATE = tuple(range(400, 1200, 40))


def of(reader: Any) -> list[int]:
    """What the frames of all clips show."""
    found: list[int] = []
    for outputs in reader.next_epoch(batch_size=2):
        clips = values(outputs)[0]
        found += [number for k in range(len(clips)) for number in numbers_of(clips.at(k))]
    return found


@pytest.mark.parametrize(
    ("line", "begin", "end"),
    [("0.4 0.8", 0, 10), ("0.8", 10, 20), ("0 0.6", 0, 5), ("1 99", 15, 20), ("-1 0.44", 0, 1)],
)
def test_times_of_lists_are_those_of_the_file(
    tmp_path: Path, line: str, begin: int, end: int
) -> None:
    """And not from its first frame on, which is shown at 0.4 s: as in DALI."""
    path = tmp_path / "late.webm"
    path.write_bytes(encoded("libvpx-vp9", "webm", times=LATE))
    listed = tmp_path / "list.txt"
    listed.write_text(f"{path} 0 {line}")
    wanted = list(range(begin, end))
    assert of(READER(file_list=listed, sequence_length=1)) == wanted
    assert of(LEGACY(file_list=listed, sequence_length=1)) == wanted
    reader = READER(file_list=listed, sequence_length=1, enable_timestamps=True)
    times = [values(one)[2].at(0).item() for one in reader.next_epoch(batch_size=1)]
    np.testing.assert_allclose(times, (np.array(wanted)) / 25, atol=1e-3)


def test_a_range_before_the_first_frame_is_empty(tmp_path: Path) -> None:
    path = tmp_path / "late.webm"
    path.write_bytes(encoded("libvpx-vp9", "webm", times=LATE))
    listed = tmp_path / "list.txt"
    listed.write_text(f"{path} 0 0 0.2\n{path} 1 0.4 0.48")
    with pytest.warns(UserWarning, match="is empty, and left out"):
        assert of(READER(file_list=listed, sequence_length=1)) == [0, 1]


def test_negative_times_of_lists(tmp_path: Path) -> None:
    path = tmp_path / "early.mkv"
    path.write_bytes(whole("vp9", "matroska", start=Fraction(-2, 5)))
    listed = tmp_path / "list.txt"
    listed.write_text(f"{path} 0 -0.2 0.2")
    assert of(READER(file_list=listed, sequence_length=1)) == list(range(5, 15))


MADE: dict[str, Callable[[], bytes]] = {
    "placeholders": lambda: dropped(None),
    "wmv": lambda: whole("wmv2", "asf"),
    "joined": lambda: whole("mpeg2", "mpeg", start=10) + whole("mpeg2", "mpeg", 24, start=3),
}


@pytest.mark.parametrize("kind", MADE)
def test_all_ways_to_a_video_have_one_index(tmp_path: Path, kind: str) -> None:
    data = MADE[kind]()
    path = tmp_path / "one.bin"
    path.write_bytes(data)
    file = gradiva.batch([as_array(data)])
    truth = numbers_of(gradiva.decoders.video(file).at(0))
    assert truth == list(range(len(truth)))
    assert len(truth) == 48 if kind == "joined" else 24
    given: dict[str, Any] = {"filenames": [str(path)], "sequence_length": 1}
    assert of(READER(**given)) == truth
    assert of(LEGACY(**given)) == truth
    assert of(RESIZED(**given, size=(16, 64))) == truth
    wanted = [17, 3, len(truth) - 1, 4]
    some = gradiva.decoders.video(file, frames=wanted)
    assert numbers_of(some.at(0)) == wanted
    backwards: Any = READER(**given, random_shuffle=True, enable_frame_num="scalar", seed=3)
    for clips, numbers in backwards.next_epoch(batch_size=4):
        for k in range(len(clips)):
            assert number_of(np.asarray(clips.at(k))[0]) == numbers.at(k).item()


def test_what_was_found_by_decoding_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of small files, too, until they change."""
    monkeypatch.setattr(scan_cache, "cache_folder", lambda: tmp_path / "cache")
    monkeypatch.setattr(video_files, "_WORTH_DECODING", 0)
    counted: list[Any] = []

    def count(*given: Any) -> Any:
        counted.append(given)
        return scan_decoded(*given)

    monkeypatch.setattr(frame_index, "scan_decoded", count)
    path = tmp_path / "one.avi"
    path.write_bytes(dropped(None))
    os.utime(path, (1_700_000_000, 1_700_000_000))
    for _ in range(3):
        reader = READER(filenames=[str(path)], sequence_length=4)
        assert of(reader) == list(range(24))
    assert len(counted) == 1
    path.write_bytes(dropped(b""))
    os.utime(path, (1_700_000_100, 1_700_000_100))
    assert of(READER(filenames=[str(path)], sequence_length=4)) == list(range(24))
    assert len(counted) <= 2
    path.write_bytes(encoded("libvpx-vp9", "webm"))
    os.utime(path, (1_700_000_200, 1_700_000_200))
    count_before = len(counted)
    assert of(READER(filenames=[str(path)], sequence_length=4)) == list(range(20))
    assert len(counted) == count_before


@pytest.mark.parametrize("codec", ["libx264", "libx265", "libvpx-vp9", "libsvtav1", "mpeg4"])
@pytest.mark.parametrize("form", ["mp4", "matroska"])
def test_usual_files_are_not_decoded_for_their_index(
    codec: str, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> Any:
        raise AssertionError

    monkeypatch.setattr(frame_index, "scan_decoded", refuse)
    index = frame_index.scan_video(VideoData(as_array(encoded(codec, form))))
    assert len(index) == 20
    assert not index.counted
    assert not index.tolerant


def test_fields_are_frames_of_two_packets(tmp_path: Path) -> None:
    """One frame after another has another brightness, and its lower lines another one still."""
    path = tmp_path / "fields.ts"
    path.write_bytes(fields("mpegts"))
    reader = READER(filenames=[str(path)], sequence_length=4)
    frames = [frame for clips in reader.next_epoch(batch_size=1) for frame in clips.at(0)]
    assert len(frames) == 12
    levels = [np.asarray(frame).astype(float) for frame in frames]
    means = np.array([[one[0::2].mean(), one[1::2].mean()] for one in levels])
    assert (np.diff(means[:, 0]) > 7).all()
    assert (np.diff(means[:, 1]) > 7).all()
    assert (means[:, 1] - means[:, 0] > 3).all()
