"""`jitter`: images whose pixels are a little out of place."""

from __future__ import annotations

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.random.philox import philox
from gradiva.eager.types.arrays import BoolVector, I64Table, I64Vector, Number, Slabs

from .displace import Displacement, RandomlyDisplaced, displace, displaced_type, longest_row
from .displace_gpu import displace_launch
from .rows import warp_row

_UNIT = np.float32(2.0**-24)


@op.operator("jitter", schema="Jitter", random=True, same_shapes=True)
@op.uses_arguments(Displacement)
def jitter(
    input: op.SampleType,
    /,
    *,
    nDegree: int = 2,  # noqa: N803
    **options: op.Unpack[RandomlyDisplaced],
) -> op.SampleType:
    """Replace each pixel by one at a random place near it.

    The offsets are multiples of nDegree / 2**24, drawn for each pixel. DALI, which has this
    operator on the GPU only, draws others.

    Args:
        nDegree: places are uniformly distributed in a square of this many pixels around the center
            of the pixel, from -nDegree / 2 to nDegree / 2 on both axes; from 0 to 65536.
        input: uint8, int8, uint16, int16, int32 or float32, HWC or no layout.

    Returns:
        Samples of the same shapes.

    Raises:
        OperatorTypeError: for other layouts and dtypes.
        OperatorValueError: for other interpolations and degrees.

    Example:
        image = gradiva.jitter(gradiva.imread("cat.jpg"), nDegree=4)
    """
    if not 0 <= nDegree <= 1 << 16:
        raise op.wrong_value("nDegree", "0 to 65536", nDegree)
    return displaced_type(input, options)


@op.jit
def _near(place: np.float32, degree: np.float32, word: np.uint32) -> np.float32:
    """place + 0.5, moved by less than half of `degree` as a random word says; float32."""
    half = np.float32(0.5)
    low, high = half - half * degree, half + half * degree
    offset = np.float32(word >> np.uint32(8)) * (_UNIT * degree)
    # The sum may round up to the end, which does not belong to it.
    most = max(np.nextafter(place + high, np.float32(0.0)), place + low)
    return min(place + (low + offset), most)


@op.jit
def jitter_samples(
    slabs: Slabs,
    shapes: I64Table,
    masks: BoolVector,
    outside: tuple[bool, bool, Number, np.float32],
    degree: np.float32,
    positions: I64Vector,
    key: tuple[np.uint64, np.uint32],
    begin: int,
    end: int,
) -> None:
    """One draw of four words serves two pixels."""
    src, src_offsets, dst, dst_offsets = slabs
    seed, number = key
    longest = longest_row(shapes, masks, begin, end) + 1
    xs, ys = np.empty(longest, np.float32), np.empty(longest, np.float32)
    for i in range(begin, end):
        if not masks[i]:
            continue
        height, width, channels = shapes[i, 0], shapes[i, 1], shapes[i, 2]
        position = np.uint64(positions[i])
        pairs = (width + 1) // 2
        for y in range(height):
            for pair in range(pairs):
                words = philox(np.uint32(y * pairs + pair), number, position, seed)
                for k in range(2):
                    x = 2 * pair + k
                    xs[x] = _near(np.float32(x), degree, words[2 * k])
                    ys[x] = _near(np.float32(y), degree, words[2 * k + 1])
            to = dst_offsets[i] + y * width * channels
            image, target = (src, src_offsets[i], shapes[i]), (dst, to)
            warp_row(image, (xs, ys), width, outside, target)


jitter.moves = op.NoMap("it moves each pixel by a random distance of its own")


@jitter.cpu
def _cpu(call: op.Call) -> None:
    displace(
        call, jitter_samples, np.float32(call["nDegree"]), call.positions, call.seed_and_number
    )


@jitter.gpu
def _gpu(call: op.Call) -> op.Launch:
    assert call.key is not None
    assert call.positions is not None
    terms = np.zeros(1, [("seed", "u8"), ("number", "u4"), ("degree", "f4")])
    terms[0] = call.key.seed, call.key.number, call["nDegree"]
    return displace_launch(call, "jitter", terms.view(np.int64), call.positions, calls=(_near,))


@jitter.cases
def _cases() -> list[op.Case]:
    images = op.samples((6, 8, 3), (1, 5, 3), (9, 1, 3))
    arrays = [images.at(i) for i in range(3)]
    flat = op.samples((5, 6, 1), low=9, high=9)
    return [
        op.case("default", images).no_oracle(),
        op.case("still", images, nDegree=0).equals(arrays).no_oracle(),
        op.case("inside one pixel", images, nDegree=1).equals(arrays).no_oracle(),
        op.case("flat", flat, nDegree=5, fill_value=9).equals([flat.at(0)]).no_oracle(),
        op.case(
            "linear", images, interp_type=op.InterpType.INTERP_LINEAR, fill_value=90
        ).no_oracle(),
        op.case("masked", images, mask=[0, 1, 0]).no_oracle(),
        op.case("not applied", images, mask=0).equals(arrays).no_oracle(),
        op.case("floats", op.samples((5, 6, 2), dtype=op.float32), fill_value=2).no_oracle(),
        op.case("empty", op.samples()).equals([]).no_oracle(),
        op.case("degree", images, nDegree=-1).value_error("`nDegree`"),
        op.case("cubic", images, interp_type=2).value_error("`interp_type`"),
        op.case("layout", op.samples((3, 4, 5), layout="CHW")).type_error("layout"),
        op.case("dtype", op.samples((3, 4, 1), dtype=op.float64)).type_error("dtype"),
        op.case("mask of another length", images, mask=[0]).value_error("`mask`"),
    ]
