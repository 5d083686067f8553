"""What the tests of `on_error` share: damaged files, function bodies, and the ways to run them.

Not a test itself. Each way gives the bits of every value of every batch of an epoch.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import gradiva
from gradiva import EvalMode, capture, fn, random, readers
from gradiva.capture.compiler.verify import verify_graph
from tests.capture.loop.loops import bits

__all__ = [
    "BODIES", "COUNT", "DAMAGE", "MIXED", "MODES", "as_pipeline", "augment", "compiled", "deferred",
    "eager", "looped", "make", "piped", "unfused", "windows",
]  # fmt: skip

COUNT = 12
DAMAGE = ("cut", "zeroed", "text", "empty", "missing", "folder")
"""The last two are what no reader can read; the others fail in the decoder."""


def damage(path: Path, kind: str) -> None:
    if kind == "cut":
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    elif kind == "zeroed":
        path.write_bytes(bytes(path.stat().st_size))
    elif kind == "text":
        path.write_text("this is no picture")
    elif kind == "empty":
        path.write_bytes(b"")
    else:
        path.unlink()
        if kind == "folder":
            path.mkdir()


def make(folder: Path, bad: dict[int, str], count: int = COUNT) -> list[str]:
    """Ragged JPEG and PNG files of noise, some of them damaged."""
    folder.mkdir(parents=True, exist_ok=True)
    noise = np.random.default_rng(1)
    paths = []
    for index in range(count):
        path = folder / f"{index:02d}.{'png' if index % 3 == 1 else 'jpg'}"
        pixels = noise.integers(0, 255, (20 + index, 30 - index, 3), np.uint8)
        Image.fromarray(pixels).save(path)
        if index in bad:
            damage(path, bad[index])
        paths.append(str(path))
    return paths


MIXED = {1: "cut", 2: "zeroed", 4: "text", 7: "missing", 8: "empty", 10: "folder"}


def augment(files: Any, labels: Any, policy: Any = "skip") -> tuple[Any, ...]:
    """Fused: decode, resize, flip, brightness; random values of both kinds behind the decoder."""
    images = gradiva.decoders.image(files, on_error=policy)
    images, labels = gradiva.align(images, labels)
    images = gradiva.resize(images, size=(8, 8))
    images = gradiva.flip(images, horizontal=random.coin_flip(batch_size=images.batch_size))
    images = gradiva.brightness(images, brightness=1.25)
    noise = random.uniform(batch_size=images.batch_size)
    return images, labels + 1, noise, images * noise, random.normal(images)


def unfused(files: Any, labels: Any, policy: Any = "skip") -> tuple[Any, ...]:
    """The decoder's output is wanted itself, so it is in no group; labels are read before."""
    before = labels * 2
    images = gradiva.decoders.image(files, on_error=policy)
    images, labels, before = gradiva.align(images, labels, before)
    return images, labels, before, gradiva.flip(images)


def windows(files: Any, labels: Any, policy: Any = "skip") -> tuple[Any, ...]:
    """Decoders of windows, one after the other: each drops what is left to drop."""
    shapes = gradiva.peek_image_shape(files, on_error=policy)
    corner = gradiva.decoders.image_crop(files, crop=(6, 5), on_error=policy)
    part = gradiva.decoders.image_random_crop(files, on_error=policy)
    rest = gradiva.decoders.image_slice(files, rel_start=(0.25, 0.5), on_error=policy)
    shapes, corner, part, rest, labels = gradiva.align(shapes, corner, part, rest, labels)
    return shapes, corner, gradiva.resize(part, size=(7, 7)), rest, labels


BODIES = [augment, unfused, windows]


def eager(body: Any, paths: list[str], size: int, policy: Any) -> list[Any]:
    random.set_seed(5)
    reader = readers.File(files=paths, random_shuffle=True, on_error=policy)
    return [[bits(out) for out in body(*batch, policy)] for batch in reader.next_epoch(size)]


def as_pipeline(
    body: Any, paths: list[str], size: int, policy: Any, threads: int = 2, **options: Any
) -> gradiva.Pipeline:
    @gradiva.pipeline_def(batch_size=size, num_threads=threads, seed=5, **options)
    def pipeline() -> Any:
        batch = fn.readers.file(files=paths, random_shuffle=True, on_error=policy)
        return body(*batch, policy)

    return pipeline()


def piped(body: Any, paths: list[str], size: int, policy: Any, **options: Any) -> list[Any]:
    pipe = as_pipeline(body, paths, size, policy, **options)
    verify_graph(pipe.graph)
    found = [[bits(out) for out in pipe.run()] for _ in range(len(paths) // size)]
    pipe.close()
    return found


def looped(body: Any, paths: list[str], size: int, policy: Any) -> list[Any]:
    random.set_seed(5)
    reader = readers.File(files=paths, random_shuffle=True, on_error=policy)
    loop = reader.next_epoch(size, capture=True)
    return [[bits(out) for out in body(*batch, policy)] for batch in loop]


def compiled(body: Any, paths: list[str], size: int, policy: Any) -> list[Any]:
    random.set_seed(5)
    reader = readers.File(files=paths, random_shuffle=True, on_error=policy)
    fast = capture.compile(body)
    return [[bits(out) for out in fast(*batch, policy)] for batch in reader.next_epoch(size)]


def deferred(body: Any, paths: list[str], size: int, policy: Any) -> list[Any]:
    random.set_seed(5)
    reader = readers.File(files=paths, random_shuffle=True, on_error=policy)
    found = []
    for batch in reader.next_epoch(size):
        with EvalMode.deferred:
            outputs = body(*batch, policy)
        found.append([bits(out) for out in outputs])
    return found


MODES = [piped, looped, compiled, deferred]
