"""transpose against DALI: exact, layouts included."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from .pictures import part, pictures, ramp
from .reference import DTYPES, NAMES, check


@pytest.mark.parametrize("ndim", range(8))
def test_permutations(ndim: int) -> None:
    generator = np.random.default_rng(ndim)
    chosen = list(itertools.permutations(range(ndim)))
    if ndim > 4:
        chosen = [chosen[i] for i in generator.integers(0, len(chosen), 12)]
    for number, perm in enumerate(chosen):
        dtype = DTYPES[NAMES[number % len(NAMES)]].numpy
        samples = [
            ramp(
                *generator.integers(
                    0 if generator.random() < 0.05 else 1, 5 if ndim > 3 else 9, ndim
                ),
                dtype=dtype,
                seed=seed,
            )
            for seed in range(3)
        ]
        if ndim:  # DALI takes an empty `perm` for no `perm`, and refuses it
            check("transpose", samples, perm=perm)
        check("transpose", samples)


@pytest.mark.parametrize("perm", list(itertools.permutations(range(3))))
def test_pictures(perm: tuple[int, ...]) -> None:
    for dtype in (np.uint8, np.uint16, np.float32):
        check("transpose", pictures(dtype), perm=perm)
    planes = [part("coffee", 0, 0, 65, 131).transpose(2, 0, 1).copy(), ramp(3, 70, 130)]
    check("transpose", planes, layout="CHW", perm=perm)
    check("transpose", [ramp(5, 130, 65)], perm=perm)


@pytest.mark.parametrize("layout", ["HWC", ""])
@pytest.mark.parametrize(
    "perm", [None, [2, 0, 1], [0, 1, 2], [0, 1], [0, 1, 1], [-1, 0, 1], [3, 0, 1]]
)
def test_layouts_and_refusals(layout: str, perm: list[int] | None) -> None:
    for move, new in itertools.product((None, True, False), (None, "CHW", "XYZ", "XY")):
        given: dict[str, Any] = {"perm": perm, "transpose_layout": move, "output_layout": new}
        named = {key: value for key, value in given.items() if value is not None}
        check("transpose", [ramp(2, 3, 4)], layout=layout, both_may_refuse=True, **named)


@pytest.mark.parametrize("name", NAMES)
def test_dtypes(name: str) -> None:
    check("transpose", [ramp(5, 7, 3, dtype=DTYPES[name].numpy)], layout="HWC", perm=[2, 0, 1])
