"""crop_mirror_normalize against DALI: bit for bit."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gradiva
from gradiva import batch

from .pictures import Array, pictures, ramp
from .reference import DTYPES, NAMES, REFUSALS, check, reference

NAME = "crop_mirror_normalize"
LAYOUTS = (
    "HWC", "CHW", "DHWC", "CDHW", "FHWC", "FCHW", "CFHW", "FDHWC", "FCDHW", "",
)  # fmt: skip
INPUTS = ("uint8", "int16", "uint16", "int32", "float16", "float32")
"""What DALI takes; ours also takes int8."""
OUTPUTS = ("float32", "float16", "uint8", "int8")


def ragged(layout: str, channels: int, generator: np.random.Generator) -> list[Array]:
    letters = layout or "HWC"
    return [
        ramp(*(channels if c == "C" else int(generator.integers(3, 7)) for c in letters), seed=seed)
        for seed in range(3)
    ]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout: str) -> None:
    """Any order of the axes, with a window that fits or not, mirrored or not, channels padded."""
    generator = np.random.default_rng(0)
    letters = layout or "HWC"
    at = letters.index("C")
    rest = letters[:at] + letters[at + 1 :]
    for channels in (1, 3, 4):
        samples = ragged(layout, channels, generator)
        orders = ["".join(order) for order in permutations(letters)]
        if len(letters) > 3:
            orders = [str(order) for order in generator.permutation(orders)[:6]]
        for order in [*orders, "", "HWCX", "CHW"]:
            check(
                NAME,
                samples,
                layout=layout,
                both_may_refuse=True,
                output_layout=order,
                mirror=[0, 1, 1],
                mean=[1.5],
                std=[3.0],
            )
        if len(letters) > 4:
            continue
        for order in (letters, "".join(sorted(letters)), rest + "C", "C" + rest):
            windows: tuple[dict[str, Any], ...] = (
                {"out_of_bounds_policy": "pad", "fill_values": 9.7},
                {"out_of_bounds_policy": "pad", "fill_values": [1.0, 2.0, 3.0, 300.0]},
                {"out_of_bounds_policy": "trim_to_shape", "fill_values": 5.0},
                {"out_of_bounds_policy": "error", "fill_values": 5.0},
            )
            for window in windows:
                for pad in (False, True):
                    shared: dict[str, Any] = {
                        **window, "output_layout": order, "mirror": [0, 1, 1], "pad_output": pad,
                        "layout": layout, "both_may_refuse": True,
                    }  # fmt: skip
                    check(NAME, samples, crop=(6, 2), crop_pos_x=0.3, **shared)
                    check(NAME, samples, crop=(2, 9), dtype=gradiva.uint8, **shared)


@pytest.mark.parametrize("seed", range(8))
def test_values(seed: int) -> None:
    generator = np.random.default_rng(seed)
    samples = [generator.normal(0, 100, (9, 50, 3)).astype(np.float32) for _ in range(3)]
    mean = generator.normal(0, 90, 3).tolist()
    std = (generator.uniform(0.1, 90, 3) * generator.choice([-1, 1], 3)).tolist()
    scale = float(generator.choice([1.0, generator.uniform(0.01, 300)]))
    shift = float(generator.choice([0.0, generator.normal(0, 100)]))
    means = generator.normal(0, 9, (3, 3)).astype(np.float32)
    stds = generator.uniform(1, 9, (3, 3)).astype(np.float32)
    for layout in ("HWC", "CHW"):
        for name in OUTPUTS:
            shared: dict[str, Any] = {
                "layout": "HWC",
                "output_layout": layout,
                "dtype": DTYPES[name],
            }
            check(
                NAME,
                samples,
                mean=mean,
                std=std,
                scale=scale,
                shift=shift,
                mirror=seed % 2,
                **shared,
            )
            check(NAME, samples, scale=scale, shift=shift, **shared)
            check(NAME, samples, mean=mean, std=[std[0]], pad_output=True, **shared)
            check(NAME, samples, mean=means, std=stds, scale=scale, **shared)


@pytest.mark.parametrize("source", NAMES)
def test_dtypes(source: str) -> None:
    generator = np.random.default_rng(2)
    dtype = DTYPES[source].numpy
    if dtype.kind == "f":
        samples = [generator.normal(0, 150, (5, 6, 3)).astype(dtype) for _ in range(2)]
    else:
        top = 2 if source == "bool" else 127
        samples = [generator.integers(0, top, (5, 6, 3)).astype(dtype) for _ in range(2)]
    for target in DTYPES.values():
        arguments: dict[str, Any] = {
            "crop": (7, 3), "mean": [3.3], "std": [7.7], "fill_values": 300.6,
            "out_of_bounds_policy": "pad", "dtype": target,
        }  # fmt: skip
        if source == "int8" and target.name in OUTPUTS:
            with pytest.raises(REFUSALS):
                reference(NAME, [samples], layout="HWC", **arguments)
            ours = gradiva.crop_mirror_normalize(batch(samples, layout="HWC"), **arguments)
            wider = batch([sample.astype(np.int16) for sample in samples], layout="HWC")
            wide = gradiva.crop_mirror_normalize(wider, **arguments)
            np.testing.assert_array_equal(ours.as_array(), wide.as_array())
        else:
            check(NAME, samples, layout="HWC", both_may_refuse=True, **arguments)
    if source in ("uint16", "int16", "int32"):
        whole = [ramp(5, 6, 3, dtype=dtype), ramp(5, 6, 3, dtype=dtype, seed=1)]
        check(NAME, whole, layout="HWC", mean=[3.3], std=[7.7])


@pytest.mark.parametrize("target", OUTPUTS)
def test_special_values(target: str) -> None:
    """Ties, limits, NaN, infinities; no deviation, no scale."""
    numbers = [
        0.5,
        1.5,
        2.5,
        -0.5,
        -1.5,
        300,
        -300,
        127.5,
        0.49999997,
        1e10,
        np.nan,
        np.inf,
        -np.inf,
        2049,
        1 + 2**-11,
        70000,
    ]
    sample = np.array(numbers, np.float32).reshape(1, -1, 1)
    for arguments in ({}, {"std": [0.0]}, {"scale": 0.0, "shift": 2.0}):
        check(NAME, [sample], layout="HWC", dtype=DTYPES[target], **arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        {"mean": [1.0, 2.0]},
        {"mean": [1.0, 2.0], "std": [1.0, 2.0, 3.0]},
        {"std": [1.0, 2.0]},
        {"output_layout": "HW"},
        {"output_layout": "HHC"},
        {"crop": (2, 2), "crop_pos_x": 1.5},
        {"crop": (200, 200)},
        {"crop": (200, 200), "out_of_bounds_policy": "pad", "fill_values": [1.0, 2.0]},
        {"crop_h": 2.0},
        {"rounding": "up"},
        {"out_of_bounds_policy": "wrap"},
    ],
)
def test_refusals(arguments: dict[str, Any]) -> None:
    with pytest.raises(REFUSALS):
        reference(NAME, [pictures()], **arguments)
    with pytest.raises(gradiva.GradivaError):
        gradiva.crop_mirror_normalize(pictures(), **arguments)


@settings(max_examples=30, derandomize=True, deadline=None)
@given(
    size=st.tuples(st.integers(1, 120), st.integers(1, 140)),
    position=st.tuples(st.floats(0, 1, width=32), st.floats(0, 1, width=32)),
    mirror=st.lists(st.integers(0, 1), min_size=6, max_size=6),
    mean=st.lists(st.floats(0, 255, width=32), min_size=3, max_size=3),
    std=st.lists(st.floats(0.125, 300, width=32), min_size=3, max_size=3),
    shift=st.sampled_from([0.0, 0.5, -7.25, 128.0]),
    scale=st.sampled_from([1.0, 0.3, 64.0]),
    policy=st.sampled_from(["pad", "trim_to_shape"]),
    pad=st.booleans(),
    order=st.sampled_from(["CHW", "HWC", "WCH"]),
    target=st.sampled_from(OUTPUTS),
    source=st.sampled_from([np.uint8, np.uint16, np.float32]),
)
def test_pictures(
    size: tuple[int, int],
    position: tuple[float, float],
    mirror: list[int],
    mean: list[float],
    std: list[float],
    shift: float,
    scale: float,
    policy: str,
    pad: bool,
    order: str,
    target: str,
    source: Any,
) -> None:
    check(
        NAME,
        pictures(source),
        crop=size,
        crop_pos_x=position[0],
        crop_pos_y=position[1],
        mirror=mirror,
        mean=mean,
        std=std,
        shift=shift,
        scale=scale,
        out_of_bounds_policy=policy,
        pad_output=pad,
        output_layout=order,
        dtype=DTYPES[target],
    )
