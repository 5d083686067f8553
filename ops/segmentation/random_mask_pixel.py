"""`segmentation.random_mask_pixel`: a random place in a mask."""

from __future__ import annotations

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.random.philox import philox
from gradiva.eager.types.arrays import Draws, F64Vector, I64Table, I64Vector, Int, Slabs, Vector
from gradiva.ops.random.scaled import scaled


@op.operator("segmentation.random_mask_pixel", schema="segmentation__RandomMaskPixel", random=True)
def random_mask_pixel(
    input: op.SampleType,
    /,
    *,
    foreground: op.IntArg = 0,
    value: op.IntArg | None = None,
    threshold: op.FloatArg | None = None,
    **common: op.Unpack[op.Sampled],
) -> op.SampleType:
    """Draw a random pixel of each mask, for example of its foreground.

    Each pixel has the same probability.

    Args:
        input: masks of any dtype, layout and rank from 1 on.
        foreground: nonzero to draw from the foreground only: from the pixels that equal `value`, or
            are above `threshold` (0 by default). If a mask has none, from all pixels. All three may
            differ per sample.
        value: what the pixels of the foreground equal.
        threshold: what the pixels of the foreground are above; 0 by default.

    Returns:
        The place of the pixel, int64, one number per axis.

    Raises:
        OperatorValueError: for a mask without pixels, or if `value` and `threshold` are both given.

    Example:
        image = gradiva.imread("cat.jpg")
        mask = gradiva.reductions.max(image, axis_names="C") > 250
        pixel = gradiva.segmentation.random_mask_pixel(mask, foreground=1)  # y, x
    """
    if input.ndim == 0:
        raise op.OperatorTypeError("a mask has one or more axes", expected="a mask", got="scalars")
    if value is not None and threshold is not None:
        raise op.OperatorValueError("`value` and `threshold` exclude each other")
    return op.SampleType(op.int64, 1, "", input.device)


@random_mask_pixel.shapes
def _shapes(call: op.Call) -> op.BatchShape:
    source = call.inputs[0].batch_shape
    op.refuse_samples(source.volumes == 0, "", "one or more", source.shape, "a mask has no pixels")
    return op.BatchShape.equal(call.size, (source.ndim,))


@op.jit
def _count(pixels: Vector, by_value: bool, value: int, threshold: float) -> int:
    """How many pixels have the value, or are above the threshold."""
    found = 0
    for k in range(pixels.size):
        if by_value:
            found += pixels[k] == value
        else:
            found += pixels[k] > threshold
    return found


@op.jit
def _find(pixels: Vector, by_value: bool, value: int, threshold: float, wanted: Int) -> Int:
    """Where the foreground pixel of this number is."""
    for k in range(pixels.size):
        hit = pixels[k] == value if by_value else pixels[k] > threshold
        if hit:
            if wanted == 0:
                return k
            wanted -= 1
    return 0


@op.jit
def _pixels(
    slabs: Slabs,
    extents: tuple[I64Table, I64Vector],
    draws: Draws,
    wish: tuple[I64Vector, bool, I64Vector, F64Vector],
    begin: int,
    end: int,
) -> None:
    """Draw a pixel of each mask, and write its indices.

    extents: shapes, and the elements of each mask; draws: what random values depend on; wish:
    whether the pixel is to be of the foreground, whether that is given by a value, these values,
    and the thresholds.
    """
    source, source_offsets, target, target_offsets = slabs
    shapes, volumes = extents
    positions, seed, number = draws
    foreground, by_value, values, thresholds = wish
    for i in range(begin, end):
        words = philox(np.uint32(0), number, np.uint64(positions[i]), seed)
        word = (np.uint64(words[0]) << np.uint64(32)) | np.uint64(words[1])
        pixels = source[source_offsets[i] : source_offsets[i] + volumes[i]]
        count = 0
        if foreground[i] != 0:
            count = _count(pixels, by_value, values[i], thresholds[i])
        if count:
            wanted = np.int64(scaled(word, np.uint64(count)))
            place = _find(pixels, by_value, values[i], thresholds[i], wanted)
        else:
            place = np.int64(scaled(word, np.uint64(volumes[i])))
        for axis in range(shapes.shape[1] - 1, -1, -1):
            target[target_offsets[i] + axis] = place % shapes[i, axis]
            place //= shapes[i, axis]


@random_mask_pixel.cpu
def _cpu(call: op.Call) -> None:
    data, *places = call.slabs
    if data.dtype == np.bool_:
        data = data.view(np.uint8)
    elif data.dtype == np.float16:
        data = data.astype(np.float32)
    values, thresholds = call["value"], call["threshold"]
    by_value = values is not None
    nothing = np.zeros(call.size, np.int64)
    limits = nothing.astype(np.float64) if thresholds is None else thresholds.astype(np.float64)
    wish = call["foreground"], by_value, values if by_value else nothing, limits
    source = call.inputs[0].batch_shape
    extents = source.shapes, source.volumes
    call.for_costly_samples(_pixels, (data, *places), extents, call.draws, wish)


@random_mask_pixel.cases
def _cases() -> list[op.Case]:
    one = np.zeros((4, 5), np.uint8)
    one[2, 3] = 7
    two = np.zeros((3, 2), np.uint8)
    two[0, 1], two[2, 0] = 7, 3
    masks = op.batch([one, two])
    place = [np.array([2, 3]), np.array([0, 1])]
    inside = {"foreground": 1}
    return [
        op.case("any", masks, seed=1).no_oracle(),
        op.case("value", masks, **inside, value=7).equals(place),
        op.case("threshold", masks, **inside, threshold=3).equals(place),
        op.case("per sample", masks, foreground=[1, 2], threshold=[0, 3.5]).equals(place),
        op.case("float16", op.batch([one, two], dtype=op.float16), **inside, value=7)
        .equals(place)
        .no_oracle(),
        op.case("bool", op.batch([one == 7]), **inside).equals(place[:1]),
        op.case("no foreground", masks, **inside, value=300).no_oracle(),
        op.case(
            "volume", op.samples((2, 3, 1, 2), dtype=op.float32, layout=""), seed=3
        ).no_oracle(),
        op.case("empty", op.samples()).equals([]),
        op.case("both", masks, value=1, threshold=1).value_error("exclude"),
        op.case("no pixels", op.batch([one, one[:0]])).value_error("sample 1"),
        op.case("scalars", op.batch(np.zeros(3, np.uint8))).type_error("axes"),
        op.case("fraction", masks, value=1.5).type_error("`value`"),
    ]
