"""The frame that is delivered is the one that was asked for."""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva.ops.video.frame_decoder import FrameDecoder, FrameError
from gradiva.ops.video.frame_index import packed_index, scan_video, unpacked_index
from gradiva.ops.video.video_file import NotMediaError, NoVideoError, VideoData
from tests.tiers import few

from .bars import as_array, av, encoded, number_of, write
from .recordings import edited

pytestmark = pytest.mark.core

KINDS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "VP9": ("libvpx-vp9", "mp4", {}),
    "VP8": ("libvpx", "webm", {"options": "auto-alt-ref=1 lag-in-frames=6 deadline=good"}),
    "H.264": ("libx264", "mp4", {}),
    "H.264, fragments": ("libx264", "matroska", {}),
    "H.264, open groups": (
        "libx264",
        "mpegts",
        {"options": "x264-params=open-gop=1:bframes=3:scenecut=0:keyint=6"},
    ),
    "H.264, intra refresh": (
        "libx264",
        "mp4",
        {"options": "x264-params=intra-refresh=1:keyint=5:bframes=0"},
    ),
    "H.264 in AVI": ("libx264", "avi", {}),
    "H.264, bare": ("libx264", "h264", {}),
    "HEVC": ("libx265", "mp4", {}),
    "HEVC, open groups": (
        "libx265",
        "matroska",
        {"options": "x265-params=log-level=none:open-gop=1:bframes=3:keyint=6:scenecut=0"},
    ),
    "AV1": ("libsvtav1", "mp4", {}),
    "MPEG-4": ("mpeg4", "mp4", {}),
    "MPEG-4 in AVI": ("mpeg4", "avi", {}),
    "MPEG-2": ("mpeg2video", "mpegts", {"options": "bf=2"}),
    "MJPEG": ("mjpeg", "avi", {}),
    "other times": (
        "libx264",
        "matroska",
        {"times": (0, 10, 20, 500, 501, 502, 1900, *range(2000, 2013))},
    ),
    "late beginning": ("libx264", "matroska", {"times": tuple(range(5000, 5800, 40))}),
}
QUICK = ("VP9", "H.264", "H.264, open groups", "MPEG-4 in AVI")


def opened(data: bytes) -> FrameDecoder:
    source = VideoData(as_array(data))
    return FrameDecoder(source, scan_video(source))


def shown(decoder: FrameDecoder, wanted: list[int]) -> list[int]:
    """The numbers that these frames show."""
    found: list[int] = []
    for number, frame in decoder.frames(wanted):
        assert number == wanted[len(found)]
        found.append(number_of(frame.to_ndarray(format="rgb24")))
    return found


@pytest.mark.parametrize(
    "kind",
    [name if name in QUICK else pytest.param(name, marks=pytest.mark.full) for name in KINDS],
)
def test_each_frame_is_the_one_of_its_number(kind: str) -> None:
    codec, form, options = KINDS[kind]
    decoder = opened(encoded(codec, form, **options))
    index = decoder.index
    assert len(index) == 20
    assert not index.problem
    assert (np.diff(index.times) > 0).all()
    if "times" in options:
        np.testing.assert_allclose(
            index.seconds(), (np.array(options["times"]) - options["times"][0]) / 1000, atol=1e-9
        )
    else:
        np.testing.assert_allclose(index.seconds(), np.arange(20) / 25, atol=1e-3)
    drawn = random.Random(kind)
    for _ in range(25):
        wanted = sorted(drawn.sample(range(20), drawn.randint(1, 6)))
        assert shown(decoder, wanted) == wanted
    whole = [frame.to_ndarray() for _, frame in decoder.frames(range(20))]
    for step in (2, 3, 7):
        for number, frame in decoder.frames(range(step - 1, 20, step)):
            np.testing.assert_array_equal(frame.to_ndarray(), whole[number])
    decoder.close()


