"""Operators on audio through their GPU kernels, beyond the cases of the operators."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import capture, fn
from gradiva.eager.operators.cases import Case
from gradiva.eager.operators.operator import operators

from .harness import Planned, all_launches, planned
from .recipes import bits, device, outputs
from .shim import COMPILER, NO_COMPILER, run_launches

pytestmark = pytest.mark.skipif(COMPILER is None, reason=NO_COMPILER)

LENGTHS = (3000, 0, 1, 257, 64, 65, 700, 63)
TYPES = ("uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float32")
RULES: list[dict[str, Any]] = [
    {},
    {"window_length": 1, "cutoff_db": -3.0},
    {"window_length": 64, "cutoff_db": -20.0, "reset_interval": 64},
    {"window_length": 64, "cutoff_db": -1.0, "reset_interval": -1},
    {"window_length": 7, "cutoff_db": 0.0, "reset_interval": 3},
    {"window_length": 1 << 40, "cutoff_db": -40.0},
    {"window_length": 100, "reference_power": 0.25, "cutoff_db": -6.0},
    {"window_length": 100, "reference_power": 1e30},
    {"window_length": 33, "cutoff_db": -1e300},
    {"window_length": 33, "cutoff_db": 1e300},
]


def audio(dtype: str) -> list[Any]:
    """Noise between what is nearly silent, over the whole range of a type."""
    generator = np.random.default_rng(len(dtype))
    made = []
    for length in LENGTHS:
        wave = generator.uniform(-1, 1, length)
        wave[: length // 3] *= 1e-3
        wave[length - length // 4 :] *= 1e-2
        if dtype != "float32":
            wave *= np.iinfo(dtype).max * 0.999
        made.append((np.abs(wave) if dtype.startswith("u") else wave).astype(dtype))
    return made


def odd_audio() -> list[Any]:
    """Silence; NaN; infinities; what is less than the smallest number whose square is one."""
    noise = np.random.default_rng(1).uniform(-1, 1, 500)
    made = [np.zeros(500), noise.copy(), noise.copy(), noise.copy(), noise * 1e-40]
    made[1][[3, 250]] = np.nan
    made[2][:] = np.nan
    made[3][[100, 300]] = np.inf, -np.inf
    return [one.astype(np.float32) for one in made]


def regions(values: list[Any], rules: list[dict[str, Any]]) -> list[Planned]:
    """`nonsilent_region` of a batch, by several rules, as a GPU is asked for it."""
    taken = gradiva.as_batch(values, layout="t")
    cases = [Case(f"{taken.dtype}, {rule}", (taken,), rule) for rule in rules]
    return planned(operators["nonsilent_region"], cases)


def check_same(found: list[Planned], folder: Path, **how: Any) -> None:
    run_launches(all_launches(found), folder, **how)
    for one in found:
        assert one.tolerance == 0
        np.testing.assert_array_equal(one.samples, one.expected, err_msg=one.name)


@pytest.mark.full
def test_region_of_ragged_and_odd_sounds(tmp_path: Path) -> None:
    """Regions that are parts of the audio, at different places, are the CPU's."""
    found = regions(audio("int16"), RULES) + regions(odd_audio(), RULES)
    found += regions([], RULES[:1])
    check_same(found, tmp_path)
    begins, lengths = np.array(found[2].samples).reshape(2, -1)
    assert 0 < begins[0] < begins[0] + lengths[0] < 3000
    assert (begins[1], lengths[1]) == (0, 0)


@pytest.mark.full
@pytest.mark.parametrize("dtype", TYPES)
def test_region_of_all_types(dtype: str, tmp_path: Path) -> None:
    """Every type by every rule, the last threads first, under the sanitizers."""
    check_same(regions(audio(dtype), RULES), tmp_path, backward=True, sanitize=True)


def cut(waves: Any) -> Any:
    """What is not silent: where it begins, and how long it is."""
    begin, length = gradiva.nonsilent_region(waves, cutoff_db=-20.0, window_length=64)
    return begin, length, gradiva.preemphasis_filter(waves)


def test_region_in_all_modes() -> None:
    """The same numbers on the CPU and on a GPU, eager, deferred, compiled and in a pipeline."""
    waves = audio("int16")

    def piped(where: str) -> Any:
        pipe = gradiva.Pipeline(batch_size=len(waves), num_threads=1, device_id=0)
        with pipe:
            pipe.set_outputs(*cut(fn.external_source(lambda _: waves, device=where)))
        return outputs(pipe, 2)

    taken = gradiva.as_batch(waves)
    expected = [bits(one) for one in cut(taken)]
    assert piped("cpu") == [expected] * 2
    with device():
        made = cut(taken.gpu())
        assert str(made[0].device) == "gpu:0"
        assert [bits(one) for one in made] == expected
        with gradiva.EvalMode.deferred:
            assert [bits(one) for one in cut(taken.gpu())] == expected
        assert [bits(one) for one in capture.compile(cut)(taken.gpu())] == expected
        assert piped("gpu") == [expected] * 2
        del made
