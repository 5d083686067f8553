"""TIFF: every layout gives the samples that were written, and damage is an error."""

from __future__ import annotations

import io
import itertools
import struct
import zlib
from typing import Any

import numpy as np
import pytest
from PIL import Image, features

import gradiva
from gradiva import types
from gradiva.eager.support.errors import SampleDataError
from tests.needs import needs_opencv
from tests.tiers import few

from .tiff_files import CODECS, Array, packed, tiff

pytestmark = pytest.mark.core

RANDOM = np.random.default_rng(5)
LAYOUTS: list[dict[str, Any]] = [
    {},
    {"rows": 4},
    {"tile": (16, 16)},
    {"planes": True, "rows": 3},
    {"planes": True, "tile": (16, 32)},
    {"order": ">", "rows": 5},
    {"order": ">", "big": True, "tile": (32, 16)},
]


def pixels(*shape: int, bits: int = 8) -> Array:
    kind = np.uint8 if bits <= 8 else np.uint16
    return RANDOM.integers(0, 1 << bits, shape).astype(kind)


def decoded(data: bytes, kind: str = "ANY_DATA", dtype: Any = np.uint8) -> Array:
    array = np.frombuffer(data, np.uint8)
    image = gradiva.decoders.image(array, output_type=types.ImageType[kind], dtype=dtype)
    found = np.asarray(image)
    channels = types.ImageType[kind]
    shape = np.asarray(gradiva.peek_image_shape(array, image_type=channels))
    assert shape.tolist() == list(found.shape)
    return found


def scaled(samples: Array, bits: int, top: int) -> Array:
    return np.floor(samples.astype(np.float64) * top / ((1 << bits) - 1) + 0.5)


@pytest.mark.parametrize("compression", sorted(CODECS))
@pytest.mark.parametrize("samples", few([1, 3, 4, 5, 2, 9], 1, 3, 5))
@pytest.mark.parametrize("bits", [8, 16])
def test_samples_of_all_layouts(bits: int, samples: int, compression: int) -> None:
    image = pixels(21, 19, samples, bits=bits)
    for layout in LAYOUTS:
        for predictor in (1, 2) if compression in (5, 8) else (1,):
            data = tiff(image, 1, compression=compression, predictor=predictor, **layout)
            found = decoded(data, dtype=np.uint16 if bits == 16 else np.uint8)
            np.testing.assert_array_equal(found, image, err_msg=f"{layout} {predictor}")


@pytest.mark.parametrize("samples", [3, 4, 5])
def test_gray_of_several_samples_is_color(samples: int) -> None:
    """As DALI has it: of samples marked as gray the first three are the colors."""
    image = pixels(9, 8, samples)
    for photometric in (1, 2):
        data = tiff(image, photometric)
        np.testing.assert_array_equal(decoded(data, "RGB"), image[..., :3])
        np.testing.assert_array_equal(decoded(data, "BGR"), image[..., 2::-1])
        np.testing.assert_array_equal(decoded(data), image)
        gray = image[..., :3].astype(np.float64) @ [0.299, 0.587, 0.114]
        assert np.abs(decoded(data, "GRAY")[..., 0] - gray).max() <= 0.51
    np.testing.assert_array_equal(decoded(tiff(image, 0)), 255 - image)


@pytest.mark.parametrize("compression", [1, 5, 8])
@pytest.mark.parametrize("bits", few(list(range(1, 17)), 1, 4, 12, 16))
def test_depths_and_polarities(bits: int, compression: int) -> None:
    top, dtype = (255, np.uint8) if bits <= 8 else (65535, np.uint16)
    for samples, photometric in itertools.product((1, 3), (0, 1)):
        image = pixels(12, 13, samples, bits=bits)
        image.flat[0], image.flat[1] = 0, (1 << bits) - 1
        upright = (1 << bits) - 1 - image if photometric == 0 else image
        for layout in LAYOUTS[:4]:
            data = tiff(image, photometric, bits=bits, compression=compression, **layout)
            found = decoded(data, dtype=dtype)
            assert np.abs(found - scaled(upright, bits, top)).max() <= (top > 255)
            assert (found == top).any()
            floats = decoded(data, dtype=np.float32)
            np.testing.assert_allclose(floats, upright / ((1 << bits) - 1), atol=1e-6)


