"""Warps with the bits of torchvision, where it is installed, and of Pillow; in all modes."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

import gradiva
from gradiva import OperatorTypeError, OperatorValueError
from gradiva.ops.image.warp.compat import perspective_map
from tests.ops.image.test_compat_colors import Array, fuses, image, one, recorded
from tests.tiers import examples

pytestmark = pytest.mark.core

NN, LINEAR, CUBIC = 0, 1, 2
MODES = ("NEAREST", "BILINEAR", "BICUBIC")
angles = st.one_of(
    st.floats(-400, 400), st.sampled_from([0.0, 45.0, 90.0, 180.0, 270.0, -90.0, 30.7, 1e-3])
)
sizes = st.tuples(st.integers(1, 40), st.integers(1, 40))
fills = st.sampled_from([None, 0.0, 37.0, 255.0])
points = st.tuples(st.floats(-5, 45), st.floats(-5, 45))


@functools.cache
def functional() -> Any:
    return pytest.importorskip("torchvision.transforms.v2.functional")


def mode(number: int) -> Any:
    transforms = pytest.importorskip("torchvision.transforms")
    return getattr(transforms.InterpolationMode, MODES[number])


def theirs(name: str, sample: Array, library: str, filter: int, **arguments: Any) -> Array:
    """torchvision's function of a tensor or of an image of Pillow; (H, W, C)."""
    function = getattr(functional(), name)
    if library == "pil":
        made = np.asarray(
            function(Image.fromarray(sample), interpolation=mode(filter), **arguments)
        )
        return made if made.ndim == 3 else made[..., None]
    torch = pytest.importorskip("torch")
    if not fuses():
        pytest.skip("torch rounds twice on this processor")
    tensor = torch.from_numpy(sample).permute(2, 0, 1).contiguous()
    made = function(tensor, interpolation=mode(filter), **arguments)
    return np.asarray(made.permute(1, 2, 0).numpy())


def check(name: str, seed: int, size: Any, filter: int, ours: Any, their: Any) -> None:
    """uint8 in two layouts, float32, and uint8 of Pillow."""
    given = {key: value for key, value in ours.items() if value is not None}
    for dtype in (np.uint8, np.float32):
        sample = image(seed, (*size, 3), dtype)
        expected = theirs(name, sample, "torchvision", filter, **their)
        made = one(name, sample, interp_type=filter, compat="torchvision", **given)
        np.testing.assert_array_equal(made, expected)
        planes = np.ascontiguousarray(np.moveaxis(sample, 2, 0))
        made = one(name, planes, "CHW", interp_type=filter, compat="torchvision", **given)
        np.testing.assert_array_equal(np.moveaxis(made, 0, 2), expected)
    sample = image(seed, (*size, 3))
    expected = theirs(name, sample, "pil", filter, **their)
    made = one(name, sample, interp_type=filter, compat="pil", **given)
    np.testing.assert_array_equal(made, expected)


@settings(max_examples=examples(60), deadline=None)
@given(
    seed=st.integers(0, 1000),
    size=st.one_of(sizes, st.integers(1, 40).map(lambda n: (n, n))),
    angle=angles,
    expand=st.booleans(),
    center=st.one_of(st.none(), points),
    fill=fills,
    filter=st.sampled_from([NN, LINEAR]),
)
def test_rotate_of_torchvision(
    seed: int, size: Any, angle: float, expand: bool, center: Any, fill: Any, filter: int
) -> None:
    functional()
    ours = {"angle": angle, "keep_size": not expand, "center": center, "fill_value": fill}
    their = {"angle": angle, "expand": expand, "center": center and [*center], "fill": fill}
    check("rotate", seed, size, filter, ours, their)


@settings(max_examples=examples(60), deadline=None)
@given(
    seed=st.integers(0, 1000),
    size=sizes,
    angle=angles,
    translate=st.tuples(st.integers(-10, 10), st.integers(-10, 10)),
    scale=st.floats(0.3, 3),
    shear=st.tuples(st.floats(-40, 40), st.floats(-40, 40)),
    center=st.one_of(st.none(), points),
    fill=st.one_of(fills, st.just((1.0, 20.0, 200.0))),
    filter=st.sampled_from([NN, LINEAR]),
)
def test_affine_of_torchvision(
    seed: int,
    size: Any,
    angle: float,
    translate: Any,
    scale: float,
    shear: Any,
    center: Any,
    fill: Any,
    filter: int,
) -> None:
    functional()
    ours = {"angle": angle, "translate": translate, "scale": scale, "shear": shear}
    their = {**ours, "translate": [*translate], "shear": [*shear]}
    ours |= {"center": center, "fill_value": fill}
    their |= {
        "center": center and [*center],
        "fill": fill and ([*fill] if fill == (1, 20, 200) else fill),
    }
    check("affine", seed, size, filter, ours, their)


