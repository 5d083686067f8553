"""water and sphere against DALI."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gradiva
from gradiva import batch
from gradiva.eager.types.dtypes import InterpType

from .pictures import Array, part, pictures, scaled
from .reference import check, reference

NN, LINEAR = InterpType.INTERP_NN, InterpType.INTERP_LINEAR
FILLS = (0.0, 41.6, 300.7, -5.0)


@pytest.mark.parametrize("kind", [np.uint8, np.float32])
@pytest.mark.parametrize("interp_type", [NN, LINEAR])
@pytest.mark.parametrize("name", ["sphere", "water"])
def test_pictures(name: str, interp_type: InterpType, kind: Any) -> None:
    large = [scaled(part("astronaut", 40, 50, 300, 401), kind)]
    for fill in FILLS:
        # Of an image of one pixel DALI makes 0 / 0.
        for input in (pictures(kind).arrays()[:5], large):
            # Sines: `test_whose_sines_are_right` says who is right, docs/differences.md lists it.
            check(
                name,
                input,
                layout="HWC",
                interp_type=interp_type,
                fill_value=fill,
                exact=interp_type == NN,
                float_range=1e-5 if name == "water" else 1e-6,
            )


@settings(max_examples=30, derandomize=True, deadline=None)
@given(
    ampl=st.tuples(st.floats(-30, 30, width=32), st.floats(-30, 30, width=32)),
    freq=st.tuples(st.floats(-2, 2, width=32), st.floats(-2, 2, width=32)),
    phase=st.tuples(st.floats(-9, 9, width=32), st.floats(-9, 9, width=32)),
    interp_type=st.sampled_from([NN, LINEAR]),
)
def test_waves(
    ampl: tuple[float, float],
    freq: tuple[float, float],
    phase: tuple[float, float],
    interp_type: InterpType,
) -> None:
    check(
        "water",
        pictures(),
        ampl_x=ampl[0],
        ampl_y=ampl[1],
        freq_x=freq[0],
        freq_y=freq[1],
        phase_x=phase[0],
        phase_y=phase[1],
        interp_type=interp_type,
        exact=interp_type == NN,
    )


@pytest.mark.parametrize("name", ["sphere", "water"])
def test_masks(name: str) -> None:
    check(name, pictures().arrays()[:5], layout="HWC", mask=[0, 1, 2, -1, 0])


def through_waves(image: Array) -> Array:
    """`water` with its defaults, fill 0: sines of float64, rounded once, as places are; pixels are
    blended in float64."""
    height, width = image.shape[:2]
    one, frequency = np.float32(10), np.float32(0.049087387)
    turns = [(frequency * np.arange(n, dtype=np.float32)).astype(float) for n in (height, width)]
    right, down = (
        one * f(t).astype(np.float32) for f, t in zip((np.sin, np.cos), turns, strict=True)
    )
    x = np.arange(width, dtype=np.float32) + right[:, None] - np.float32(0.5)
    y = np.arange(height, dtype=np.float32)[:, None] + down - np.float32(0.5)
    left, top = np.floor(x).astype(int), np.floor(y).astype(int)
    q, r = (x - left).astype(float)[..., None], (y - top).astype(float)[..., None]
    framed = np.pad(image.astype(float), ((20, 20), (20, 20), (0, 0)))
    rows, columns = top + 20, left + 20
    upper = framed[rows, columns] * (1 - q) + framed[rows, columns + 1] * q
    lower = framed[rows + 1, columns] * (1 - q) + framed[rows + 1, columns + 1] * q
    return np.asarray(upper * (1 - r) + lower * r)


def test_whose_sines_are_right() -> None:
    """Beside float64, ours keeps the project's tolerance; DALI's worst pixel does not."""
    image = scaled(part("astronaut", 40, 50, 300, 401), np.float32)
    wanted = through_waves(image)
    (theirs,) = reference("water", [[image]], layout="HWC", interp_type=LINEAR)
    ours = gradiva.water(batch([image], layout="HWC"), interp_type=LINEAR).at(0)
    allowed = 1e-5 * np.abs(wanted) + 1e-6 * np.ptp(wanted)
    far = [(np.abs(side - wanted) / allowed).max() for side in (ours, theirs)]
    assert far[0] <= 1
    assert far[0] < far[1]
