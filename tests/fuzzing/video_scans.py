"""The index of a video, from packets and frames that no decoder has made: what FFmpeg says of them
is drawn."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np

from gradiva.ops.video.frame_index import packed_index, scan_video, unpacked_index
from gradiva.ops.video.video_file import VideoSource

from . import video_units

__all__ = ["index", "seeds"]

CODECS = "h264", "hevc", "mpeg4", "vp9", "mjpeg", "gif", "rawvideo", "mpeg2video"
FORMATS = "mov,mp4", "mpegts", "avi", "h264"


class Packet(bytes):
    """flags: bits of what is said of it; kind: what the decoder does with it."""

    pts: int | None
    dts: int | None
    flags: int
    kind: int

    def __getattr__(self, name: str) -> bool:
        return bool(self.flags >> ("is_keyframe", "is_discard", "is_corrupt").index(name) & 1)

    @property
    def size(self) -> int:
        return len(self)

    def has_sidedata(self, _name: str) -> bool:
        return bool(self.flags & 64)


def packets_of(data: bytes) -> Iterator[Packet]:
    """Each has five bytes and its content; an empty one comes last."""
    while len(data) >= 5:
        flags, kind, shown, decoded, size = data[:5]
        made = Packet(data[5 : 5 + size])
        data = data[5 + size :]
        made.flags, made.kind = flags, kind
        unit = 1 << 55 if flags & 128 else 1
        made.pts = None if flags & 8 else (shown - 128) * unit
        made.dts = None if flags & 16 else (decoded - 128) * unit
        yield made
        if flags & 32:
            raise EOFError
    made = Packet()
    made.flags, made.kind, made.pts, made.dts = 0, 0, None, None
    yield made


class Opened:
    """In place of a video that FFmpeg has opened."""

    def __init__(self, data: bytes) -> None:
        what, size = data[0], data[1] % 64
        self.codec = CODECS[what & 7]
        self.container = SimpleNamespace(format=SimpleNamespace(name=FORMATS[what >> 3 & 3]))
        self._packets, self._held = data[2 + size :], list[Any]()
        facts = {"extradata": data[2 : 2 + size] or None, "width": 64, "height": 48}
        known = {"reorder_depth": what >> 6} if what & 32 else {}
        self.stream = SimpleNamespace(
            codec_context=SimpleNamespace(
                has_b_frames=what >> 7, decode=self._decoded, **facts, **known
            ),
            average_rate=Fraction(25) if size % 2 else None,
            guessed_rate=None,
            time_base=Fraction(1, 50),
        )

    def _decoded(self, packet: Packet) -> list[Any]:
        """kind: bits for a refusal, the type of a picture, whether it is marked, and kept."""
        kind = packet.kind
        if kind & 7 == 7:
            raise EOFError
        if not packet.size:
            return self._held
        frame = SimpleNamespace(
            pts=packet.pts, pict_type=kind & 3, is_corrupt=kind & 8 > 0, key_frame=kind & 16 > 0
        )
        if kind & 32:
            self._held.append(frame)
            return []
        made, self._held = [frame, *self._held], []
        return made

    def packets(self) -> Iterator[Packet]:
        return packets_of(self._packets)

    def check_read(self) -> None:
        pass

    def close(self) -> None:
        pass


class Source(VideoSource):
    def __init__(self, data: bytes) -> None:
        self._data = data

    def open(self, tolerant: bool = False) -> Any:
        return Opened(self._data)

    def head(self) -> tuple[bytes, int]:
        return self._data[2:], len(self._data)


def index(data: bytes) -> None:
    """Times ascend, numbers are those of frames, and each frame is in the group of its key."""
    found = scan_video(Source(data.ljust(2, b"\0")))
    assert len(found) > 0
    assert (found.times[1:] > found.times[:-1]).all()
    assert (found.keys[1:, 0] >= found.keys[:-1, 0]).all()
    damaged = found.damaged.tolist()
    assert damaged == sorted(set(damaged) & set(range(len(found))))
    for number in range(len(found)):
        assert number in found.group_of(number)
        assert -1 <= found.key_of(number) < len(found.keys)
    again = unpacked_index(*packed_index(found))
    for name in ("times", "keys", "damaged"):
        assert np.array_equal(getattr(again, name), getattr(found, name))
    assert (again.rate, again.unit, again.tolerant) == (found.rate, found.unit, found.tolerant)
    found.seconds()


def seeds() -> list[bytes]:
    """Pictures in order, out of it, damaged, refused, and without times."""

    def packet(flags: int, kind: int, shown: int, decoded: int, data: bytes = b"data") -> bytes:
        return bytes([flags, kind, shown, decoded, len(data)]) + data

    field = video_units.seeds()[0][1:]
    order = [(1, 17, 130, 130), (0, 2, 133, 131), (0, 3, 131, 132), (0, 3, 132, 133)]
    again = [(1, 17, 140, 140), (4, 10, 141, 141), (0, 7, 142, 142), (1, 17, 143, 143)]
    lone = [(9, 17, 0, 0), (8, 34, 0, 0), (8, 3, 0, 0)]
    back = [*order, *order]
    return [
        *(
            bytes([what, 0]) + b"".join(packet(*one) for one in rows)
            for what, rows in ((4, order), (7, again), (12, lone), (15, back), (135, again))
        ),
        b"\0\0" + packet(1, 17, 130, 130, field) + packet(0, 2, 131, 131, field),
        bytes([6, 3]) + b"abc" + packet(65, 17, 130, 130) + packet(65, 17, 131, 131),
    ]
