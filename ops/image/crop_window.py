"""Where a crop lies: integer anchors and shapes for a whole batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, TypedDict

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.support.errors import OperatorIndexError
from gradiva.eager.types.arrays import Array, Float32Array, Int64Array

LAYOUTS: Final = (
    "HWC", "CHW", "DHWC", "CDHW", "FHWC", "FCHW", "CFHW", "FDHWC", "FCDHW", "CFDHW",
)  # fmt: skip
DEFAULT_LAYOUTS: Final = {3: "HWC", 4: "DHWC", 5: "FDHWC"}
_LARGEST: Final = 1 << 31
POSITIONS: Final = {"W": "x", "H": "y", "D": "z"}
_ROUNDINGS: Final = ("round", "truncate", "floor", "torchvision", "equal")
POLICIES: Final = ("error", "pad", "trim_to_shape")


@op.argument_group(crop_pos_x=0.5, crop_pos_y=0.5, crop_pos_z=0.5, rounding="round")
class CropWindow(TypedDict, total=False):
    """
    Args:
        crop: (h, w) or (d, h, w) of the window in pixels; may differ per sample. Fractions are
            dropped, and sizes between 0 and 1 refused; one that is 0 or not given is the full
            extent. d counts frames in sequences.
        crop_h, crop_w, crop_d: in place of `crop`, the sizes one by one; may differ per sample.
        crop_pos_x, crop_pos_y, crop_pos_z: where the window lies, from 0 (low end) to 1 (high end);
            may differ per sample. It starts at position * (extent - size).
        rounding: the rounding of that start: "round" (half away from zero), "truncate", "floor"
            (which differ where a window is larger than its sample), or "torchvision", as its
            CenterCrop: half to even, and toward zero where the window is larger than the sample.
            "equal" makes all starts as likely, for positions that are drawn uniformly: the whole
            part of position * (extent - size + 1).
    """

    crop: op.FloatsArg | None
    crop_h: op.FloatArg | None
    crop_w: op.FloatArg | None
    crop_d: op.FloatArg | None
    crop_pos_x: op.FloatArg
    crop_pos_y: op.FloatArg
    crop_pos_z: op.FloatArg
    rounding: str


@op.argument_group(out_of_bounds_policy="error", fill_values=0.0)
class OutOfBounds(TypedDict, total=False):
    """
    Args:
        out_of_bounds_policy: what to do with a window that leaves the sample: "error", "pad" (with
            `fill_values`) or "trim_to_shape".
        fill_values: with "pad", the value outside of the sample, or one for each channel.
    """

    out_of_bounds_policy: str
    fill_values: op.Floats


class CropArguments(CropWindow, OutOfBounds, op.Common, total=False):
    """What operators take that cut windows out of samples."""


@dataclass(frozen=True)
class WindowPlan(op.Plan):
    """anchors: where the window of each sample begins, (N, ndim)."""

    anchors: Int64Array


def window_of(call: op.Call, shapes: Int64Array, layout: str) -> tuple[Int64Array, Int64Array]:
    """Anchors and shapes of the windows of a call, both (N, ndim) like `shapes`.

    `crop` is (h, w) or (d, h, w), for all samples or one row per sample. Sizes are truncated to
    integers; one that is 0, negative or not given means the full extent. The anchor is
    pos * (extent - size) in float64, rounded half away from zero ("round"), toward zero
    ("truncate"), down ("floor"), or half to even if it is not negative ("torchvision"); "equal"
    divides the positions evenly among the starts from 0 to extent - size. The anchor is negative
    where the window is larger than the sample. The depth is the D axis or, without one, the F axis;
    in layouts with neither it is ignored.
    """
    if layout not in LAYOUTS:
        raise op.OperatorValueError(f"Layout {layout!r} is not one of {', '.join(LAYOUTS)}.")
    values = call.arguments
    rounding = values["rounding"]
    if rounding not in _ROUNDINGS:
        raise op.wrong_value("rounding", f"one of {', '.join(_ROUNDINGS)}", repr(rounding))
    sizes = _sizes(values)
    anchors = np.zeros(shapes.shape, np.int64)
    windows = shapes.copy()
    for letter, size in sizes.items():
        axis = layout.find("F" if letter == "D" and "D" not in layout else letter)
        if axis < 0:
            continue
        name = f"crop_pos_{POSITIONS[letter]}"
        position = values[name]
        outside = ~((position >= 0) & (position <= 1))
        op.refuse_samples(outside, name, "a position from 0 to 1", position)
        windows[:, axis] = np.where(size > 0, size, shapes[:, axis])
        # The product is exact in float64; in float32 it would move anchors of long extents.
        exact = position.astype(np.float64) * (shapes[:, axis] - windows[:, axis])
        whole = np.floor(exact) if rounding == "floor" else np.trunc(exact)
        if rounding == "round":
            whole += np.copysign((np.abs(exact - whole) >= 0.5).astype(np.float64), exact)
        elif rounding == "torchvision":
            whole = np.where(exact > 0, np.rint(exact), whole)
        elif rounding == "equal":
            room = shapes[:, axis] - windows[:, axis]
            starts = np.minimum(np.floor(position * (np.abs(room) + 1.0)), np.abs(room))
            whole = np.copysign(starts, room)
        anchors[:, axis] = whole.astype(np.int64)
    return anchors, windows


def apply_policy(
    shapes: Int64Array, anchors: Int64Array, windows: Int64Array, policy: str
) -> tuple[Int64Array, Int64Array]:
    """Anchors and shapes after `out_of_bounds_policy`: "error", "pad" or "trim_to_shape"."""
    if policy not in POLICIES:
        raise op.wrong_value("out_of_bounds_policy", f"one of {', '.join(POLICIES)}", repr(policy))
    if policy == "trim_to_shape":
        begin = np.clip(anchors, 0, shapes)
        end = np.clip(anchors + windows, 0, shapes)
        return begin, end - begin
    outside = (anchors < 0) | (anchors + windows > shapes)
    if policy == "error" and outside.any():
        i = int(np.flatnonzero(outside.any(axis=1))[0])
        raise op.OperatorValueError(
            f"The window at {tuple(anchors[i].tolist())} of shape {tuple(windows[i].tolist())} "
            f"leaves the sample of shape {tuple(shapes[i].tolist())}; "
            'out_of_bounds_policy="pad" or "trim_to_shape" would accept it',
            sample=i,
        )
    return anchors, windows


def window_in(call: op.Call, layout: str) -> tuple[Int64Array, Int64Array]:
    """Anchors and shapes of the windows of a call, after its policy."""
    shapes = call.inputs[0].batch_shape.shapes
    return apply_policy(shapes, *window_of(call, shapes, layout), call["out_of_bounds_policy"])


def named_axes(layout: str, ndim: int, names: str | None, axes: Sequence[int] | None) -> list[int]:
    """The axes with these names; without names, these axes, negative ones counted from the end.

    Raises OperatorIndexError for axes that are not there or given twice, and OperatorValueError for
    such names.
    """
    if names is not None:
        if len(set(names)) < len(names) or not set(names) <= set(layout):
            there = f"axes of {layout!r}" if layout else "`axes`, for there is no layout"
            raise op.wrong_value("axis_names", there, repr(names))
        return [layout.index(letter) for letter in names]
    given = list(axes or ())
    wrapped = [axis + ndim if axis < 0 else axis for axis in given]
    if len(set(wrapped)) < len(wrapped) or not all(0 <= axis < ndim for axis in wrapped):
        expected = f"numbers from {-ndim} to {ndim - 1}, each axis once"
        raise OperatorIndexError(argument="axes", expected=expected, got=str(given))
    return wrapped


def fill_array(fill_values: float | Sequence[float] | Array, dtype: np.dtype[Any]) -> Array:
    """Fill values in the output's dtype: truncated and wrapped as by a C cast, not rounded."""
    with np.errstate(over="ignore"):
        values = np.atleast_1d(np.asarray(fill_values, np.float32))
    if dtype.kind == "f":
        return values.astype(dtype)
    with np.errstate(invalid="ignore"):
        return np.where(np.isnan(values), 0, values).astype(np.int64).astype(dtype)


