"""Promise: whatever an operator is given, the answer is a result or a clear error: no crash of the
interpreter, no hang, no gigabytes. The calls are drawn in `hostile.py`; what they found stands
here."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradiva.eager.operators.operator import operators
from gradiva.eager.operators.ragged import ragged_rows
from gradiva.eager.support.errors import GradivaError
from gradiva.eager.values.batch import Batch, batch
from gradiva.eager.values.value import arithmetic
from tests.eager.operators.hostile import attacked
from tests.needs import needs_opencv
from tests.tiers import few

IMAGES = batch([np.arange(72, dtype=np.uint8).reshape(4, 6, 3)], layout="HWC")
NOTHING = batch([np.zeros((4, 6, 0), np.uint8)], layout="HWC")
FAR = (1 << 63) - 1
CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any], str]] = [
    # An end beyond 64 bits came out negative, and the region was written outside of the output.
    (
        "multi_paste",
        (IMAGES,),
        {"output_size": (4, 6), "shapes": (1, 1), "out_anchors": (FAR, FAR)},
        "leaves the output",
    ),
    ("multi_paste", (batch([np.zeros((1, 2, 3, 2, 3), np.uint8)]),), {}, "layout"),
    # By way of float64 the size came out negative, and the blurred image was noise.
    ("gaussian_blur", (IMAGES,), {"window_size": FAR}, "`window_size`"),
    # Numbers that are none became "the whole extent".
    ("crop", (IMAGES,), {"crop": (float("inf"), 2)}, "`crop`"),
    ("crop", (IMAGES,), {"crop_h": float("nan"), "crop_w": 2}, "`crop_h`"),
    ("crop", (IMAGES,), {"crop_h": [float("-inf")], "crop_w": 2}, "`crop_h`"),
    # A negative extent passed for a small one.
    ("pad", (IMAGES,), {"shape": FAR, "align": 2}, "too large"),
    ("zeros", (), {"shape": (1 << 62, 0)}, "no elements"),
    # A loop over 2**41 pixels without channels.
    (
        "crop",
        (NOTHING,),
        {"crop": (1 << 31, 1 << 10), "out_of_bounds_policy": "pad"},
        "no elements",
    ),
    ("resize", (NOTHING,), {"size": (1 << 31, 1)}, "no elements"),
    ("experimental.median_blur", (IMAGES,), {"window_size": (1 << 31) - 1}, "`window_size`"),
    (
        "roi_random_crop",
        (),
        {"batch_size": 1, "crop_shape": (2,), "roi_start": [[-FAR - 1]], "roi_end": [[-FAR - 1]]},
        "`roi_start`",
    ),
]


@pytest.mark.tiny
@pytest.mark.parametrize(
    ("name", "inputs", "arguments", "match"),
    [pytest.param(*call, id=f"{place}-{call[0]}") for place, call in enumerate(CALLS)],
)
def test_refused(name: str, inputs: tuple[Any, ...], arguments: dict[str, Any], match: str) -> None:
    operator: Any = operators[name]
    with pytest.raises(GradivaError, match=match) as caught:
        operator(*inputs, **arguments)
    assert str(caught.value).startswith(name)


@needs_opencv
@pytest.mark.tiny
@pytest.mark.parametrize("name", ["experimental.dilate", "experimental.erode"])
@pytest.mark.parametrize("border", ["constant", "clamp", "wrap", "reflect_101", "reflect_1001"])
def test_huge_masks_and_many_iterations(name: str, border: str) -> None:
    """They took memory and time by what was asked for, not by the image."""
    operator: Any = operators[name]
    reduced = (np.max if name.endswith("dilate") else np.min)(IMAGES.at(0), axis=(0, 1))
    expected = np.broadcast_to(reduced, (4, 6, 3))
    for arguments in ({"mask_size": 1 << 62}, {"mask_size": 3, "iterations": 1 << 40}):
        result = operator(IMAGES, border_mode=border, **arguments)
        np.testing.assert_array_equal(result.at(0), expected)
    # A mask that reaches three extents beyond each side, given in full, is like the huge one.
    np.testing.assert_array_equal(
        operator(IMAGES, mask_size=37, border_mode=border).at(0), expected
    )


@pytest.mark.tiny
def test_numbers_too_large_for_float32_are_infinite(recwarn: pytest.WarningsRecorder) -> None:
    """As one value, per sample and as a batch alike, and without a warning of NumPy's."""
    argument = operators["erase"].arguments["fill_value"]
    assert argument.static(1e300) == (np.inf,)
    assert argument.static([-1e300, 3e38]) == (-np.inf, 3e38)
    assert np.isposinf(argument.given_rows(np.array([[1e300], [2e300]]), 2)).all()
    ragged = operators["multi_paste"].arguments["in_anchors_rel"]
    assert np.isneginf(ragged_rows(ragged, [np.array([-1e300])])[0]).all()
    assert not [w for w in recwarn if issubclass(w.category, RuntimeWarning)]


