"""`resize(compat=...)`: the bits of Pillow and OpenCV, in every mode, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

import gradiva
from gradiva import OperatorTypeError, OperatorValueError, fn, types
from gradiva.capture.compiler.optimize import optimize
from gradiva.capture.serialization.proto import pipeline_message
from tests.tiers import examples, few

cv2: Any = pytest.importorskip("cv2")

pytestmark = pytest.mark.core

Array = np.ndarray[Any, Any]

NN, LINEAR, CUBIC, LANCZOS, TRIANGULAR, GAUSSIAN, BOX, HAMMING, NEAREST_EXACT = range(9)
PIL = {
    NN: Image.Resampling.NEAREST,
    LINEAR: Image.Resampling.BILINEAR,
    TRIANGULAR: Image.Resampling.BILINEAR,
    CUBIC: Image.Resampling.BICUBIC,
    LANCZOS: Image.Resampling.LANCZOS,
    BOX: Image.Resampling.BOX,
    HAMMING: Image.Resampling.HAMMING,
}
OPENCV = {
    NN: cv2.INTER_NEAREST,
    LINEAR: cv2.INTER_LINEAR,
    TRIANGULAR: cv2.INTER_AREA,
    CUBIC: cv2.INTER_CUBIC,
    LANCZOS: cv2.INTER_LANCZOS4,
    NEAREST_EXACT: cv2.INTER_NEAREST_EXACT,
}
LAYOUTS = ("HWC", "CHW", "HW", "FHWC", "FCHW", "CFHW", "FHW")


def image(seed: int, shape: tuple[int, ...], dtype: Any = np.uint8) -> Array:
    generator = np.random.default_rng(seed)
    if dtype == np.float32:
        return generator.normal(size=shape).astype(np.float32)
    limits = np.iinfo(dtype)
    return generator.integers(limits.min, limits.max, shape, dtype, endpoint=True)


def by_pil(source: Array, size: tuple[int, int], filter: int, box: Any = None) -> Array:
    """(H, W, C) through Pillow: uint8 as an image, other dtypes channel by channel."""
    if source.dtype == np.uint8 and 2 <= source.shape[2] <= 4:
        return np.asarray(Image.fromarray(source).resize(size[::-1], PIL[filter], box))
    planes = [Image.fromarray(np.ascontiguousarray(p)) for p in np.moveaxis(source, 2, 0)]
    return np.stack([np.asarray(p.resize(size[::-1], PIL[filter], box)) for p in planes], 2)


def by_opencv(source: Array, size: tuple[int, int], filter: int) -> Array:
    made = cv2.resize(np.ascontiguousarray(source), size[::-1], interpolation=OPENCV[filter])
    return np.asarray(made).reshape(*size, source.shape[2])


LIBRARIES: dict[str, Callable[[Array, tuple[int, int], int], Array]] = {
    "pil": by_pil,
    "opencv": by_opencv,
}


@st.composite
def pairs(draw: st.DrawFn) -> tuple[tuple[int, int], tuple[int, int]]:
    """Two sizes: of any kind, one pixel wide, or ten times as large or small as the other."""
    extent = st.one_of(st.just(1), st.integers(1, 40))
    first = draw(st.tuples(extent, extent))
    second = draw(st.one_of(st.tuples(extent, extent), st.just((first[0] * 10, first[1] * 10))))
    return (first, second) if draw(st.booleans()) else (second, first)


@pytest.mark.parametrize("compat", ["pil", "opencv"])
@settings(max_examples=examples(60), deadline=None)
@given(
    sizes=pairs(),
    channels=st.integers(1, 4),
    number=st.integers(0, 20),
    dtype=st.sampled_from([np.uint8, np.uint16, np.float32]),
    seed=st.integers(0, 1000),
)
def test_bits(compat: str, sizes: Any, channels: int, number: int, dtype: Any, seed: int) -> None:
    filters = sorted(PIL if compat == "pil" else OPENCV)
    filter = filters[number % len(filters)]
    source = image(seed, (*sizes[0], channels), dtype)
    batch = gradiva.batch([source], layout="HWC")
    made = gradiva.resize(batch, size=sizes[1], interp_type=filter, compat=compat)
    expected = LIBRARIES[compat](source, sizes[1], filter)
    assert made.dtype is batch.dtype
    np.testing.assert_array_equal(np.asarray(made.at(0)), expected)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("compat", ["pil", "opencv", "torchvision"])
def test_layouts(compat: str, layout: str) -> None:
    """Each frame is resized as an image of interleaved channels, whatever the layout."""
    extents = {"F": 2, "H": 9, "W": 14, "C": 4}
    arrays = [image(seed, tuple(extents[letter] for letter in layout)) for seed in (0, 1)]
    batch = gradiva.batch(arrays, layout=layout)
    made = gradiva.resize(batch, size=(5, 20), interp_type=CUBIC, compat=compat)
    assert made.layout == layout
    for source, one in zip(arrays, made, strict=True):
        for old, new in zip(frames(source, layout), frames(np.asarray(one), layout), strict=True):
            alone = gradiva.batch([old], layout="HWC")
            again = gradiva.resize(alone, size=(5, 20), interp_type=CUBIC, compat=compat)
            np.testing.assert_array_equal(np.asarray(again.at(0)), new)
            if compat != "torchvision":
                np.testing.assert_array_equal(LIBRARIES[compat](old, (5, 20), CUBIC), new)


def frames(sample: Array, layout: str) -> Array:
    at = layout.find("C")
    sample = np.moveaxis(sample, at, -1) if at >= 0 else sample[..., None]
    return np.ascontiguousarray(sample if "F" in layout else sample[None])


@pytest.mark.full
@pytest.mark.parametrize(("portrait", "limit"), [(True, None), (False, None), (True, 15)])
@pytest.mark.parametrize("compat", ["pil", "torchvision"])
def test_the_longer_side_is_truncated(compat: str, portrait: bool, limit: int | None) -> None:
    """torchvision's documented rule: int(size * long / short), and then max_size."""
    shape = (17, 10, 3) if portrait else (10, 17, 3)
    batch = gradiva.batch([image(0, shape)], layout="HWC")
    long = int(11 * 17 / 10)
    expected = (long, 11) if limit is None else (limit, int(limit * 11 / long))
    made = gradiva.resize(batch, resize_shorter=11, max_size=limit, compat=compat)
    assert made.at(0).shape[:2] == (expected if portrait else expected[::-1])
    made = gradiva.resize(batch, resize_longer=9, compat=compat)
    both = (9, int(9 * 10 / 17))
    assert made.at(0).shape[:2] == (both if portrait else both[::-1])
    assert max(gradiva.resize(batch, resize_shorter=11).at(0).shape) == 19  # rounded


