"""WAV files of plain samples, by NumPy: integers of 8 to 32 bits, floats of 32 and 64.

Format: Microsoft, "Multimedia Programming Interface and Data Specifications 1.0", 1991; "Multiple
channel audio data and WAVE files", 2007.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from gradiva.eager.types.arrays import Array

from .sound_info import MOST_CHANNELS, SoundInfo

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


def is_wav(data: Array) -> bool:
    """Whether a file says that it is one."""
    head = data[:12].tobytes()
    return head[:4] == b"RIFF" and head[8:12] == b"WAVE"


def wav_info(data: Array) -> SoundInfo | None:
    """What the header says; None where samples are packed in another way. A file that ends early
    has as many frames as are there. Raises ValueError for a header that is none."""
    at, form = 12, b""
    while at + 8 <= data.size:
        name = data[at : at + 4].tobytes()
        size = int.from_bytes(data[at + 4 : at + 8].tobytes(), "little")
        at += 8
        if name == b"fmt ":
            form = data[at : at + min(size, 40)].tobytes()
        elif name == b"data":
            return _described(form, at, min(size, data.size - at))
        at += size + size % 2
    raise ValueError("a WAV file without samples: it is cut short or damaged")


def _described(form: bytes, begin: int, size: int) -> SoundInfo | None:
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
    return SoundInfo("WAV", size // pitch, channels, rate, tag == _FLOAT, kind, begin)


def wav_samples(data: Array, info: SoundInfo, begin: int, count: int) -> Array:
    """(count * channels,): samples as they are, those of 8 and 24 bits as int8 and, shifted to the
    upper bits, as int32."""
    width = 3 if info.kind == "i3" else np.dtype(info.kind).itemsize
    first = info.begin + begin * info.channels * width
    raw = data[first : first + count * info.channels * width]
    if info.kind == "u1":
        return np.bitwise_xor(raw, 0x80).view(np.int8)
    if info.kind == "i3":
        wide = np.zeros((raw.size // 3, 4), np.uint8)
        wide[:, 1:] = raw.reshape(-1, 3)
        return wide.view("<i4").reshape(-1).astype(np.int32, copy=False)
    values: Any = np.frombuffer(raw, info.kind)
    return values  # type: ignore[no-any-return]
