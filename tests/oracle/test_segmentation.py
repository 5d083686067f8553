"""Masks, regions, choices, beta and files against DALI: distributions and refusals."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import Batch, GradivaError, batch

from .pictures import Array
from .reference import DTYPES, REFUSALS, assert_close, feed, fn, reference, run, theirs

MANY = 2000


def alike(ours: Any, theirs: Any) -> None:
    """Both drew the same values about as often."""
    sides = [[tuple(np.ravel(np.asarray(row)).tolist()) for row in side] for side in (ours, theirs)]
    found = set(sides[0]) | set(sides[1])
    assert len(found) < 60
    for value in found:
        one, other = (side.count(value) / len(side) for side in sides)
        assert abs(one - other) < 0.06, (value, one, other)


def mask() -> Array:
    labels = np.zeros((6, 7), np.int32)
    labels[1:3, 2:4], labels[4, 5], labels[5, 6], labels[0, 0], labels[0, 5] = 3, 1, 1, 1, 2
    return labels


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"ignore_class": True},
        {"ignore_class": True, "k_largest": 2},
        {"classes": [1, 3]},
        {"foreground_prob": 0.3},
        {"classes": [1, 3, 9], "class_weights": [1.0, 3.0, 9.0]},
        {"class_weights": [1.0, 1.0], "background": 1},
        {"classes": [1, 1, 3]},
        {"class_weights": [1.0, 0.0, 5.0]},
        {"threshold": [2, 2]},
        {"background": 3},
        {"threshold": [9]},
        {"classes": [0, 1], "foreground_prob": 0.5},
        {"classes": [7]},
        {"class_weights": [1.0, 1.0], "background": 2},
    ],
)
def test_objects(arguments: dict[str, Any]) -> None:
    """Boxes and labels, as rows, as often as DALI draws them."""
    given = Batch.broadcast(mask(), MANY)
    named = {"format": "box", "output_class": "ignore_class" not in arguments, **arguments}
    outputs = 2 if named["output_class"] else 1
    ours = gradiva.segmentation.random_object_bbox(given, seed=5, **named)
    expected = reference("segmentation.random_object_bbox", [given], outputs=outputs, **named)
    if outputs == 1:
        alike(ours, expected)
    else:
        rows = [
            [
                np.append(np.asarray(box), np.asarray(label))
                for box, label in zip(*side, strict=True)
            ]
            for side in (ours, expected)
        ]
        alike(*rows)


@pytest.mark.parametrize("shape", [(40,), (9, 17), (1, 30), (3, 4, 5), (2, 3, 2, 3)])
def test_components(shape: tuple[int, ...]) -> None:
    """The largest box of noise; SciPy's labels would be the same: pixels touch along axes."""
    generator = np.random.default_rng(len(shape))
    given = batch([generator.integers(0, 3, shape).astype(np.uint8) for _ in range(12)])
    found = gradiva.segmentation.random_object_bbox(given, ignore_class=True, format="box", seed=1)
    boxes: set[Any] = set()
    for seed in range(3):
        (expected,) = run(
            lambda: fn.segmentation.random_object_bbox(
                feed([given.at(0)] * 600), ignore_class=True, format="box"
            ),
            600,
            seed=seed,
        )
        boxes |= {tuple(box.tolist()) for box in expected}
    ours = gradiva.segmentation.random_object_bbox(
        Batch.broadcast(given.at(0), 1800), ignore_class=True, format="box", seed=2
    )
    assert {tuple(np.asarray(box).tolist()) for box in ours} == boxes
    assert len(found) == 12


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"foreground": 1},
        {"foreground": 1, "threshold": 2.0},
        {"foreground": 1, "value": 1},
        {"foreground": 1, "value": 300},
    ],
)
def test_pixels(arguments: dict[str, Any]) -> None:
    given = Batch.broadcast(mask()[:5, :6].astype(np.uint8), MANY)
    ours = gradiva.segmentation.random_mask_pixel(given, seed=2, **arguments)
    alike(ours, reference("segmentation.random_mask_pixel", [given], **arguments))


@pytest.mark.parametrize("renumber", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "int16", "float64", "uint8"])
def test_masks(renumber: bool, dtype: str) -> None:
    """Of masks with one polygon each; DALI loses all but the last of several."""
    generator = np.random.default_rng(3)
    ends = np.cumsum(generator.integers(3, 9, 5)).astype(np.int32)
    starts = np.concatenate([[0], ends[:-1]])
    polygons = np.stack([generator.permutation(5), starts, ends], axis=1).astype(np.int32)
    points = (generator.random((ends[-1], 2)) * 100).astype(DTYPES[dtype].numpy)
    inputs = [batch([np.array([4, 0, 2], np.int32)]), batch([polygons]), batch([points])]
    select: Any = gradiva.segmentation.select_masks
    ours = select(*inputs, reindex_masks=renumber)
    expected = reference("segmentation.select_masks", inputs, outputs=2, reindex_masks=renumber)
    for mine, other in zip(ours, expected, strict=True):
        assert_close(mine, other)