@pytest.mark.parametrize("compat", ["pil", "torchvision"])
def test_both_sides_are_truncated(compat: str) -> None:
    """mode="not_larger": int(side * min(h' / h, w' / w))."""
    batch = gradiva.batch([image(0, (17, 10, 3)), image(0, (7, 31, 3))], layout="HWC")
    made = gradiva.resize(batch, size=(12, 20), mode="not_larger", compat=compat)
    assert made.shape == [(12, 7, 3), (4, 20, 3)]
    made = gradiva.resize(batch, resize_x=20, resize_y=12, mode="not_larger", compat=compat)
    assert made.shape == [(12, 7, 3), (4, 20, 3)]


def test_rule_of_detr() -> None:
    """The shorter side is rounded, halves to even; the longer one follows from what it was."""

    def expected(height: int, width: int, size: int, limit: int) -> tuple[int, int]:
        short, long = min(height, width), max(height, width)
        exact = float(size)
        if long / short * size > limit:
            exact = limit * float(short) / long
        side = round(exact)
        if short == side:
            return height, width
        if width < height:
            return int(exact * height / width), side
        return side, int(exact * width / height)

    sizes = [(h, w) for h in range(4, 40, 3) for w in range(5, 40, 3)]
    batch = gradiva.batch([np.zeros((*size, 1), np.uint8) for size in sizes], layout="HWC")
    for size, limit in ((8, 13), (9, 9), (20, 31)):
        rule: dict[str, Any] = {"size_rule": "detr", "compat": "pil"}
        made = gradiva.resize(batch, resize_shorter=size, max_size=limit, **rule)
        wanted = [expected(*one, size, limit) for one in sizes]
        assert [shape[:2] for shape in made.shape] == wanted


def test_regions() -> None:
    source = image(3, (20, 30, 3))
    batch = gradiva.batch([source], layout="HWC")
    region: dict[str, Any] = {"size": (7, 8), "roi_start": (2.5, 3.25), "roi_end": (18.0, 29.5)}
    made = gradiva.resize(batch, **region, compat="pil", interp_type=CUBIC)
    expected = by_pil(source, (7, 8), CUBIC, (3.25, 2.5, 29.5, 18.0))
    np.testing.assert_array_equal(np.asarray(made.at(0)), expected)
    relative: dict[str, Any] = {"roi_start": (0.1, 0.1), "roi_end": (0.9, 0.9)}
    for compat in ("opencv", "torchvision"):
        made = gradiva.resize(batch, size=(7, 8), **relative, roi_relative=True, compat=compat)
        part = gradiva.batch([np.ascontiguousarray(source[2:18, 3:27])], layout="HWC")
        alone = gradiva.resize(part, size=(7, 8), compat=compat)
        np.testing.assert_array_equal(np.asarray(made.at(0)), np.asarray(alone.at(0)))
        with pytest.raises(OperatorValueError, match="whole pixels"):
            gradiva.resize(batch, **region, compat=compat)


