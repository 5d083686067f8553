"""`copy_paste`: objects of one image, pasted onto another one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import Array, Int64Array
from gradiva.ops.image.planes import check_same_stacks, plane_layout, planes_of

from .boxes import LAYOUTS, MovedRows, from_corners, move_rows, moved_type
from .groups import MixArguments, MixGroup, MixProbability, check_group, chosen_samples, partners_of
from .merged_targets import copy_paste_with_targets
from .pasted_objects import choose_objects, paste_masks, paste_pixels, survey_objects


@op.operator("copy_paste", inputs=(2, 16), random=True)
@op.uses_arguments(..., MixProbability, MixGroup)
def copy_paste(
    input: op.SampleType,
    masks: Any,
    /,
    *labels: Any,
    object_probability: op.FloatArg = 0.5,
    min_area: int = 1,
    bbox_layout: str = "xyXY",
    bbox_normalized: bool = True,
    **options: op.Unpack[MixArguments],
) -> tuple[op.SampleType, ...]:
    """Paste objects of another image of the batch onto each image, with their masks.

    The pixels of some objects replace those at the same place. What they hide leaves the masks of
    the objects below, and objects that are hidden are left out (Ghiasi, Cui, Srinivas, Qian, Lin,
    Cubuk, Le, Zoph: "Simple copy-paste", CVPR 2021). Each image draws the objects that it gets.

    Args:
        input: images of any dtype, in a layout with H and W; HW or HWC by rank if they have none.
            Images of a group may differ in height and width: what would leave the image is cut off.
        masks: of each image uint8 or bool, (n, height, width), one for each object, from 0 objects
            on; where a mask is not 0, the object is.
        labels: of each object: any dtype, (n,) or (n, k); up to 14 inputs of them.
        object_probability: of each object of the other image to be pasted, from 0 to 1; may differ
            per sample.
        min_area: an object with fewer pixels than these is left out; if it is hidden, with its mask
            and its label, and if it would be pasted, with its pixels too.
        bbox_layout: of the boxes that are returned: "xyXY", corners; "xyWH", a corner and the size;
            or "cxcyWH", the center and the size; as fractions of the image, or pixels with
            bbox_normalized=False.
        bbox_normalized: whether boxes are in fractions of the image; else in pixels.

    Returns:
        Images; masks, (m, height, width); the boxes of the masks, float32, (m, 4), from the first
        row and column of an object to the end of its last ones; and labels, if they are given.
        Objects of the image come before those that were pasted.

    Raises:
        OperatorTypeError: for layouts without H and W, and masks of another dtype or rank.
        OperatorValueError: naming the sample, for masks of another size than the image, for other
            channels than the partner's, for another number of labels than masks, and for arguments
            out of range.

    Example:
        images = gradiva.resize(gradiva.imread(["cat.jpg", "coffee.jpg"]), size=(224, 224))
        masks = gradiva.as_batch(np.zeros((2, 1, 224, 224), np.uint8))
        images, masks, boxes = gradiva.copy_paste(images, masks)
    """
    made = op.with_layout(input, plane_layout(input))
    op.require_dtype(masks, (op.uint8, op.bool_), "masks")
    op.require_ndim(masks, (3,), "masks")
    if masks.layout and not masks.layout.endswith("HW"):
        raise op.OperatorTypeError(
            "masks have one plane for each object",
            expected="(n, height, width), in a layout that ends with HW, or in none",
            got=repr(masks.layout),
        )
    check_group(options)
    if bbox_layout not in LAYOUTS:
        raise op.wrong_value("bbox_layout", " or ".join(map(repr, LAYOUTS)), repr(bbox_layout))
    if min_area < 0:
        raise op.wrong_value("min_area", "a number of pixels from 0 on", min_area)
    types = made, masks, op.SampleType(op.float32, 2, "", masks.device)
    return (*types, *map(moved_type, labels))


@dataclass(frozen=True)
class CopyPastePlan(op.Plan):
    """partners: of each sample, (N,); covers: which pixels are pasted, uint8, those of a sample
    from its place in `places` on; boxes, labels: of the objects that are left."""

    partners: Int64Array
    covers: Array
    places: Int64Array
    boxes: MovedRows
    labels: list[MovedRows]


copy_paste.samplewise, copy_paste.mixes = False, True
copy_paste.moves = op.NoMap("it shows several images at once")
copy_paste.with_targets = partial(copy_paste_with_targets, copy_paste)


@copy_paste.shapes
def _shapes(call: op.Call) -> CopyPastePlan:
    image, masks = call.inputs[0].batch_shape, call.inputs[1]
    layout, size = call.types[0].layout or "", call.size
    shapes = masks.batch_shape.shapes
    sizes = planes_of(image.shapes, layout)[:, 1:3]
    op.refuse_samples(
        (shapes[:, 1:] != sizes).any(axis=1),
        "",
        lambda sample: "(n, {}, {})".format(*sizes[sample]),
        shapes,
        "masks have the height and width of their image",
    )
    chance = call["object_probability"]
    bad = ~((chance >= 0) & (chance <= 1))
    op.refuse_samples(bad, "object_probability", "a number from 0 to 1", chance)
    partners = partners_of(call)[:, 0]
    check_same_stacks(image.shapes, partners[:, None], layout)
    chosen = chosen_samples(call) & (partners != np.arange(size))
    own, other = shapes[:, 0], shapes[partners, 0]
    # First come the objects of the sample itself, then those of its partner.
    counts = own + other
    firsts = np.cumsum(counts) - counts
    kept = np.ones(counts.sum(), np.bool_)
    choose_objects(call.draws, (firsts + own, other), chance * chosen, kept)
    pixels = sizes.prod(axis=1)
    places = np.cumsum(pixels) - pixels
    covers = np.zeros(pixels.sum(), np.uint8)
    found = np.zeros((len(kept), 4), np.int64)
    slab = _bytes_of(masks), masks.batch_shape.offsets, shapes
    tables = (covers, places), (firsts, kept, found)
    call.for_samples(survey_objects, slab, partners, tables, call["min_area"], work=masks)
    owner = np.repeat(np.arange(size), counts)
    number = np.arange(len(kept)) - firsts[owner]
    pasted = number >= own[owner]
    sample = np.where(pasted, partners[owner], owner)
    number = np.where(pasted, number - own[owner], number)
    canvas = np.tile(sizes[owner, ::-1], 2)[kept]
    corners = found[kept].astype(np.float64)
    corners = corners / canvas if call["bbox_normalized"] else corners
    left = np.bincount(owner[kept], minlength=size)
    boxes = MovedRows(
        np.stack([left, np.full_like(left, 4)], axis=1),
        from_corners(corners, call["bbox_layout"]).astype(np.float32),
        (sample[kept], number[kept]),
        left,
    )
    labels = [move_rows(one, boxes, own) for one in call.inputs[2:]]
    shown = np.concatenate([left[:, None], sizes], axis=1)
    made = (image, shown, boxes.shapes, *(one.shapes for one in labels))
    return CopyPastePlan(made, partners, covers, places, boxes, labels)


def _bytes_of(masks: op.Batch) -> Array:
    return masks.data.view(np.uint8)


@copy_paste.cpu
def _cpu(call: op.Call, plan: CopyPastePlan) -> None:
    masks, target = call.inputs[1], call.outputs[0]
    planes = planes_of(target.batch_shape.shapes, target.layout)
    cover = plan.covers, plan.places
    call.for_samples(paste_pixels, call.words, planes, plan.partners, cover)
    made, samples, numbers = call.outputs[1], *plan.boxes.taken
    begins = np.cumsum(plan.boxes.counts) - plan.boxes.counts
    rows = np.append(begins, len(samples)), samples, numbers
    slab = _bytes_of(masks), masks.batch_shape.offsets, masks.batch_shape.shapes
    result = _bytes_of(made), made.batch_shape.offsets, made.batch_shape.shapes
    call.for_samples(paste_masks, slab, result, rows, cover, work=made)
    for moved, output in zip((plan.boxes, *plan.labels), call.outputs[2:], strict=True):
        moved.fill(output)


@copy_paste.cases
def _cases() -> list[op.Case]:
    images = op.samples((5, 6, 3), (5, 6, 3))
    ragged = op.samples((5, 6, 3), (4, 7, 3))
    masks = np.zeros((2, 2, 5, 6), np.uint8)
    masks[0, 0, :2, :2], masks[0, 1, 2:, 3:], masks[1, 0, 1:4, 2:5] = 1, 1, 255
    both = op.batch(list(masks))
    cut = op.batch([masks[0], masks[1, :, :4, 1:].repeat(2, axis=2)[:, :, :7]])
    none = op.batch([masks[0], masks[1, :0]])
    labels = op.batch([np.array([3, 4], np.int64), np.array([5, 6], np.int64)])
    every: Any = {"object_probability": 1, "seed": 1}
    expected = images.at(0).copy(), images.at(1).copy()
    expected[0][1:4, 2:5] = images.at(1)[1:4, 2:5]
    expected[1][:2, :2], expected[1][2:, 3:] = images.at(0)[:2, :2], images.at(0)[2:, 3:]
    return [
        op.case("every object", images, both, **every).equals(expected).no_oracle(),
        op.case(
            "labels", images, both, labels, **every, min_area=9, bbox_layout="xyWH"
        ).no_oracle(),
        op.case("some", images, both, seed=2, bbox_normalized=False).no_oracle(),
        op.case("other sizes", ragged, cut, **every, bbox_layout="cxcyWH").no_oracle(),
        op.case("no objects", images, none, **every).no_oracle(),
        op.case("bool", images, op.batch(list(masks != 0)), **every).equals(expected).no_oracle(),
        op.case("never", images, both, probability=0, seed=1).equals(images.arrays()).no_oracle(),
        op.case("empty", op.samples(), op.samples(layout="NHW"), **every).equals([]).no_oracle(),
        op.case("sizes of masks", ragged, both, **every).value_error("sample 1"),
        op.case("masks as images", images, op.samples((5, 6, 1), (5, 6, 1)), **every).type_error(
            "masks"
        ),
        op.case(
            "labels of others", images, both, op.batch([labels.at(0)[:1], labels.at(1)])
        ).value_error("sample 0"),
        op.case("chance", images, both, object_probability=[0.5, 1.5]).value_error("sample 1"),
        op.case("area", images, both, min_area=-1).value_error("`min_area`"),
        op.case("format", images, both, bbox_layout="XYxy").value_error("`bbox_layout`"),
        op.case("layout", op.samples((7, 5), (7, 5), layout="ft"), both).type_error("layout"),
    ]
