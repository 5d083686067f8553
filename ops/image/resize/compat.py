"""`resize(compat=...)`: the result of another library, bit by bit.

Pillow and OpenCV are called themselves; torchvision's arithmetic is in `torch_rules.py`. What a
library has no meaning for is refused. docs/resize.md says what is taken, and how the four differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import Array

from .arguments import ResizeFilters, per_axis
from .fixed_point import COLUMNS_FIRST, CROPPED, ROWS_FIRST, TAKEN, TORCH, rows_first
from .libraries import AREA_CHANNELS, KNOWN, MOST_CHANNELS, NAMES, resize_opencv, resize_pil
from .plan import ResizePlan
from .shapes import resize_geometry
from .torch_rules import nearest, resize_torch

DTYPES = {
    "pil": (op.uint8, op.uint16, op.float32),
    "opencv": (op.uint8, op.uint16, op.int16, op.float32),
    "torchvision": (op.uint8, op.float32),
}
_LIBRARIES: dict[str, tuple[str, ...]] = {"pil": ("pillow",), "opencv": ("opencv-python-headless",)}
OWN = "gradiva"
"""What `compat` is where an operator has another default than gradiva's own filters."""
_LANCZOS = op.InterpType.INTERP_LANCZOS3
_NEAREST = (op.InterpType.INTERP_NN, op.InterpType.INTERP_NEAREST_EXACT)


def check_compat(
    compat: str, input: op.SampleType, layout: str | None, dtype: Any, filters: ResizeFilters
) -> None:
    """Refuse what the library has no meaning for, as far as the types tell."""
    if compat not in DTYPES:
        raise op.wrong_value("compat", f"one of {', '.join(DTYPES)}", repr(compat))
    if input.dtype is not None and input.dtype not in DTYPES[compat]:
        raise op.wrong_type(
            "compat", f"{_listed(DTYPES[compat])} with {compat!r}", f"samples of {input.dtype}"
        )
    if layout and "D" in layout:
        raise op.wrong_type("compat", "images, not volumes", f"layout {layout!r}")
    if dtype is not None and input.dtype is not None and dtype is not input.dtype:
        raise op.wrong_type("dtype", f"the input's, {input.dtype}, with `compat`", dtype)
    if compat == "pil" and not filters["antialias"]:
        raise op.wrong_value("antialias", "True: Pillow always does it", "False")
    for name in ("min_filter", "mag_filter"):
        if filters.get(name) is not None:
            raise op.wrong_value(name, "`interp_type` alone with `compat`", "a filter")


def check_rule(rule: str, compat: str | None, options: Mapping[str, Any]) -> None:
    """Refuse a `size_rule` that is unknown, or beside which there is no size that it is about."""
    if rule != "detr":
        raise op.wrong_value("size_rule", "'detr' or none", op.describe(rule))
    given = options.get("resize_shorter") is not None and options.get("max_size") is not None
    if not given or compat not in ("pil", "torchvision"):
        expected = "`resize_shorter`, `max_size` and `compat` 'pil' or 'torchvision' beside it"
        raise op.wrong_value("size_rule", expected, repr(rule))


def is_own(compat: str | None) -> bool:
    """Whether an operator uses gradiva's own filters."""
    return compat is None or compat == OWN


def may_fuse(arguments: Mapping[str, Any], device: str) -> bool:
    """Whether calls with these arguments may join a fused group (see `resamples_here`)."""
    compat = arguments.get("compat")
    return is_own(compat) or (compat in ("pil", "torchvision") and device == "cpu")


def resamples_here(call: op.Call) -> bool:
    """Whether kernels that join groups resample: with gradiva's own filters, or with those of
    Pillow or torchvision for bytes, where no channel is alpha. After the shape rule."""
    compat, plan = call.arguments.get("compat"), call.plan
    if not may_fuse({"compat": compat}, "cpu"):
        return False
    if is_own(compat):
        return True
    assert isinstance(plan, ResizePlan)
    if call.inputs[0].dtype is not op.uint8 or not np.isin(plan.filters, TAKEN).all():
        return False
    if compat == "torchvision" and not call["antialias"]:
        return False
    layout, shapes = call.types[0].layout or "", call.inputs[0].batch_shape.shapes
    if layout[-1:] == "C":
        return bool(np.isin(shapes[:, -1], (1, 3)).all())
    return "C" not in layout or bool(np.isin(shapes[:, layout.index("C")], (1, 3)).all())


