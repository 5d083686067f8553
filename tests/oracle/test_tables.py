"""lookup_table, equalize, clahe and debayer against DALI: exact."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gradiva
from gradiva import OperatorValueError, batch

from .pictures import pictures, ramp
from .reference import DTYPES, NAMES, REFUSALS, check, reference

SOURCES = ("int8", "int32", "uint64")
PAIRS = [*(("uint8", name) for name in NAMES), *zip(SOURCES * len(NAMES), NAMES, strict=False)]


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_lookup_dtypes(source: str, target: str) -> None:
    keys, values = [0, 1, 3, 200, 65535], [10.5, 300.7, -3.0, float("nan"), 1e20]
    sample = np.array([0, 1, 2, 3, 127, 4, -1, 200, 2**16 - 1, 2**31 + 1]).astype(source)
    if target == "float16":
        values[3:] = [2.5, 7.25]
    if target in ("int32", "int64", "uint64"):
        values[3] = 2.5  # NaN is 0 here as for the other integers, see docs/differences.md
    check(
        "lookup_table", [sample], keys=keys, values=values, default_value=7.6, dtype=DTYPES[target]
    )


@pytest.mark.parametrize("source", [name for name in NAMES if name not in ("uint8", "int8")])
def test_lookup_sources(source: str) -> None:
    sample = ramp(50, dtype=DTYPES[source].numpy)
    check("lookup_table", [sample], keys=[0, 5], values=[1.0, 2.0], both_may_refuse=True)


def test_lookup_pictures() -> None:
    keys = list(range(256))
    values = [float((x * 7 + 3) % 256) for x in keys]
    check("lookup_table", pictures(), keys=keys, values=values, dtype=DTYPES["uint8"])
    check("lookup_table", pictures(), keys=keys[::3], values=values[::3], default_value=0.5)
    for wrong in (
        {"keys": [-1], "values": [1.0]},
        {"keys": [65536], "values": [1.0]},
        {"keys": [1], "values": []},
    ):
        check("lookup_table", pictures(), both_may_refuse=True, **wrong)


@pytest.mark.parametrize("layout", ["HW", "HWC", "CHW", "FHW", "FHWC", "FCHW", "WHC", ""])
def test_equalize_layouts(layout: str) -> None:
    shape = {"C": 3, "H": 7, "W": 9, "F": 2}
    letters = layout or "HWC"
    samples = [ramp(*(shape[c] + (c != "C") * k for c in letters), seed=k) for k in range(3)]
    check("equalize", samples, layout=layout, both_may_refuse=True)


@pytest.mark.parametrize("channels", [1, 2, 3, 4, 5])
def test_equalize(channels: int) -> None:
    if channels == 3:
        check("equalize", pictures())
    generator = np.random.default_rng(channels)
    samples = []
    for _ in range(20):
        low, high = sorted(generator.integers(0, 256, 2))
        shape = (*generator.integers(1, 40, 2), channels)
        samples.append(generator.integers(low, high + 1, shape).astype(np.uint8))
    check("equalize", samples, layout="HWC")


@pytest.mark.parametrize("luma_only", [True, False])
def test_clahe(luma_only: bool) -> None:
    for tiles in ((4, 4), (3, 5), (1, 1), (8, 2)):
        for limit in (0.0, 0.5, 2.0, 40.0):
            check(
                "clahe",
                pictures(),
                tiles_x=tiles[0],
                tiles_y=tiles[1],
                clip_limit=limit,
                luma_only=luma_only,
            )
    check(
        "clahe",
        [ramp(13, 17, 1)],
        layout="HWC",
        tiles_x=2,
        tiles_y=2,
        clip_limit=3.0,
        bins=64,
        luma_only=luma_only,
    )


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_clahe_numbers(data: st.DataObject) -> None:
    shape = (data.draw(st.integers(1, 50)), data.draw(st.integers(1, 50)), 3)
    check(
        "clahe",
        [ramp(*shape)],
        layout="HWC",
        tiles_x=data.draw(st.integers(1, 9)),
        tiles_y=data.draw(st.integers(1, 9)),
        clip_limit=data.draw(st.floats(0, 10)),
    )


@pytest.mark.parametrize("tiles", [0, -1, 2000])
def test_clahe_refuses(tiles: int) -> None:
    """0 kills the process of DALI."""
    with pytest.raises(OperatorValueError, match="`tiles_y`"):
        gradiva.clahe(pictures(), tiles_x=1, tiles_y=tiles, clip_limit=1.0)
    for limit in (-1.0, float("nan"), float("inf")):
        with pytest.raises(OperatorValueError, match="`clip_limit`"):
            gradiva.clahe(pictures(), tiles_x=1, tiles_y=1, clip_limit=limit)


@pytest.mark.parametrize("layout", ["HWC", "HW", "CHW", "FHWC", ""])
@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_clahe_layouts(layout: str, channels: int) -> None:
    shape = {"C": channels, "H": 17, "W": 19, "F": 2}
    sample = ramp(*(shape[c] for c in layout or "HWC"))
    arguments: dict[str, Any] = {"tiles_x": 2, "tiles_y": 2, "clip_limit": 2.0}
    if layout == "HW":
        with pytest.raises(REFUSALS):
            reference("clahe", [[sample]], layout="HW", **arguments)
        ours = gradiva.clahe(batch([sample], layout="HW"), **arguments).at(0)
        gray = gradiva.clahe(batch([sample[..., None]], layout="HWC"), **arguments).at(0)
        np.testing.assert_array_equal(ours, gray[..., 0])
        return
    check("clahe", [sample], layout=layout, both_may_refuse=True, **arguments)


ALGORITHMS = ("bilinear_ocv", "edgeaware_ocv", "vng_ocv", "gray_ocv")


@pytest.mark.parametrize("place", [[0, 0], [0, 1], [1, 0], [1, 1]])
@pytest.mark.parametrize("algorithm", [None, *ALGORITHMS, "default_npp", "other"])
def test_debayer(algorithm: str | None, place: list[int]) -> None:
    more: dict[str, Any] = {} if algorithm is None else {"algorithm": algorithm}
    for dtype in ("uint8", "uint16", "int16"):
        samples = [ramp(*shape, dtype=dtype) for shape in ((40, 62), (6, 8), (10, 6))]
        check("debayer", samples, layout="HW", blue_position=place, both_may_refuse=True, **more)


@pytest.mark.parametrize(
    ("layout", "shape"),
    [
        ("HW", (8, 10)),
        ("", (8, 10)),
        ("HWC", (8, 10, 1)),
        ("HWC", (8, 10, 3)),
        ("", (8, 10, 1)),
        ("FHW", (3, 8, 10)),
        ("FHWC", (3, 8, 10, 1)),
        ("", (3, 8, 10)),
        ("CHW", (1, 8, 10)),
        ("HW", (7, 10)),
        ("HW", (8, 9)),
        ("HW", (4, 4)),
        ("XY", (8, 10)),
    ],
)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_debayer_layouts(algorithm: str, layout: str, shape: tuple[int, ...]) -> None:
    check(
        "debayer",
        [ramp(*shape)],
        layout=layout,
        both_may_refuse=True,
        blue_position=[0, 1],
        algorithm=algorithm,
    )
