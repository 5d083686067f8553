"""Readers of containers and of annotations, ours against DALI's, in one run.

Whole recipes on photographs from TFRecord files, WebDataset archives and a COCO data set, and what
reading alone costs: pictures of 24 x 24 pixels from a TFRecord file, and the bytes of photographs.
"""

from __future__ import annotations

import argparse
import io
import json
import struct
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import nvidia.dali.tfrecord as dali_tfrecord
import PIL.Image
from nvidia.dali import fn as dali_fn
from nvidia.dali import pipeline_def as dali_pipeline_def
from nvidia.dali import types as dali_types
from photographs import encoded_photographs
from programs import MEAN, STD, decode, val
from recipes import AHEAD, measure
from side_by_side import Row, save

import gradiva
from gradiva import fn, tfrecord, types
from gradiva.ops.readers.records import tar_archive as archive
from gradiva.ops.readers.records import tfrecord as tfrecord_reader
from gradiva.ops.readers.records.tfrecord_records import checksums

SMALL = 20_000
OURS = fn, types, tfrecord
THEIRS = dali_fn, dali_types, dali_tfrecord


def varint(number: int) -> bytes:
    written = b""
    while number > 127:
        written += bytes([number & 127 | 128])
        number >>= 7
    return written + bytes([number])


def field(number: int, value: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(value)) + value


def checksum(data: bytes) -> bytes:
    whole = np.frombuffer(data, np.uint8)
    found = checksums(whole, np.zeros(1, np.int64), np.array([len(data)], np.int64))
    return struct.pack("<I", int(found[0]))


def write_tfrecord(path: Path, images: list[bytes]) -> dict[str, Any]:
    with path.open("wb") as stream:
        for number, image in enumerate(images):
            features = {
                b"image": field(1, field(1, image)),
                b"label": field(3, field(1, varint(number % 1000))),
            }
            entries = (field(1, field(1, key) + field(2, value)) for key, value in features.items())
            record = field(1, b"".join(entries))
            length = struct.pack("<Q", len(record))
            stream.write(length + checksum(length) + record + checksum(record))
    index = path.with_suffix(".idx")
    index.write_text("\n".join(tfrecord_reader.index_lines(str(path))) + "\n")
    return {"path": str(path), "index_path": str(index)}


def write_tar(path: Path, images: list[bytes]) -> dict[str, Any]:
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as made:
        for number, image in enumerate(images):
            for name, data in (("jpg", image), ("cls", b"%d" % (number % 1000))):
                member = tarfile.TarInfo(f"{number:06}.{name}")
                member.size = len(data)
                made.addfile(member, io.BytesIO(data))
    index = path.with_suffix(".idx")
    index.write_text("\n".join(archive.index_lines(str(path))) + "\n")
    return {"paths": str(path), "index_paths": str(index), "ext": ["jpg", "cls"]}


def write_coco(folder: Path, images: list[bytes]) -> dict[str, Any]:
    """Each with 1 to 10 objects."""
    generator = np.random.default_rng(1)
    entries, objects = [], []
    for number, image in enumerate(images):
        (folder / f"{number:06}.jpg").write_bytes(image)
        width, height = PIL.Image.open(io.BytesIO(image)).size
        entries.append(
            {"id": number, "file_name": f"{number:06}.jpg", "width": width, "height": height}
        )
        for _ in range(int(generator.integers(1, 11))):
            left, top = generator.uniform(0, 0.6, 2)
            across, down = generator.uniform(0.1, 0.4, 2)
            objects.append(
                {
                    "id": len(objects),
                    "image_id": number,
                    "category_id": int(generator.integers(1, 81)),
                    "bbox": [left * width, top * height, across * width, down * height],
                    "iscrowd": 0,
                }
            )
    categories = [{"id": number, "name": str(number)} for number in range(1, 81)]
    path = folder / "annotations.json"
    path.write_text(
        json.dumps({"images": entries, "annotations": objects, "categories": categories})
    )
    return {"file_root": str(folder), "annotations_file": str(path), "ratio": True, "ltrb": True}


def small_pictures(count: int) -> list[bytes]:
    """Smooth ones, as in `scaling.py`."""
    generator = np.random.default_rng(2)
    found = []
    for _ in range(count):
        stream = io.BytesIO()
        coarse = PIL.Image.fromarray(generator.integers(0, 256, (6, 6, 3), np.uint8))
        picture = coarse.resize((24, 24), PIL.Image.Resampling.BICUBIC)
        picture.save(stream, "JPEG", quality=90)
        found.append(stream.getvalue())
    return found