def fixed_filters(compat: str, plan: ResizePlan) -> op.Int64Array:
    """(N, 5), as `filters_of` returns them, for images that are resampled in whole numbers."""
    table = np.full((len(plan.filters), 5), 2, np.int64)
    table[:, :3] = plan.filters[:, np.newaxis]
    table[:, 3] = TORCH
    crops = plan.crop or compat == "torchvision"
    if compat == "pil":
        whole = (plan.high - plan.low).astype(np.int64) if crops else plan.inputs
        table[:, 3] = np.where(rows_first(whole, plan.outputs), ROWS_FIRST, COLUMNS_FIRST)
    if crops:
        table[:, 3] |= CROPPED
    return table


def _listed(values: Any) -> str:
    return ", ".join(str(value) for value in values)


def compat_libraries(
    arguments: Mapping[str, Any], types: Sequence[op.SampleType]
) -> tuple[str, ...]:
    """The library whose code resizes, with `compat`. torchvision's rule is computed here."""
    return _LIBRARIES.get(arguments.get("compat") or "", ())


def compat_filters(call: op.Call) -> op.Int64Array:
    """The filters of a call (N,), checked."""
    compat, filters = call["compat"], call["interp_type"]
    if filters is None:
        filters = np.full(call.size, int(op.InterpType.INTERP_LINEAR), np.int64)
    known = KNOWN[compat]
    bad = ~np.isin(filters, known)
    expected = f"one of {', '.join(NAMES[name] for name in known)} with {compat!r}"
    op.refuse_samples(bad, "interp_type", expected, filters)
    if compat == "torchvision" and not call["antialias"]:
        bad = filters == _LANCZOS
        op.refuse_samples(bad, "antialias", "True: torchvision's LANCZOS requires it", filters)
    if compat == "opencv":
        area = filters == op.InterpType.INTERP_TRIANGULAR
        limits = np.where(area, AREA_CHANNELS, MOST_CHANNELS)
        layout, shapes = call.types[0].layout or "", call.inputs[0].batch_shape.shapes
        channels = shapes[:, layout.index("C")] if "C" in layout else np.ones(call.size, np.int64)
        for limit in (AREA_CHANNELS, MOST_CHANNELS):
            expected = f"at most {limit} channels, as OpenCV's filter"
            op.refuse_samples((channels > limits) & (limits == limit), "compat", expected, channels)
    return np.asarray(filters)


def compat_sizes(call: op.Call, inputs: op.Int64Array) -> tuple[op.Int64Array, Array, Array]:
    """Output sizes (N, 2), and both corners of the regions (N, 2), for inputs of (h, w)."""
    compat, mode, limit = call["compat"], call["mode"], per_axis(call, "max_size", 2)
    if (inputs == 0).any():
        raise op.OperatorValueError(
            "`compat` takes images that have pixels", sample=int(np.argwhere(inputs == 0)[0][0])
        )
    low, high = _regions(call, inputs)
    wanted = {name: per_axis(call, name, 2) for name in ("size",)}
    for name in ("resize_x", "resize_y", "resize_z", "resize_shorter", "resize_longer"):
        wanted[name] = None if call[name] is None else call[name].astype(np.float64)
    for name, value in wanted.items():
        if value is not None:
            _refuse(name, "sizes that are not negative, with `compat`", value, value < 0)
    # Refuses what contradicts itself; and OpenCV has no rule of its own.
    sizes, _, _ = resize_geometry(
        inputs,
        **wanted,
        mode=mode,
        max_size=limit,
        subpixel_scale=False,
        roi_start=low,
        roi_end=high,
    )
    if compat == "opencv":
        return sizes, low, high
    named = next(
        (wanted[n] for n in ("resize_shorter", "resize_longer") if wanted[n] is not None), None
    )
    rule = call.arguments.get("size_rule")
    if named is not None:
        shorter = wanted["resize_shorter"] is not None
        sized = _like_detr if rule is not None and shorter and limit is not None else _truncated
        return sized(np.floor(named + 0.5), shorter, limit, high - low), low, high
    if mode not in (None, "default", "stretch", "not_larger"):
        raise op.wrong_value("mode", f"no {mode!r}: {compat!r} has no such rule", repr(mode))
    if limit is not None:
        raise op.wrong_value("max_size", f"`resize_shorter` beside it with {compat!r}", "none")
    for names in (("size",), ("resize_x", "resize_y")):
        values = [wanted[name] for name in names]
        if any(value is not None for value in values):
            for name, value in zip(names, values, strict=True):
                expected = f"a size for each axis with {compat!r}"
                if value is None:
                    raise op.wrong_value(name, expected, "none")
                _refuse(name, expected, value, value == 0)
    if mode == "not_larger":
        sizes = _fitted(wanted, high - low)
    return sizes, low, high


