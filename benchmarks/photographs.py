"""The data set of the benchmarks: the package's photographs cut to ImageNet-like sizes."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import PIL.Image

import gradiva

__all__ = ["encoded_photographs", "make_data"]


def encoded_photographs(count: int) -> Iterator[bytes]:
    """`count` JPEG files of quality 85 to 95 whose shorter side has 280 to 520 pixels."""
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
        yield stream.getvalue()


def make_data(folder: Path, count: int) -> None:
    """Write them to ten folders."""
    for number, data in enumerate(encoded_photographs(count)):
        target = folder / str(number % 10) / f"{number:05}.jpg"
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(data)
