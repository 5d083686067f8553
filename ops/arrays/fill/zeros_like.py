"""`zeros_like`: samples full of zeros, of the shapes of another batch."""

from __future__ import annotations

import numpy as np

from gradiva.eager import extension as op

from .filling import fill_with, filling_launch


@op.operator("zeros_like", bfloat16=True, same_shapes=True)
def zeros_like(
    like: op.SampleType, /, *, dtype: op.DTypeLike | None = None, **common: op.Unpack[op.Common]
) -> op.SampleType:
    """Samples full of zeros, with the shapes and the layout of `like`.

    like: any dtype, rank and layout. dtype: of the result; that of `like` by default.
    """
    chosen: op.DType | None = dtype  # type: ignore[assignment]  # converted by the engine
    return like if chosen is None else like.with_(dtype=chosen)


@zeros_like.cpu
def _cpu(call: op.Call) -> None:
    fill_with(call, 0)


@zeros_like.gpu
def _gpu(call: op.Call) -> op.Launch:
    return filling_launch(call, 0)


@zeros_like.cases
def _cases() -> list[op.Case]:
    images = op.samples((4, 5, 3), (1, 7, 3), (6, 0, 3))
    plain = op.samples((2, 3), (2, 3), dtype=op.float16, layout="")
    scalars = op.samples((), (), layout="")
    return [
        op.case("ragged", images).equals([np.zeros_like(images.at(i)) for i in range(3)]),
        op.case("uniform", plain).equals([np.zeros((2, 3), np.float16)] * 2),
        op.case("other dtype", images, dtype=op.float32).equals(
            [np.zeros(images.at(i).shape, np.float32) for i in range(3)]
        ),
        op.case("bool", plain, dtype=op.bool_).equals([np.zeros((2, 3), np.bool_)] * 2),
        op.case("scalars", scalars).equals([np.zeros((), np.uint8)] * 2),
        op.case("empty", op.samples()).equals([]),
        op.case("dtype", images, dtype=complex).type_error("`dtype`"),
    ]
