"""Annotations in the files of `save_preprocessed_annotations`: a folder with a file for each array.

A file is the number of its elements (uint32) and the elements, little-endian; there is none for an
empty array. Names of images are lines of text.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.support.local_files import write_whole
from gradiva.eager.types.arrays import Array
from gradiva.ops.storage.folders import read_bytes
from gradiva.ops.storage.storage import Storage
from gradiva.ops.storage.urls import is_url, local_path

from .coco_annotations import Annotations, Runs

_COUNT = struct.Struct("<I")


def save(folder: str, made: Annotations, given: dict[str, Any], vertices: Array) -> None:
    """Write the files of what is asked for. Raises OperatorValueError."""
    begins = np.array(made.objects)
    arrays: dict[str, Array] = {
        "offsets": begins[:-1].astype("<i4"),
        "boxes": made.boxes.astype("<f4").reshape(-1),
        "labels": made.labels.astype("<i4"),
        "counts": np.diff(begins).astype("<i4"),
    }
    if given["polygon_masks"] or given["masks"] or given["pixelwise_masks"]:
        arrays |= {
            "polygon_data": made.polygons.astype("<i4"),
            "vertices": vertices.astype("<f4"),
            **_part("polygon_offset", "polygons_count", made.polygon_begins),
            **_part("vertices_offset", "vertices_count", made.vertex_begins),
        }
    if given["pixelwise_masks"]:
        arrays |= {
            "masks_rles_idx": np.array(made.run_objects, "<i4"),
            **_part("masks_offset", "mask_count", made.run_begins),
            "heights": np.array(made.heights, "<i4"),
            "widths": np.array(made.widths, "<i4"),
        }
    if given["image_ids"]:
        arrays["original_ids"] = np.array(made.ids, "<i4")
    bad = next((name for name in made.names if "\n" in name or "\r" in name), None)
    if bad is not None:
        raise op.wrong_value("save_preprocessed_annotations", "names of one line", repr(bad))
    if is_url(folder):
        raise op.wrong_value("save_preprocessed_annotations_dir", "a folder on a disk", folder)
    folder = local_path(folder)
    try:
        os.makedirs(folder, exist_ok=True)
        for name, values in arrays.items():
            if len(values):
                _write(folder, name, _COUNT.pack(len(values)) + values.tobytes())
        if given["pixelwise_masks"] and made.runs:
            parts = [_COUNT.pack(len(made.runs))]
            for height, width, counts in made.runs:
                parts.append(struct.pack("<QQQ", height, width, len(counts)))
                parts.append(counts.astype("<u4").tobytes())
            _write(folder, "masks_rles", b"".join(parts))
        names = "".join(f"{name}\n" for name in made.names)
        _write(folder, "filenames", names.encode("utf-8", "surrogateescape"))
    except OSError as error:
        raise op.wrong_value(
            "save_preprocessed_annotations_dir", "a folder that can be written to", error
        ) from error


def _part(offsets: str, counts: str, begins: Sequence[int]) -> dict[str, Array]:
    places = np.array(begins, "<i8")
    return {offsets: places[:-1], counts: np.diff(places)}


def _write(folder: str, name: str, content: bytes) -> None:
    """Who reads the folder meanwhile finds a whole file."""
    write_whole(os.path.join(folder, f"{name}.dat"), content)


class _Folder:
    """Reads the files of a folder."""

    def __init__(self, folder: str, storage: Storage) -> None:
        self._folder, self._storage = folder, storage

    def wrong(self, name: str, expected: str, got: object) -> op.OperatorRuntimeError:
        return op.OperatorRuntimeError(
            "the preprocessed annotations are damaged",
            argument="preprocessed_annotations",
            expected=expected,
            got=str(got),
            file=os.path.join(self._folder, f"{name}.dat"),
        )

    def content(self, name: str) -> bytes | None:
        try:
            return read_bytes(os.path.join(self._folder, f"{name}.dat"), self._storage)
        except OSError as error:
            if isinstance(error, FileNotFoundError):
                return None
            if isinstance(error.__cause__, FileNotFoundError):  # what another machine says
                return None
            raise op.wrong_value(
                "preprocessed_annotations", "files that can be read", error
            ) from error

    def array(self, name: str, kind: str, columns: int = 1, per: int = 1) -> Array:
        """(elements, columns); each element of the file is `per` numbers."""
        content = self.content(name)
        if content is None:
            return np.empty((0, columns), kind)
        size = int.from_bytes(content[:4], "little") * per * np.dtype(kind).itemsize
        if len(content) != 4 + size or size % (columns * np.dtype(kind).itemsize):
            raise self.wrong(name, f"{4 + size} bytes", len(content))
        return np.frombuffer(content, kind, offset=4).reshape(-1, columns)

    def parts(self, offsets: str, counts: str, kind: str, images: int, total: int) -> Array:
        """(images, 2): begin and end of the part of each image."""
        begins, sizes = self.array(offsets, kind), self.array(counts, kind)
        for name, found in ((offsets, begins), (counts, sizes)):
            if len(found) != images:
                raise self.wrong(name, f"{images} numbers, as many as images", len(found))
        both = np.concatenate([begins, sizes], axis=1).astype(np.int64)
        both[:, 1] += both[:, 0]
        bad = (both[:, 0] < 0) | (both[:, 1] < both[:, 0]) | (both[:, 1] > total)
        if bad.any():
            got = f"{both[bad][0].tolist()} in entry {int(np.argmax(bad))}"
            raise self.wrong(offsets, f"places up to {total}", got)
        return both

    def runs(self) -> list[Runs]:
        content = self.content("masks_rles")
        found: list[Runs] = []
        if content is None:
            return found
        place = 4
        for number in range(int.from_bytes(content[:4], "little")):
            if place + 24 > len(content):
                raise self.wrong("masks_rles", f"entry {number}", "the end of the file")
            height, width, count = struct.unpack_from("<QQQ", content, place)
            place += 24
            if count > (len(content) - place) // 4:
                raise self.wrong("masks_rles", f"{count} runs in entry {number}", "fewer")
            counts = np.frombuffer(content, "<u4", count, place)
            place += 4 * count
            if int(counts.sum(dtype=np.uint64)) != height * width:
                expected = f"runs of {height * width} pixels in entry {number}"
                raise self.wrong("masks_rles", expected, counts.sum(dtype=np.uint64))
            found.append(Runs(height, width, counts))
        return found


def load(folder: str, given: dict[str, Any], storage: Storage) -> Annotations:
    """The annotations in a folder, with what is asked for. Raises OperatorValueError and
    OperatorRuntimeError."""
    files = _Folder(folder, storage)
    text = files.content("filenames")
    if text is None:
        raise op.wrong_value(
            "preprocessed_annotations", "a folder with preprocessed annotations", repr(folder)
        )
    names = text.decode("utf-8", "surrogateescape").split("\n")
    if names.pop() or "" in names or "\0" in "".join(names):
        raise files.wrong("filenames", "lines with names", "an empty one, or half a line")
    images = len(names)
    boxes = files.array("boxes", "<f4", 4)
    labels = files.array("labels", "<i4")[:, 0]
    if len(boxes) != len(labels):
        raise files.wrong("labels", f"{len(boxes)} labels, as many as boxes", len(labels))
    made = Annotations(names)
    rows = files.parts("offsets", "counts", "<i4", images, len(boxes))
    made.objects, chosen = _gathered(rows)
    made.boxes, made.labels = boxes[chosen], labels[chosen]
    if given["image_ids"]:
        made.ids = files.array("original_ids", "<i4")[:, 0].tolist()
        _same(files, "original_ids", len(made.ids), images)
    if given["polygon_masks"] or given["masks"] or given["pixelwise_masks"]:
        polygons = files.array("polygon_data", "<i4", 3, 3)
        vertices = files.array("vertices", "<f4", 2, 2)
        rows = files.parts("polygon_offset", "polygons_count", "<i8", images, len(polygons))
        made.polygon_begins, chosen = _gathered(rows)
        made.polygons = polygons[chosen]
        rows = files.parts("vertices_offset", "vertices_count", "<i8", images, len(vertices))
        made.vertex_begins, chosen = _gathered(rows)
        made.vertices = vertices[chosen]
        _check_polygons(files, made)
    if given["pixelwise_masks"]:
        _load_masks(files, made)
    return made


def _gathered(rows: Array) -> tuple[list[int], Array]:
    """The begins of parts one after the other, and which elements these are."""
    sizes = rows[:, 1] - rows[:, 0]
    begins = np.concatenate([[0], np.cumsum(sizes)])
    chosen = np.arange(begins[-1]) + np.repeat(rows[:, 0] - begins[:-1], sizes)
    return begins.tolist(), chosen


def _same(files: _Folder, name: str, found: int, images: int) -> None:
    if found != images:
        raise files.wrong(name, f"{images} numbers, as many as images", found)


def _check_polygons(files: _Folder, made: Annotations) -> None:
    own = np.repeat(np.arange(len(made.names)), np.diff(made.polygon_begins))
    objects, vertices = np.diff(made.objects)[own], np.diff(made.vertex_begins)[own]
    row = made.polygons
    bad = (row[:, 0] < 0) | (row[:, 0] >= objects) | (row[:, 1] < 0)
    bad |= (row[:, 2] < row[:, 1]) | (row[:, 2] > vertices)
    if bad.any():
        got = f"{row[bad][0].tolist()} in entry {int(np.argmax(bad))}"
        raise files.wrong("polygon_data", "an object of the image and its vertices", got)


def _load_masks(files: _Folder, made: Annotations) -> None:
    images = len(made.names)
    made.heights = files.array("heights", "<i4")[:, 0].tolist()
    made.widths = files.array("widths", "<i4")[:, 0].tolist()
    _same(files, "heights", len(made.heights), images)
    _same(files, "widths", len(made.widths), images)
    for number, (height, width) in enumerate(zip(made.heights, made.widths, strict=True)):
        if min(height, width) < 1 or height * width > 1 << 28:
            raise files.wrong("heights", "sizes of images", f"{height} x {width} in entry {number}")
    runs = files.runs()
    objects = files.array("masks_rles_idx", "<i4")[:, 0]
    if len(objects) != len(runs):
        raise files.wrong("masks_rles_idx", f"{len(runs)} objects, as many as masks", len(objects))
    rows = files.parts("masks_offset", "mask_count", "<i8", images, len(runs))
    made.run_begins, chosen = _gathered(rows)
    made.runs = [runs[index] for index in chosen.tolist()]
    made.run_objects = objects[chosen].tolist()
    counts = np.diff(made.objects)
    for image in range(images):
        for place in range(made.run_begins[image], made.run_begins[image + 1]):
            size = made.heights[image], made.widths[image]
            if made.runs[place][:2] != size or not 0 <= made.run_objects[place] < counts[image]:
                raise files.wrong("masks_rles", f"a mask of {size} of an object", f"entry {place}")
