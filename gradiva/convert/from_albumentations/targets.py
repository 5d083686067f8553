"""`bbox_params` and `keypoint_params` of a Compose as options of `gradiva.Targets`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from gradiva.eager.support.errors import OperatorTypeError, user_location
from gradiva.ops.targets.targets import Targets

from .nodes import Node
from .older import renamed

__all__ = ["TargetOptions", "check_masks", "target_options"]

_FORMATS: Final = {
    "coco": ("xywh", False),
    "pascal_voc": ("xyxy", False),
    "albumentations": ("xyxy", True),
    "yolo": ("cxcywh", True),
}
"""By their name there: the format of boxes, and whether they are in parts of the image."""


@dataclass(frozen=True)
class TargetOptions:
    """The options of `gradiva.Targets` for a Compose.

    boxes: those about boxes; box_fields, point_fields: the names of labels that go with boxes and
    with keypoints.
    """

    boxes: Mapping[str, Any]
    box_fields: tuple[str, ...] = ()
    point_fields: tuple[str, ...] = ()

    def make(self, given: Mapping[str, Any]) -> Targets:
        """Targets of values that have their names in Albumentations. Raises OperatorTypeError."""
        values = dict(given)
        boxes, points = values.pop("bboxes", None), values.pop("keypoints", None)
        masks = [values.pop(name, None) for name in ("mask", "masks")]
        if all(one is not None for one in masks):
            raise _refused("`mask`, classes of pixels, or `masks`, one for each object", "both")
        unknown = sorted(set(values) - {*self.box_fields, *self.point_fields})
        if unknown:
            known = ("bboxes", "keypoints", "mask", "masks", *self.box_fields, *self.point_fields)
            raise _refused(f"values of these names: {', '.join(known)}", unknown[0])
        absent = (
            [name for name in self.box_fields if name not in values] if boxes is not None else []
        )
        if absent:
            raise _refused(f"the `label_fields` {', '.join(self.box_fields)}", f"no {absent[0]}")
        return Targets(
            boxes=boxes,
            keypoints=points,
            masks=masks[0] if masks[1] is None else masks[1],
            labels=values.pop("labels", None),
            columns=values or None,
            pixel_origin="center",
            **self.boxes,
        )


def _refused(expected: str, got: str) -> OperatorTypeError:
    return OperatorTypeError(
        operator="convert.albumentations.targets",
        expected=expected,
        got=got,
        location=user_location(),
    )


def target_options(node: Node) -> TargetOptions:
    """The options of a Compose. Raises OperatorTypeError for what has no counterpart."""
    boxes = node.arguments.get("bbox_params")
    points = node.arguments.get("keypoint_params")
    if node.arguments.get("additional_targets"):
        raise _no_counterpart("additional_targets", "call the function for each of the images")
    options, box_fields = _box_options(boxes) if boxes else ({}, ())
    point_fields: tuple[str, ...] = ()
    if points:
        if points.get("format", "xy") != "xy":
            raise _no_counterpart("keypoint_params", f"the format {points['format']!r}")
        point_fields = tuple(points.get("label_fields") or ())
        if point_fields and not boxes:
            raise _no_counterpart(
                "keypoint_params", "`label_fields` without boxes: keypoints stay in their order"
            )
    return TargetOptions(options, box_fields, point_fields)


def check_masks(node: Node) -> None:
    """Refuse steps that treat masks otherwise than `gradiva.Targets`, which take the nearest pixel,
    and 0 outside of the image. Raises OperatorTypeError."""
    for one in node.children:
        check_masks(one)
    given = renamed(node.name, node.arguments)
    filled = given.get("fill_mask", given.get("mask_value", given.get("mask_fill_value")))
    if filled is not None and np.any(np.asarray(filled) != 0):
        raise _no_counterpart(f"{node.title} with masks", "they are 0 where nothing is known")
    if node.name in ("CoarseDropout", "GridDropout", "Erasing") and filled is not None:
        raise _no_counterpart(f"{node.title} with masks", "they keep what stands in holes")
    if given.get("mask_interpolation") or given.get("area_for_downscale") == "image_mask":
        raise _no_counterpart(f"{node.title} with masks", "they take the nearest pixel")
    if given.get("border_mode") and given.get("pad_if_needed", True):
        raise _no_counterpart(f"{node.title} with masks", "they are 0 beyond the image")


def _box_options(boxes: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    kind = boxes.get("format", "albumentations")
    if kind not in _FORMATS:
        raise _no_counterpart("bbox_params", f"the format {kind!r}")
    form, relative = _FORMATS[kind]
    least = {float(boxes.get(name, 0.0) or 0.0) for name in ("min_width", "min_height")}
    if len(least) > 1:
        raise _no_counterpart("bbox_params", "`min_width` and `min_height` that differ")
    if boxes.get("max_accept_ratio") is not None:
        raise _no_counterpart("bbox_params", "`max_accept_ratio`")
    lenient = boxes.get("clip") or boxes.get("filter_invalid_bboxes")
    options = {
        "format": form,
        "relative": relative,
        "min_area": float(boxes.get("min_area", 0.0) or 0.0),
        "min_visibility": float(boxes.get("min_visibility", 0.0) or 0.0),
        "min_size": least.pop(),
        "invalid": "drop" if lenient else "raise",
    }
    return options, tuple(boxes.get("label_fields") or ())


def _no_counterpart(name: str, reason: str) -> OperatorTypeError:
    return OperatorTypeError(
        f"{name} has no counterpart: {reason}",
        operator="convert.albumentations",
        argument="transform",
        location=user_location(),
    )
