"""The decoders that cut a window, and random_resized_crop, against DALI."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import Batch, batch, decoders

from .flavors import exif, pil
from .pictures import Array, part, photograph
from .reference import agree, assert_close, check, fn, reference

SIZES = ((131, 197), (121, 143), (64, 48), (90, 33))


def bytes_of(data: bytes) -> Array:
    return np.frombuffer(data, np.uint8)


@cache
def files(kind: str) -> Batch:
    """Four files: JPEG of four flavors, oriented JPEG, or PNG."""
    parts = [part("astronaut", 40, 150, *size) for size in SIZES]
    options: list[dict[str, Any]] = [{} for _ in parts]
    if kind == "jpeg":
        options = [{"subsampling": s} for s in ("4:2:0", "4:2:2", "4:4:4", "4:2:0")]
        options[3]["progressive"] = True
    elif kind == "oriented":
        options = [{"exif": exif(orientation)} for orientation in (6, 3, 8, 5)]
    format = "PNG" if kind == "png" else "JPEG"
    return batch([bytes_of(pil(p, format, **o)) for p, o in zip(parts, options, strict=True)])


@pytest.mark.parametrize("kind", ["jpeg", "oriented", "png"])
@pytest.mark.parametrize(
    "arguments",
    [
        {"crop": (20, 30)},
        {"crop": (25, 0), "crop_pos_y": 0.0},
        {"crop_h": [5, 33, 1, 17], "crop_w": 7, "crop_pos_x": [0.0, 0.33, 1.0, 0.71]},
        {"crop": (10.9, 20.7), "rounding": "truncate", "crop_pos_x": 0.37, "crop_pos_y": 0.91},
        {"crop": (1, 20, 30)},
        {},
        {"crop": (500, 20)},
        {"crop": (20,)},
    ],
    ids=str,
)
def test_image_crop(kind: str, arguments: dict[str, Any]) -> None:
    images = files(kind)
    agree(
        lambda: decoders.image_crop(images, **arguments),
        lambda: reference("decoders.image_crop", [images], **arguments),
    )


@pytest.mark.parametrize("output_type", ["BGR", "GRAY", "YCbCr"])
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32"])
def test_image_crop_to_other_types(output_type: str, dtype: str) -> None:
    kind = getattr(gradiva.types, output_type)
    check("decoders.image_crop", files("jpeg"), crop=(30, 31), output_type=kind, dtype=dtype)


@pytest.mark.parametrize("kind", ["jpeg", "oriented", "png"])
@pytest.mark.parametrize(
    "arguments",
    [
        {"start": (3, 5)},
        {"end": (20, 30)},
        {"start": (3, 5), "end": (20, 30)},
        {"start": (3, 5), "shape": (20, 24)},
        {"start": 3, "shape": (20, 24)},
        {"start": (3, 5), "shape": 9},
        {"rel_start": (0.1, 0.2), "rel_end": (0.33, 0.41)},
        {"rel_start": (0.1, 0.2), "rel_shape": (0.33, 0.41)},
        {"start": (3, 5), "rel_end": (0.7, 0.9)},
        {"rel_start": (0.1, 0.2), "shape": (10, 12)},
        {"rel_shape": (0.5, 0.25), "axes": (0, 1)},
        {"rel_shape": (0.5, 0.25), "axes": (-1, -2)},
        {"rel_shape": 0.25, "axes": 0},
        {"end": (9, 12), "axis_names": "HW"},
        {"start": (3, 5), "axis_names": "W"},
        {"start": 7, "end": 7},
        {"start": 7, "end": 4},
        {"start": 7, "end": 900},
        {"start": 7, "rel_start": 0.1},
        {"end": 7, "shape": 5},
        {"end": 7, "axes": 0, "axis_names": "H"},
        {"end": 7, "axes": (0, 2)},
        {"end": 7, "axes": (0, 0)},
        {},
    ],
    ids=str,
)
def test_image_slice_by_arguments(kind: str, arguments: dict[str, Any]) -> None:
    images = files(kind)
    agree(
        lambda: decoders.image_slice(images, **arguments),
        lambda: reference("decoders.image_slice", [images], **arguments),
    )


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("relative", [False, True])
def test_image_slice_by_inputs(seed: int, relative: bool) -> None:
    """Fractions of pixels at both ends: their rounding is DALI's."""
    random = np.random.default_rng(seed)
    images = files("jpeg")
    anchors, extents = random.uniform(0, 0.5, (4, 2)), random.uniform(0.1, 0.5, (4, 2))
    if not relative:
        anchors, extents = anchors * 32, np.round(extents * 64) / 2
    inputs = [batch([*rows.astype(np.float32)]) for rows in (anchors, extents)]
    flags: dict[str, Any] = {"normalized_anchor": relative, "normalized_shape": relative}
    ours = decoders.image_slice(images, inputs[0], inputs[1], **flags)
    assert_close(ours, reference("decoders.image_slice", [images, *inputs], **flags))


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_image_slice_by_pixels(dtype: Any) -> None:
    images = files("png")
    anchors = batch([np.array(a, dtype) for a in ((0, 0), (3, 4), (30, 31), (1, 80))])
    extents = batch([np.array(a, dtype) for a in ((197, 131), (1, 1), (18, 33), (32, 10))])
    ours = decoders.image_slice(images, anchors, extents)
    assert_close(ours, reference("decoders.image_slice", [images, anchors, extents]))