@pytest.mark.parametrize("bits", [1, 2, 4, 8, 16])
def test_palettes(bits: int) -> None:
    indices = pixels(11, 14, bits=bits)
    colors = RANDOM.integers(0, 65536, (3, 1 << bits))
    tags = {320: (3, colors.ravel().tolist())}
    for layout in (*LAYOUTS[:3], *LAYOUTS[5:]) if bits < 16 else LAYOUTS[:1]:
        for compression in CODECS:
            data = tiff(indices, 3, bits=bits, tags=tags, compression=compression, **layout)
            np.testing.assert_array_equal(decoded(data, "RGB", np.uint16), colors.T[indices])
    if bits >= 8:  # with alpha, which is no channel
        both = np.stack([indices, pixels(11, 14, bits=bits)], -1)
        data = tiff(both, 3, bits=bits, tags={**tags, 338: (3, [2])})
        np.testing.assert_array_equal(decoded(data, dtype=np.uint16), colors.T[indices])


@pytest.mark.full
@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_floats(kind: Any) -> None:
    for samples in (1, 3):
        image = RANDOM.random((17, 18, samples)).astype(kind)
        for layout, compression in itertools.product(LAYOUTS, (1, 5, 8)):
            for predictor in (1,) if compression == 1 else (1, 2, 3):
                data = tiff(image, 1, compression=compression, predictor=predictor, **layout)
                found = decoded(data, dtype=np.float32)
                np.testing.assert_array_equal(found, image.astype(np.float32))


def test_ink() -> None:
    """CMYK of both depths is turned into colors; a fifth sample is alpha."""
    for bits, dtype in ((8, np.uint8), (16, np.uint16)):
        top = (1 << bits) - 1
        image = pixels(7, 9, 5, bits=bits)
        light = top - image.astype(np.int64)
        rgb = light[..., :3] * light[..., 3:4] // top
        for samples, alpha in ((4, np.full((7, 9), top)), (5, image[..., 4])):
            for layout in (LAYOUTS[0], LAYOUTS[3]):
                data = tiff(np.ascontiguousarray(image[..., :samples]), 5, **layout)
                found = decoded(data, dtype=dtype)
                np.testing.assert_array_equal(found, np.dstack([rgb, alpha]))
                np.testing.assert_array_equal(decoded(data, "RGB", dtype), rgb)


def test_ink_of_floats() -> None:
    """Each color is what its ink and black leave of it."""
    image = RANDOM.random((5, 8, 4)).astype(np.float32)
    light = 1 - image
    expected = light[..., :3] * light[..., 3:]
    found = decoded(tiff(image, 5), "RGB", np.float32)
    np.testing.assert_array_equal(found, expected)
    whole = decoded(tiff(image, 5), dtype=np.float32)
    np.testing.assert_array_equal(whole, np.dstack([expected, np.ones((5, 8), np.float32)]))
    gray = decoded(tiff(image, 5), "GRAY", np.float32)[..., 0]
    weights = np.array([0.299, 0.587, 0.114], np.float32)
    np.testing.assert_allclose(gray, np.asarray(expected @ weights), rtol=1e-5)


@pytest.mark.parametrize("compression", ["zstd", "lzma"])
def test_newer_compressions(compression: str) -> None:
    """By Pillow's libtiff, where it has them."""
    image = pixels(33, 35, 3)
    out = io.BytesIO()
    try:
        Image.fromarray(image).save(out, "TIFF", compression=compression)
    except (KeyError, OSError, RuntimeError):
        pytest.skip(f"Pillow {features.version('pil')} does not write {compression}")
    np.testing.assert_array_equal(decoded(out.getvalue()), image)


@pytest.mark.parametrize("compression", ["group3", "group4", "tiff_ccitt"])
def test_fax(compression: str) -> None:
    ones = pixels(40, 61, bits=1) > 0
    out = io.BytesIO()
    Image.fromarray(ones).save(out, "TIFF", compression=compression)
    np.testing.assert_array_equal(decoded(out.getvalue())[..., 0], ones * np.uint8(255))


def test_fax_of_more_than_one_bit() -> None:
    """There is none."""
    stream = io.BytesIO()
    Image.new("1", (16, 8)).save(stream, "TIFF", compression="group4")
    opened: Any = Image.open(stream)
    tags = opened.tag_v2
    data = stream.getvalue()[tags[273][0] : tags[273][0] + tags[279][0]]
    image = pixels(8, 16)
    assert decoded(tiff(image & 1, 1, bits=1, compression=4, data=[data])).shape == (8, 16, 1)
    for bits in (2, 8, 16):
        with pytest.raises(SampleDataError, match=f"fax compression with samples of {bits} bits"):
            decoded(tiff(image.astype(np.uint16), 1, bits=bits, compression=4, data=[data]))


