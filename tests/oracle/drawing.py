"""What drawn comparisons are called with: batches of three samples, and values per sample."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from hypothesis import strategies as st

from gradiva import Batch, batch
from gradiva.eager.types.dtypes import ImageType

from .flavors import exif, pil
from .pictures import Array, photograph, ramp, scaled

__all__ = ["COUNT", "SPACES", "arrays", "each", "encoded", "f32", "images", "npy", "some"]

COUNT = 3
"""Samples of each batch."""
SPACES = (ImageType.RGB, ImageType.BGR, ImageType.GRAY, ImageType.YCbCr)


def f32(low: float, high: float) -> Any:
    """A number that float32 holds."""
    return st.floats(low, high, width=32)


def each(strategy: Any, dtype: Any = np.float32) -> Any:
    """A value for all samples, or one for each."""
    rows = st.tuples(*[strategy] * COUNT).map(lambda row: np.array(row, dtype))
    return st.one_of(strategy, rows)


def some(**optional: Any) -> Any:
    """Some of these arguments; those whose names end in "_" are always given, without it."""
    always = {name[:-1]: value for name, value in optional.items() if name.endswith("_")}
    rest = {name: value for name, value in optional.items() if not name.endswith("_")}
    return st.fixed_dictionaries(always, optional=rest)


def _extents(draw: Any, layout: str, channels: int, least: int = 1) -> tuple[int, ...]:
    side = st.one_of(st.just(least), st.integers(least, 45))
    given = {"C": channels, "F": 2, "D": 3, "H": draw(side), "W": draw(side)}
    return tuple(given[letter] for letter in layout)


@st.composite
def images(
    draw: Any,
    dtypes: Any = ("uint8",),
    layouts: Any = ("HWC",),
    channels: Any = (3,),
    least: int = 1,
) -> list[Batch]:
    """One ragged batch: windows of a photograph, or random values; sides from `least` to 45."""
    dtype, layout = draw(st.sampled_from(dtypes)), draw(st.sampled_from(layouts))
    number, picture = draw(st.sampled_from(channels)), draw(st.booleans())
    found = []
    for seed in range(COUNT):
        shape = _extents(draw, layout, number, least)
        if picture and layout == "HWC" and number == 3:
            top, left = draw(st.integers(0, 400)), draw(st.integers(0, 400))
            one = photograph("astronaut")[top : top + shape[0], left : left + shape[1]]
        else:
            one = ramp(*shape, seed=seed + draw(st.integers(0, 999)))
        found.append(scaled(np.ascontiguousarray(one), dtype))
    return [batch(found, layout=layout)]


@st.composite
def arrays(
    draw: Any,
    dtypes: Any,
    ndim: tuple[int, int] = (1, 4),
    shape: Any = None,
    inputs: int = 1,
    layout: bool = False,
) -> list[Batch]:
    """Batches of random bits, all inputs of the same shapes; floats are small whole numbers."""
    rank = draw(st.integers(*ndim))
    shapes = [shape or draw(st.tuples(*[st.integers(1, 6)] * rank)) for _ in range(COUNT)]
    letters = "".join(draw(st.permutations("DHWC"))[:rank]) if layout else ""
    result = []
    for number in range(inputs):
        dtype = np.dtype(draw(st.sampled_from(dtypes)))
        found: list[Array] = []
        for seed in range(COUNT):
            numbers = np.random.default_rng(seed + draw(st.integers(0, 999)))
            if dtype.kind == "f":
                one = np.asarray(numbers.integers(-40, 41, shapes[seed]) / 4).astype(dtype)
            else:
                one = ramp(*shapes[seed], dtype=dtype, seed=seed + 9 * number)
            found.append(one)
        result.append(batch(found, layout=letters))
    return result


@st.composite
def encoded(draw: Any) -> list[Batch]:
    """Files: baseline JPEG of any subsampling, quality and orientation, and PNG."""
    files = []
    for _ in range(COUNT):
        top, left = draw(st.integers(0, 400)), draw(st.integers(0, 400))
        shape = _extents(draw, "HW", 1)
        one = np.ascontiguousarray(
            photograph("astronaut")[top : top + shape[0], left : left + shape[1]]
        )
        if draw(st.booleans()):
            more: dict[str, Any] = {"subsampling": draw(st.integers(0, 2))}
            more["quality"] = draw(st.integers(20, 98))
            more["exif"] = exif(draw(st.integers(1, 8)))
            data = pil(one, "JPEG", **more)
        else:
            data = pil(one, "PNG")
        files.append(np.frombuffer(data, np.uint8))
    return [batch(files)]


@st.composite
def npy(draw: Any, dtypes: Any) -> list[Batch]:
    """Files of arrays, as NumPy writes them."""
    (values,) = draw(arrays(dtypes, (0, 4)))
    files = []
    for index in range(COUNT):
        stream = io.BytesIO()
        np.save(stream, values.at(index))
        files.append(np.frombuffer(stream.getvalue(), np.uint8))
    return [batch(files)]
