"""Pipelines on photographs, ours against the reference's, on the same cores in one run.

The data set is made here: the package's photographs cut to ImageNet-like sizes, quality 85-95.
"""

from __future__ import annotations

import argparse
import io
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
from nvidia.dali import fn as dali_fn
from nvidia.dali import pipeline_def as dali_pipeline_def
from nvidia.dali import types as dali_types
from side_by_side import in_turns, row, save

import gradiva
from gradiva import fn, types

MEAN = [0.485 * 255, 0.456 * 255, 0.406 * 255]
STD = [0.229 * 255, 0.224 * 255, 0.225 * 255]


def make_data(folder: Path, count: int) -> None:
    """`count` JPEG files whose shorter side has 280 to 520 pixels."""
    generator = np.random.default_rng(0)
    sources = [
        PIL.Image.open(path).convert("RGB")
        for path in sorted((Path(gradiva.__file__).parent / "photographs").rglob("*.jpg"))
    ]
    for number in range(count):
        picture = sources[number % len(sources)]
        shorter = int(generator.integers(280, 521))
        scale = shorter / min(picture.size)
        ratio = generator.uniform(0.9, 1.1)
        size = (round(picture.width * scale * ratio), round(picture.height * scale))
        stream = io.BytesIO()
        quality = int(generator.integers(85, 96))
        picture.resize(size, PIL.Image.Resampling.BICUBIC).save(stream, "JPEG", quality=quality)
        target = folder / str(number % 10) / f"{number:05}.jpg"
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(stream.getvalue())


def decode(f: Any, t: Any, files: Any) -> Any:
    return f.decoders.image(files, output_type=t.RGB)


def val(f: Any, t: Any, files: Any) -> Any:
    images = f.resize(f.decoders.image(files, output_type=t.RGB), resize_shorter=256)
    return f.crop_mirror_normalize(
        images, crop=(224, 224), mean=MEAN, std=STD, dtype=t.FLOAT, output_layout="CHW"
    )


def augmented(f: Any, t: Any, files: Any) -> Any:
    images = f.resize(f.decoders.image(files, output_type=t.RGB), size=(224, 224))
    light = f.random.uniform(range=[0.8, 1.2])
    contrast = f.random.uniform(range=[0.8, 1.2])
    images = f.brightness_contrast(images, brightness=light, contrast=contrast)
    return f.crop_mirror_normalize(
        images, mirror=f.random.coin_flip(), mean=MEAN, std=STD, dtype=t.FLOAT, output_layout="CHW"
    )


RECIPES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "decode": decode,
    "val: resize 256, crop 224, normalise": val,
    "resize 224, brightness, mirror, normalise": augmented,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=1000)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        make_data(Path(folder), options.images)
        batches = options.images // options.batch_size
        for name, recipe in RECIPES.items():
            pipes = build(recipe, folder, options)
            for pipe in pipes:
                for _ in range(batches):
                    pipe.run()

            def rate(pipe: Any) -> float:
                started = time.perf_counter()
                for _ in range(batches):
                    pipe.run()
                return batches * options.batch_size / (time.perf_counter() - started)

            ours, theirs = in_turns(
                lambda pipe=pipes[0]: rate(pipe), lambda pipe=pipes[1]: rate(pipe), options.rounds
            )
            rows.append(row(name, ours, theirs, "images/s", bigger=True))
            pipes[0].close()
            del pipes
    save("recipes", rows)


def build(recipe: Any, folder: str, options: Any) -> tuple[Any, Any]:
    """The recipe as a pipeline of each library."""
    common = {"batch_size": options.batch_size, "num_threads": options.threads, "seed": 1}

    @gradiva.pipeline_def(**common)
    def mine() -> Any:
        files, labels = fn.readers.file(file_root=folder)
        return recipe(fn, types, files), labels

    @dali_pipeline_def(device_id=None, **common)
    def other() -> Any:
        files, labels = dali_fn.readers.file(file_root=folder)
        return recipe(dali_fn, dali_types, files), labels

    pipes = mine(), other()
    for pipe in pipes:
        pipe.build()
    return pipes


if __name__ == "__main__":
    main()
