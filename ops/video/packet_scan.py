"""All packets of a video, of which none is decoded, and whether they say which frames there are."""

from __future__ import annotations

from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from gradiva.eager import extension as op

from .key_frames import begins_anew, breaks_off, has_fields, may_show_nothing
from .video_file import Opened, av

Flags: TypeAlias = np.ndarray[Any, np.dtype[np.bool_]]
NO_TIME: Final = -(1 << 63)
_FARTHEST: Final = 1 << 60
"""Differences of times that are no farther from 0 are integers of 64 bits, too."""
_WITH_TIMES: Final = frozenset(
    ["mov", "mp4", "matroska", "webm", "mpegts", "mpeg", "flv", "nut", "mxf", "ogg", "ivf"]
)
"""Formats that say when each frame is shown, also where that is not the order of decoding. Others
say nothing of it, or only when it is decoded."""
_ONE_TO_ONE: Final = frozenset(
    (
        *("av1", "dnxhd", "dvvideo", "ffv1", "ffvhuff", "h264", "hevc", "huffyuv", "mjpeg"),
        *("mpeg1video", "mpeg2video", "mpeg4", "png", "prores", "rawvideo", "utvideo", "vp8"),
        *("vp9", "vvc"),
    )
)
"""Codecs of which one frame comes out of each packet, but for what is looked for here."""


class Packets(NamedTuple):
    """Packets in the order of the file. shown, decoded: when their frames are, NO_TIME where that
    is not known; keys: decoding can begin there; dropped: their frames are not shown; corrupt: the
    container has noticed that something is missing; problem: why there are no more, or "".

    doubt: why the packets do not say which frames are shown, so that they have to be decoded; ""
    where each one is a frame, and the order of their times is that of the frames. one_to_one: each
    one would be a frame, were nothing damaged; timeless: times are those of decoding.
    """

    shown: op.Int64Array
    decoded: op.Int64Array
    keys: Flags
    dropped: Flags
    corrupt: Flags
    problem: str
    doubt: str
    one_to_one: bool
    timeless: bool


def known_time(time: int | None) -> int:
    """The time of a packet or a frame; NO_TIME for none, and for one that no clock comes to."""
    return NO_TIME if time is None or abs(time) > _FARTHEST else time


def scan_packets(opened: Opened) -> Packets:
    """Read all packets of a video. Raises OSError."""
    context: Any = opened.stream.codec_context
    codec, extradata = opened.codec, context.extradata
    blocks = -(-context.width // 16) * -(-context.height // 16)
    looks = codec in ("h264", "hevc", "mpeg4", "vp8", "vp9")
    may_have_palettes, has_palettes = codec == "rawvideo" or codec not in _ONE_TO_ONE, False
    rows: list[tuple[int, int, bool, bool, bool]] = []
    problem = doubt = ""
    empty, one_to_one = False, codec in _ONE_TO_ONE and codec != "mpeg4"
    try:
        for packet in opened.packets():
            if not packet.size:
                empty = True
                continue
            if empty:
                doubt = doubt or "there is a packet without data"
            key = packet.is_keyframe
            if may_have_palettes:
                # It comes with the first packet, and where it changes, and not again behind a seek.
                has_palettes = has_palettes or packet.has_sidedata("palette")
                key = key and not (has_palettes and rows)
            if looks:
                kind = may_show_nothing(codec, memoryview(packet), extradata, blocks)
                if kind is None:
                    continue
                if kind:
                    doubt = doubt or "there is a packet that may be no frame"
            if key and codec in ("h264", "hevc", "mpeg4"):
                data = bytes(packet)
                key = begins_anew(codec, data, extradata)
                if rows and breaks_off(codec, data, extradata):
                    doubt = doubt or "there is a break"
                if not rows and codec == "h264" and has_fields(data, extradata):
                    doubt, one_to_one = "there may be fields", False
            times = known_time(packet.pts), known_time(packet.dts)
            rows.append((*times, key, packet.is_discard, packet.is_corrupt))
    except (av.FFmpegError, EOFError) as error:
        problem = f"the file is cut or damaged: {getattr(error, 'strerror', None) or error}"
    opened.check_read()
    shown, decoded = np.array([row[:2] for row in rows], np.int64).reshape(-1, 2).T
    keys, dropped, corrupt = np.array([row[2:] for row in rows], np.bool_).reshape(-1, 3).T
    found = Packets(shown, decoded, keys, dropped, corrupt, problem, doubt, one_to_one, False)
    if not rows:
        return found
    names = opened.container.format.name.split(",")
    # Without frames that are shown out of their order there is nothing to be said of it.
    reordered = context.has_b_frames or (np.diff(found.shown) <= 0).any()
    if reordered and _WITH_TIMES.isdisjoint(names):
        doubt = doubt or "the file does not say when frames are shown"
        return found._replace(doubt=doubt, timeless=True)
    return found._replace(doubt=doubt or _doubt(opened, codec, found))


def _doubt(opened: Opened, codec: str, packets: Packets) -> str:
    """What is to be seen when all packets are there."""
    shown, decoded = packets.shown, packets.decoded
    if codec not in _ONE_TO_ONE:
        return "a frame may be left out"
    if packets.corrupt.any():
        return "data are missing"
    if not packets.keys[0]:
        return "the first frame is no key frame"
    if (shown == NO_TIME).any():
        return "the file does not say when frames are shown"
    if len(np.unique(shown)) < len(shown):
        return "two frames have one time"
    known = decoded[decoded != NO_TIME]
    if (np.diff(known) <= 0).any():
        return "times go back"
    if shown.min() < shown[0]:
        return "frames are shown before the first key frame"
    places = np.empty(len(shown), np.int64)
    places[np.argsort(shown)] = np.arange(len(shown))
    delay = int((np.arange(len(shown)) - places).max())
    context: Any = opened.stream.codec_context
    if delay > getattr(context, "reorder_depth", delay):  # which PyAV tells from 18 on
        return "frames are further out of order than the file says"
    return ""
