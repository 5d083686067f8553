"""What `show` draws of `Targets`, one entry per sample."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gradiva.eager.values.batch import Batch
from gradiva.ops.targets.targets import Targets

from .axes import Array

__all__ = ["TargetMarks", "marks_of"]


class TargetMarks(NamedTuple):
    """Points and outlines of one sample, each with the number of its object.

    points: [(object, (k, 2))]; outlines: [(object, (k, 2))], of polygons. All in parts of the image
    if `relative`, else in pixels from the corner of the first one.
    """

    points: list[tuple[int, Array]]
    outlines: list[tuple[int, Array]]
    relative: bool

    def scaled(self, extent: tuple[int, int]) -> TargetMarks:
        """In parts of an image of this height and width."""
        if self.relative:
            return self
        whole = np.array(extent[::-1], np.float64)
        points = [(number, one / whole) for number, one in self.points]
        outlines = [(number, one / whole) for number, one in self.outlines]
        return TargetMarks(points, outlines, True)


def marks_of(targets: Targets) -> tuple[dict[str, Any], list[TargetMarks], bool]:
    """What `show` takes of targets: boxes as corners, labels, masks; the marks of each sample; and
    whether places are in parts of the image. Cameras and columns are not shown."""
    options, fields = targets.options, targets.fields()
    relative, form = options["relative"], options["format"]
    shift = 0.5 if options["pixel_origin"] == "center" and not relative else 0.0
    given: dict[str, Any] = {name: fields[name] for name in ("labels", "masks") if name in fields}
    if "boxes" in fields:
        corners = [_corners(one, form) for one in _samples(fields["boxes"])]
        given["boxes"] = corners if isinstance(fields["boxes"], Batch) else corners[0]
    marks = []
    count = max(len(_samples(value)) for value in fields.values())
    for sample in range(count):
        points: list[tuple[int, Array]] = []
        outlines: list[tuple[int, Array]] = []
        if "keypoints" in fields:
            own = _samples(fields["keypoints"])[sample]
            for number, one in enumerate(own if own.ndim == 3 else own[None]):
                seen = one if one.shape[1] < 3 else one[one[:, 2] > 0]
                points.append((number, seen[:, :2].astype(np.float64) + shift))
        if "polygons" in fields:
            vertices = _samples(fields["vertices"])[sample].astype(np.float64) + shift
            for number, first, end in _samples(fields["polygons"])[sample].tolist():
                outlines.append((number, vertices[first:end]))
        marks.append(TargetMarks(points, outlines, relative))
    return given, marks, relative


def _samples(value: Any) -> list[Array]:
    if isinstance(value, Batch):
        return [np.asarray(one) for one in value.cpu().tensors]
    if isinstance(value, list | tuple):
        return [np.asarray(one) for one in value]
    return [np.asarray(value)]


def _corners(boxes: Array, form: str) -> Array:
    """Boxes of this format as their corners."""
    boxes = boxes.astype(np.float64).reshape(-1, 4)
    low, extent = boxes[:, :2], boxes[:, 2:]
    if form == "xyxy":
        return boxes
    low = low - extent / 2 if form == "cxcywh" else low
    return np.hstack([low, low + extent])
