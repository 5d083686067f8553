"""The index of a video: when each frame is shown, and where decoding can begin.

It is made from all packets of the file. None is decoded where they say which frames FFmpeg shows;
elsewhere all are, once.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from gradiva.eager import extension as op

from .color import quarter_turns
from .decoded_scan import FLAGGED, DecodedScan, scan_decoded
from .first_bytes import is_cut
from .packet_scan import NO_TIME, Flags, Packets, scan_packets
from .video_file import NoVideoError, Opened, VideoSource, av, check_memory

KeepDecoded: TypeAlias = Callable[[Callable[[], DecodedScan]], DecodedScan]
"""What calls a scan that decodes, or has its result already."""


@dataclass(frozen=True, slots=True, eq=False)
class VideoIndex:
    """times: when each frame is shown, (frames,), ascending, in units of `unit` seconds.

    keys: (keys, 2), the times at which a frame is shown and decoded from which decoding can begin,
    ascending. counted: the file does not say when which frame is shown, so that frames are counted
    from the first one on. shape: height and width. rate: frames in a second, on average. problem:
    what is wrong with what follows the last frame, or "". turns: by how many quarters,
    counter-clockwise, frames are turned. damaged: numbers of frames of which it is known that they
    are. tolerant: only a tolerant decoder shows all frames; all that is damaged is known.
    """

    times: op.Int64Array
    keys: op.Int64Array
    unit: Fraction
    shape: tuple[int, int]
    rate: Fraction
    counted: bool
    problem: str
    turns: int = 0
    damaged: op.Int64Array = field(default_factory=lambda: np.zeros(0, np.int64))
    tolerant: bool = False

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
        return self._in_seconds(self.times - self.times[:1])

    def seconds_in_file(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """When each frame is shown, by the file's own clock."""
        return self._in_seconds(self.times)

    def _in_seconds(self, times: op.Int64Array) -> np.ndarray[Any, np.dtype[np.float64]]:
        seconds = times * self.unit.numerator / self.unit.denominator
        return seconds.astype(np.float64, copy=False)


def scan_video(
    source: VideoSource, upright: bool = False, keep: KeepDecoded | None = None
) -> VideoIndex:
    """The index of a video. upright: frames are to be turned as the file says; keep: remembers what
    was found by decoding. Raises OSError, NotMediaError, NoVideoError."""
    opened = source.open()
    try:
        packets, facts = scan_packets(opened), _Facts.of(opened)
    finally:
        opened.close()
    if packets.problem or not len(packets.shown):
        check_memory()
    if not len(packets.shown):
        raise NoVideoError(packets.problem or "there is no frame in the file")
    if packets.doubt:
        found = _decoded(source, packets, facts, keep)
    else:
        times = np.sort(packets.shown[~packets.dropped])
        found = VideoIndex(
            times, _keys(packets), facts.unit, facts.shape, facts.rate, False, packets.problem
        )
    if not len(found):
        raise NoVideoError(packets.problem or "no frame of the file is to be shown")
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
            opened.check_read()
            return quarter_turns(frame)
    except (av.FFmpegError, EOFError):
        pass
    finally:
        opened.close()
    opened.check_read()
    return 0


class _Facts(NamedTuple):
    """What an open video says of itself."""

    codec: str
    unit: Fraction
    shape: tuple[int, int]
    rate: Fraction

    @staticmethod
    def of(opened: Opened) -> _Facts:
        stream, context = opened.stream, opened.stream.codec_context
        rate = stream.average_rate or stream.guessed_rate or Fraction(25)
        shape = int(context.height), int(context.width)
        return _Facts(opened.codec, stream.time_base, shape, Fraction(rate))


def _keys(packets: Packets) -> op.Int64Array:
    """The times of key frames, ascending."""
    shown, decoded = packets.shown[packets.keys], packets.decoded[packets.keys]
    keys = np.stack([shown, np.where(decoded == NO_TIME, shown, decoded)], 1)
    return keys[np.argsort(shown, kind="stable")]


def _decoded(
    source: VideoSource, packets: Packets, facts: _Facts, keep: KeepDecoded | None
) -> VideoIndex:
    """The index of a video that has to be decoded for it."""

    def scan() -> DecodedScan:
        return scan_decoded(source, packets)

    times, damaged, intra = scan() if keep is None else keep(scan)
    _refuse_lost(packets, len(times), bool(damaged.any()))
    problem, unit, keys = packets.problem, facts.unit, np.zeros((0, 2), np.int64)
    begins = times[intra]
    if packets.corrupt[-2:].any():
        problem = problem or "the file is cut"
    if problem:
        whole = len(damaged) - int(np.argmin(damaged[::-1])) if not damaged.all() else 0
        times, damaged = times[:whole], damaged[:whole]
    counted = bool((times == NO_TIME).any() or (np.diff(times) <= 0).any())
    if counted:
        decoded = packets.decoded
        if packets.timeless and len(decoded) == len(times) and decoded.min() != NO_TIME:
            times = decoded
        times, unit = _going_on(times, unit, facts.rate)
    else:
        keys = _keys(packets)
        # Some containers call each frame a key frame.
        keys = keys[np.isin(keys[:, 0], begins) & _are_unique(keys[:, 0], packets.shown)]
    numbers = np.flatnonzero(damaged)
    return VideoIndex(
        *(times, keys, unit, facts.shape, facts.rate, counted, problem),
        damaged=numbers,
        tolerant=facts.codec in FLAGGED,
    )


def _refuse_lost(packets: Packets, shown: int, damaged: bool) -> None:
    """Raise NoVideoError where FFmpeg leaves out frames of an edit list: at the seam of two entries
    some decoders take what follows for what they have shown already."""
    kept = len(packets.dropped) - int(packets.dropped.sum())
    whole = packets.one_to_one and not (damaged or packets.problem or packets.corrupt.any())
    if whole and shown < kept < len(packets.dropped):
        raise NoVideoError(f"FFmpeg shows {shown} of the {kept} frames of its edit list")


def _are_unique(times: op.Int64Array, of: op.Int64Array) -> Flags:
    """Whether each time occurs once among others."""
    found, counts = np.unique(of, return_counts=True)
    return np.isin(times, found[counts == 1])


def _going_on(
    times: op.Int64Array, unit: Fraction, rate: Fraction
) -> tuple[op.Int64Array, Fraction]:
    """Times of frames that are told apart by their numbers only, ascending, and their unit: where
    times begin again they go on instead, and where some are not known, the rate counts."""
    if (times == NO_TIME).any():
        return np.arange(len(times), dtype=np.int64), 1 / rate
    steps = np.diff(times, prepend=times[:1])
    usual = max(round(1 / rate / unit), 1)
    steps[1:][steps[1:] <= 0] = usual
    return times[:1] + np.cumsum(steps), unit


def packed_index(index: VideoIndex) -> tuple[op.Int64Array, bytes]:
    """An index as an array of two columns, and the rest, to be kept in a file."""
    damaged = np.zeros(len(index), np.int64)
    damaged[index.damaged] = 1
    numbers = np.concatenate([index.keys, np.stack([index.times, damaged], 1)])
    rest = {
        "keys": len(index.keys),
        "unit": [index.unit.numerator, index.unit.denominator],
        "shape": index.shape,
        "rate": [index.rate.numerator, index.rate.denominator],
        "counted": index.counted,
        "problem": index.problem,
        "turns": index.turns,
        "tolerant": index.tolerant,
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
        np.flatnonzero(numbers[keys:, 1]),
        facts["tolerant"],
    )
