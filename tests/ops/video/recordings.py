"""Videos as they are found: of many codecs and containers, cut, joined, damaged, in fields, with
edit lists and covers. Each is a name and its bytes; `RECORDINGS` makes them on demand."""

from __future__ import annotations

import functools
import io
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final, NamedTuple

import numpy as np
import pytest

from .bars import OPTIONS, av, has_encoder, ordinary_priority, picture
from .bitstreams import avi, field_pictures, placeholder

__all__ = ["RECORDINGS", "Recording", "dropped", "fields", "lost", "whole"]

FRAMES: Final = 24
_FORMATS: Final = {"mjpeg": "yuvj420p", "gif": "rgb8", "huffyuv": "yuv422p", "png": "rgb24"}

ENCODERS: Final[dict[str, tuple[str, dict[str, str]]]] = {
    "h264": ("libx264", {}),
    "h264 without B": ("libx264", {"x264-params": "bframes=0:scenecut=0:repeat-headers=1"}),
    "h264 pyramid": ("libx264", {"x264-params": "bframes=4:b-pyramid=2:b-adapt=0:ref=4"}),
    "h264 open": (
        "libx264",
        {"x264-params": "open-gop=1:bframes=3:b-adapt=0:scenecut=0:min-keyint=8:repeat-headers=1"},
    ),
    "h264 refresh": (
        "libx264",
        {"x264-params": "intra-refresh=1:bframes=0:scenecut=0:repeat-headers=1"},
    ),
    "h264 interlaced": ("libx264", {"x264-params": "interlaced=1:bframes=2", "flags": "+ildct"}),
    "hevc": ("libx265", {}),
    "hevc open": (
        "libx265",
        {
            "x265-params": "log-level=none:open-gop=1:bframes=3:b-adapt=0:scenecut=0:min-keyint=8:"
            "repeat-headers=1"
        },
    ),
    "mpeg1": ("mpeg1video", {"bf": "2"}),
    "mpeg2": ("mpeg2video", {"bf": "2"}),
    "mpeg2 interlaced": ("mpeg2video", {"bf": "2", "flags": "+ildct+ilme"}),
    "mpeg4": ("mpeg4", {"bf": "2"}),
    "mpeg4 without B": ("mpeg4", {"bf": "0"}),
    "vp8": ("libvpx", {}),
    "vp8 hidden": ("libvpx", {"auto-alt-ref": "1", "lag-in-frames": "6", "deadline": "good"}),
    "vp9": ("libvpx-vp9", {}),
    "vp9 hidden": ("libvpx-vp9", {"auto-alt-ref": "1", "lag-in-frames": "6", "deadline": "good"}),
    "av1": ("libsvtav1", {}),
    "mjpeg": ("mjpeg", {}),
    "ffv1": ("ffv1", {}),
    "raw": ("rawvideo", {}),
    "wmv2": ("wmv2", {}),
    "msmpeg4": ("msmpeg4", {}),
    "flv1": ("flv", {}),
    "h263": ("h263", {}),
    "huffyuv": ("huffyuv", {}),
    "png": ("png", {}),
    "gif": ("gif", {}),
}
CONTAINERS: Final = {
    "h264": "mp4 mov matroska mpegts mpeg avi flv asf nut h264",
    "h264 without B": "mp4 matroska mpegts avi flv h264",
    "h264 pyramid": "mp4 matroska mpegts",
    "h264 open": "mp4 matroska mpegts mpeg",
    "h264 refresh": "mp4 mpegts",
    "h264 interlaced": "mp4 matroska mpegts",
    "hevc": "mp4 mov matroska mpegts mpeg hevc",
    "hevc open": "mp4 matroska mpegts",
    "mpeg1": "mpeg mpegts matroska avi mp4",
    "mpeg2": "mpeg vob mpegts matroska mp4 mxf avi asf",
    "mpeg2 interlaced": "mpeg mpegts",
    "mpeg4": "mp4 mov matroska mpegts mpeg avi asf 3gp nut m4v",
    "mpeg4 without B": "mp4 avi matroska asf",
    "vp8": "webm matroska avi ogg ivf",
    "vp8 hidden": "webm",
    "vp9": "webm matroska mp4 ivf",
    "vp9 hidden": "webm mp4",
    "av1": "mp4 matroska obu",
    "mjpeg": "mov avi matroska mp4 mjpeg",
    "ffv1": "matroska avi mp4",
    "raw": "matroska avi nut",
    "wmv2": "asf avi",
    "msmpeg4": "asf avi matroska",
    "flv1": "flv avi",
    "h263": "3gp avi",
    "huffyuv": "avi",
    "png": "mov avi",
    "gif": "gif",
}


