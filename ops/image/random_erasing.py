"""`random_erasing`: a random rectangle of each image, overwritten."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.cuda.launch import NoGpuKernelError
from gradiva.eager.random.philox import natural_log, normal_from_word, philox
from gradiva.eager.rows.convert import convert_array, convert_sat
from gradiva.eager.simd.streaming import use_nontemporal
from gradiva.eager.types.arrays import (
    Array,
    Draws,
    F64Vector,
    I64Table,
    I64Vector,
    Int64Array,
    Table,
    Vector,
)
from gradiva.ops.random.crop_window import check_window_arguments, exponential

from .erase import ErasePlan, erase_kernel, erase_tables, launch_erase
from .planes import channels_of, plane_layout, planes_of

_FILLS: Final = ("constant", "color", "pixel")
_NOISY: Final = (op.uint8, op.int8, op.uint16, op.int16, op.float16, op.float32, op.float64)
_COIN: Final = 1 << 20
"""The block of the random words that say whether an image is changed. The blocks below are those of
attempts, the next ones up to `_NOISE` those of colors, and the rest those of pixels."""
_NOISE: Final = 1 << 21


@op.operator("random_erasing", random=True)
def random_erasing(
    input: op.SampleType,
    /,
    *,
    probability: op.FloatArg = 0.5,
    random_area: op.Floats = (0.02, 0.33),
    random_aspect_ratio: op.Floats = (10 / 33, 10 / 3),
    num_attempts: int = 10,
    fill: str = "constant",
    fill_value: op.FloatsArg = 0.0,
    **common: op.Unpack[op.Sampled],
) -> op.SampleType:
    """Overwrite a random rectangle of each image.

    The part of the area is drawn uniformly, the aspect ratio log-uniformly; a rectangle as high or
    as wide as the image is drawn again. It lies anywhere in the image (Zhong, Zheng, Kang, Li,
    Yang: "Random erasing data augmentation", AAAI 2020).

    Args:
        input: images or videos of any dtype, in a layout with H and W; HW, HWC or FHWC by rank if
            they have none. All frames of a video lose the same rectangle.
        probability: of an image to be changed, from 0 to 1; may differ per sample.
        random_area: the least and the largest part of the area of the image.
        random_aspect_ratio: the least and the largest width / height.
        num_attempts: if none of so many rectangles fits, the image stays as it is.
        fill: what is put there: "constant", `fill_value`; "color", one random value for each
            channel; "pixel", a random value for each element. Random values are normal with mean 0
            and deviation 1 for floats, and uniform over the whole range for integers of 8 and 16
            bits; other dtypes have none.
        fill_value: one value, or one per channel; may differ per sample. Cast to the input's dtype
            as in C: its fraction is dropped, and it wraps.

    Returns:
        Images of the same shapes, dtype and layout.

    Raises:
        OperatorTypeError: for layouts without H and W, and dtypes without random values.
        OperatorValueError: for arguments out of range.

    Example:
        images = gradiva.imread(["cat.jpg", "coffee.jpg"])
        images = gradiva.random_erasing(images, probability=0.5, fill="pixel")
    """
    layout = plane_layout(input)
    check_window_arguments(random_area, random_aspect_ratio, num_attempts)
    if fill not in _FILLS:
        raise op.wrong_value("fill", "'constant', 'color' or 'pixel'", repr(fill))
    if fill != "constant":
        op.require_dtype(input, _NOISY, "an input with random fill values")
    return op.with_layout(input, layout)


random_erasing.moves = op.IN_PLACE


@dataclass(frozen=True)
class RandomErasingPlan(ErasePlan):
    """boxes: top, left, height and width of the rectangles, (N, 4), which may be empty."""

    boxes: Int64Array


@op.jit
def draw_rectangles(
    planes: I64Table,
    draws: Draws,
    chances: Vector,
    area: F64Vector,
    ratio: F64Vector,
    attempts: int,
    boxes: I64Table,
) -> None:
    """Draw the rectangles of images; they are empty where the image stays as it is.

    planes: as `planes_of` makes them; draws: what random values depend on; chances: of an image to
    be changed; area, ratio: least and largest value; boxes: (N, 4), top, left, height and width.
    """
    positions, seed, number = draws
    unit = 2.0**-32
    log_low = natural_log(ratio[0])
    log_extent = natural_log(ratio[1]) - log_low
    for i in range(positions.size):
        position, tall, wide = np.uint64(positions[i]), planes[i, 1], planes[i, 2]
        coin = philox(np.uint32(_COIN), number, position, seed)[0]
        if not (np.float64(coin) + 0.5) * unit < np.float64(chances[i]):
            continue
        for attempt in range(attempts):
            words = philox(np.uint32(attempt), number, position, seed)
            part = area[0] + (np.float64(words[0]) * unit) * (area[1] - area[0])
            pixels = part * np.float64(tall) * np.float64(wide)
            drawn = exponential(log_low + (np.float64(words[1]) * unit) * log_extent)
            h = int(math.sqrt(pixels / drawn) + 0.5)
            w = int(math.sqrt(pixels * drawn) + 0.5)
            if h < tall and w < wide:
                boxes[i, 0] = (np.uint64(words[2]) * np.uint64(tall - h + 1)) >> np.uint64(32)
                boxes[i, 1] = (np.uint64(words[3]) * np.uint64(wide - w + 1)) >> np.uint64(32)
                boxes[i, 2], boxes[i, 3] = h, w
                break


@op.jit
def _noise(word: np.uint32, integer: bool, low: int, extent: int) -> float:
    """A random value: normal, or an integer from `low` on, one of `extent`."""
    if integer:
        return np.float64(low + np.int64((np.uint64(word) * np.uint64(extent)) >> np.uint64(32)))
    return normal_from_word(word)


@op.jit
def draw_colors(
    channels: I64Table, draws: Draws, integer: bool, low: int, extent: int, colors: Table
) -> None:
    """Draw a value for each channel of each image, (N, channels)."""
    positions, seed, number = draws
    for i in range(positions.size):
        for c in range(channels[i, 0]):
            block = np.uint32(_COIN + 1 + c // 4)
            words = philox(block, number, np.uint64(positions[i]), seed)
            word = words[0]
            for k in range(1, 4):
                if c % 4 == k:
                    word = words[k]
            colors[i, c] = _noise(word, integer, low, extent)


@op.jit
def noise_kernel(
    target: Vector,
    places: tuple[I64Vector, I64Table, I64Table, I64Table],
    draws: Draws,
    noise: tuple[bool, int, int],
    begin: int,
    end: int,
) -> None:
    """Fill rectangles with random values; those of an element depend on its row, its column and its
    channel in the rectangle, whatever the layout and the frame.

    places: where samples begin, planes and channels as `planes_of` and `channels_of` make them, and
    rectangles (N, 4); noise: whether values are integers, the least and how many there are.
    """
    offsets, planes, channels, boxes = places
    positions, seed, number = draws
    integer, low, extent = noise
    for i in range(begin, end):
        count, height, width, inner = planes[i]
        top, left, tall, wide = boxes[i]
        many, alike = channels[i]
        length = wide * many
        values = np.empty(length)
        for y in range(tall):
            # The values of all channels of a row, which all frames share.
            first = y * length
            for block in range(first // 4, (first + length + 3) // 4):
                words = philox(np.uint32(_NOISE + block), number, np.uint64(positions[i]), seed)
                word = words[0]
                for k in range(4):
                    if k > 0:
                        word = words[k]
                    element = 4 * block + k - first
                    if 0 <= element < length:
                        values[element] = _noise(word, integer, low, extent)
            for a in range(count):
                to = offsets[i] + ((a * height + top + y) * width + left) * inner
                channel = (a // alike) % many
                for x in range(wide * inner):
                    value = values[x] if inner > 1 else values[x * many + channel]
                    target[to + x] = convert_sat(value, target)


@random_erasing.shapes
def _shapes(call: op.Call) -> RandomErasingPlan:
    source, layout = call.inputs[0].batch_shape, call.types[0].layout or ""
    chances = call["probability"]
    bad = ~((chances >= 0) & (chances <= 1))
    op.refuse_samples(bad, "probability", "a number from 0 to 1", chances)
    boxes = np.zeros((call.size, 4), np.int64)
    area = np.array(call["random_area"], np.float64)
    ratio = np.array(call["random_aspect_ratio"], np.float64)
    planes, attempts = planes_of(source.shapes, layout), call["num_attempts"]
    draw_rectangles(planes, call.draws, chances, area, ratio, attempts, boxes)
    rows = layout.index("H")
    regions = np.zeros((call.size, 2, source.ndim), np.int64)
    regions[:, 1] = source.shapes
    regions[:, 0, rows : rows + 2] = boxes[:, :2]
    regions[:, 1, rows : rows + 2] = boxes[:, :2] + boxes[:, 2:]
    return RandomErasingPlan(source, np.arange(call.size + 1), regions, boxes)


def _noise_of(dtype: op.DType) -> tuple[bool, int, int]:
    """Whether random values are integers, the least of them and how many there are."""
    if not dtype.is_integer:
        return False, 0, 0
    limits = np.iinfo(dtype.numpy)
    return True, int(limits.min), int(limits.max - limits.min + 1)


def _fill_values(call: op.Call) -> Array:
    """(N, 1) or (N, channels): what rectangles are filled with, before any noise."""
    given: Array = call["fill_value"]
    if call["fill"] == "constant":
        return given
    if call["fill"] == "pixel":
        return np.zeros((call.size, 1), np.float32)
    target = call.outputs[0]
    channels = channels_of(target.batch_shape.shapes, target.layout)
    colors = np.zeros((call.size, int(channels[:, 0].max(initial=1))), np.float32)
    draw_colors(channels, call.draws, *_noise_of(target.dtype), colors)
    return colors


@random_erasing.cpu
def _cpu(call: op.Call, plan: RandomErasingPlan) -> None:
    target = call.outputs[0]
    shapes, layout = target.batch_shape.shapes, target.layout
    past = use_nontemporal(target.data, target.batch_shape.volumes)
    tables = erase_tables(call, plan, _fill_values(call))
    call.for_samples(erase_kernel, call.words, tables, past)
    if call["fill"] == "pixel":
        half = target.dtype is op.float16
        data = target.data
        if half:  # between samples there may be anything
            with np.errstate(invalid="ignore"):
                data = convert_array(data, np.dtype(np.float32))
        planes, channels = planes_of(shapes, layout), channels_of(shapes, layout)
        places = target.batch_shape.offsets, planes, channels, plan.boxes
        call.for_samples(noise_kernel, data, places, call.draws, _noise_of(target.dtype))
        if half:
            with np.errstate(invalid="ignore"):
                target.data[:] = convert_array(data, target.data.dtype)


@random_erasing.gpu
def _gpu(call: op.Call, plan: RandomErasingPlan) -> op.Launch:
    if call["fill"] == "pixel":
        raise NoGpuKernelError(argument="fill", expected="'constant' or 'color'", got="'pixel'")
    return launch_erase(call, plan, _fill_values(call))


@random_erasing.cases
def _cases() -> list[op.Case]:
    images = op.samples((16, 20, 3), (12, 9, 3), (30, 7, 3))
    planes = op.samples((2, 17, 16), (2, 14, 15), dtype=op.float32, layout="CHW")
    halves = op.samples((9, 8), (7, 9), dtype=op.float16, layout="HW")
    sure: Any = {"probability": 1, "seed": 1}
    return [
        op.case("default", images, seed=1).no_oracle(),
        op.case("colors", images, **sure, fill_value=[[1, 2, 3]] * 3).no_oracle(),
        op.case("random colors", images, **sure, fill="color").no_oracle(),
        op.case("pixels", images, **sure, fill="pixel").no_oracle(),
        op.case("planes", planes, **sure, fill="pixel", random_area=(0.2, 0.5)).no_oracle(),
        op.case("half", halves, **sure, fill="pixel").no_oracle(),
        op.case("video", op.samples((2, 9, 8, 3), layout="FHWC"), **sure, fill="pixel").no_oracle(),
        op.case("never", images, probability=[0, 0, 0], seed=1).equals(images.arrays()).no_oracle(),
        op.case("too large", images, **sure, random_area=(2, 3))
        .equals(images.arrays())
        .no_oracle(),
        op.case("empty", op.samples(), **sure).equals([]).no_oracle(),
        op.case("no pixels", op.samples((0, 4, 3)), **sure)
        .equals([np.zeros((0, 4, 3), np.uint8)])
        .no_oracle(),
        op.case("area", images, random_area=(0.5, 0.1)).value_error("`random_area`"),
        op.case("ratio", images, random_aspect_ratio=(0, 1)).value_error("`random_aspect_ratio`"),
        op.case("probability", images, probability=[0.5, 0.5, -1]).value_error("sample 2"),
        op.case("fill", images, fill="noise").value_error("`fill`"),
        op.case("two colors", images, **sure, fill_value=(1, 2)).value_error("`fill_value`"),
        op.case(
            "dtype", op.samples((9, 9), dtype=op.int64, layout="HW"), **sure, fill="pixel"
        ).type_error("dtype"),
        op.case("layout", op.samples((7, 5), layout="ft")).type_error("layout"),
    ]
