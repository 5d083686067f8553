"""Noise against DALI: other values, so the same statements for both."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import GradivaError, batch

from .pictures import Array
from .reference import NAMES, REFUSALS
from .reference import reference as ask

SHAPE = (300, 200, 3)


def both(name: str, image: Array, layout: str = "HWC", **arguments: Any) -> tuple[Array, Array]:
    """One sample of ours and of DALI's."""
    operator: Any = getattr(gradiva.noise, name)
    ours = operator(batch([image], layout=layout), seed=7, **arguments)
    theirs = ask(f"noise.{name}", [[image]], layout=layout, **arguments)
    assert ours.layout == theirs.layout == layout
    mine, other = ours.at(0), theirs[0]
    assert mine.dtype == other.dtype == image.dtype
    assert mine.shape == other.shape == image.shape
    return mine, other


@pytest.mark.parametrize("dtype", NAMES)
@pytest.mark.parametrize("name", ["gaussian", "salt_and_pepper", "shot"])
def test_dtypes(name: str, dtype: str) -> None:
    """What DALI takes, ours does; float16 and float64 too."""
    image = np.ones((4, 5, 3), dtype)
    if dtype in ("bool", "float16", "float64"):
        with pytest.raises(REFUSALS):
            ask(f"noise.{name}", [[image]], layout="HWC")
        if dtype == "bool":
            with pytest.raises(GradivaError, match="bool"):
                getattr(gradiva.noise, name)(image)
        else:
            assert np.asarray(getattr(gradiva.noise, name)(image)).dtype == image.dtype
        return
    both(name, image)


@pytest.mark.parametrize(("mean", "stddev"), [(0.0, 1.0), (-7.0, 20.0), (2.0, -3.0), (0.5, 0.0)])
def test_gaussian(mean: float, stddev: float) -> None:
    image = np.full(SHAPE, 100, np.float32)
    for values in both("gaussian", image, mean=mean, stddev=stddev):
        noise = values.astype(np.float64) - 100
        assert abs(noise.mean() - mean) < 0.01 * abs(stddev) + 1e-6
        assert abs(noise.std() - abs(stddev)) < 0.01 * abs(stddev) + 1e-6
        if stddev:
            within = [(np.abs(noise - mean) < n * abs(stddev)).mean() for n in (1, 2, 3)]
            np.testing.assert_allclose(within, [0.6827, 0.9545, 0.9973], atol=0.005)


def test_gaussian_rounds_and_saturates() -> None:
    """Half away from zero; exactly the same where nothing is random."""
    for dtype in ("uint8", "int8", "int16", "uint32", "int32", "uint64", "int64"):
        limits = np.iinfo(dtype)
        image = np.array([limits.min, 0, 1, 2, 100, limits.max], dtype)
        for mean in (0.5, -0.5, 1.25, -3.5):
            ours, theirs = both("gaussian", image, layout="", mean=mean, stddev=0.0)
            np.testing.assert_array_equal(ours, theirs)
    for values in both("gaussian", np.full(SHAPE, 250, np.uint8), stddev=5.0):
        assert abs((values == 255).mean() - 0.1841) < 0.01


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32"])
@pytest.mark.parametrize(("prob", "salt"), [(0.0, 0.5), (0.3, 0.25), (1.0, 0.5), (1.0, 1.0)])
def test_salt_and_pepper(dtype: str, prob: float, salt: float) -> None:
    image = np.full(SHAPE, 7, dtype)
    high = 1 if dtype == "float32" else np.iinfo(dtype).max
    low = -1 if dtype == "float32" else np.iinfo(dtype).min
    for values in both("salt_and_pepper", image, prob=prob, salt_vs_pepper=salt):
        shares = [(values == one).mean() for one in (high, low, 7)]
        np.testing.assert_allclose(shares, [prob * salt, prob * (1 - salt), 1 - prob], atol=0.01)
        assert (values == values[..., :1]).all()


