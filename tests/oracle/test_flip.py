"""flip against DALI: exact."""

from __future__ import annotations

import numpy as np
import pytest

import gradiva
from gradiva import batch

from .pictures import pictures, ramp
from .reference import DTYPES, NAMES, REFUSALS, check, reference

LAYOUTS = ("HWC", "CHW", "FHWC", "FCHW", "DHWC", "CDHW", "FDHWC", "FCDHW", "")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout: str) -> None:
    generator = np.random.default_rng(0)
    letters = layout or "HWC"
    for name in NAMES:
        if name in ("bool", "float16"):
            continue
        for channels in (1, 2, 3, 4):
            samples = [
                ramp(
                    *(channels if c == "C" else int(generator.integers(1, 7)) for c in letters),
                    dtype=DTYPES[name].numpy,
                    seed=seed,
                )
                for seed in range(4)
            ]
            h, v, d = generator.integers(0, 2, (3, 4))
            check("flip", samples, layout=layout, horizontal=h, vertical=v, depthwise=d)


@pytest.mark.parametrize("ndim", [2, 3, 4, 5])
def test_assumed_layouts(ndim: int) -> None:
    """Without a layout DALI takes HWC, FHWC or FDHWC; ours also takes HW."""
    samples = [ramp(*range(2, 2 + ndim))]
    if ndim == 2:
        with pytest.raises(REFUSALS):
            reference("flip", [samples])
        ours = gradiva.flip(batch(samples))
        assert ours.layout == "HW"
        np.testing.assert_array_equal(ours.at(0), samples[0][:, ::-1])
    else:
        check("flip", samples, vertical=1, depthwise=1)


@pytest.mark.parametrize("name", ["bool", "float16"])
def test_dtypes_that_are_ours_alone(name: str) -> None:
    sample = ramp(4, 5, 3, dtype=DTYPES[name].numpy)
    with pytest.raises(REFUSALS):
        reference("flip", [[sample]], layout="HWC")
    ours = gradiva.flip(batch([sample], layout="HWC"))
    assert ours.at(0).tobytes() == sample[:, ::-1].tobytes()


@pytest.mark.parametrize("layout", ["HW", "DHW", "FHW", "CFHW"])
def test_layouts_that_are_ours_alone(layout: str) -> None:
    sample = ramp(*range(2, 2 + len(layout)))
    with pytest.raises(REFUSALS):
        reference("flip", [[sample]], layout=layout)
    ours = gradiva.flip(batch([sample], layout=layout))
    np.testing.assert_array_equal(ours.at(0), sample[..., ::-1])


@pytest.mark.parametrize("layout", ["WHC", "XYZ", "HCW"])
def test_refused_layouts(layout: str) -> None:
    check("flip", [ramp(3, 4, 5)], layout=layout, both_may_refuse=True)


def test_any_nonzero_value_flips() -> None:
    check("flip", pictures(), horizontal=[0, 1, -1, 2, 255, 256], vertical=-3)
