"""water and sphere against the reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradiva.eager.dtypes import InterpType

from .pictures import part, pictures, scaled
from .reference import check

NN, LINEAR = InterpType.INTERP_NN, InterpType.INTERP_LINEAR
FILLS = (0.0, 41.6, 300.7, -5.0)


@pytest.mark.parametrize("kind", [np.uint8, np.float32])
@pytest.mark.parametrize("interp_type", [NN, LINEAR])
@pytest.mark.parametrize("name", ["sphere", "water"])
def test_pictures(name: str, interp_type: InterpType, kind: Any) -> None:
    large = [scaled(part("astronaut", 40, 50, 300, 401), kind)]
    for fill in FILLS:
        # Of an image of one pixel the reference makes 0 / 0.
        for input in (pictures(kind).arrays()[:5], large):
            check(
                name, input, layout="HWC", interp_type=interp_type, fill_value=fill,
                exact=interp_type == NN, float_range=1e-5 if name == "water" else 1e-6,
            )  # fmt: skip


@settings(max_examples=30, derandomize=True, deadline=None)
@given(
    ampl=st.tuples(st.floats(-30, 30, width=32), st.floats(-30, 30, width=32)),
    freq=st.tuples(st.floats(-2, 2, width=32), st.floats(-2, 2, width=32)),
    phase=st.tuples(st.floats(-9, 9, width=32), st.floats(-9, 9, width=32)),
    interp_type=st.sampled_from([NN, LINEAR]),
)
def test_waves(
    ampl: tuple[float, float], freq: tuple[float, float], phase: tuple[float, float],
    interp_type: InterpType,
) -> None:  # fmt: skip
    check(
        "water", pictures(), ampl_x=ampl[0], ampl_y=ampl[1], freq_x=freq[0], freq_y=freq[1],
        phase_x=phase[0], phase_y=phase[1], interp_type=interp_type, exact=interp_type == NN,
    )  # fmt: skip


@pytest.mark.parametrize("name", ["sphere", "water"])
def test_masks(name: str) -> None:
    check(name, pictures().arrays()[:5], layout="HWC", mask=[0, 1, 2, -1, 0])
