"""More calls that random programs are made of: geometry, filters, noise, arrays, boxes.

They are drawn in programs of their own (see `program_drawing.WIDE`), for uint8 and float32 images
alone: each dtype is another kernel to compile.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import gradiva
from gradiva import experimental, math, noise, random, reductions, transforms, types
from gradiva.eager.operators.operator import operators
from tests.random_programs.program_operators import Always, Line, flag, number, one_of
from tests.random_programs.programs import SIZE, Drawer, Facts, Ref

__all__ = ["NEWER", "NEWER_OTHERS", "draw_cached"]

INTERPOLATIONS = one_of(types.INTERP_NN, types.INTERP_LINEAR)
FILLS = one_of(0.0, 42.0, None)


def _common(more: Callable[[Drawer, Facts], dict[str, Any]] | None = None) -> Any:
    """Refuses the dtypes that are not drawn."""

    def given(draw: Drawer, image: Facts) -> dict[str, Any]:
        if str(image.dtype) not in ("uint8", "float32"):
            raise gradiva.OperatorValueError("another dtype")
        return more(draw, image) if more else {}

    return given


def _region(draw: Drawer, image: Facts) -> dict[str, Any]:
    names = draw.choice("HW", "WH", "W", "H")
    low = [round(draw.random.uniform(-0.2, 0.5), 2) for _ in names]
    long = [round(draw.random.uniform(0.2, 0.8), 2) for _ in names]
    given: dict[str, Any] = {"axis_names": names, "rel_start": low, "rel_shape": long}
    if draw.chance(0.3):
        given = {"axis_names": names[0], "rel_start": draw.number(0.0, 0.5)}
    return {**given, "out_of_bounds_policy": draw.choice("pad", "trim_to_shape")}


def _matrix(draw: Drawer, image: Facts) -> dict[str, Any]:
    turn = [round(draw.random.uniform(-1.5, 1.5), 2) for _ in range(4)]
    shift = [round(draw.random.uniform(-6, 6), 1) for _ in range(2)]
    given: dict[str, Any] = {"matrix": (*turn[:2], shift[0], *turn[2:], shift[1])}
    if draw.chance(0.3):
        degrees = draw.number(-90, 90)
        given["matrix"] = draw.call("transforms.rotation", transforms.rotation, angle=degrees)
    return given


def _resized(draw: Drawer, image: Facts) -> dict[str, Any]:
    size = (draw.random.randint(4, 16), draw.random.randint(4, 16))
    window = tuple(draw.random.randint(1, one) for one in size)
    return {"size": size, "crop": window, "mirror": draw.choice(0, 1, 2, 3)}


def _tiles(draw: Drawer, image: Facts) -> dict[str, Any]:
    return {"tiles_x": 2, "tiles_y": draw.choice(1, 2), "clip_limit": draw.choice(1.0, 3.5)}


def _scales(draw: Drawer, image: Facts) -> dict[str, Any]:
    at = (image.layout.index("H"), image.layout.index("W"))
    return {"axes": at, "scales": draw.choice((0.5, 2.0), (1.3, 0.7), (1.0, 1.5))}


NEWER = (
    Line(
        gradiva.rotate,
        3,
        {
            "angle": Always(number(-180, 180)),
            "keep_size": one_of(True, False),
            "fill_value": FILLS,
            "interp_type": INTERPOLATIONS,
        },
        _common(),
    ),
    Line(
        gradiva.warp_affine,
        3,
        {
            "size": one_of((8, 9), (5, 12)),
            "fill_value": FILLS,
            "interp_type": INTERPOLATIONS,
            "inverse_map": one_of(True, False),
        },
        _common(_matrix),
    ),
    Line(
        experimental.warp_perspective,
        1,
        {
            "matrix": Always(one_of((1.1, 0.1, -3.3, -0.05, 0.9, 4.2, 0.001, -0.002, 1.02))),
            "size": one_of((8, 9)),
            "fill_value": one_of(7.0),
        },
        _common(),
    ),
    Line(gradiva.slice, 4, {"fill_values": one_of(0.0, 9.0)}, _common(_region)),
    Line(
        gradiva.pad,
        3,
        {
            "axis_names": Always(one_of("HW", "W")),
            "align": one_of(4, 8),
            "fill_value": number(0, 99),
        },
        _common(),
    ),
    Line(
        gradiva.paste,
        2,
        {
            "ratio": Always(number(1.0, 2.0)),
            "fill_value": Always(one_of(7)),
            "paste_x": number(0, 1),
            "paste_y": number(0, 1),
        },
        _common(),
    ),
    Line(
        gradiva.erase,
        2,
        {
            "anchor": Always(one_of((0.1, 0.2), (0.5, 0.4))),
            "shape": Always(one_of((0.4, 0.3))),
            "normalized": Always(one_of(True)),
            "axis_names": Always(one_of("HW")),
            "fill_value": one_of(0.0, 99.0),
            "centered_anchor": one_of(True),
        },
        _common(),
    ),
    Line(
        gradiva.normalize,
        3,
        {
            "batch": one_of(True, False),
            "axis_names": one_of("HW", "W"),
            "scale": one_of(64.0),
            "shift": one_of(128.0),
            "epsilon": one_of(1.0),
            "dtype": one_of("uint8", None),
        },
        _common(),
    ),
    Line(
        gradiva.lookup_table,
        1,
        {
            "keys": Always(one_of(list(range(0, 250, 3)))),
            "default_value": one_of(3.0),
            "values": Always(one_of([float(k % 17) for k in range(84)])),
            "dtype": one_of("uint8"),
        },
        _common(),
    ),
    Line(
        gradiva.water,
        1,
        {"ampl_x": one_of(2.0), "ampl_y": one_of(3.0), "mask": flag, "interp_type": INTERPOLATIONS},
        _common(),
    ),
    Line(gradiva.sphere, 1, {"mask": flag, "interp_type": INTERPOLATIONS}, _common()),
    Line(gradiva.jitter, 1.5, {"nDegree": one_of(2, 5), "mask": flag}, _common()),
    Line(noise.gaussian, 2, {"mean": number(-9, 9), "stddev": number(0, 9)}, _common()),
    Line(
        noise.salt_and_pepper,
        2,
        {
            "prob": number(0, 0.5),
            "salt_vs_pepper": number(0, 1),
            "per_channel": one_of(True, False),
        },
        _common(),
    ),
    Line(noise.shot, 1.5, {"factor": number(1, 20)}, _common()),
    Line(gradiva.jpeg_compression_distortion, 1, {"quality": one_of(5, 60)}, _common()),
    Line(
        gradiva.grid_mask,
        1,
        {"tile": Always(one_of(3, 5)), "ratio": number(0.2, 0.7), "angle": number(0, 3)},
        _common(),
    ),
    Line(gradiva.equalize, 1, {}, _common()),
    Line(gradiva.clahe, 1, {}, _common(_tiles)),
    Line(gradiva.laplacian, 1, {"window_size": one_of(3, 5), "scale": number(0.1, 1)}, _common()),
    Line(experimental.median_blur, 1, {"window_size": Always(one_of(3))}, _common()),
    Line(experimental.dilate, 0.7, {"mask_size": Always(one_of((3, 3), (2, 3)))}, _common()),
    Line(experimental.erode, 0.7, {"mask_size": Always(one_of((3, 3)))}, _common()),
    Line(
        gradiva.resize_crop_mirror,
        3,
        {
            "crop_pos_x": number(0, 1),
            "crop_pos_y": number(0, 1),
            "dtype": one_of("float32"),
            "interp_type": INTERPOLATIONS,
        },
        _common(_resized),
    ),
    Line(
        gradiva.smart_resize,
        2,
        {
            "patch_size": Always(one_of(2, 3)),
            "merge_size": one_of(1, 2),
            "min_pixels": Always(one_of(16, 64)),
            "max_pixels": Always(one_of(150, 300)),
            "compat": one_of("torchvision", "gradiva"),
            "interp_type": one_of(types.INTERP_LINEAR, types.INTERP_CUBIC),
        },
        _common(),
    ),
    Line(
        gradiva.rescale_normalize,
        2,
        {
            "mean": number(0, 1),
            "std": number(0.1, 1),
            "rescale": one_of(1.0, 0.1),
            "compat": one_of("torchvision"),
        },
        _common(),
    ),
    Line(gradiva.tensor_resize, 1.5, {"antialias": one_of(False)}, _common(_scales)),
    Line(gradiva.copy, 1, {}),
)


def _per_sample(draw: Drawer, *shape: int) -> Ref:
    """Numbers of one shape for each sample."""
    return draw.call(
        "random.uniform", random.uniform, range=(0.0, 0.5), shape=shape, batch_size=SIZE
    )


def _reduction(draw: Drawer) -> Ref:
    name = draw.choice("sum", "mean", "min", "max", "rms", "mean_square")
    given: dict[str, Any] = {"keep_dims": draw.choice(True, False)}
    if draw.chance(0.6):
        given["axis_names"] = draw.choice("HW", "W", "H")
    return draw.call(f"reductions.{name}", getattr(reductions, name), draw.image(), **given)


def _spread(draw: Drawer) -> Ref:
    image = draw.image()
    middle = draw.call("reductions.mean", reductions.mean, image)
    name = draw.choice("std_dev", "variance")
    return draw.call(f"reductions.{name}", getattr(reductions, name), image, middle)


def _joined(draw: Drawer) -> Ref:
    image = draw.image()
    other = draw.call("flip", gradiva.flip, image, horizontal=draw.flag())
    if draw.chance(0.5):
        return draw.call("stack", gradiva.stack, image, other, axis=draw.choice(0, 1))
    at = draw.facts[image.index].layout.index(draw.choice("H", "W"))
    return draw.call("cat", gradiva.cat, image, other, axis=at)


def _boxes(draw: Drawer) -> Ref:
    start = _per_sample(draw, 2, 2)
    end = draw.call("add", lambda x, y: x + y, start, draw.choice(0.2, 0.5))
    made = draw.call("cat", gradiva.cat, start, end, axis=1)
    kind = draw.choice("flip", "paste", "rotate", "crop")
    if kind == "flip":
        given = {"horizontal": draw.flag(), "vertical": draw.flag()}
        return draw.call("bb_flip", gradiva.bb_flip, made, ltrb=True, **given)
    if kind == "paste":
        ratio = draw.number(1.0, 3.0)
        return draw.call("bbox_paste", gradiva.bbox_paste, made, ltrb=True, ratio=ratio)
    if kind == "rotate":
        given = {"angle": draw.number(-90, 90), "input_shape": (30, 40)}
        return draw.call("bbox_rotate", gradiva.bbox_rotate, made, bbox_layout="xyXY", **given)
    part = draw.choice(0, 1, 2)
    return draw.call(
        "random_bbox_crop",
        lambda boxes: gradiva.random_bbox_crop(boxes, bbox_layout="xyXY", scaling=(0.4, 1.0))[part],
        made,
    )


def _transform(draw: Drawer) -> Ref:
    chosen = draw.choice(
        ("translation", {"offset": (1.0, -2.0)}),
        ("scale", {"scale": (2.0, 0.5)}),
        ("rotation", {"angle": draw.number(-90, 90)}),
        ("shear", {"shear": (0.5, 0.0)}),
        ("crop", {"from_start": (0.1, 0.2)}),
    )
    name, given = chosen
    if name == "rotation":
        given["center"] = (3.0, 4.0)
    first = draw.call(f"transforms.{name}", getattr(transforms, name), batch_size=SIZE, **given)
    if draw.chance(0.5):
        turned = draw.call("transforms.rotation", transforms.rotation, first, angle=30.0)
        first = draw.call("transforms.combine", transforms.combine, first, turned)
    points = _per_sample(draw, 5, 2)
    if draw.chance(0.5):
        points = draw.call("coord_flip", gradiva.coord_flip, points, flip_x=draw.flag())
    return draw.call("coord_transform", gradiva.coord_transform, points, MT=first)


def _drawn_values(draw: Drawer) -> Ref:
    kind = draw.random.random()
    if kind < 0.4:
        given = {"alpha": draw.number(0.5, 3), "beta": 2.0}
        return draw.call("random.beta", random.beta, batch_size=SIZE, **given)
    if kind < 0.7:
        of = draw.choice(5, np.array([1.5, 2.5, 9.0], np.float32))
        return draw.call("random.choice", lambda size: random.choice(of, batch_size=size), SIZE)
    window = {"crop_shape": (2, 3), "roi_start": (1, 1), "roi_shape": (3, 4)}
    return draw.call("roi_random_crop", gradiva.roi_random_crop, batch_size=SIZE, **window)


def _reordered(draw: Drawer) -> Ref:
    order = draw.call("batch_permutation", gradiva.batch_permutation, batch_size=SIZE)
    return draw.call("permute_batch", gradiva.permute_batch, draw.image(), indices=order)


def _mixed(draw: Drawer) -> Ref:
    group = draw.choice(2, 4, 64)
    chance = draw.choice(1.0, 0.5)
    name, function = draw.choice(
        ("mixup", lambda x: gradiva.mixup(x, probability=chance, mix_group=group)),
        ("cutmix", lambda x: gradiva.cutmix(x, probability=chance, mix_group=group)),
        ("mosaic", lambda x: gradiva.mosaic(x, output_size=(11, 14), mix_group=group)),
        ("random_erasing", lambda x: gradiva.random_erasing(x, probability=chance, fill="pixel")),
    )
    return draw.call(name, function, draw.image())


def _shaped(draw: Drawer) -> Ref:
    image = draw.image()
    name, function = draw.choice(
        *[("reshape", lambda x: gradiva.reshape(x, shape=(-1,)))] * 3,
        ("expand_dims", lambda x: gradiva.expand_dims(x, axes=[0])),
        ("ones_like", gradiva.ones_like),
        ("zeros_like", gradiva.zeros_like),
        ("per_frame", gradiva.per_frame),
        ("one_hot", lambda x: gradiva.one_hot(gradiva.cast(x, dtype="uint8"), num_classes=3)),
        ("reinterpret", lambda x: gradiva.reinterpret(x, dtype="uint8")),
        ("cast_like", lambda x: gradiva.cast_like(x, np.float32(1))),
        ("math.clamp", lambda x: math.clamp(x, 10, 90)),
        ("multi_paste", lambda x: gradiva.multi_paste(x, output_size=(20, 22))),
        ("filter", lambda x: gradiva.filter(x, np.full((3, 3), 0.125, np.float32))),
        ("sequence_rearrange", lambda x: gradiva.sequence_rearrange(x, new_order=[1, 0, 1])),
        ("element_extract", lambda x: gradiva.element_extract(x, element_map=[1])),
    )
    return draw.call(name, function, image)


def draw_cached(draw: Drawer) -> Ref:
    """A cache, where nothing above it depends on other samples; random values it refuses itself."""
    image = max((k for k, known in enumerate(draw.facts) if known.is_image), default=0)
    first, waiting = len(draw.program.turns[0]), [image]
    while waiting:
        index = waiting.pop()
        if index < first:
            continue
        step = draw.program.steps[index - first]
        known = operators.get(step.name)
        if known is not None and known.samplewise is not True:
            raise gradiva.OperatorValueError("a result that depends on other samples")
        given = (*step.inputs, *step.keywords.values())
        waiting += [value.index for value in given if isinstance(value, Ref)]
    return draw.call("cache", gradiva.cache, Ref(image))


NEWER_OTHERS = (
    (_reduction, 3.0), (_spread, 1.0), (_joined, 2.0), (_boxes, 3.0), (_transform, 3.0),
    (_drawn_values, 2.0), (_reordered, 1.5), (_shaped, 5.0), (_mixed, 3.75),
)  # fmt: skip
