"""`transforms.shear`: a shear."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gradiva.eager.operators.arguments import FloatsArg
from gradiva.eager.operators.call import Call
from gradiva.eager.operators.cases import Case, case, samples
from gradiva.eager.operators.operator import maker
from gradiva.eager.support.errors import OperatorValueError
from gradiva.eager.types.batch_shape import Geometry
from gradiva.eager.types.dtypes import float32
from gradiva.eager.types.sample_type import SampleType
from gradiva.eager.values.value import Value

from .affine import about, apply, made, radians, transform_type, vector

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from gradiva.eager.operators.arguments import Common

__all__ = ["shear"]


@maker("transforms.shear", inputs=(0, 1), frames=("angles", "shear", "center"))
def shear(
    input: SampleType | Value | None = None,
    /,
    *,
    shear: FloatsArg | None = None,
    angles: FloatsArg | None = None,
    center: FloatsArg | None = None,
    reverse_order: bool = False,
    **common: Unpack[Common],
) -> SampleType:
    """Make a shear: each coordinate moves by a multiple of the others.

    input: a transform to go on from, float32 (n, n + 1), or a sequence of them with a layout that
        begins with F; this one comes after it, with `reverse_order` before it.
    shear: the factors, (xy, yx) in the plane: x + xy * y, y + yx * x; in space (xy, xz, yx, yz,
        zx, zy). angles: instead, in degrees from -90 to 90, of which the factors are the tangents.
    center: what stays where it is, n numbers or one for all axes; the origin by default.

    Exactly one of `shear` and `angles` must be given.
    Returns float32 matrices (n, n + 1), [M T], of the input's shape if there is one; without input
    and without `batch_size`, one Tensor in dynamic mode. Arguments may differ per sample, their
    lengths may not. Raises OperatorTypeError for another input, OperatorValueError for lengths
    that do not fit together.
    """
    return transform_type(input)


def _factors(call: Call) -> tuple[str, np.ndarray[Any, np.dtype[np.float32]]]:
    """Which argument was given, and the factors, (N, 2) or (N, 6)."""
    factors, angles = call["shear"], call["angles"]
    if (factors is None) == (angles is None):
        raise OperatorValueError("give either `shear` or `angles`")
    name = "shear" if angles is None else "angles"
    rows = factors if angles is None else angles
    if len(rows) and rows.shape[1] not in (2, 6):
        raise OperatorValueError(
            argument=name, expected="2 numbers, or 6 in space", got=str(rows.shape[1])
        )
    if angles is not None:
        bad = ~((angles >= -90) & (angles <= 90)).all(axis=1)
        if bad.any():
            sample = int(np.flatnonzero(bad)[0])
            raise OperatorValueError(
                argument="angles",
                expected="degrees from -90 to 90",
                got=str(angles[sample].tolist()),
                sample=sample,
            )
        # The radians are float32, so that the tangent of a right angle is finite.
        rows = np.tan(radians(angles)).astype(np.float32)
    return name, rows


@shear.shapes
def _shapes(call: Call) -> Geometry:
    name, rows = _factors(call)
    call.notes["factors"] = rows
    return made(call, 2 if rows.shape[1] == 2 else 3, name)


@shear.cpu
def _cpu(call: Call) -> None:
    rows = call.notes["factors"]
    axes = 2 if rows.shape[1] == 2 else 3
    linear = np.ones((call.size, axes, axes), np.float32)
    linear[:, ~np.eye(axes, dtype=np.bool_)] = rows
    apply(call, about(linear, vector(call, "center", axes)))


@shear.cases
def _cases() -> list[Case]:
    moves = samples((2, 3), (2, 3), dtype=float32, layout="")
    frames = samples((2, 2, 3), (1, 2, 3), dtype=float32, layout="FAB")
    wrong = samples((2, 2), dtype=float32, layout="")

    def matrix(*rows: list[float]) -> np.ndarray[Any, Any]:
        return np.array(rows, np.float32)

    factors = np.array([[2, 3], [1, -1]], np.float32)
    return [
        case("plane", batch_size=1, shear=(2, 3))
        .equals([matrix([1, 2, 0], [3, 1, 0])])
        .no_oracle(),
        case("space", batch_size=1, shear=(1, 2, 3, 4, 5, 6))
        .equals([matrix([1, 1, 2, 0], [3, 1, 4, 0], [5, 6, 1, 0])])
        .no_oracle(),
        case("angles", batch_size=1, angles=(0, 45))
        .equals([matrix([1, 0, 0], [1, 1, 0])])
        .no_oracle(),
        case("right angle", batch_size=1, angles=(90, -90)).no_oracle(),
        case("angles in space", batch_size=1, angles=(10, 20, 30, -10, -20, -30)).no_oracle(),
        case("centre", batch_size=1, shear=(2, 3), center=(5, 7))
        .equals([matrix([1, 2, -14], [3, 1, -15])])
        .no_oracle(),
        case("per sample", batch_size=2, shear=factors)
        .equals([matrix([1, 2, 0], [3, 1, 0]), matrix([1, 1, 0], [-1, 1, 0])])
        .no_oracle(),
        case("after", moves, shear=(2, 3)).no_oracle(),
        case("before", frames, shear=(2, 3), reverse_order=True).no_oracle(),
        case("empty", shear=(1, 2), batch_size=0).equals([]).no_oracle(),
        case("both", shear=(1, 2), angles=(1, 2)).value_error("either"),
        case("neither").value_error("either"),
        case("obtuse", angles=(91, 0)).value_error("`angles`"),
        case("three", shear=(1, 2, 3)).value_error("`shear`"),
        case("no matrix", wrong, shear=(1, 2)).value_error("n + 1"),
        case("text", shear="big").type_error("`shear`"),
    ]
