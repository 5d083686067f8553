"""`resize(compat="torchvision")` beside torch's own interpolate, where torch is installed.

torchvision's Resize of a tensor on a CPU with AVX2 hands uint8 and float32 to that function as they
are. Outputs one pixel wide are left out where torch repeats their first row: see docs/resize.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gradiva
from tests.ops.image.test_resize_compat import (
    CUBIC,
    LANCZOS,
    LINEAR,
    NEAREST_EXACT,
    NN,
    image,
    pairs,
)
from tests.tiers import examples

torch: Any = pytest.importorskip("torch")

Array = np.ndarray[Any, Any]
NAMES = {NN: "nearest", LINEAR: "bilinear", CUBIC: "bicubic", NEAREST_EXACT: "nearest-exact"}
PICKING = (NN, NEAREST_EXACT)


def theirs(source: Array, size: tuple[int, int], filter: int, antialias: bool) -> Array:
    tensor = torch.from_numpy(source).permute(2, 0, 1)[None]
    more: dict[str, Any] = {}
    if filter not in PICKING:
        more = {"align_corners": False, "antialias": antialias}
    made = torch.nn.functional.interpolate(tensor, size=size, mode=NAMES[filter], **more)
    return np.asarray(made[0].permute(1, 2, 0).numpy())


def ours(source: Array, size: tuple[int, int], filter: int, antialias: bool) -> Array:
    batch = gradiva.batch([source], layout="HWC")
    return np.asarray(
        gradiva.resize(
            batch, size=size, interp_type=filter, antialias=antialias, compat="torchvision"
        ).at(0)
    )


drawn = given(
    sizes=pairs(),
    channels=st.integers(1, 4),
    filter=st.sampled_from(sorted(NAMES)),
    antialias=st.booleans(),
    seed=st.integers(0, 1000),
)


@settings(max_examples=examples(150), deadline=None)
@drawn
def test_bytes(sizes: Any, channels: int, filter: int, antialias: bool, seed: int) -> None:
    if filter not in PICKING and torch.backends.cpu.get_cpu_capability() not in ("AVX2", "AVX512"):
        pytest.skip("torch has another kernel on this processor")
    source = image(seed, (*sizes[0], channels))
    expected = theirs(source, sizes[1], filter, antialias)
    np.testing.assert_array_equal(ours(source, sizes[1], filter, antialias), expected)


@pytest.mark.skipif(
    tuple(map(int, torch.__version__.split(".")[:2])) < (2, 12), reason="torch has no lanczos"
)
@settings(max_examples=examples(150), deadline=None)
@given(sizes=pairs(), channels=st.integers(1, 4), seed=st.integers(0, 1000))
def test_lanczos(sizes: Any, channels: int, seed: int) -> None:
    source = image(seed, (*sizes[0], channels))
    tensor = torch.from_numpy(source).permute(2, 0, 1)[None]
    given = {"mode": "lanczos", "align_corners": False, "antialias": True}
    expected = torch.nn.functional.interpolate(tensor, size=sizes[1], **given)
    made = ours(source, sizes[1], LANCZOS, True)
    np.testing.assert_array_equal(made, expected[0].permute(1, 2, 0).numpy())


@settings(max_examples=examples(100), deadline=None)
@drawn
def test_floats(sizes: Any, channels: int, filter: int, antialias: bool, seed: int) -> None:
    if filter not in PICKING and sizes[1][1] == 1:
        return
    source = np.random.default_rng(seed).random((*sizes[0], channels), np.float32)
    expected = theirs(source, sizes[1], filter, antialias)
    made = ours(source, sizes[1], filter, antialias)
    assert made.dtype == np.float32
    if filter in PICKING:
        np.testing.assert_array_equal(made, expected)
    else:
        np.testing.assert_allclose(made, expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize(("n", "m"), [(228, 227), (354, 353), (423, 422), (1400, 568), (7, 1999)])
@pytest.mark.parametrize("filter", [LINEAR, CUBIC])
@pytest.mark.parametrize("antialias", [True, False])
def test_found(n: int, m: int, filter: int, antialias: bool) -> None:
    """Widths where a weight comes close to 1, and long rows."""
    if torch.backends.cpu.get_cpu_capability() not in ("AVX2", "AVX512"):
        pytest.skip("torch has another kernel on this processor")
    for seed in range(4):
        source = image(seed, (2, n, 3))
        expected = theirs(source, (3, m), filter, antialias)
        np.testing.assert_array_equal(ours(source, (3, m), filter, antialias), expected)


def test_same_size_is_a_copy() -> None:
    """torchvision returns such an image as it is, infinities included."""
    source = image(0, (5, 6, 3), np.float32)
    source[2, 3, 1] = np.inf
    np.testing.assert_array_equal(ours(source, (5, 6), CUBIC, True), source)