@pytest.mark.parametrize("layout", ["HWC", "CHW", "FHWC", "CFHW", "", "XYZ", "HW", "FCHW"])
@pytest.mark.parametrize("per_channel", [False, True])
def test_channels(layout: str, per_channel: bool) -> None:
    """Channels are changed alike, or each for itself. DALI refuses layouts with C between
    other axes, and without C, unless `per_channel`."""
    image = np.full([3 if one == "C" else 20 for one in layout or "XYC"], 7, np.uint8)
    arguments: dict[str, Any] = {"prob": 0.5, "per_channel": per_channel}
    if layout in ("XYZ", "HW", "FCHW") and not per_channel:
        with pytest.raises(REFUSALS):
            ask("noise.salt_and_pepper", [[image]], layout=layout, **arguments)
        samples = batch([image], layout=layout)
        made: tuple[Array, ...] = (gradiva.noise.salt_and_pepper(samples, prob=0.5, seed=3).at(0),)
    else:
        made = both("salt_and_pepper", image, layout=layout, **arguments)
    axis = (layout or "XYC").find("C")
    for values in made:
        assert 0.4 < (values != 7).mean() < 0.6
        if axis >= 0:
            assert (values == np.take(values, [0], axis)).all() != per_channel


def test_values_of_salt_and_pepper() -> None:
    """Fractions are dropped; what saturates here, wraps around there."""
    image = np.full((40, 40, 3), 7, np.uint8)
    for values in both("salt_and_pepper", image, prob=1.0, salt_val=10.7, pepper_val=2.5):
        assert set(np.unique(values)) == {2, 10}
    ours, theirs = both("salt_and_pepper", image, prob=1.0, salt_val=300.0, pepper_val=-5.0)
    assert set(np.unique(ours)) == {0, 255}
    assert set(np.unique(theirs)) == {44, 251}


@pytest.mark.parametrize("factor", [None, 20.0, 0.3, 2.5, 50.0])
@pytest.mark.parametrize("dtype", ["uint16", "float32"])
def test_shot(dtype: str, factor: float | None) -> None:
    """Mean, variance and the values that occur. `factor` is 12 if it is not given."""
    given: dict[str, Any] = {} if factor is None else {"factor": factor}
    step = 12.0 if factor is None else factor
    if dtype == "uint16" and step % 1:
        return  # roundings would shift the mean
    for expected in (3, 100, 5000):
        image = np.full(SHAPE, expected, dtype)
        found = []
        for values in both("shot", image, **given):
            error = np.sqrt(expected * step / image.size)
            assert abs(values.mean(dtype=np.float64) - expected) < 5 * error + 0.01
            variance = values.var(dtype=np.float64)
            kurtosis = 2 + step / expected
            assert abs(variance / (expected * step) - 1) < 5 * np.sqrt(kurtosis / image.size) + 0.01
            if step == 20.0:
                assert (values % 20 == 0).all()
            found.append(np.quantile(values, [0.01, 0.1, 0.5, 0.9, 0.99]))
        np.testing.assert_allclose(found[0], found[1], atol=step + 0.04 * np.sqrt(expected * step))


def test_shot_of_nothing() -> None:
    """Exactly the same where nothing is random; NaN counts nothing."""
    for image in (np.array([-100, 0, -1], np.int16), np.array([-1, 0, -np.inf, np.nan], "f4")):
        ours, theirs = both("shot", image, layout="", factor=2.0)
        np.testing.assert_array_equal(ours, theirs)


def test_shot_without_a_factor() -> None:
    """As documented there; in fact DALI gives zeros."""
    ours, theirs = both("shot", np.arange(60, dtype=np.uint8).reshape(4, 5, 3), factor=0.0)
    np.testing.assert_array_equal(ours, np.arange(60).reshape(4, 5, 3))
    assert not theirs.any()


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("salt_and_pepper", {"prob": 1.5}),
        ("salt_and_pepper", {"prob": -0.1}),
        ("salt_and_pepper", {"prob": float("nan")}),
        ("salt_and_pepper", {"salt_vs_pepper": 2.0}),
    ],
)
def test_refused_by_both(name: str, arguments: dict[str, Any]) -> None:
    image = np.ones((4, 5, 3), np.uint8)
    with pytest.raises(REFUSALS):
        ask(f"noise.{name}", [[image]], layout="HWC", **arguments)
    with pytest.raises(GradivaError):
        getattr(gradiva.noise, name)(image, **arguments)