@settings(max_examples=examples(60), deadline=None)
@given(
    seed=st.integers(0, 1000),
    size=st.tuples(st.integers(4, 40), st.integers(4, 40)),
    parts=st.lists(st.floats(0, 0.45), min_size=8, max_size=8),
    fill=fills,
    filter=st.sampled_from([NN, LINEAR]),
)
def test_perspective_of_torchvision(
    seed: int, size: Any, parts: list[float], fill: Any, filter: int
) -> None:
    functional()
    height, width = size
    start = [[0, 0], [width - 1, 0], [width - 1, height - 1], [0, height - 1]]
    end = [
        [int(abs(x - part * width)), int(abs(y - other * height))]
        for (x, y), part, other in zip(start, parts[:4], parts[4:], strict=True)
    ]
    try:
        mine = perspective_map(np.array(start, float), np.array(end, float)).reshape(-1)[:8]
        found = transforms()._get_perspective_coeffs(start, end)
    except (np.linalg.LinAlgError, RuntimeError):
        return  # points on a line
    if not np.isfinite(found).all() or max(map(abs, found)) > 1e4:
        return
    ours = {"coefficients": found, "fill_value": fill}
    their = {"startpoints": None, "endpoints": None, "coefficients": found, "fill": fill}
    check("perspective", seed, size, filter, ours, their)
    np.testing.assert_allclose(mine, found, rtol=1e-5, atol=1e-5 * max(map(abs, found)))


@functools.cache
def transforms() -> Any:
    return pytest.importorskip("torchvision.transforms.functional")


@pytest.mark.parametrize("expand", [False, True])
@pytest.mark.parametrize("filter", [NN, LINEAR, CUBIC])
@pytest.mark.parametrize("channels", [1, 3])
def test_rotate_of_pillow(expand: bool, filter: int, channels: int) -> None:
    for seed, size in enumerate(((1, 1), (5, 9), (33, 20), (16, 16))):
        sample = image(seed, (*size, channels))
        picture = Image.fromarray(sample if channels == 3 else sample[..., 0])
        for angle in (0, 12.5, 90, -180, 270, 359.9, 45):
            for center in (None, (3.5, 2.0)):
                fill: Any = (7, 7, 7) if channels == 3 else 7
                method = getattr(Image.Resampling, MODES[filter])
                expected = np.asarray(picture.rotate(angle, method, expand, center, fillcolor=fill))
                more: dict[str, Any] = {} if center is None else {"center": center}
                made = one(
                    "rotate",
                    sample,
                    angle=angle,
                    interp_type=filter,
                    keep_size=not expand,
                    fill_value=7,
                    compat="pil",
                    **more,
                )
                np.testing.assert_array_equal(made.reshape(expected.shape), expected)


GRID = np.arange(0, 250, 10).reshape(5, 5, 1).astype(np.uint8)
# Made with torchvision 0.28.0 and torch 2.13.0, on a CPU with AVX2.
KNOWN: list[tuple[str, dict[str, Any], list[list[int]]]] = [
    (
        "rotate",
        {"angle": 30, "keep_size": True},
        [
            [3, 16, 43, 77, 28],
            [14, 48, 82, 115, 113],
            [53, 86, 120, 154, 187],
            [72, 125, 158, 192, 226],
            [37, 163, 197, 168, 61],
        ],
    ),
    (
        "rotate",
        {"angle": 30, "interp_type": 0, "fill_value": 9},
        [
            [9, 9, 9, 9, 40, 9, 9],
            [9, 9, 20, 30, 90, 9, 9],
            [0, 10, 70, 70, 130, 140, 9],
            [9, 50, 110, 120, 130, 190, 9],
            [9, 100, 110, 170, 170, 230, 240],
            [9, 9, 150, 210, 220, 9, 9],
            [9, 9, 200, 9, 9, 9, 9],
        ],
    ),
    (
        "affine",
        {"angle": 10, "translate": (1, 0), "scale": 1.2, "shear": (5, 3), "fill_value": 100},
        [
            [88, 30, 30, 33, 36],
            [74, 70, 73, 76, 79],
            [80, 114, 117, 120, 123],
            [118, 158, 161, 164, 167],
            [198, 201, 204, 207, 210],
        ],
    ),
    (
        "perspective",
        {"startpoints": [0, 0, 4, 0, 4, 4, 0, 4], "endpoints": [1, 0, 4, 1, 3, 4, 0, 3]},
        [
            [1, 3, 8, 3, 0],
            [38, 62, 54, 46, 25],
            [121, 126, 118, 110, 29],
            [198, 190, 182, 174, 0],
            [0, 66, 162, 164, 0],
        ],
    ),
]