class Recording(NamedTuple):
    """make: its bytes. damaged: frames may be missing, which are errors then."""

    make: Callable[[], bytes]
    damaged: bool = False


Part = Callable[[list[Any]], list[Any]]


def whole(
    kind: str,
    form: str,
    first: int = 0,
    *,
    start: Fraction | int | None = None,
    times: Callable[[int], int] | None = None,
    options: dict[str, str] | None = None,
    part: Part | None = None,
    noise: int = 0,
) -> bytes:
    """A video. first: the number that its first frame shows; start: when that is shown, in seconds;
    by default decoding begins at 0; times: of frames, in milliseconds, by their places; part: which
    packets are kept; noise: added to the pixels, up to this."""
    codec, own = ENCODERS[kind]
    if not has_encoder(codec):
        pytest.skip(f"this PyAV has no {codec}")
    stream = io.BytesIO()
    given = {"avoid_negative_ts": "disabled"} if options is None else options
    with ordinary_priority(), av.open(stream, "w", form, options=given) as target:
        added = target.add_stream(codec, rate=25, options=OPTIONS.get(codec, {}) | own)
        added.width, added.height = (176, 144) if kind == "h263" else (64, 32)
        added.pix_fmt = _FORMATS.get(codec, "yuv420p")
        if codec != "libsvtav1":
            added.codec_context.gop_size, added.bit_rate = 8, 400_000
        packets = []
        for number in range(FRAMES):
            shown = picture(first + number, (added.height, added.width))
            if noise:
                drawn = np.random.default_rng(number).integers(-noise, noise + 1, shown.shape)
                shown = np.clip(shown + drawn, 0, 255).astype(np.uint8)
            frame = av.VideoFrame.from_ndarray(shown, "rgb24").reformat(format=added.pix_fmt)
            frame.pts, frame.time_base = number, Fraction(1, 25)
            packets += added.encode(frame)
        packets += added.encode()
        packets = packets if part is None else part(packets)
        places = [
            (round(one.pts * one.time_base * 25), round(one.dts * one.time_base * 25))
            for one in packets
        ]
        begin = min(place for _, place in places)
        start = Fraction(-begin, 25) if start is None else start
        for packet, (shown, decoded) in zip(packets, places, strict=True):
            packet.time_base, packet.duration = Fraction(1, 90000), 3600
            of = (lambda place: 40 * place) if times is None else times
            packet.pts = round((start + Fraction(of(shown), 1000)) * 90000)
            packet.dts = round((start + Fraction(of(decoded), 1000)) * 90000)
            target.mux(packet)
    return stream.getvalue()


def from_second_key(packets: list[Any]) -> list[Any]:
    """What a copy keeps that begins at a key frame."""
    return packets[[place for place, one in enumerate(packets) if one.is_keyframe][1] :]


def _without_a_group(packets: list[Any]) -> list[Any]:
    """What is between the second and the third key frame is gone, as advertisements are."""
    second, third = [place for place, one in enumerate(packets) if one.is_keyframe][1:3]
    return packets[:second] + packets[third:]


def cut(kind: str, form: str, part: Part) -> bytes:
    """Some packets only, copied as they are."""
    return whole(kind, form, start=Fraction(1, 5), part=part)


def _from_packet(packets: list[Any]) -> list[Any]:
    return packets[5:]


def _to_packet(packets: list[Any]) -> list[Any]:
    return packets[:14]


def joined(kind: str, form: str, second: Fraction, go_on: bool = True) -> bytes:
    """Two videos, the second from another time on. go_on: counters of packets do."""
    one = whole(kind, form, start=Fraction(10))
    made = one + whole(kind, form, FRAMES, start=second)
    return _counted(made) if form == "mpegts" and go_on else made


def _counted(data: bytes) -> bytes:
    """A transport stream with counters that go on."""
    made, last = bytearray(data), dict[int, int]()
    for at in range(0, len(made), 188):
        number = (made[at + 1] & 31) << 8 | made[at + 2]
        if made[at + 3] & 16:
            last[number] = last.get(number, made[at + 3] - 1 & 15) + 1 & 15
            made[at + 3] = made[at + 3] & 0xF0 | last[number]
    return bytes(made)


def lost(kind: str, part: float, noise: int = 0) -> bytes:
    """A transport stream without one packet of the video, at this part of the file."""
    data = whole(kind, "mpegts", start=Fraction(2), noise=noise)
    packets = [data[at : at + 188] for at in range(0, len(data), 188)]
    places = [k for k, one in enumerate(packets) if (one[1] & 31) << 8 | one[2] == 256]
    del packets[places[int(part * len(places))]]
    return b"".join(packets)


