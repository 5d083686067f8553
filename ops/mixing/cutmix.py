"""`cutmix`: a box of each image from another one, and shares of both labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import Float32Array, I64Table, I64Vector, Int64Array, Slabs
from gradiva.ops.image.planes import check_same_stacks, plane_layout, planes_of

from .groups import (
    MixArguments,
    MixGroup,
    MixProbability,
    centers_of,
    check_group,
    chosen_samples,
    partners_of,
    shares_of,
)
from .soft_labels import check_classes, mix_labels, soft_shapes, soft_type


@op.operator("cutmix", inputs=(1, 2), random=True)
@op.uses_arguments(..., MixProbability, MixGroup)
def cutmix(
    input: op.SampleType,
    labels: Any = None,
    /,
    *,
    alpha: op.FloatArg = 1.0,
    num_classes: int | None = None,
    lam: op.FloatArg | None = None,
    center: op.FloatsArg | None = None,
    **options: op.Unpack[MixArguments],
) -> op.SampleType | tuple[op.SampleType, ...]:
    """Replace a random box of each image with the same part of another image of the batch.

    The box has the sides sqrt(1 - lam) * height and sqrt(1 - lam) * width, and its center is
    anywhere in the image; what leaves the image is cut off (Yun, Han, Oh, Chun, Choe, Yoo:
    "CutMix", ICCV 2019). The label of the image counts as much as the part of its pixels that is
    left. Each sample draws a box of its own.

    Args:
        input: images or videos of any dtype, in a layout with H and W; HW, HWC or FHWC by rank if
            they have none. All frames of a video get one box. Images of a group may differ in size:
            the box is then no larger than the partner, and taken from where it lies in proportion.
        labels: a class number for each sample, an integer of shape () or (1,), which needs
            `num_classes`; or a vector of bool or floats, with a number for each class, for several
            classes and for labels that are soft already.
        alpha: lam is drawn with the beta distribution of alpha and alpha; may differ per sample.
            The values are those of `random.beta(alpha=alpha, beta=alpha)` for the same key.
        num_classes: the length of the labels that are returned.
        lam: the part of each sample, from 0 to 1, that a box inside of the image leaves, instead of
            drawing it; may differ per sample.
        center: where the middle of the box is (y, x), from 0 to 1, instead of drawing it; may
            differ per sample.

    Returns:
        Images of the shapes, dtype and layout of the input; and, if labels are given, theirs:
        float32, (num_classes,).

    Raises:
        OperatorTypeError: for layouts without H and W, labels that are none, and class numbers
            without `num_classes`.
        OperatorValueError: naming the sample, for other channels or frames than its partner's, for
            a class out of range, and for arguments out of range.

    Example:
        images = gradiva.resize(gradiva.imread(["cat.jpg", "coffee.jpg"]), size=(224, 224))
        labels = gradiva.as_batch(np.int32([3, 7]))
        images, labels = gradiva.cutmix(images, labels, num_classes=10)
    """
    made = op.with_layout(input, plane_layout(input))
    check_group(options)
    check_classes(num_classes)
    return made if labels is None else (made, soft_type(labels, num_classes))


@dataclass(frozen=True)
class CutmixPlan(op.Plan):
    """partners, shares: of each sample, (N,); boxes: as `_boxes` makes them."""

    partners: Int64Array
    shares: Float32Array
    boxes: Int64Array


cutmix.samplewise, cutmix.mixes = False, True
cutmix.moves = op.NoMap("it shows two images at once")


def _boxes(sizes: Int64Array, others: Int64Array, shares: Any, centers: Any) -> Int64Array:
    """(N, 6): top, left, height and width of the box of each sample, and top and left of where it
    is taken from. sizes, others: heights and widths, (N, 2), of samples and of their partners;
    centers: the pixels that the boxes have in the middle, (N, 2)."""
    half = (0.5 * np.sqrt(1.0 - shares.astype(np.float64))[:, None] * sizes).astype(np.int64)
    low, high = np.maximum(centers - half, 0), np.minimum(centers + half, sizes)
    extents = np.maximum(high - low, 0)
    taken = np.minimum(extents, others)
    low += (extents - taken) // 2
    free, there = sizes - taken, others - taken
    where = np.where(free > 0, low * there // np.maximum(free, 1), there // 2)
    return np.concatenate([low, taken, where], axis=1)


@cutmix.shapes
def _shapes(call: op.Call) -> CutmixPlan:
    source, layout = call.inputs[0].batch_shape, call.types[0].layout or ""
    partners = partners_of(call)[:, 0]
    check_same_stacks(source.shapes, partners[:, None], layout)
    chosen = chosen_samples(call) & (partners != np.arange(call.size))
    sizes = planes_of(source.shapes, layout)[:, 1:3]
    centers = centers_of(call, sizes)
    boxes = _boxes(sizes, sizes[partners], shares_of(call, chosen), centers)
    taken = boxes[:, 2:4].prod(axis=1) / np.maximum(sizes.prod(axis=1), 1)
    shares = (1.0 - taken).astype(np.float32)
    if len(call.inputs) == 1:
        return CutmixPlan(source, partners, shares, boxes)
    shapes = source, soft_shapes(call.inputs[1], call["num_classes"])
    return CutmixPlan(shapes, partners, shares, boxes)


@op.jit
def cut_kernel(
    slabs: Slabs, planes: I64Table, partners: I64Vector, boxes: I64Table, begin: int, end: int
) -> None:
    """Copy samples, and into each a box of its partner. planes, boxes: as `planes_of` and `_boxes`
    make them."""
    source, offsets, target, places = slabs
    for i in range(begin, end):
        count, height, width, inner = planes[i]
        volume = count * height * width * inner
        own = source[offsets[i] : offsets[i] + volume]
        made = target[places[i] : places[i] + volume]
        for k in range(volume):
            made[k] = own[k]
        p = partners[i]
        top, left, tall, wide, there, beside = boxes[i]
        length = wide * inner
        for a in range(count):
            for y in range(tall):
                to = places[i] + ((a * height + top + y) * width + left) * inner
                at = offsets[p] + ((a * planes[p, 1] + there + y) * planes[p, 2] + beside) * inner
                row, taken = target[to : to + length], source[at : at + length]
                for k in range(length):
                    row[k] = taken[k]


@cutmix.cpu
def _cpu(call: op.Call, plan: CutmixPlan) -> None:
    planes = planes_of(call.outputs[0].batch_shape.shapes, call.outputs[0].layout)
    call.for_samples(cut_kernel, call.words, planes, plan.partners, plan.boxes)
    if len(call.inputs) > 1:
        mix_labels(call, call.inputs[1], 1, plan.partners, plan.shares)


@cutmix.cases
def _cases() -> list[op.Case]:
    images = op.samples((6, 8, 3), (6, 8, 3))
    planes = op.samples((2, 8, 6), (2, 8, 6), dtype=op.float32, layout="CHW")
    ragged = op.samples((6, 8, 3), (4, 16, 3))
    classes = op.batch([np.int32(2), np.int32(0)])
    one, other = images.arrays()
    boxed = [one.copy(), other.copy()]
    boxed[0][2:4, 2:6], boxed[1][2:4, 2:6] = other[2:4, 2:6], one[2:4, 2:6]
    # The corner of one, and of the other as much as the partner has.
    corner: Any = {"lam": 0.0, "center": (0, 0), "seed": 1}
    high = planes.at(0).copy(), planes.at(1).copy()
    high[0][:, :4, :3], high[1][:, :4, :3] = planes.at(1)[:, :4, :3], planes.at(0)[:, :4, :3]
    here, there = ragged.at(0).copy(), ragged.at(1).copy()
    here[:3, :4], there[:2, :8] = ragged.at(1)[:3, :4], ragged.at(0)[:2, :8]
    # 3 of 6 rows at the upper end are 3 of 4 there.
    return [
        op.case("the middle", images, lam=0.75, center=(0.5, 0.5), seed=1)
        .equals(boxed)
        .no_oracle(),
        op.case("a corner", planes, **corner).equals(high).no_oracle(),
        op.case("of other sizes", ragged, **corner).equals([here, there]).no_oracle(),
        op.case("drawn", images, classes, num_classes=3, seed=1).no_oracle(),
        op.case(
            "videos", op.samples((3, 4, 5, 1), (3, 6, 5, 1), layout="FHWC"), seed=1
        ).no_oracle(),
        op.case("none", ragged, probability=[0, 0], seed=1).equals(ragged.arrays()).no_oracle(),
        op.case("empty", op.samples(), seed=1).equals([]).no_oracle(),
        op.case("no pixels", op.samples((0, 4, 3), (3, 4, 3)), lam=0.5, seed=1)
        .equals([np.zeros((0, 4, 3), np.uint8), op.samples((0, 4, 3), (3, 4, 3)).at(1)])
        .no_oracle(),
        op.case("channels", op.samples((4, 5, 3), (4, 5, 1)), seed=1).value_error("sample 0"),
        op.case("no such class", images, classes, num_classes=2, seed=1).value_error("sample 0"),
        op.case("alpha", images, alpha=0, seed=1).value_error("`alpha`"),
        op.case("two centers", images, center=(0.5, 2), seed=1).value_error("`center`"),
        op.case("one number", images, center=0.5, seed=1).value_error("`center`"),
        op.case("rank", op.samples((7,), layout=""), seed=1).type_error("axes"),
        op.case("layout", op.samples((7, 5), layout="ft"), seed=1).type_error("layout"),
    ]
