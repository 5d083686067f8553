"""warp_affine against DALI."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gradiva
from gradiva import OperatorValueError, batch
from gradiva.eager.types.dtypes import InterpType

from .pictures import Array, part, pictures, ramp, scaled
from .reference import DTYPES, REFUSALS, assert_close, check, reference

MAPS = (
    (1.0, 0.0, 0.0, 0.0, 1.0, 0.0),
    (0.93, 0.21, -7.3, -0.17, 1.08, 11.9),
    (-0.5, 1.3, 30.25, 1.1, 0.4, -3.125),
    (3.7, 0.0, 0.1, 0.0, 0.13, 2.0),
)
FILLS: tuple[dict[str, Any], ...] = ({}, {"fill_value": 41.6}, {"fill_value": -3.0})
NN, LINEAR = InterpType.INTERP_NN, InterpType.INTERP_LINEAR
EXACT = ("uint8", "int16", "int32", "float32")


@pytest.mark.parametrize("interp_type", [NN, LINEAR])
@pytest.mark.parametrize("matrix", MAPS)
def test_pictures(matrix: tuple[float, ...], interp_type: InterpType) -> None:
    """Exact: places are computed as there."""
    for fill in FILLS:
        check("warp_affine", pictures(), matrix=matrix, interp_type=interp_type, **fill)
        check(
            "warp_affine",
            pictures(np.float32),
            matrix=matrix,
            interp_type=interp_type,
            size=(70, 300),
            **fill,
        )


def test_wide_rows() -> None:
    """Places of pixels are sums of steps, in tiles of 256."""
    images = [part("astronaut", 100, 0, 20, 512), part("coffee", 50, 0, 33, 600)]
    for matrix in MAPS:
        for kind in (np.uint8, np.float32):
            arrays = [scaled(array, kind) for array in images]
            check("warp_affine", arrays, layout="HWC", matrix=matrix, size=(9, 1500))


@pytest.mark.parametrize("source", EXACT)
@pytest.mark.parametrize("target", EXACT)
def test_dtypes(source: str, target: str) -> None:
    arrays = [scaled(part("astronaut", 40, 150, 31, 45), DTYPES[source].numpy)]
    given: dict[str, Any] = {"matrix": MAPS[1], "dtype": DTYPES[target], "layout": "HWC"}
    known = target in (source, "float32") or source == "float32"
    for interp_type in (NN, LINEAR):
        for fill in FILLS:
            if known:
                check("warp_affine", arrays, interp_type=interp_type, **given, **fill)
    if not known:
        with pytest.raises(REFUSALS):
            reference("warp_affine", [arrays], **given)
        gradiva.warp_affine(batch(arrays, layout="HWC"), matrix=MAPS[1], dtype=DTYPES[target])


@pytest.mark.parametrize("interp_type", [NN, LINEAR])
@pytest.mark.parametrize("channels", [1, 2, 3, 4, 5])
def test_channels_and_sequences(channels: int, interp_type: InterpType) -> None:
    frames = [ramp(2, 9, 11, channels), ramp(3, 7, 5, channels, seed=1)]
    for layout in ("FHWC", ""):
        check("warp_affine", frames, layout=layout, matrix=MAPS[1], interp_type=interp_type)


@pytest.mark.parametrize("interp_type", [NN, LINEAR])
def test_volumes(interp_type: InterpType) -> None:
    generator = np.random.default_rng(3)
    for kind in (np.uint8, np.float32):
        for layout in ("DHWC", "FDHWC"):
            frames = (2,) if layout[0] == "F" else ()
            volumes = [
                scaled(generator.integers(0, 256, (*frames, *size)), kind)
                for size in ((7, 8, 9, 2), (3, 1, 12, 2), (5, 6, 4, 2))
            ]
            for fill in FILLS:
                matrix = np.eye(3, 4) + generator.normal(0, 0.3, (3, 4)) * [1, 1, 1, 5]
                check(
                    "warp_affine",
                    volumes,
                    layout=layout,
                    matrix=tuple(matrix.ravel().tolist()),
                    interp_type=interp_type,
                    size=(6, 7, 280),
                    **fill,
                )


def test_matrices_as_inputs() -> None:
    images = pictures()
    generator = np.random.default_rng(4)
    maps = [
        (np.eye(2, 3) + generator.normal(0, 0.2, (2, 3)) * [1, 1, 20]).astype(np.float32)
        for _ in range(len(images))
    ]
    ours = gradiva.warp_affine(images, batch(maps))
    assert_close(ours, reference("warp_affine", [images, list(maps)]))
    again = gradiva.warp_affine(images, matrix=batch(maps))
    assert_close(again, reference("warp_affine", [images], matrix=batch(maps)))
    frames = [ramp(2, 9, 11, 3), ramp(3, 7, 5, 3)]
    each = [np.stack(maps[:2]), np.stack(maps[2:5])]
    ours = gradiva.warp_affine(batch(frames, layout="FHWC"), batch(each, layout="FAB"))
    assert_close(ours, reference("warp_affine", [frames, each], layout=["FHWC", "FAB"]))


@pytest.mark.parametrize("size", [(2.5, 3.5), (2.49, 1.5), (0.4, 2), (0, 3), (5,), (2, 3, 1)])
def test_sizes(size: tuple[float, ...]) -> None:
    check("warp_affine", pictures(), matrix=MAPS[0], size=size, both_may_refuse=True)


def test_sizes_per_sample() -> None:
    """Fractions are cut off, down to no pixel."""
    sizes = np.random.default_rng(5).uniform(1, 50, (6, 2)).astype(np.float32)
    sizes[0] = 2.99999, 0.9
    check("warp_affine", pictures(), matrix=MAPS[1], size=sizes)
    check("rotate", pictures(), angle=20.0, size=sizes)
    with pytest.raises(OperatorValueError, match="sample 0"):
        gradiva.warp_affine(pictures(), matrix=MAPS[1], size=-sizes)


@settings(max_examples=40, derandomize=True, deadline=None)
@given(
    linear=st.lists(st.floats(-3, 3, width=32), min_size=4, max_size=4),
    shift=st.tuples(st.floats(-200, 200, width=32), st.floats(-200, 200, width=32)),
    size=st.tuples(st.integers(1, 90), st.integers(1, 600)),
    fill=st.sampled_from(FILLS),
    interp_type=st.sampled_from([NN, LINEAR]),
    kind=st.sampled_from([np.uint8, np.float32]),
)
def test_drawn(
    linear: list[float],
    shift: tuple[float, float],
    size: tuple[int, int],
    fill: dict[str, Any],
    interp_type: InterpType,
    kind: Any,
) -> None:
    matrix = (*linear[:2], shift[0], *linear[2:], shift[1])
    check("warp_affine", pictures(kind), matrix=matrix, size=size, interp_type=interp_type, **fill)


def test_inverse() -> None:
    """From the input to the output: the inverse is computed in float64 here, in float32 there."""
    for matrix in MAPS:
        check("warp_affine", pictures(), matrix=matrix, inverse_map=False, exact=False)


@pytest.mark.parametrize("interp_type", [NN, LINEAR])
def test_far_and_undefined_places(interp_type: InterpType) -> None:
    """DALI gives garbage for places beyond int32; here they are outside."""
    image = ramp(4, 5, 3)
    one = batch([image], layout="HWC")
    for far in (1e30, -1e30, np.inf, np.nan):
        matrix = (1, 0, far, 0, 1, 0)
        filled = gradiva.warp_affine(one, matrix=matrix, fill_value=9, interp_type=interp_type)
        assert (filled.at(0) == 9).all()
        near = gradiva.warp_affine(one, matrix=matrix, interp_type=interp_type)
        column = -1 if far > 0 else 0
        np.testing.assert_array_equal(near.at(0), np.repeat(image[:, column, None], 5, axis=1))


def test_without_pixels() -> None:
    """DALI dies of these."""
    none = batch([np.zeros((0, 4, 3), np.uint8)], layout="HWC")
    ours = gradiva.warp_affine(none, matrix=MAPS[0], size=(2, 2), fill_value=5)
    np.testing.assert_array_equal(ours.at(0), np.full((2, 2, 3), 5, np.uint8))
    with pytest.raises(OperatorValueError, match="fill_value"):
        gradiva.warp_affine(none, matrix=MAPS[0], size=(2, 2))
    assert gradiva.warp_affine(none, matrix=MAPS[0]).at(0).shape == (0, 4, 3)
    array: Array = np.zeros((2, 2, 0), np.uint8)
    channels = batch([array], layout="HWC")
    assert gradiva.warp_affine(channels, matrix=MAPS[0], size=(3, 3)).at(0).shape == (3, 3, 0)
