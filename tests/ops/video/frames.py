"""Frames and files of videos for tests."""

from __future__ import annotations

import io
import re
import struct
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

av: Any = pytest.importorskip("av")

Array = np.ndarray[Any, Any]

EXACT = 2 | 0x2000 | 0x40000
"""Of FFmpeg's scaler: bilinear, full chroma, accurate rounding."""


def frame(name: str, height: int, width: int, seed: int = 0, range: int = 0) -> Any:
    """A frame of noise, also where it pads its rows; range: 0 untagged, 1 limited, 2 full."""
    found = re.search(r"p(?:0)?(\d+)[lb]e$", name)
    depth = int(found[1]) if found else 8
    generator = np.random.default_rng(seed)
    made = av.VideoFrame(width, height, name)
    for plane in made.planes:
        if depth == 8:
            values = generator.integers(0, 256, plane.buffer_size).astype(np.uint8)
        else:
            words = generator.integers(0, 1 << depth, plane.buffer_size // 2)
            upper = 16 - depth if name.startswith("p0") else 0
            kind = ">u2" if name.endswith("be") else "<u2"
            values = (words << upper).astype(kind).view(np.uint8)
        plane.update(values.tobytes())
    made.color_range = range
    return made


def in_fields(source: Any, first: str = "tff") -> Any:
    """The same frame, marked as interlaced."""
    graph = av.filter.Graph()
    facts = {"width": source.width, "height": source.height, "format": source.format.name}
    begin = graph.add_buffer(time_base=Fraction(1, 25), **facts)
    begin.link_to(marked := graph.add("setfield", first))
    marked.link_to(graph.add("buffersink"))
    graph.configure()
    source.pts, source.time_base = 0, Fraction(1, 25)
    graph.push(source)
    return graph.pull()


def by_scaler(frame: Any, colorspace: int) -> Array:
    """The frame as RGB, by FFmpeg's scaler, with a tag of H.273."""
    frame.colorspace = colorspace
    made = frame.reformat(format="rgb24", interpolation=EXACT)
    return np.asarray(made.to_ndarray())


def encoded(
    codec: str,
    height: int,
    width: int,
    count: int = 3,
    format: str = "yuv420p",
    colorspace: int | None = None,
    range: int | None = None,
) -> bytes:
    """A video of colorful slopes that move, in MP4."""
    stream_bytes = io.BytesIO()
    with av.open(stream_bytes, "w", format="mp4") as container:
        stream = container.add_stream(codec, rate=25)
        stream.width, stream.height, stream.pix_fmt = width, height, format
        if colorspace is not None:
            stream.codec_context.colorspace = colorspace
        if range is not None:
            stream.codec_context.color_range = range
        if codec == "libvpx-vp9":
            stream.options = {"cpu-used": "8", "deadline": "realtime", "crf": "10", "b": "0"}
        y, x = np.mgrid[0:height, 0:width]
        for k in np.arange(count):
            picture = np.stack([x * 3 + k * 9, y * 2 + k * 5, x + y + k * 20], 2) % 256
            made = av.VideoFrame.from_ndarray(picture.astype(np.uint8), "rgb24")
            container.mux(stream.encode(made))
        container.mux(stream.encode())
    return stream_bytes.getvalue()


def decoded(video: bytes) -> list[Any]:
    """The frames of a video."""
    with av.open(io.BytesIO(video)) as container:
        return list(container.decode(video=0))


def turned(video: bytes, a: int, b: int, c: int, d: int) -> bytes:
    """An MP4 file with another display matrix: x' = a x + c y, y' = b x + d y."""
    at = video.index(b"tkhd") + 4 + 4 + 20 + 16
    assert video[at : at + 4] == struct.pack(">i", 1 << 16)
    numbers = (a << 16, b << 16, 0, c << 16, d << 16, 0, 0, 0, 1 << 30)
    return video[:at] + struct.pack(">9i", *numbers) + video[at + 36 :]
