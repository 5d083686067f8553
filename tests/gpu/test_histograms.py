"""`equalize`, `clahe`, `debayer` and `jpeg_compression_distortion`, and what they stand on, through
their GPU kernels on the CPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva.eager.cuda.launch import CudaKernel, Launch, OutputArg
from gradiva.eager.operators.cases import Case
from gradiva.eager.operators.operator import operators
from gradiva.ops.image.color import clahe as lab_tables

from .harness import all_launches, planned, require_equal
from .shim import COMPILER, NO_COMPILER, run_launches

cv2: Any = pytest.importorskip("cv2")

pytestmark = pytest.mark.skipif(COMPILER is None, reason=NO_COMPILER)

LAB = """
KERNEL(both_ways)(const u8* source, u8* lab, u8* rgb, const u16* tables, i64 pixels) {
    const i64 k = (i64(blockIdx.x) * THREADS + threadIdx.x) * 3;
    if (k >= pixels * 3) return;
    const Roots roots = roots_of(tables, source + k);
    lab[k] = lightness_of(roots);
    lab[k + 1] = red_green_of(roots);
    lab[k + 2] = blue_yellow_of(roots);
    rgb_of(tables, source[k], source[k + 1], source[k + 2], rgb + k);
}
"""


def images(*shapes: tuple[int, ...], dtype: Any = np.uint8, layout: str = "HWC") -> Any:
    """Batches of noise over a ramp, so that histograms are uneven."""
    generator = np.random.default_rng(0)
    most = np.iinfo(dtype).max
    made = []
    for shape in shapes:
        ramp = np.linspace(0, most // 2, int(np.prod(shape))).reshape(shape)
        made.append((ramp + generator.integers(0, most // 2, shape)).astype(dtype))
    return gradiva.as_batch(made, layout=layout)


def require_cases(name: str, cases: list[Case], folder: Path) -> None:
    found = planned(operators[name], cases)
    assert len(found) == len(cases)
    run_launches(all_launches(found), folder)
    for one in found:
        require_equal(one)


def require_lab(colors: np.ndarray[Any, np.dtype[np.uint8]], folder: Path) -> None:
    """Colors to Lab and, taken for Lab, to RGB, as OpenCV has it."""
    file = folder / "both_ways.cuh"
    file.write_text(LAB, "utf-8")
    kernel = CudaKernel("both_ways", (Path(lab_tables.__file__).with_name("lab.cuh"), file))
    lab, rgb = np.empty_like(colors), np.empty_like(colors)
    pixels = colors.size // 3
    arguments = colors, OutputArg(lab), OutputArg(rgb), lab_tables.lab_tables(), np.int64(pixels)
    run_launches([Launch(kernel.unit({}), -(-pixels // 256), arguments)], folder)
    np.testing.assert_array_equal(lab, cv2.cvtColor(colors, cv2.COLOR_RGB2LAB))
    np.testing.assert_array_equal(rgb, cv2.cvtColor(colors, cv2.COLOR_LAB2RGB))


def grid(values: np.ndarray[Any, Any]) -> np.ndarray[Any, np.dtype[np.uint8]]:
    one = np.stack(np.meshgrid(values, values, values, indexing="ij"), -1)
    return one.reshape(len(values) ** 2, len(values), 3).astype(np.uint8)


def test_lab_of_some_colors(tmp_path: Path) -> None:
    require_lab(grid(np.arange(0, 256, 3)), tmp_path)
    # A root that comes out otherwise if it is rounded to float32.
    require_lab(np.array([[[0, 98, 254], [0, 100, 248]]], np.uint8), tmp_path)


@pytest.mark.full
def test_lab_of_all_colors(tmp_path: Path) -> None:
    require_lab(grid(np.arange(256)), tmp_path)


def test_equalize(tmp_path: Path) -> None:
    """Planes of several pieces, samples without pixels, many channels, frames of one value."""
    batch = images((150, 160, 3), (0, 7, 3), (1, 1, 3), (33, 31, 3), (260, 130, 3))
    flat = gradiva.as_batch([np.full((9, 8, 1), 200, np.uint8)], layout="HWC")
    cases = [
        Case("several pieces", (batch,)),
        Case("five channels", (images((40, 30, 5), (7, 9, 5)),)),
        Case("planes of frames", (images((3, 2, 20, 30), layout="FCHW"),)),
        Case("one value", (flat,)),
    ]
    require_cases("equalize", cases, tmp_path)


@pytest.mark.full
def test_clahe(tmp_path: Path) -> None:
    """Tiles that divide the image, that do not, that are more than its pixels; limits."""
    batch = images((48, 64, 3), (0, 7, 3), (1, 1, 3), (33, 31, 3))
    cases = [
        Case(
            f"{tiles} {limit} {luma}",
            (batch,),
            {"tiles_y": tiles[0], "tiles_x": tiles[1], "clip_limit": limit, "luma_only": luma},
        )
        for tiles, limit, luma in [
            ((8, 8), 2.0, True),
            ((1, 1), 0.01, True),
            ((3, 7), 40.0, True),
            ((4, 6), 0.0, False),
            ((35, 1), 3.3, True),
            ((2, 2), 1e-46, True),
            ((2, 2), 1e30, True),
            ((2, 1), 1e5, True),
        ]
    ]
    planes = images((48, 64), (10, 9), layout="HW")
    cases.append(Case("planes", (planes,), {"tiles_y": 3, "tiles_x": 4, "clip_limit": 2.0}))
    require_cases("clahe", cases, tmp_path)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_debayer(tmp_path: Path, dtype: Any) -> None:
    """All ways and patterns; widths around those that OpenCV takes at once; small images."""
    shapes = [(8, 10), (2, 8), (6, 2), (0, 4), (12, 14), (8, 8), (30, 16), (10, 40), (40, 64)]
    batch = images(*shapes, dtype=dtype, layout="HW")
    ways = ["bilinear_ocv", "edgeaware_ocv", "gray_ocv", "vng_ocv"]
    cases = [
        Case(f"{way} {place}", (batch,), {"blue_position": place, "algorithm": way})
        for way in (ways if dtype is np.uint8 else ways[:3])
        for place in ([0, 0], [0, 1], [1, 0], [1, 1])
    ]
    require_cases("debayer", cases, tmp_path)


@pytest.mark.full
def test_jpeg_compression_distortion(tmp_path: Path) -> None:
    """Sizes around those of blocks and squares, where borders are made up; black and white."""
    generator = np.random.default_rng(0)
    sizes = (1, 2, 4, 5, 7, 9, 15, 17, 33)
    arrays = [
        generator.integers(0, 256, (height, width, 3)).astype(np.uint8)
        for height in sizes
        for width in sizes
    ]
    arrays += [(generator.integers(0, 2, (40, 50, 3)) * 255).astype(np.uint8) for _ in range(5)]
    arrays.append(np.zeros((0, 5, 3), np.uint8))
    batch = gradiva.as_batch(arrays, layout="HWC")
    cases = [Case(f"{q}", (batch,), {"quality": q}) for q in (1, 30, 49, 50, 90, 100)]
    video = images((3, 20, 33, 3), (1, 5, 40, 3), (0, 4, 4, 3), layout="FHWC")
    cases.append(Case("frames", (video,), {"quality": [10, 80, 3]}))
    require_cases("jpeg_compression_distortion", cases, tmp_path)
