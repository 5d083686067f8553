"""Fused groups that make spectra: the bits of the steps alone, and what they leave to these."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import OperatorValueError, batch, capture
from gradiva.capture.runtime.fusion_report import Reason
from tests.tiers import few

Array = np.ndarray[Any, Any]
SIZES = (4000, 333, 1600, 97, 2570)


def audio(dtype: str = "float32") -> Any:
    generator = np.random.default_rng(5)
    made = [generator.uniform(-1, 1, size) for size in SIZES]
    return batch([(one * (1 if dtype == "float32" else 9000)).astype(dtype) for one in made])


def spectra(x: Any, **arguments: Any) -> Any:
    given = {"window_length": 50, "window_step": 20, "nfft": 64} | arguments
    return gradiva.spectrogram(x, **given)


def bands(x: Any, **arguments: Any) -> Any:
    return gradiva.mel_filter_bank(x, nfilter=12, sample_rate=16000, **arguments)


def part(x: Any) -> Any:
    begins = [[10], [20], [30], [40], [50]]
    return gradiva.slice(x, start=begins, shape=[[900], [300], [1], [50], [2500]], axes=[0])


GROUPS: dict[str, Callable[[Any], Any]] = {
    "all": lambda x: gradiva.to_decibels(
        bands(spectra(gradiva.preemphasis_filter(part(x)))), cutoff_db=-60
    ),
    "filtered": lambda x: spectra(gradiva.preemphasis_filter(x, preemph_coeff=[0, 0.5, 1, 2, 0.9])),
    "zero before": lambda x: spectra(gradiva.preemphasis_filter(x, border="zero")),
    "mirrored": lambda x: spectra(gradiva.preemphasis_filter(x, border="reflect")),
    "part": lambda x: spectra(part(x)),
    "bands": lambda x: bands(spectra(x)),
    "frames first": lambda x: bands(spectra(x, layout="tf")),
    "one frame": lambda x: bands(spectra(x, window_step=5000)),
    "far frames": lambda x: bands(spectra(gradiva.preemphasis_filter(x), window_step=120)),
    "levels": lambda x: gradiva.to_decibels(spectra(x), reference=2.0),
    "magnitudes": lambda x: gradiva.to_decibels(spectra(x, power=1), multiplier=20.0),
    "odd": lambda x: bands(spectra(x, nfft=75)),
    "zeros outside": lambda x: bands(spectra(x, reflect_padding=False)),
    "inside": lambda x: bands(spectra(x, center_windows=False)),
}


@pytest.mark.parametrize("name", few(GROUPS, "all"))
def test_bits_of_the_steps_alone(name: str) -> None:
    function, given = GROUPS[name], audio()
    expected = function(given)
    fast = capture.compile(function)
    made = fast(given)
    assert made.layout == expected.layout
    for one, other in zip(made.arrays(), expected.arrays(), strict=True):
        np.testing.assert_array_equal(one, other)
    (group,) = fast.explain()
    assert group.fused == 1


@pytest.mark.parametrize(
    ("function", "given", "reason"),
    [
        (lambda x: spectra(gradiva.preemphasis_filter(x)), audio("int16"), Reason.DTYPE),
        (
            lambda x: spectra(
                gradiva.slice(x, start=-5, shape=300, axes=[0], out_of_bounds_policy="pad")
            ),
            audio(),
            Reason.MEMBER,
        ),
        (lambda x: bands(spectra(x, nfft=2 * 97)), audio(), Reason.MEMBER),
    ],
    ids=["integers", "padded part", "large prime factor"],
)
def test_what_is_left_to_the_steps(function: Any, given: Any, reason: Reason) -> None:
    expected = function(given)
    fast = capture.compile(function)
    for one, other in zip(fast(given).arrays(), expected.arrays(), strict=True):
        np.testing.assert_array_equal(one, other)
    (group,) = fast.explain()
    assert group.fused == 0
    assert {code for code, _ in group.reasons} == {reason}


def test_groups_in_the_graph() -> None:
    """What is read twice ends a group; spectra alone are none."""
    alone = capture.compile(spectra)
    alone(audio())
    assert len(alone.explain()) == 0

    def twice(x: Any) -> Any:
        power = spectra(gradiva.preemphasis_filter(x))
        return bands(power), gradiva.to_decibels(power)

    fast = capture.compile(twice)
    fast(audio())
    assert [group.members for group in fast.explain()] == [("preemphasis_filter", "spectrogram")]


def test_errors_are_those_of_the_member() -> None:
    fast = capture.compile(lambda x: bands(spectra(x, center_windows=False)))
    short = batch([np.zeros(900, np.float32), np.zeros(9, np.float32)])
    with pytest.raises(OperatorValueError, match="spectrogram: the sound is too short") as raised:
        fast(short)[0]
    assert "sample 1" in str(raised.value)
