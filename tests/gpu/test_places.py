"""GPU kernels that look at pixels elsewhere: what the operators' own cases do not reach."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva.eager.operators.cases import Case
from gradiva.eager.operators.operator import operators
from gradiva.eager.types.dtypes import InterpType
from gradiva.eager.values.batch import Batch

from .harness import all_launches, planned, require_equal
from .shim import COMPILER, NO_COMPILER, run_launches

pytestmark = pytest.mark.skipif(COMPILER is None, reason=NO_COMPILER)

Wanted = list[tuple[str, tuple[Batch, ...], dict[str, Any]]]

NEAREST = {"interp_type": InterpType.INTERP_NN}


def noise(dtype: str, layout: str, *shapes: tuple[int, ...]) -> Batch:
    """Samples of noise: all values of 8 bits, some thousands of wider types."""
    generator = np.random.default_rng(len(shapes))
    low, high = {"uint8": (0, 256), "int8": (-128, 128)}.get(dtype, (-3000, 3000))
    low = 0 if dtype.startswith("u") else low
    values = [generator.uniform(low, high, shape) for shape in shapes]
    return gradiva.as_batch([one.astype(dtype) for one in values], layout=layout)


def require_as_cpu(wanted: Wanted, folder: Path) -> None:
    """The GPU kernels do for these calls what the CPU kernels do."""
    found = [
        one
        for name, inputs, arguments in wanted
        for one in planned(operators[name], [Case(str(arguments), inputs, arguments)])
    ]
    assert len(found) == len(wanted)
    run_launches(all_launches(found), folder)
    for one in found:
        require_equal(one)


@pytest.mark.full
def test_warps(tmp_path: Path) -> None:
    """Rows of several tiles, several blocks, empty samples, places that are not finite."""
    images = noise("uint8", "HWC", (40, 50, 3), (0, 7, 3), (3, 700, 3), (33, 1, 3))
    turn = (0.83, 0.41, -7.3, -0.37, 0.91, 5.1)
    maps = [np.array(turn, np.float32).reshape(2, 3) * scale for scale in (1, 2, 0.3, -1)]
    lost = np.array([[np.nan, 0, 1], [0, np.inf, 0]], np.float32)
    huge = np.array([[1e30, 0, 0], [0, -3e9, 2**31]], np.float32)
    floats = noise("float32", "HWC", (9, 300, 4), (50, 5, 4))
    volumes = noise("int16", "DHWC", (3, 20, 31, 1), (5, 4, 600, 1))
    frames = noise("uint16", "FHWC", (3, 9, 20, 2), (2, 30, 5, 2))
    own = gradiva.as_batch([np.stack(maps[:3]), np.stack(maps[:2])])
    require_as_cpu(
        [
            ("warp_affine", (images,), {"matrix": turn, "fill_value": 9}),
            ("warp_affine", (images,), {"matrix": turn, "fill_value": 9, **NEAREST}),
            (
                "warp_affine",
                (images, gradiva.as_batch(maps)),
                {"size": (30, 600), "fill_value": -3.7, "dtype": gradiva.float32},
            ),
            ("warp_affine", (floats,), {"matrix": np.stack([lost, huge])}),
            ("warp_affine", (floats,), {"matrix": np.stack([huge, lost]), **NEAREST}),
            ("warp_affine", (frames, own), {"size": (8, 270)}),
            ("warp_affine", (frames, own), {"size": (8, 270), **NEAREST}),
            ("rotate", (images,), {"angle": 33, "fill_value": 0, "dtype": gradiva.int8}),
            ("rotate", (volumes,), {"angle": [21, 77], "axis": (1, 2, 3), "fill_value": 4}),
            ("rotate", (volumes,), {"angle": 200, "axis": (1, 0, 3), "size": (4, 5, 513)}),
            ("rotate", (volumes,), {"angle": 9, "axis": (1, 0, 0), "keep_size": True, **NEAREST}),
        ],
        tmp_path,
    )


def test_matrices_of_an_input_are_not_inverted() -> None:
    images = noise("uint8", "HWC", (4, 5, 3))
    maps = gradiva.as_batch([np.eye(2, 3, dtype=np.float32)])
    with pytest.raises(gradiva.OperatorRuntimeError, match="not inverted"):
        planned(operators["warp_affine"], [Case("", (images, maps), {"inverse_map": False})])


@pytest.mark.full
def test_blurs(tmp_path: Path) -> None:
    """Windows beyond the image, other ones for each sample, all axes, all kinds of dtypes."""
    images = noise("uint8", "HWC", (40, 50, 3), (0, 7, 3), (3, 70, 3), (33, 1, 3))
    volumes = noise("float64", "CDHW", (2, 5, 20, 17), (1, 1, 3, 4))
    frames = noise("uint32", "FCHW", (3, 2, 9, 20), (2, 3, 5, 2))
    rows = noise("int64", "WC", (700, 3), (5, 3))
    sigmas = np.array([[0.3, 2], [1, 1], [30, 0.1], [4, 5]], np.float32)
    require_as_cpu(
        [
            ("gaussian_blur", (images,), {"sigma": sigmas}),
            ("gaussian_blur", (images,), {"window_size": (1, 9), "dtype": gradiva.float32}),
            ("gaussian_blur", (volumes,), {"window_size": np.array([[7, 1, 3], [1, 5, 1]])}),
            ("gaussian_blur", (frames,), {"sigma": 1.7}),
            ("gaussian_blur", (rows,), {"sigma": 2.5}),
            ("laplacian", (images,), {"window_size": np.array([[3], [5], [31], [7]])}),
            ("laplacian", (volumes,), {"window_size": (3, 5, 3), "smoothing_size": (1, 3, 1)}),
            ("laplacian", (frames,), {"window_size": 5, "normalized_kernel": True}),
            ("laplacian", (rows,), {"window_size": 9, "scale": 1e-3}),
        ],
        tmp_path,
    )


@pytest.mark.full
def test_filters(tmp_path: Path) -> None:
    """All borders, windows beyond the image, halves, and windows that OpenCV transforms."""
    generator = np.random.default_rng(1)

    def windows(*shapes: tuple[int, ...]) -> Batch:
        made = [generator.integers(-3, 4, shape) / 2 for shape in shapes]
        return gradiva.as_batch([one.astype(np.float32) for one in made])

    images = noise("uint8", "HWC", (40, 50, 3), (0, 7, 3), (3, 70, 3), (33, 1, 3))
    four = windows((3, 3), (2, 2), (9, 4), (5, 7))
    fills = gradiva.as_batch([np.float32(one) for one in (3.5, 0, 300, -1)])
    volumes = noise("uint16", "CDHW", (2, 5, 20, 17), (1, 1, 3, 4))
    deep = windows((3, 2, 3), (4, 4, 1))
    floats = noise("float32", "HW", (60, 50), (14, 300))
    large = gradiva.as_batch([np.full((13, 13), 1 / 169, np.float32)] * 2)
    wanted: Wanted = [
        ("filter", (images, four), {"border": border, "anchor": anchor})
        for border, anchor in (("reflect_101", 0), ("reflect_1001", -1), ("wrap", -1), ("clamp", 1))
    ]
    wanted += [
        ("filter", (images, four, fills), {"border": "constant", "dtype": gradiva.float32}),
        ("filter", (volumes, deep), {"border": "wrap", "anchor": (2, 1, 0)}),
        ("filter", (volumes, deep, noise("int32", "", (), ())), {"border": "constant"}),
        ("filter", (floats, large), {"mode": "valid"}),
    ]
    require_as_cpu(wanted, tmp_path)


@pytest.mark.full
def test_windows(tmp_path: Path) -> None:
    """Masks and windows of other sizes for each sample, beyond the image, often; all dtypes."""
    images = noise("uint8", "HWC", (40, 50, 3), (0, 7, 3), (3, 70, 3), (33, 1, 3))
    planes = noise("int16", "CFHW", (2, 3, 30, 20), (1, 2, 5, 4))
    floats = noise("float32", "HWC", (9, 300, 2), (50, 5, 2))
    masks = np.array([[3, 5], [1, 1], [9, 200], [40, 2]])
    anchors = np.array([[-1, 0], [0, 0], [8, 150], [-1, 1]])
    own = {"mask_size": masks, "anchor": anchors}
    wanted: Wanted = [
        (f"experimental.{name}", (images,), {**own, "border_mode": border, "iterations": times})
        for name in ("dilate", "erode")
        for border, times in (("constant", 3), ("reflect", 2), ("reflect_101", 90), ("wrap", 4))
    ]
    wanted += [
        ("experimental.erode", (planes,), {"mask_size": 4, "anchor": 0, "iterations": 7}),
        ("experimental.dilate", (floats,), {"border_mode": "replicate", "iterations": 2}),
        ("experimental.dilate", (images,), {"iterations": 0}),
        ("experimental.median_blur", (images,), {"window_size": masks // 2 * 2 + 1}),
        ("experimental.median_blur", (planes,), {"window_size": 3}),
        ("experimental.median_blur", (floats,), {"window_size": 5}),
        ("experimental.median_blur", (floats,), {"window_size": (7, 3)}),
    ]
    require_as_cpu(wanted, tmp_path)


@pytest.mark.full
def test_displaced(tmp_path: Path) -> None:
    """Odd widths, several blocks, empty and unmoved samples, maps of frames; all dtypes."""
    images = noise("uint8", "HWC", (40, 51, 3), (0, 7, 3), (3, 71, 3), (33, 1, 3), (2, 3, 3))
    floats = noise("float32", "HWC", (9, 300, 4), (50, 5, 4))
    words = noise("int32", "HWC", (9, 30, 1), (50, 5, 1))
    soft = {"interp_type": InterpType.INTERP_LINEAR, "fill_value": -7.6}
    mask = {"mask": [1, 1, 0, 1, 1]}
    wanted: Wanted = [
        (name, (batch,), arguments)
        for name in ("sphere", "water", "jitter")
        for batch, arguments in ((images, mask), (floats, soft), (words, soft), (words, {}))
    ]
    wanted += [("jitter", (floats,), {"nDegree": 65536}), ("jitter", (images,), {"nDegree": 0})]
    frames = noise("int16", "FHWC", (3, 9, 20, 2), (2, 30, 5, 2), (1, 2, 2, 2))
    across = noise("float32", "FHW", (3, 40, 30), (1, 5, 6), (1, 0, 3))
    down = noise("float32", "FHW", (1, 40, 30), (2, 5, 6), (1, 0, 3))
    near = [gradiva.as_batch([one / 100 for one in maps.arrays()]) for maps in (across, down)]
    wanted += [
        ("experimental.remap", (frames, *near), {"interp": linear, "pixel_origin": origin})
        for linear, origin in ((0, "corner"), (1, "center"))
    ]
    require_as_cpu(wanted, tmp_path)


def test_projections(tmp_path: Path) -> None:
    """All borders and filters, matrices of an input and of frames, planes, pairs of channels."""
    some = (0.9, 0.1, 0.5, -0.2, 1.1, 3.3, 0.001, 0.002, 1)
    maps = [np.array(some, np.float32).reshape(3, 3) * scale for scale in (1, 2, -1)]
    name, linear = "experimental.warp_perspective", {"interp_type": InterpType.INTERP_LINEAR}
    images = noise("uint8", "HWC", (40, 50, 3), (3, 70, 3), (33, 1, 3))
    frames = noise("int16", "FHWC", (3, 9, 20, 2), (2, 30, 5, 2), (1, 40, 130, 2))
    planes = noise("uint16", "FCHW", (2, 3, 20, 19), (1, 3, 6, 4))
    cubic = {"interp_type": InterpType.INTERP_CUBIC}
    wanted: Wanted = [
        (name, (images,), {"matrix": some, "border_mode": border, "pixel_origin": origin, **filter})
        for border, origin, filter in (
            ("constant", "corner", linear),
            ("replicate", "center", linear),
            ("reflect", "corner", cubic),
            ("reflect_101", "center", NEAREST),
            ("wrap", "corner", cubic),
        )
    ]
    own = gradiva.as_batch([np.stack(maps), np.stack(maps[:2]), maps[0][None]])
    wanted += [
        (name, (images, gradiva.as_batch(maps)), {"size": (30, 270), "inverse_map": False}),
        (name, (frames, own), {"border_mode": "reflect"}),
        (name, (frames, own), {"size": (8, 40), **NEAREST}),
        (name, (planes,), {"matrix": some, "fill_value": (1, 2.6, 70000)}),
        (name, (noise("uint8", "HWC", (30, 41, 6)),), {"matrix": some, "fill_value": 9}),
        (name, (noise("float32", "HWC", (30, 41, 1)),), {"matrix": some, "size": (9, 64)}),
    ]
    require_as_cpu(wanted, tmp_path)
