"""`readers.coco`: images with boxes, labels and masks, from annotations in COCO's format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.operators.argument_types import ArgumentType
from gradiva.eager.support.lazy_import import lazy_module
from gradiva.eager.types.arrays import Array
from gradiva.ops.readers.core.reader import reader_class
from gradiva.ops.readers.core.remote_files import read_any_files
from gradiva.ops.readers.core.source import Arrangement, source_operator
from gradiva.ops.readers.core.table import Failures, Records, ragged
from gradiva.ops.storage.storage import Storage
from gradiva.ops.storage.urls import join, local_path

from . import coco_preprocessed as preprocessed
from .coco_annotations import Annotations, draw_objects, finished, padded, parts, read_annotations
from .listing import FilesTable
from .reader_arguments import ReaderArguments, ReaderOptions, storage_of
from .table_source import opens_table

if TYPE_CHECKING:
    from gradiva.ops.targets import targets
else:  # for few programs
    targets = lazy_module("gradiva.ops.targets.targets")

__all__ = ["COCO", "coco"]

EXTRA: Final = ("keypoints", "object_masks", "captions", "area", "iscrowd", "annotation_ids")
"""The names of further outputs."""
_FIELDS: Final = {
    "object_masks": "masks",
    **{name: name for name in ("boxes", "labels", "keypoints", "polygons", "vertices")},
}
"""What targets call the outputs that they hold."""
_COLUMNS: Final = ("area", "iscrowd", "annotation_ids")
_OPTIONS: Final = (
    *("clip", "drop", "min_visibility", "min_area", "min_size", "invalid", "pixel_origin"),
    "keypoint_pairs",
)
_DRAWN: Final = frozenset(("pixels", "object_masks"))
"""The outputs that are drawn when images are read."""
_MOST_BYTES: Final = 1 << 30
"""Of the masks of the objects of an image."""
_DENSEST = 14
"""No format holds more pixels than 2 to this power in a byte: 8 of one bit, deflated 1032 to 1."""


def _extra(value: Any) -> tuple[str, ...]:
    names = (value,) if isinstance(value, str) else tuple(value)
    for name in names:
        if not isinstance(name, str):
            raise TypeError
        if name not in EXTRA or names.count(name) > 1:
            raise ValueError
    return names


Extra: TypeAlias = Annotated[
    str | Sequence[str],
    ArgumentType("Extra", f"some of {', '.join(map(repr, EXTRA))}, each once", _extra),
]


def _target_options(value: Any) -> Any:
    """False for no targets; their options, as pairs. Raises OperatorTypeError, OperatorValueError
    for others."""
    if value is False or value is None:
        return False
    if value is not True and not isinstance(value, Mapping | tuple):
        raise TypeError
    options = {} if value is True else dict(value)
    for name in options:
        if name in ("format", "relative") or name not in _OPTIONS:
            raise op.wrong_value("targets", f"some of {', '.join(_OPTIONS)}", repr(name))
    if "keypoint_pairs" in options:
        options["keypoint_pairs"] = tuple(map(tuple, options["keypoint_pairs"]))
    targets.Targets(columns={"any": 0}, **options)  # it checks their values
    return tuple(options.items())


TargetOptions: TypeAlias = Annotated[
    Any, ArgumentType("TargetOptions", "True, or a dict of options of Targets", _target_options)
]


@source_operator(
    "readers.coco",
    schema="readers__COCO",
    formerly=("coco_reader",),
    old_arguments={
        "meta_files_path": "preprocessed_annotations",
        "dump_meta_files": "save_preprocessed_annotations",
        "dump_meta_files_path": "save_preprocessed_annotations_dir",
        "save_img_ids": "image_ids",
    },
)
@op.uses_arguments(ReaderArguments)
def coco(
    *,
    file_root: op.Path | None = None,
    annotations_file: op.Path = "",
    preprocessed_annotations: op.Path = "",
    images: op.Strings | None = None,
    size_threshold: float = 0.1,
    skip_empty: bool = False,
    include_iscrowd: bool = True,
    avoid_class_remapping: bool = False,
    ltrb: bool = False,
    ratio: bool = False,
    polygon_masks: bool = False,
    masks: bool = False,
    pixelwise_masks: bool = False,
    image_ids: bool = False,
    extra: Extra | None = None,
    captions_file: op.Path = "",
    targets: TargetOptions = False,
    save_preprocessed_annotations: bool = False,
    save_preprocessed_annotations_dir: op.Path = "",
    **options: op.Unpack[ReaderOptions],
) -> tuple[op.SampleType, ...]:
    """Read images with the boxes, labels and masks of their objects.

    Args:
        file_root: the folder that the names of images are relative to.
        annotations_file: the annotations: a JSON file with the lists `images`, `categories` and
            `annotations`.
        preprocessed_annotations: a folder with annotations as `save_preprocessed_annotations`
            writes them, in its place. How boxes and masks are given was chosen then.
        images: names of the images to read, in this order; all, by their ids, if none are given.
        size_threshold: leave out objects whose box is narrower or lower, in pixels.
        skip_empty: leave out images without objects.
        include_iscrowd: also deliver objects that are crowds.
        avoid_class_remapping: labels are the ids of categories. Otherwise they count from 1, in the
            order of the list of categories.
        ltrb: boxes are left, top, right, bottom; otherwise left, top, width, height.
        ratio: boxes and vertices are fractions of the image's width and height.
        polygon_masks: also deliver the polygons of objects.
        masks: the same, but polygons count coordinates in place of vertices.
        pixelwise_masks: also deliver an image of labels.
        image_ids: also deliver the id of each image.
        extra: names of further outputs, which come last, in this order: some of "keypoints",
            "object_masks", "captions", "area", "iscrowd", "annotation_ids".
        captions_file: the captions of the images, as COCO has them in a file of their own, behind
            those in `annotations_file`.
        targets: True, or options of `gradiva.Targets` by name, such as {"min_visibility": 0.25}:
            deliver what belongs to objects as one `Targets` behind the images. It moves with them
            through operators.
        save_preprocessed_annotations: write the annotations to a folder, from which they are read
            faster.
        save_preprocessed_annotations_dir: this folder.

    Returns:
        The encoded images, uint8, 1-D; their boxes, float32 (n, 4); and their labels, int32 (n,).
        With `polygon_masks`: polygons, int32 (p, 3), each with the number of its object, its first
        vertex and the end of its vertices; and the vertices, float32 (v, 2). With
        `pixelwise_masks`: the label of each pixel, int32 (height, width, 1), 0 for none and the
        largest of several. With `image_ids`: int32 (1,). With `extra`: "keypoints", float32 (n, k,
        3), x, y and visibility, where k is the largest number that an object has, and what an
        object lacks is 0; "object_masks", uint8 FHW, (n, height, width), 1 for the pixels of each
        object, drawn as pycocotools draws them; "captions", uint8 (c, longest), UTF-8, each filled
        up with zeros; "area", float32 (n,); "iscrowd", int32 (n,); "annotation_ids", int64 (n,).

    Raises:
        OperatorValueError: for a missing file, an image that the annotations do not name, and
            arguments that exclude each other.
        OperatorRuntimeError: with the file and the entry in it, for annotations that cannot be
            understood; with the image, for one that cannot be read, and for one with an object of
            a category that is not listed.

    Example:
        reader = gradiva.readers.COCO(file_root="coco", annotations_file="coco/annotations.json")
        for files, boxes, labels in reader.next_epoch(batch_size=4):
            images = gradiva.decoders.image(files)
    """
    if targets is not False and masks:
        raise op.OperatorValueError(
            "polygons of `targets` count vertices, as those of `polygon_masks` do", argument="masks"
        )
    names = _outputs(polygon_masks or masks, pixelwise_masks, image_ids, extra)
    return tuple(_TYPES[name] for name in names)


_TYPES: Final = {
    name: op.SampleType(dtype, ndim, layout, "cpu")
    for name, dtype, ndim, layout in (
        ("images", op.uint8, 1, ""),
        ("boxes", op.float32, 2, ""),
        ("labels", op.int32, 1, ""),
        ("polygons", op.int32, 2, ""),
        ("vertices", op.float32, 2, ""),
        ("pixels", op.int32, 3, "HWC"),
        ("image_ids", op.int32, 1, ""),
        ("keypoints", op.float32, 3, ""),
        ("object_masks", op.uint8, 3, "FHW"),
        ("captions", op.uint8, 2, ""),
        ("area", op.float32, 1, ""),
        ("iscrowd", op.int32, 1, ""),
        ("annotation_ids", op.int64, 1, ""),
    )
}
"""The outputs, and their types."""


@dataclass(frozen=True)
class WithTargets(Arrangement):
    """The images, `Targets` of all that belongs to objects, and what is left.

    names: of the outputs; options: of the targets.
    """

    names: tuple[str, ...]
    options: tuple[tuple[str, Any], ...]

    def arrange(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        images, *others = values
        columns, fields, rest = {}, {}, []
        for number, value in enumerate(others, 1):
            name = self.names[number] if number < len(self.names) else ""
            if name in _COLUMNS:
                columns[name] = value
            elif name in _FIELDS:
                fields[_FIELDS[name]] = value
            else:
                rest.append(value)
        made = targets.Targets(**fields, columns=columns, **dict(self.options))
        return images, made, *rest


def _arrangement(given: dict[str, Any]) -> WithTargets | None:
    if given["targets"] is False:
        return None
    polygons = given["polygon_masks"] or given["masks"]
    names = _outputs(polygons, given["pixelwise_masks"], given["image_ids"], given["extra"])
    kind = "xyxy" if given["ltrb"] else "xywh"
    options = {"format": kind, "relative": given["ratio"], **dict(given["targets"])}
    return WithTargets(tuple(names), tuple(options.items()))


coco.output_names = _arrangement


def _outputs(polygons: Any, pixels: Any, ids: Any, extra: Any) -> list[str]:
    """The names of the outputs, in their order."""
    made = ["images", "boxes", "labels"]
    made += ["polygons", "vertices"] if polygons else []
    made += ["pixels"] if pixels else []
    made += ["image_ids"] if ids else []
    return [*made, *(extra or ())]


class ImageTable(FilesTable):
    """Images and their annotations.

    vertices: as they are delivered; those of `annotations` are in pixels.
    """

    selecting = frozenset(
        (
            *("images", "size_threshold", "skip_empty", "include_iscrowd"),
            *("avoid_class_remapping", "ltrb", "ratio", "polygon_masks", "masks"),
            *("pixelwise_masks", "image_ids", "extra", "save_preprocessed_annotations"),
            "save_preprocessed_annotations_dir",
        )
    )

    def __init__(
        self,
        root: str,
        annotations: Annotations,
        given: dict[str, Any],
        vertices: Array,
        storage: Storage,
    ) -> None:
        super().__init__([local_path(join(root, name)) for name in annotations.names], storage)
        polygons = given["polygon_masks"] or given["masks"]
        self._names_of_outputs = _outputs(
            polygons, given["pixelwise_masks"], given["image_ids"], given["extra"]
        )
        self._annotations, self._given, self._vertices = annotations, given, vertices

    def read(self, indices: op.Int64Array, pool: op.WorkerPool) -> Records:
        made = self._annotations
        numbers = indices.tolist()
        failures: Failures = {
            sample: op.SampleDataError(made.faults[image])
            for sample, image in enumerate(numbers)
            if image in made.faults
        }
        images = read_any_files(self.names(indices), None, pool, failures, storage=self.storage)
        columns = {0: images, **self.without_reading(indices)}
        for place, name in enumerate(self._names_of_outputs):
            if name in _DRAWN:
                sizes = images.batch_shape.volumes.tolist()
                columns[place] = self._masks(name, numbers, sizes, pool, failures)
        return Records(tuple(columns[output] for output in sorted(columns)), failures)

    def without_reading(self, indices: op.Int64Array) -> dict[int, op.Batch]:
        """What the annotations say; masks are drawn in images of a size that fits the file."""
        numbers, found = indices.tolist(), {}
        for place, name in enumerate(self._names_of_outputs):
            if name != "images" and name not in _DRAWN:
                type = _TYPES[name]
                assert type.dtype is not None
                found[place] = ragged(self._rows(name, numbers), type.dtype, type.ndim or 0)
        return found

    def _rows(self, name: str, numbers: list[int]) -> list[Array]:
        """An output of these images."""
        made = self._annotations
        if name == "image_ids":
            return [np.array([made.ids[image]], np.int32) for image in numbers]
        if name == "captions":
            return [padded(made.extras.captions[image]) for image in numbers]
        if name == "vertices":
            return parts(self._vertices, made.vertex_begins, numbers)
        if name == "polygons":
            factors = np.array([1, 2, 2] if self._given["masks"] else [1, 1, 1], np.int32)
            return [row * factors for row in parts(made.polygons, made.polygon_begins, numbers)]
        extras = made.extras
        values = {
            "boxes": made.boxes,
            "labels": made.labels,
            "keypoints": extras.keypoints,
            "area": extras.areas,
            "iscrowd": extras.crowds,
            "annotation_ids": extras.annotation_ids,
        }
        return parts(values[name], made.objects, numbers)

    def identities(
        self, indices: op.Int64Array, output: int, before: int | None = None
    ) -> Sequence[str | None]:
        """Of images: those of the files. Whether an image is delivered at all depends on its
        annotations, where they have faults or masks are drawn."""
        if output or not _DRAWN.isdisjoint(self._names_of_outputs):
            return [None] * len(indices)
        faults = self._annotations.faults
        files = self.identities_of_files(indices, before)
        return [
            None if image in faults else file
            for image, file in zip(indices.tolist(), files, strict=True)
        ]

    def _masks(
        self,
        name: str,
        numbers: list[int],
        sizes: list[int],
        pool: op.WorkerPool,
        failures: Failures,
    ) -> op.Batch:
        made, alone = self._annotations, name == "object_masks"
        shapes = []
        for sample, image in enumerate(numbers):
            height, width = made.heights[image], made.widths[image]
            count = made.objects[image + 1] - made.objects[image]
            shapes.append((count, height, width) if alone else (height, width, 1))
            if alone and count * height * width > _MOST_BYTES:
                shapes[sample] = (count, 0, 0)
                failures.setdefault(
                    sample,
                    op.SampleDataError(
                        "the masks of its objects need too much memory",
                        expected=f"at most {_MOST_BYTES} bytes",
                        got=f"{count} x {height} x {width}",
                    ),
                )
            if height * width > (sizes[sample] << _DENSEST) + (1 << 16):
                shapes[sample] = (count, 0, 0) if alone else (0, 0, 1)
                failures.setdefault(
                    sample,
                    op.SampleDataError(
                        "the size of the image in the annotations",
                        expected=f"one that fits a file of {sizes[sample]} bytes",
                        got=f"{height} x {width}",
                    ),
                )
        batch = op.Batch.empty(
            op.BatchShape.of(np.array(shapes, np.int64).reshape(-1, 3)), _TYPES[name]
        )
        targets = batch.batch_shape.views(batch.data)

        def draw(begin: int, end: int) -> None:
            for sample in range(begin, end):
                target = targets[sample]
                target[...] = 0
                if sample not in failures:
                    bad = draw_objects(target, made, numbers[sample], alone)
                    if bad is not None:
                        target[...] = 0
                        failures[sample] = bad

        pool.run(draw, [(sample, sample + 1) for sample in range(len(numbers))])
        return batch

    def digest(self) -> dict[str, Any]:
        """The number of images, and a digest of their names and annotations."""
        made = self._annotations
        digest = blake2b(digest_size=16)
        begins = made.objects, made.polygon_begins, made.vertex_begins, made.run_begins
        ids: Any = made.ids
        if max(map(abs, ids)) >> 63:  # beyond integers of arrays
            ids = np.frombuffer(repr(ids).encode(), np.uint8)
        for values in (*begins, made.boxes, made.labels, made.polygons, self._vertices, ids):
            digest.update(np.ascontiguousarray(values).data)
        for runs in made.runs:
            digest.update(runs.counts.tobytes())
        extras = made.extras
        for name, values in (
            ("keypoints", extras.keypoints),
            ("area", extras.areas),
            ("iscrowd", extras.crowds),
            ("annotation_ids", extras.annotation_ids),
        ):
            if name in (self._given["extra"] or ()):
                digest.update(np.ascontiguousarray(values).data)
        if "captions" in (self._given["extra"] or ()):
            digest.update(repr(extras.captions).encode())
        return {**super().digest(), "annotations": digest.hexdigest()}


def _refuse(given: dict[str, Any]) -> None:
    """Raise OperatorValueError for arguments that exclude each other."""
    if given["skip_cached_images"]:
        raise op.wrong_value("skip_cached_images", "False in this reader", "True")
    if (given["polygon_masks"] or given["masks"]) and given["pixelwise_masks"]:
        raise op.OperatorValueError("`pixelwise_masks` and `polygon_masks` exclude each other")
    if given["captions_file"] and "captions" not in (given["extra"] or ()):
        raise op.OperatorValueError(
            "the captions are an output with `extra=[..., 'captions']`", argument="captions_file"
        )
    if given["extra"] and given["preprocessed_annotations"]:
        raise op.OperatorValueError(
            "`extra` and `preprocessed_annotations` exclude each other: these hold boxes, labels "
            "and masks alone"
        )
    if given["save_preprocessed_annotations"] != bool(given["save_preprocessed_annotations_dir"]):
        raise op.OperatorValueError(
            "`save_preprocessed_annotations` and `save_preprocessed_annotations_dir` belong "
            "together: give both, or none"
        )
    if not given["preprocessed_annotations"]:
        if not given["annotations_file"]:
            raise op.OperatorValueError(
                "give one of `annotations_file` and `preprocessed_annotations`"
            )
        return
    plain = {
        "annotations_file": "",
        "skip_empty": False,
        "ratio": False,
        "ltrb": False,
        "images": None,
        "size_threshold": 0.1,
    }
    for name, default in plain.items():
        if given[name] != default:
            raise op.OperatorValueError(
                f"`{name}` and `preprocessed_annotations` exclude each other: it was chosen when "
                "these were written"
            )


@opens_table(coco)
def _open(given: dict[str, Any]) -> ImageTable:
    _refuse(given)
    storage = storage_of(given)
    source = given["preprocessed_annotations"] or given["annotations_file"]
    if given["preprocessed_annotations"]:
        made = preprocessed.load(source, given, storage)
        vertices = made.vertices
    else:
        made = read_annotations(source, given, storage)
        vertices = finished(made, given)
    if not made.names:
        raise op.wrong_value("annotations_file", "at least one image", f"none in {source}")
    if given["save_preprocessed_annotations"]:
        # Masks are drawn in pixels, also those of saved annotations.
        saved = made.vertices if given["pixelwise_masks"] else vertices
        preprocessed.save(given["save_preprocessed_annotations_dir"], made, given, saved)
    return ImageTable(given["file_root"] or "", made, given, vertices, storage)


coco.not_serializable("extra", "captions_file", "targets")

COCO = reader_class("COCO", coco)
