"""Pixels from planes: the bits of FFmpeg's scaler with its exact flags."""

from __future__ import annotations

import hashlib
import importlib
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradiva import OperatorValueError
from gradiva.eager.types.dtypes import ImageType
from gradiva.ops.video.color import frame_shape, planes_to_rgb, quarter_turns
from tests.tiers import few

from .frames import by_scaler, decoded, encoded, frame, in_fields, turned

FORMATS = (
    "yuv420p",
    "yuv422p",
    "yuv444p",
    "yuv440p",
    "yuv411p",
    "yuv410p",
    "yuvj420p",
    "yuva420p",
    "yuv420p10le",
    "yuv422p10le",
    "yuv444p12le",
    "yuv420p16le",
    "yuv420p10be",
    "nv12",
    "nv21",
    "nv16",
    "nv24",
    "p010le",
    "gray",
    "gbrp",
    "rgb24",
)
SIZES = ((48, 64), (33, 17), (47, 63), (1, 1), (2, 5), (3, 8), (6, 7), (9, 2), (8, 8), (14, 130))
ROOT = Path(__file__).parents[3]
TAGS = {1: "bt709", 5: "bt601", 7: "smpte240m", 9: "bt2020"}


def pixels(source: Any, *arguments: Any, **options: Any) -> Any:
    turns = options.get("turns", 0)
    out = np.full(frame_shape(source.height, source.width, turns), 77, np.uint8)
    planes_to_rgb(source, out, *arguments, **options)
    return out


@pytest.mark.full
@pytest.mark.parametrize("name", few(FORMATS, "yuv420p", "nv12"))
def test_bits_of_the_scaler(name: str) -> None:
    for seed, (height, width) in enumerate(SIZES):
        for tag, colorspace in TAGS.items():
            for range in (1, 2):
                source = frame(name, height, width, seed, range)
                expected = by_scaler(source, tag)
                np.testing.assert_array_equal(pixels(source), expected)
                source.colorspace = 2
                np.testing.assert_array_equal(pixels(source, colorspace), expected)


FIELDS = ("yuv420p", "yuv422p", "yuv440p", "yuvj420p", "yuv420p10le", "nv12", "p010le")


@pytest.mark.parametrize("codec", ["libx264", "mpeg2video", "libvpx-vp9"])
def test_chroma_lies_between_the_pixels(codec: str) -> None:
    """Whatever the decoder says of it, which PyAV tells nobody but the scaler."""
    for source in decoded(encoded(codec, 48, 64)):
        untold = frame("yuv420p", 48, 64)
        for plane, there in zip(untold.planes, source.planes, strict=True):
            room = np.zeros((plane.height, plane.line_size), np.uint8)
            rows = np.frombuffer(there, np.uint8).reshape(there.height, there.line_size)
            room[:, : plane.width] = rows[:, : plane.width]
            plane.update(room.tobytes())
        np.testing.assert_array_equal(pixels(source, "bt709"), by_scaler(untold, 1))


@pytest.mark.parametrize("name", few(FIELDS, "yuv420p"))
def test_fields_have_colors_of_their_own(name: str) -> None:
    """Of an interlaced frame, each field is a picture of half of the lines."""
    for seed, (height, width) in enumerate(((48, 64), (48, 130), (33, 65), (8, 8), (4, 66))):
        source = in_fields(frame(name, height, width, seed), ("tff", "bff")[seed % 2])
        assert source.interlaced_frame
        expected = by_scaler(source, 1)
        np.testing.assert_array_equal(pixels(source), expected)
        turned = np.full((width, height, 3), 7, np.uint8)
        planes_to_rgb(source, turned, turns=1)
        np.testing.assert_array_equal(turned, np.rot90(expected))


