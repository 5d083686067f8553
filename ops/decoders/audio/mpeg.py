"""MPEG audio, layers I to III, by libsndfile: what its frames are, and which of them are wanted.

libsndfile believes what the first frame says of all, or guesses from it. Here they are counted, and
parts are cut out of the file with what is needed to decode them.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from gradiva.eager.types.arrays import Array, Int64Array

from .audio_info import AudioInfo, joined_audio
from .libsndfile import read_stream
from .mpeg_frames import Header, Walked, header_at, needed_from, silence, walk

_DECODER_DELAY: Final = 529
"""Samples that decoders of layer III put before the audio, beside those of the encoder."""
_FEWEST: Final = 8
"""Frames of a stream, and 192 bytes with them: libsndfile does not open one of 1 frame, or of less
than 128 bytes."""


class _Tag(NamedTuple):
    """frames: how many a file should have, 0 if that is not said; skip: samples to leave out at the
    beginning; fill: and at the end."""

    frames: int
    skip: int
    fill: int


def mpeg_audio(data: Array) -> AudioInfo | None:
    """A file of frames; None for one that does not begin with one. Raises ValueError for a file
    that is cut short or damaged."""
    parts: list[AudioInfo] = []
    begin = 0
    while begin < data.size:
        walked = walk(data, begin)
        if not walked.places.size:
            break
        parts += _parts(data, walked)
        begin = max(walked.end, begin + 1)
    return joined_audio(parts) if parts else None


def _parts(data: Array, walked: Walked) -> list[AudioInfo]:
    """Files that were joined have a tag each."""
    starts = np.flatnonzero(walked.tags).tolist()
    if not starts or starts[0]:
        starts = [0, *starts]
    ends = [*starts[1:], walked.places.size]
    return [
        _part(data, walked, start, end, last=end == ends[-1])
        for start, end in zip(starts, ends, strict=True)
    ]


def _part(data: Array, walked: Walked, start: int, end: int, last: bool) -> AudioInfo:
    header = header_at(data, int(walked.places[start]))
    tag = _Tag(0, 0, 0)
    if walked.tags[start]:
        at = int(walked.places[start])
        tag = _read_tag(data[at : at + int(walked.sizes[start])], header)
        start += 1
    places, sizes = walked.places[start:end], walked.sizes[start:end]
    count = places.size
    # Some encoders have counted the frame of the tag, too.
    if count < tag.frames - 1 or (count < tag.frames and last and walked.cut):
        raise ValueError(f"the file ends early: {count} of {tag.frames} frames are there")
    if walked.gaps and count != tag.frames:
        raise ValueError("the file is damaged: there are bytes between the frames")
    fill = tag.fill if count <= tag.frames else 0
    total = max(count * header.samples - tag.skip - fill, 0)

    def read(begin: int, wanted: int, out: Array) -> None:
        _read(data, places, sizes, header, begin + tag.skip, wanted, out)

    return AudioInfo("MP3", total, header.channels, header.rate, read)


def _read_tag(frame: Array, header: Header) -> _Tag:
    """Xing's and LAME's: names, a word of flags, and the numbers that are there by these."""
    at = header.side
    if frame[at : at + 4].tobytes() not in (b"Xing", b"Info"):
        return _Tag(_number(frame, 36 + 14, 4), 0, 0)  # Fraunhofer's
    flags = _number(frame, at + 4, 4)
    at += 8
    frames = 0
    for flag, size in ((1, 4), (2, 4), (4, 100), (8, 4)):
        if flags & flag:
            frames = _number(frame, at, 4) if flag == 1 else frames
            at += size
    if not frames:
        return _Tag(0, 0, 0)
    delay, fill = 0, 0
    if frame.size >= at + 24 and frame[at]:  # the encoder's name, and behind it 12 bits of each
        both = _number(frame, at + 21, 3)
        delay, fill = both >> 12, both & 0xFFF
    return _Tag(frames, delay + _DECODER_DELAY, max(fill - _DECODER_DELAY, 0))


def _number(frame: Array, at: int, size: int) -> int:
    return int.from_bytes(frame[at : at + size].tobytes(), "big")


def _read(
    data: Array,
    places: Int64Array,
    sizes: Int64Array,
    header: Header,
    begin: int,
    count: int,
    out: Array,
) -> None:
    """Decode a part: from the frame that is needed for its first sample to that of its last one."""
    if not count:
        return
    first, end = begin // header.samples, -(-(begin + count) // header.samples)
    start, whole = needed_from(data, places, sizes, first, header)
    places, sizes = places[start:end], sizes[start:end]
    # Tags between frames are left out.
    breaks = np.flatnonzero(places[1:] != places[:-1] + sizes[:-1]) + 1
    lows = [0, *breaks.tolist()]
    highs = [*breaks.tolist(), places.size]
    ranges = [
        data[int(places[low]) : int(places[high - 1] + sizes[high - 1])]
        for low, high in zip(lows, highs, strict=True)
    ]
    if places.size < _FEWEST:
        ranges += [_silent_frame(data, int(places[-1]), int(sizes[-1]))] * _FEWEST
    stream = np.concatenate(ranges) if len(ranges) > 1 or start else ranges[0]
    if start and header.layer == 3:
        at = np.cumsum(sizes) - sizes
        silence(stream, at[: whole - start], header)
    read_stream(stream, begin - start * header.samples, count, header.channels, out)


def _silent_frame(data: Array, at: int, size: int) -> Array:
    """One like another."""
    made = np.zeros(size, np.uint8)
    made[:4] = data[at : at + 4]
    made[1] |= 1  # without a sum
    return made
