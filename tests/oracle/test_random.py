"""Random operators against DALI: other values, so distributions, types and shapes.

Both are asked for many values; the same statements must hold for both. Refusals agree, but for two
that are ours: `probability` outside 0..1 (DALI lets it wrap around), and `range` together
with `values` (there, `values` wins silently).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import GradivaError, batch

from .pictures import Array
from .reference import DTYPES, NAMES, REFUSALS, fn, run, theirs

MAKERS: dict[str, Any] = {
    "uniform": gradiva.random.uniform,
    "normal": gradiva.random.normal,
    "coin_flip": gradiva.random.coin_flip,
}


def reference(name: str, batch_size: int = 1, **arguments: Any) -> list[Array]:
    named = {key: theirs(value) for key, value in arguments.items()}
    (made,) = run(lambda: getattr(fn.random, name)(**named), batch_size)
    return made


def ours(name: str, batch_size: int = 1, **arguments: Any) -> list[Array]:
    made = MAKERS[name](batch_size=batch_size, seed=7, **arguments)
    return [made.at(i) for i in range(batch_size)]


def both(name: str, **arguments: Any) -> tuple[Array, Array]:
    """One large sample of each, of one dtype and shape."""
    (mine,), (other,) = ours(name, **arguments), reference(name, **arguments)
    assert mine.dtype == other.dtype
    assert mine.shape == other.shape
    return mine, other


def frequencies(values: Array) -> dict[float, float]:
    found, counts = np.unique(values, return_counts=True)
    return dict(zip(found.tolist(), (counts / values.size).tolist(), strict=True))


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize(
    "shape", [None, [], 5, [3, 4], [0], [2, 0, 3], [1, 1]], ids=lambda shape: f"shape={shape}"
)
def test_shapes(name: str, shape: Any) -> None:
    given = {} if shape is None else {"shape": shape}
    both(name, **given)
    for mine, other in zip(ours(name, 3, **given), reference(name, 3, **given), strict=True):
        assert mine.shape == other.shape


@pytest.mark.parametrize("dtype", NAMES)
@pytest.mark.parametrize("name", MAKERS)
def test_dtypes(name: str, dtype: str) -> None:
    """Ours makes every dtype; where DALI does, shapes and dtypes are the same."""
    arguments: dict[str, Any] = {"shape": 4, "dtype": DTYPES[dtype]}
    try:
        reference(name, **arguments)
    except REFUSALS:
        assert dtype in ("bool", "float16") or name == "coin_flip"
        assert ours(name, **arguments)[0].dtype == DTYPES[dtype].numpy
        return
    both(name, **arguments)


@pytest.mark.parametrize("bounds", [None, [2.0, 3.0], [-5.0, 100.0], [0.0, 1e-6]])
def test_uniform_is_flat_and_half_open(bounds: list[float] | None) -> None:
    arguments = {} if bounds is None else {"range": bounds}
    low, high = bounds or (-1.0, 1.0)
    for values in both("uniform", shape=200_000, **arguments):
        assert values.min() >= np.float32(low)
        assert values.max() < np.float32(high)
        counts, _ = np.histogram(values, 20, (low, high))
        assert abs(counts / 10_000 - 1).max() < 0.05


def test_a_range_of_one_step_gives_only_its_low_end() -> None:
    top = float(np.nextafter(np.float32(1), np.float32(2)))
    for values in both("uniform", range=[1.0, top], shape=10_000):
        assert (values == 1).all()


def test_uniform_integers_are_rounded() -> None:
    """Both ends occur, with half the weight of the others."""
    for values in both("uniform", range=[0.0, 3.0], shape=300_000, dtype=gradiva.uint8):
        found = frequencies(values)
        assert list(found) == [0, 1, 2, 3]
        np.testing.assert_allclose(list(found.values()), [1 / 6, 1 / 3, 1 / 3, 1 / 6], atol=0.005)


@pytest.mark.parametrize(("dtype", "expected"), [("float32", [1, 1.5, 2.5]), ("int32", [1, 2, 3])])
def test_uniform_choice(dtype: str, expected: list[float]) -> None:
    arguments = {"values": [1.0, 1.5, 2.5], "shape": 60_000, "dtype": DTYPES[dtype]}
    for values in both("uniform", **arguments):
        found = frequencies(values)
        assert list(found) == expected
        np.testing.assert_allclose(list(found.values()), 1 / 3, atol=0.01)


@pytest.mark.parametrize("probability", [0.0, 0.3, 0.5, 1.0])
def test_coin(probability: float) -> None:
    for values in both("coin_flip", probability=probability, shape=100_000):
        assert set(np.unique(values)) <= {0, 1}
        assert abs(values.mean() - probability) < 0.01 * (0 < probability < 1) + 1e-9


@pytest.mark.parametrize(("mean", "stddev"), [(0.0, 1.0), (2.0, 3.0), (-7.0, 0.0), (1.0, -2.0)])
def test_normal(mean: float, stddev: float) -> None:
    for values in both("normal", mean=mean, stddev=stddev, shape=200_000):
        assert abs(values.mean() - mean) < 0.03
        assert abs(values.std() - abs(stddev)) < 0.03
        if stddev:
            within = [(np.abs(values - mean) < n * abs(stddev)).mean() for n in (1, 2, 3)]
            np.testing.assert_allclose(within, [0.6827, 0.9545, 0.9973], atol=0.005)


def test_normal_integers_are_rounded_and_saturate() -> None:
    for values in both("normal", mean=2.0, shape=100_000, dtype=gradiva.int32):
        assert abs((values == 2).mean() - 0.383) < 0.01
    for values in both("normal", mean=2.0, shape=100_000, dtype=gradiva.uint8):
        assert abs((values == 0).mean() - 0.0668) < 0.004


@pytest.mark.parametrize("name", MAKERS)
def test_the_shape_of_an_input(name: str) -> None:
    """Its dtype and layout are not taken."""
    like = batch([np.zeros((3, 4), np.int16), np.zeros((2, 5), np.int16)], layout="HW")

    def build() -> Any:
        source = fn.external_source(
            source=lambda: [like.at(0), like.at(1)], batch=True, layout="HW"
        )
        return getattr(fn.random, name)(source)

    (made,) = run(build, 2)
    drawn = MAKERS[name](like)
    assert drawn.shape == [sample.shape for sample in made]
    assert drawn.dtype.numpy == made[0].dtype
    assert drawn.layout == made.layout == ""


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("uniform", {"range": [5.0, 5.0]}),
        ("uniform", {"range": [5.0, 2.0]}),
        ("uniform", {"range": [1.0]}),
        ("uniform", {"range": [1.0, 2.0, 3.0]}),
        ("uniform", {"range": [float("nan"), 1.0]}),
        ("uniform", {"shape": [-1]}),
        ("normal", {"shape": -1}),
        ("coin_flip", {"shape": [2, -1]}),
    ],
)
def test_refused_by_both(name: str, arguments: dict[str, Any]) -> None:
    with pytest.raises(REFUSALS):
        reference(name, **arguments)
    with pytest.raises(GradivaError):
        ours(name, **arguments)


@pytest.mark.parametrize("probability", [1.1, -0.1, float("nan")])
def test_probabilities_that_only_ours_refuses(probability: float) -> None:
    reference("coin_flip", probability=probability)
    with pytest.raises(GradivaError, match="`probability`"):
        ours("coin_flip", probability=probability)


def test_range_and_values_exclude_each_other_in_ours() -> None:
    (made,) = reference("uniform", values=[5.0, 6.0], range=[0.0, 1.0], shape=100)
    assert set(made.tolist()) == {5, 6}
    with pytest.raises(GradivaError):
        ours("uniform", values=[5.0, 6.0], range=[0.0, 1.0], shape=100)


@pytest.mark.parametrize("name", MAKERS)
def test_seeds(name: str) -> None:
    """One seed gives the same values twice; the samples of a batch differ."""
    for make in (ours, reference):
        one, two = (make(name, 2, shape=1000) for _ in range(2))
        np.testing.assert_array_equal(one[0], two[0])
        assert (one[0] != one[1]).any()
