"""rotate against DALI."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gradiva
from gradiva import batch
from gradiva.eager.types.dtypes import InterpType

from .pictures import pictures, scaled
from .reference import check, reference

FILLS: tuple[dict[str, Any], ...] = ({}, {"fill_value": 41.6})
NN, LINEAR = InterpType.INTERP_NN, InterpType.INTERP_LINEAR


@pytest.mark.parametrize("interp_type", [NN, LINEAR])
@pytest.mark.parametrize("angle", [0.0, 90.0, -90.0, 180.0, 30.0, 45.0, 135.0, -400.0, 271.5])
def test_angles(angle: float, interp_type: InterpType) -> None:
    for fill in FILLS:
        check("rotate", pictures(), angle=angle, interp_type=interp_type, **fill)
        check(
            "rotate",
            pictures(np.float32),
            angle=angle,
            interp_type=interp_type,
            keep_size=True,
            exact=False,
            **fill,
        )


def test_canvas_of_images() -> None:
    generator = np.random.default_rng(0)
    count = 1500
    images = [np.zeros((*generator.integers(1, 60, 2), 1), np.uint8) for _ in range(count)]
    angles = generator.uniform(-400, 400, count).astype(np.float32)
    angles[:200] = generator.integers(-30, 30, 200) * 15
    check("rotate", images, layout="HWC", angle=angles)


def test_canvas_of_volumes() -> None:
    generator = np.random.default_rng(1)
    count = 500
    volumes = [np.zeros((*generator.integers(1, 9, 3), 1), np.uint8) for _ in range(count)]
    angles = generator.uniform(-400, 400, count).astype(np.float32)
    axes = generator.normal(0, 1, (count, 3)).astype(np.float32)
    axes[:100] = np.eye(3)[generator.integers(0, 3, 100)]
    check("rotate", volumes, layout="DHWC", angle=angles, axis=axes)


def test_volumes() -> None:
    generator = np.random.default_rng(2)
    for kind in (np.uint8, np.float32):
        volumes = [
            scaled(generator.integers(0, 256, (*size, 2)), kind)
            for size in ((7, 8, 9), (3, 1, 12), (5, 6, 4))
        ]
        for fill in FILLS:
            check(
                "rotate",
                volumes,
                layout="DHWC",
                angle=[30.0, -77.0, 190.0],
                axis=(1, 2, -3),
                exact=False,
                **fill,
            )


@settings(max_examples=30, derandomize=True, deadline=None)
@given(
    angle=st.floats(-720, 720, width=32),
    given_size=st.sampled_from([{}, {"keep_size": True}, {"size": (40.4, 71.5)}]),
    fill=st.sampled_from(FILLS),
    interp_type=st.sampled_from([NN, LINEAR]),
)
def test_drawn(
    angle: float, given_size: dict[str, Any], fill: dict[str, Any], interp_type: InterpType
) -> None:
    exact = interp_type == NN
    check(
        "rotate",
        pictures(),
        angle=angle,
        interp_type=interp_type,
        exact=exact,
        **given_size,
        **fill,
    )


def test_sequences() -> None:
    frames = [np.stack([picture] * 2) for picture in pictures().arrays()[:3]]
    check("rotate", frames, layout="FHWC", angle=[10.0, 20.0, 30.0])


def test_axis_is_ignored_for_images() -> None:
    image = pictures().at(0)
    expected = reference("rotate", [[image]], layout="HWC", angle=30.0, axis=(0.0, 1.0))
    ours = gradiva.rotate(batch([image], layout="HWC"), angle=30.0, axis=(0.0, 1.0))
    np.testing.assert_array_equal(ours.at(0), expected[0])
