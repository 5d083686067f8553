"""What FFmpeg has freed is not used any more, and an error is that of its own video."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from gradiva.ops.storage.facts import ObjectFacts
from gradiva.ops.video.frame_decoder import FrameDecoder
from gradiva.ops.video.frame_index import scan_video
from gradiva.ops.video.video_file import VideoData, VideoLoaded

from .bars import as_array, av, encoded, number_of


def shown(decoder: FrameDecoder, wanted: list[int]) -> list[int]:
    """The numbers that these frames show."""
    return [number_of(frame.to_ndarray(format="rgb24")) for _, frame in decoder.frames(wanted)]


def test_packets_end_when_the_video_is_closed() -> None:
    opened = VideoData(as_array(encoded())).open()
    packets = opened.packets()
    assert next(packets).size
    opened.close()
    assert list(packets) == []
    opened.close()


def test_packets_end_when_others_are_asked_for() -> None:
    opened = VideoData(as_array(encoded())).open()
    before = opened.packets()
    next(before)
    assert next(opened.packets()).size
    assert list(before) == []
    opened.close()


class Failing(VideoData):
    """A video that cannot be opened while it is `gone`."""

    gone = False

    @contextmanager
    def readable(self) -> Iterator[Any]:
        if self.gone:
            raise OSError("it is gone")
        with super().readable() as file:
            yield file


@pytest.mark.parametrize("codec", ["libvpx-vp9", "libx264", "mpeg4"])
def test_a_video_that_cannot_be_opened_again(codec: str) -> None:
    """Each try is an error, also where the decoder would only have to go on; then it is there."""
    source = Failing(as_array(encoded(codec)))
    decoder = FrameDecoder(source, scan_video(source))
    assert shown(decoder, [14]) == [14]
    source.gone = True
    for wanted in ([2], [3], [0], [1, 2], [4]):
        with pytest.raises(OSError, match="it is gone"):
            shown(decoder, wanted)
        assert not decoder.passes(wanted[0])
    source.gone = False
    assert shown(decoder, [2, 3]) == [2, 3]
    assert shown(decoder, [15]) == [15]
    decoder.close()
    decoder.close()


class Broken:
    """A file on another machine of which no byte is read from some place on."""

    def __init__(self, data: bytes, good: int) -> None:
        self._data, self.good = data, good
        self.facts = ObjectFacts(len(data), "")

    def read(self, count: int, offset: int) -> bytes:
        if offset + count > self.good:
            raise OSError("the line is broken")
        return self._data[offset : offset + count]


def test_what_cannot_be_read_is_an_error_of_that_video_alone(
    capfd: pytest.CaptureFixture[str],
) -> None:
    """PyAV keeps what a callback raises for a later call of the thread, and prints what comes
    before that."""
    data = encoded("mjpeg", "avi", frames=120, size=(288, 352))
    assert len(data) > 200000
    other = VideoData(as_array(encoded()))
    index = scan_video(other)
    for good in range(0, len(data), 1 + len(data) // 9):
        file: Any = Broken(data, good)
        with pytest.raises(OSError, match="the line is broken"):
            scan_video(VideoLoaded(file))
        assert len(scan_video(other)) == len(index)
    file = Broken(data, len(data))
    source = VideoLoaded(file)
    decoder = FrameDecoder(source, scan_video(source))
    assert shown(decoder, [0]) == [0]
    file.good = 0
    for wanted in ([80], [119], [0]):
        with pytest.raises(OSError, match="the line is broken"):
            shown(decoder, wanted)
        assert shown(FrameDecoder(other, index), [5]) == [5]
    file.good = len(data)
    assert shown(decoder, [81, 82]) == [81, 82]
    assert capfd.readouterr() == ("", "")


def test_streams_that_begin_late() -> None:
    """A signal that a transport stream tells of behind its first pictures."""
    silent = encoded("libx264", "mpegts", frames=60, size=(144, 176))
    stream = io.BytesIO()
    options = {"mpegts_start_pid": "300"}
    with av.open(stream, "w", format="mpegts", options=options) as container:
        sound = container.add_stream("mp2", rate=32000, layout="mono")
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 32000), np.int16), "s16", "mono")
        frame.rate = 32000
        for packet in (*sound.encode(frame), *sound.encode()):
            container.mux(packet)
    joined = as_array(silent + stream.getvalue())
    for _ in range(20):  # it depends on what is in memory
        assert len(scan_video(VideoData(joined))) == 60
