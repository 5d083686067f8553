"""What is known of the images of a COCO data set, as arrays; read from its JSON file.

What is asked for alone is read: without masks, no polygon is looked at.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import Array
from gradiva.ops.storage.folders import read_bytes
from gradiva.ops.storage.storage import Storage

from .coco_runs import counts_of, draw_polygon, draw_runs

_MOST_PIXELS = 1 << 28
_LARGEST = 1 << 20
"""Extent of an image; more is a number that lies."""


class Runs(NamedTuple):
    """A mask as lengths of runs, column by column, the first of background."""

    height: int
    width: int
    counts: Array


@dataclass
class Extras:
    """What is delivered of objects and images besides boxes, labels and masks, where it is asked
    for.

    keypoints: (objects, K, 3), x, y and visibility, in pixels; areas, crowds, annotation_ids:
    (objects,); captions: of each image, as texts in UTF-8; vertices: those of `Annotations` as the
    file has them, for masks of objects: float32 moves some of them across the middle of a pixel.
    """

    keypoints: Array = field(default_factory=lambda: np.empty((0, 0, 3), np.float32))
    areas: Array = field(default_factory=lambda: np.empty(0, np.float32))
    crowds: Array = field(default_factory=lambda: np.empty(0, np.int32))
    annotation_ids: Array = field(default_factory=lambda: np.empty(0, np.int64))
    captions: list[list[bytes]] = field(default_factory=list)
    vertices: Array = field(default_factory=lambda: np.empty((0, 2)))


@dataclass
class Annotations:
    """All images one after the other; of each, the begin of its part in the arrays, and one more
    for the end.

    polygons: rows of the object in its image, first vertex and end among those of the image.
    faults: what is wrong with an image, by its number.
    """

    names: list[str] = field(default_factory=list)
    ids: list[int] = field(default_factory=list)
    heights: list[int] = field(default_factory=list)
    widths: list[int] = field(default_factory=list)
    objects: list[int] = field(default_factory=lambda: [0])
    boxes: Array = field(default_factory=lambda: np.empty((0, 4), np.float32))
    labels: Array = field(default_factory=lambda: np.empty(0, np.int32))
    polygon_begins: list[int] = field(default_factory=lambda: [0])
    polygons: Array = field(default_factory=lambda: np.empty((0, 3), np.int32))
    vertex_begins: list[int] = field(default_factory=lambda: [0])
    vertices: Array = field(default_factory=lambda: np.empty((0, 2), np.float32))
    run_begins: list[int] = field(default_factory=lambda: [0])
    runs: list[Runs] = field(default_factory=list)
    run_objects: list[int] = field(default_factory=list)
    faults: dict[int, str] = field(default_factory=dict)
    extras: Extras = field(default_factory=Extras)


class _Image(NamedTuple):
    """An image: its id, name and size, 0 if it is not needed."""

    key: int
    name: str
    height: int
    width: int


class _AnnotatedObject(NamedTuple):
    """An annotation: number in the file, box, label, polygons, mask, and what it has besides."""

    number: int
    box: Any
    label: int | None
    category: Any
    polygons: list[list[float]]
    runs: tuple[int, int, Any] | None
    more: _More


class _More(NamedTuple):
    """keypoints: x, y and visibility, one after the other."""

    keypoints: list[float]
    area: float
    crowd: int
    key: int


_NOTHING_MORE = _More([], 0.0, 0, 0)


def _wrong(path: str, where: str, expected: str, got: Any) -> op.OperatorRuntimeError:
    return op.OperatorRuntimeError(
        f"the annotations cannot be understood: {where}",
        argument="annotations_file",
        expected=expected,
        got=repr(got)[:80],
        file=path,
    )


def _loaded(path: str, storage: Storage) -> Mapping[str, Any]:
    try:
        found = json.loads(read_bytes(path, storage))
    except OSError as error:
        raise op.wrong_value("annotations_file", "a file that can be read", error) from error
    except (ValueError, RecursionError) as error:
        raise op.OperatorRuntimeError(
            f"the annotations are no JSON data: {error}", argument="annotations_file", file=path
        ) from None
    if not isinstance(found, dict):
        raise _wrong(path, "the file", "an object with images and annotations", found)
    return found


def _rows(data: Mapping[str, Any], name: str, path: str) -> list[Mapping[str, Any]]:
    rows = data.get(name)
    if not isinstance(rows, list):
        raise _wrong(path, f"'{name}'", "a list", rows)
    for number, row in enumerate(rows):
        if not isinstance(row, dict):
            raise _wrong(path, f"'{name}', entry {number}", "an object", row)
    return rows


def _is_integer(value: Any, low: int, high: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and low <= value < high


def _whole(value: Any) -> Any:
    """Numbers of JSON have no kinds: 5.0 is 5."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _caption(path: str, row: Mapping[str, Any], number: int) -> bytes:
    text = row.get("caption")
    if not isinstance(text, str):
        raise _wrong(path, f"'annotations', entry {number}: 'caption'", "a text", text)
    return text.encode("utf-8", "replace").replace(b"\0", b" ")


