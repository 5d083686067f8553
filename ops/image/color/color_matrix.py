"""Changes of hue, saturation and value as one 3x3 matrix and an offset on red, green and blue.

The matrix turns colors in the YIQ space of the first American color television (coefficients
rounded to three digits), where luma is one axis and hue an angle about it:

    to_rgb @ rotation(hue) @ diag(1, saturation, saturation) @ to_yiq

All products are float32, added from left to right; the order of operations fixes the bits.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.operators.pixelwise import axes_of
from gradiva.eager.rows.convert import convert_sat
from gradiva.eager.types.arrays import F32Vector, Float32Array, Table, Vector
from gradiva.ops.math.series import sine_cosine

LAYOUTS: Final = (
    "HWC", "CHW", "DHWC", "CDHW", "FHWC", "FCHW", "CFHW", "FDHWC", "FCDHW", "CFDHW",
)  # fmt: skip
ASSUMED: Final = {3: "HWC", 4: "FHWC"}
_DTYPES: Final = (op.uint8, op.int8, op.uint16, op.int16, op.int32, op.float16, op.float32)
_TO_YIQ: Final = np.array(
    [[0.299, 0.587, 0.114], [0.596, -0.274, -0.321], [0.211, -0.523, 0.311]], np.float32
)
# The inverse, computed in float32 with DALI's roundings.
_TO_RGB: Final = np.array(
    [
        [0.999664366, 0.956541181, 0.620861709],
        [0.999624848, -0.272274464, -0.647451282],
        [1.00281227, -1.10684800, 1.70540559],
    ],
    np.float32,
)


def color_type(
    input: op.SampleType, dtype: op.DTypeLike | None, image_type: int | None = None
) -> op.SampleType:
    """The type rule of operators on RGB images; `dtype` None: the input's."""
    op.require_dtype(input, _DTYPES)
    layout = op.require_layout(input, LAYOUTS, ASSUMED)
    if image_type:
        raise op.OperatorValueError(
            "only RGB images are taken; `color_space_conversion` makes them of others",
            argument="image_type",
            expected="types.RGB",
            got=op.ImageType(image_type).name,
        )
    if dtype is None:
        return op.with_layout(input, layout)
    if dtype not in _DTYPES:
        names = ", ".join(known.name for known in _DTYPES)
        raise op.wrong_type("dtype", names, dtype)
    return op.with_layout(input, layout).with_(dtype=dtype)


def check_channels(call: op.Call, wanted: int = 3) -> op.BatchShape:
    """The input's batch shape, if each sample has `wanted` channels. Raises OperatorValueError."""
    source = call.inputs[0]
    layout = source.layout or call.types[0].layout or ""
    channels = axes_of(layout, source.batch_shape.shapes)[1]
    op.refuse_samples(
        channels != wanted,
        "",
        str(wanted),
        lambda i: f"{channels[i]}, in a sample of shape {source.batch_shape.shape(i)}",
        "the input has the wrong number of channels",
    )
    return source.batch_shape


def times(left: Float32Array, right: Float32Array) -> Float32Array:
    """Products of matrices, (N, 3, 3) or (3, 3), each sum from left to right in float32."""
    with np.errstate(all="ignore"):
        first, second, third = (left[..., k, None] * right[..., None, k, :] for k in range(3))
        result: Float32Array = (first + second) + third
    return result


def diagonal(first: Any, second: Any, third: Any, count: int) -> Float32Array:
    """(N, 3, 3): matrices with these numbers, one or (N,), on their diagonals."""
    result = np.zeros((count, 3, 3), np.float32)
    for k, values in enumerate((first, second, third)):
        result[:, k, k] = values
    return result


def hue_saturation(
    hue: Any, saturation: Any, count: int, value: Any = None, gain: Any = None
) -> Float32Array:
    """(N, 3, 3): the matrices. hue: degrees; gain: a factor that goes first, value: one that goes
    last but one; float32 (N,) or one number each. They differ in nothing but the rounding."""
    sine, cosine = sine_cosine(np.broadcast_to(np.asarray(hue, np.float32), (count,)))
    turn = diagonal(1, cosine, cosine, count)
    turn[:, 1, 2], turn[:, 2, 1] = sine, -sine
    matrix = _TO_RGB if gain is None else times(diagonal(gain, gain, gain, count), _TO_RGB)
    matrix = times(times(matrix, turn), diagonal(1, saturation, saturation, count))
    if value is not None:
        matrix = times(matrix, diagonal(value, value, value, count))
    return times(matrix, _TO_YIQ)


def parameters(matrix: Float32Array, offset: Any = 0.0) -> Float32Array:
    """(N, 1, 12) for `matrix_row`; offset: float32 (N,), or one number."""
    rows = np.empty((len(matrix), 3, 4), np.float32)
    rows[:, :, :3] = matrix
    rows[:, :, 3] = np.broadcast_to(np.asarray(offset, np.float32), (len(matrix),))[:, None]
    return rows.reshape(len(matrix), 1, 12)


@op.jit
def weigh(
    one: Vector, two: Vector, three: Vector, target: Vector, row: F32Vector, first: int
) -> None:
    """`target` = the weighted sum of three strips, and a constant: four numbers of `row`.

    one, two, three, target: strips of one channel each, of equal length in pixels; first: the index
    of the first of the numbers in `row`.
    """
    a, b, c, d = row[first], row[first + 1], row[first + 2], row[first + 3]
    for k in range(target.size):
        v = np.float32(one[k]) * a + np.float32(two[k]) * b + np.float32(three[k]) * c + d
        target[k] = convert_sat(v, target)


@op.row_kernel("mixing")
def matrix_row(source: Table, target: Table, row: F32Vector) -> None:
    """One strip: the matrix and the offset. One output at a time, so that LLVM needs few tests of
    overlap and makes vectors."""
    red, green, blue = source[0], source[1], source[2]
    weigh(red, green, blue, target[0], row, 0)
    weigh(red, green, blue, target[1], row, 4)
    weigh(red, green, blue, target[2], row, 8)
