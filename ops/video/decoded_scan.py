"""The frames of a video, decoded once: which ones FFmpeg shows, in which order, and which of them
are not what was recorded. For files of which the packets alone do not say it."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from gradiva.eager import extension as op

from .packet_scan import NO_TIME, Flags, Packets, known_time
from .video_file import Opened, VideoSource, av, check_memory

FLAGGED: Final = frozenset(
    (
        *("flv1", "h263", "h264", "mpeg1video", "mpeg2video", "mpeg4"),
        *("msmpeg4v1", "msmpeg4v2", "msmpeg4v3", "wmv1", "wmv2"),
    )
)
"""Codecs whose decoders, where they are tolerant, mark each frame that they make up from what is
around it. Where they are not, they refuse good ones, too, as those behind a recovery point."""
_NOTICING: Final = FLAGGED | {"hevc"}
"""Codecs whose decoders, strict or not, notice where a picture ends too early."""
_SMALL_PIECE: Final = 3
"""Packets at the end of a file that are one piece of a stream, as far as that is not certain."""
_MOST_DELAY: Final = 16
"""Frames that a decoder holds back at most."""
_INTRA: Final = 1
_BETWEEN: Final = 3
"""Types of pictures: those that refer to no other one, and those that no other one refers to."""


class DecodedScan(NamedTuple):
    """Frames in the order in which they are shown. times: NO_TIME where that is not known;
    damaged: frames that are not to be delivered, by the codecs that say it, and by the container;
    intra: key frames that refer to no other one.
    """

    times: op.Int64Array
    damaged: Flags
    intra: Flags


class _DecodedFrame(NamedTuple):
    time: int
    marked: bool
    intra: bool
    between: bool


def scan_decoded(source: VideoSource, packets: Packets) -> DecodedScan:
    """Decode a video whose packets were read before. Raises OSError, NotMediaError,
    NoVideoError."""
    opened = source.open(tolerant=True)
    try:
        codec = opened.codec
        frames, refused = _decoded(opened)
        delay = getattr(opened.stream.codec_context, "reorder_depth", _MOST_DELAY)
        opened.check_read()
    finally:
        opened.close()
    if refused or any(frame.marked for frame in frames):
        check_memory()
    times = np.array([frame.time for frame in frames], np.int64)
    known = np.unique(packets.shown[packets.shown != NO_TIME])
    if packets.timeless:
        times[:] = NO_TIME
    if _all_ascend(times) and len(known) == len(packets.shown):
        return _by_packets(frames, [time for time, _ in refused], packets, codec)
    damaged = _by_order(frames, [place for _, place in refused], delay)
    return DecodedScan(times, damaged, np.array([frame.intra for frame in frames], np.bool_))


def _all_ascend(times: op.Int64Array) -> bool:
    """Whether all frames have times, each a later one than the frame before."""
    return len(times) > 0 and not (times == NO_TIME).any() and bool((np.diff(times) > 0).all())


def _by_packets(
    frames: list[_DecodedFrame], refused: list[int], packets: Packets, codec: str
) -> DecodedScan:
    """Where each frame is known by the time of its packet: it is damaged from a damaged packet on,
    in the order in which they are decoded, to the next picture that refers to nothing. Where a
    packet was refused, what does not come out of a decoder is a damaged frame, too, so that further
    ones keep their numbers."""
    count = len(packets.shown)
    place_of = {time: place for place, time in enumerate(packets.shown.tolist())}
    marked, intra, out = (np.zeros(count + 1, np.bool_) for _ in range(3))
    for frame in frames:
        place = place_of.get(frame.time, count)
        marked[place] |= frame.marked
        intra[place] |= frame.intra
        out[place] = True
    marked[[place_of[time] for time in refused if time in place_of]] = True
    marked[:count] |= _said_by_container(packets.corrupt, intra[:count], codec)
    intra &= ~marked
    begins = np.flatnonzero(marked[:count])
    ends = _next(intra[:count])[begins]
    damaged = _covered(begins, ends, count)
    # And those behind that picture that are shown before it.
    latest = np.full(count, NO_TIME, np.int64)
    known = ends[ends < count]
    latest[known] = packets.shown[known]
    damaged |= packets.shown < np.maximum.accumulate(latest)
    shown = out[:count]
    if packets.one_to_one and refused:
        first = int(np.argmax(shown))
        shown |= damaged & ~packets.dropped & (np.arange(count) > first)
    order = np.flatnonzero(shown)
    order = order[np.argsort(packets.shown[order])]
    return DecodedScan(packets.shown[order], damaged[order], intra[:count][order])


def _said_by_container(corrupt: Flags, intra: Flags, codec: str) -> Flags:
    """Which packets are damaged by what the container says of them. In streams it says it of the
    packet before the one that is meant, and of good ones, too: before a seam of files that were
    joined, and, where a file is cut, of many that lie in one piece with the end."""
    if codec not in _NOTICING or not corrupt.any():
        return corrupt
    begins_next_but_one = np.append(intra, (False, False))[2:]
    last_audio = np.flatnonzero(~corrupt[:-1])
    piece = int(last_audio[-1]) + 1 if len(last_audio) else 0
    meant = np.where(begins_next_but_one, False, corrupt)
    if len(corrupt) - piece > _SMALL_PIECE:
        meant[piece:] = False
    meant[1:] |= meant[:-1]
    return meant


def _by_order(frames: list[_DecodedFrame], refused: list[int], delay: int) -> Flags:
    """The same where only the order of the frames is known. refused: how many frames came before
    a packet that was refused; delay: how many frames a decoder holds back."""
    count = len(frames)
    begins = [(min(place, count), min(place + delay, count)) for place in refused]
    for place, frame in enumerate(frames):
        if frame.marked:
            begin = place
            while not frame.between and begin and frames[begin - 1].between:
                begin -= 1
            begins.append((begin, place + 1))
    clean = np.array([frame.intra and not frame.marked for frame in frames], np.bool_)
    lows, places = np.array(begins, np.int64).reshape(-1, 2).T
    return _covered(lows, _next(clean)[places], count)


def _next(flags: Flags) -> op.Int64Array:
    """For each place, and the one behind the last, the first one from there on that has the flag,
    or else the one behind the last."""
    count = len(flags)
    places = np.append(np.where(flags, np.arange(count), count), count)
    return np.minimum.accumulate(places[::-1])[::-1]


def _covered(begins: op.Int64Array, ends: op.Int64Array, count: int) -> Flags:
    """Which of so many places lie in one of these ranges."""
    steps = np.zeros(count + 1, np.int64)
    np.add.at(steps, begins, 1)
    np.add.at(steps, ends, -1)
    found: Flags = np.cumsum(steps)[:count] > 0
    return found


def _decoded(opened: Opened) -> tuple[list[_DecodedFrame], list[tuple[int, int]]]:
    """The frames that come out, and of each packet that is refused its time, and how many frames
    came before."""
    context = opened.stream.codec_context
    frames: list[_DecodedFrame] = []
    refused: list[tuple[int, int]] = []
    try:
        for packet in opened.packets():
            try:
                found = context.decode(packet)
            except (av.FFmpegError, EOFError):
                refused.append((known_time(packet.pts), len(frames)))
                continue
            for frame in found:
                kind = int(frame.pict_type)
                intra = frame.key_frame and kind == _INTRA
                row = _DecodedFrame(
                    known_time(frame.pts), frame.is_corrupt, intra, kind == _BETWEEN
                )
                frames.append(row)
    except (av.FFmpegError, EOFError):
        pass
    return frames, refused