def _sizes(values: dict[str, Any]) -> dict[str, Int64Array]:
    crop, crop_h, crop_w, crop_d = [values[f"crop{end}"] for end in ("", "_h", "_w", "_d")]
    if crop is not None:
        if crop_h is not None or crop_w is not None or crop_d is not None:
            raise op.OperatorValueError("`crop` excludes `crop_h`, `crop_w` and `crop_d`")
        if crop.shape[1] not in (2, 3):
            shown = "one number" if crop.shape[1] == 1 else f"{crop.shape[1]} numbers"
            raise op.wrong_value("crop", "two numbers (h, w), or three (d, h, w)", shown)
        whole = _whole("crop", crop)
        return {letter: whole[:, k] for k, letter in enumerate("DHW"[-crop.shape[1] :])}
    if (crop_h is None) != (crop_w is None):
        raise op.OperatorValueError("`crop_w` and `crop_h` must be given together")
    if crop_d is not None and crop_w is None:
        raise op.OperatorValueError("`crop_d` must be given together with `crop_w` and `crop_h`")
    given = {"D": crop_d, "H": crop_h, "W": crop_w}
    return {
        letter: _whole(f"crop_{letter.lower()}", value)
        for letter, value in given.items()
        if value is not None
    }


def _whole(name: str, sizes: Float32Array) -> Int64Array:
    """Sizes without their fractions. Raises OperatorValueError, for NaN, infinity and what is less
    than a pixel, too."""
    bad = ~(np.abs(sizes) <= _LARGEST)
    op.refuse_samples(bad, name, f"a size of at most {_LARGEST} pixels", sizes)
    part = (sizes > 0) & (sizes < 1)  # 0 would be the whole extent
    op.refuse_samples(part, name, "pixels; `slice` takes parts of the extent", sizes)
    return sizes.astype(np.int64)
