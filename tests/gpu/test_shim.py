"""The cases of operators through their GPU kernels, on the CPU: the bits of the CPU kernels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
import gradiva.eager.operators.cases
from gradiva.eager.cuda.launch import CudaKernel, Launch, OutputArg
from gradiva.eager.execution.execute import prepare
from gradiva.eager.execution.gpu_elementwise import chain_launch
from gradiva.eager.operators.operator import operators
from gradiva.eager.runtime.worker_pool import default_pool
from gradiva.eager.types.dtypes import DType, bfloat16, dtypes

from .harness import all_launches, fresh_like, planned, require_equal, with_gpu_kernels
from .shim import COMPILER, NO_COMPILER, ShimError, run_launches

pytestmark = pytest.mark.skipif(COMPILER is None, reason=NO_COMPILER)


def test_what_has_a_gpu_kernel() -> None:
    """An operator that loses its GPU kernel is noticed."""
    listed = Path(__file__).with_name("kernels.txt").read_text("utf-8").split()
    assert with_gpu_kernels() == sorted(listed)


LEFT_TO_THE_CPU = [
    "equalize, of Pillow",
    "equalize, of torchvision",
    "gaussian_blur, floats of torchvision",
    "gaussian_blur, of Pillow",
    "gaussian_blur, of torchvision",
    "gaussian_blur, planes of torchvision",
    "pad, each its own",
    "pad, edge",
    "pad, reflect",
    "pad, symmetric",
    "pad, to a shape, edge",
    "random_erasing, half",
    "random_erasing, pixels",
    "random_erasing, planes",
    "random_erasing, video",
    "random_resized_crop, of torchvision",
    "random_resized_crop, window of all, of Pillow",
    "resize, of DETR",
    "resize, of OpenCV",
    "resize, of Pillow",
    "resize, of Pillow, box",
    "resize, of torchvision",
    "rotate, about a point",
    "rotate, of Pillow",
    "rotate, of torchvision",
    "rotate, right angle of torchvision",
    "smart_resize, default",
    "smart_resize, linear",
    "smart_resize, of torchvision",
    "smart_resize, per sample",
    "smart_resize, small patches",
]


@pytest.mark.full
def test_cases(tmp_path: Path) -> None:
    """Every case of every operator that has a GPU kernel, but those that it leaves to the CPU."""
    skipped: list[str] = []
    found = [
        one for name in with_gpu_kernels() for one in planned(operators[name], skipped=skipped)
    ]
    assert len(found) > 100
    assert sorted(skipped) == LEFT_TO_THE_CPU
    run_launches(all_launches(found), tmp_path)
    for one in found:
        require_equal(one)


@pytest.mark.full
@pytest.mark.xdist_group("sanitized")  # g++ takes a minute for all kernels
@pytest.mark.parametrize("backward", [False, True])
def test_cases_sanitized(tmp_path: Path, backward: bool) -> None:
    """The same under AddressSanitizer and UBSan, in both orders of threads."""
    found = [one for name in with_gpu_kernels() for one in planned(operators[name])]
    run_launches(all_launches(found), tmp_path, backward=backward, sanitize=True)
    for one in found:
        require_equal(one)


def test_several_blocks_and_large_samples(tmp_path: Path) -> None:
    """Samples of more than one block, of none, and where the last block is not full."""
    generator = np.random.default_rng(0)
    shapes = [(80, 100, 3), (0, 7, 3), (1, 1, 3), (33, 31, 3)]
    images = gradiva.as_batch(
        [generator.integers(0, 256, shape).astype(np.uint8) for shape in shapes], layout="HWC"
    )
    wanted: list[tuple[str, dict[str, Any]]] = [
        ("flip", {"vertical": 1}),
        ("pad", {}),
        ("hsv", {"hue": 30.0}),
        ("normalize_pixels", {"mean": [1.0, 2.0, 3.0]}),
        ("slice", {"start": (0, 0), "shape": (45, 44), "out_of_bounds_policy": "pad"}),
    ]
    found = [
        one
        for name, arguments in wanted
        for one in planned(
            operators[name], [gradiva.eager.operators.cases.Case("large", (images,), arguments)]
        )
    ]
    assert all(launch.blocks >= len(shapes) for launch in all_launches(found))
    run_launches(all_launches(found), tmp_path)
    for one in found:
        require_equal(one)


def test_fused_chain(tmp_path: Path) -> None:
    """Three operators in one kernel give the bits of one after the other."""
    images = gradiva.eager.operators.cases.samples((40, 30, 3), (5, 7, 3))
    wanted: list[tuple[str, dict[str, Any]]] = [
        ("brightness_contrast", {"brightness": np.array([1.2, 0.7], np.float32)}),
        ("hsv", {"hue": 30.0, "saturation": 0.5}),
        ("normalize_pixels", {"mean": [100.0, 110.0, 120.0], "std": [50.0]}),
    ]
    image, calls = images, []
    for name, arguments in wanted:
        call = prepare(operators[name], (image,), arguments, 2, default_pool())
        calls.append(call)
        image = operators[name].bind((image,), arguments)
    target = fresh_like(image)
    run_launches([chain_launch(calls, images, target)], tmp_path)
    for ours, expected in zip(target.arrays(), image.arrays(), strict=True):
        np.testing.assert_array_equal(ours, expected)


def casts(pairs: list[tuple[DType, DType]]) -> list[Any]:
    """Casts of values on all edges: halves, limits of all types, infinities, NaN."""
    edges = [0.0, -0.0, 0.49999997, 0.5, -0.5, 1.5, 2.5, -2.5, 6e-8, 3e-8, 65504.0, 65520.0, 1e30]
    edges += [-1e30, np.inf, -np.inf, np.nan, 3e-5, 6.1e-5, 1.0004883]
    edges += [
        sign * 2.0**bits + step
        for bits in (7, 8, 15, 16, 31, 32, 63, 64)
        for sign in (1, -1)
        for step in (-1.0, -0.5, 0.0, 0.5)
    ]
    found = []
    for source, target in pairs:
        with np.errstate(all="ignore"):
            values = np.array(edges).astype(source.numpy)
        case = gradiva.eager.operators.cases.Case(
            f"{source} to {target}", (gradiva.as_batch([values]),), {"dtype": target}
        )
        found += planned(operators["cast"], [case])
    return found


def test_conversions(tmp_path: Path) -> None:
    """Values on the edges of types."""
    words = "float32-uint8 float32-int32 float64-uint64 float32-float16 float16-int8 uint64-int64"
    pairs = [tuple(getattr(gradiva, name) for name in word.split("-")) for word in words.split()]
    found = casts(pairs)
    run_launches(all_launches(found), tmp_path)
    for one in found:
        require_equal(one)


@pytest.mark.full
def test_all_conversions(tmp_path: Path) -> None:
    """The same between all types, under sanitizers."""
    known = [one for one in dtypes if one is not bfloat16]
    found = casts([(one, other) for one in known for other in known if one is not other])
    run_launches(all_launches(found), tmp_path, sanitize=True)
    for one in found:
        require_equal(one)


PLANTED = """
KERNEL(planted)(const i32* source, i32* target) {
    __shared__ i32 values[THREADS];
    values[threadIdx.x] = source[threadIdx.x];
    BARRIER
    target[threadIdx.x] = values[(threadIdx.x + 1) % THREADS] WHAT;
}
"""


def plant(folder: Path, barrier: str, what: str = "") -> tuple[Launch, np.ndarray[Any, Any]]:
    """A kernel that turns 256 numbers by one place, with a mistake in it."""
    # Files are read once in a process: each kernel gets one of its own.
    file = folder / str(len(list(folder.iterdir()))) / "planted.cuh"
    file.parent.mkdir()
    file.write_text(PLANTED.replace("BARRIER", barrier).replace("WHAT", what), "utf-8")
    target = np.zeros(256, np.int32)
    source = np.arange(256, dtype=np.int32)
    return Launch(CudaKernel("planted", (file,)).unit({}), 1, (source, OutputArg(target))), target


def test_a_missing_barrier_shows(tmp_path: Path) -> None:
    """With its barrier a kernel makes the same in both orders of threads; without, it does not."""
    right = np.roll(np.arange(256), -1)
    agree = []
    for barrier in ("__syncthreads();", "/* none */"):
        launch, target = plant(tmp_path, barrier)
        for backward in (False, True):
            run_launches([launch], tmp_path, backward=backward)
            agree.append(np.array_equal(target, right))
    assert agree[:2] == [True, True]
    assert not all(agree[2:])


@pytest.mark.full
def test_sanitizers_see_planted_mistakes(tmp_path: Path) -> None:
    launch, _ = plant(tmp_path, "__syncthreads(); target[threadIdx.x + 1] = 0;")
    with pytest.raises(ShimError, match="heap-buffer-overflow"):
        run_launches([launch], tmp_path, sanitize=True)
    launch, _ = plant(tmp_path, "__syncthreads();", "+ 2147483647")
    with pytest.raises(ShimError, match="signed integer overflow"):
        run_launches([launch], tmp_path, sanitize=True)


def test_a_kernel_that_does_not_compile_names_its_file(tmp_path: Path) -> None:
    launch, _ = plant(tmp_path, "nonsense;")
    with pytest.raises(ShimError, match=r"planted\.cuh:5"):
        run_launches([launch], tmp_path)
