"""What the head of an H.264 file says of fields."""

from __future__ import annotations

import re

import pytest

from gradiva.ops.video.key_frames import has_fields


def number(value: int) -> str:
    """As the standard codes it (9.1)."""
    bits = f"{value + 1:b}"
    return "0" * (len(bits) - 1) + bits


def parameters(cycle: list[int], frames_only: bool) -> bytes:
    """A sequence parameter set whose pictures are counted in a cycle (7.3.2.1.1)."""
    order = number(0) + number(0) + number(1) + "0" + number(0) * 2 + number(len(cycle))
    rest = number(1) + "0" + number(9) + number(9) + str(int(frames_only))
    bits = order + "".join(map(number, cycle)) + rest + "1"
    bits += "0" * (-len(bits) % 8)
    content = int("1" + bits, 2).to_bytes(len(bits) // 8 + 1, "big")[1:]
    # Nothing in it looks like a start code (7.4.1).
    return b"\x67\x42\0\x1f" + re.sub(rb"\0\0(?=[\0-\3])", lambda _: b"\0\0\3", content)


@pytest.mark.parametrize("frames_only", [False, True])
@pytest.mark.parametrize("length", [0, 5, 255])
def test_parameters_of_every_length(length: int, frames_only: bool) -> None:
    """They have up to 255 numbers of up to 63 bits."""
    unit = parameters([2**31 + 0x5555_5555] * length, frames_only)
    head = b"\1abc\xff\xe1" + len(unit).to_bytes(2, "big") + unit
    assert has_fields(b"", head) != frames_only
    assert has_fields(b"\0\0\1" + unit, None) != frames_only


def test_parameters_that_are_longer_are_not_read() -> None:
    """A header of 65,535 bytes would take many seconds, and says nothing that a decoder takes."""
    unit = parameters([0] * 8 * 8000, True)
    head = b"\1abc\xff\xe1" + len(unit).to_bytes(2, "big") + unit
    assert has_fields(b"", head)
