"""A window of a JPEG by libjpeg-turbo's own functions: the bits of simplejpeg's whole image, or
another way; whatever the file."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gradiva.ops.decoders.formats.probe import probe
from gradiva.ops.decoders.image_info import ImageInfo, at_scale
from gradiva.ops.decoders.jpeg import library as jpeg_library
from gradiva.ops.decoders.jpeg import rows as jpeg_rows
from gradiva.ops.decoders.jpeg import window as jpeg_window
from gradiva.ops.decoders.jpeg.cpu import decode_jpeg
from tests.tiers import examples

from .test_decode_region import assert_crop, encoded, jpeg, judged, picture, region, whole

simplejpeg: Any = pytest.importorskip("simplejpeg")

Array = np.ndarray[Any, Any]
SUBSAMPLINGS = ("444", "422", "420", "440", "411", "gray")
pytestmark = pytest.mark.skipif(
    not jpeg_window.window_decoder_works(), reason="Pillow has no libjpeg-turbo that can be called"
)


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jpeg_window._background, "is_worth_compiling", lambda *_: True)


def by_simplejpeg(pixels: Array, quality: int, subsampling: str) -> Array:
    if subsampling == "gray":
        gray = np.ascontiguousarray(pixels[..., :1])
        made = simplejpeg.encode_jpeg(gray, quality, colorspace="GRAY", colorsubsampling="Gray")
    else:
        made = simplejpeg.encode_jpeg(pixels, quality, colorsubsampling=subsampling)
    return np.frombuffer(made, np.uint8)


def decoded(data: Array, info: ImageInfo, window: Any, color: str, fast: bool) -> Array | None:
    """By libjpeg-turbo alone, in both ways: where it comes to lie, and row by row."""
    channels = 1 if color == "GRAY" else 3
    memory = np.full(info.height * info.width * channels + 64, 77, np.uint8)
    found = jpeg_window._decode(data, info, color, window, fast, memory[:-64])
    assert (memory[-64:] == 77).all(), "it wrote behind its memory"
    row = np.empty(info.width * channels, np.uint8)
    out = np.full((window[2] + 1, window[3], channels), 77, np.uint8)
    filled = jpeg_window._decode(data, info, color, window, fast, row, out[:-1])
    assert (out[-1] == 77).all(), "it wrote behind its output"
    assert (filled is None) == (found is None)
    if found is None:
        return None
    part = jpeg_window.window_at(*found, (window[2], window[3], channels), memory)
    np.testing.assert_array_equal(out[:-1], part)
    return part


def draw_window(random: np.random.Generator, height: int, width: int) -> tuple[int, ...]:
    top, left = int(random.integers(height)), int(random.integers(width))
    rows, columns = random.integers(1, height - top + 1), random.integers(1, width - left + 1)
    return top, left, int(rows), int(columns)


@pytest.mark.parametrize("scale", [1, 2, 4, 8])
@pytest.mark.parametrize("subsampling", SUBSAMPLINGS)
def test_bits(subsampling: str, scale: int) -> None:
    """Of every subsampling and scale, none is refused, and the pixels are those of the whole."""
    random = np.random.default_rng(scale)
    for _ in range(examples(30)):
        height, width = (int(side) for side in random.integers(8, 150, 2))
        pixels = picture(height, width)
        data = by_simplejpeg(pixels, int(random.choice([30, 75, 95, 100])), subsampling)
        info = at_scale(probe(data), (-(-height // scale), -(-width // scale)))
        color = str(random.choice(["RGB", "BGR", "GRAY"]))
        fast = bool(random.integers(2))
        expected = decode_jpeg(data, info, color, None, fast)
        for _ in range(5):
            window = draw_window(random, info.height, info.width)
            top, left, rows, columns = window
            got = decoded(data, info, window, color, fast)
            assert got is not None
            np.testing.assert_array_equal(
                got, expected[top : top + rows, left : left + columns], f"{info} {window}"
            )


@pytest.mark.parametrize(
    "options",
    [
        {"restart_marker_rows": 1},
        {"restart_marker_blocks": 3},
        {"optimize": True},
        {"keep_rgb": True, "subsampling": 0},
    ],
)
def test_other_files_of_one_scan(options: dict[str, Any]) -> None:
    random = np.random.default_rng(1)
    data = encoded(picture(131, 197), **options)
    for _ in range(examples(40)):
        window = draw_window(random, 131, 197)
        assert decoded(data, probe(data), window, "RGB", False) is not None
        assert_crop(data, window)


def test_not_for_these() -> None:
    """Several scans, and subsamplings that simplejpeg has no name for, are decoded whole."""
    progressive = encoded(picture(99, 90), progressive=True)
    assert decoded(progressive, probe(progressive), (0, 0, 9, 9), "RGB", False) is None
    odd = jpeg((131, 197), "4:4:4").copy()
    frame = odd.tobytes().index(b"\xff\xc0")
    odd[frame + 11] = 0x12  # of the first component: 1 across, 2 down
    odd[frame + 14] = 0x12
    assert decoded(odd, probe(odd), (0, 0, 9, 9), "RGB", False) is None
    for data in (progressive, odd):
        assert_crop(data, (3, 5, 20, 20))


@pytest.mark.parametrize("on", [True, False])
def test_is_taken_where_it_works(on: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same bits without Pillow's library; with it, the other way is not gone."""
    monkeypatch.setattr(jpeg_window, "window_decoder_works", lambda: on)
    gone: list[int] = []
    real = jpeg_rows.decode_jpeg_rows

    def rows(*arguments: Any) -> Any:
        gone.append(1)
        return real(*arguments)

    monkeypatch.setattr(jpeg_window, "decode_jpeg_rows", rows)
    data = jpeg((131, 197), "4:2:0")
    for window in ((0, 0, 131, 30), (100, 100, 31, 97), (50, 60, 20, 20)):
        assert_crop(data, window)
    assert len(gone) == (0 if on else 3)


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """An older libjpeg-turbo, or none, and an extension without its functions, are left alone."""
    find = jpeg_library.jpeg_functions.__wrapped__
    for version in (None, "2.1.5"):
        with monkeypatch.context() as patch:
            features = SimpleNamespace(version=lambda name, version=version: version)
            patch.setattr(f"{jpeg_library.__name__}.features", features)
            assert find() is None
    with monkeypatch.context() as patch:
        patch.setattr(jpeg_library, "_pillow", lambda: None)
        with pytest.warns(UserWarning, match="decoded by simplejpeg"):
            assert find() is None
    assert find() is not None


