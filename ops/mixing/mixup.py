"""`mixup`: weighted sums of two samples and of their labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.rows.convert import convert_array, convert_sat
from gradiva.eager.types.arrays import Float32Array, I64Vector, Int64Array, Slabs, Vector

from .groups import (
    MixArguments,
    MixGroup,
    MixProbability,
    check_group,
    chosen_samples,
    partners_of,
    shares_of,
)
from .soft_labels import check_classes, mix_labels, soft_shapes, soft_type

_NARROW = (op.uint8, op.int8, op.uint16, op.int16, op.float16, op.float32)
"""The dtypes whose values float32 holds."""
_WIDE = (op.int32, op.uint32, op.int64, op.uint64, op.float64)


@op.operator("mixup", inputs=(1, 2), random=True)
@op.uses_arguments(..., MixProbability, MixGroup)
def mixup(
    input: op.SampleType,
    labels: Any = None,
    /,
    *,
    alpha: op.FloatArg = 0.2,
    num_classes: int | None = None,
    lam: op.FloatArg | None = None,
    **options: op.Unpack[MixArguments],
) -> op.SampleType | tuple[op.SampleType, ...]:
    """Mix each sample with another one of the batch, and its label with that of the other.

    A sample becomes lam * itself + (1 - lam) * its partner, and so does its label (Zhang, Cisse,
    Dauphin, Lopez-Paz: "mixup: beyond empirical risk minimization", ICLR 2018). Each sample draws a
    lam of its own.

    Args:
        input: any dtype but bool, any rank and layout; the samples of a group have one shape.
            Integers are rounded half away from zero.
        labels: a class number for each sample, an integer of shape () or (1,), which needs
            `num_classes`; or a vector of bool or floats, with a number for each class, for several
            classes and for labels that are soft already.
        alpha: lam is drawn with the beta distribution of alpha and alpha: the smaller, the nearer
            to 0 and 1. May differ per sample. The values are those of
            `random.beta(alpha=alpha, beta=alpha)` for the same key.
        num_classes: the length of the labels that are returned.
        lam: how much of each sample is itself, from 0 to 1, instead of drawing it; may differ per
            sample.

    Returns:
        Samples of the shapes and dtype of the input; and, if labels are given, theirs: float32,
        (num_classes,).

    Raises:
        OperatorTypeError: for labels that are none, and class numbers without `num_classes`.
        OperatorValueError: naming the sample, for another shape than its partner's, for a class
            out of range, and for arguments out of range.

    Example:
        images = gradiva.resize(gradiva.imread(["cat.jpg", "coffee.jpg"]), size=(224, 224))
        labels = gradiva.as_batch(np.int32([3, 7]))
        images, labels = gradiva.mixup(images, labels, alpha=0.2, num_classes=10)
    """
    op.require_dtype(input, _NARROW + _WIDE)
    check_group(options)
    check_classes(num_classes)
    return input if labels is None else (input, soft_type(labels, num_classes))


@dataclass(frozen=True)
class MixupPlan(op.Plan):
    """partners, shares: of each sample, (N,)."""

    partners: Int64Array
    shares: Float32Array


mixup.samplewise, mixup.mixes = False, True
mixup.moves = op.NoMap("it shows two images at once")


@mixup.shapes
def _shapes(call: op.Call) -> MixupPlan:
    source = call.inputs[0].batch_shape
    partners = partners_of(call)[:, 0]
    shapes = source.shapes
    op.refuse_samples(
        (shapes != shapes[partners]).any(axis=1),
        "",
        lambda sample: f"{source.shape(int(partners[sample]))}, as sample {partners[sample]}",
        shapes,
        "samples that are mixed have one shape (`resize` and `crop` make one)",
    )
    chosen = chosen_samples(call) & (partners != np.arange(call.size))
    shares = shares_of(call, chosen)
    if len(call.inputs) == 1:
        return MixupPlan(source, partners, shares)
    return MixupPlan((source, soft_shapes(call.inputs[1], call["num_classes"])), partners, shares)


@op.jit
def mix_kernel(
    slabs: Slabs, volumes: I64Vector, partners: I64Vector, shares: Vector, begin: int, end: int
) -> None:
    """Fill samples with the weighted sums of two samples; `shares` has the dtype of the sums."""
    source, offsets, target, places = slabs
    one = shares.dtype.type(1)
    for i in range(begin, end):
        volume, first, to = volumes[i], offsets[i], places[i]
        own, made = source[first : first + volume], target[to : to + volume]
        first = offsets[partners[i]]
        other = source[first : first + volume]
        share = shares[i]
        rest = one - share
        if rest == shares.dtype.type(0):
            for k in range(volume):
                made[k] = own[k]
        else:
            for k in range(volume):
                mixed = shares.dtype.type(own[k]) * share + shares.dtype.type(other[k]) * rest
                made[k] = convert_sat(mixed, target)


@mixup.cpu
def _cpu(call: op.Call, plan: MixupPlan) -> None:
    source, target = call.inputs[0], call.outputs[0]
    single, half = np.dtype(np.float32), source.dtype is op.float16
    shares = plan.shares.astype(np.float32 if source.dtype in _NARROW else np.float64)
    data = convert_array(source.data, single) if half else source.data
    made = np.zeros(target.data.shape, single) if half else target.data
    slabs = data, source.batch_shape.offsets, made, target.batch_shape.offsets
    call.for_samples(mix_kernel, slabs, target.batch_shape.volumes, plan.partners, shares)
    if half:
        target.data[:] = convert_array(made, target.data.dtype)
    if len(call.inputs) > 1:
        mix_labels(call, call.inputs[1], 1, plan.partners, plan.shares)


@mixup.cases
def _cases() -> list[op.Case]:
    images = op.samples((6, 5, 3), (6, 5, 3))
    floats = op.samples((4, 5), (4, 5), dtype=op.float32, layout="HW")
    ragged = op.samples((6, 5, 3), (6, 4, 3))
    classes = op.batch([np.int32(2), np.int32(0)])
    column = op.batch([np.array([2], np.int64), np.array([0], np.int64)])
    hot = op.batch([np.array([1, 0, 1], np.bool_), np.array([0, 1, 0], np.bool_)])
    one, other = (image.astype(np.float32) for image in images.arrays())
    quarter, rest = np.float32(0.25), np.float32(0.75)
    mixed = [one * quarter + other * rest, other * quarter + one * rest]
    rounded = [np.floor(value + np.float32(0.5)).astype(np.uint8) for value in mixed]
    wide = op.samples((4, 5), (4, 5), dtype=op.int64, layout="HW")
    return [
        op.case("a quarter", images, lam=0.25, seed=1).equals(rounded).no_oracle(),
        op.case("drawn", images, classes, num_classes=3, seed=1).no_oracle(),
        op.case("floats", floats, column, lam=[0.0, 1.0], num_classes=4, seed=1)
        .equals([floats.at(1), floats.at(1)])
        .no_oracle(),
        op.case("hot", floats, hot, alpha=[1.0, 3.0], seed=1).no_oracle(),
        op.case("none", images, hot, probability=0, seed=1).equals(images.arrays()).no_oracle(),
        op.case("groups of one", images, mix_group=1, seed=1).equals(images.arrays()).no_oracle(),
        op.case(
            "half", op.samples((3, 4), (3, 4), dtype=op.float16, layout="HW"), seed=1
        ).no_oracle(),
        op.case("wide", wide, lam=0, seed=1).equals([wide.at(1), wide.at(0)]).no_oracle(),
        op.case("empty", op.samples(), seed=1).equals([]).no_oracle(),
        op.case("ragged", ragged, seed=1).value_error("sample 0"),
        op.case("no such class", images, classes, num_classes=2, seed=1).value_error("sample 0"),
        op.case("how many classes", images, classes, seed=1).type_error("`num_classes`"),
        op.case("no alpha", images, alpha=[1.0, -0.5], seed=1).value_error("`alpha`"),
        op.case("no share", images, lam=[1.5, 0.5], seed=1).value_error("`lam`"),
        op.case("no probability", images, probability=2, seed=1).value_error("`probability`"),
        op.case("no group", images, mix_group=0, seed=1).value_error("`mix_group`"),
        op.case("dtype", op.samples((2, 2, 3), dtype=op.bool_), seed=1).type_error("dtype"),
    ]
