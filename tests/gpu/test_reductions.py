"""Reductions and `normalize` through their GPU kernels, beyond the cases of the operators."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva.eager.operators.cases import Case
from gradiva.eager.operators.operator import operators

from .harness import Planned, all_launches, planned
from .shim import COMPILER, NO_COMPILER, run_launches

pytestmark = pytest.mark.skipif(COMPILER is None, reason=NO_COMPILER)

SHAPES: list[tuple[int, ...]] = [
    (70, 60, 3),
    (3, 300, 3),
    (0, 7, 3),
    (17, 1, 3),
    (1, 2, 3),
    (2, 2, 400),
]
AXES: list[dict[str, Any]] = [
    {}, {"axes": [0, 1]}, {"axes": [2]}, {"axes": [0]}, {"axes": [1]}, {"axes": [0, 2]},
    {"axes": []},
]  # fmt: skip
NAMES = ("sum", "mean", "mean_square", "rms", "min", "max")


def noise(dtype: str, shapes: list[tuple[int, ...]] = SHAPES) -> Any:
    generator = np.random.default_rng(0)
    kind = np.dtype(dtype).kind
    if kind == "b":
        return gradiva.as_batch([generator.integers(0, 2, shape) > 0 for shape in shapes])
    if kind != "f":
        limits = np.iinfo(dtype)
        return gradiva.as_batch(
            [generator.integers(limits.min, limits.max, s, dtype, endpoint=True) for s in shapes]
        )
    arrays = [generator.normal(0, 100, shape).astype(dtype) for shape in shapes]
    for one in arrays:
        one[generator.random(one.shape) < 0.2] = np.nan if dtype == "f4" else -0.0
    return gradiva.as_batch(arrays)


def require_bits(found: list[Planned], folder: Path) -> None:
    run_launches(all_launches(found), folder)
    for one in found:
        assert one.tolerance == 0
        for ours, expected in zip(one.samples, one.expected, strict=True):
            np.testing.assert_array_equal(ours, expected, err_msg=one.name)


@pytest.mark.full
@pytest.mark.parametrize("dtype", ["u1", "i2", "i4", "u8", "f4", "f8", "f2", "bool"])
def test_axes_and_types(dtype: str, tmp_path: Path) -> None:
    """Every kind of axes, in samples of several tasks and in small ones."""
    values = noise(dtype)
    names = {"u1": NAMES[:2], "f4": NAMES[1:2] + NAMES[3:5]}.get(dtype, (NAMES[0], NAMES[5]))
    axes = AXES if dtype in ("u1", "f4") else AXES[:2]
    found = [
        one
        for name in names
        for one in planned(
            operators[f"reductions.{name}"],
            [Case(f"{dtype} {chosen}", (values,), chosen) for chosen in axes],
        )
    ]
    require_bits(found, tmp_path)


@pytest.mark.full
def test_integers_are_split_among_tasks(tmp_path: Path) -> None:
    """And floats are not: their sums have an order."""
    for dtype, several in (("u1", True), ("f4", False)):
        values = noise(dtype, [(200, 150, 3)])
        found = planned(operators["reductions.mean"], [Case("", (values,), {"axes": [0, 1]})])
        assert (found[0].launches[0].blocks > 5) == several
        assert len(found[0].launches) == 1 + several
        require_bits(found, tmp_path)


@pytest.mark.full
def test_a_long_column(tmp_path: Path) -> None:
    """More rows than one lane adds up without a pause."""
    values = noise("f2", [(32780, 129)])
    found = planned(operators["reductions.sum"], [Case("", (values,), {"axes": [0]})])
    require_bits(found, tmp_path)


@pytest.mark.full
@pytest.mark.parametrize("dtype", ["u1", "f2"])
def test_deviations(dtype: str, tmp_path: Path) -> None:
    """Distances from means of any type, one for all or one for each result."""
    values = noise(dtype, [(70, 60, 3), (3, 300, 3), (17, 1, 3)])
    channels = gradiva.as_batch([np.arange(3).astype(dtype)] * 3)
    rows = gradiva.as_batch([np.arange(n).reshape(1, n, 1).astype("i2") for n in (60, 300, 1)])
    cases = [
        Case("one", (values, np.float64(7.25)), {"ddof": 2}),
        Case("channels", (values, channels), {"axes": [0, 1]}),
        Case("rows", (values, rows), {"axes": [0, 2], "keep_dims": True}),
    ]
    found = [
        one
        for name in ("variance", "std_dev")
        for one in planned(operators[f"reductions.{name}"], cases)
    ]
    require_bits(found, tmp_path)


@pytest.mark.full
def test_normalize(tmp_path: Path) -> None:
    """Statistics of samples and of the batch, measured or given, over all kinds of axes."""
    images = noise("u1", [(40, 33, 3), (40, 70, 3), (40, 1, 3)])
    halves = noise("f2", [(40, 33, 3), (1, 7, 3)])
    flat = gradiva.as_batch([np.full((4, 5, 3), 7, np.int16), np.zeros((0, 5, 3), np.int16)])
    means = gradiva.as_batch([np.full((40, 1, 1), k, np.float32) for k in range(3)])
    wanted: list[tuple[Any, dict[str, Any]]] = [
        (images, {"axes": [0, 1]}),
        (images, {"axes": [1, 2], "ddof": 3}),
        (images, {"axes": [2]}),
        (images, {"batch": True, "axes": [1], "ddof": 2}),
        (images, {"batch": True}),
        (images, {"batch": True, "mean": 3.0, "epsilon": 0.5, "ddof": 10**7}),
        (images, {"mean": means, "scale": 3.0}),
        (images, {"mean": means, "stddev": means}),
        (images, {"axes": [0], "stddev": 3.0, "shift": 7.0, "dtype": gradiva.uint8}),
        (halves, {"axes": [0, 1], "dtype": gradiva.float16}),
        (flat, {"shift": 2.5}),
        (flat, {"axes": [0, 1], "ddof": 30}),
    ]
    operator = operators["normalize"]
    found = planned(operator, [Case(str(given), (one,), given) for one, given in wanted])
    assert [len(one.launches) for one in found][-6:-3] == [3, 1, 2]
    require_bits(found, tmp_path)
