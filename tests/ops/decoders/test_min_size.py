"""`min_size`: JPEG at 1/2, 1/4 or 1/8 of its size, in every mode, by every decoder of images."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from PIL import Image

import gradiva
from gradiva import fn, pipeline_def, types
from gradiva.eager.support.errors import OperatorRuntimeError, OperatorValueError
from gradiva.ops.decoders.formats.probe import probe
from gradiva.ops.decoders.image_info import at_scale
from gradiva.ops.decoders.jpeg.gpu.plan import plan
from gradiva.ops.decoders.jpeg.gpu.route import Options
from tests.oracle import flavors
from tests.tiers import few

cv2: Any = pytest.importorskip("cv2")

JPEGS = {name: make() for name, make in flavors.jpegs().items()}
HEIGHT, WIDTH = flavors.ASTRONAUT.shape[:2]


def as_array(data: bytes) -> Any:
    return np.frombuffer(data, np.uint8)


def decode(data: bytes, **options: Any) -> Any:
    (found,) = gradiva.decoders.image(gradiva.batch([as_array(data)]), **options)
    return np.asarray(found)


def scale_of(height: int, width: int, least: tuple[int, int]) -> int:
    """Written anew: the largest of 8, 4, 2, 1 that leaves enough."""
    if min(height, width) < 8:
        return 1
    fitting = [s for s in (8, 4, 2) if -(-height // s) >= least[0] and -(-width // s) >= least[1]]
    return fitting[0] if fitting else 1


@pytest.mark.parametrize("name", few(JPEGS, every=5))
def test_every_kind_of_jpeg(name: str) -> None:
    """The shape is as promised, and the picture is that of the whole image, made smaller."""
    whole = decode(JPEGS[name])
    height, width = whole.shape[:2]
    for least in (1, 20, (-(-height // 2), 5), (3, -(-width // 4))):
        rows, columns = (least, least) if isinstance(least, int) else least
        found = decode(JPEGS[name], min_size=least if isinstance(least, int) else [*least])
        scale = scale_of(height, width, (rows, columns))
        assert found.shape == (-(-height // scale), -(-width // scale), 3)
        if scale == 1:
            np.testing.assert_array_equal(found, whole)
        elif "progressive" not in name:
            small = cv2.resize(whole, found.shape[1::-1], interpolation=cv2.INTER_AREA)
            assert np.abs(small.astype(int) - found).mean() < 12


@pytest.mark.parametrize("name", ["jpeg_420", "jpeg_444", "jpeg_422", "jpeg_progressive"])
@pytest.mark.parametrize("scale", [2, 4, 8])
def test_pixels_are_those_of_the_library(name: str, scale: int) -> None:
    """Pillow scales by the same functions of libjpeg-turbo."""
    image = Image.open(io.BytesIO(JPEGS[name]))
    image.draft("RGB", (WIDTH // scale, HEIGHT // scale))
    wanted = np.asarray(image)
    assert wanted.shape == (-(-HEIGHT // scale), -(-WIDTH // scale), 3)
    found = decode(JPEGS[name], min_size=wanted.shape[:2])
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("dtype", few([types.UINT8, types.FLOAT, types.UINT16], types.FLOAT))
@pytest.mark.parametrize(
    "output_type", [types.RGB, types.BGR, types.GRAY, types.YCbCr, types.ANY_DATA]
)
@pytest.mark.parametrize("name", ["jpeg_420", "jpeg_gray", "jpeg_cmyk", "jpeg_exif6"])
def test_with_other_arguments(name: str, output_type: Any, dtype: Any) -> None:
    options = {"output_type": output_type, "dtype": dtype}
    whole, found = decode(JPEGS[name], **options), decode(JPEGS[name], min_size=40, **options)
    scale = scale_of(whole.shape[0], whole.shape[1], (40, 40))
    assert scale > 1
    assert found.shape == (-(-whole.shape[0] // scale), -(-whole.shape[1] // scale), whole.shape[2])
    assert found.dtype == whole.dtype


def test_the_size_is_that_of_the_upright_image() -> None:
    turned = JPEGS["jpeg_exif6"]
    upright = decode(turned)
    assert upright.shape[:2] == (WIDTH, HEIGHT)
    half = (-(-WIDTH // 2), -(-HEIGHT // 2))
    assert decode(turned, min_size=half).shape[:2] == half
    assert decode(turned, min_size=(half[0], half[1] + 1)).shape[:2] == (WIDTH, HEIGHT)
    lying = decode(turned, min_size=half[::-1], adjust_orientation=False)
    assert lying.shape[:2] == half[::-1]


@pytest.mark.parametrize("name", ["jpeg_420", "jpeg_exif7", "jpeg_cmyk", "jpeg_progressive"])
def test_windows_are_those_of_the_smaller_image(name: str) -> None:
    data = gradiva.batch([as_array(JPEGS[name])])
    whole = gradiva.decoders.image(data, min_size=50)
    window: Any = {"crop": (21, 17), "crop_pos_x": 0.3, "crop_pos_y": 0.1}
    cut = gradiva.decoders.image_crop(data, min_size=50, **window)
    np.testing.assert_array_equal(cut.at(0), gradiva.crop(whole, **window).at(0))
    part: Any = {"rel_start": (0.1, 0.2), "rel_shape": (0.5, 0.6), "axes": (0, 1)}
    cut = gradiva.decoders.image_slice(data, min_size=50, **part)
    np.testing.assert_array_equal(cut.at(0), gradiva.slice(whole, **part).at(0))
    drawn = gradiva.decoders.image_random_crop(data, min_size=50, seed=4)
    assert drawn.at(0).shape[0] <= whole.at(0).shape[0]


@pytest.mark.full
def test_other_formats_are_not_scaled() -> None:
    for name, make in flavors.others().items():
        if name.split("_")[0] in ("png", "bmp", "webp", "tiff"):
            data = make()
            np.testing.assert_array_equal(decode(data, min_size=2), decode(data))


@pytest.mark.parametrize("threads", [1, 3])
def test_all_modes_agree(threads: int) -> None:
    names = ["jpeg_420", "jpeg_gray", "jpeg_exif5", "jpeg_cmyk", "jpeg_17x31_2", "jpeg_1x13_0"]
    files = [as_array(JPEGS[name]) for name in names]

    def body(encoded: Any) -> Any:
        images = gradiva.decoders.image(encoded, min_size=(30, 40))
        images = gradiva.resize(images, resize_shorter=24)
        windows = gradiva.decoders.image_crop(encoded, min_size=9, crop=(1, 1))
        return gradiva.crop_mirror_normalize(images, crop=(20, 20), fill_values=3), windows

    @pipeline_def(batch_size=len(files), num_threads=threads)
    def program() -> Any:
        return body(fn.external_source([files], batch=True))

    eager = body(gradiva.batch(files))
    compiled = gradiva.capture.compile(body)(gradiva.batch(files))
    for outputs in (compiled, program().run()):
        for one, other in zip(eager, outputs, strict=True):
            for a, b in zip(one, other, strict=True):
                np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


@pytest.mark.parametrize("least", [0, -3, (4, 0), (1, 2, 3), ()])
def test_bad_sizes(least: Any) -> None:
    with pytest.raises(OperatorValueError, match="min_size"):
        decode(JPEGS["jpeg_420"], min_size=least)


def test_a_cut_file_is_refused_all_the_same() -> None:
    data = JPEGS["jpeg_420"]
    with pytest.raises(OperatorRuntimeError, match="cut"):
        decode(data[: len(data) // 2], min_size=32)


def test_a_gpu_leaves_scaled_images_to_the_host() -> None:
    data = [as_array(JPEGS["jpeg_420"]), as_array(JPEGS["jpeg_17x31_2"])]
    infos = [probe(one) for one in data]
    options = Options(output_type="RGB")
    assert not plan(data, infos, options).host
    scaled = [at_scale(info, (32, 32)) for info in infos]
    assert [info.scale for info in scaled] == [scale_of(HEIGHT, WIDTH, (32, 32)), 1]
    assert [index for index, _ in plan(data, scaled, options).host] == [0]


def test_it_has_no_place_in_a_file() -> None:
    @pipeline_def(batch_size=1, num_threads=1)
    def program() -> Any:
        return fn.decoders.image(fn.external_source(name="x"), min_size=32)

    with pytest.raises(OperatorValueError, match="min_size"):
        program().serialize()
