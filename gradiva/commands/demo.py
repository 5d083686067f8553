"""The main job: one function of batches, called eagerly and captured into a pipeline."""

from __future__ import annotations

import argparse
import os
import time
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import gradiva
from gradiva import fn, random, readers, types
from gradiva.capture.pipeline.pipeline_def import pipeline_def
from gradiva.commands.contact_sheet import CELL, Row, check_folder, draw_sheet
from gradiva.eager.runtime.worker_pool import default_num_threads, set_num_threads
from gradiva.eager.support.errors import OperatorValueError
from gradiva.eager.support.lazy_import import lazy_module
from gradiva.ops.decoders.image.image import image as decode
from gradiva.ops.image.color.brightness_contrast import brightness_contrast
from gradiva.ops.image.crop import crop
from gradiva.ops.image.flip import flip
from gradiva.ops.image.resize.resize import resize

tqdm = lazy_module("tqdm", "tqdm")

__all__ = ["add_arguments", "augment", "run"]

_SUFFIXES = (".jpg", ".jpeg", ".png", ".bmp", ".tif", ".tiff", ".webp", ".ppm", ".pgm", ".jp2")
_VARIANTS = 4
_ROWS = 10


def augment(files: Any) -> Any:
    """Decode, scale, cut at a random place, flip some, and vary the light: 224 x 224 pixels.

    `files` may be a batch, or a symbol inside a pipeline definition: the code is the same.
    """
    count = files.batch_size
    images = decode(files, output_type=types.RGB)
    images = resize(images, resize_shorter=288, interp_type=types.INTERP_TRIANGULAR)
    images = crop(
        images,
        crop=(224, 224),
        crop_pos_x=random.uniform(range=(0.0, 1.0), batch_size=count),
        crop_pos_y=random.uniform(range=(0.0, 1.0), batch_size=count),
    )
    images = flip(images, horizontal=random.coin_flip(batch_size=count))
    return brightness_contrast(
        images,
        brightness=random.uniform(range=(0.8, 1.2), batch_size=count),
        contrast=random.normal(mean=1.0, stddev=0.15, batch_size=count),
    )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `gradiva demo`."""
    parser.add_argument("--data", help="a folder of images, with or without a folder per label")
    parser.add_argument(
        "--out", default="gradiva-demo.png", help="where to write the contact sheet"
    )
    parser.add_argument("--samples", type=int, default=3000, help="images per mode")
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--threads", type=int, default=default_num_threads())
    parser.add_argument("--seed", type=int, default=42)


def run(options: argparse.Namespace) -> int:
    """Make the contact sheet, run both modes, compare. Returns the exit status."""
    source = find_files(options.data)
    check_folder(Path(options.out).absolute().parent, options.out, "demo")
    set_num_threads(options.threads)
    random.set_seed(options.seed)
    reader = readers.File(**source, random_shuffle=True)
    size = reader.get_metadata()["epoch_size"]
    samples = max(1, -(-options.samples // size)) * size
    print(f"{size} images, {options.threads} threads, batches of {options.batch_size}")

    sheet(source, options)
    print(f"contact sheet: {options.out}")

    eager, eager_rate = measure("eager", eager_batches(source, samples, options), samples)
    pipelined, pipeline_rate = measure(
        "pipeline", pipeline_batches(source, samples, options), samples
    )
    print(f"eager     {eager_rate:8,.0f} images/s")
    print(f"pipeline  {pipeline_rate:8,.0f} images/s")
    common = eager.keys() & pipelined.keys()
    different = [position for position in common if eager[position] != pipelined[position]]
    if different or len(common) < samples:
        print(f"NOT the same: {len(different)} of {len(common)} samples differ")
        return 1
    print(f"same bits: all {len(common):,} samples are identical in both modes")
    return 0


def find_files(data: str | None) -> dict[str, Any]:
    """Arguments for the reader: the package's photographs, or the images in the user's folder."""
    if data is None:
        return {"file_root": str(Path(gradiva.__file__).parent / "photographs")}
    files = []
    for folder, _, names in os.walk(data):
        files += [os.path.join(folder, n) for n in names if n.lower().endswith(_SUFFIXES)]
    if not files:
        what = "a folder with images" if os.path.isdir(data) else "a folder that exists"
        raise OperatorValueError(operator="demo", argument="--data", expected=what, got=repr(data))
    return {"files": sorted(files)}


def eager_batches(source: dict[str, Any], samples: int, options: Any) -> Iterator[Any]:
    """Dynamic mode: a plain loop, each call runs at once."""
    random.set_seed(options.seed)
    reader = readers.File(**source, random_shuffle=True)
    done = 0
    while done < samples:
        for files, _labels in reader.next_epoch(batch_size=options.batch_size):
            yield augment(files)
            done += len(files)


def pipeline_batches(source: dict[str, Any], samples: int, options: Any) -> Iterator[Any]:
    """The same function, captured: batches are made ahead."""

    @pipeline_def(batch_size=options.batch_size, num_threads=options.threads, seed=options.seed)
    def pipeline() -> Any:
        files, labels = fn.readers.file(**source, random_shuffle=True)
        return augment(files), labels

    pipe = pipeline()
    for _ in range(-(-samples // options.batch_size)):
        images, _labels = pipe.run()
        yield images
    pipe.close()


def measure(name: str, batches: Iterable[Any], samples: int) -> tuple[dict[int, int], float]:
    """Digests of all samples by position, and images per second, the digests not counted."""
    digests: dict[int, int] = {}
    busy = 0.0
    iterator = iter(batches)
    timed = 0
    with tqdm.tqdm(total=samples, desc=f"{name:9}", unit=" images") as bar:
        while True:
            started = time.perf_counter()
            batch = next(iterator, None)
            passed = time.perf_counter() - started
            if batch is None:
                break
            if digests:  # the first batch loads codecs and kernels
                busy += passed
                timed += len(batch)
            for position, sample in zip(batch.positions.tolist(), batch, strict=True):
                digests[position] = zlib.crc32(np.asarray(sample).data)
            bar.update(min(len(batch), samples - bar.n))
    return digests, timed / max(busy, 1e-9)


def sheet(source: dict[str, Any], options: argparse.Namespace) -> None:
    """Write the contact sheet: each row an image as it is, and some of its variants."""
    size = readers.File(**source).get_metadata()["epoch_size"]
    # The first shard is a page of images, and comes again at each epoch.
    page = readers.File(**source, num_shards=max(1, size // _ROWS), stick_to_shard=True)
    rows: list[Row] = []
    for _ in range(_VARIANTS):
        for files, _labels in page.next_epoch(batch_size=2 * _ROWS):
            if not rows:
                plain = resize(decode(files), size=(CELL, CELL), mode="not_larger")
                rows = [
                    Row(Path(name).name, [np.asarray(original)])
                    for name, original in zip(files.source_info(), plain, strict=True)
                ]
            for row, variant in zip(rows, augment(files), strict=True):
                row.pictures.append(np.asarray(variant))
    steps = "decode  >  resize  >  random crop  >  flip  >  brightness and contrast"
    draw_sheet(rows[:_ROWS], options.out, steps)