def test_structures() -> None:
    """As they are in the library's header: it checks the first size itself, and nothing else."""
    assert ctypes.sizeof(jpeg_library.Decompress) == 632
    assert ctypes.sizeof(jpeg_library.ErrorManager) == 168
    assert ctypes.sizeof(jpeg_library.Component) == 96
    places = {
        "src": 40, "num_components": 56, "out_color_space": 64, "scale_num": 68, "dct_method": 96,
        "output_width": 136, "out_color_components": 144, "comp_info": 304,
        "max_h_samp_factor": 408, "min_DCT_scaled_size": 416, "unread_marker": 540,
    }  # fmt: skip
    for name, offset in places.items():
        assert getattr(jpeg_library.Decompress, name).offset == offset, name


def test_header_that_lies_to_the_caller() -> None:
    """Memory is for the image that the caller knows: another one in the file is not taken."""
    data = jpeg((131, 197), "4:2:0")
    for height, width in ((131, 196), (130, 197), (64, 64)):
        info = ImageInfo("jpeg", height, width, 3, color="ycbcr", coding="baseline")
        assert decoded(data, info, (0, 0, 9, 9), "RGB", False) is None
    gray = jpeg((131, 197), "gray")
    info = ImageInfo("jpeg", 131, 197, 3, color="ycbcr", coding="baseline")
    assert decoded(gray, info, (0, 0, 9, 9), "RGB", False) is None


