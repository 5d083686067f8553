"""`peek_image_shape`: the shape an image will have, from its header alone."""

from __future__ import annotations

import numpy as np

from gradiva.eager import extension as op
from gradiva.ops.decoders.formats.probe import probe

from .image import encode, look_at_each, picture

_DTYPES = (op.int64, op.int32, op.uint32, op.uint64, op.float32, op.float64)


@op.operator(
    "peek_image_shape", schema="PeekImageShape", formerly=("experimental.peek_image_shape",)
)
def peek_image_shape(
    input: op.SampleType,
    /,
    *,
    image_type: op.ImageTypeLike = op.ImageType.RGB,
    dtype: op.DTypeLike = op.int64,
    adjust_orientation: bool = True,
    on_error: op.OnError = "raise",
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """Read the shape of images, (height, width, channels), from the headers of their files.

    It is the shape of what `decoders.image` returns.

    Args:
        input: the bytes of one file per sample: uint8, 1-D. Only the header is read.
        image_type: the channels are those of this type; ANY_DATA counts those of the file.
        dtype: the type of the numbers; int64 by default.
        adjust_orientation: after the EXIF orientation.
        on_error: "skip" takes a sample without a readable header out of the batch, "replace" makes
            its shape three zeros; "raise" (default) fails the batch. See `docs/errors.md`.

    Returns:
        Samples of shape (3,).

    Raises:
        OperatorRuntimeError: with the sample and its file, for data that is not an image.

    Example:
        gradiva.peek_image_shape(np.fromfile("cat.jpg", np.uint8))  # [300, 451, 3]
    """
    op.require_dtype(input, (op.uint8,), "encoded data")
    op.require_ndim(input, (1,), "encoded data")
    if dtype not in _DTYPES:
        raise op.wrong_type("dtype", ", ".join(d.name for d in _DTYPES), dtype)
    chosen: op.DType = dtype  # type: ignore[assignment]  # one of the above
    return op.SampleType(chosen, 1, "", input.device)


peek_image_shape.shapes(lambda call: op.BatchShape.equal(call.size, (3,)))


@peek_image_shape.cpu
def _cpu(call: op.Call) -> None:
    color = op.ImageType(call["image_type"]).name
    turn = call["adjust_orientation"]
    call.outputs[0].as_array()[:] = look_at_each(call, probe).shapes(color, turn)


@peek_image_shape.cases
def _cases() -> list[op.Case]:
    files = op.batch([encode(picture(33, 47), "JPEG"), encode(picture(5, 9)[..., 0], "PNG")])
    rgb = [np.array([33, 47, 3]), np.array([5, 9, 3])]
    return [
        op.case("default", files).equals(rgb),
        op.case("float", files, dtype=op.float32).equals(
            [shape.astype(np.float32) for shape in rgb]
        ),
        op.case("any", files, image_type=op.ImageType.ANY_DATA)
        .equals([rgb[0], np.array([5, 9, 1])])
        .no_oracle(),
        op.case("empty", op.batch(np.empty((0, 1), np.uint8))).equals([]),
        op.case("no image", op.batch([np.zeros(20, np.uint8)])).runtime_error("sample 0"),
    ]
