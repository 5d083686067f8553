"""Random values and noise through their GPU kernels, beyond the cases of the operators."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva.eager.operators.cases import Case, samples
from gradiva.eager.operators.operator import operators
from tests.tiers import few

from .harness import all_launches, planned
from .shim import COMPILER, NO_COMPILER, run_launches

pytestmark = pytest.mark.skipif(COMPILER is None, reason=NO_COMPILER)


def require_bits(wanted: list[tuple[str, tuple[Any, ...], dict[str, Any]]], folder: Path) -> None:
    found = [
        one
        for name, given, arguments in wanted
        for one in planned(operators[name], [Case(str(arguments), given, arguments)])
    ]
    run_launches(all_launches(found), folder)
    for one in found:
        assert one.tolerance == 0
        for ours, expected in zip(one.samples, one.expected, strict=True):
            np.testing.assert_array_equal(ours, expected, err_msg=one.name)


@pytest.mark.full
def test_noise(tmp_path: Path) -> None:
    """Samples of several blocks and of none; means of Poisson variables of every size."""
    shapes = ((90, 61, 3), (0, 7, 3), (1, 1, 3))
    images = samples(*shapes)
    wide = samples((70, 70), dtype=gradiva.int64, layout="HW", low=-100, high=10**6)
    floats = samples((50, 99), dtype=gradiva.float64, layout="HW", high=300)
    for_shot = {"seed": 3, "factor": 0.5}
    require_bits(
        [
            ("noise.gaussian", (images,), {"seed": 1, "stddev": 30.0}),
            ("noise.gaussian", (wide,), {"seed": 1, "stddev": 1e6}),
            ("noise.shot", (images,), for_shot),
            ("noise.shot", (wide,), {"seed": 4, "factor": -1.0}),
            ("noise.shot", (floats,), for_shot),
            ("noise.salt_and_pepper", (images,), {"seed": 5, "prob": 0.4}),
            ("noise.salt_and_pepper", (images,), {"seed": 5, "prob": 0.4, "per_channel": True}),
            ("noise.salt_and_pepper", (samples((3, 70, 80), layout="CHW"),), {"prob": 0.3}),
        ],
        tmp_path,
    )


def test_random(tmp_path: Path) -> None:
    """Many values, so that rejection needs several attempts for some."""
    rows = samples((5, 40, 3), (7, 40, 3), layout="HWC")
    require_bits(
        [
            (
                "random.beta",
                (),
                {
                    "alpha": [0.05, 3.0],
                    "beta": [0.3, 1.0],
                    "shape": 3000,
                    "batch_size": 2,
                    "seed": 1,
                },
            ),
            ("random.choice", (rows,), {"shape": 31, "seed": 2}),
            ("random.choice", (np.uint64(2**64 - 1),), {"shape": 1500, "batch_size": 2}),
            ("random.choice", (np.int8(100),), {"shape": 1500, "batch_size": 2, "seed": 4}),
        ],
        tmp_path,
    )


@pytest.mark.parametrize("dtype", few(["u1", "i8", "u8", "f2", "f4", "f8", "bool"], "f4"))
def test_classes_of_all_types(dtype: str, tmp_path: Path) -> None:
    values = [0.0, 1.0, 2.0, 3.0, 200.0]
    if dtype[0] == "f":
        values += [-0.5, -1.0, 1.99, np.nan, np.inf, -np.inf]
    if dtype[1] == "8":
        values += [2.0**31, 2.0**40 + 1, 2.0**32]
    numbers = gradiva.as_batch([np.array(values).astype(dtype), np.ones((700,), dtype)])
    arguments = {"num_classes": 3, "on_value": 7.5, "axis": 0, "dtype": gradiva.float16}
    require_bits([("one_hot", (numbers,), arguments)], tmp_path)
