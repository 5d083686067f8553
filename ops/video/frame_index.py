"""The index of a video: when each frame is shown, and where decoding can begin.

It is made from all packets of the file, of which none is decoded.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from gradiva.eager import extension as op

from .color import quarter_turns
from .first_bytes import is_cut
from .key_frames import begins_anew, is_shown
from .video_file import NoVideoError, Opened, VideoSource, av

__all__ = ["VideoIndex", "packed_index", "scan_video", "unpacked_index"]

_WITHOUT_TIMES = ("avi", "h264", "hevc", "h263", "h261", "m4v", "mpegvideo", "vc1", "vvc", "obu")
"""Formats that say nothing of when a frame is shown, or only of when it is decoded."""
_NONE = -(1 << 63)


@dataclass(frozen=True, slots=True, eq=False)
class VideoIndex:
    """times: when each frame is shown, (frames,), ascending, in units of `unit` seconds.

    keys: (keys, 2), the times at which a frame is shown and decoded from which decoding can begin,
    ascending. counted: the file does not say when which frame is shown, so that frames are counted
    from the first one on. shape: height and width. rate: frames in a second, on average. problem:
    what is wrong with what follows the last frame, or "". turns: by how many quarters,
    counter-clockwise, frames are turned.
    """

    times: op.Int64Array
    keys: op.Int64Array
    unit: Fraction
    shape: tuple[int, int]
    rate: Fraction
    counted: bool
    problem: str
    turns: int = 0

    @property
    def upright_shape(self) -> tuple[int, int]:
        """Height and width of frames that are turned."""
        return self.shape[::-1] if self.turns % 2 else self.shape

    def __len__(self) -> int:
        return len(self.times)

    def key_of(self, number: int) -> int:
        """The last key frame from which a frame can be decoded; -1: from the beginning on."""
        if self.counted or number < 0:
            return -1
        return int(np.searchsorted(self.keys[:, 0], self.times[number], "right")) - 1

    def first_of(self, key: int) -> int:
        """The first frame that is decoded from this key frame, which it usually is itself; of all
        frames, where there is no key frame of this number."""
        if key < 0:
            return 0
        if key >= len(self.keys):
            return len(self)
        return int(np.searchsorted(self.times, self.keys[key, 0]))

    def group_of(self, number: int) -> range:
        """The frames that are decoded from the same key frame as this one."""
        if self.counted:
            return range(len(self))
        key = self.key_of(number)
        return range(self.first_of(key), self.first_of(key + 1))

    def seconds(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """When each frame is shown, from the first one on."""
        since = self.times - self.times[:1]
        seconds = since * self.unit.numerator / self.unit.denominator
        return seconds.astype(np.float64, copy=False)


def scan_video(source: VideoSource, upright: bool = False) -> VideoIndex:
    """The index of a video. upright: frames are to be turned as the file says. Raises OSError,
    NotMediaError, NoVideoError."""
    opened = source.open()
    try:
        found = _scan(opened)
    finally:
        opened.close()
    if upright:
        found = replace(found, turns=_turns(source))
    if not found.problem and is_cut(*source.head()):
        return replace(found, problem="the file is cut")
    return found


def _turns(source: VideoSource) -> int:
    """What the display matrix of a video says: only its frames know of it. Raises OSError."""
    opened = source.open()
    try:
        for frame in opened.container.decode(opened.stream):
            opened.refuse_unread()
            return quarter_turns(frame)
    except (av.FFmpegError, EOFError):
        pass
    finally:
        opened.close()
    opened.refuse_unread()
    return 0


def _scan(opened: Opened) -> VideoIndex:
    stream = opened.stream
    context = stream.codec_context
    codec, extradata = opened.codec, context.extradata
    rows: list[tuple[int, int, bool, bool]] = []
    problem = ""
    try:
        for packet in opened.packets():
            if not packet.size:
                continue
            if packet.is_corrupt:
                problem = "the file is cut"
                break
            data = bytes(packet) if packet.is_keyframe or codec == "vp8" else b""
            key = packet.is_keyframe and begins_anew(codec, data, extradata)
            pts = _NONE if packet.pts is None else packet.pts
            dts = _NONE if packet.dts is None else packet.dts
            if is_shown(codec, data):
                rows.append((pts, dts, key, packet.is_discard))
    except (av.FFmpegError, EOFError) as error:
        problem = f"the file is cut or damaged: {getattr(error, 'strerror', None) or error}"
    opened.refuse_unread()
    if not rows:
        raise NoVideoError(problem or "there is no frame in the file")
    shape = int(context.height), int(context.width)
    rate = stream.average_rate or stream.guessed_rate or Fraction(25)
    unit = stream.time_base
    listed = np.array([row[:2] for row in rows], np.int64)
    flags = np.array([row[2:] for row in rows], np.bool_)
    found = _exact(opened, listed, flags)
    if found is None:
        times, unit = _counted(listed[:, 1], unit, rate)
        return VideoIndex(times, np.zeros((0, 2), np.int64), unit, shape, rate, True, problem)
    if not len(found[0]):
        raise NoVideoError("no frame of the file is to be shown")
    return VideoIndex(*found, unit, shape, rate, False, problem)


def _exact(
    opened: Opened, listed: op.Int64Array, flags: np.ndarray[Any, np.dtype[np.bool_]]
) -> tuple[op.Int64Array, op.Int64Array] | None:
    """Times and keys, if the file says of each frame when it is shown."""
    shown, decoded = listed.T
    if (shown == _NONE).any() or len(np.unique(shown)) < len(shown):
        return None
    names = opened.container.format.name.split(",")
    # Without frames that are shown out of their order there is nothing to be said of it.
    reordered = opened.stream.codec_context.has_b_frames or (np.diff(shown) <= 0).any()
    if reordered and any(name in _WITHOUT_TIMES for name in names):
        return None
    # What an edit list leaves out, and what stands before the beginning, is decoded and not shown.
    times = np.sort(shown[(shown >= 0) & ~flags[:, 1]])
    chosen = flags[:, 0]
    keys = np.stack([shown[chosen], np.where(decoded == _NONE, shown, decoded)[chosen]], 1)
    return times, keys[np.argsort(keys[:, 0], kind="stable")]


def _counted(
    decoded: op.Int64Array, unit: Fraction, rate: Fraction
) -> tuple[op.Int64Array, Fraction]:
    """Times of frames of which only the number is known, and their unit."""
    if (decoded != _NONE).all() and (np.diff(decoded) > 0).all():
        return decoded, unit
    return np.arange(len(decoded), dtype=np.int64), 1 / Fraction(rate)


def packed_index(index: VideoIndex) -> tuple[op.Int64Array, bytes]:
    """An index as an array of two columns, and the rest, to be kept in a file."""
    numbers = np.concatenate([index.keys, np.stack([index.times, index.times], 1)])
    rest = {
        "keys": len(index.keys),
        "unit": [index.unit.numerator, index.unit.denominator],
        "shape": index.shape,
        "rate": [index.rate.numerator, index.rate.denominator],
        "counted": index.counted,
        "problem": index.problem,
        "turns": index.turns,
    }
    return numbers, json.dumps(rest).encode()


def unpacked_index(numbers: op.Int64Array, rest: bytes) -> VideoIndex:
    """The index that `packed_index` has packed."""
    facts = json.loads(rest)
    keys = facts["keys"]
    return VideoIndex(
        np.ascontiguousarray(numbers[keys:, 0]),
        numbers[:keys],
        Fraction(*facts["unit"]),
        (facts["shape"][0], facts["shape"][1]),
        Fraction(*facts["rate"]),
        facts["counted"],
        facts["problem"],
        facts["turns"],
    )
