"""The frames of a video are those that FFmpeg shows one after another: their number, their order,
and their samples, whichever are asked for first."""

from __future__ import annotations

import io
import random
from typing import Any, NamedTuple

import numpy as np
import pytest

from gradiva.ops.video.frame_decoder import FrameDecoder, FrameError
from gradiva.ops.video.frame_index import packed_index, scan_video, unpacked_index
from gradiva.ops.video.video_file import VideoData

from .bars import as_array, av
from .recordings import RECORDINGS, lost, whole

QUICK = (
    "h264 in mp4",
    "h264 in avi",
    "h264 open in mpegts from the second key frame",
    "h264 refresh in mp4 from the second key frame",
    "h264 without B in mpegts, lost at 0.55",
    "h264 without B joined segments",
    "h264 in mpegts across the wrap",
    "h264 trimmed to 9 to 20",
    "mpeg2 in mpeg from packet 5",
    "mpeg2 joined in mpeg, times between",
    "mpeg2 in mpeg cut at 0.7",
    "mpeg4 in avi",
    "vp8 hidden in webm",
    "vp9 hidden in webm",
    "vp9 in matroska before 0",
    "fields in mpegts",
    "fields in mp4",
    "placeholders",
    "packed",
    "two streams in matroska",
    "gif in gif",
    "wmv2 in asf",
)


class Truth(NamedTuple):
    """What FFmpeg shows. refused: packets that its decoder takes for damaged."""

    frames: list[Any]
    times: list[int | None]
    refused: int


def truth_of(data: bytes) -> Truth:
    """Packet by packet, as `container.decode` does it, which stops at the first error."""
    frames, times, refused = [], [], 0
    with av.open(io.BytesIO(data)) as container:
        stream = container.streams.best("video")
        try:
            for packet in container.demux(stream):
                try:
                    found = packet.decode()
                except av.FFmpegError:
                    refused += 1
                    continue
                frames += [frame.to_ndarray() for frame in found]
                times += [frame.pts for frame in found]
        except (av.FFmpegError, IndexError):
            pass
    return Truth(frames, times, refused)


def compared(decoder: FrameDecoder, truth: Truth, number: int, frame: Any) -> None:
    """A frame that was delivered is the one of its number, and of its time where others are
    missing."""
    place = number
    if truth.refused:
        place = truth.times.index(int(decoder.index.times[number]))
    np.testing.assert_array_equal(frame.to_ndarray(), truth.frames[place])


@pytest.mark.parametrize(
    "name",
    [name if name in QUICK else pytest.param(name, marks=pytest.mark.full) for name in RECORDINGS],
)
def test_frames_are_those_of_ffmpeg(name: str) -> None:
    recording = RECORDINGS[name]
    data = recording.make()
    truth = truth_of(data)
    source = VideoData(as_array(data))
    index = scan_video(source)
    assert (np.diff(index.times) > 0).all()
    again = unpacked_index(*packed_index(index))
    for field in ("times", "keys", "damaged"):
        np.testing.assert_array_equal(getattr(again, field), getattr(index, field))
    if not recording.damaged:
        assert not index.problem
        assert not truth.refused or name.startswith("raw in")
        assert len(index) == len(truth.frames)
    elif not truth.refused:
        assert len(index) <= len(truth.frames)
        assert index.problem or len(index) == len(truth.frames)
    decoder = FrameDecoder(source, index)
    delivered = set()
    for number in range(len(index)):
        try:
            for _, frame in decoder.frames([number]):
                compared(decoder, truth, number, frame)
                delivered.add(number)
        except FrameError:
            assert recording.damaged
    if not recording.damaged:
        assert len(delivered) == len(index)
    assert 2 * len(delivered) >= len(index)
    drawn = random.Random(name)
    for _ in range(6):
        wanted = sorted(drawn.sample(sorted(delivered), min(3, len(delivered))))
        if drawn.random() < 0.4:
            decoder.close()
            decoder = FrameDecoder(source, index)
        for number, frame in decoder.frames(wanted):
            compared(decoder, truth, number, frame)
    decoder.close()


@pytest.mark.parametrize(
    "part", [0.24, *(pytest.param(part, marks=pytest.mark.full) for part in (0.39, 0.48, 0.68))]
)
@pytest.mark.parametrize("kind", ["h264", "h264 interlaced", "mpeg2"])
def test_damage_does_not_reach_other_groups(kind: str, part: float) -> None:
    """A decoder that has met damage makes slightly other pictures of what follows, also behind a
    seek: frames are those of the whole file, or errors."""
    whole_ones = truth_of(whole(kind, "mpegts", start=2, noise=60))
    pictures = dict(zip(whole_ones.times, whole_ones.frames, strict=True))
    source = VideoData(as_array(lost(kind, part, noise=60)))
    index = scan_video(source)
    decoder = FrameDecoder(source, index)
    bad = set()
    for number in [*range(len(index)), *range(len(index) - 1, -1, -5)]:
        try:
            for _, frame in decoder.frames([number]):
                np.testing.assert_array_equal(frame.to_ndarray(), pictures[frame.pts])
        except FrameError:
            bad.add(number)
    assert 0 < len(bad) <= 10
    decoder.close()
