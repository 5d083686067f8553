"""The frames of MPEG audio, layers I to III: where they are, and which of them a decoder needs.

Format: ISO/IEC 11172-3 and 13818-3; G. Bouvigne, "Mp3 Info Tag revision 1 specifications".
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from gradiva.eager.jit.jit import always_inline, jit
from gradiva.eager.types.arrays import Array, BoolVector, I64Vector, Int, Int64Array, U8Vector

SHORTEST: Final = 24
"""Bytes of the shortest frame: 8 kbit/s at 24 kHz."""
_KBITS: Final = np.array(
    [
        [0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448, 0],
        [0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 0],
        [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 0],
        [0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256, 0],
        [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160, 0],
        [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160, 0],
    ],
    np.int64,
)
"""By layer, for MPEG 1 and for lower rates; 0 for what is not read."""
_RATES: Final = np.array([44100, 48000, 32000], np.int64)
_TAGS: Final = b"IAT\0"
"""What tags begin with."""
_KIND: Final = 0xFFFE0C00
"""Bits of a header that are the same in all frames of a stream: version, layer and rate."""
_BEFORE: Final = 2
"""Frames before the first one that is wanted, whose own samples are in it: what is left of the
transform, and of the filters."""
_PHASE: Final = 8
"""A decoder goes around in its filters' memory with that period, in frames, and adds in the order
of places there: frames that begin elsewhere differ from the whole by a last bit."""


class Header(NamedTuple):
    """What the four bytes before each frame say: bytes and samples of the frame, rate in Hz, side:
    where the main data of layer III begin, in bytes."""

    size: Int
    samples: int
    rate: int
    channels: int
    layer: int
    low: bool
    side: int


class Walked(NamedTuple):
    """places, sizes: of the frames, in bytes; tags: whether a frame is a tag, of Xing's or
    Fraunhofer's, that tells about the others; end: where the walk ended; gaps: how often bytes had
    to be passed over that are neither frames nor tags; cut: whether the last frame is not all
    there."""

    places: Int64Array
    sizes: Int64Array
    tags: Array
    end: int
    gaps: int
    cut: bool


@always_inline
def _word(data: U8Vector, at: Int) -> np.int64:
    """Four bytes."""
    return (
        (np.int64(data[at]) << 24)
        | (np.int64(data[at + 1]) << 16)
        | (np.int64(data[at + 2]) << 8)
        | np.int64(data[at + 3])
    )


@jit
def _size(word: Int) -> Int:
    """Bytes of the frame with this header; 0 if it is none."""
    version, layer = (word >> 19) & 3, 4 - ((word >> 17) & 3)
    pitch = (word >> 10) & 3
    if (word >> 21) != 0x7FF or version == 1 or layer == 4 or pitch == 3:
        return 0
    low = version != 3
    bits = _KBITS[layer - 1 + (3 if low else 0), (word >> 12) & 15] * 1000
    rate = _RATES[pitch] >> (0 if not low else 1 if version == 2 else 2)
    padding = (word >> 9) & 1
    if bits == 0:
        return 0
    if layer == 1:
        return np.int64((12 * bits // rate + padding) * 4)
    return np.int64((72 if low and layer == 3 else 144) * bits // rate + padding)


@always_inline
def _mono(word: Int) -> bool:
    """Whether a frame with this header has one channel."""
    return bool((word >> 6) & 3 == 3)


@jit
def _side(word: Int) -> int:
    """Bytes of a frame of layer III before its main data."""
    low, mono = (word >> 19) & 3 != 3, _mono(word)
    size = (9 if mono else 17) if low else (17 if mono else 32)
    return 4 + size + (0 if (word >> 16) & 1 else 2)


@jit
def _alike(word: Int, first: Int) -> bool:
    """Whether two headers have the same version, layer, rate and number of channels."""
    return bool((word & _KIND) == (first & _KIND) and _mono(word) == _mono(first))


@jit
def _tag_size(data: U8Vector, at: Int) -> Int:
    """Bytes of a tag that begins here: ID3 of both versions, APE; or of zeros; 0 for none."""
    left = data.size - at
    if left >= 10 and data[at] == 73 and data[at + 1] == 68 and data[at + 2] == 51:  # ID3
        size: Int = np.int64(0)
        for k in range(6, 10):
            size = size << 7 | (np.int64(data[at + k]) & 127)
        return size + 10 + (10 if data[at + 5] & 16 else 0)
    if left >= 3 and data[at] == 84 and data[at + 1] == 65 and data[at + 2] == 71:  # TAG
        return 227 if left >= 4 and data[at + 3] == 43 else 128
    if left >= 32 and _word(data, at) == 0x41504554 and _word(data, at + 4) == 0x41474558:
        size = np.int64(0)  # APETAGEX; of one that stands at its end nothing is left to pass over
        for k in range(15, 11, -1):
            size = size << 8 | np.int64(data[at + k])
        return size + 32 if data[at + 23] & 32 else 32
    zeros = 0
    while zeros < left and data[at + zeros] == 0:
        zeros += 1
    return zeros


@jit
def _is_tag(data: U8Vector, at: Int, size: Int, word: Int, first: bool) -> bool:
    """Whether a frame is a tag of Xing's, or LAME's, or Fraunhofer's. In frames that are not the
    first, the side information must be that of silence: else it is audio that looks like it."""
    place = _side(word)
    if size >= place + 8 and _word(data, at + place) in (0x58696E67, 0x496E666F):
        return bool(first or not data[at + 4 : at + place].any())
    return bool(size >= 62 and _word(data, at + 36) == 0x56425249)


@jit
def _found(data: U8Vector, at: Int, first: Int) -> bool:
    """Whether a frame begins here, and another one or a tag, or nothing, is behind it."""
    if at + 4 > data.size:
        return False
    word = _word(data, at)
    size = _size(word)
    if size == 0 or (first != 0 and not _alike(word, first)):
        return False
    behind = at + size
    if behind + 4 > data.size:
        return bool(behind <= data.size)
    after = _word(data, behind)
    if _size(after) > 0 and _alike(after, word):
        return True
    return bool(data[behind] == 0 or _tag_size(data, behind) > 0)


@jit
def _walk(
    data: U8Vector, at: Int, places: I64Vector, sizes: I64Vector, tags: BoolVector, state: I64Vector
) -> int:
    """Note the frames of a stream from the byte `at` on, and return how many there are.

    places, sizes: the first byte and the number of bytes of each; tags: whether it holds no audio
    but facts about the stream; state: where the walk ended and why.
    """
    first: Int = np.int64(0)
    count = 0
    while at + 4 <= data.size:
        word = _word(data, at)
        size = _size(word)
        if size > 0 and (first == 0 or _alike(word, first)):
            if at + size > data.size:
                state[2] = 1
                break
            layer = 4 - ((word >> 17) & 3)
            places[count], sizes[count] = at, size
            tags[count] = layer == 3 and _is_tag(data, at, size, word, first == 0)
            first = word
            count += 1
            at += size
            continue
        if first == 0:
            break
        passed = _tag_size(data, at)
        if passed > 0:
            at += passed
            continue
        if size > 0 and _found(data, at, 0):
            break  # of another kind: a stream of its own
        behind = at + 1
        while behind < data.size and not _found(data, behind, first):
            behind += 1
        if behind >= data.size:
            break  # whatever it is, it is behind the audio
        state[1] += 1
        at = behind
    state[0] = min(at, data.size)
    return count


def tags_end(data: Array, begin: int = 0) -> int:
    """Where the tags end that begin here."""
    if begin >= data.size or data[begin] not in _TAGS:
        return begin
    while 0 < (passed := int(_tag_size(data, begin))) < data.size - begin:
        begin += passed
    return begin


def walk(data: Array, begin: int) -> Walked:
    """All frames of one kind from a byte on, which is the first one's or a tag's."""
    begin = tags_end(data, begin)
    if begin >= data.size or data[begin] != 0xFF:
        return Walked(*(np.empty(0, np.int64),) * 2, np.empty(0, np.bool_), begin, 0, False)
    state = np.zeros(3, np.int64)
    most = (data.size - begin) // SHORTEST + 1 if _found(data, begin, 0) else 0
    places, sizes = np.empty(most, np.int64), np.empty(most, np.int64)
    tags = np.empty(most, np.bool_)
    count = int(_walk(data, begin, places, sizes, tags, state)) if most else 0
    end, gaps, cut = state.tolist()
    # Copies: there may be many walks, and each has room for all frames that the file could have.
    places, sizes, tags = places[:count].copy(), sizes[:count].copy(), tags[:count].copy()
    return Walked(places, sizes, tags, end, gaps, bool(cut))


def header_at(data: Array, at: Int) -> Header:
    """Of a frame that the walk has found."""
    word = int.from_bytes(data[at : at + 4].tobytes(), "big")
    version, layer = word >> 19 & 3, 4 - (word >> 17 & 3)
    low = version != 3
    rate = int(_RATES[word >> 10 & 3]) >> (0 if not low else 1 if version == 2 else 2)
    samples = 384 if layer == 1 else 576 if layer == 3 and low else 1152
    channels = 1 if word >> 6 & 3 == 3 else 2
    return Header(int(_size(word)), samples, rate, channels, layer, low, int(_side(word)))


@jit
def _needed(data: U8Vector, places: I64Vector, sizes: I64Vector, frame: int, most: int) -> int:
    """The first frame that has to be read, so that the `most` bytes before the main data of `frame`
    are known."""
    held = 0
    while frame > 0 and held < most:
        frame -= 1
        held += sizes[frame] - _side(_word(data, places[frame]))
    return frame


def needed_from(
    data: Array, places: Int64Array, sizes: Int64Array, frame: int, header: Header
) -> tuple[int, int]:
    """From which frame on a decoder must begin for the samples of `frame` to be those of the whole,
    and the first one of which it has to have all data, in layer III: these reach back by up to 511
    bytes, however many frames these are."""
    whole = max(frame - _BEFORE, 0)
    begin = whole
    if header.layer == 3:
        begin = int(_needed(data, places, sizes, whole, 255 if header.low else 511))
    return begin - begin % _PHASE, whole


@jit
def _silence(data: U8Vector, places: I64Vector, low: bool) -> None:
    """Make the frames at these places silent; low: whether the sampling rate is one of the lower
    ones (MPEG 2)."""
    for at in places:
        word = _word(data, at)
        end = at + _side(word)
        checked = (word >> 16) & 1 == 0
        begin = at + (6 if checked else 4)
        # Where the main data begin remains, in 8 or 9 bits: what follows may lie before.
        if not low:
            data[begin + 1] &= 128
        data[begin + (1 if low else 2) : end] = 0
        if checked:
            check = np.int64(0xFFFF)
            for k in range(at + 2, end):
                if at + 4 <= k < begin:
                    continue
                check ^= np.int64(data[k]) << 8
                for _ in range(8):
                    check = (check << 1) ^ (0x18005 if check & 0x8000 else 0)
            data[at + 4], data[at + 5] = check >> 8, check & 255


def silence(stream: Array, places: Int64Array, header: Header) -> None:
    """Take the audio out of frames of layer III that are there for the data in them alone, which
    others use: a decoder that begins there has not all of theirs, and would complain."""
    _silence(stream, places, header.low)
