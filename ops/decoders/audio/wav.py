"""WAV files of plain samples, by NumPy: integers of 8 to 32 bits, floats of 32 and 64.

Format: Microsoft, "Multimedia Programming Interface and Data Specifications 1.0", 1991; "Multiple
channel audio data and WAVE files", 2007. Files of more than 4 GiB: EBU Tech 3306; ITU-R BS.2088.
"""

from __future__ import annotations

from typing import Any, Final, Literal, NamedTuple

import numpy as np

from gradiva.eager.types.arrays import Array

from .audio_info import MOST_CHANNELS, AudioInfo
from .samples import convert_samples

_PCM: Final = 1
_FLOAT: Final = 3
_EXTENSIBLE: Final = 0xFFFE
_KINDS: Final = {
    (_PCM, 8): "u1",
    (_PCM, 16): "<i2",
    (_PCM, 24): "i3",
    (_PCM, 32): "<i4",
    (_FLOAT, 32): "<f4",
    (_FLOAT, 64): "<f8",
}


_MPEG: Final = (0x50, 0x55)
_WIDE: Final = (b"RF64", b"BW64")
_UNKNOWN: Final = 0xFFFFFFFF


class WavChunks(NamedTuple):
    """form: the chunk that says what samples are; at: where the size of the data stands; begin,
    size: where they are, and how many bytes of them are there."""

    form: bytes
    at: int
    begin: int
    size: int


def is_wav(data: Array) -> bool:
    """Whether a file says that it is one."""
    head = data[:12].tobytes()
    return head[:4] in (b"RIFF", *_WIDE) and head[8:12] == b"WAVE"


def wav_chunks(data: Array) -> WavChunks:
    """What the header says. A file that ends early, or that was written before its length was
    known, has as many bytes of samples as are there. Raises ValueError for a header that is none.
    """
    at, form, wide = 12, b"", None
    while at + 8 <= data.size:
        name = data[at : at + 4].tobytes()
        size = int.from_bytes(data[at + 4 : at + 8].tobytes(), "little")
        at += 8
        if name == b"fmt ":
            form = data[at : at + min(size, 40)].tobytes()
        elif name == b"ds64" and data[:4].tobytes() in _WIDE:
            wide = int.from_bytes(data[at + 8 : at + 16].tobytes(), "little")
        elif not any(name):
            break  # room that was reserved and not written
        elif name == b"data":
            size = wide if wide is not None and size in (0, _UNKNOWN) else size
            size = size or size_to_the_end(data, at)
            return WavChunks(form, at - 4, at, min(size, data.size - at))
        at += size + size % 2
    raise ValueError("a WAV file without samples: it is cut short or damaged")


def size_to_the_end(
    data: Array, begin: int, order: Literal["little", "big"] = "little", width: int = 4
) -> int:
    """How many bytes there are in a chunk whose size is 0: none, if other chunks follow up to the
    end of the file, or all. Sizes have `width` bytes."""
    at = begin
    while at + 4 + width <= data.size:
        if (data[at : at + 4] - np.uint8(32) >= 95).any():  # a name is printable
            break
        size = int.from_bytes(data[at + 4 : at + 4 + width].tobytes(), order)
        at += 4 + width + size
        if at in (data.size, data.size - 1):
            return 0
        at += at % 2
    return int(data.size - begin)


def has_mpeg(chunks: WavChunks) -> bool:
    """Whether the samples are a stream of MPEG audio."""
    return int.from_bytes(chunks.form[:2], "little") in _MPEG


def wav_audio(data: Array, chunks: WavChunks) -> AudioInfo | None:
    """A file of plain samples; None where they are packed in another way. Raises ValueError for a
    header that contradicts itself."""
    form = chunks.form
    if len(form) < 16:
        raise ValueError("a WAV file that does not say what its samples are")
    numbers = [int.from_bytes(form[k : k + 2], "little") for k in (0, 2, 12, 14)]
    tag, channels, pitch, bits = numbers
    if tag == _EXTENSIBLE and len(form) >= 26:
        tag = int.from_bytes(form[24:26], "little")
    rate = int.from_bytes(form[4:8], "little")
    kind = _KINDS.get((tag, bits))
    if kind is None:
        return None
    if not 1 <= channels <= MOST_CHANNELS or pitch != channels * bits // 8:
        raise ValueError(f"a WAV file of {channels} channels in {pitch} bytes of {bits} bits each")

    def read(begin: int, count: int, out: Array) -> None:
        first = chunks.begin + begin * pitch
        convert_samples(_samples(data[first : first + count * pitch], kind), out)

    return AudioInfo("WAV", chunks.size // pitch, channels, rate, read)


def _samples(raw: Array, kind: str) -> Array:
    """Samples as they are, those of 8 and 24 bits as int8 and, shifted to the upper bits, as
    int32."""
    if kind == "u1":
        return np.bitwise_xor(raw, 0x80).view(np.int8)
    if kind == "i3":
        wide = np.zeros((raw.size // 3, 4), np.uint8)
        wide[:, 1:] = raw.reshape(-1, 3)
        return wide.view("<i4").reshape(-1).astype(np.int32, copy=False)
    values: Any = np.frombuffer(raw, kind)
    return values  # type: ignore[no-any-return]
