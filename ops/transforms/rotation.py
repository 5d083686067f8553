"""`transforms.rotation`: a rotation."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradiva.eager import extension as op

from .affine import about, apply, made, transform_type, turned, vector


@op.maker("transforms.rotation", inputs=(0, 1), frames=("angle", "center", "axis"))
def rotation(
    input: op.SampleType | op.Value | None = None,
    /,
    *,
    angle: op.FloatArg,
    axis: op.FloatsArg | None = None,
    center: op.FloatsArg | None = None,
    reverse_order: bool = False,
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """Make a rotation in the plane, or in space if `axis` is given.

    input: a transform to go on from, float32 (n, n + 1), or a sequence of them with a layout that
        begins with F; this one comes after it, with `reverse_order` before it.
    angle: degrees; x turns toward y. axis: around which to turn, three numbers of any length but 0,
        or one that stands for three.
    center: what stays where it is, n numbers or one for all axes; the origin by default.

    In space it is Rodrigues' formula, cos a I + sin a [u]x + (1 - cos a) u u^T.
    Returns float32 matrices (n, n + 1), [M T], of the input's shape if there is one; without input
    and without `batch_size`, one Tensor in dynamic mode. Arguments may differ per sample, their
    lengths may not. Raises OperatorTypeError for another input, OperatorValueError for lengths
    that do not fit together.
    """
    return transform_type(input)


@rotation.shapes
def _shapes(call: op.Call) -> op.Geometry:
    axis = vector(call, "axis", 3)
    if axis is None:
        return made(call, 2, "angle")
    lengths = np.abs(axis).max(axis=1, initial=0)
    bad = ~((lengths > 0) & np.isfinite(axis).all(axis=1))
    if bad.any():
        sample = int(np.flatnonzero(bad)[0])
        raise op.OperatorValueError(
            argument="axis",
            expected="three finite numbers, not all 0",
            got=str(axis[sample].tolist()),
            sample=sample,
        )
    return made(call, 3, "axis")


@rotation.cpu
def _cpu(call: op.Call) -> None:
    axis = vector(call, "axis", 3)
    linear = turned(call["angle"], axis)
    apply(call, about(linear, vector(call, "center", linear.shape[1])))


@rotation.cases
def _cases() -> list[op.Case]:
    moves = op.samples((2, 3), (2, 3), dtype=op.float32, layout="")
    frames = op.samples((2, 2, 3), (1, 2, 3), dtype=op.float32, layout="FAB")
    wrong = op.samples((2, 2), dtype=op.float32, layout="")

    def matrix(*rows: list[float]) -> np.ndarray[Any, Any]:
        return np.array(rows, np.float32)

    half = 0.5
    root = float(np.float32(0.75**0.5))
    angles = [30, 0]
    return [
        op.case("plane", batch_size=1, angle=30)
        .equals([matrix([root, -half, 0], [half, root, 0])])
        .no_oracle(),
        op.case("space", batch_size=1, angle=30, axis=(1, 2, 3)).no_oracle(),
        op.case("around z", batch_size=1, angle=30, axis=(0, 0, 5))
        .equals([matrix([root, -half, 0, 0], [half, root, 0, 0], [0, 0, 1, 0])])
        .no_oracle(),
        op.case("per sample", batch_size=2, angle=angles)
        .equals([matrix([root, -half, 0], [half, root, 0]), matrix([1, 0, 0], [0, 1, 0])])
        .no_oracle(),
        op.case("centre", batch_size=1, angle=-400, center=(3, 0.25)).no_oracle(),
        op.case("after", moves, angle=30).no_oracle(),
        op.case("before", frames, angle=[30, 60], reverse_order=True).no_oracle(),
        op.case("empty", angle=1, batch_size=0).equals([]).no_oracle(),
        op.case("no axis", angle=1, axis=(0, 0, 0)).value_error("`axis`"),
        op.case("two numbers", angle=1, axis=(1, 0)).value_error("`axis`"),
        op.case("space of the plane", moves, angle=1, axis=(1, 0, 0)).value_error("`axis`"),
        op.case("wrong centre", angle=1, center=(1, 2, 3)).value_error("`center`"),
        op.case("no matrix", wrong, angle=1).value_error("n + 1"),
        op.case("no angle").type_error("`angle`"),
    ]
