"""Random operators with drawn arguments against DALI: their distributions.

Values differ, so both sides draw MANY values, and their distribution functions may be no further
apart than those of two samples of one distribution are once in a million times.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gradiva
from gradiva import Batch, batch
from gradiva.eager.operators.operator import operators

from .drawing import f32, some
from .flavors import pil
from .pictures import Array, part
from .reference import DTYPES, feed, fn, reference, run, theirs

MANY = 3000
LIMIT = np.sqrt(-np.log(1e-6 / 2) / 2) * np.sqrt(2 / MANY)


def alike(ours: Array, other: Array) -> None:
    """Column by column (Kolmogorov and Smirnov)."""
    assert ours.shape == other.shape
    for column in range(ours.shape[1]):
        one, two = np.sort(ours[:, column]), np.sort(other[:, column])
        every = np.concatenate([one, two])
        below = [np.searchsorted(side, every, "right") / len(side) for side in (one, two)]
        assert abs(below[0] - below[1]).max() < LIMIT, f"column {column}"


def rows(samples: Any) -> Array:
    """A row of numbers per sample."""
    return np.array([np.ravel(np.asarray(one)) for one in samples], np.float64)


class Line(NamedTuple):
    """inputs: what is given to both; columns: of the results, what is compared."""

    arguments: Any
    inputs: Callable[[], list[Any]] = list
    columns: Callable[..., Array] = rows
    outputs: int = 1


def grid() -> list[Any]:
    """Pixels that say where they are."""
    places = np.moveaxis(np.indices((24, 30)), 0, -1).astype(np.float32)
    return [Batch.broadcast(gradiva.tensor(places.copy(), layout="HWC"), MANY)]


def flat_image(value: float, dtype: str) -> Callable[[], list[Any]]:
    return lambda: [batch([np.full((MANY, 1, 1), value, dtype)], layout="HWC")]


def pixels(samples: Any) -> Array:
    """Each pixel of one sample is a row."""
    return np.asarray(next(iter(samples)), np.float64).reshape(MANY, -1)


def corners(samples: Any) -> Array:
    """The places of the first and the last pixel, in the middle of each sample."""
    return np.array([np.concatenate([one[3, 3], one[-4, -4]]) for one in map(np.asarray, samples)])


def sizes(samples: Any) -> Array:
    return np.array([np.asarray(one).shape[:2] for one in samples], np.float64)


def joined(*outputs: Any) -> Array:
    return np.concatenate([rows(output) for output in outputs], axis=1)


def mask() -> list[Any]:
    labels = np.zeros((6, 7), np.int32)
    labels[1:3, 2:4], labels[4, 5], labels[5, 6], labels[0, 0], labels[0, 5] = 3, 1, 1, 1, 2
    return [Batch.broadcast(labels, MANY)]


def picture() -> list[Any]:
    file = np.frombuffer(pil(part("chelsea", 0, 0, 60, 80), "JPEG"), np.uint8)
    return [Batch.broadcast(file, MANY)]


unit, areas = f32(0, 1), st.tuples(f32(0.125, 0.5), f32(0.5, 1))
windows = some(
    random_area=areas,
    random_aspect_ratio=st.tuples(f32(0.25, 1), f32(1, 4)),
    num_attempts=st.integers(1, 20),
)
whole = st.sampled_from([DTYPES["int16"], DTYPES["float32"]])
regions = st.fixed_dictionaries(
    {
        "crop_shape": st.tuples(st.integers(1, 9), st.integers(1, 9)),
        "roi_start": st.tuples(st.integers(0, 5), st.integers(0, 5)),
        "roi_shape": st.tuples(st.integers(1, 6), st.integers(1, 6)),
    }
)
LINES: dict[str, Line] = {
    "random.uniform": Line(
        st.one_of(
            some(range_=st.tuples(f32(-99, 0), f32(1, 300)), dtype=whole),
            some(values_=st.lists(f32(-9, 9), min_size=1, max_size=6)),
        )
    ),
    "random.normal": Line(some(mean=f32(-9, 9), stddev=f32(0, 30), dtype=whole)),
    "random.coin_flip": Line(some(probability=unit)),
    "random.beta": Line(some(alpha=f32(0.125, 30), beta=f32(0.125, 30))),
    "random_crop_generator": Line(
        windows, lambda: [Batch.broadcast(np.array([375, 500], np.int64), MANY)], joined, 2
    ),
    "random_resized_crop": Line(
        windows.map(lambda given: {"size": (24, 30), **given}), grid, corners
    ),
    "decoders.image_random_crop": Line(windows, picture, sizes),
    "roi_random_crop": Line(regions),
    "segmentation.random_mask_pixel": Line(
        some(foreground=st.integers(0, 1), threshold=st.integers(0, 3)), mask
    ),
    "segmentation.random_object_bbox": Line(
        some(
            foreground_prob=unit,
            k_largest=st.integers(1, 3),
            threshold=st.sampled_from([[1, 1], [2, 2]]),
        ).map(lambda given: {"ignore_class": True, "format": "box", **given}),
        mask,
    ),
    "noise.gaussian": Line(
        some(mean=f32(-9, 9), stddev=f32(0, 30)), flat_image(90, "float32"), pixels
    ),
    "noise.salt_and_pepper": Line(
        some(prob=unit, salt_vs_pepper=unit), flat_image(9, "uint8"), pixels
    ),
    "noise.shot": Line(some(factor=f32(0.5, 50)), flat_image(70, "float32"), pixels),
}


@pytest.mark.parametrize("name", LINES)
@settings(max_examples=6, derandomize=True, deadline=None)
@given(data=st.data())
def test_drawn(name: str, data: st.DataObject) -> None:
    line, inputs = LINES[name], LINES[name].inputs()
    arguments = data.draw(line.arguments)
    operator: Any = operators[name]
    more = {} if inputs else {"batch_size": MANY}
    ours = operator(*inputs, seed=data.draw(st.integers(0, 99)), **more, **arguments)
    if inputs:
        other = reference(name, inputs, outputs=line.outputs, **arguments)
    else:
        named = {key: theirs(value) for key, value in arguments.items()}
        function = partial(getattr(fn.random, name[7:]) if "." in name else fn.roi_random_crop)
        (other,) = run(lambda: function(**named), MANY)
    if line.outputs == 1:
        ours, other = (ours,), (other,)
    for mine, theirs_ in zip(ours, other, strict=True):
        assert mine.dtype.numpy == theirs_[0].dtype
        assert mine.layout == theirs_.layout
    alike(line.columns(*ours), line.columns(*other))


@settings(max_examples=6, derandomize=True, deadline=None)
@given(
    elements=st.lists(st.integers(-99, 99), min_size=1, max_size=6),
    weights=st.lists(st.integers(0, 9), min_size=6, max_size=6),
    shape=st.sampled_from([[], [1], [2, 2]]),
)
def test_choice(elements: list[int], weights: list[int], shape: list[int]) -> None:
    given_elements = np.array(elements, np.int32)
    more: dict[str, Any] = {"shape": shape}
    if sum(weights[: len(elements)]):
        p = np.array(weights[: len(elements)]) / sum(weights[: len(elements)])
        more["p"] = p.tolist()
    ours = gradiva.random.choice(given_elements, batch_size=MANY, seed=1, **more)
    (other,) = run(lambda: fn.random.choice(feed([given_elements] * MANY), **more), MANY)
    assert ours.dtype.numpy == other[0].dtype
    alike(rows(ours), rows(other))


@settings(max_examples=10, derandomize=True, deadline=None)
@given(count=st.integers(2, 40), repeated=st.booleans(), fixed=st.booleans())
def test_permutations(count: int, repeated: bool, fixed: bool) -> None:
    """Both keep what the arguments promise."""
    arguments: dict[str, Any] = {"allow_repetitions": repeated, "no_fixed_points": not fixed}
    ours = gradiva.batch_permutation(batch_size=count, seed=1, **arguments)
    (other,) = run(lambda: fn.batch_permutation(**arguments), count)
    assert ours.dtype.numpy == other[0].dtype
    for side in (ours, other):
        numbers = rows(side)[:, 0]
        assert set(numbers) <= set(range(count))
        assert repeated or len(set(numbers)) == count
        assert fixed or (numbers != np.arange(count)).all()
