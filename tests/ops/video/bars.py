"""Videos whose frames show their numbers, as bars: what a frame is, its pixels say."""

from __future__ import annotations

import functools
import io
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

av: Any = pytest.importorskip("av")

BITS = 8
OPTIONS = {
    "libvpx": {"deadline": "realtime", "cpu-used": "8"},
    "libvpx-vp9": {"deadline": "realtime", "cpu-used": "8"},
    "libx264": {"preset": "ultrafast", "x264-params": "bframes=2:scenecut=0"},
    "libx265": {"preset": "ultrafast", "x265-params": "log-level=none:bframes=2:scenecut=0"},
    "libsvtav1": {"preset": "12", "svtav1-params": "lp=1"},
    "mpeg4": {"bf": "2"},
}


def picture(number: int, size: tuple[int, int] = (32, 64)) -> Any:
    """A frame: bit k of its number is the k-th bar from the left."""
    made = np.zeros((*size, 3), np.uint8)
    width = size[1] // BITS
    for bit in range(BITS):
        if number >> bit & 1:
            made[:, bit * width : (bit + 1) * width] = 255
    return made


def number_of(frame: Any) -> int:
    """The number that a frame shows."""
    width = frame.shape[1] // BITS
    bars = frame[:, : BITS * width].reshape(frame.shape[0], BITS, width, 3).mean((0, 2, 3))
    return sum(1 << bit for bit in range(BITS) if bars[bit] > 128)


def numbers_of(frames: Any) -> list[int]:
    """The numbers that the frames of a clip show."""
    return [number_of(np.asarray(frame)) for frame in np.asarray(frames)]


def has_encoder(codec: str) -> bool:
    """Whether this PyAV writes a codec."""
    try:
        av.codec.Codec(codec, "w")
    except Exception:  # noqa: BLE001  its class differs between versions
        return False
    return True


@contextmanager
def ordinary_priority() -> Iterator[None]:
    """For the superuser, SVT-AV1 (4.1 in PyAV 18.1) gives the thread that opens it the highest
    real-time priority. All threads and processes that this one starts later would have it, too, and
    two that wait actively would stop all others on two cores."""
    if not hasattr(os, "sched_setscheduler"):
        yield
        return
    before = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        yield
    finally:
        os.sched_setscheduler(0, *before)


@functools.cache
def encoded(
    codec: str = "libvpx-vp9",
    form: str = "mp4",
    frames: int = 20,
    gop: int = 6,
    times: Sequence[int] | None = None,
    options: str = "",
    size: tuple[int, int] = (32, 64),
    first: int = 0,
) -> bytes:
    """A video. times: of each frame, in milliseconds; options: of the encoder, as "name=value";
    first: the number that the first frame shows."""
    if not has_encoder(codec):
        pytest.skip(f"this PyAV has no {codec}")
    stream = io.BytesIO()
    given = OPTIONS.get(codec, {}) | dict(one.split("=", 1) for one in options.split())
    with ordinary_priority(), av.open(stream, "w", format=form) as container:
        added = container.add_stream(codec, rate=25, options=given)
        added.height, added.width = size
        added.pix_fmt = "yuvj420p" if codec == "mjpeg" else "yuv420p"
        added.codec_context.gop_size = gop
        if times is not None:
            added.time_base = added.codec_context.time_base = Fraction(1, 1000)
        for number in range(frames):
            frame = av.VideoFrame.from_ndarray(picture(first + number, size), format="rgb24")
            frame.pts = number if times is None else times[number]
            frame.time_base = Fraction(1, 25) if times is None else Fraction(1, 1000)
            container.mux(added.encode(frame))
        container.mux(added.encode())
    return stream.getvalue()


def write(path: Path, *arguments: Any, **options: Any) -> str:
    """A video as a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(encoded(*arguments, **options))
    return str(path)


def as_array(data: bytes) -> Any:
    return np.frombuffer(data, np.uint8)