def test_seeks_decode_the_group_that_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two groups of pictures, frames before the one that is asked for."""
    options = "x264-params=bframes=0:scenecut=0"
    decoder = opened(encoded("libx264", "mp4", frames=60, gop=6, options=options))
    counted = itertools.count()
    number_of_frame = decoder._number_of

    def count(frame: Any) -> int | None:
        next(counted)
        return number_of_frame(frame)

    monkeypatch.setattr(decoder, "_number_of", count)
    assert shown(decoder, [3, 44]) == [3, 44]
    assert next(counted) == (3 + 1) + (44 - 42 + 1)
    assert shown(decoder, [45, 46]) == [45, 46]
    assert next(counted) == 7 + 2 + 1
    decoder.close()


@pytest.mark.parametrize("kind", ["H.264", "VP9"])
def test_frames_in_their_order_are_decoded_once(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Clips that follow one another: each packet goes to the decoder once, also across groups."""
    codec, form, _ = KINDS[kind]
    path = write(tmp_path / "one.mp4", codec, form, frames=48, gop=8)
    with av.open(path) as container:
        expected = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
    packets = list[Any]()
    starts = list[int]()
    pass_by, start = FrameDecoder._pass_by, FrameDecoder._start

    def count(decoder: FrameDecoder, packet: Any) -> None:
        packets.extend([packet.pts] if packet.size else [])
        pass_by(decoder, packet)

    def count_start(decoder: FrameDecoder, key: int) -> bool:
        starts.append(key)
        return start(decoder, key)

    monkeypatch.setattr(FrameDecoder, "_pass_by", count)
    monkeypatch.setattr(FrameDecoder, "_start", count_start)
    for threads, batch_size in ((1, 3), (2, 3), (2, 4)):
        packets.clear()
        starts.clear()
        reader: Any = gradiva.experimental.readers.Video(filenames=[path], sequence_length=4)
        context = gradiva.EvalContext(num_threads=threads)
        made = [
            np.asarray(frame)
            for batch in reader.next_epoch(batch_size=batch_size, ctx=context)
            for clip in batch.arrays()
            for frame in clip
        ]
        assert [number_of(frame) for frame in made] == list(range(48))
        for one, other in zip(made, expected, strict=True):
            assert np.abs(one.astype(int) - other).max() < 9
        assert len(packets) == 48
        assert threads > 1 or starts == [0]


