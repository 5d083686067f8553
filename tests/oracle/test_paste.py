"""paste and multi_paste: equal to DALI, and what one refuses, the other does too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gradiva
from gradiva import Batch, batch

from .pictures import pictures, ramp
from .reference import DTYPES, agree, check, reference

PASTE: tuple[dict[str, Any], ...] = (
    {"ratio": 2, "fill_value": (9, 8, 7)},
    {"ratio": 1, "fill_value": (300, -1, 7)},
    {"ratio": 0.5, "fill_value": 1},
    {"ratio": 1.49, "fill_value": 9},
    {"ratio": 1, "min_canvas_size": 7.9, "fill_value": 9},
    {"ratio": 3, "min_canvas_size": 7.9, "fill_value": 9, "paste_x": 0.3, "paste_y": 0.9},
    {"ratio": 2, "fill_value": 9, "paste_x": 1.1},
    {"ratio": 2, "fill_value": (1, 2)},
    {"ratio": 2, "fill_value": (1, 2, 3, 4), "n_channels": 3},
    {"ratio": 2, "fill_value": 1, "n_channels": 1},
    {"ratio": [1, 2.3], "fill_value": 1, "paste_x": [0, 0.7], "paste_y": [1, 0.2],
     "min_canvas_size": [20, 3]},
)  # fmt: skip


@pytest.mark.parametrize("layout", ["HWC", ""])
@pytest.mark.parametrize("arguments", PASTE, ids=str)
def test_paste(arguments: dict[str, Any], layout: str) -> None:
    check("paste", [ramp(5, 7, 3), ramp(4, 3, 3)], layout=layout, both_may_refuse=True, **arguments)


@settings(max_examples=30, derandomize=True, deadline=None)
@given(
    ratio=st.floats(1, 3, width=32),
    at=st.tuples(st.floats(0, 1, width=32), st.floats(0, 1, width=32)),
    least=st.floats(0, 150, width=32),
)
def test_paste_pictures(ratio: float, at: tuple[float, float], least: float) -> None:
    check(
        "paste",
        pictures(),
        ratio=ratio,
        paste_x=at[0],
        paste_y=at[1],
        min_canvas_size=least,
        fill_value=(124, 116, 104),
    )


def test_gray_on_a_colored_canvas() -> None:
    """There the three values follow each other over the gray pixels; here the first one holds."""
    gray = ramp(2, 2, 1)
    ours = gradiva.paste(batch([gray], layout="HWC"), ratio=2, fill_value=(9, 8, 7))
    np.testing.assert_array_equal(ours.at(0), np.pad(gray, 1, constant_values=9)[:, :, 1:2])


def rows(*values: Any, dtype: Any = np.int32) -> Batch:
    """A table of regions for each sample."""
    return batch([np.array(value, dtype).reshape(-1, 2) for value in values])


def ids(*values: Any) -> Batch:
    return batch([np.array(value, np.int32) for value in values])


FLOATS = np.float32
MULTI: tuple[dict[str, Any], ...] = (
    {"output_size": (9, 9)},
    {"output_size": (4, 4)},
    {},
    {"output_size": (9, 9), "in_ids": ids([1], [0])},
    {"output_size": (9, 9), "in_ids": ids([1, 0], [])},
    {"in_ids": ids([1], [0])},
    {"output_size": (9, 9), "in_ids": ids([2], [0])},
    {"output_size": (9, 9), "in_ids": ids([-1], [0])},
    {
        "output_size": (12, 12),
        "in_ids": ids([0, 1], [1]),
        "out_anchors": rows([[0, 1], [2, 2]], [3, 4]),
    },
    {"output_size": (12, 12), "in_ids": ids([0, 1], [1]), "out_anchors": rows([0, 1], [3, 4])},
    {"output_size": np.array([[6, 8], [9, 9]]), "out_anchors": rows([1, 1], [0, 0])},
    {"output_size": (9, 9), "in_anchors": rows([1, 2], [3, 2])},
    {"output_size": (9, 9), "in_anchors": rows([1, 2], [-1, 2])},
    {"output_size": (9, 9), "in_anchors": rows([1, 2], [3, 2]), "shapes": rows([2, 2], [1, 1])},
    {"output_size": (9, 9), "in_anchors": rows([1, 2], [3, 2]), "shapes": rows([2, 9], [1, 1])},
    {"output_size": (9, 9), "shapes": rows([2, 0], [1, -1])},
    {"output_size": (-9, 9)},
    {"output_size": (9, 9), "shapes_rel": rows([0.34, 0.5], [0.7, 1], dtype=FLOATS)},
    {"output_size": (9, 9), "in_anchors_rel": rows([0.3, 0.5], [0.7, 0.9], dtype=FLOATS)},
    {"output_size": (13, 15), "out_anchors_rel": rows([0.3, 0.41], [0.05, 0.3], dtype=FLOATS)},
    {"output_size": (9, 9), "out_anchors_rel": rows([-0.1, 0], [0, 0], dtype=FLOATS)},
    {
        "output_size": (9, 9),
        "in_anchors_rel": rows([0.3, 0.5], [0.7, 0.6], dtype=FLOATS),
        "shapes_rel": rows([0.28, 0.21], [0.2, 0.3], dtype=FLOATS),
    },
    {
        "output_size": (9, 9),
        "in_anchors_rel": rows([0.3, 0.5], [0.7, 0.6], dtype=FLOATS),
        "in_anchors": rows([1, 1], [1, 1]),
    },
)


@pytest.mark.parametrize("layout", ["HWC", ""])
@pytest.mark.parametrize("arguments", MULTI, ids=", ".join)
def test_multi_paste(arguments: dict[str, Any], layout: str) -> None:
    samples = [ramp(5, 7, 3), ramp(4, 3, 3)]
    check("multi_paste", samples, layout=layout, both_may_refuse=True, **arguments)


def test_sequences() -> None:
    """DALI refuses most sequences of more than one frame: each frame is an image."""
    samples = [ramp(5, 7, 3), ramp(4, 3, 3)]
    frames = batch([np.stack([sample, 255 - sample]) for sample in samples], layout="FHWC")
    arguments = MULTI[8]
    ours = gradiva.multi_paste(frames, **arguments)
    for number, images in enumerate((samples, [255 - sample for sample in samples])):
        theirs = reference("multi_paste", [batch(images, layout="HWC")], **arguments)
        for index, expected in enumerate(theirs):
            np.testing.assert_array_equal(ours.at(index)[number], expected)


@pytest.mark.parametrize("arguments", MULTI, ids=", ".join)
def test_two_inputs(arguments: dict[str, Any]) -> None:
    inputs = [batch([ramp(5, 7, 3), ramp(4, 3, 3)], layout="HWC")] * 2
    doubled = dict(arguments)
    for name, table in arguments.items():
        if name.startswith(("in_a", "out_a", "shapes")):
            doubled[name] = batch([np.repeat(table.at(i), 2, axis=0) for i in range(2)])
    agree(
        lambda: gradiva.multi_paste(*inputs, **doubled),
        lambda: reference("multi_paste", inputs, **doubled),
    )


@pytest.mark.parametrize("into", ["uint8", "int16", "int32", "float32"])
@pytest.mark.parametrize("name", ["uint8", "int16", "int32", "float32"])
def test_dtypes(name: str, into: str) -> None:
    generator = np.random.default_rng(4)
    sample = generator.normal(0, 300, (6, 7, 3)).astype(DTYPES[name].numpy)
    if name == "float32":
        sample = np.round(sample * 2) / 2
    check("multi_paste", [sample], layout="HWC", output_size=(7, 7), dtype=DTYPES[into])


def test_beyond_the_reference() -> None:
    """Other dtypes and layouts."""
    planes = [ramp(2, 4, 5, dtype=np.float64), ramp(2, 3, 3, dtype=np.float64)]
    ours = gradiva.multi_paste(batch(planes, layout="CHW"), output_size=(5, 6), out_anchors=(1, 1))
    for index, plane in enumerate(planes):
        wide = [(0, 0), (1, 4 - plane.shape[1]), (1, 5 - plane.shape[2])]
        np.testing.assert_array_equal(ours.at(index), np.pad(plane, wide))
