"""`bbox_rotate`: boxes of an image that is rotated."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from gradiva.eager.arguments import FloatArg, FloatsArg, IntsArg
from gradiva.eager.batch import batch
from gradiva.eager.case import Case, samples
from gradiva.eager.dtypes import float32, float64, int32
from gradiva.eager.errors import OperatorTypeError, OperatorValueError
from gradiva.eager.operator import operator
from gradiva.eager.run import Call
from gradiva.eager.value import SampleType

from .checks import refuse, require_boxes, require_fours, require_labels

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from gradiva.eager.arguments import Common

__all__ = ["bbox_rotate"]

_MODES = {"expand": 1.0, "halfway": 0.5, "fixed": 0.0}
_LAYOUTS = ("xyXY", "xyWH")
_LEAST = 0.01
"""What an extent may be above a whole number without another row of pixels, as in `rotate`."""


@operator("bbox_rotate", inputs=(1, 2))
def bbox_rotate(
    boxes: SampleType,
    labels: Any = None,
    /,
    *,
    angle: FloatArg,
    input_shape: IntsArg,
    bbox_layout: str = "xyXY",
    bbox_normalized: bool = True,
    keep_size: bool = False,
    mode: str = "expand",
    remove_threshold: float = 0.1,
    shape_layout: str = "HW",
    size: FloatsArg | None = None,
    **common: Unpack[Common],
) -> SampleType | tuple[SampleType, SampleType]:
    """Keep boxes in place when their image is rotated about its centre (`rotate`).

    boxes: float32, (n, 4); bbox_layout: "xyXY", corners, or "xyWH", a corner and the size; as
        fractions of the image, or pixels with bbox_normalized=False. labels: int32, (n,) or (n, 1).
    angle: in degrees, counter-clockwise. input_shape: of the image, in the order `shape_layout`,
        which has an H and a W. Both may differ per sample.
    keep_size: the result has the size of the image; size: it has this one (height, width), which
        may differ per sample. Without both, it holds all of the rotated image.
    mode: "expand": a box holds all of its rotated self; "fixed": it keeps its size, about the
        rotated centre, with its sides exchanged from 45 degrees on; "halfway": sizes are half way
        between these.
    remove_threshold: a box is removed if less than this part of it, from 0 to 1, is left inside;
        boxes without an area too, unless it is 0.

    Returns the boxes in the layout they came in, in fractions of the new size or in its pixels, cut
    at the edges; and the labels of those that are left, if given. Raises OperatorTypeError for
    other dtypes and ranks, OperatorValueError for arguments out of range.
    """
    require_boxes(boxes, labels)
    if bbox_layout not in _LAYOUTS:
        raise OperatorValueError(
            argument="bbox_layout", expected="'xyXY' or 'xyWH'", got=repr(bbox_layout)
        )
    if mode not in _MODES:
        raise OperatorValueError(
            argument="mode", expected="'expand', 'halfway' or 'fixed'", got=repr(mode)
        )
    if not 0 <= remove_threshold <= 1:
        raise OperatorValueError(
            argument="remove_threshold", expected="a number from 0 to 1", got=str(remove_threshold)
        )
    if "H" not in shape_layout or "W" not in shape_layout:
        raise OperatorValueError(
            argument="shape_layout", expected="a layout with H and W", got=repr(shape_layout)
        )
    if keep_size and size is not None:
        raise OperatorValueError("`keep_size` and `size` exclude each other")
    made = SampleType(float32, 2, "", boxes.device)
    if labels is None:
        return made
    return made, SampleType(int32, labels.ndim, "", labels.device)


def _turn(degrees: float) -> tuple[float, float]:
    """Cosine and sine, exact for quarters of a turn."""
    quarter, rest = divmod(degrees, 90.0)
    if rest == 0.0:
        return ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))[int(quarter) % 4]
    return math.cos(math.radians(degrees)), math.sin(math.radians(degrees))


def _upright(cosine: float, sine: float) -> bool:
    """Whether the sides of an image stay nearer to what they were than to each other."""
    return abs(sine) < abs(cosine) - 1e-6


def _canvas(height: int, width: int, cosine: float, sine: float) -> tuple[float, float]:
    """Height and width that hold the rotated image. A side keeps the parity of the side that it
    turns into, so that the centre falls on a pixel, or between pixels, as before."""
    upright = _upright(cosine, sine)
    cosine, sine = abs(cosine), abs(sine)
    tall = math.ceil(cosine * height + sine * width - _LEAST)
    wide = math.ceil(cosine * width + sine * height - _LEAST)
    tall += (tall - (height if upright else width)) % 2
    wide += (wide - (width if upright else height)) % 2
    return float(tall), float(wide)


def _rotated(
    boxes: Any, sizes: tuple[float, float, float, float], turn: tuple[float, float], share: float
) -> Any:
    """(n, 4) corners in the new pixels, of boxes in the old ones."""
    height, width, tall, wide = sizes
    cosine, sine = turn
    centre_x = (boxes[:, 0] + boxes[:, 2] - width) / 2
    centre_y = (boxes[:, 1] + boxes[:, 3] - height) / 2
    half_x = abs(boxes[:, 2] - boxes[:, 0]) / 2
    half_y = abs(boxes[:, 3] - boxes[:, 1]) / 2
    grown_x = abs(cosine) * half_x + abs(sine) * half_y
    grown_y = abs(cosine) * half_y + abs(sine) * half_x
    if not _upright(cosine, sine):
        half_x, half_y = half_y, half_x
    half_x = share * grown_x + (1 - share) * half_x
    half_y = share * grown_y + (1 - share) * half_y
    x = centre_x * cosine + centre_y * sine + wide / 2
    y = centre_y * cosine - centre_x * sine + tall / 2
    return np.stack([x - half_x, y - half_y, x + half_x, y + half_y], axis=1)


def _sizes(call: Call) -> Any:
    """(N, 4): height and width of the image and of the result. Raises OperatorValueError."""
    layout, shapes, given = call["shape_layout"], call["input_shape"], call["size"]
    if shapes.shape[1] < len(layout):
        raise OperatorValueError(
            argument="input_shape",
            expected=f"{len(layout)} numbers, as `shape_layout` has",
            got=str(shapes.shape[1]),
        )
    image = shapes[:, [layout.index("H"), layout.index("W")]].astype(np.float64)
    bad = ((image < 1) | (image > 1 << 30)).any(axis=1)
    refuse(bad, "", "sizes from 1 on", shapes, argument="input_shape")
    bad = ~np.isfinite(call["angle"])
    refuse(bad, "", "a number of degrees", call["angle"], argument="angle")
    if given is not None and given.shape[1]:
        if given.shape[1] != 2:
            raise OperatorValueError(
                argument="size", expected="(height, width)", got=f"{given.shape[1]} numbers"
            )
        bad = ~((given >= 1) & (given <= 1 << 30)).all(axis=1)
        refuse(bad, "", "sizes from 1 on", given, argument="size")
        result = np.floor(given.astype(np.float64))
    elif call["keep_size"]:
        result = image
    else:
        turns = [_turn(float(angle)) for angle in call["angle"]]
        pairs = zip(image.tolist(), turns, strict=True)
        canvases = [_canvas(int(size[0]), int(size[1]), *turn) for size, turn in pairs]
        result = np.array(canvases).reshape(-1, 2)
    return np.concatenate([image, result], axis=1)


@bbox_rotate.shapes
def _shapes(call: Call) -> Any:
    require_fours(call.inputs[0])
    if len(call.inputs) > 1:
        require_labels(call)
        if call.inputs[1].ndim == 2:
            shapes = call.inputs[1].geometry.shapes
            refuse(shapes[:, 1] != 1, "there is a label for each box", "(n,) or (n, 1)", shapes)
    sizes = _sizes(call)
    sized, share = call["bbox_layout"] == "xyWH", _MODES[call["mode"]]
    found, kept = [], []
    for i, given in enumerate(call.inputs[0].arrays()):
        height, width, tall, wide = sizes[i].tolist()
        boxes = given.astype(np.float64)
        if sized:
            boxes[:, 2:] += boxes[:, :2]
        if call["bbox_normalized"]:
            boxes *= (width, height, width, height)
        turn = _turn(float(call["angle"][i]))
        whole = _rotated(boxes, (height, width, tall, wide), turn, share)
        cut = np.clip(whole, 0.0, (wide, tall, wide, tall))
        areas = [np.prod(corners[:, 2:] - corners[:, :2], axis=1) for corners in (whole, cut)]
        left = areas[1] / np.where(areas[0] > 0, areas[0], 1.0)
        stays = left >= call["remove_threshold"]
        if call["bbox_normalized"]:
            cut /= (wide, tall, wide, tall)
        if sized:
            cut[:, 2:] -= cut[:, :2]
        found.append(cut[stays])
        kept.append(stays)
    call.notes["found"] = found, kept
    counts = np.array([len(boxes) for boxes in found], np.int64).reshape(-1, 1)
    made = np.insert(counts, 1, 4, axis=1)
    if len(call.inputs) == 1:
        return made
    shapes = call.inputs[1].geometry.shapes.copy()
    shapes[:, :1] = counts
    return made, shapes


@bbox_rotate.cpu
def _cpu(call: Call) -> None:
    found, kept = call.notes["found"]
    for i in range(call.size):
        call.outputs[0].array(i)[...] = found[i]
        if len(call.inputs) > 1:
            call.outputs[1].array(i)[...] = call.inputs[1].array(i)[kept[i]]


@bbox_rotate.cases
def _cases() -> list[Case]:
    one = np.array([[0.25, 0.125, 0.5, 0.625], [0.5, 0.5, 1, 0.75]], np.float32)
    boxes = batch([one, np.zeros((0, 4), np.float32)])
    labels = batch([np.array([3, 4], np.int32), np.zeros(0, np.int32)])
    given: dict[str, Any] = {"input_shape": (40, 80)}
    left = np.array([[0.125, 0.5, 0.625, 0.75], [0.5, 0, 0.75, 0.5]], np.float32)
    pixels = np.array([[5, 40, 25, 60], [20, 0, 30, 40]], np.float32)
    return [
        Case("as it is", (boxes,), {"angle": 0, **given}, [one, boxes.at(1)]),
        Case("a quarter", (boxes,), {"angle": 90, **given}, [left, boxes.at(1)]),
        Case("labels", (boxes, labels), {"angle": 90, **given, "keep_size": True}),
        Case("pixels", (batch([one * np.array([80, 40, 80, 40], np.float32)]),),
             {"angle": 90, **given, "bbox_normalized": False}, [pixels]),
        Case("fixed", (boxes,), {"angle": 30, "mode": "fixed", "input_shape": (9, 30, 3),
             "shape_layout": "HWC"}, oracle=False),
        Case("halfway, sizes", (boxes,), {"angle": -20, "mode": "halfway", **given,
             "bbox_layout": "xyWH", "size": [(50, 60), (30.5, 70)], "remove_threshold": 0.5},
             oracle=False),
        Case("empty", (samples(dtype=float32, layout="NC"),), {"angle": 3, **given}, []),
        Case("dtype", (samples((2, 4), dtype=float64, layout=""),), {"angle": 3, **given},
             raises=OperatorTypeError, match="dtype"),
        Case("five numbers", (samples((2, 5), dtype=float32, layout=""),),
             {"angle": 3, **given}, raises=OperatorValueError, match="sample 0"),
        Case("labels of others", (boxes, batch([labels.at(0)] * 2)), {"angle": 3, **given},
             raises=OperatorValueError, match="sample 1"),
        Case("mode", (boxes,), {"angle": 3, **given, "mode": "grow"},
             raises=OperatorValueError, match="`mode`"),
        Case("no angle", (boxes,), {"angle": float("nan"), **given},
             raises=OperatorValueError, match="`angle`"),
        Case("no shape", (boxes,), {"angle": 3}, raises=OperatorTypeError,
             match="`input_shape`"),
    ]  # fmt: skip