def test_frames_that_nobody_needs_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that no other frame refers to; the others are the same bits."""
    decoder = opened(encoded("libx264", "mp4", frames=60, gop=30))
    counted = itertools.count()
    number_of_frame = decoder._number_of

    def count(frame: Any) -> int | None:
        next(counted)
        return number_of_frame(frame)

    monkeypatch.setattr(decoder, "_number_of", count)
    assert shown(decoder, [0, 9, 18, 27]) == [0, 9, 18, 27]
    assert next(counted) < 24
    assert shown(decoder, [28, 29]) == [28, 29]
    decoder.close()


def test_h264_begins_at_idr_pictures() -> None:
    """Of an intra refresh, packets are marked as key frames from which nothing can be decoded."""
    decoder = opened(
        encoded(*KINDS["H.264, intra refresh"][:2], **KINDS["H.264, intra refresh"][2])
    )
    assert len(decoder.index.keys) == 1
    assert shown(decoder, [7, 13]) == [7, 13]
    decoder.close()


def test_edit_list() -> None:
    """Frames that an edit list leaves out are decoded, and have no numbers."""
    data = bytearray(encoded("libx264", "mp4", options="x264-params=bframes=0:scenecut=0"))
    place = data.index(b"elst") + 12
    data[place + 4 : place + 8] = (512 * 4).to_bytes(4, "big")  # the fourth frame comes first
    decoder = opened(bytes(data))
    assert len(decoder.index) == 16
    assert shown(decoder, [0, 5, 15]) == [4, 9, 19]
    assert decoder.index.seconds()[0] == 0
    decoder.close()


@pytest.mark.full
@pytest.mark.parametrize(
    "kind", few(["h264", "h264 without B", "h264 pyramid", "mpeg4", "vp9", "hevc"], "h264", "hevc")
)
def test_edit_lists_of_several_entries(kind: str) -> None:
    """The frames of all entries, one after the other. From some videos FFmpeg leaves out frames
    behind a seam: then it is an error."""
    refused = 0
    for ranges in ([(2, 7), (12, 18)], [(0, 8), (0, 8)], [(12, 20), (0, 8)], [(1, 3), (5, 7)]):
        expected = [number for first, last in ranges for number in range(first, last)]
        try:
            decoder = opened(edited(kind, ranges))
        except NoVideoError as error:
            refused += "edit list" in str(error)
            continue
        assert len(decoder.index) == len(expected)
        assert shown(decoder, list(range(len(expected)))) == expected
        assert shown(decoder, [1, 3]) == expected[1:4:2]
        decoder.close()
    assert not refused or kind == "hevc"


def test_negative_beginning() -> None:
    """Frames before time 0 have no numbers."""
    times = tuple(range(-120, 680, 40))
    decoder = opened(encoded("libx264", "mp4", times=times, options="x264-params=bframes=0"))
    first = 20 - len(decoder.index)
    assert shown(decoder, [0, 4]) == [first, first + 4]
    decoder.close()


def test_damage_in_the_middle() -> None:
    """What does not depend on the damage is delivered, other frames are errors."""
    data = bytearray(encoded("libx264", "matroska", frames=30, gop=10))
    whole = opened(bytes(data))
    assert len(whole.index.keys) == 3
    packets = [
        bytes(packet)
        for packet in whole._opened.container.demux(whole._opened.stream)  # type: ignore[union-attr]
        if packet.size
    ]
    whole.close()
    damaged = next(packet for packet in packets[12:20] if data.count(packet) == 1)
    at = data.index(damaged)
    data[at + 4 : at + len(damaged)] = b"\xff" * (len(damaged) - 4)
    decoder = opened(bytes(data))
    good, bad = [], []
    for number in range(30):
        try:
            found = shown(decoder, [number])
        except FrameError as error:
            found = []
            bad.append(error.frame)
        if found:
            assert found == [number]
            good.append(number)
    assert bad
    assert set(bad) < set(range(10, 20))
    assert {*range(10), *range(20, 30)} < set(good)
    decoder.close()


@pytest.mark.parametrize("form", ["mp4", "matroska", "mpegts"])
def test_cut_files_are_known_to_be_cut(form: str) -> None:
    options = {"options": "movflags=faststart"} if form == "mp4" else {}
    data = encoded("libx264", form, frames=30)
    cut = data[: len(data) * 2 // 3]
    source = VideoData(as_array(cut))
    try:
        index = scan_video(source)
    except (NoVideoError, NotMediaError):
        assert form == "mp4"  # the index of the container stands at its end
        assert not options or form == "mp4"
        return
    assert 0 < len(index) < 30
    assert "cut" in index.problem or form == "mpegts"
    wanted = [0, len(index) // 2]
    decoder = FrameDecoder(source, index)
    assert shown(decoder, wanted) == wanted
    decoder.close()


def test_index_as_bytes() -> None:
    index = scan_video(VideoData(as_array(encoded("libx264", "mp4"))))
    again = unpacked_index(*packed_index(index))
    np.testing.assert_array_equal(again.times, index.times)
    np.testing.assert_array_equal(again.keys, index.keys)
    for name in ("unit", "shape", "rate", "counted", "problem"):
        assert getattr(again, name) == getattr(index, name)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "empty"),
        (b"#EXTM3U\n#EXTINF:1,\nfile:/etc/passwd\n", "no video"),
        (b"ffconcat version 1.0\nfile /etc/passwd\n", "no video"),
        (b"just a text", "no video"),
        (bytes(500), "no video"),
    ],
)
def test_what_is_no_video(data: bytes, text: str) -> None:
    with pytest.raises(NotMediaError, match=text):
        scan_video(VideoData(as_array(data)))


def test_sound_alone() -> None:
    import io
    import wave

    stream = io.BytesIO()
    with wave.open(stream, "wb") as file:
        file.setparams((1, 2, 8000, 0, "NONE", ""))
        file.writeframes(bytes(2000))
    with pytest.raises(NoVideoError, match="no video in the file"):
        scan_video(VideoData(as_array(stream.getvalue())))


@pytest.mark.full
@pytest.mark.parametrize(("codec", "form"), [("libx264", "mp4"), ("libvpx-vp9", "webm")])
def test_flipped_bytes(codec: str, form: str) -> None:
    """An error that is a ValueError, or the frame that was asked for, or one like it."""
    whole = encoded(codec, form)
    drawn = random.Random(form)
    for _ in range(150):
        bad = bytearray(whole)
        for _ in range(drawn.choice((1, 2, 5, 20))):
            bad[drawn.randrange(len(bad))] = drawn.randrange(256)
        try:
            decoder = opened(bytes(bad))
        except ValueError:
            continue
        for number in range(0, len(decoder.index), 3):
            try:
                ((found, frame),) = decoder.frames([number])
            except ValueError:
                continue
            assert found == number
            assert (frame.height, frame.width) == decoder.index.shape
        decoder.close()
