"""Videos written by hand: what no encoder here makes."""

from __future__ import annotations

__all__ = ["avi", "field_pictures", "placeholder"]

_WIDTH, _HEIGHT = 4, 2
"""Of a frame, in blocks of 16 by 16 pixels."""


def avi(chunks: list[tuple[bytes, bool]]) -> bytes:
    """An AVI file of 64 by 32 pixels in MPEG-4, of these chunks; whether each is a key frame."""

    def box(name: bytes, content: bytes) -> bytes:
        return name + len(content).to_bytes(4, "little") + content + bytes(len(content) % 2)

    def words(*numbers: int) -> bytes:
        return b"".join(one.to_bytes(4, "little") for one in numbers)

    main = words(40000, 0, 0, 0x10, len(chunks), 0, 1, 100000, 64, 32, 0, 0, 0, 0)
    head = b"vidsXVID" + words(0, 0, 0, 1, 25, 0, len(chunks), 100000, 0xFFFFFFFF, 0) + bytes(8)
    form = words(40, 64, 32) + b"\1\0\x18\0XVID" + words(64 * 32 * 3, 0, 0, 0, 0)
    lists = box(b"LIST", b"strl" + box(b"strh", head) + box(b"strf", form))
    lists = box(b"LIST", b"hdrl" + box(b"avih", main) + lists)
    index, movie = b"", b"movi"
    for data, key in chunks:
        index += b"00dc" + words(16 if key else 0, len(movie), len(data))
        movie += box(b"00dc", data)
    return box(b"RIFF", b"AVI " + lists + box(b"LIST", movie) + box(b"idx1", index))


def placeholder(number: int) -> bytes:
    """A frame of MPEG-4 that is not coded, by its time within a second of 25."""
    bits = "01" + "0" + "1" + format(number % 25, "05b") + "1" + "0"
    bits += "0" + "1" * (-(len(bits) + 1) % 8)
    return b"\0\0\1\xb6" + int(bits, 2).to_bytes(len(bits) // 8, "big")


class _Bits:
    """Bits as text, by the codes of H.264."""

    def __init__(self) -> None:
        self.text = ""

    def u(self, value: int, count: int) -> _Bits:
        self.text += format(value, f"0{count}b")
        return self

    def ue(self, *values: int) -> _Bits:
        for value in values:
            code = format(value + 1, "b")
            self.text += "0" * (len(code) - 1) + code
        return self

    def unit(self, head: int) -> bytes:
        """A NAL unit with start code."""
        text = self.text + "1"
        text += "0" * (-len(text) % 8)
        data, kept, zeros = int(text, 2).to_bytes(len(text) // 8, "big"), bytearray(), 0
        for one in data:
            if zeros >= 2 and one <= 3:
                kept.append(3)
                zeros = 0
            kept.append(one)
            zeros = zeros + 1 if one == 0 else 0
        return b"\0\0\0\1" + bytes([head]) + bytes(kept)


def field_pictures(count: int) -> list[tuple[bytes, int, bool]]:
    """Frames of H.264 whose fields are pictures of their own, without loss: frame k has the
    brightness 40 + 8 k, its lower field 4 more. Data, times in fiftieths of a second, and whether
    it is a key frame."""
    parameters = _Bits().u(77, 8).u(0, 8).u(30, 8).ue(0, 0, 2, 1).u(0, 1)
    parameters = parameters.ue(_WIDTH - 1, _HEIGHT // 2 - 1).u(0, 2).u(1, 1).u(0, 2)
    sequence = parameters.unit(0x67)
    picture = _Bits().ue(0, 0).u(0, 2).ue(0, 0, 0).u(0, 3).ue(0, 0, 0).u(0, 3).unit(0x68)
    made: list[tuple[bytes, int, bool]] = []
    for number in range(count):
        for bottom in (0, 1):
            luma = 40 + 8 * number + 4 * bottom
            data = _field(number, bottom, luma)
            if not bottom:
                data = sequence + picture + data
            made.append((data, 2 * number + bottom, not bottom))
    return made


def _field(number: int, bottom: int, luma: int) -> bytes:
    """One field, of blocks of bare samples: the first is an IDR picture, the second follows it."""
    bits = _Bits().ue(0, 7, 0).u(0, 4).u(1, 1).u(bottom, 1)
    if not bottom:
        bits.ue(number % 2)  # of neighboring IDR pictures
        bits.u(0, 2)  # references are used in no special way
    else:
        bits.u(0, 1)
    bits.ue(0)  # the quantizer does not change
    for _ in range(_WIDTH * _HEIGHT // 2):
        bits.ue(25)
        bits.text += "0" * (-len(bits.text) % 8)
        for value, samples in ((luma, 256), (128, 128)):
            bits.text += format(value, "08b") * samples
    return bits.unit(0x65 if not bottom else 0x61)
