"""`roi_random_crop`: where a crop window begins that holds as much of a region as it can."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.random.philox import philox
from gradiva.eager.types.arrays import I64Table, I64Vector
from gradiva.ops.random.scaled import scaled


@op.maker("roi_random_crop", schema="ROIRandomCrop", inputs=(0, 1), random=True)
def roi_random_crop(
    input: op.SampleType | op.Value | None = None,
    /,
    *,
    crop_shape: op.IntsArg,
    roi_start: op.IntsArg,
    roi_end: op.IntsArg | None = None,
    roi_shape: op.IntsArg | None = None,
    in_shape: op.IntsArg | None = None,
    **common: op.Unpack[op.Sampled],
) -> op.SampleType:
    """Draw where a crop window begins, near a region of interest (ROI).

    Args:
        crop_shape: the size of the window, a number for each axis.
        roi_start, roi_end, roi_shape: the region. All in pixels, and may differ per sample.
        input, in_shape: what is cropped, or its shape (of the first axes, as many as `crop_shape`
            has). The window then lies inside. Without both it may lie anywhere.

    Returns:
        The start, int64, a number for each axis. Along an axis where the window is smaller than the
        region it lies in the region, else the region lies in it; every such place has the same
        probability.

    Raises:
        OperatorValueError: if the region or the window is not inside the input, and for arguments
            that do not go together.

    Example:
        image = gradiva.imread("cat.jpg")
        start = gradiva.roi_random_crop(
            image, crop_shape=(200, 200), roi_start=(60, 100), roi_shape=(120, 180)
        )
        window = gradiva.slice(image, start=start, shape=(200, 200), axis_names="HW")
    """
    if (roi_end is None) == (roi_shape is None):
        raise op.OperatorValueError("give one of `roi_end` and `roi_shape`")
    if input is not None and in_shape is not None:
        raise op.OperatorValueError("`in_shape` excludes an input", argument="in_shape")
    device: Any = getattr(input, "device", "cpu")
    return op.SampleType(op.int64, 1, "", device)


@roi_random_crop.shapes
def _shapes(call: op.Call) -> op.BatchShape:
    return op.BatchShape.equal(call.size, (call["crop_shape"].shape[1],))


def _rows(call: op.Call, name: str) -> op.Int64Array:
    rows: op.Int64Array = call[name]
    wanted = call["crop_shape"].shape[1]
    if rows.shape[1] != wanted:
        raise op.wrong_value(name, f"{wanted} numbers, as `crop_shape` has", rows.shape[1])
    return rows


def _refuse(problem: str, bad: Any, argument: str, expected: Any, got: Any) -> None:
    if bad.any():
        sample = int(np.flatnonzero(bad.any(axis=1))[0])
        raise op.OperatorValueError(
            problem,
            argument=argument,
            expected=expected if isinstance(expected, str) else f"{expected[sample].tolist()}",
            got=str(got[sample].tolist()),
            sample=sample,
        )


@op.jit
def _starts(
    lows: I64Table,
    highs: I64Table,
    positions: I64Vector,
    seed: np.uint64,
    number: np.uint32,
    starts: I64Table,
) -> None:
    """Draw where windows begin, from `lows` to `highs` (N, axes), in pixels.

    positions, seed, number: what random values depend on.
    """
    for i in range(len(lows)):
        for axis in range(lows.shape[1]):
            words = philox(np.uint32(axis), number, np.uint64(positions[i]), seed)
            word = (np.uint64(words[0]) << np.uint64(32)) | np.uint64(words[1])
            places = np.uint64(highs[i, axis] - lows[i, axis] + 1)
            starts[i, axis] = lows[i, axis] + np.int64(scaled(word, places))


@roi_random_crop.cpu
def _cpu(call: op.Call) -> None:
    crop, start = _rows(call, "crop_shape"), _rows(call, "roi_start")
    if call["roi_end"] is not None:
        end = _rows(call, "roi_end")
        _refuse("", end < start, "roi_end", "ends behind `roi_start`", end)
    else:
        shape = _rows(call, "roi_shape")
        _refuse("", shape < 0, "roi_shape", "sizes from 0 on", shape)
        end = start + shape
    _refuse("", crop < 0, "crop_shape", "sizes from 0 on", crop)
    most = 1 << 40
    for name, values in (("crop_shape", crop), ("roi_start", start), ("roi_end", end)):
        _refuse("", (values > most) | (values < -most), name, f"numbers of at most {most}", values)
    lows, highs = np.minimum(start, end - crop), np.maximum(start, end - crop)
    outer = None if call["in_shape"] is None else _rows(call, "in_shape")
    if call.inputs:
        outer = call.inputs[0].batch_shape.shapes
        if outer.shape[1] < crop.shape[1]:
            raise op.wrong_value(
                "crop_shape",
                f"at most {outer.shape[1]} numbers, the axes of the input",
                crop.shape[1],
            )
        outer = outer[:, : crop.shape[1]]
    if outer is not None:
        _refuse(
            "the window is larger than the input",
            crop > outer,
            "crop_shape",
            "at most " + str(outer[0].tolist()) if len(outer) == 1 else outer,
            crop,
        )
        _refuse("the region is not inside the input", start < 0, "roi_start", "from 0 on", start)
        _refuse("the region is not inside the input", end > outer, "roi_start", outer, end)
        lows, highs = np.maximum(lows, 0), np.minimum(highs, outer - crop)
    lows, highs = np.ascontiguousarray(lows), np.ascontiguousarray(highs)
    positions: Any = call.positions
    _starts(lows, highs, positions, *call.seed_and_number, call.outputs[0].as_array())


@roi_random_crop.cases
def _cases() -> list[op.Case]:
    images = op.samples((15, 16, 3), (9, 9, 3))
    region = {"roi_start": (1, 2), "roi_shape": (3, 4)}
    place = [np.array([1, 2])] * 2
    return [
        op.case("inside", batch_size=4, crop_shape=(2, 1), **region, seed=1).no_oracle(),
        op.case("as large", images, crop_shape=(3, 4), **region).equals(place),
        op.case("ends", images, crop_shape=(3, 4), roi_start=(1, 2), roi_end=(4, 6)).equals(place),
        op.case("around", images, crop_shape=(7, 8), **region, seed=2).no_oracle(),
        op.case("unbounded", batch_size=3, crop_shape=(70, 80), **region, seed=2).no_oracle(),
        op.case("all of it", batch_size=2, crop_shape=(9, 9), **region, in_shape=(9, 9))
        .equals([np.array([0, 0])] * 2)
        .no_oracle(),
        op.case("empty", op.samples(), crop_shape=(2, 2), **region).equals([]),
        op.case("too large", images, crop_shape=(10, 9), **region).value_error("sample 1"),
        op.case(
            "outside", images, crop_shape=(2, 2), roi_start=(0, 0), roi_end=(10, 4)
        ).value_error("not inside"),
        op.case("no region", images, crop_shape=(2, 2), roi_start=(0, 0)).value_error("`roi_end`"),
        op.case(
            "backwards", images, crop_shape=(2, 2), roi_start=(5, 5), roi_end=(4, 7)
        ).value_error("`roi_end`"),
        op.case("axes", images, crop_shape=(2, 2, 2), **region).value_error("`roi_start`"),
        op.case("no window", images, **region).type_error("`crop_shape`"),
    ]