def _fitted(wanted: Mapping[str, Any], extents: Array) -> op.Int64Array:
    """Sizes (N, 2) that fit into those that are asked for, with the aspect ratio kept and both
    sides truncated: the rule of the processors of `transformers` whose size is a greatest height
    and a greatest width."""
    name = "size" if wanted["size"] is not None else "resize_x"
    limits = wanted["size"]
    if limits is None:
        limits = np.stack([wanted["resize_y"], wanted["resize_x"]], axis=1)
    scale = (np.floor(limits + 0.5) / extents).min(axis=1, keepdims=True)
    made = np.trunc(extents * scale)
    bad = (made < 1).any(axis=1)
    _refuse(name, "a size that leaves a pixel of each side", limits.min(axis=1), bad)
    sizes: op.Int64Array = made.astype(np.int64)
    return sizes


def _like_detr(named: Array, shorter: bool, limit: Array | None, extents: Array) -> op.Int64Array:
    """The rule of DETR's processors: where the longer side would be above `limit`, the shorter one
    is rounded, halves to even, and the longer one follows from it before it was rounded.

    As `_truncated`, for a limit that is given, and the shorter side.
    """
    assert limit is not None
    top = np.floor(limit[:, 0] + 0.5)
    if (limit != limit[:, :1]).any():
        raise op.wrong_value("max_size", "one number beside `resize_shorter`", limit[0])
    short, long = extents.min(axis=1), extents.max(axis=1)
    over = long / short * named > top
    exact = np.where(over, top * short / long, named)
    new_short = np.where(over, np.rint(exact), named)
    new_long = np.where(short == new_short, long, np.trunc(exact * long / short))
    expected = "a size that leaves a pixel of each side"
    _refuse("resize_shorter", expected, named, np.minimum(new_short, new_long) < 1)
    portrait = (extents[:, 1] < extents[:, 0])[:, np.newaxis]
    pair = np.stack([new_short, new_long], axis=1)
    sizes: op.Int64Array = np.where(portrait, pair[:, ::-1], pair).astype(np.int64)
    return sizes


def _truncated(named: Array, shorter: bool, limit: Array | None, extents: Array) -> op.Int64Array:
    """torchvision's rule, for tensors and for Pillow's images: the other side is truncated.

    named: (N,) pixels of the shorter side, or else of the longer one, which is also what `limit`
    says; extents: (N, 2) of the regions.
    """
    short, long = extents.min(axis=1), extents.max(axis=1)
    if limit is not None:
        name = "max_size"
        if not shorter or (limit != limit[:, :1]).any():
            raise op.wrong_value(name, "one number beside `resize_shorter`", limit[0])
        top = np.floor(limit[:, 0] + 0.5)
        _refuse(name, "more than `resize_shorter`", top, top <= named)
    if shorter:
        new_short, new_long = named, np.trunc(named * long / short)
        if limit is not None:
            over = new_long > top
            new_short = np.where(
                over, np.trunc(top * new_short / np.maximum(new_long, 1)), new_short
            )
            new_long = np.where(over, top, new_long)
    else:
        new_short, new_long = np.trunc(named * short / long), named
    name = "resize_shorter" if shorter else "resize_longer"
    _refuse(name, "a size that leaves a pixel of each side", named, new_short < 1)
    portrait = extents[:, 1] <= extents[:, 0]
    height, width = np.where(portrait, new_long, new_short), np.where(portrait, new_short, new_long)
    return np.stack([height, width], axis=1).astype(np.int64)


