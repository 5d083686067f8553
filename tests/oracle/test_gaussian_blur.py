"""gaussian_blur against DALI."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gradiva
from gradiva import batch

from .pictures import Array, pictures
from .reference import DTYPES, NAMES, check, reference

LAYOUTS = (
    "HWC", "CHW", "HW", "FHWC", "FCHW", "CFHW", "FHW", "DHWC", "CDHW", "DHW", "FDHWC", "FCDHW",
    "CFDHW", "FDHW", "W", "FWC", "CW", "HCW", "FDHWCX", "C", "F",
)  # fmt: skip


def noise(name: str, shape: tuple[int, ...]) -> Array:
    generator = np.random.default_rng(5)
    if name == "bool":
        return generator.integers(0, 2, shape).astype(np.bool_)
    if name.startswith("float"):
        return generator.uniform(-1, 1, shape).astype(name)
    limits = np.iinfo(name)
    least, most = max(limits.min, -30000), min(limits.max, 30000)
    return generator.integers(least, most, shape, endpoint=True).astype(name)


# Each pair is a kernel: every dtype with those that are usual, and with one more of its own.
PAIRS = [
    (source, target)
    for number, source in enumerate(NAMES)
    for target in dict.fromkeys((None, "uint8", "float32", NAMES[5 * number % len(NAMES)]))
]


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_dtypes(source: str, target: str | None) -> None:
    if source == "float16":
        return  # see below
    more: dict[str, Any] = {} if target is None else {"dtype": DTYPES[target]}
    image = noise(source, (12, 13, 3))
    check(
        "gaussian_blur", [image], layout="HWC", exact=False, both_may_refuse=True, sigma=1.2, **more
    )


def test_float16() -> None:
    """DALI rounds sums to float16 on the way; ours rounds once, and is nearer."""
    image = noise("float16", (12, 13, 3))
    exact = gradiva.gaussian_blur(batch([image.astype(np.float32)], layout="HWC"), sigma=1.2).at(0)
    ours = gradiva.gaussian_blur(batch([image], layout="HWC"), sigma=1.2).at(0)
    theirs = reference("gaussian_blur", [[image]], layout="HWC", sigma=1.2)[0]
    assert ours.dtype == theirs.dtype == np.float16
    np.testing.assert_array_equal(ours, exact.astype(np.float16))
    np.testing.assert_allclose(theirs.astype(np.float32), exact, rtol=0, atol=2e-3)


@pytest.mark.parametrize("size", [5, 1])
@pytest.mark.parametrize("layout", [*LAYOUTS, "1", "2", "3", "4"])
def test_layouts(layout: str, size: int) -> None:
    """Each layout, and 1 to 4 axes without one; also where there is one pixel along an axis."""
    letters = "" if layout.isdigit() else layout
    count = int(layout) if layout.isdigit() else len(layout)
    shape = tuple(size + k for k in range(count))
    check(
        "gaussian_blur",
        [noise("int16", shape)],
        layout=letters,
        exact=False,
        both_may_refuse=True,
        sigma=0.9,
    )


@pytest.mark.parametrize(
    "arguments",
    [
        {"sigma": [0.5, 1.5, 2.0]},
        {"window_size": [1, 3, 9]},
        {"sigma": 1.0, "window_size": 21},
        {"window_size": [3, 0, 0], "sigma": [0.0, 1.0, 2.0]},
        {"window_size": [3, 5]},
        {"window_size": [0, 3, 3]},
        {"sigma": 1e-30, "window_size": 5},
        {},
    ],
)
def test_volumes(arguments: dict[str, Any]) -> None:
    """Numbers per axis; windows wider than the volume; what both refuse."""
    for name in ("uint8", "float32"):
        check(
            "gaussian_blur",
            [noise(name, (4, 6, 7, 2))],
            layout="DHWC",
            exact=False,
            both_may_refuse=True,
            **arguments,
        )


@settings(max_examples=40, derandomize=True, deadline=None)
@given(
    sigma=st.one_of(st.none(), st.floats(0.0625, 6, width=32)),
    half=st.one_of(st.none(), st.integers(0, 12)),
    target=st.sampled_from(("uint8", "float32")),
)
def test_pictures(sigma: float | None, half: int | None, target: str) -> None:
    given: dict[str, Any] = {} if sigma is None else {"sigma": sigma}
    if half is not None:
        given["window_size"] = 2 * half + 1
    check(
        "gaussian_blur",
        pictures(),
        exact=False,
        both_may_refuse=True,
        dtype=DTYPES[target],
        **given,
    )


@pytest.mark.parametrize("name", ["sigma", "window_size"])
def test_per_sample(name: str) -> None:
    images = [noise("uint8", (9 + k, 8, 3)) for k in range(3)]
    scalars = {"sigma": np.array([[0.5], [1.0], [2.5]], np.float32),
               "window_size": np.array([[1], [5], [11]], np.int32)}  # fmt: skip
    vectors = {"sigma": np.array([[0.5, 2], [1.0, 1], [2.5, 0.3]], np.float32),
               "window_size": np.array([[1, 3], [5, 3], [11, 25]], np.int32)}  # fmt: skip
    for values in (scalars[name], vectors[name]):
        more: dict[str, Any] = {name: values}
        check("gaussian_blur", images, layout="HWC", exact=False, **more)
