"""`transforms.translation`: a shift."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradiva.eager import extension as op

from .affine import apply, made, transform_type


@op.maker("transforms.translation", inputs=(0, 1), frames=("offset",))
def translation(
    input: op.SampleType | op.Value | None = None,
    /,
    *,
    offset: op.FloatsArg,
    reverse_order: bool = False,
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """Make the transform p -> p + offset.

    input: a transform to go on from, float32 (n, n + 1), or a sequence of them with a layout that
        begins with F; this one comes after it, with `reverse_order` before it.
    offset: the shift, n numbers.

    Returns float32 matrices (n, n + 1), [M T], of the input's shape if there is one; without input
    and without `batch_size`, one Tensor in dynamic mode. Arguments may differ per sample, their
    lengths may not. Raises OperatorTypeError for another input, OperatorValueError for lengths
    that do not fit together.
    """
    return transform_type(input)


@translation.shapes
def _shapes(call: op.Call) -> op.Geometry:
    return made(call, call["offset"].shape[1], "offset")


@translation.cpu
def _cpu(call: op.Call) -> None:
    offset = call["offset"]
    axes = offset.shape[1]
    own = np.zeros((call.size, axes, axes + 1), np.float32)
    own[:, :, :axes] = np.eye(axes, dtype=np.float32)
    own[:, :, axes] = offset
    apply(call, own)


@translation.cases
def _cases() -> list[op.Case]:
    moves = op.samples((2, 3), (2, 3), dtype=op.float32, layout="")
    frames = op.samples((2, 2, 3), (1, 2, 3), dtype=op.float32, layout="FAB")
    wrong = op.samples((2, 2), dtype=op.float32, layout="")

    def matrix(*rows: list[float]) -> np.ndarray[Any, Any]:
        return np.array(rows, np.float32)

    shifted = [moves.at(i) + matrix([0, 0, 1], [0, 0, -2]) for i in (0, 1)]
    rows = np.array([[1, 2], [3, 4]], np.float32)
    return [
        op.case("plane", batch_size=1, offset=(1, 2))
        .equals([matrix([1, 0, 1], [0, 1, 2])])
        .no_oracle(),
        op.case("line", offset=3, batch_size=2).equals([matrix([1, 3])] * 2).no_oracle(),
        op.case("per sample", batch_size=2, offset=rows)
        .equals([matrix([1, 0, 1], [0, 1, 2]), matrix([1, 0, 3], [0, 1, 4])])
        .no_oracle(),
        op.case("after", moves, offset=(1, -2)).equals(shifted).no_oracle(),
        op.case("before", moves, offset=(1, -2), reverse_order=True).no_oracle(),
        op.case("sequence", frames, offset=(1, -2)).no_oracle(),
        op.case("empty", offset=(1, 2), batch_size=0).equals([]).no_oracle(),
        op.case("no matrix", wrong, offset=(1, 2)).value_error("n + 1"),
        op.case("other axes", moves, offset=1).value_error("`offset`"),
        op.case("seven", offset=[1] * 7).value_error("`offset`"),
        op.case("bytes", op.samples((2, 3), layout=""), offset=(1, 2)).type_error("dtype"),
    ]