@pytest.mark.parametrize("compat", few(["pil", "opencv", "torchvision"], "pil"))
def test_random_resized_crop_cuts_first(compat: str) -> None:
    source = image(3, (20, 30, 3))
    batch = gradiva.batch([source], layout="HWC")
    ramp = np.moveaxis(np.indices((20, 30)), 0, 2).astype(np.float32)
    window: dict[str, Any] = {"size": (64, 64), "seed": 4, "interp_type": NN}
    places = np.asarray(
        gradiva.random_resized_crop(gradiva.batch([ramp], layout="HWC"), **window).at(0)
    )
    (top, left), (bottom, right) = places.min((0, 1)), places.max((0, 1)) + 1
    part = np.ascontiguousarray(source[int(top) : int(bottom), int(left) : int(right)])
    assert part.size < source.size
    made = gradiva.random_resized_crop(batch, size=(9, 8), seed=4, compat=compat)
    alone = gradiva.resize(gradiva.batch([part], layout="HWC"), size=(9, 8), compat=compat)
    np.testing.assert_array_equal(np.asarray(made.at(0)), np.asarray(alone.at(0)))


@pytest.mark.parametrize("compat", ["pil", "opencv", "torchvision"])
def test_modes_agree(compat: str, photographs: Path) -> None:
    """Eager, captured and in a pipeline, of ragged batches, with any number of threads."""

    def work(images: Any) -> Any:
        small = gradiva.resize(images, resize_shorter=60, interp_type=CUBIC, compat=compat)
        return gradiva.crop_mirror_normalize(small, crop=(48, 48), mean=[120.0], std=[60.0])

    @gradiva.pipeline_def(batch_size=2, num_threads=2)
    def pipeline() -> Any:
        files, _labels = fn.readers.file(file_root=str(photographs))
        return work(fn.decoders.image(files))

    reader = gradiva.readers.File(file_root=str(photographs))
    files, _ = next(iter(reader.next_epoch(batch_size=2)))
    images = gradiva.decoders.image(files)
    eager = []
    for threads in (1, 3):
        gradiva.set_num_threads(threads)
        eager.append(work(images))
    gradiva.set_num_threads(None)
    pipe = pipeline()
    compiled = gradiva.capture.compile(work)
    results = [eager[1], pipe.run()[0], compiled(images), compiled(images)]
    pipe.close()
    for other in results:
        for left, right in zip(eager[0], other, strict=True):
            np.testing.assert_array_equal(np.asarray(left), np.asarray(right))


def test_stands_alone() -> None:
    """OpenCV's call is no part of a group; what stands behind it makes one. Pillow's is."""

    def graph(compat: str | None) -> Any:
        @gradiva.pipeline_def(batch_size=4, num_threads=1)
        def pipeline() -> Any:
            images = fn.external_source(name="images", layout="HWC", dtype="uint8", ndim=3)
            small = gradiva.resize(images, size=(8, 9), compat=compat)
            return gradiva.brightness(gradiva.flip(small), brightness=0.5)

        return optimize(pipeline().graph)

    def groups(compat: str | None) -> list[list[str]]:
        return [[m.operator.name for m in node.members] for node in graph(compat).nodes]

    assert groups(None)[-1] == ["resize", "flip", "brightness"]
    assert groups("pil")[-1] == ["resize", "flip", "brightness"]
    assert groups("opencv")[-1] == ["flip", "brightness"]
    assert [node.operator.name for node in graph("opencv").nodes][1] == "resize"