@pytest.mark.parametrize(
    "arguments",
    [
        {"crop_shape": [3, 4], "roi_start": [1, 2], "roi_end": [5, 8]},
        {"crop_shape": [6, 5], "roi_start": [1, 2], "roi_shape": [3, 4]},
        {"crop_shape": [6, 5], "roi_start": [1, 2], "roi_shape": [3, 4], "in_shape": [7, 8]},
    ],
)
def test_regions(arguments: dict[str, Any]) -> None:
    (expected,) = run(lambda: fn.roi_random_crop(**arguments), MANY)
    alike(gradiva.roi_random_crop(batch_size=MANY, seed=1, **arguments), expected)


@pytest.mark.parametrize("p", [None, [0.1, 0.2, 0.0, 0.3, 0.4]])
@pytest.mark.parametrize("of", [5, [1.5, 2.5, 3.5, 4.5, 5.5]])
def test_choice(of: Any, p: Any) -> None:
    elements: Any = np.array(of, np.int32 if of == 5 else np.float32)
    arguments = {} if p is None else {"p": p}
    (expected,) = run(
        lambda: fn.random.choice(5 if of == 5 else feed([elements] * MANY), **arguments), MANY
    )
    ours = gradiva.random.choice(elements, batch_size=MANY, seed=1, **arguments)
    assert ours.dtype.numpy == expected[0].dtype
    alike(ours, expected)


@pytest.mark.parametrize("shape", [None, [], [3], [2, 0], [2, 3]])
@pytest.mark.parametrize("a", [(4,), (4, 3), (1, 2, 5)])
def test_shapes_of_choices(a: tuple[int, ...], shape: Any) -> None:
    rows = np.arange(np.prod(a), dtype=np.int16).reshape(a)
    layout = "HWC"[: len(a)]
    named = {} if shape is None else {"shape": shape}
    (expected,) = run(lambda: fn.random.choice(feed([rows] * 2, layout), **named), 2)
    ours = gradiva.random.choice(batch([rows] * 2, layout=layout), **named)
    assert ours.shape == [one.shape for one in expected]
    assert ours.layout == expected.layout
    assert ours.dtype.numpy == expected[0].dtype


@pytest.mark.parametrize(
    "make",
    [
        lambda random: random.choice(0),
        lambda random: random.choice(3, p=[0.5, 0.5]),
        lambda random: random.choice(2, p=[0.5, 0.6]),
        lambda random: random.choice(2, p=[-1.0, 2]),
        lambda random: random.beta(alpha=0.0),
        lambda random: random.beta(beta=float("inf")),
        lambda random: random.beta(dtype=theirs(DTYPES["int32"])),
    ],
)
def test_refused_by_both(make: Callable[[Any], Any]) -> None:
    with pytest.raises(REFUSALS):
        run(lambda: make(fn.random), 2)
    with pytest.raises((GradivaError, TypeError)):
        make(gradiva.random)


@pytest.mark.parametrize(
    ("alpha", "beta"), [(1.0, 1.0), (0.5, 3.0), (0.05, 0.1), (30.0, 2.0), (1e5, 1e5)]
)
def test_beta(alpha: float, beta: float) -> None:
    """Distribution functions are no further apart than those of 20000 values are by chance."""
    (expected,) = run(lambda: fn.random.beta(alpha=alpha, beta=beta, shape=[20000]), 1)
    ours = np.sort(np.asarray(gradiva.random.beta(alpha=alpha, beta=beta, shape=20000, seed=3)))
    other = np.sort(expected[0])
    assert ours.dtype == other.dtype
    merged = np.concatenate([ours, other])
    sides = [np.searchsorted(side, merged, "right") / 20000 for side in (ours, other)]
    assert abs(sides[0] - sides[1]).max() < 0.02
    assert abs(ours.mean() - alpha / (alpha + beta)) < 0.01


def npy(array: Array) -> Array:
    stream = io.BytesIO()
    np.save(stream, array)
    return np.frombuffer(stream.getvalue(), np.uint8)


@pytest.mark.parametrize("wanted", [None, "uint8", "int8", "float16", "float64", "bool"])
@pytest.mark.parametrize("dtype", list(DTYPES))
def test_arrays_in_files(dtype: str, wanted: str | None) -> None:
    values = np.random.default_rng(1).uniform(-9, 300, (3, 4))
    files = batch(
        [
            npy(values.astype(np.int64).astype(DTYPES[dtype].numpy)),
            npy(np.arange(6).reshape(2, 3).astype(DTYPES[dtype].numpy)),
        ]
    )
    named: dict[str, Any] = {} if wanted is None else {"dtype": DTYPES[wanted]}
    assert_close(
        gradiva.decoders.numpy(files, **named), reference("decoders.numpy", [files], **named)
    )


def test_files(tmp_path: Path) -> None:
    paths = []
    for name in ("a", "with blanks", "größe"):
        path = tmp_path / name
        path.write_bytes(name.encode() * 100)
        paths.append(np.frombuffer(str(path).encode(), np.uint8))
    given = batch(paths)
    assert_close(gradiva.io.file.read(given), reference("io.file.read", [given]))
    gone = batch([np.frombuffer(b"/no/such/file", np.uint8)])
    with pytest.raises(REFUSALS):
        reference("io.file.read", [gone])
    with pytest.raises(GradivaError, match="/no/such/file"):
        gradiva.io.file.read(gone)
