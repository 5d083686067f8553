"""Random crop windows: one generator for all operators that cut them, and the operator
`random_crop_generator`.

The procedure is the one that the training of Inception made common (Szegedy et al.: "Going deeper
with convolutions", CVPR 2015, section 6; "Inception-style" crops): draw an area, as a fraction of
the image, and an aspect ratio, log-uniformly; keep the window if it fits into the image, else try
again. After the last attempt take the largest window of the allowed ratio that is nearest to the
image's, of no more than the largest area. The window lies at a uniformly drawn place.

Attempt k reads the four random words of block k: for area, ratio, top and left.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.random.philox import natural_log, philox
from gradiva.eager.types.arrays import Draws, F64Vector, I64Table, I64Vector

_MOST_ATTEMPTS = 1 << 20


def check_window_arguments(
    random_area: Any, random_aspect_ratio: Any, num_attempts: int
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Both ranges. Raises OperatorValueError, for type rules."""
    area = _range("random_area", random_area)
    if area[0] < 0 or area[1] <= 0:
        raise op.wrong_value("random_area", "fractions of the image, from 0 on", area)
    ratio = _range("random_aspect_ratio", random_aspect_ratio)
    if not 1e-6 <= ratio[0] <= ratio[1] <= 1e6:
        raise op.wrong_value(
            "random_aspect_ratio", "ratios (width / height) from 1e-6 to 1e6", ratio
        )
    if not 0 <= num_attempts <= _MOST_ATTEMPTS:
        raise op.wrong_value("num_attempts", f"0 to {_MOST_ATTEMPTS}", num_attempts)
    return area, ratio


def _range(name: str, values: Any) -> tuple[float, float]:
    ends = tuple(np.atleast_1d(values).tolist())
    if len(ends) != 2 or not all(map(math.isfinite, ends)) or ends[0] > ends[1]:
        raise op.wrong_value(name, "(low, high) with low <= high", values)
    return ends


@op.jit
def exponential(x: float) -> float:
    """The exponential in plain multiplications and additions, so that every machine computes the
    same bits. Error below 1e-15 relative."""
    power = math.floor(x / 0.6931471805599453 + 0.5)
    rest = x - power * 0.6931471805599453
    series = 1.0
    for k in range(16, 0, -1):
        series = 1.0 + series * rest / k
    return math.ldexp(series, int(power))


@op.jit
def _place(word: np.uint32, free: int) -> int:
    """A place from 0 to `free`, both included."""
    return int((np.uint64(word) * np.uint64(free + 1)) >> np.uint64(32))


@op.jit
def _draw_windows(
    sizes: tuple[I64Vector, I64Vector],
    draws: Draws,
    area: F64Vector,
    ratio: F64Vector,
    attempts: int,
    windows: I64Table,
) -> None:
    """Draw windows by their share of the area and their aspect ratio.

    sizes: heights and widths, in pixels; draws: what random values depend on; area, ratio: least
    and largest value; attempts: how many before the window is cut to fit; windows: (N, 4), top,
    left, height and width, in pixels.
    """
    heights, widths = sizes
    positions, seed, number = draws
    unit = 2.0**-32
    low, high = ratio[0], ratio[1]
    log_low = natural_log(low)
    log_extent = natural_log(high) - log_low
    for i in range(len(heights)):
        position, tall, wide = np.uint64(positions[i]), heights[i], widths[i]
        height, width, attempt = 0, 0, 0
        while attempt < attempts:
            words = philox(np.uint32(attempt), number, position, seed)
            part = area[0] + (np.float64(words[0]) * unit) * (area[1] - area[0])
            pixels = part * np.float64(tall) * np.float64(wide)
            drawn = exponential(log_low + (np.float64(words[1]) * unit) * log_extent)
            h = max(int(math.sqrt(pixels / drawn) + 0.5), 1)
            w = int(math.sqrt(pixels * drawn) + 0.5)
            # Rounding must not leave the range of ratios, where whole pixels allow it.
            w = min(max(w, int(math.ceil(h * low - 1e-9))), int(math.floor(h * high + 1e-9)))
            w = max(w, 1)
            if h <= tall and w <= wide:
                height, width = h, w
                break
            attempt += 1
        if height == 0:
            # The last digits of these products must not cost a pixel.
            exact = min(max(wide / tall, low), high)
            most = area[1] * np.float64(tall) * np.float64(wide)
            h_most = min(np.float64(tall), wide / exact, math.sqrt(most / exact))
            w_most = min(np.float64(wide), tall * exact, math.sqrt(most * exact))
            height = min(max(int(h_most * (1.0 + 1e-12)), 1), tall)
            width = min(max(int(w_most * (1.0 + 1e-12)), 1), wide)
        words = philox(np.uint32(attempt), number, position, seed)
        windows[i, 0] = _place(words[2], tall - height)
        windows[i, 1] = _place(words[3], wide - width)
        windows[i, 2] = height
        windows[i, 3] = width


