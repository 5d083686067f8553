"""What random programs are called with: batches of small images and of files, ragged and empty."""

from __future__ import annotations

import io
import random
from typing import Any

import numpy as np
import PIL.Image

import gradiva

__all__ = ["draw_turns"]


def draw_turns(draw: random.Random) -> tuple[list[tuple[gradiva.Batch, ...]], list[int]]:
    """The inputs: one or two batches of images or of files, a number and a flag per sample; and
    which of them are files."""
    kinds = [_kind(draw) for _ in range(draw.choice((1, 1, 1, 2)))]
    single, empty = draw.random() < 0.15, draw.random() < 0.06
    turns = []
    for turn in range(draw.choice((2, 3))):
        size = 1 if single else draw.randint(2, 4)
        if empty and turn == 1:
            size = 0
        seed = draw.randrange(1 << 30)
        noise = np.random.default_rng(seed)
        batches = [
            _files(draw, size, kind) if isinstance(kind, str) else _images(draw, noise, size, *kind)
            for kind in kinds
        ]
        batches.append(gradiva.as_batch(noise.random(size, np.float32)))
        batches.append(gradiva.as_batch(noise.integers(0, 2, size, np.int32)))
        turns.append(tuple(batches))
    return turns, [place for place, kind in enumerate(kinds) if isinstance(kind, str)]


def _kind(draw: random.Random) -> str | tuple[str, str, int, str]:
    """(layout, dtype, channels, "equal", "ragged" or "tiny" shapes) of images; or which files."""
    if draw.random() < 0.4:
        return draw.choice(("any", "color", "color"))
    layout = draw.choices(("HWC", "CHW", "HW", "FHWC"), (75, 12, 8, 5))[0]
    dtype = draw.choices(("uint8", "int16", "uint16", "float32"), (65, 12, 3, 20))[0]
    shapes = draw.choices(("equal", "ragged", "tiny"), (35, 55, 10))[0]
    return layout, dtype, draw.choices((3, 1, 4), (70, 15, 15))[0], shapes


def _encoded(height: int, width: int, mode: str, format: str, **options: Any) -> Any:
    noise = np.random.default_rng(height * 100 + width)
    smooth = np.add.outer(np.arange(height) * 9, np.arange(width) * 7)[..., None]
    pixels = (smooth + noise.integers(0, 60, (height, width, 3))).clip(0, 255).astype(np.uint8)
    stream = io.BytesIO()
    PIL.Image.fromarray(pixels).convert(mode).save(stream, format, **options)
    return np.frombuffer(stream.getvalue(), np.uint8)


_SIZES = ((9, 12), (13, 7), (8, 8), (16, 17), (5, 11))
_FILES = {
    "color": [
        *[_encoded(*size, "RGB", "JPEG", quality=90) for size in _SIZES],
        *[_encoded(*size, "RGB", "PNG") for size in _SIZES],
        _encoded(14, 10, "RGB", "JPEG", progressive=True),
        _encoded(10, 14, "RGB", "JPEG", subsampling=0),
    ],
    "any": [
        _encoded(1, 1, "RGB", "PNG"),
        _encoded(1, 9, "RGB", "JPEG"),
        _encoded(11, 6, "L", "JPEG"),
        _encoded(7, 9, "L", "PNG"),
        _encoded(6, 6, "RGBA", "PNG"),
        _encoded(6, 7, "P", "PNG"),
    ],
}
_FILES["any"] += _FILES["color"][:4]


def _files(draw: random.Random, size: int, kind: str) -> gradiva.Batch:
    """Files of small pictures."""
    files = [draw.choice(_FILES[kind]) for _ in range(size)]
    made: gradiva.Batch = gradiva.as_batch(files or np.empty((0, 1), np.uint8))
    return made


def _images(
    draw: random.Random, noise: Any, size: int, layout: str, dtype: str, channels: int, shapes: str
) -> gradiva.Batch:
    """tiny: a few pixels, one, or none at all."""

    def extents_of() -> dict[str, int]:
        if shapes == "tiny":
            return {"H": draw.choice((0, 1, 1, 2, 3)), "W": draw.choice((1, 1, 2, 3))}
        return {"H": draw.randint(5, 14), "W": draw.randint(5, 14)}

    shared = extents_of()
    arrays = []
    for _ in range(size):
        extents = shared if shapes == "equal" else extents_of()
        shape = [{"C": channels, "F": 2, **extents}[letter] for letter in layout]
        if dtype == "float32":
            arrays.append(noise.random(shape, np.float32) * np.float32(draw.choice((1, 255))))
        else:
            limits = np.iinfo(dtype)
            values = noise.integers(limits.min, limits.max, shape, endpoint=True)
            arrays.append(values.astype(dtype))
    if not arrays:
        empty: gradiva.Batch = gradiva.as_batch(
            np.empty((0, *([1] * len(layout))), dtype), layout=layout
        )
        return empty
    made: gradiva.Batch = gradiva.as_batch(arrays, layout=layout)
    return made