@pytest.mark.parametrize("kept", [0.02, 0.3, 0.6, 0.9, 0.999])
def test_cut(kept: float) -> None:
    data = jpeg((131, 197), "4:2:0")
    data = data[: int(kept * data.size)]
    info = ImageInfo("jpeg", 131, 197, 3, color="ycbcr", coding="baseline")
    assert decoded(data, info, (0, 0, 20, 20), "RGB", False) is None
    if kept > 0.1:
        with pytest.raises(ValueError, match="ends early"):
            region(data, (0, 0, 20, 20))


@settings(max_examples=examples(150), deadline=None)
@given(st.integers(2, 20_000), st.binary(min_size=1, max_size=3), st.randoms())
def test_damaged(position: int, junk: bytes, random: Any) -> None:
    """Damage is judged as in the whole image: the same refusal, or the same pixels."""
    file = jpeg((131, 197), "4:2:0", quality=95, restart_marker_rows=random.choice((0, 2))).copy()
    position = min(position, file.size - len(junk))
    file[position : position + len(junk)] = np.frombuffer(junk, np.uint8)
    expected, refusal = judged(lambda: whole(file))
    assume(expected is None or expected.shape == (131, 197, 3))
    drawn = np.random.default_rng(random.getrandbits(32))
    top, left, rows, columns = window = draw_window(drawn, 131, 197)
    got, our_refusal = judged(lambda: region(file, window))
    assert our_refusal == refusal
    if expected is not None:
        np.testing.assert_array_equal(got, expected[top : top + rows, left : left + columns])


HOSTILE = """
import resource
import numpy as np
from tests.ops.decoders.test_jpeg_window import decode_hostile
decode_hostile(600, 0)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(decode_hostile({count}, 1), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def decode_hostile(count: int, seed: int) -> int:
    """Decode that many damaged files, and say how many were refused."""
    random = np.random.default_rng(seed)
    files = [jpeg((131, 197), kind) for kind in ("4:4:4", "4:2:2", "4:2:0", "gray")]
    files.append(encoded(picture(131, 197), restart_marker_rows=1))
    files.append(encoded(picture(131, 197), progressive=True))
    refused = 0
    for number in range(count):
        file = files[number % len(files)].copy()
        channels = 1 if number % len(files) == 3 else 3
        span = 700 if random.integers(2) else file.size  # headers are more fragile than data
        if random.integers(3):
            places = random.integers(2, span, random.integers(1, 8))
            file[places] = random.integers(0, 256, len(places))
        else:
            file = file[: random.integers(1, span)]
        info = ImageInfo("jpeg", 131, 197, channels, color="ycbcr", coding="baseline")
        window = draw_window(random, 131, 197)
        refused += decoded(file, info, window, "RGB", False) is None
    return refused


@pytest.mark.full
def test_hostile_files_end_no_process_and_leave_no_memory() -> None:
    """In a process of its own: an error of the library must neither end it nor leave memory."""
    count = examples(10_000)
    answer = subprocess.run(
        [sys.executable, "-c", HOSTILE.format(count=count)],
        check=True,
        capture_output=True,
        text=True,
        timeout=600,
    )
    refused, grown = map(int, answer.stdout.split())
    assert refused > count / 4
    assert grown < 8 << (20 if sys.platform == "darwin" else 10)  # bytes there, kilobytes here
    assert not answer.stderr


def test_threads() -> None:
    """Errors in some threads are theirs alone."""
    good, bad = jpeg((131, 197), "4:2:0"), jpeg((131, 197), "4:2:0")[:900]
    info, window = probe(good), (30, 40, 50, 60)
    expected = whole(good)[30:80, 40:100]

    def one(number: int) -> bool:
        got = decoded(bad if number % 3 == 0 else good, info, window, "RGB", False)
        if number % 3 == 0:
            return got is None
        return got is not None and np.array_equal(got, expected)

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(one, range(examples(3000))))