def random_windows(call: op.Call, heights: Any, widths: Any) -> op.Int64Array:
    """(N, 4): top, left, height and width, for images of these sizes in pixels.

    Reads the arguments random_area, random_aspect_ratio and num_attempts of the call. A window
    depends on them, the size of the image, the key of the call and the position of the sample.
    Raises OperatorValueError, naming the sample, for an image without pixels.
    """
    area, ratio = check_window_arguments(
        call["random_area"], call["random_aspect_ratio"], call["num_attempts"]
    )
    heights, widths = np.array(heights, np.int64), np.array(widths, np.int64)
    least, most = np.minimum(heights, widths), np.maximum(heights, widths)
    if call.size and (least.min() < 1 or most.max() > 1 << 30):
        op.refuse_samples(
            (least < 1) | (most > 1 << 30),
            "",
            "",
            lambda sample: f"{heights[sample]} x {widths[sample]} pixels",
            "there is no window in an image of this size",
        )
    windows = np.zeros((call.size, 4), np.int64)
    limits = np.array(area), np.array(ratio)
    _draw_windows((heights, widths), call.draws, *limits, call["num_attempts"], windows)
    return windows


@op.operator("random_crop_generator", schema="RandomCropGenerator", random=True)
def random_crop_generator(
    input: op.SampleType,
    /,
    *,
    random_area: op.Floats = (0.08, 1.0),
    random_aspect_ratio: op.Floats = (3 / 4, 4 / 3),
    num_attempts: int = 10,
    **common: op.Unpack[op.Sampled],
) -> tuple[op.SampleType, op.SampleType]:
    """Draw a random crop window for each image shape.

    Args:
        input: the shape of an image, (h, w) or (h, w, c): integers, 1-D.
        random_area, random_aspect_ratio, num_attempts: as in `decoders.image_random_crop`, whose
            windows these are, for the same key.

    Returns:
        Anchors (top, left) and shapes (h, w) of the windows, int32, in pixels; the window of an
        image without pixels is empty.

    Raises:
        OperatorValueError: for shapes that are none, and for bad ranges.

    Example:
        data = np.fromfile("cat.jpg", np.uint8)
        start, shape = gradiva.random_crop_generator(gradiva.peek_image_shape(data))
        window = gradiva.decoders.image_slice(data, start=start, shape=shape, axis_names="HW")
    """
    op.require_dtype(input, (op.int32, op.int64, op.uint32, op.uint64), "the shape")
    op.require_ndim(input, (1,), "the shape")
    check_window_arguments(random_area, random_aspect_ratio, num_attempts)
    result = op.SampleType(op.int32, 1, "", input.device)
    return result, result


@random_crop_generator.shapes
def _shapes(call: op.Call) -> tuple[op.BatchShape, op.BatchShape]:
    lengths = call.inputs[0].batch_shape.volumes
    bad = (lengths != 2) & (lengths != 3)
    op.refuse_samples(
        bad,
        "",
        "(h, w) or (h, w, c)",
        lambda sample: f"{lengths[sample]} numbers",
        "the input is the shape of an image",
    )
    pair = op.BatchShape.equal(call.size, (2,))
    return pair, pair


@random_crop_generator.cpu
def _cpu(call: op.Call) -> None:
    shapes = call.inputs[0]
    first, data = shapes.batch_shape.offsets, shapes.data
    extents = np.stack([data[first], data[first + 1]], axis=1).astype(np.int64)
    empty = (extents == 0).any(axis=1) & (extents >= 0).all(axis=1)
    extents[empty] = 1
    windows = random_windows(call, extents[:, 0], extents[:, 1])
    windows[empty] = 0
    call.outputs[0].as_array()[:] = windows[:, :2]
    call.outputs[1].as_array()[:] = windows[:, 2:]


@random_crop_generator.cases
def _cases() -> list[op.Case]:
    shapes = op.batch([np.array([375, 500, 3]), np.array([8, 9]), np.array([1, 1])])
    wide = op.batch([np.array([10, 100])] * 2)
    zeros = [np.zeros(2, np.int32)] * 3
    return [
        op.case("default", shapes).no_oracle(),
        op.case("whole images", shapes, num_attempts=0).equals(zeros).no_oracle(),
        op.case("high windows", wide, random_aspect_ratio=(0.1, 0.5)).no_oracle(),
        op.case("empty", op.samples(dtype=op.int32, layout="")).no_oracle(),
        op.case(
            "no pixels", op.batch([np.array([0, 5]), np.array([5, 0, 3]), np.array([0, 0])])
        ).equals(zeros),
        op.case("no image", op.batch([np.array([0, 5]), np.array([-1, 0])])).value_error(
            "sample 1"
        ),
        op.case("four axes", op.batch([np.arange(1, 5)])).value_error("(h, w)"),
        op.case("empty range", shapes, random_area=(0.5, 0.1)).value_error("`random_area`"),
        op.case("bad ratio", shapes, random_aspect_ratio=(0, 1)).value_error(
            "`random_aspect_ratio`"
        ),
        op.case("no shape", op.samples((4, 4, 3))).type_error("shape"),
    ]
