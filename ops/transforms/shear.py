"""`transforms.shear`: a shear."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradiva.eager import extension as op

from .affine import about, apply, made, radians, transform_type, vector


@op.maker("transforms.shear", inputs=(0, 1), frames=("angles", "shear", "center"))
def shear(
    input: op.SampleType | op.Value | None = None,
    /,
    *,
    shear: op.FloatsArg | None = None,
    angles: op.FloatsArg | None = None,
    center: op.FloatsArg | None = None,
    reverse_order: bool = False,
    **common: op.Unpack[op.Common],
) -> op.SampleType:
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


def _factors(call: op.Call) -> tuple[str, np.ndarray[Any, np.dtype[np.float32]]]:
    """Which argument was given, and the factors, (N, 2) or (N, 6)."""
    factors, angles = call["shear"], call["angles"]
    if (factors is None) == (angles is None):
        raise op.OperatorValueError("give either `shear` or `angles`")
    name = "shear" if angles is None else "angles"
    rows = factors if angles is None else angles
    if len(rows) and rows.shape[1] not in (2, 6):
        raise op.OperatorValueError(
            argument=name, expected="2 numbers, or 6 in space", got=str(rows.shape[1])
        )
    if angles is not None:
        bad = ~((angles >= -90) & (angles <= 90)).all(axis=1)
        if bad.any():
            sample = int(np.flatnonzero(bad)[0])
            raise op.OperatorValueError(
                argument="angles",
                expected="degrees from -90 to 90",
                got=str(angles[sample].tolist()),
                sample=sample,
            )
        # The radians are float32, so that the tangent of a right angle is finite.
        rows = np.tan(radians(angles)).astype(np.float32)
    return name, rows


@shear.shapes
def _shapes(call: op.Call) -> op.Geometry:
    name, rows = _factors(call)
    call.notes["factors"] = rows
    return made(call, 2 if rows.shape[1] == 2 else 3, name)


@shear.cpu
def _cpu(call: op.Call) -> None:
    rows = call.notes["factors"]
    axes = 2 if rows.shape[1] == 2 else 3
    linear = np.ones((call.size, axes, axes), np.float32)
    linear[:, ~np.eye(axes, dtype=np.bool_)] = rows
    apply(call, about(linear, vector(call, "center", axes)))


@shear.cases
def _cases() -> list[op.Case]:
    moves = op.samples((2, 3), (2, 3), dtype=op.float32, layout="")
    frames = op.samples((2, 2, 3), (1, 2, 3), dtype=op.float32, layout="FAB")
    wrong = op.samples((2, 2), dtype=op.float32, layout="")

    def matrix(*rows: list[float]) -> np.ndarray[Any, Any]:
        return np.array(rows, np.float32)

    factors = np.array([[2, 3], [1, -1]], np.float32)
    return [
        op.case("plane", batch_size=1, shear=(2, 3))
        .equals([matrix([1, 2, 0], [3, 1, 0])])
        .no_oracle(),
        op.case("space", batch_size=1, shear=(1, 2, 3, 4, 5, 6))
        .equals([matrix([1, 1, 2, 0], [3, 1, 4, 0], [5, 6, 1, 0])])
        .no_oracle(),
        op.case("angles", batch_size=1, angles=(0, 45))
        .equals([matrix([1, 0, 0], [1, 1, 0])])
        .no_oracle(),
        op.case("right angle", batch_size=1, angles=(90, -90)).no_oracle(),
        op.case("angles in space", batch_size=1, angles=(10, 20, 30, -10, -20, -30)).no_oracle(),
        op.case("centre", batch_size=1, shear=(2, 3), center=(5, 7))
        .equals([matrix([1, 2, -14], [3, 1, -15])])
        .no_oracle(),
        op.case("per sample", batch_size=2, shear=factors)
        .equals([matrix([1, 2, 0], [3, 1, 0]), matrix([1, 1, 0], [-1, 1, 0])])
        .no_oracle(),
        op.case("after", moves, shear=(2, 3)).no_oracle(),
        op.case("before", frames, shear=(2, 3), reverse_order=True).no_oracle(),
        op.case("empty", shear=(1, 2), batch_size=0).equals([]).no_oracle(),
        op.case("both", shear=(1, 2), angles=(1, 2)).value_error("either"),
        op.case("neither").value_error("either"),
        op.case("obtuse", angles=(91, 0)).value_error("`angles`"),
        op.case("three", shear=(1, 2, 3)).value_error("`shear`"),
        op.case("no matrix", wrong, shear=(1, 2)).value_error("n + 1"),
        op.case("text", shear="big").type_error("`shear`"),
    ]