def trimmed(kind: str, frame: int, last: int, empty: bool, form: str = "mp4") -> bytes:
    """With an edit list from one frame to before another one; empty: a pause comes first."""
    return edited(kind, [(frame, last)], empty, form)


def edited(
    kind: str, ranges: list[tuple[int, int]], empty: bool = False, form: str = "mp4"
) -> bytes:
    """With an edit list of these ranges of frames; empty: a pause comes first."""
    data = whole(kind, form, start=0, options={})
    if b"elst" not in data:
        pytest.skip("there is no edit list")
    at = data.index(b"elst") - 4
    old = int.from_bytes(data[at : at + 4], "big")
    media = int.from_bytes(data[at + 20 : at + 24], "big") % (1 << 31)
    places = (data.index(name) + 16 for name in (b"mdhd", b"mvhd"))
    scale, movie = (int.from_bytes(data[place : place + 4], "big") for place in places)
    rows = [(500, 0xFFFFFFFF)] if empty else []
    rows += [((last - frame) * movie // 25, media + frame * scale // 25) for frame, last in ranges]
    content = bytes(4) + len(rows).to_bytes(4, "big")
    for length, place in rows:
        content += b"".join(one.to_bytes(4, "big") for one in (length, place, 1 << 16))
    made = (8 + len(content)).to_bytes(4, "big") + b"elst" + content
    changed = bytearray(data[:at] + made + data[at + old :])
    for name in (b"moov", b"trak", b"edts"):
        place = bytes(changed).index(name) - 4
        size = int.from_bytes(changed[place : place + 4], "big") + len(made) - old
        changed[place : place + 4] = size.to_bytes(4, "big")
    return bytes(changed)


def dropped(what: bytes | None) -> bytes:
    """MPEG-4 in AVI, with placeholders of frames that were dropped."""
    chunks = list[tuple[bytes, bool]]()
    for number, (data, _, key) in enumerate(_mpeg4(0)):
        chunks.append((data, key))
        if number % 7 == 3:
            chunks.append((placeholder(number) if what is None else what, False))
    return avi(chunks)


def packed() -> bytes:
    """MPEG-4 in AVI, a frame and the one before it in one chunk, then a placeholder."""
    parts = _mpeg4(1)
    chunks, k = list[tuple[bytes, bool]](), 0
    mark = b"\0\0\1\xb2DivX503b1393p"
    while k < len(parts):
        data, shown, key = parts[k]
        data = data if chunks else mark + data
        behind = parts[k + 1] if k + 1 < len(parts) else None
        if behind is not None and behind[1] < shown:
            chunks += [(data + behind[0], key), (placeholder(shown), False)]
            k += 2
        else:
            chunks.append((data, key))
            k += 1
    return avi(chunks)


def _mpeg4(between: int) -> list[tuple[bytes, int, bool]]:
    """Packets of MPEG-4 with headers in the first one: data, times, key frames."""
    if not has_encoder("mpeg4"):
        pytest.skip("this PyAV has no mpeg4")
    with av.open(io.BytesIO(), "w", format="avi") as container:
        added = container.add_stream("mpeg4", rate=25, options={"bf": str(between), "g": "12"})
        added.width, added.height, added.pix_fmt = 64, 32, "yuv420p"
        added.bit_rate = 2_000_000
        made = []
        for number in range(FRAMES):
            made += added.encode(av.VideoFrame.from_ndarray(picture(number), "rgb24"))
        made += added.encode()
        return [(bytes(one), one.pts, one.is_keyframe) for one in made]


def fields(form: str) -> bytes:
    """H.264 in fields, one in each packet."""
    packets = field_pictures(12)
    raw, stream = b"".join(data for data, _, _ in packets), io.BytesIO()
    with av.open(io.BytesIO(raw), format="h264") as source, av.open(stream, "w", form) as target:
        added = target.add_stream_from_template(source.streams.video[0])
        for data, place, key in packets:
            packet = av.Packet(data)
            packet.pts = packet.dts = 90000 + 1800 * place
            packet.time_base, packet.duration = Fraction(1, 90000), 1800
            packet.is_keyframe, packet.stream = key, added
            target.mux(packet)
    return stream.getvalue()


def two_streams(form: str, kinds: tuple[str, str]) -> bytes:
    """Two videos side by side, of which FFmpeg takes the second."""
    stream = io.BytesIO()
    with ordinary_priority(), av.open(stream, "w", form) as target:
        added = []
        for number, kind in enumerate(kinds):
            codec, options = ENCODERS[kind]
            if not has_encoder(codec):
                pytest.skip(f"this PyAV has no {codec}")
            one = target.add_stream(codec, rate=25, options=OPTIONS.get(codec, {}) | options)
            one.width, one.height, one.pix_fmt = 64 + 64 * number, 32 + 32 * number, "yuv420p"
            added.append(one)
        for k in range(12):
            for one in added:
                shown = picture(k, (one.height, one.width))
                target.mux(one.encode(av.VideoFrame.from_ndarray(shown, "rgb24")))
        for one in added:
            target.mux(one.encode())
    return stream.getvalue()


def _late(number: int) -> int:
    return 400 + 40 * number


def _uneven(number: int) -> int:
    return 40 * number + 7 * (number % 3) + 500 * (number > 11)


def _recordings() -> dict[str, Recording]:
    made: dict[str, Recording] = {}

    def add(name: str, make: Callable[..., bytes], *given: Any, **options: Any) -> None:
        damaged = options.pop("damaged", False)
        made[name] = Recording(functools.partial(make, *given, **options), damaged)

    for kind, forms in CONTAINERS.items():
        for form in forms.split():
            add(f"{kind} in {form}", whole, kind, form)
    cutting = ("h264", "h264 open", "h264 refresh", "hevc open", "mpeg2", "mpeg4", "vp9", "mpeg1")
    for kind in cutting:
        for form in CONTAINERS[kind].split()[:4]:
            name = f"{kind} in {form}"
            add(f"{name} from the second key frame", cut, kind, form, from_second_key)
            add(f"{name} from packet 5", cut, kind, form, _from_packet, damaged=True)
            add(f"{name} to packet 14", cut, kind, form, _to_packet)
    for kind in ("h264", "h264 open", "h264 pyramid", "vp9", "mpeg4"):
        add(f"{kind} without a group", whole, kind, "matroska", part=_without_a_group)
    for kind in ("h264 without B", "h264", "hevc", "mpeg2", "mpeg4"):
        for name, second in (("the same", 10), ("later", 12), ("between", Fraction(51, 5))):
            for form in ("mpegts", "mpeg"):
                if form in CONTAINERS[kind].split():
                    add(f"{kind} joined in {form}, times {name}", joined, kind, form, second)
        again = Fraction(10) + Fraction(FRAMES, 25)
        add(f"{kind} joined segments", joined, kind, "mpegts", again, False)
        for part in (0.3, 0.55, 0.8):
            add(f"{kind} in mpegts, lost at {part}", lost, kind, part, damaged=True)
        for form in ("mpegts", "mpeg"):
            wrap = Fraction((1 << 33) - 40000, 90000)
            if form in CONTAINERS[kind].split():
                add(f"{kind} in {form} across the wrap", whole, kind, form, start=wrap)
    for kind in ("h264", "vp9", "mpeg4", "hevc", "av1", "vp8"):
        early = {"start": Fraction(-2, 5)}
        add(f"{kind} in matroska before 0", whole, kind, "matroska", **early)
        if kind != "vp8":
            add(f"{kind} in mp4 before 0", whole, kind, "mp4", **early)
            fragments = {"movflags": "frag_keyframe+empty_moov+default_base_moof"}
            add(f"{kind} in fragments", whole, kind, "mp4", options=fragments)
            add(f"{kind} in fragments before 0", whole, kind, "mp4", options=fragments, **early)
        add(f"{kind} from 0.4 s", whole, kind, "matroska", start=0, times=_late)
        add(f"{kind} uneven", whole, kind, "matroska", start=1, times=_uneven)
    for kind in ("h264", "hevc", "mpeg4", "h264 pyramid"):
        for frame, last, empty in ((0, 24, True), (3, 24, False), (9, 20, False), (8, 17, True)):
            name = f"{kind} trimmed to {frame} to {last}{', later' if empty else ''}"
            add(name, trimmed, kind, frame, last, empty)
    for part in (0.4, 0.7, 0.95):
        for kind, form in (("h264", "mpegts"), ("mpeg2", "mpeg"), ("vp9", "webm"), ("flv1", "flv")):
            add(f"{kind} in {form} cut at {part}", _cut_at, kind, form, part, damaged=True)
    for form in ("mpegts", "matroska", "mp4"):
        add(f"fields in {form}", fields, form)
    add("placeholders", dropped, None)
    add("chunks without data", dropped, b"")
    add("packed", packed)
    add("two streams in mp4", two_streams, "mp4", ("h264", "h264"))
    add("two streams in matroska", two_streams, "matroska", ("vp8", "vp9"))
    return made


def _cut_at(kind: str, form: str, part: float) -> bytes:
    data = whole(kind, form)
    return data[: int(part * len(data))]


RECORDINGS: Final = _recordings()