def test_reversed_bits() -> None:
    image = pixels(6, 7, 3)
    for compression in (1, 8):
        stream = CODECS[compression](image.tobytes())
        data = bytes(int(f"{byte:08b}"[::-1], 2) for byte in stream)
        file = tiff(image, 2, compression=compression, data=[data], tags={266: (3, [2])})
        np.testing.assert_array_equal(decoded(file), image)


@needs_opencv
@pytest.mark.parametrize("photometric", [6, 8])
def test_rare_color_spaces(photometric: int) -> None:
    """YCbCr and CIELab: compressed and in tiles as uncompressed."""
    image = pixels(16, 32, 3)
    tags = {530: (3, [1, 1])}
    plain = decoded(tiff(image, photometric, tags=tags))
    assert plain.shape == image.shape
    for compression, layout in itertools.product((5, 8), (LAYOUTS[1], LAYOUTS[2], LAYOUTS[6])):
        data = tiff(image, photometric, tags=tags, compression=compression, **layout)
        np.testing.assert_array_equal(decoded(data), plain)
    # 2 x 2 luminances and their two chrominances lie side by side.
    blocks = pixels(8, 16, 6)
    blocks[..., :4] = 77
    blocks[..., 4:] = 128
    for compression in (1, 5):
        data = tiff(image, 6, compression=compression, data=[CODECS[compression](blocks.tobytes())])
        np.testing.assert_array_equal(decoded(data), np.full_like(image, 77))


@needs_opencv
@pytest.mark.parametrize("compression", [1, 5])
@pytest.mark.parametrize("block", [(1, 1), (2, 1), (2, 2), (4, 1), (4, 2), (4, 4)])
def test_strips_that_end_within_a_block(block: tuple[int, int], compression: int) -> None:
    """Each strip of subsampled YCbCr begins with whole blocks, also behind one that ends within
    some; and rows end within blocks."""
    (across, down), width = block, 9
    luminance = np.tile(np.arange(20, 200, 10, dtype=np.uint8)[:, None], (1, 16))
    for height, rows in itertools.product((5, 8, 9), (1, 2, 3, 5)):
        strips = []
        for top in range(0, height, rows):
            blocks = [
                luminance[y : y + down, x : x + across].tobytes() + b"\x80\x80"
                for y in range(top, min(top + rows, height), down)
                for x in range(0, width, across)
            ]
            strips.append(CODECS[compression](b"".join(blocks)))
        given: dict[str, Any] = {"rows": rows, "data": strips, "compression": compression}
        image = np.zeros((height, width, 3), np.uint8)
        found = decoded(tiff(image, 6, tags={530: (3, [across, down])}, **given))
        expected = np.repeat(luminance[:height, :width, None], 3, 2)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("mode", ["L", "RGB", "CMYK"])
def test_jpeg_strips(mode: str) -> None:
    y, x = np.mgrid[0:80, 0:71]
    colors = Image.fromarray(np.stack([3 * x, 2 * y, x + y], -1).astype(np.uint8)).convert(mode)
    out = io.BytesIO()
    colors.save(out, "TIFF", compression="jpeg", quality=97)
    found = decoded(out.getvalue(), "RGB").astype(int)
    assert np.abs(found - np.asarray(colors.convert("RGB"))).mean() < 3
    cut = out.getvalue().replace(b"\xff\xd9", b"\0\0")
    with pytest.raises(gradiva.GradivaError, match="in JPEG is cut"):
        decoded(cut)


@pytest.mark.parametrize("compression", [5, 8, 32773])
@pytest.mark.parametrize("bits", [8, 16])
def test_damage_is_an_error(bits: int, compression: int, capfd: pytest.CaptureFixture[str]) -> None:
    """Not black pixels, which OpenCV gives without a word; and nothing is printed."""
    image = pixels(30, 31, 3, bits=bits)
    stream = CODECS[compression](packed(image, bits, "<").tobytes())
    half = len(stream) // 2
    wrong = {"short": stream[:half], "empty": b"", "zeros": stream[:20] + bytes(10)}
    if compression == 8:
        wrong |= {"other bytes": bytes(len(stream)), "checksum": stream[:-1] + b"x"}
    for name, data in wrong.items():
        with pytest.raises(SampleDataError, match="damaged"):
            decoded(tiff(image, 2, compression=compression, data=[data])), name
    assert capfd.readouterr() == ("", "")


