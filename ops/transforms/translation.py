"""`transforms.translation`: a shift."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gradiva.eager.operators.arguments import FloatsArg
from gradiva.eager.operators.call import Call
from gradiva.eager.operators.cases import Case, samples
from gradiva.eager.operators.operator import maker
from gradiva.eager.support.errors import OperatorTypeError, OperatorValueError
from gradiva.eager.types.batch_shape import Geometry
from gradiva.eager.types.dtypes import float32
from gradiva.eager.types.sample_type import SampleType
from gradiva.eager.values.value import Value

from .affine import apply, made, transform_type

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from gradiva.eager.operators.arguments import Common

__all__ = ["translation"]


@maker("transforms.translation", inputs=(0, 1), frames=("offset",))
def translation(
    input: SampleType | Value | None = None,
    /,
    *,
    offset: FloatsArg,
    reverse_order: bool = False,
    **common: Unpack[Common],
) -> SampleType:
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
def _shapes(call: Call) -> Geometry:
    return made(call, call["offset"].shape[1], "offset")


@translation.cpu
def _cpu(call: Call) -> None:
    offset = call["offset"]
    axes = offset.shape[1]
    own = np.zeros((call.size, axes, axes + 1), np.float32)
    own[:, :, :axes] = np.eye(axes, dtype=np.float32)
    own[:, :, axes] = offset
    apply(call, own)


@translation.cases
def _cases() -> list[Case]:
    moves = samples((2, 3), (2, 3), dtype=float32, layout="")
    frames = samples((2, 2, 3), (1, 2, 3), dtype=float32, layout="FAB")
    wrong = samples((2, 2), dtype=float32, layout="")

    def matrix(*rows: list[float]) -> np.ndarray[Any, Any]:
        return np.array(rows, np.float32)

    shifted = [moves.at(i) + matrix([0, 0, 1], [0, 0, -2]) for i in (0, 1)]
    rows = np.array([[1, 2], [3, 4]], np.float32)
    return [
        Case(
            "plane",
            (),
            {"batch_size": 1, "offset": (1, 2)},
            [matrix([1, 0, 1], [0, 1, 2])],
            oracle=False,
        ),
        Case("line", (), {"offset": 3, "batch_size": 2}, [matrix([1, 3])] * 2, oracle=False),
        Case(
            "per sample",
            (),
            {"batch_size": 2, "offset": rows},
            [matrix([1, 0, 1], [0, 1, 2]), matrix([1, 0, 3], [0, 1, 4])],
            oracle=False,
        ),
        Case("after", (moves,), {"offset": (1, -2)}, shifted, oracle=False),
        Case("before", (moves,), {"offset": (1, -2), "reverse_order": True}, oracle=False),
        Case("sequence", (frames,), {"offset": (1, -2)}, oracle=False),
        Case("empty", (), {"offset": (1, 2), "batch_size": 0}, [], oracle=False),
        Case("no matrix", (wrong,), {"offset": (1, 2)}, raises=OperatorValueError, match="n + 1"),
        Case("other axes", (moves,), {"offset": 1}, raises=OperatorValueError, match="`offset`"),
        Case("seven", (), {"offset": [1] * 7}, raises=OperatorValueError, match="`offset`"),
        Case(
            "bytes",
            (samples((2, 3), layout=""),),
            {"offset": (1, 2)},
            raises=OperatorTypeError,
            match="dtype",
        ),
    ]
