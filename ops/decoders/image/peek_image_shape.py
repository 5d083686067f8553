"""`peek_image_shape`: the shape an image will have, from its header alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gradiva.eager.operators.arguments import DTypeLike, ImageType, OnError
from gradiva.eager.operators.call import Call
from gradiva.eager.operators.cases import Case, case
from gradiva.eager.operators.operator import operator
from gradiva.eager.operators.type_rules import require_dtype, require_ndim
from gradiva.eager.support.errors import OperatorRuntimeError, OperatorTypeError
from gradiva.eager.types.batch_shape import Geometry
from gradiva.eager.types.dtypes import DType, float32, float64, int32, int64, uint8, uint32, uint64
from gradiva.eager.types.sample_type import SampleType
from gradiva.eager.values.batch import batch
from gradiva.ops.decoders.formats.decode import output_shape

from .image import encode, headers, picture

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from gradiva.eager.operators.arguments import Common

__all__ = ["peek_image_shape"]

_DTYPES = (int64, int32, uint32, uint64, float32, float64)


@operator("peek_image_shape")
def peek_image_shape(
    input: SampleType,
    /,
    *,
    image_type: ImageType = ImageType.RGB,
    dtype: DTypeLike = int64,
    adjust_orientation: bool = True,
    on_error: OnError = "raise",
    **common: Unpack[Common],
) -> SampleType:
    """The shape (height, width, channels) of the image that `decoders.image` would return.

    input: the bytes of one file per sample: uint8, 1-D. Only the header is read.
    image_type: the channels are those of this type; ANY_DATA counts those of the file.
    dtype: of the shape; int64 by default. adjust_orientation: after the EXIF orientation.
    on_error: "skip" takes a sample without a readable header out of the batch, "replace" makes its
        shape three zeros; "raise" (default) fails the batch. See `docs/errors.md`.

    Returns samples of shape (3,). Raises OperatorRuntimeError, with the sample and its file, for
    data that is no image.
    """
    require_dtype(input, (uint8,), "encoded data")
    require_ndim(input, (1,), "encoded data")
    if dtype not in _DTYPES:
        raise OperatorTypeError(
            argument="dtype", expected=", ".join(d.name for d in _DTYPES), got=str(dtype)
        )
    chosen: DType = dtype  # type: ignore[assignment]  # one of the above
    return SampleType(chosen, 1, "", input.device)


@peek_image_shape.shapes
def _shapes(call: Call) -> Geometry:
    return Geometry.equal(call.size, (3,))


@peek_image_shape.cpu
def _cpu(call: Call) -> None:
    colour = ImageType(call["image_type"]).name
    turn = call["adjust_orientation"]
    rows = [output_shape(info, colour, turn) for info in headers(call)]
    call.outputs[0].as_array()[:] = rows


@peek_image_shape.cases
def _cases() -> list[Case]:
    files = batch([encode(picture(33, 47), "JPEG"), encode(picture(5, 9)[..., 0], "PNG")])
    rgb = [np.array([33, 47, 3]), np.array([5, 9, 3])]
    return [
        case("default", files).equals(rgb),
        case("float", files, dtype=float32).equals([shape.astype(np.float32) for shape in rgb]),
        case("any", files, image_type=ImageType.ANY_DATA)
        .equals([rgb[0], np.array([5, 9, 1])])
        .no_oracle(),
        case("empty", batch(np.empty((0, 1), np.uint8))).equals([]),
        case("no image", batch([np.zeros(20, np.uint8)])).raising(OperatorRuntimeError, "sample 0"),
    ]