def test_what_is_not_there_is_named() -> None:
    image = pixels(8, 8, 3)
    for compression, name in ((34712, "JPEG 2000"), (50002, "JPEG XL"), (777, "unknown")):
        with pytest.raises(SampleDataError, match=f"{name}.*{compression}"):
            decoded(tiff(image, 2, compression=compression, data=[b"\0" * 99]))
    with pytest.raises(SampleDataError, match="strips or tiles where 4 are needed"):
        decoded(tiff(image, 2, rows=2, data=[image.tobytes()]))
    with pytest.raises(SampleDataError, match="predictor 3"):
        decoded(tiff(image, 2, compression=8, data=[zlib.compress(b"")], tags={317: (3, [3])}))
    with pytest.raises(SampleDataError, match="different sizes"):
        decoded(tiff(image, 2, tags={258: (3, [5, 6, 5])}))


def test_values_that_a_tag_cannot_have() -> None:
    """Each is an error of the sample, and not one of Python, nor pixels of another place."""
    image, few_values = pixels(6, 8, 3), pixels(6, 8, bits=2)
    colored: dict[str, Any] = {"data": [bytes(6 * 8 * 2)], "big": True}
    wrong = {
        "a fraction": tiff(image, 6, tags={530: (5, [2, 2])}, **colored),
        "a large number": tiff(image, 6, tags={531: (16, [1 << 20])}, **colored),
        "a color": tiff(few_values, 3, bits=2, tags={320: (4, [1 << 16] * 12)}),
        "a color below 0": tiff(few_values, 3, bits=2, tags={320: (8, [-1] * 12)}),
        "tables": tiff(image, 2, compression=7, data=[b"\xff\xd9"], tags={347: (5, [1, 1])}),
        "a place": negative(tiff(image, 2), 273),
        "a size": negative(tiff(image, 2), 279),
    }
    for name, data in wrong.items():
        with pytest.raises(SampleDataError, match=r"damaged|ends early|palette"):
            decoded(data), name


def negative(data: bytes, tag: int) -> bytes:
    """A file in which the value of this tag is below 0."""
    entry = data.index(struct.pack("<HHII", tag, 4, 1, *value_of(data, tag)))
    return data[:entry] + struct.pack("<HHIi", tag, 9, 1, -40) + data[entry + 12 :]


def value_of(data: bytes, tag: int) -> tuple[int]:
    at = data.index(struct.pack("<HHI", tag, 4, 1)) + 8
    return struct.unpack_from("<I", data, at)


@needs_opencv
@pytest.mark.parametrize("kind", [1, 3, 4, 16])
def test_subsampling_of_every_type(kind: int) -> None:
    data = [pixels(6 * 8 * 3 // 2).tobytes()]
    usual = decoded(tiff(pixels(6, 8, 3), 6, data=data, tags={530: (3, [2, 2])}))
    found = decoded(tiff(pixels(6, 8, 3), 6, data=data, tags={530: (kind, [2, 2])}, big=True))
    np.testing.assert_array_equal(found, usual)


def test_orientation_of_every_type() -> None:
    image = pixels(5, 8, 3)
    for order, kind, big in itertools.product("<>", (1, 3, 4), (False, True)):
        data = tiff(image, 2, order=order, big=big, tags={274: (kind, [6])})
        np.testing.assert_array_equal(decoded(data), np.rot90(image, -1))


def test_windows_and_replacement() -> None:
    """A window of every kind is that of the whole image."""
    colors = RANDOM.integers(0, 65536, (3, 16))
    files = [
        tiff(pixels(40, 50, bits=4), 3, bits=4, tags={320: (3, colors.ravel().tolist())}),
        tiff(pixels(40, 50, bits=12), 0, bits=12, tags={274: (3, [8])}),
        tiff(pixels(40, 50, 5), 1, compression=5, tile=(16, 16)),
        tiff(RANDOM.random((40, 50, 3)).astype(np.float32), 2, compression=8, predictor=3),
    ]
    batch = gradiva.batch([np.frombuffer(data, np.uint8) for data in files])
    for dtype in (np.uint8, np.float32):
        whole = gradiva.decoders.image(batch, dtype=dtype)
        part = gradiva.decoders.image_crop(batch, crop=(11, 13), dtype=dtype)
        for k in range(len(files)):
            image = np.asarray(whole.at(k))
            top, left = (image.shape[0] - 10) // 2, (image.shape[1] - 12) // 2
            expected = [
                image[y : y + 11, x : x + 13] for y in (top - 1, top) for x in (left - 1, left)
            ]
            assert any(np.array_equal(part.at(k), one) for one in expected)
