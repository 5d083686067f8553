"""What is read of the packets of videos, without a decoder."""

from __future__ import annotations

from gradiva.ops.video.key_frames import begins_anew, breaks_off, has_fields, may_show_nothing
from tests.ops.video.bitstreams import field_pictures, placeholder

__all__ = ["seeds", "units"]


def units(data: bytes) -> None:
    """A packet, and the head of its file, which is as long as the first byte says."""
    if len(data) < 2:
        return
    extradata, packet = data[1 : 1 + data[0]], data[1 + data[0] :]
    for head in (None, extradata):
        assert has_fields(packet, head) in (True, False)
        for codec in ("h264", "hevc", "mpeg4", "vp8", "vp9"):
            assert begins_anew(codec, packet, head) in (True, False)
            assert breaks_off(codec, packet, head) in (True, False)
            if packet:
                assert may_show_nothing(codec, memoryview(packet), head, 99) in (True, False, None)


def seeds() -> list[bytes]:
    first, second = (data[:60] for data, _, _ in field_pictures(1))
    parameters = first[4 : first.index(b"\0\0\0\1", 4)]
    stored = b"\1" + parameters[1:4] + b"\xff\xe1" + len(parameters).to_bytes(2, "big") + parameters
    made = [b"\0" + first, b"\0" + second, b"\0" + placeholder(3)]
    return [*made, bytes([len(stored)]) + stored + len(second).to_bytes(4, "big") + second]