Windows = np.ndarray[Any, np.dtype[np.float64]]
COUNT = 4000


def distance(ours: Windows, theirs: Windows) -> float:
    """The two-sample statistic of Kolmogorov and Smirnov."""
    every = np.concatenate([ours, theirs])
    below = [np.searchsorted(np.sort(x), every, "right") / len(x) for x in (ours, theirs)]
    return float(np.abs(below[0] - below[1]).max())


# exceeded once in a thousand runs by two samples of one distribution
LIMIT = 1.95 * np.sqrt(2 / COUNT)


@pytest.mark.parametrize("shape", [(375, 500), (300, 900), (800, 300)], ids=str)
@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"random_area": [0.5, 1.0]},
        {"random_area": [0.3, 0.3], "random_aspect_ratio": [0.5, 2.0], "num_attempts": 1},
        {"random_aspect_ratio": [0.25, 4.0], "num_attempts": 2},
        {"random_area": [0.9, 1.0], "random_aspect_ratio": [2.0, 3.0]},
        {"num_attempts": 0},
    ],
    ids=str,
)
def test_windows_have_the_same_distribution(
    shape: tuple[int, int], arguments: dict[str, Any]
) -> None:
    shapes = [np.array(shape, np.int64)] * COUNT
    mine = gradiva.random_crop_generator(batch(shapes), seed=3, **arguments)
    other = reference(fn.random_crop_generator, [shapes], outputs=2, **arguments)
    ours, theirs = (
        np.concatenate([np.array(list(output)) for output in outputs], axis=1).astype(np.float64)
        for outputs in (mine, other)
    )
    for windows in (ours, theirs):
        assert (windows[:, :2] >= 0).all()
        assert (windows[:, :2] + windows[:, 2:] <= shape).all()
        ratios = windows[:, 3] / windows[:, 2]
        if arguments.get("num_attempts") != 0:
            low, high = arguments.get("random_aspect_ratio", (3 / 4, 4 / 3))
            assert ratios.min() >= low - 0.01
            assert ratios.max() <= high + 0.01
    for left, right in zip(quantities(ours, shape), quantities(theirs, shape), strict=True):
        assert distance(left, right) < LIMIT


def quantities(windows: Windows, shape: tuple[int, int]) -> list[Windows]:
    """Area, ratio, and the place as a fraction of the room there is."""
    top, left, height, width = windows.T
    return [
        height * width,
        width / height,
        top / np.maximum(shape[0] - height, 1),
        left / np.maximum(shape[1] - width, 1),
    ]


def test_areas_of_decoded_windows() -> None:
    """`image_random_crop` draws from the same windows."""
    file = bytes_of(pil(np.ascontiguousarray(photograph("chelsea")[:60, :80]), "JPEG"))
    images = batch([file] * COUNT)
    areas = []
    for made in (
        decoders.image_random_crop(images, seed=5),
        reference("decoders.image_random_crop", [images]),
    ):
        shapes = np.array([np.asarray(sample).shape for sample in made])
        areas.append((shapes[:, 0] * shapes[:, 1]).astype(np.float64))
    assert distance(*areas) < LIMIT


@pytest.mark.parametrize("interp_type", range(6))
@pytest.mark.parametrize("antialias", [False, True])
def test_resized_crop_of_whole_images(interp_type: int, antialias: bool) -> None:
    """Without attempts and with a wide range of ratios the window is the image in both."""
    images = batch([part("coffee", 100, 200, 77, 64), part("astronaut", 0, 0, 40, 90)])
    images = gradiva.as_batch(images, layout="HWC")
    options: dict[str, Any] = {
        "size": (50, 61),
        "num_attempts": 0,
        "random_aspect_ratio": (0.1, 10.0),
        "antialias": antialias,
        "interp_type": gradiva.types.DALIInterpType(interp_type),
    }
    check("random_resized_crop", images, exact=False, **options)


def test_resized_crop_looks_beyond_the_window() -> None:
    """Both: the rows at the border differ from those of a resized crop, the others do not."""
    images = batch([part("astronaut", 0, 0, 90, 90)], layout="HWC")
    file = batch([bytes_of(pil(images.at(0), "PNG"))])
    options: dict[str, Any] = {"random_area": (0.3, 0.3), "random_aspect_ratio": (1.0, 1.0)}
    ours = gradiva.random_resized_crop(images, size=100, seed=5, **options)
    cut = gradiva.resize(decoders.image_random_crop(file, seed=5, **options), size=(100, 100))

    def theirs(encoded: Any, decoded: Any) -> Any:
        crop = fn.decoders.image_random_crop(encoded, seed=5, **lists)
        return (
            fn.random_resized_crop(decoded, size=100, seed=5, **lists),
            fn.resize(crop, size=[100, 100]),
        )

    lists = {name: list(value) for name, value in options.items()}
    other = reference(theirs, [file, images], outputs=2)
    for whole, part_only in ((ours.at(0), cut.at(0)), (other[0][0], other[1][0])):
        apart = np.abs(whole.astype(int) - part_only.astype(int))
        assert apart[3:-3, 3:-3].max() <= 1
        assert apart.max() > 2
