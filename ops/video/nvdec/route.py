"""Which videos NVDEC decodes: those of which it makes the very samples that FFmpeg makes."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from gradiva.ops.video.colorspaces import colorspace_of
from gradiva.ops.video.frame_index import VideoIndex
from gradiva.ops.video.pixel_formats import pixel_format
from gradiva.ops.video.video_file import VideoSource, av

_CODECS: Final = {"h264": "H264", "hevc": "HEVC", "vp8": "VP8", "vp9": "VP9", "av1": "AV1"}
"""Codecs whose standards leave no sample open, and their names in `cudaVideoCodec`."""
_DEPTHS: Final = {
    "h264": (8,),
    "hevc": (8, 10, 12),
    "vp8": (8,),
    "vp9": (8, 10, 12),
    "av1": (8, 10),
}
_FULL_RANGE: Final = 2


class Stored(NamedTuple):
    """How the frames of a video are stored. codec: its name in `cudaVideoCodec`; depth: bits of a
    sample; full: whether luma goes from 0 to the top; colorspace: by its tag, as `COLORSPACES` has
    it."""

    codec: str
    depth: int
    full: bool
    colorspace: str


def stored_for_nvdec(
    source: VideoSource, index: VideoIndex, colorspace: str | None
) -> Stored | None:
    """How the frames of a video are stored, where NVDEC may decode them, as its first frame says;
    None for the others. Raises OSError."""
    # Without times there would be nothing to tell frames by; and FFmpeg alone knows what it shows.
    if index.counted or index.tolerant:
        return None
    try:
        opened = source.open()
    except ValueError:
        return None
    try:
        codec = opened.codec
        if codec not in _CODECS:
            return None
        frame = next(opened.container.decode(opened.stream), None)
        opened.check_read()
        return None if frame is None else _stored(codec, frame, colorspace)
    except (av.FFmpegError, EOFError, ValueError):
        opened.check_read()
        return None
    finally:
        opened.close()


def _stored(codec: str, frame: Any, colorspace: str | None) -> Stored | None:
    """Raises ValueError for colors without equations."""
    found = pixel_format(frame.format.name)
    # Of interlaced frames NVDEC makes others.
    if found is None or found.gray or frame.interlaced_frame:
        return None
    if (found.across, found.down, found.drop) != (1, 1, 0) or found.depth not in _DEPTHS[codec]:
        return None
    full = found.full or int(frame.color_range) == _FULL_RANGE
    return Stored(_CODECS[codec], found.depth, full, colorspace_of(frame, colorspace))