def _per_sample(argument: Any, value: Any) -> np.ndarray[Any, Any] | None:
    """No rows of an argument that has this value for all samples."""
    if isinstance(value, Batch):
        return np.empty((0, *value.at(0).shape), value.dtype.numpy) if len(value) else None
    if value is None or isinstance(value, str) or argument.kind.shaped:
        return None  # names of members of enumerations are not given per sample
    if argument.kind.ragged:
        return np.empty((0, 1), argument.kind.element)
    row = np.asarray(value, argument.kind.element)
    if isinstance(value, np.ndarray) or row.ndim > int(argument.kind.vector):
        row = row[0] if len(row) else row
    return np.empty((0, *row.reshape(-1).shape) if argument.kind.vector else 0, row.dtype)


@pytest.mark.parametrize(
    "name",
    few([name for name in attacked() if name not in (*arithmetic, "permute_batch")], every=8),
)
def test_empty_batches_with_arguments_per_sample(name: str) -> None:
    """A check of the width of an argument must not refuse a batch without samples."""
    operator: Any = operators[name]
    for case in operator.case_maker():
        held = [value for value in case.inputs if isinstance(value, Batch)]
        if case.raises is not None or len(held) != len(case.inputs):
            continue
        inputs = [
            batch(np.empty((0, *[1] * value.ndim), value.dtype.numpy), layout=value.layout)
            for value in held
        ]
        arguments = {key: value for key, value in case.arguments.items() if key != "batch_size"}
        if not inputs:
            arguments["batch_size"] = 0
        for key, value in list(arguments.items()):
            if key in operator.arguments and operator.arguments[key].per_sample:
                rows = _per_sample(operator.arguments[key], value)
                if rows is not None:
                    arguments[key] = rows
                elif isinstance(value, list | np.ndarray | Batch):
                    arguments.pop(key)
        if any(
            argument.required and key not in arguments
            for key, argument in operator.arguments.items()
        ):
            continue
        outputs = operator(*inputs, **arguments)
        for output in outputs if isinstance(outputs, tuple) else (outputs,):
            assert len(output) == 0, (name, case.name)


@pytest.mark.tiny
def test_empty_batches_with_rows_of_another_width() -> None:
    """Without samples there is nothing that a width could contradict."""
    images = batch(np.empty((0, 4, 6, 3), np.uint8), layout="HWC")
    for width in (0, 1, 6):
        rows = np.empty((0, width), np.int64)
        floats = np.empty((0, width), np.float32)
        calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
            ("multi_paste", (images,), {"output_size": rows}),
            ("squeeze", (images,), {"axes": rows}),
            ("reshape", (images, batch(rows)), {}),
            ("transforms.rotation", (), {"angle": 30, "axis": floats}),
            ("transforms.translation", (), {"offset": floats}),
            ("erase", (images,), {"anchor": floats, "shape": floats}),
        ]
        for name, inputs, arguments in calls:
            operator: Any = operators[name]
            assert len(operator(*inputs, **arguments)) == 0, (name, width)


@pytest.mark.full
def test_hostile_calls(tmp_path: Path) -> None:
    """Drawn calls in a process of their own, which must survive them all. Each has 90 seconds, most
    of which are for kernels that are compiled, and 2 GB."""
    report = tmp_path / "report"
    # Interpreted, kernels check their bounds, and most need no compiler.
    command = [
        sys.executable,
        "-m",
        "tests.eager.operators.hostile",
        str(report),
        "--calls",
        "12",
        "--seed",
        "5",
    ]
    command.append("--interpreted")
    run = subprocess.run(
        command, cwd=Path(__file__).parents[3], capture_output=True, text=True, check=False
    )
    lines = [json.loads(line) for line in report.read_text().splitlines()]
    assert run.returncode == 0, (lines[-1:], run.stderr[-3000:])
    counts = lines[-1]["done"]
    wrong = [line for line in lines if line.get("outcome") in ("other", "unnamed", "input changed")]
    assert not wrong, json.dumps(wrong[:5], indent=1)
    assert sum(counts.values()) == 12 * len(attacked())
    assert counts["result"] > 3 * len(attacked())
    assert counts["refused"] > 3 * len(attacked())
    assert "IndexError" not in run.stderr
