"""`transforms.scale`: a change of scale."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradiva.eager import extension as op

from .affine import about, apply, axes_of, made, transform_type, vector


@op.maker("transforms.scale", inputs=(0, 1), frames=("scale", "center"))
def scale(
    input: op.SampleType | op.Value | None = None,
    /,
    *,
    scale: op.FloatsArg,
    center: op.FloatsArg | None = None,
    ndim: int | None = None,
    reverse_order: bool = False,
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """Make the transform p -> scale * (p - center) + center, axis by axis.

    input: a transform to go on from, float32 (n, n + 1), or a sequence of them with a layout that
        begins with F; this one comes after it, with `reverse_order` before it.
    scale: a factor for each axis, or one for all. ndim: the number of axes n, where `scale` is one
        number and there is no input; 1 by default.
    center: what stays where it is, n numbers or one for all axes; the origin by default.

    Returns float32 matrices (n, n + 1), [M T], of the input's shape if there is one; without input
    and without `batch_size`, one Tensor in dynamic mode. Arguments may differ per sample, their
    lengths may not. Raises OperatorTypeError for another input, OperatorValueError for lengths
    that do not fit together.
    """
    return transform_type(input)


@scale.shapes
def _shapes(call: op.Call) -> op.Geometry:
    count, ndim = call["scale"].shape[1], call["ndim"]
    if ndim is not None and count not in (1, ndim):
        raise op.OperatorValueError(
            "`scale` and `ndim` contradict each other",
            argument="ndim",
            expected=f"{count}, as `scale` has",
            got=str(ndim),
        )
    if count == 1:
        axes = axes_of(call)
        return made(call, (ndim or 1) if axes is None and ndim != 0 else axes or ndim, "ndim")
    return made(call, count, "scale")


@scale.cpu
def _cpu(call: op.Call) -> None:
    axes = int(call.outputs[0].geometry.shapes[0, -2])
    linear = np.zeros((call.size, axes, axes), np.float32)
    for k in range(axes):
        factors = call["scale"]
        linear[:, k, k] = factors[:, k if factors.shape[1] > 1 else 0]
    apply(call, about(linear, vector(call, "center", axes)))


@scale.cases
def _cases() -> list[op.Case]:
    moves = op.samples((2, 3), (2, 3), dtype=op.float32, layout="")
    frames = op.samples((2, 2, 3), (1, 2, 3), dtype=op.float32, layout="FAB")
    wrong = op.samples((2, 2), dtype=op.float32, layout="")

    def matrix(*rows: list[float]) -> np.ndarray[Any, Any]:
        return np.array(rows, np.float32)

    factors = np.array([[2, 3], [1, -1]], np.float32)
    doubled = [moves.at(i) * np.float32(2) for i in (0, 1)]
    return [
        op.case("plane", batch_size=1, scale=(2, 3))
        .equals([matrix([2, 0, 0], [0, 3, 0])])
        .no_oracle(),
        op.case("one number", batch_size=1, scale=2).equals([matrix([2, 0])]).no_oracle(),
        op.case("ndim", batch_size=1, scale=2, ndim=2)
        .equals([matrix([2, 0, 0], [0, 2, 0])])
        .no_oracle(),
        op.case("centre", batch_size=1, scale=(2, 3), center=(1, 4))
        .equals([matrix([2, 0, -1], [0, 3, -8])])
        .no_oracle(),
        op.case("per sample", batch_size=2, scale=factors)
        .equals([matrix([2, 0, 0], [0, 3, 0]), matrix([1, 0, 0], [0, -1, 0])])
        .no_oracle(),
        op.case("after", moves, scale=2).equals(doubled).no_oracle(),
        op.case("before", moves, scale=(2, 3), reverse_order=True).no_oracle(),
        op.case("sequence", frames, scale=2.5, center=1.5).no_oracle(),
        op.case("empty", scale=(1, 2), batch_size=0).equals([]).no_oracle(),
        op.case("ndim that differs", scale=(1, 2), ndim=3).value_error("`ndim`"),
        op.case("no axes", scale=2, ndim=0).value_error("`ndim`"),
        op.case("wrong centre", scale=(1, 2), center=(1, 2, 3)).value_error("`center`"),
        op.case("no matrix", wrong, scale=2).value_error("n + 1"),
        op.case("text", scale="big").type_error("`scale`"),
    ]
