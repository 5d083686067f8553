"""filter against DALI."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gradiva
from gradiva import GradivaError, batch

from .pictures import Array, pictures
from .reference import DTYPES, NAMES, REFUSALS, Samples, assert_close, fn, reference, theirs
from .test_gaussian_blur import noise

BORDERS = ("reflect_101", "reflect_1001", "wrap", "clamp", "constant")


def weights(*shape: int, seed: int = 0) -> Array:
    drawn = np.random.default_rng(seed).normal(0, 1, shape)
    result: Array = (drawn / np.abs(drawn).sum()).astype(np.float32)
    return result


def ask(images: Any, windows: list[Array], fills: Any = None, layout: str = "", **more: Any) -> Any:
    inputs = [images, windows] + ([] if fills is None else [fills])
    named: dict[str, Any] = {
        key: list(value) if isinstance(value, tuple) else theirs(value)
        for key, value in more.items()
    }
    made: Samples = reference(fn.filter, inputs, layout=[layout, "", ""][: len(inputs)], **named)
    return made


def compare(
    images: Any,
    windows: list[Array],
    fills: Any = None,
    layout: str = "HWC",
    exact: bool = False,
    **more: Any,
) -> None:
    ours = images if isinstance(images, gradiva.Batch) else batch(images, layout=layout)
    filled = () if fills is None else (batch(fills),)
    dtypes = {"dtype": DTYPES[more.pop("dtype")]} if "dtype" in more else {}
    expected = ask(images, windows, fills, layout, **dtypes, **more)
    operator: Any = gradiva.filter
    made = operator(ours, batch(windows), *filled, **dtypes, **more)
    assert_close(made, expected, exact=exact)


@settings(max_examples=40, derandomize=True, deadline=None)
@given(
    shape=st.tuples(st.integers(1, 15), st.integers(1, 15)),
    border=st.sampled_from(BORDERS),
    place=st.one_of(st.none(), st.tuples(st.floats(0, 0.99), st.floats(0, 0.99))),
    dtype=st.sampled_from(("uint8", "uint16", "int16", "float32")),
    target=st.booleans(),
)
def test_pictures(shape: Any, border: str, place: Any, dtype: str, target: bool) -> None:
    images = pictures(dtype)
    more: dict[str, Any] = {"dtype": "float32"} if target else {}
    if place is not None:
        more["anchor"] = tuple(int(p * n) for p, n in zip(place, shape, strict=True))
    compare(images, [weights(*shape, seed=k) for k in range(6)], border=border, **more)


@pytest.mark.parametrize("shape", [(3, 3), (5, 4), (1, 9), (7, 7)])
def test_small_filters_of_integers_are_exact(shape: tuple[int, int]) -> None:
    for border in BORDERS:
        compare(pictures(), [weights(*shape)] * 6, border=border, exact=True)


@pytest.mark.parametrize("source", NAMES)
@pytest.mark.parametrize("target", [None, "uint8", "float32", "int16"])
def test_dtypes(source: str, target: str | None) -> None:
    """DALI takes int8 and float16 on a GPU only."""
    image = noise(source, (12, 13, 3))
    more: dict[str, Any] = {} if target is None else {"dtype": DTYPES[target]}
    try:
        wanted = ask([image], [weights(3, 5)], layout="HWC", **more)
    except REFUSALS:
        if source in ("int8", "float16") and target in (None, "float32"):
            made = gradiva.filter(batch([image], layout="HWC"), batch([weights(3, 5)]), **more)
            single = gradiva.filter(
                batch([image.astype("f4")], layout="HWC"), batch([weights(3, 5)])
            )
            expected = gradiva.cast(single, dtype=made.dtype)
            assert_close(made, [expected.at(0)], exact=False)
            return
        with pytest.raises(GradivaError):
            gradiva.filter(batch([image], layout="HWC"), batch([weights(3, 5)]), **more)
        return
    made = gradiva.filter(batch([image], layout="HWC"), batch([weights(3, 5)]), **more)
    assert_close(made, wanted, exact=False)


@pytest.mark.parametrize("layout", ["HW", "HWC", "CHW", "FHW", "FHWC", "FCHW", ""])
def test_layouts(layout: str) -> None:
    shape = [5 + k for k in range(len(layout) or 2)]
    compare([noise("float32", tuple(shape))], [weights(3, 4)], layout=layout)


@pytest.mark.parametrize("shape", [(1, 1), (3, 4), (5, 6)])
def test_valid(shape: tuple[int, int]) -> None:
    compare([noise("uint8", (5, 6, 3))], [weights(*shape)], mode="valid")


def test_per_sample_anchors_and_fills() -> None:
    images = [noise("uint8", (9 + k, 8, 3)) for k in range(3)]
    windows = [weights(3 + k, 4, seed=k) for k in range(3)]
    anchors = np.array([[0, 3], [-1, 0], [4, -1]], np.int32)
    fills = [np.uint8(v) for v in (0, 9, 255)]
    expected = reference(
        "filter",
        [images, windows, fills],
        layout=["HWC", "", ""],
        anchor=anchors,
        border="constant",
    )
    made = gradiva.filter(
        batch(images, layout="HWC"), batch(windows), batch(fills), anchor=anchors, border="constant"
    )
    assert_close(made, expected, exact=False)


@pytest.mark.parametrize(
    "arguments",
    [
        {"anchor": (3, 0)},
        {"anchor": (0, -2)},
        {"anchor": (0, 0, 0)},
        {"mode": "full"},
        {"border": "mirror"},
    ],
)
def test_refused_by_both(arguments: dict[str, Any]) -> None:
    with pytest.raises(REFUSALS):
        ask([noise("uint8", (8, 8))], [weights(3, 4)], layout="HW", **arguments)
    with pytest.raises(GradivaError):
        gradiva.filter(
            batch([noise("uint8", (8, 8))], layout="HW"), batch([weights(3, 4)]), **arguments
        )


@pytest.mark.parametrize("border", BORDERS)
@pytest.mark.parametrize("shape", [(3, 3, 3), (1, 2, 5), (4, 1, 2), (9, 3, 3)])
def test_volumes(border: str, shape: tuple[int, int, int]) -> None:
    """On a GPU only there; here as SciPy computes it."""
    ndimage = pytest.importorskip("scipy.ndimage")
    mode = {"reflect_101": "mirror", "reflect_1001": "reflect", "clamp": "nearest"}.get(border)
    volume, window = noise("float32", (5, 6, 7)), weights(*shape)
    expected = ndimage.correlate(
        volume.astype(np.float64), window.astype(np.float64), mode=mode or border, cval=0.0
    )
    made = gradiva.filter(batch([volume], layout="DHW"), batch([window]), border=border).at(0)
    np.testing.assert_allclose(made, expected, rtol=1e-5, atol=1e-6)