class _AnnotationReader:
    """Reads one file."""

    def __init__(self, path: str, given: Mapping[str, Any], storage: Storage) -> None:
        self._path, self._given = path, given
        self._polygonal = given["polygon_masks"] or given["masks"]
        self._extra = given["extra"] or ()
        self._pixelwise = given["pixelwise_masks"] or "object_masks" in self._extra
        self._captions: dict[int, list[bytes]] = {}
        """By the id of an image."""
        self._threshold = np.float32(given["size_threshold"])
        # Ids that are delivered are int32; others are hashes, or times, as large as they like.
        self._most_id = 1 << 31 if given["image_ids"] else 1 << 64
        self._most_category = 1 << 31 if given["avoid_class_remapping"] else 1 << 64
        self._faults: dict[int, str] = {}
        """What is wrong with the objects of an image, by its id."""
        self._storage = storage
        self._data = _loaded(path, storage)

    def _labels_of(self) -> dict[int, int]:
        """The label of each category, by the order of the list."""
        found: dict[int, int] = {}
        rows = _rows(self._data, "categories", self._path) if "categories" in self._data else []
        for number, row in enumerate(rows):
            key = self._integer(row, "id", "categories", number, self._most_category)
            found.setdefault(key, len(found) + 1)
        return found

    def _integer(
        self, row: Mapping[str, Any], name: str, part: str, number: int, high: int = 1 << 31
    ) -> int:
        value = _whole(row.get(name))
        if not _is_integer(value, 0 if name in ("height", "width") else -high, high):
            expected = f"an integer of {high.bit_length()} bits"
            raise _wrong(self._path, f"'{part}', entry {number}: '{name}'", expected, value)
        return int(value or 0)

    def _images(self) -> list[_Image]:
        """The images that are read, in their order."""
        rows = _rows(self._data, "images", self._path)
        sized = self._given["ratio"] or self._pixelwise
        found: list[_Image] = []
        for number, row in enumerate(rows):
            name = row.get("file_name")
            if not isinstance(name, str) or not name or "\0" in name:
                raise _wrong(
                    self._path, f"'images', entry {number}: 'file_name'", "a file name", name
                )
            key = self._integer(row, "id", "images", number, self._most_id)
            extents = [
                self._integer(row, extent, "images", number) if sized or extent in row else 0
                for extent in ("height", "width")
            ]
            small = max(extents) <= _LARGEST and extents[0] * extents[1] <= _MOST_PIXELS
            if sized and not (min(extents) > 0 and small):
                expected = f"extents from 1 on, of at most {_MOST_PIXELS} pixels"
                raise _wrong(self._path, f"'images', entry {number}: its size", expected, extents)
            found.append(_Image(key, name, *extents))
        found.sort(key=lambda image: image.key)
        for one, other in itertools.pairwise(found):
            if one.key == other.key:
                raise _wrong(self._path, "'images'", "an id for each", f"id {one.key} twice")
        if self._given["images"] is None:
            return found
        named = {image.name: image for image in found}
        wanted = self._given["images"]
        missing = [name for name in dict.fromkeys(wanted) if name not in named]
        if missing:
            raise op.wrong_value(
                "images",
                f"names of images in {self._path}",
                f"{len(missing)} others: {', '.join(map(repr, missing[:5]))}",
            )
        return [named[name] for name in wanted]

    def _objects(self) -> dict[int, list[_AnnotatedObject]]:
        """The annotations that count, by image."""
        found: dict[int, list[_AnnotatedObject]] = {}
        crowds, threshold = self._given["include_iscrowd"], self._threshold
        masks, labels = self._polygonal or self._pixelwise, self._labels_of()
        for number, row in enumerate(_rows(self._data, "annotations", self._path)):
            if not crowds and row.get("iscrowd", 0):
                continue
            image = self._integer(row, "image_id", "annotations", number, self._most_id)
            if "captions" in self._extra and "caption" in row and "bbox" not in row:
                self._captions.setdefault(image, []).append(_caption(self._path, row, number))
                continue
            if row.get("bbox") == []:  # of background: there is no object
                continue
            try:
                box = np.array(self._numbers(row.get("bbox"), number, "bbox", 4), np.float32)
                if not (box[2] >= threshold and box[3] >= threshold):
                    continue
                shape = self._shape(row.get("segmentation"), number) if masks else ([], None)
                more = self._more(row, number) if self._extra else _NOTHING_MORE
            except op.OperatorRuntimeError as error:
                # Of its image alone: the others are as good as they were.
                text = f"{error.problem}; expected {error.expected}, got {error.got}"
                self._faults.setdefault(image, f"{text} (in {self._path})")
                continue
            category: Any = _whole(row.get("category_id"))
            label = None
            if _is_integer(category, -self._most_category, self._most_category):
                label = category if self._given["avoid_class_remapping"] else labels.get(category)
            found.setdefault(image, []).append(
                _AnnotatedObject(number, box, label, category, *shape, more)
            )
        return found

    def _numbers(
        self, values: Any, number: int, what: str, count: int | None, group: int = 2
    ) -> list[float]:
        good = isinstance(values, list) and (
            len(values) == count if count else len(values) and len(values) % group == 0
        )
        if good:
            for value in values:
                plain = isinstance(value, int | float) and not isinstance(value, bool)
                if not plain or not abs(value) < 1e9:  # and no NaN
                    good = False
        if not good:
            names = "x, y" if group == 2 else "x, y, visibility"
            expected = f"{count} numbers" if count else f"a list of numbers {names}"
            raise _wrong(self._path, f"'annotations', entry {number}: '{what}'", expected, values)
        return list(values)

    def _more(self, row: Mapping[str, Any], number: int) -> _More:
        """What an annotation has besides, as far as it is asked for."""
        points: list[float] = []
        if "keypoints" in self._extra and row.get("keypoints"):
            points = self._numbers(row["keypoints"], number, "keypoints", None, 3)
        area, crowd, key = 0.0, 0, 0
        if "area" in self._extra:
            (area,) = self._numbers([row.get("area")], number, "area", 1)
        if "iscrowd" in self._extra:
            crowd = _whole(row.get("iscrowd", 0))
            if not isinstance(crowd, int) or crowd not in (0, 1):
                where = f"'annotations', entry {number}: 'iscrowd'"
                raise _wrong(self._path, where, "0 or 1", crowd)
        if "annotation_ids" in self._extra:
            key = self._integer(row, "id", "annotations", number, 1 << 63)
        return _More(points, area, int(crowd), key)

    def _shape(
        self, given: Any, number: int
    ) -> tuple[list[list[float]], tuple[int, int, Any] | None]:
        where = f"'annotations', entry {number}: 'segmentation'"
        if given is None:
            return [], None
        if isinstance(given, list):
            return [self._numbers(one, number, "segmentation", None) for one in given], None
        if not isinstance(given, dict):
            raise _wrong(self._path, where, "a list of polygons, or runs", given)
        size, counts = given.get("size"), given.get("counts")
        size = [*map(_whole, size)] if isinstance(size, list) else size
        if not (
            isinstance(size, list)
            and len(size) == 2
            and all(_is_integer(extent, 0, _LARGEST + 1) for extent in size)
            and isinstance(counts, list | str)
        ):
            raise _wrong(self._path, where, "runs with 'size' and 'counts'", given)
        return [], (size[0], size[1], counts)

    def read(self) -> Annotations:
        images, objects = self._images(), self._objects()
        made = Annotations()
        boxes: list[Any] = []
        labels: list[int] = []
        polygons: list[tuple[int, int, int]] = []
        vertices: list[Array] = []
        chosen: list[_AnnotatedObject] = []
        total = 0
        for key, name, height, width in images:
            own, fault = objects.get(key, []), self._faults.get(key)
            if not own and fault is None and self._given["skip_empty"]:
                continue
            bad = [one for one in own if one.label is None]
            if fault is not None:
                made.faults[len(made.names)] = fault
                own = []
            elif bad:
                made.faults[len(made.names)] = (
                    f"an object of a category that is not in {self._path}: {bad[0].category!r} "
                    f"('annotations', entry {bad[0].number})"
                )
                own = []
            made.names.append(name)
            made.ids.append(key)
            made.heights.append(height)
            made.widths.append(width)
            first = 0
            chosen += own
            for place, one in enumerate(own):
                boxes.append(one.box)
                labels.append(int(one.label or 0))
                for polygon in one.polygons:
                    count = len(polygon) // 2
                    polygons.append((place, first, first + count))
                    vertices.append(np.array(polygon, np.float64).reshape(count, 2))
                    first += count
                if one.runs is not None and self._pixelwise:
                    made.runs.append(self._runs(one, height, width))
                    made.run_objects.append(place)
            total += first
            made.objects.append(len(boxes))
            made.polygon_begins.append(len(polygons))
            made.vertex_begins.append(total)
            made.run_begins.append(len(made.runs))
        made.boxes = np.array(boxes, np.float32).reshape(-1, 4)
        made.labels = np.array(labels, np.int32)
        made.polygons = np.array(polygons, np.int32).reshape(-1, 3)
        exact = np.concatenate(vertices) if vertices else np.empty((0, 2))
        made.vertices = exact.astype(np.float32)
        made.extras = self._extras(made, [one.more for one in chosen])
        made.extras.vertices = exact if "object_masks" in self._extra else exact[:0]
        return made

    def _extras(self, made: Annotations, objects: list[_More]) -> Extras:
        """objects: of all images, one after the other."""
        most = max((len(one.keypoints) for one in objects), default=0)
        points = np.zeros((len(objects), most), np.float32)
        for row, one in zip(points, objects, strict=True):
            row[: len(one.keypoints)] = one.keypoints
        if "captions" in self._extra and self._given["captions_file"]:
            self._read_captions(self._given["captions_file"])
        return Extras(
            points.reshape(len(objects), most // 3, 3),
            np.array([one.area for one in objects], np.float32),
            np.array([one.crowd for one in objects], np.int32),
            np.array([one.key for one in objects], np.int64),
            [self._captions.get(key, []) for key in made.ids],
        )

    def _read_captions(self, path: str) -> None:
        """Add the captions of another file, behind those of this one."""
        for number, row in enumerate(_rows(_loaded(path, self._storage), "annotations", path)):
            key = _whole(row.get("image_id"))
            if not _is_integer(key, -self._most_id, self._most_id):
                where = f"'annotations', entry {number}: 'image_id'"
                raise _wrong(path, where, "the id of an image", key)
            self._captions.setdefault(key, []).append(_caption(path, row, number))

    def _runs(self, one: _AnnotatedObject, height: int, width: int) -> Runs:
        assert one.runs is not None
        where = f"'annotations', entry {one.number}: 'segmentation'"
        if one.runs[:2] != (height, width):
            expected = f"the size of its image, {[height, width]}"
            raise _wrong(self._path, where, expected, [*one.runs[:2]])
        counts = counts_of(one.runs[2], height * width)
        if counts is None:
            expected = f"runs of {math.prod(one.runs[:2])} pixels"
            raise _wrong(self._path, where, expected, one.runs[2])
        return Runs(height, width, counts)


def read_annotations(path: str, given: Mapping[str, Any], storage: Storage) -> Annotations:
    """The images and objects of a JSON file, for the arguments of `readers.coco`; vertices in
    pixels, boxes as they are. Raises OperatorValueError, OperatorRuntimeError."""
    return _AnnotationReader(path, given, storage).read()


def finished(made: Annotations, given: dict[str, Any]) -> Array:
    """Give boxes the form that is asked for; return the vertices in it."""
    if given["ltrb"]:
        made.boxes[:, 2:] += made.boxes[:, :2]
    points = made.extras.keypoints
    if not given["ratio"]:
        return made.vertices
    sizes = np.stack([made.widths, made.heights], 1).astype(np.float32).reshape(-1, 2)
    made.boxes /= np.repeat(np.tile(sizes, 2), np.diff(made.objects), axis=0)
    points[..., :2] /= np.repeat(sizes, np.diff(made.objects), axis=0)[:, None]
    return made.vertices / np.repeat(sizes, np.diff(made.vertex_begins), axis=0)


def parts(values: Array, begins: list[int], numbers: list[int]) -> list[Array]:
    """The parts of these images."""
    return [values[begins[image] : begins[image + 1]] for image in numbers]


def padded(texts: list[bytes]) -> Array:
    """(texts, longest): the bytes of texts, filled up with zeros."""
    made = np.zeros((len(texts), max(map(len, texts), default=0)), np.uint8)
    for row, text in zip(made, texts, strict=True):
        row[: len(text)] = np.frombuffer(text, np.uint8)
    return made


def draw_objects(
    target: Array, made: Annotations, image: int, alone: bool
) -> op.SampleDataError | None:
    """Draw the objects of an image, those with larger labels over the others; or alone, each into
    an array of its own, with 1."""
    (labels,) = parts(made.labels, made.objects, [image])
    shapes: list[tuple[int, int, Any]] = []
    first = made.vertex_begins[image]
    vertices = made.extras.vertices if alone else made.vertices
    for row in range(made.polygon_begins[image], made.polygon_begins[image + 1]):
        owner, begin, end = made.polygons[row].tolist()
        shapes.append((int(labels[owner]), owner, vertices[first + begin : first + end]))
    for row in range(made.run_begins[image], made.run_begins[image + 1]):
        owner = made.run_objects[row]
        shapes.append((int(labels[owner]), owner, made.runs[row]))
    shapes.sort(key=lambda shape: shape[0])
    for label, owner, shape in shapes:
        mask, value = (target[owner][..., None], 1) if alone else (target, label)
        if not isinstance(shape, np.ndarray):
            draw_runs(mask, shape.counts, value)
        elif not draw_polygon(mask, shape, value):
            return op.SampleDataError(f"a vertex of object {owner} lies far outside of the image")
    return None