@pytest.mark.parametrize("height", [1, 2, 3, 5, 6, 34, 38])
def test_fields_of_heights_that_do_not_halve_twice(height: int) -> None:
    """The lower field has a line of chroma less than its lines would need: the last one stands in,
    where the scaler reads what lies behind the plane."""
    planes = np.zeros((height + 1, 64), np.uint8)
    planes[:height:2], planes[1:height:2] = 81, 41
    blue, red = np.zeros((2, (height + 1) // 2, 32), np.uint8)
    blue[::2], blue[1::2], red[::2], red[1::2] = 90, 240, 240, 110
    source = frame("yuv420p", height, 64)
    for plane, values in zip(source.planes, (planes[:height], blue, red), strict=True):
        room = np.full((plane.height, plane.line_size), 16, np.uint8)
        room[:, : plane.width] = values
        plane.update(room.tobytes())
    made = pixels(in_fields(source), "bt601")
    assert (made[::2] == (254, 0, 0)).all()
    if height > 2:
        assert (made[1::2] == (0, 0, 255)).all()


@pytest.mark.parametrize("name", ["yuv420p", "yuv422p"])
@pytest.mark.parametrize("width", [34, 64, 66, 126, 128, 130])
def test_blocks_of_pixels(name: str, width: int) -> None:
    """What is computed for many pixels at once, of values that leave the range of colors: sums of
    blue that wrap are black."""
    for seed, extreme in enumerate((False, True)):
        for tag, colorspace in TAGS.items():
            for range in (1, 2):
                source = frame(name, 14, width, seed, range)
                for plane in source.planes if extreme else ():
                    noise = np.frombuffer(plane, np.uint8)
                    plane.update(np.where(noise < 128, noise % 4, 255 - noise % 4).tobytes())
                expected = by_scaler(source, tag)
                np.testing.assert_array_equal(pixels(source, colorspace), expected)
                np.testing.assert_array_equal(pixels(source, colorspace, past=True), expected)


@pytest.mark.parametrize("place", [0, 32, 1])
@pytest.mark.parametrize("width", [64, 96, 128])
def test_past_the_caches(place: int, width: int) -> None:
    """Wherever the pixels begin, and whatever is around them stays."""
    source = frame("yuv420p", 14, width, 3)
    room = np.full(14 * width * 3 + 256, 7, np.uint8)
    begin = -room.ctypes.data % 64 + place
    inside = room[begin : begin + 14 * width * 3].reshape(14, width, 3)
    planes_to_rgb(source, inside, "bt709", past=True)
    np.testing.assert_array_equal(inside, by_scaler(source, 1))
    inside[...] = 7
    assert (room == 7).all()


DIGEST = """
import hashlib, numpy as np
from gradiva.ops.video.color import planes_to_rgb
from tests.ops.video.frames import frame
digest = hashlib.sha256()
for seed in range(4):
    source, out = frame("yuv420p", 30, 98, seed), np.zeros((30, 98, 3), np.uint8)
    planes_to_rgb(source, out, "bt709")
    digest.update(out.tobytes())
from numba.core.registry import cpu_target
features = cpu_target.target_context.codegen().magic_tuple()[2].split(",")
print([name for name in ("+avx2", "+avx512vbmi") if name in features], digest.hexdigest())
"""


def _usual_features() -> dict[str, str]:
    """Those of this CPU without what `byte_pixels` needs for wide vectors."""
    llvm = importlib.import_module("llvmlite.binding")
    features = llvm.get_host_cpu_features()
    named = {name: has and not name.startswith("avx512") for name, has in features.items()}
    text = ",".join(f"{'+' if has else '-'}{name}" for name, has in named.items())
    return {"NUMBA_CPU_NAME": llvm.get_host_cpu_name(), "NUMBA_CPU_FEATURES": text}


@pytest.mark.full
@pytest.mark.parametrize("least", [True, False])
def test_any_processor(least: bool) -> None:
    """The bits are the same without wide vectors, and without the instruction that sums two
    products."""
    chosen = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""} if least else _usual_features()
    run = subprocess.run(
        [sys.executable, "-c", DIGEST],
        env={**os.environ, **chosen},
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    digest = hashlib.sha256()
    for seed in range(4):
        digest.update(by_scaler(frame("yuv420p", 30, 98, seed), 1).tobytes())
    text = chosen["NUMBA_CPU_FEATURES"].split(",")
    assert run.stdout == f"{[name for name in ['+avx2'] if name in text]} {digest.hexdigest()}\n"


def test_untagged_is_bt601_of_limited_range() -> None:
    source = frame("yuv420p", 20, 30)
    assert source.colorspace == 2
    made = pixels(source)
    source.color_range = 1
    np.testing.assert_array_equal(made, by_scaler(source, 6))


def test_colors() -> None:
    """Black, white and red of each set of equations are what they are called."""
    for colorspace, red in (("bt601", (81, 90, 240)), ("bt709", (63, 102, 240))):
        source = frame("yuv420p", 16, 16)
        for values, expected in (
            ((16, 128, 128), (0, 0, 0)),
            ((235, 128, 128), (255, 255, 255)),
            (red, (255, 0, 0)),
        ):
            for plane, value in zip(source.planes, values, strict=True):
                plane.update(bytes([value]) * plane.buffer_size)
            assert np.abs(pixels(source, colorspace).astype(int) - expected).max() <= 1


@pytest.mark.full
def test_luma_and_chroma() -> None:
    source = frame("yuv444p", 21, 33)
    planes = [
        np.frombuffer(plane, np.uint8).reshape(plane.height, plane.line_size)[:, : plane.width]
        for plane in source.planes
    ]
    made = pixels(source, image_type=ImageType.YCbCr)
    np.testing.assert_array_equal(made, np.stack(planes, 2))
    deep = pixels(frame("yuv444p10le", 21, 33, 5), image_type=ImageType.YCbCr)
    words = np.frombuffer(frame("yuv444p10le", 21, 33, 5).planes[0], "<u2").reshape(21, -1)[:, :33]
    np.testing.assert_array_equal(deep[..., 0], np.minimum((words + 2) // 4, 255))
    halved = pixels(frame("nv12", 12, 20), image_type=ImageType.YCbCr).astype(float)
    pairs = np.frombuffer(frame("nv12", 12, 20).planes[1], np.uint8).reshape(6, -1)[:, :20]
    blue, red = pairs[:, ::2].astype(float), pairs[:, 1::2]
    expected = (blue[0, 4] * 9 + blue[0, 5] * 3 + blue[1, 4] * 3 + blue[1, 5]) / 16
    assert abs(halved[1, 9, 1] - expected) <= 1
    assert halved[0, 0, 2] == red[0, 0]
    gray = pixels(frame("gray", 5, 6), image_type=ImageType.YCbCr)
    assert (gray[..., 1:] == 128).all()


@pytest.mark.parametrize(
    ("matrix", "turns"), [((0, 1, -1, 0), 3), ((0, -1, 1, 0), 1), ((-1, 0, 0, -1), 2)]
)
def test_upright(matrix: tuple[int, int, int, int], turns: int) -> None:
    video = encoded("libx264", 32, 48, 1)
    plain, other = decoded(video)[0], decoded(turned(video, *matrix))[0]
    assert quarter_turns(plain) == 0
    assert quarter_turns(other) == turns
    upright = pixels(other, turns=turns)
    np.testing.assert_array_equal(upright, np.rot90(pixels(plain), turns))


def test_out_that_is_no_block() -> None:
    source = frame("yuv420p", 12, 18)
    room = np.zeros((12, 18, 6), np.uint8)
    planes_to_rgb(source, room[..., ::2])
    np.testing.assert_array_equal(room[..., ::2], pixels(source))
    assert not room[..., 1::2].any()


def test_threads() -> None:
    sources = [frame("yuv420p", 64, 80, seed) for seed in range(8)]
    made: list[Any] = [None] * 8

    def convert(k: int) -> None:
        made[k] = pixels(sources[k], "bt709")

    threads = [threading.Thread(target=convert, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for source, result in zip(sources, made, strict=True):
        np.testing.assert_array_equal(result, by_scaler(source, 1))


def test_refusals() -> None:
    source = frame("yuv420p", 8, 10)
    with pytest.raises(OperatorValueError, match=r"`colorspace`.*bt709"):
        pixels(source, "rec709")
    with pytest.raises(OperatorValueError, match=r"`image_type`.*RGB or YCbCr"):
        pixels(source, image_type=ImageType.BGR)
    with pytest.raises(ValueError, match=r"does not fit.*\(10, 8, 3\)"):
        planes_to_rgb(source, np.empty((10, 8, 3), np.uint8))
    source.colorspace = 8
    with pytest.raises(ValueError, match="tagged 8"):
        pixels(source)
    assert pixels(source, "bt601").shape == (8, 10, 3)
    with pytest.raises(ValueError, match="YCbCr cannot be made of frames of rgb24"):
        pixels(frame("rgb24", 8, 10), image_type=ImageType.YCbCr)