def _regions(call: op.Call, inputs: op.Int64Array) -> tuple[Array, Array]:
    """Both corners (N, 2): in whole pixels, but for Pillow."""
    start, end = per_axis(call, "roi_start", 2), per_axis(call, "roi_end", 2)
    whole = inputs.astype(np.float64)
    if start is None or end is None:
        if (start is None) != (end is None):
            raise op.OperatorValueError("give both `roi_start` and `roi_end`, or neither")
        return np.zeros_like(whole), whole
    relative = call["roi_relative"]
    corners = []
    for name, corner in (("roi_start", start), ("roi_end", end)):
        place = corner * inputs if relative else corner
        if call["compat"] != "pil":
            if relative:
                place = np.floor(place + 0.5)
            whole_only = "whole pixels: this library crops first"
            _refuse(name, whole_only, place, place != np.floor(place))
        bad = ~((place >= 0) & (place <= whole))
        _refuse(name, "a region inside the image, with `compat`", place, bad)
        corners.append(place)
    low, high = corners
    if (low >= high).any():
        _refuse("roi_end", "more than `roi_start`, with `compat`", high, low >= high)
    return low, high


def _refuse(name: str, expected: str, values: Array, bad: Array) -> None:
    op.refuse_samples(bad, name, expected, lambda _: f"{values[bad][0]:g}")


def run_compat(call: op.Call, plan: ResizePlan) -> None:
    """The kernel. A sample at a time: the libraries release the GIL."""
    regions = np.hstack([plan.low, plan.high])
    compat, antialias = call["compat"], call["antialias"]
    source, target = call.inputs[0], call.outputs[0]
    layout = target.layout
    pixels = (
        None if compat == "torchvision" else {"pil": resize_pil, "opencv": resize_opencv}[compat]
    )

    def make(sample: int) -> None:
        image, made = source.array(sample), target.array(sample)
        if not made.size:
            return
        filter = op.InterpType(int(plan.filters[sample]))
        region = tuple(regions[sample].tolist())
        if pixels is None:
            _torchvision(image, region, made, layout.index("H"), filter, antialias)
            return
        frames = _frames(image, layout)
        if plan.crop or compat == "opencv":
            top, left, bottom, right = map(int, region)
            frames = frames[:, top:bottom, left:right]
            region = (0, 0, bottom - top, right - left)
        for one, other in zip(frames, _frames(made, layout), strict=True):
            pixels(one, region, other, filter)

    volumes = np.maximum(source.batch_shape.volumes, target.batch_shape.volumes)
    call.each_sample(make, volumes.tolist())


def _frames(sample: Array, layout: str) -> Array:
    """A view (frames, H, W, C) of a sample."""
    if "C" in layout:
        sample = np.moveaxis(sample, layout.index("C"), -1)
    else:
        sample = sample[..., None]
    return sample if "F" in layout else sample[None]


def _torchvision(
    image: Array, region: Any, made: Array, first: int, filter: op.InterpType, antialias: bool
) -> None:
    """Its resize of tensors, for samples whose axes H and W are `first` and the next."""
    top, left, bottom, right = map(int, region)

    def planes(sample: Array) -> Array:
        height, width = sample.shape[first : first + 2]
        channels = int(np.prod(sample.shape[first + 2 :]))
        return sample.reshape(-1, height, width, channels)

    one, other = planes(image), planes(made)
    if other.shape[1:3] == (bottom - top, right - left):
        other[:] = one[:, top:bottom, left:right]
    elif filter in _NEAREST:
        nearest(one, (top, left, bottom, right), other, filter == _NEAREST[1])
    else:
        resize_torch(one, (top, left, bottom, right), other, int(filter), antialias)
