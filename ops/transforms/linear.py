"""Transforms that keep a center where it is: `scale`, `rotation` and `shear`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.operators.argument_types import RaggedFloatsArg
from gradiva.eager.types.arrays import Float32Array

from .affine import about, apply, axes_of, made, radians, transform_type, turned, vector
from .arguments import Center, CenteredTransform, Continued
from .cases import makes, matrix, transforms_for_cases


@op.maker("transforms.scale", schema="transforms__Scale", inputs=(0, 1), frames=("scale", "center"))
@op.uses_arguments("scale", Center, "ndim", Continued)
def scale(
    input: op.SampleType | op.Value | None = None,
    /,
    *,
    scale: op.FloatsArg,
    ndim: int | None = None,
    **options: op.Unpack[CenteredTransform],
) -> op.SampleType:
    """Make a scaling transform: p -> scale * (p - center) + center, axis by axis.

    Args:
        scale: a factor for each axis, or one for all.
        ndim: the number of axes n, where `scale` is one number and there is no input; 1 by default.

    Example:
        gradiva.transforms.scale(scale=(2, 3), center=(10, 10))
        # [[2.0, 0.0, -10.0], [0.0, 3.0, -20.0]]
    """
    return transform_type(input)


@scale.shapes
def _scale_shapes(call: op.Call) -> op.BatchShape:
    count, ndim = call["scale"].shape[1], call["ndim"]
    if ndim is not None and count not in (1, ndim):
        raise op.wrong_value(
            "ndim", f"{count}, as `scale` has", ndim, "`scale` and `ndim` contradict each other"
        )
    if count == 1:
        axes = axes_of(call)
        return made(call, (ndim or 1) if axes is None and ndim != 0 else axes or ndim, "ndim")
    return made(call, count, "scale")


@scale.cpu
def _scale_cpu(call: op.Call) -> None:
    axes = int(call.outputs[0].batch_shape.shapes[0, -2])
    linear = np.zeros((call.size, axes, axes), np.float32)
    for k in range(axes):
        factors = call["scale"]
        linear[:, k, k] = factors[:, k if factors.shape[1] > 1 else 0]
    apply(call, about(linear, vector(call, "center", axes)))


@scale.cases
def _scale_cases() -> list[op.Case]:
    moves, frames, wrong = transforms_for_cases()
    factors = np.array([[2, 3], [1, -1]], np.float32)
    doubled = [moves.at(i) * np.float32(2) for i in (0, 1)]
    return [
        makes("plane", matrix([2, 0, 0], [0, 3, 0]), scale=(2, 3)),
        makes("one number", matrix([2, 0]), scale=2),
        makes("ndim", matrix([2, 0, 0], [0, 2, 0]), scale=2, ndim=2),
        makes("center", matrix([2, 0, -1], [0, 3, -8]), scale=(2, 3), center=(1, 4)),
        makes(
            "per sample", matrix([2, 0, 0], [0, 3, 0]), matrix([1, 0, 0], [0, -1, 0]), scale=factors
        ),
        op.case("after", moves, scale=2).equals(doubled).no_oracle(),
        op.case("before", moves, scale=(2, 3), reverse_order=True).no_oracle(),
        op.case("sequence", frames, scale=2.5, center=1.5).no_oracle(),
        op.case("empty", scale=(1, 2), batch_size=0).equals([]).no_oracle(),
        op.case("ndim that differs", scale=(1, 2), ndim=3).value_error("`ndim`"),
        op.case("no axes", scale=2, ndim=0).value_error("`ndim`"),
        op.case("wrong center", scale=(1, 2), center=(1, 2, 3)).value_error("`center`"),
        op.case("no matrix", wrong, scale=2).value_error("n + 1"),
        op.case("text", scale="big").type_error("`scale`"),
    ]


@op.maker(
    "transforms.rotation",
    schema="transforms__Rotation",
    inputs=(0, 1),
    frames=("angle", "center", "axis"),
)
@op.uses_arguments(Center, Continued)
def rotation(
    input: op.SampleType | op.Value | None = None,
    /,
    *,
    angle: op.FloatArg,
    axis: op.FloatsArg | None = None,
    **options: op.Unpack[CenteredTransform],
) -> op.SampleType:
    """Make a rotation transform, in the plane or, if `axis` is given, in space.

    In space it is Rodrigues' formula, cos a I + sin a [u]x + (1 - cos a) u u^T.

    Args:
        angle: the angle in degrees; x turns toward y.
        axis: the axis around which to turn: three numbers that are not all 0, or one number that
            stands for three.

    Example:
        matrix = gradiva.transforms.rotation(angle=30.0, center=(225, 150))
        image = gradiva.warp_affine(gradiva.imread("cat.jpg"), matrix=matrix, fill_value=0)
    """
    return transform_type(input)


@rotation.shapes
def _rotation_shapes(call: op.Call) -> op.BatchShape:
    axis = vector(call, "axis", 3)
    if axis is None:
        return made(call, 2, "angle")
    lengths = np.abs(axis).max(axis=1, initial=0)
    bad = ~((lengths > 0) & np.isfinite(axis).all(axis=1))
    op.refuse_samples(bad, "axis", "three finite numbers, not all 0", axis)
    return made(call, 3, "axis")


@rotation.cpu
def _rotation_cpu(call: op.Call) -> None:
    axis = vector(call, "axis", 3)
    linear = turned(call["angle"], axis)
    apply(call, about(linear, vector(call, "center", linear.shape[1])))


@rotation.cases
def _rotation_cases() -> list[op.Case]:
    moves, frames, wrong = transforms_for_cases()
    half = 0.5
    root = float(np.float32(0.75**0.5))
    angles = [30, 0]
    return [
        makes("plane", matrix([root, -half, 0], [half, root, 0]), angle=30),
        op.case("space", batch_size=1, angle=30, axis=(1, 2, 3)).no_oracle(),
        makes(
            "around z",
            matrix([root, -half, 0, 0], [half, root, 0, 0], [0, 0, 1, 0]),
            angle=30,
            axis=(0, 0, 5),
        ),
        makes(
            "per sample",
            matrix([root, -half, 0], [half, root, 0]),
            matrix([1, 0, 0], [0, 1, 0]),
            angle=angles,
        ),
        op.case("center", batch_size=1, angle=-400, center=(3, 0.25)).no_oracle(),
        op.case("after", moves, angle=30).no_oracle(),
        op.case("before", frames, angle=[30, 60], reverse_order=True).no_oracle(),
        op.case("empty", angle=1, batch_size=0).equals([]).no_oracle(),
        op.case("no axis", angle=1, axis=(0, 0, 0)).value_error("`axis`"),
        op.case("two numbers", angle=1, axis=(1, 0)).value_error("`axis`"),
        op.case("space of the plane", moves, angle=1, axis=(1, 0, 0)).value_error("`axis`"),
        op.case("wrong center", angle=1, center=(1, 2, 3)).value_error("`center`"),
        op.case("no matrix", wrong, angle=1).value_error("n + 1"),
        op.case("no angle").type_error("`angle`"),
    ]


@op.maker(
    "transforms.shear",
    schema="transforms__Shear",
    inputs=(0, 1),
    frames=("angles", "shear", "center"),
)
@op.uses_arguments(Center, Continued)
def shear(
    input: op.SampleType | op.Value | None = None,
    /,
    *,
    shear: RaggedFloatsArg | None = None,
    angles: RaggedFloatsArg | None = None,
    **options: op.Unpack[CenteredTransform],
) -> op.SampleType:
    """Make a shear transform: each coordinate moves by a multiple of the others.

    Exactly one of `shear` and `angles` must be given.

    Args:
        shear: the factors, (xy, yx) in the plane: x + xy * y, y + yx * x; in space (xy, xz, yx, yz,
            zx, zy). Per sample also as a matrix, (2, 1) or (3, 2).
        angles: instead, in degrees from -90 to 90, of which the factors are the tangents.

    Example:
        gradiva.transforms.shear(shear=(0.5, 0.0))  # [[1.0, 0.5, 0.0], [0.0, 1.0, 0.0]]
    """
    return transform_type(input)


@dataclass(frozen=True)
class ShearPlan(op.Plan):
    """factors: (N, 2), or (N, 6) in space; N is 1 for those of all samples."""

    factors: Float32Array


def _factors(call: op.Call) -> tuple[str, Float32Array]:
    """Which argument was given, and the factors, (N, 2) or (N, 6); (1, 2) or (1, 6) for those of
    all samples."""
    factors, angles = call["shear"], call["angles"]
    if (factors is None) == (angles is None):
        raise op.OperatorValueError("give either `shear` or `angles`")
    name = "shear" if angles is None else "angles"
    given = factors if angles is None else angles
    if name not in call.edges:
        given = given[:1]  # one for all samples
    lengths = {len(row) for row in given}
    if len(lengths) > 1 or not lengths <= {2, 6}:
        raise op.wrong_value(name, "2 numbers, or 6 in space", sorted(lengths))
    rows = np.array(given, np.float32) if given else np.empty((0, 2), np.float32)
    if angles is not None:
        bad = ~((rows >= -90) & (rows <= 90)).all(axis=1)
        op.refuse_samples(bad, "angles", "degrees from -90 to 90", rows)
        # The radians are float32, so that the tangent of a right angle is finite.
        rows = np.tan(radians(rows)).astype(np.float32)
    return name, rows


@shear.shapes
def _shear_shapes(call: op.Call) -> ShearPlan:
    name, rows = _factors(call)
    return ShearPlan(made(call, 2 if rows.shape[1] == 2 else 3, name), rows)


@shear.cpu
def _shear_cpu(call: op.Call, plan: ShearPlan) -> None:
    rows = plan.factors
    axes = 2 if rows.shape[1] == 2 else 3
    linear = np.ones((call.size, axes, axes), np.float32)
    others = [(one, other) for one in range(axes) for other in range(axes) if one != other]
    for k, (one, other) in enumerate(others):
        linear[:, one, other] = rows[:, k]
    apply(call, about(linear, vector(call, "center", axes)))


@shear.cases
def _shear_cases() -> list[op.Case]:
    moves, frames, wrong = transforms_for_cases()
    factors = np.array([[2, 3], [1, -1]], np.float32)
    sheared = matrix([1, 2, 0], [3, 1, 0]), matrix([1, 1, 0], [-1, 1, 0])
    return [
        makes("plane", matrix([1, 2, 0], [3, 1, 0]), shear=(2, 3)),
        makes("space", matrix([1, 1, 2, 0], [3, 1, 4, 0], [5, 6, 1, 0]), shear=(1, 2, 3, 4, 5, 6)),
        makes("angles", matrix([1, 0, 0], [1, 1, 0]), angles=(0, 45)),
        op.case("right angle", batch_size=1, angles=(90, -90)).no_oracle(),
        op.case("angles in space", batch_size=1, angles=(10, 20, 30, -10, -20, -30)).no_oracle(),
        makes("center", matrix([1, 2, -14], [3, 1, -15]), shear=(2, 3), center=(5, 7)),
        makes("per sample", *sheared, shear=factors),
        makes("matrices", *sheared, shear=op.batch(factors.reshape(2, 2, 1))),
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