def test_captured_loop(photographs: Path) -> None:
    results = []
    for capture in (False, True):
        reader = gradiva.readers.File(file_root=str(photographs))
        made = []
        for files, _labels in reader.next_epoch(batch_size=2, capture=capture):
            images = gradiva.decoders.image(files)
            small = gradiva.resize(images, resize_shorter=40, compat="torchvision")
            made += [np.array(one) for one in small]
        results.append(made)
    assert len(results[0]) > 4
    for left, right in zip(*results, strict=True):
        np.testing.assert_array_equal(left, right)


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "library": ({"size": 4, "compat": "skimage"}, "pil, opencv, torchvision"),
    "antialias": ({"size": 4, "compat": "pil", "antialias": False}, "Pillow always"),
    "two filters": ({"size": 4, "compat": "opencv", "min_filter": 1}, "`min_filter`"),
    "gaussian": ({"size": 4, "compat": "opencv", "interp_type": GAUSSIAN}, "`interp_type`"),
    "lanczos": (
        {"size": 4, "compat": "torchvision", "interp_type": LANCZOS, "antialias": False},
        "`antialias`",
    ),
    "box": ({"size": 4, "compat": "torchvision", "interp_type": BOX}, "`interp_type`"),
    "box without a library": ({"size": 4, "interp_type": "box"}, "`interp_type`"),
    "exact": ({"size": 4, "compat": "pil", "interp_type": NEAREST_EXACT}, "`interp_type`"),
    "filter of a sample": ({"size": 4, "compat": "pil", "interp_type": [1, GAUSSIAN]}, "sample 1"),
    "mirrored size": ({"size": (-4, 4), "compat": "pil"}, "not negative"),
    "mirrored region": (
        {"size": 4, "compat": "pil", "roi_start": (8, 1), "roi_end": (2, 9)},
        "`roi_end`",
    ),
    "beyond": (
        {"size": 4, "compat": "pil", "roi_start": (-1, 0), "roi_end": (5, 5)},
        "inside the image",
    ),
    "one corner": ({"size": 4, "compat": "pil", "roi_start": (0, 0)}, "or neither"),
    "mode": ({"size": 4, "compat": "pil", "mode": "not_smaller"}, "`mode`"),
    "nothing left of it": ({"size": 1, "compat": "pil", "mode": "not_larger"}, "leaves a pixel"),
    "rule": ({"resize_shorter": 4, "compat": "pil", "size_rule": "detr"}, "`size_rule`"),
    "unknown rule": ({"size": 4, "compat": "pil", "size_rule": "sam"}, "`size_rule`"),
    "rule of no library": (
        {"resize_shorter": 4, "max_size": 9, "size_rule": "detr"},
        "`compat` 'pil' or 'torchvision'",
    ),
    "uneven limit": (
        {"resize_shorter": 4, "max_size": (9, 8), "size_rule": "detr", "compat": "pil"},
        "`max_size`",
    ),
    "open axis": ({"size": (4, 0), "compat": "torchvision"}, "a size for each axis"),
    "one axis": ({"resize_x": 4, "compat": "pil"}, "`resize_y`"),
    "limit": ({"size": 4, "max_size": 9, "compat": "torchvision"}, "`max_size`"),
    "small limit": (
        {"resize_shorter": 9, "max_size": 9, "compat": "torchvision"},
        "more than `resize_shorter`",
    ),
    "nothing left": ({"resize_longer": 1, "compat": "pil"}, "`resize_longer`"),
    "two sizes": ({"size": 4, "resize_x": 4, "compat": "pil"}, "exactly one"),
    "not finite": ({"resize_shorter": float("nan"), "compat": "pil"}, "`resize_shorter`"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    arguments, text = REFUSED[name]
    batch = gradiva.batch([image(0, (10, 20, 3)), image(1, (12, 15, 3))], layout="HWC")
    with pytest.raises(OperatorValueError, match=text):
        gradiva.resize(batch, **arguments)


def test_refused_types() -> None:
    volume = gradiva.batch([image(0, (3, 4, 5, 2))], layout="DHWC")
    signed = gradiva.batch([image(0, (4, 5, 2), np.int8)], layout="HWC")
    short = gradiva.batch([image(0, (4, 5, 2), np.int16)], layout="HWC")
    plain = gradiva.batch([image(0, (4, 5, 5))], layout="HWC")
    for batch, arguments, text in (
        (volume, {"compat": "pil"}, "volumes"),
        (signed, {"compat": "opencv"}, "int8"),
        (short, {"compat": "torchvision"}, "int16"),
        (plain, {"compat": "pil", "dtype": types.FLOAT}, "`dtype`"),
    ):
        with pytest.raises(OperatorTypeError, match=text):
            gradiva.resize(batch, size=4, **arguments)
    with pytest.raises(OperatorValueError, match="at most 4 channels"):
        gradiva.resize(plain, size=3, compat="opencv", interp_type=TRIANGULAR)
    nothing = gradiva.batch([image(0, (4, 5, 3)), image(0, (0, 5, 3))], layout="HWC")
    for compat in ("pil", "opencv", "torchvision"):
        with pytest.raises(OperatorValueError, match="pixels"):
            gradiva.resize(nothing, size=3, compat=compat)


def test_not_stored() -> None:
    """The file format has no such argument: leaving it out would change the result silently."""

    @gradiva.pipeline_def(batch_size=2, num_threads=1)
    def pipeline(compat: str | None) -> Any:
        return gradiva.resize(fn.external_source(name="images"), size=(4, 4), compat=compat)

    message = pipeline_message()
    message.ParseFromString(pipeline(None).serialize())
    assert "compat" not in [argument.name for argument in message.op[1].args]
    with pytest.raises(OperatorValueError, match="no place for this argument"):
        pipeline("pil").serialize()