def examples(library: Any, data: dict[str, Any]) -> tuple[Any, ...]:
    f, _, tfr = library
    features = {
        "image": tfr.FixedLenFeature([], tfr.string, ""),
        "label": tfr.FixedLenFeature([1], tfr.int64, -1),
    }
    read = f.readers.tfrecord(name="reader", features=features, **data)
    return read["image"], read["label"]


def members(library: Any, data: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(library[0].readers.webdataset(name="reader", **data))


Read = Callable[[Any, dict[str, Any]], tuple[Any, ...]]


def then(read: Read, recipe: Callable[..., Any]) -> Read:
    """The recipe on the images that are read, with their labels."""

    def whole(library: Any, data: dict[str, Any]) -> tuple[Any, ...]:
        images, labels = read(library, data)
        return recipe(*library[:2], images), labels

    return whole


def detection(library: Any, data: dict[str, Any]) -> tuple[Any, ...]:
    f, t, _ = library
    files, boxes, labels = f.readers.coco(name="reader", **data)
    begin, size, boxes, labels = f.random_bbox_crop(
        boxes,
        labels,
        aspect_ratio=[0.5, 2.0],
        thresholds=[0.0, 0.1, 0.3, 0.5, 0.7, 0.9],
        scaling=[0.3, 1.0],
        bbox_layout="xyXY",
        allow_no_crop=True,
        num_attempts=50,
    )
    images = f.slice(f.decoders.image(files, output_type=t.RGB), begin, size)
    images = f.resize(images, size=(300, 300))
    images = f.hsv(
        images, hue=f.random.uniform(range=[-18, 18]), saturation=f.random.uniform(range=[0.5, 1.5])
    )
    images = f.brightness_contrast(
        images,
        brightness=f.random.uniform(range=[0.9, 1.1]),
        contrast=f.random.uniform(range=[0.5, 1.5]),
    )
    mirror = f.random.coin_flip()
    images = f.crop_mirror_normalize(
        images, mirror=mirror, mean=MEAN, std=STD, dtype=t.FLOAT, output_layout="CHW"
    )
    return images, f.bb_flip(boxes, ltrb=True, horizontal=mirror), labels


def rivals(program: Read, data: dict[str, Any], count: int, options: Any) -> tuple[Any, Any]:
    """Functions that run an epoch of the program as a pipeline of each library."""
    common = {
        "batch_size": options.batch_size,
        "num_threads": options.threads,
        "seed": 1,
        "prefetch_queue_depth": AHEAD,
        "device_id": None,
    }

    def epoch(define: Any, library: Any) -> Callable[[], Iterator[int]]:
        pipe = define(**common)(lambda: program(library, data))()
        pipe.build()

        def run() -> Iterator[int]:
            for _ in range(AHEAD + count // options.batch_size):
                pipe.run()
                yield options.batch_size

        return run

    return epoch(gradiva.pipeline_def, OURS), epoch(dali_pipeline_def, THEIRS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=1000)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="a part of the names of the rows to measure")
    options = parser.parse_args()
    images = list(encoded_photographs(options.images))
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "coco").mkdir()
        photographs = write_tfrecord(folder / "photographs.tfrecord", images)
        archived = write_tar(folder / "archive.tar", images)
        small = write_tfrecord(folder / "small.tfrecord", small_pictures(SMALL))
        annotated = write_coco(folder / "coco", images)
        programs: dict[str, tuple[Read, dict[str, Any], int]] = {
            "val from TFRecord": (then(examples, val), photographs, options.images),
            "val from WebDataset": (then(members, val), archived, options.images),
            "COCO: box crop, resize 300, color": (detection, annotated, options.images),
            "24 x 24 from TFRecord, read": (examples, small, SMALL),
            "24 x 24 from TFRecord, decoded": (then(examples, decode), small, SMALL),
            "photographs from TFRecord, read": (examples, photographs, options.images),
            "photographs from WebDataset, read": (members, archived, options.images),
        }
        rows: list[Row] = []
        for name, (program, data, count) in programs.items():
            if options.only in name:
                both = rivals(program, data, count, options)
                rows.append(measure(name, both, options.rounds, AHEAD))
    if not options.only:
        save("readers", rows)


if __name__ == "__main__":
    main()