@pytest.mark.parametrize(("name", "arguments", "expected"), KNOWN)
def test_known_values(name: str, arguments: Any, expected: Any) -> None:
    made = one(name, GRID, compat="torchvision", **arguments)
    assert made[..., 0].tolist() == expected


BENT = [[2.0, 1.0, 25.0, 0.0, 20.0, 15.0, 0.0, 19.0], [0.0, 0.0, 29.0, 2.0, 29.0, 19.0, 3.0, 17.0]]


@pytest.mark.parametrize("compat", ["torchvision", "pil"])
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("rotate", {"angle": [40.0, -100.0], "fill_value": 9}),
        ("rotate", {"angle": [90.0, 30.7], "keep_size": True, "center": (4, 5)}),
        ("affine", {"angle": [40.0, -10.0], "scale": [0.8, 1.3], "shear": (5, 6)}),
        ("perspective", {"startpoints": (0, 0, 29, 0, 29, 19, 0, 19), "endpoints": BENT}),
    ],
)
def test_same_bits_in_a_pipeline_and_for_each_sample(
    name: str, arguments: Any, compat: str
) -> None:
    images = [image(1, (20, 30, 3)), image(2, (17, 9, 3))]
    batch = gradiva.batch(images, layout="HWC")
    eager = getattr(gradiva, name)(batch, compat=compat, **arguments)
    for made in recorded(images, name, compat=compat, **arguments):
        for number in range(2):
            np.testing.assert_array_equal(made[number], np.asarray(eager.at(number)))
    for number in range(2):
        own = {k: v[number] if isinstance(v, list) else v for k, v in arguments.items()}
        alone = one(name, images[number], compat=compat, **own)
        np.testing.assert_array_equal(np.asarray(eager.at(number)), alone)
    own = {k: v[0] if isinstance(v, list) else v for k, v in arguments.items()}
    for layout, sample in (
        ("FHWC", np.stack([images[0]] * 2)),
        ("FCHW", np.stack([np.moveaxis(images[0], 2, 0)] * 2)),
    ):
        frames = gradiva.batch([sample], layout=layout)
        for frame in np.asarray(getattr(gradiva, name)(frames, compat=compat, **own).at(0)):
            pixels = frame if layout == "FHWC" else np.moveaxis(frame, 0, 2)
            np.testing.assert_array_equal(pixels, np.asarray(eager.at(0)))


def test_an_angle_for_each_frame() -> None:
    video = np.stack([image(1, (9, 8, 3)), image(2, (9, 8, 3))])
    turned = gradiva.rotate(
        gradiva.batch([video], layout="FHWC"),
        angle=gradiva.per_frame(np.array([20, 50], np.float32)),
        keep_size=True,
        compat="torchvision",
    )
    for frame, angle, made in zip(video, (20, 50), np.asarray(turned.at(0)), strict=True):
        expected = one("rotate", frame, angle=angle, keep_size=True, compat="torchvision")
        np.testing.assert_array_equal(made, expected)


def test_places_that_are_no_numbers() -> None:
    """A point of the output whose denominator is 0, for uint8: no pixel, and no undefined value."""
    sample = image(0, (8, 8, 3)) | np.uint8(1)
    start, end = [0, 0, 7, 0, 7, 7, 0, 7], [3, 3, 4, 3, 7, 7, 0, 7]
    made = one("perspective", sample, startpoints=start, endpoints=end, fill_value=0)
    assert made.shape == sample.shape


def test_what_is_refused() -> None:
    batch = gradiva.batch([image(0, (4, 5, 3))], layout="HWC")
    with pytest.raises(OperatorValueError, match="`size`"):
        gradiva.rotate(batch, angle=5, size=(3, 3), compat="torchvision")
    with pytest.raises(OperatorValueError, match="`dtype`"):
        gradiva.rotate(batch, angle=5, dtype="float32", compat="torchvision")
    with pytest.raises(OperatorTypeError, match="`compat`"):
        gradiva.rotate(gradiva.cast(batch, dtype="int16"), angle=5, compat="torchvision")
    volume = gradiva.batch([image(0, (4, 5, 6, 3))], layout="DHWC")
    with pytest.raises(OperatorTypeError, match="layout"):
        gradiva.rotate(volume, angle=5, compat="torchvision")
    with pytest.raises(OperatorValueError, match="`interp_type`"):
        gradiva.rotate(batch, angle=5, interp_type="cubic", compat="torchvision")
    four = gradiva.batch([image(0, (4, 5, 4))], layout="HWC")
    with pytest.raises(OperatorValueError, match="channels"):
        gradiva.rotate(four, angle=5, compat="pil")
    with pytest.raises(OperatorValueError, match="`center`"):
        gradiva.rotate(batch, angle=5, center=(1, 2, 3), compat="pil")
