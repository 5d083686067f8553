"""laplacian against DALI."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gradiva
from gradiva import batch
from gradiva.eager.rows.convert import to_half

from .pictures import pictures
from .reference import DTYPES, check, reference
from .test_gaussian_blur import LAYOUTS, PAIRS, noise


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_dtypes(source: str, target: str | None) -> None:
    if source in ("float16", "float64"):
        return  # see below
    more: dict[str, Any] = {} if target is None else {"dtype": DTYPES[target]}
    image = noise(source, (12, 13, 3))
    check("laplacian", [image], layout="HWC", exact=False, both_may_refuse=True, scale=0.1, **more)


def test_float16_and_float64() -> None:
    """DALI may round on the way, and does not take float64; ours rounds once."""
    image = noise("float16", (12, 13, 3))
    single = gradiva.laplacian(batch([image.astype(np.float32)], layout="HWC"), scale=0.2).at(0)
    half = gradiva.laplacian(batch([image], layout="HWC"), scale=0.2).at(0)
    double = gradiva.laplacian(batch([image.astype(np.float64)], layout="HWC"), scale=0.2).at(0)
    theirs = reference("laplacian", [[image]], layout="HWC", scale=0.2)[0]
    np.testing.assert_array_equal(half, to_half(single))
    np.testing.assert_array_equal(double, single.astype(np.float64))
    np.testing.assert_allclose(theirs.astype(np.float32), single, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("size", [5, 1])
@pytest.mark.parametrize("layout", [*LAYOUTS, "1", "2", "3", "4"])
def test_layouts(layout: str, size: int) -> None:
    letters = "" if layout.isdigit() else layout
    count = int(layout) if layout.isdigit() else len(layout)
    image = noise("int16", tuple(size + k for k in range(count))) // 100
    check("laplacian", [image], layout=letters, exact=False, both_may_refuse=True)


@pytest.mark.parametrize(
    "arguments",
    [
        {"window_size": [3, 5, 7]},
        {"window_size": 9, "normalized_kernel": True},
        {"window_size": [3, 5, 7], "smoothing_size": [1, 5, 3], "normalized_kernel": True},
        {"scale": [0.5, 1.5, -2.0]},
        {"smoothing_size": 7},
        {"window_size": [3, 5]},
        {"window_size": 33},
        {"smoothing_size": 33},
        {"window_size": 31, "normalized_kernel": True},
        {"scale": [1.0, 2.0]},
    ],
)
def test_volumes(arguments: dict[str, Any]) -> None:
    """Numbers per axis; windows wider than the volume; what both refuse."""
    for name in ("uint8", "float32"):
        check(
            "laplacian",
            [noise(name, (4, 6, 7, 2))],
            layout="DHWC",
            exact=False,
            both_may_refuse=True,
            **arguments,
        )


@settings(max_examples=40, derandomize=True, deadline=None)
@given(
    window=st.integers(1, 5),
    smoothing=st.one_of(st.none(), st.integers(0, 5)),
    scale=st.one_of(st.none(), st.floats(-2, 2, width=32)),
    target=st.sampled_from(("uint8", "float32")),
)
def test_pictures(window: int, smoothing: int | None, scale: float | None, target: str) -> None:
    given: dict[str, Any] = {"normalized_kernel": True} if scale is None else {"scale": scale}
    if smoothing is not None:
        given["smoothing_size"] = 2 * smoothing + 1
    check(
        "laplacian",
        pictures(),
        exact=False,
        dtype=DTYPES[target],
        window_size=2 * window + 1,
        **given,
    )


def test_per_sample() -> None:
    images = [noise("uint8", (9 + k, 8, 3)) for k in range(3)]
    sizes, scales = np.array([[3, 5], [5, 3], [7, 9]]), np.array([[1, 0.5], [0.1, 2], [0.01, 0]])
    for more in (
        {"window_size": sizes},
        {"window_size": sizes[:, :1], "smoothing_size": sizes - 2},
        {"scale": scales.astype(np.float32)},
        {"scale": scales[:, :1].astype(np.float32), "smoothing_size": sizes[:, 1:]},
    ):
        named: dict[str, Any] = more
        check("laplacian", images, layout="HWC", exact=False, **named)
