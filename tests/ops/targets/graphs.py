"""Random graphs of operators that move pixels, as data; and images with painted points."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from hypothesis import strategies as st

import gradiva

Step: TypeAlias = tuple[str, dict[str, Any]]
SPREAD = 2.5
"""Of a painted point, in pixels."""


def f32(values: Any) -> Any:
    """An array of float32."""
    return np.array(values, np.float32)


def f64(values: Any) -> Any:
    """An array of float64."""
    return np.array(values, np.float64)


def i32(values: Any) -> Any:
    """An array of int32."""
    return np.array(values, np.int32)


BENDS = ("remap", "sphere", "water")
"""Operators that bend the image."""


@st.composite
def steps(draw: st.DrawFn, bends: bool = False) -> Step:
    """One operator and its arguments, which suit images of any size. bends: also those of which no
    matrix says where pixels go."""
    names = [name for name in sorted(OPERATORS) if bends or name not in BENDS]
    name = draw(st.sampled_from(names))
    number = draw(st.integers(0, 1 << 30))
    random = np.random.default_rng(number)
    one = [float(v) for v in random.uniform(0, 1, 8)]
    if name == "flip":
        return name, {"horizontal": int(one[0] < 0.7), "vertical": int(one[1] < 0.5)}
    if name == "crop":
        return name, {"part": (0.6 + 0.4 * one[0], 0.6 + 0.4 * one[1]), "at": (one[2], one[3])}
    if name == "slice":
        return name, {"start": (one[0] * 0.3, one[1] * 0.3), "shape": (0.7, 0.65)}
    if name == "resize":
        return name, {"scale": (0.7 + 0.9 * one[0], 0.7 + 0.9 * one[1])}
    if name == "resize_region":
        return name, {"start": (one[0] * 0.3, 0.9), "end": (1.0, one[1] * 0.2)}
    if name == "random_resized_crop":
        return name, {"size": (70 + int(one[0] * 60), 70 + int(one[1] * 60)), "seed": number}
    if name == "resize_crop_mirror":
        return name, {"scale": 0.9 + 0.6 * one[0], "at": (one[1], one[2]), "mirror": number % 4}
    if name == "crop_mirror_normalize":
        return name, {"part": 0.7 + 0.3 * one[0], "mirror": number % 2}
    if name == "paste":
        return name, {"ratio": 1 + 0.4 * one[0], "paste_x": one[1], "paste_y": one[2]}
    if name == "pad":
        return name, {"align": 8 + int(one[0] * 24)}
    if name == "rotate":
        return name, {"angle": 360 * one[0] - 180, "keep_size": one[1] < 0.5}
    if name == "warp_affine":
        matrix = np.eye(2) + 0.2 * (np.array(one[:4]).reshape(2, 2) - 0.5)
        shift = 20 * (np.array(one[4:6]) - 0.5)
        return name, {
            "matrix": np.hstack([matrix, shift[:, None]]).ravel().tolist(),
            "inverse_map": one[6] < 0.5,
        }
    if name == "warp_perspective":
        matrix = np.eye(3) + 0.1 * (np.array([*one, 0.5]).reshape(3, 3) - 0.5)
        matrix[2, :2] *= 0.01
        matrix[:2, 2] *= 100
        return name, {
            "matrix": matrix.ravel().tolist(),
            "inverse_map": number % 2 == 0,
            "pixel_origin": "center" if number % 3 == 0 else "corner",
        }
    if name == "water":
        return name, {
            "ampl_x": 8 * one[0] + 0.5,
            "ampl_y": 8 * one[1] + 0.5,
            "freq_x": 0.05 * one[2],
            "freq_y": 0.05 * one[3],
            "phase_x": 6 * one[4],
        }
    if name == "remap":
        return name, {"scale": (1.3 - 0.6 * one[0], 1.3 - 0.6 * one[1]), "waves": 6 * one[2]}
    return name, {}


def _relative_crop(images: Any, targets: Any, part: Any, at: Any) -> Any:
    height, width = images.shape[:2]
    size = (int(part[0] * height), int(part[1] * width))
    return gradiva.crop(images, targets, crop=size, crop_pos_y=at[0], crop_pos_x=at[1])


def _resize(images: Any, targets: Any, scale: Any, **more: Any) -> Any:
    height, width = images.shape[:2]
    size = (round(scale[0] * height), round(scale[1] * width))
    return gradiva.resize(images, targets, size=size, **more)


def _resize_region(images: Any, targets: Any, start: Any, end: Any, **more: Any) -> Any:
    region = {"roi_start": start, "roi_end": end, "roi_relative": True, **more}
    return gradiva.resize(images, targets, size=images.shape[:2], **region)


def _resize_crop_mirror(
    images: Any, targets: Any, scale: Any, at: Any, mirror: Any, **more: Any
) -> Any:
    height, width = images.shape[:2]
    return gradiva.resize_crop_mirror(
        images,
        targets,
        size=(round(scale * height), round(scale * width)),
        crop=(int(0.8 * scale * height), int(0.8 * scale * width)),
        crop_pos_x=at[0],
        crop_pos_y=at[1],
        mirror=mirror,
        **more,
    )


def _normalize(images: Any, targets: Any, part: Any, mirror: Any) -> Any:
    size = [int(part * extent) for extent in images.shape[:2]]
    return gradiva.crop_mirror_normalize(
        images, targets, crop=size, mirror=mirror, output_layout="HWC"
    )


def _transpose(images: Any, targets: Any) -> Any:
    return gradiva.transpose(images, targets, perm=(1, 0, 2), transpose_layout=False)


def _remap(
    images: Any, targets: Any, scale: Any, waves: float, interp_type: Any = "INTERP_LINEAR"
) -> Any:
    height, width = images.shape[:2]
    y, x = np.mgrid[:height, :width].astype(np.float32)
    middle_x, middle_y = np.float32(width / 2), np.float32(height / 2)
    x, y = (x - middle_x) * f32(scale[0]), (y - middle_y) * f32(scale[1])
    x, y = x + f32(waves) * np.sin(y / 20) + middle_x, y + middle_y
    given = {"interp": interp_type, "pixel_origin": "center"}
    return gradiva.experimental.remap(images, x, y, targets, **given)


def _linear(operator: Any) -> Any:
    """An operator that takes the nearest pixels by default."""

    def call(images: Any, targets: Any, interp_type: Any = "INTERP_LINEAR", **given: Any) -> Any:
        return operator(images, targets, fill_value=0, interp_type=interp_type, **given)

    return call


OPERATORS: dict[str, Any] = {
    "flip": gradiva.flip,
    "crop": _relative_crop,
    "slice": lambda images, targets, start, shape: gradiva.slice(
        images, targets, rel_start=start, rel_shape=shape, axis_names="HW"
    ),
    "resize": _resize,
    "resize_region": _resize_region,
    "random_resized_crop": lambda images, targets, **given: gradiva.random_resized_crop(
        images, targets, random_area=(0.5, 1.0), **given
    ),
    "resize_crop_mirror": _resize_crop_mirror,
    "crop_mirror_normalize": _normalize,
    "paste": lambda images, targets, **given: gradiva.paste(images, targets, fill_value=0, **given),
    "pad": lambda images, targets, align: gradiva.pad(
        images, targets, axis_names="HW", align=align
    ),
    "rotate": lambda images, targets, **given: gradiva.rotate(
        images, targets, fill_value=0, **given
    ),
    "warp_affine": lambda images, targets, **given: gradiva.warp_affine(
        images, targets, fill_value=0, **given
    ),
    "warp_perspective": gradiva.experimental.warp_perspective,
    "transpose": _transpose,
    "remap": _remap,
    "sphere": _linear(gradiva.sphere),
    "water": _linear(gradiva.water),
}
"""By name, functions of images HWC, targets and the arguments of a step."""


RESAMPLING = (
    *("resize", "resize_region", "random_resized_crop", "resize_crop_mirror"),
    *("rotate", "warp_affine", "warp_perspective", *BENDS),
)
"""Operators that take `interp_type`."""


def run(images: Any, targets: Any, program: list[Step], nearest: bool = False) -> Any:
    """The images and the targets after all steps. nearest: take the nearest pixels."""
    for name, given in program:
        more = {"interp_type": "INTERP_NN"} if nearest and name in RESAMPLING else {}
        images, targets = OPERATORS[name](images, targets, **given, **more)
    return images, targets


def painted(points: Any, height: int, width: int) -> Any:
    """An image (H, W, points), float32, with a spot around each point in a channel of its own."""
    ys, xs = np.mgrid[:height, :width] + 0.5
    channels = [
        np.exp(-((xs - x) ** 2 + (ys - y) ** 2) / (2 * SPREAD**2)) / (2 * np.pi * SPREAD**2)
        for x, y in points
    ]
    return np.stack(channels, axis=2).astype(np.float32)


def found(image: Any) -> tuple[Any, Any]:
    """The mass of each spot (points,) and where it is (points, 2)."""
    image = np.asarray(image, np.float64)
    ys, xs = np.mgrid[: image.shape[0], : image.shape[1]] + 0.5
    mass = image.sum(axis=(0, 1))
    with np.errstate(invalid="ignore", divide="ignore"):
        x = (image * xs[:, :, None]).sum(axis=(0, 1)) / mass
        y = (image * ys[:, :, None]).sum(axis=(0, 1)) / mass
    return mass, np.stack([x, y], axis=1)
