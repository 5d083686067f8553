"""decoders.image against DALI, flavor by flavor: exact, dtype and shape included."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from PIL import Image

import gradiva
from gradiva import Batch, batch, types

from . import flavors
from .pictures import FOLDER, Array
from .reference import DTYPES, REFUSALS, assert_close, check, reference

FILES = {**flavors.jpegs(), **flavors.others()}
KINDS = ("RGB", "BGR", "GRAY", "YCbCr", "ANY_DATA")
OUTPUTS = ("int8", "uint16", "int16", "uint32", "int32", "float32")

REFUSED_BY_BOTH = ("tif_u32", "tif_i16")
REFUSED_THERE = ("gif", "avif")
# Asked for these, DALI corrupts its own heap and takes the process with it.
REFERENCE_DIES = {("jpeg_gray", "ANY_DATA"), ("jpeg_gray_progressive", "ANY_DATA")}
REFERENCE_REFUSES = {
    *((f"jpeg_{name}", "ANY_DATA") for name in ("cmyk", "ycck", "cmyk_plain")),
    ("png_la", "ANY_DATA"),
    ("bmp_rgba", "ANY_DATA"),
    *(("j2k_gray", kind) for kind in ("RGB", "BGR", "YCbCr")),
    *(("tif_bilevel", kind) for kind in KINDS),
    *(("webp_exif6_odd", kind) for kind in KINDS),  # it overlooks the padding of a chunk
}
REFERENCE_WRONG = {
    *(("pgm_max1000", kind) for kind in KINDS),  # nearly black: it drops the low byte
    *(("pgm_max100", kind) for kind in KINDS),  # dark: bytes are taken as they are
    *(("tif_planar16", kind) for kind in KINDS),  # garbage: planes and bytes mixed up
    *(("tif_la", kind) for kind in ("RGB", "BGR", "YCbCr")),  # alpha shown as green
}
NAMES = [name for name in FILES if name not in (*REFUSED_BY_BOTH, *REFUSED_THERE)]
TURNED = [name for name in NAMES if "exif" in name or "orient" in name]
TURNED.remove("webp_exif6_odd")


@cache
def encoded(name: str) -> Batch:
    return batch([np.frombuffer(FILES[name](), np.uint8)])


def ours(name: str, kind: str = "RGB", **arguments: Any) -> Array:
    decoded = gradiva.decoders.image(encoded(name), output_type=types.ImageType[kind], **arguments)
    assert decoded.layout == "HWC"
    pixels: Array = decoded.at(0)
    return pixels


def compare(files: Batch, kind: str = "RGB", **arguments: Any) -> None:
    check("decoders.image", files, output_type=types.ImageType[kind], **arguments)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", NAMES)
def test_pixels(name: str, kind: str) -> None:
    if (name, kind) in REFERENCE_WRONG | REFERENCE_DIES:
        ours(name, kind)
    elif (name, kind) in REFERENCE_REFUSES:
        ours(name, kind)
        with pytest.raises(REFUSALS):
            reference("decoders.image", [encoded(name)], output_type=types.ImageType[kind])
    else:
        compare(encoded(name), kind)


@pytest.mark.parametrize("name", REFUSED_THERE)
def test_refused_there(name: str) -> None:
    with pytest.raises(REFUSALS):
        reference("decoders.image", [encoded(name)])


@pytest.mark.parametrize("name", REFUSED_BY_BOTH)
def test_refused_by_both(name: str) -> None:
    with pytest.raises(REFUSALS):
        reference("decoders.image", [encoded(name)])
    with pytest.raises(gradiva.OperatorRuntimeError, match="sample 0"):
        gradiva.decoders.image(encoded(name))


@pytest.mark.parametrize("dtype", OUTPUTS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "name", ["jpeg_420", "jpeg_cmyk", "png_rgb", "png_rgba16", "tif_rgb16", "tif_float", "pgm16"]
)
def test_dtypes(name: str, kind: str, dtype: str) -> None:
    if (name, kind) in REFERENCE_REFUSES:
        ours(name, kind, dtype=dtype)
    else:
        compare(encoded(name), kind, dtype=DTYPES[dtype])


@pytest.mark.parametrize("dtype", ["uint8", *OUTPUTS])
@pytest.mark.parametrize("bits", [8, 16])
def test_every_value_of_a_range(bits: int, dtype: str) -> None:
    side = 1 << bits // 2
    ramp = np.arange(side * side, dtype=f"uint{bits}").reshape(side, side)
    data = np.frombuffer(flavors.cv(ramp, ".png"), np.uint8)
    compare(batch([data]), "GRAY", dtype=DTYPES[dtype])


@pytest.mark.parametrize("adjust", [True, False])
@pytest.mark.parametrize("name", TURNED)
def test_orientation(name: str, adjust: bool) -> None:
    compare(encoded(name), adjust_orientation=adjust)
    compare(encoded(name), "YCbCr", adjust_orientation=adjust, dtype=gradiva.float32)


@pytest.mark.parametrize("name", ["jpeg_444", "jpeg_420", "jpeg_progressive", "jpeg_gray"])
def test_fast_idct(name: str) -> None:
    compare(encoded(name), use_fast_idct=True)


@pytest.mark.parametrize(
    "arguments",
    [
        {"jpeg_fancy_upsampling": True},
        {"affine": False, "hw_decoder_load": 0.1, "hybrid_huffman_threshold": 5},
        {"device_memory_padding": 0, "host_memory_padding": 0, "preallocate_width_hint": 9},
    ],
)
def test_arguments_that_change_nothing(arguments: dict[str, Any]) -> None:
    compare(encoded("jpeg_420"), **arguments)
    np.testing.assert_array_equal(ours("jpeg_420", **arguments), ours("jpeg_420"))


def test_cmyk_noise() -> None:
    """Every combination of ink and black, where rounding shows."""
    noise = np.random.default_rng(0).integers(0, 256, (200, 200, 4), np.uint8)
    picture = Image.fromarray(noise, "CMYK")
    data = np.frombuffer(flavors.pil(picture, "JPEG", quality=95), np.uint8)
    for kind in KINDS[:-1]:
        compare(batch([data]), kind)


@pytest.mark.parametrize("fmt", ["PNG", "BMP", "PPM", "TIFF", "JPEG2000"])
def test_color_noise(fmt: str) -> None:
    noise = np.random.default_rng(1).integers(0, 256, (256, 256, 3), np.uint8)
    data = np.frombuffer(flavors.pil(noise, fmt), np.uint8)
    for kind in KINDS:
        compare(batch([data]), kind)


@pytest.mark.parametrize("kind", KINDS[:-1])
def test_photographs_in_one_batch(kind: str) -> None:
    files = [np.fromfile(path, np.uint8) for path in sorted(FOLDER.glob("*/*.jpg"))]
    compare(batch(files), kind)
    mixed = [files[0], encoded("png_rgba16").at(0), encoded("jpeg_gray").at(0)]
    compare(batch([*mixed, encoded("tif_lzw").at(0), encoded("webp_lossy").at(0)]), kind)


def test_bytes_of_dynamic_mode() -> None:
    """One file as bytes or as an array is one image: a Tensor."""
    data = FILES["jpeg_420"]()
    one = gradiva.decoders.image(data)
    assert isinstance(one, gradiva.Tensor)
    expected = reference("decoders.image", [encoded("jpeg_420")])
    np.testing.assert_array_equal(np.asarray(one), expected[0])
    assert_close(gradiva.decoders.image(batch([data])), expected)


@pytest.mark.parametrize("part", [0.0, 0.02, 0.5, 0.9])
@pytest.mark.parametrize(
    "name",
    ["jpeg_420", "jpeg_gray", "png_rgb", "ppm", "webp_lossy", "jp2_rgb", "tif_lzw", "bmp_rgb"],
)
def test_cut_files_are_refused_by_both(name: str, part: float) -> None:
    whole = encoded(name).at(0)
    cut = batch([whole[: max(1, int(len(whole) * part))]])
    with pytest.raises(REFUSALS):
        reference("decoders.image", [cut])
    with pytest.raises(gradiva.OperatorRuntimeError):
        gradiva.decoders.image(cut)


def test_damage_in_the_scan_is_forgiven_by_both() -> None:
    """Stray bytes among the pixels of a JPEG, and rubbish behind its end."""
    whole = FILES["jpeg_420"]()
    middle = len(whole) // 2
    for data in (whole[:middle] + b"\xff\x01\x02" + whole[middle:], whole + b"rubbish"):
        compare(batch([np.frombuffer(data, np.uint8)]))


def test_our_own_rules() -> None:
    """Where DALI fails, what we promise instead."""
    same = np.testing.assert_array_equal
    same(ours("jpeg_gray", "ANY_DATA"), ours("jpeg_gray", "GRAY"))
    assert ours("jpeg_cmyk", "ANY_DATA").shape[2] == 4
    colored, pair = flavors.alpha(flavors.COFFEE), ours("png_la", "ANY_DATA")
    same(pair[..., 1], colored[..., 3])
    same(ours("tif_la", "ANY_DATA"), pair)
    same(ours("bmp_rgba", "ANY_DATA"), colored)
    same(ours("tif_la", "RGB"), np.repeat(pair[..., :1], 3, axis=2))
    same(ours("j2k_gray", "RGB"), np.repeat(ours("j2k_gray", "GRAY"), 3, axis=2))
    height, width, _ = ours("webp_exif6_odd", adjust_orientation=False).shape
    assert ours("webp_exif6_odd").shape == (width, height, 3)
    same(ours("webp_exif6_odd"), np.rot90(flavors.COFFEE[:height], -1))
    same(ours("tif_bilevel", "GRAY"), ours("tif_bilevel_g4", "GRAY"))
    same(ours("tif_planar16", "RGB", dtype="uint16"), flavors.wide(flavors.COFFEE))
    stored = flavors.CAMERA.astype(int) * 1000 // 255
    expected = np.floor(stored * 0.255 + 0.5).astype(np.uint8)
    same(ours("pgm_max1000", "GRAY")[..., 0], expected)
