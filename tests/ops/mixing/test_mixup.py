"""`mixup` and `cutmix`: values by formulas, labels of all kinds, and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import as_batch, batch

FLOATS = {
    np.float32: np.float32,
    np.float16: np.float32,
    np.float64: np.float64,
    np.uint8: np.float32,
    np.int16: np.float32,
    np.int64: np.float64,
}


def numbered(count: int) -> gradiva.Batch:
    """Images of one pixel, whose value is their number."""
    return as_batch(np.arange(count, dtype=np.float32).reshape(count, 1, 1, 1), layout="HWC")


def partners(count: int, **options: Any) -> np.ndarray[Any, Any]:
    """The partners that a call with these options chooses."""
    mixed = gradiva.mixup(numbered(count), lam=0.0, **options)
    found: np.ndarray[Any, Any] = mixed.as_array().reshape(-1).astype(np.int64)
    return found


@pytest.mark.parametrize("count", [1, 2, 3, 17, 64, 100])
def test_partners(count: int) -> None:
    """Each sample of a group is the partner of one other, and nobody is its own."""
    found = partners(count, seed=5, mix_group=16)
    groups = np.arange(count) // 16
    assert sorted(found) == list(range(count))
    np.testing.assert_array_equal(found // 16, groups)
    alone = np.bincount(groups)[groups] == 1
    np.testing.assert_array_equal(found == np.arange(count), alone)


@pytest.mark.parametrize("dtype", FLOATS)
def test_mixup(dtype: Any) -> None:
    """lam * x + (1 - lam) * partner, in float32 where that holds the values."""
    generator = np.random.default_rng(1)
    images = generator.integers(0, 256, (8, 5, 7, 3)).astype(dtype)
    lams = generator.uniform(0, 1, 8).astype(np.float32)
    others = partners(8, seed=3)
    made = gradiva.mixup(as_batch(images), lam=lams, seed=3).as_array()
    assert made.dtype == dtype
    wide = FLOATS[dtype]
    shares = lams.astype(wide).reshape(8, 1, 1, 1)
    expected = images.astype(wide) * shares + images[others].astype(wide) * (1 - shares)
    if np.dtype(dtype).kind in "iu":
        expected = np.floor(expected + wide(0.5))
    np.testing.assert_array_equal(made, expected.astype(dtype))


@pytest.mark.parametrize("mix", [gradiva.mixup, gradiva.cutmix])
def test_labels(mix: Any) -> None:
    """Class numbers, vectors of bool and floats: the same result where they say the same."""
    classes = np.array([2, 0, 1, 2, 2], np.int64)
    images = numbered(5)
    options: dict[str, Any] = {"seed": 4, "alpha": 1.0}
    _, soft = mix(images, as_batch(classes), num_classes=4, **options)
    expected = soft.as_array()
    assert expected.dtype == np.float32
    assert expected.shape == (5, 4)
    np.testing.assert_allclose(expected.sum(axis=1), 1, atol=1e-6)
    hot = np.eye(4, dtype=np.float32)[classes]
    forms = {
        "column": as_batch(classes[:, None].astype(np.uint8)),
        "floats": as_batch(hot),
        "bool": as_batch(hot > 0),
        "half": as_batch(hot.astype(np.float16)),
        "double": as_batch(hot.astype(np.float64)),
    }
    for name, labels in forms.items():
        number = 4 if name in ("column", "bool") else None
        _, soft = mix(images, labels, num_classes=number, **options)
        np.testing.assert_array_equal(soft.as_array(), expected, err_msg=name)


def test_several_classes_and_soft_labels() -> None:
    labels = np.array([[1, 0, 1], [0.25, 0.75, 0], [0, 0, 0]], np.float32)
    others = partners(3, seed=2)
    lam = np.array([0.25, 0.5, 1.0], np.float32)
    _, soft = gradiva.mixup(numbered(3), as_batch(labels), lam=lam, seed=2)
    expected = labels * lam[:, None] + labels[others] * (1 - lam[:, None])
    np.testing.assert_array_equal(soft.as_array(), expected)


def test_a_drawn_share_is_that_of_random_beta() -> None:
    shares = gradiva.random.beta(alpha=0.4, beta=0.4, batch_size=9, seed=8).as_array()
    images = as_batch(np.eye(9, dtype=np.float32))
    mixed = gradiva.mixup(images, alpha=0.4, seed=8).as_array()
    np.testing.assert_array_equal(np.diagonal(mixed), shares)


@pytest.mark.parametrize("layout", ["HWC", "CHW", "HW", "FHWC", "FCHW", "CFHW"])
@pytest.mark.parametrize("dtype", [np.uint8, np.float16, np.float32, np.float64])
def test_cutmix(layout: str, dtype: Any) -> None:
    """The box of the published algorithm, in all frames and channels."""
    generator = np.random.default_rng(1)
    extents = {"H": 9, "W": 14, "C": 3, "F": 2}
    shape = [extents[letter] for letter in layout]
    images = generator.integers(0, 256, (6, *shape)).astype(dtype)
    lams, centers = generator.uniform(0, 1, 6), generator.uniform(0, 1, (6, 2))
    lams, centers = lams.astype(np.float32), centers.astype(np.float32)
    others = partners(6, seed=3)
    classes = as_batch(np.arange(6))
    made, soft = gradiva.cutmix(
        as_batch(images, layout=layout), classes, num_classes=6, lam=lams, center=centers, seed=3
    )
    for sample, image in enumerate(images):
        cy, cx = int(centers[sample, 0] * 9), int(centers[sample, 1] * 14)
        half = 0.5 * np.sqrt(1.0 - float(lams[sample]))
        top, left = max(cy - int(half * 9), 0), max(cx - int(half * 14), 0)
        bottom, right = min(cy + int(half * 9), 9), min(cx + int(half * 14), 14)
        expected = image.copy()
        where: list[Any] = [slice(None)] * len(shape)
        where[layout.index("H")], where[layout.index("W")] = slice(top, bottom), slice(left, right)
        expected[tuple(where)] = images[others[sample]][tuple(where)]
        np.testing.assert_array_equal(np.asarray(made.at(sample)), expected)
        left_over = np.float32(1 - (bottom - top) * (right - left) / (9 * 14))
        row = np.asarray(soft.at(sample))
        assert row[sample] == left_over
        assert row[others[sample]] == np.float32(1) - left_over


def test_cutmix_of_other_sizes() -> None:
    """The box is no larger than the partner, and lies there where it lies here in proportion."""
    small, large = np.zeros((4, 4, 1), np.uint8), np.arange(1, 101, dtype=np.uint8)
    images = batch([small, large.reshape(10, 10, 1)], layout="HWC")
    made, soft = gradiva.cutmix(
        images,
        as_batch(np.array([0, 1], np.int32)),
        num_classes=2,
        lam=0.0,
        center=(0.9, 0.9),
        seed=1,
    )
    # The lower right 3 x 3 pixels of one are the last of the other; of 6 x 6 there only 4 x 4 are.
    expected = small.copy()
    expected[1:, 1:] = large.reshape(10, 10, 1)[7:, 7:]
    np.testing.assert_array_equal(np.asarray(made.at(0)), expected)
    np.testing.assert_array_equal(np.asarray(soft.at(0)), np.array([7 / 16, 9 / 16], np.float32))
    assert (np.asarray(made.at(1)) == 0).sum() == 16


def test_one_sample() -> None:
    """A tensor is its own partner, and stays as it is."""
    image = np.arange(12, dtype=np.uint8).reshape(2, 2, 3)
    made, soft = gradiva.mixup(image, np.int32(1), num_classes=3)
    np.testing.assert_array_equal(np.asarray(made), image)
    np.testing.assert_array_equal(np.asarray(soft), np.array([0, 1, 0], np.float32))


def test_probability() -> None:
    """Per sample; those that are not chosen are exactly as they were, labels too."""
    chances = np.array([0, 1] * 20, np.float32)
    images, classes = numbered(40), as_batch(np.arange(40))
    for mix in (gradiva.mixup, gradiva.cutmix):
        made, soft = mix(images, classes, num_classes=40, lam=0.0, probability=chances, seed=1)
        changed = made.as_array().reshape(-1) != np.arange(40)
        assert not changed[::2].any()
        np.testing.assert_array_equal(soft.as_array()[::2], np.eye(40, dtype=np.float32)[::2])
    made = gradiva.mixup(numbered(4000), lam=0.0, probability=0.3, seed=2)
    part = (made.as_array().reshape(-1) != np.arange(4000)).mean()
    assert abs(part - 0.3) < 4 * np.sqrt(0.3 * 0.7 / 4000)


@pytest.mark.parametrize(
    ("labels", "options", "error", "match"),
    [
        (
            np.array([0, 1, 2, 3], np.int32),
            {"num_classes": 3},
            ValueError,
            "from 0 to 2, got 3.*sample 3",
        ),
        (np.array([0, -1, 2, 3], np.int32), {"num_classes": 4}, ValueError, "sample 1"),
        (np.array([0, 1, 2, 3], np.int32), {}, TypeError, "`num_classes`"),
        (np.array([0, 1, 2, 3], np.int32), {"num_classes": 0}, ValueError, "`num_classes`"),
        (np.array([[0, 1]] * 4, np.int32), {"num_classes": 3}, ValueError, "bool or float32"),
        (np.array([0, 1, 2, 3], np.float32), {}, TypeError, "labels"),
        (np.array([0, 1, 1, 0], np.bool_), {"num_classes": 2}, TypeError, "labels"),
        (
            np.array([[0, 1]] * 4, np.float32),
            {"num_classes": 3},
            ValueError,
            r"`num_classes`.*\(3,\)",
        ),
        (
            np.array([0, 1, 2, 3], np.int32),
            {"num_classes": 4, "alpha": -1.0},
            ValueError,
            "`alpha`",
        ),
        (
            np.array([0, 1, 2, 3], np.int32),
            {"num_classes": 4, "alpha": np.inf},
            ValueError,
            "`alpha`",
        ),
        (np.array([0, 1, 2, 3], np.int32), {"num_classes": 4, "lam": np.nan}, ValueError, "`lam`"),
        (np.array([0, 1, 2], np.int32), {"num_classes": 4}, ValueError, "batch size"),
    ],
)
def test_mistakes(labels: Any, options: dict[str, Any], error: Any, match: str) -> None:
    for mix in (gradiva.mixup, gradiva.cutmix):
        with pytest.raises(error, match=f"(?s){match}"):
            mix(numbered(4), as_batch(labels), **options)


def test_labels_as_an_array_are_those_of_one_sample() -> None:
    """An array is one sample, here the same for all images: an error, which says what to write."""
    with pytest.raises(ValueError, match=r"gradiva\.as_batch"):
        gradiva.mixup(numbered(4), np.array([0, 1, 2, 3], np.int32), num_classes=4)


def test_labels_of_other_lengths() -> None:
    ragged = batch([np.array([1, 0], np.float32), np.array([1, 0, 0], np.float32)])
    with pytest.raises(gradiva.OperatorValueError, match=r"(?s)one length.*sample 1"):
        gradiva.mixup(numbered(2), ragged)


def test_images_of_other_shapes() -> None:
    images = batch([np.zeros((2, 3, 1)), np.zeros((2, 4, 1))], layout="HWC")
    with pytest.raises(gradiva.OperatorValueError, match=r"(?s)\(2, 4, 1\), as sample 1.*sample 0"):
        gradiva.mixup(images)
    # In groups of one nobody is mixed.
    assert gradiva.mixup(images, mix_group=1).shape == [(2, 3, 1), (2, 4, 1)]
