"""The GPU kernels of the resampling family, beyond the operators' own cases."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import fn
from gradiva.capture.runtime import fused_group
from gradiva.capture.runtime.fused_cpu import FusedLoop
from gradiva.capture.runtime.fused_gpu import fused_launches
from gradiva.eager.cuda.launch import Launch, NoGpuKernelError
from gradiva.eager.execution.execute import prepare
from gradiva.eager.operators.cases import Case, samples
from gradiva.eager.operators.operator import operators
from gradiva.eager.random.generator import RandomKey
from gradiva.eager.runtime.worker_pool import default_pool
from gradiva.eager.types.dtypes import DType, float32, int8, int16, uint8, uint16
from tests.tiers import few

from .harness import all_launches, fresh_like, planned
from .shim import COMPILER, NO_COMPILER, run_launches
from .test_nvrtc import REASON, require_small

pytestmark = pytest.mark.skipif(COMPILER is None, reason=NO_COMPILER)


def ragged(
    layout: str, dtype: DType, seed: int, channels: tuple[int, ...] = (3, 3, 3, 3)
) -> gradiva.Batch:
    """Four samples: of several blocks, of one pixel, wide, tall; floats with zeros of both signs,
    one sample of nothing else, and infinities."""
    extents = ((37, 45), (1, 1), (3, 60), (41, 2))
    shapes = [
        tuple({"H": h, "W": w, "D": 1 + h % 5, "F": 2, "C": c}[letter] for letter in layout)
        for (h, w), c in zip(extents, channels, strict=True)
    ]
    batch = samples(*shapes, dtype=dtype, layout=layout, seed=seed)
    if dtype is float32:
        batch.data[::7], batch.data[3::11], batch.data[1::501] = 0.0, -0.0, np.inf
        batch.array(2)[:] = -0.0
    return batch


def require_equal_bits(ours: Any, expected: Any, text: object) -> None:
    """Every bit is the same; where both have a NaN, its own bits are free."""
    assert ours.shape == expected.shape
    assert ours.dtype == expected.dtype
    differs = ours.view(f"u{ours.itemsize}") != expected.view(f"u{ours.itemsize}")
    if ours.dtype.kind == "f":
        differs &= ~(np.isnan(ours) & np.isnan(expected))
    assert not differs.any(), (text, np.argwhere(differs)[0])


def require_same_bits(folder: Path, wanted: list[tuple[str, Any, dict[str, Any]]]) -> None:
    """The GPU kernels make of these calls every bit that the CPU kernels make."""
    found = [
        one
        for number, (name, batch, arguments) in enumerate(wanted)
        for one in planned(
            operators[name],
            [Case(f"{number}: {batch.dtype} {batch.layout} {arguments}", (batch,), arguments)],
        )
    ]
    assert len(found) == len(wanted)
    run_launches(all_launches(found), folder)
    for one in found:
        for number, (ours, expected) in enumerate(zip(one.samples, one.expected, strict=True)):
            require_equal_bits(ours, expected, (one.name, number))


@pytest.mark.full
@pytest.mark.parametrize("dtype", [uint8, int8, uint16, int16, float32])
def test_filters(tmp_path: Path, dtype: DType) -> None:
    """Every filter, up and down, mirrored, with and without antialiasing, to both dtypes."""
    wanted: list[tuple[str, Any, dict[str, Any]]] = []
    for filter_ in range(6):
        for layout in ("HWC", "CHW"):
            batch = ragged(layout, dtype, filter_)
            down = {"size": (9, 11), "interp_type": filter_}
            wanted += [
                ("resize", batch, {**down, "antialias": filter_ % 2 == 0}),
                ("resize", batch, {**down, "size": (-50, 7), "dtype": float32}),
                (
                    "resize",
                    batch,
                    {**down, "roi_start": (0.9, 0.2), "roi_end": (0.1, 1.3), "roi_relative": True},
                ),
            ]
    require_same_bits(tmp_path, wanted)


@pytest.mark.full
def test_channels(tmp_path: Path) -> None:
    """Any number of channels; the same one in all samples, and not."""
    wanted: list[tuple[str, Any, dict[str, Any]]] = []
    for channels in ((1, 1, 1, 1), (2, 2, 2, 2), (4, 4, 4, 4), (5, 5, 5, 5), (3, 1, 2, 5)):
        for dtype in (uint8, float32):
            batch = ragged("HWC", dtype, 1, channels)
            wanted += [
                ("resize", batch, {"size": (20, 30), "interp_type": [4, 0, 1, 2]}),
                ("resize", batch, {"size": (20, 30), "interp_type": 0}),
                ("resize_crop_mirror", batch, {"size": (20, 30), "crop": (12, 9), "mirror": 3}),
            ]
    require_same_bits(tmp_path, wanted)


@pytest.mark.full
def test_volumes(tmp_path: Path) -> None:
    """Volumes with one plane and with several, among them such of one slice; sequences."""
    wanted: list[tuple[str, Any, dict[str, Any]]] = []
    for layout in ("DHWC", "CDHW", "DHW", "FDHWC", "FHWC", "FCHW", "CFHW"):
        batch = ragged(layout, int16, 2)
        size = (4, 10, 8) if "D" in layout else (10, 8)
        crop = (2, 5, 4) if "D" in layout else (5, 4)
        wanted += [
            ("resize", batch, {"size": size, "interp_type": [1, 2, 3, 4], "save_attrs": True}),
            ("resize", batch, {"size": size, "interp_type": 0}),
            ("resize_crop_mirror", batch, {"size": size, "crop": crop, "mirror": [0, 5, 6, 7]}),
            (
                "resize_crop_mirror",
                batch,
                {"size": size, "crop": crop, "mirror": [7, 1, 2, 4], "interp_type": 0},
            ),
        ]
    slices = ragged("DHWC", float32, 3)
    wanted.append(("resize", slices, {"resize_z": [1, 1, 3, 7], "mode": "stretch"}))
    require_same_bits(tmp_path, wanted)


@pytest.mark.full
def test_tables(tmp_path: Path) -> None:
    """Positions and weights of many axes: other extents, regions and filters in each sample."""
    generator = np.random.default_rng(8)
    images = samples(
        *(tuple(generator.integers(1, 90, 2)) for _ in range(60)), dtype=float32, layout="HW"
    )
    wanted: list[tuple[str, Any, dict[str, Any]]] = []
    for antialias in (True, False):
        corners = generator.uniform(-0.3, 1.3, (2, 60, 2)).astype(np.float32)
        arguments = {
            "size": generator.integers(1, 120, (60, 2)).astype(np.float32),
            "interp_type": np.arange(60) % 6,
            "antialias": antialias,
        }
        region = {"roi_start": corners[0], "roi_end": corners[1], "roi_relative": True}
        wanted += [("resize", images, arguments), ("resize", images, {**arguments, **region})]
    wide = samples((3, 3000), (2, 1), layout="HW")
    wanted += [("resize", wide, {"size": (4, 2500), "interp_type": kind}) for kind in (0, 3)]
    require_same_bits(tmp_path, wanted)


def test_samples_without_pixels(tmp_path: Path) -> None:
    images = samples((12, 9, 3), (0, 5, 3), (7, 0, 3), (8, 8, 3))
    for_all = {"size": (6, 6), "interp_type": [1, 1, 0, 0]}
    require_same_bits(
        tmp_path, [("resize", images, for_all), ("resize", images, {**for_all, "interp_type": 0})]
    )


@pytest.mark.parametrize("name", ["resize", "random_resized_crop"])
def test_other_libraries_are_left_to_the_cpu(name: str) -> None:
    arguments = {"size": (4, 4), "compat": "pil"}
    random = (RandomKey(1, 0), np.zeros(1, np.int64)) if operators[name].random else ()
    call = prepare(operators[name], (samples((5, 5, 3)),), arguments, 1, default_pool(), *random)
    with pytest.raises(NoGpuKernelError, match=r"`compat`.*on the CPU, got 'pil'"):
        operators[name].kernels["gpu"](call)


@pytest.mark.full
def test_the_rest_of_the_family(tmp_path: Path) -> None:
    images = ragged("HWC", uint8, 4)
    volumes = ragged("DHWC", uint16, 5)
    wanted = [
        ("random_resized_crop", images, {"size": (24, 20), "seed": 5, "interp_type": 4}),
        ("random_resized_crop", images, {"size": 50, "seed": 6, "dtype": float32}),
        ("tensor_resize", images, {"sizes": (30, 7), "axes": (0, 1), "interp_type": 3}),
        ("tensor_resize", volumes, {"sizes": (6, 5), "axes": (0, 3), "interp_type": 5}),
        ("tensor_resize", volumes, {"scales": 0.4, "axes": (0, 2), "interp_type": 1}),
        ("resize_crop_mirror", images, {"size": (30, 30), "crop": (44, 50), "mirror": 2}),
    ]
    require_same_bits(tmp_path, wanted)


def fused(
    monkeypatch: pytest.MonkeyPatch, folder: Path, function: Any, batch: gradiva.Batch
) -> tuple[list[Sequence[Launch]], Any]:
    """The fused launches that a GPU would get for a pipeline of `function`, by batch, and what the
    pipeline makes with them."""
    noted: list[Sequence[Launch]] = []

    class OnGpu(FusedLoop):
        def run(self) -> None:
            target = fresh_like(self.target)
            launches = fused_launches(FusedLoop(self.source, self.calls, target, self.locate_error))
            noted.append(launches)
            run_launches(launches, folder)
            self.target.data[:] = target.data

    monkeypatch.setattr(fused_group, "FusedLoop", OnGpu)

    @gradiva.pipeline_def(batch_size=len(batch), num_threads=1, device_id=None)
    def program() -> Any:
        images = fn.external_source(
            source=lambda: batch, layout=batch.layout, dtype=batch.dtype, ndim=len(batch.layout)
        )
        return function(
            fn, images, *(fn.external_source(source=partial(list, one)) for one in FLAGS)
        )

    pipeline = program()
    pipeline.build()
    (made,) = pipeline.run()
    return noted, made


FLAGS = [np.array(given, np.int32) for given in ([0, 1, 0, 1], [0, 0, 1, 1])]
MEAN = {"mean": [120.0, 110.0, 100.0], "std": [60.0, 59.0, 58.0]}


def training(ops: Any, images: Any, one: Any, other: Any) -> Any:
    small = ops.resize(images, resize_shorter=40, interp_type=4)
    small = ops.flip(small, horizontal=other, vertical=one)
    return ops.crop_mirror_normalize(small, crop=(30, 33), mirror=one, **MEAN)


def nearest(ops: Any, images: Any, one: Any, _: Any) -> Any:
    small = ops.resize(images, size=(40, 40), interp_type=0)
    return ops.crop_mirror_normalize(small, crop=(30, 33), mirror=one, **MEAN)


def interleaved(ops: Any, images: Any, one: Any, _: Any) -> Any:
    part = ops.crop(images, crop=(9, 8), crop_pos_x=0.3)
    small = ops.flip(ops.resize(part, size=(26, 37), dtype="float32"), horizontal=one)
    return ops.hsv(small, hue=30.0, saturation=0.5, dtype="uint8")


def gray(ops: Any, images: Any, _: Any, other: Any) -> Any:
    small = ops.resize(images, size=(20, 24), roi_start=(-3, 1), roi_end=(20, 30))
    return ops.color_space_conversion(
        ops.flip(small, horizontal=other), image_type=0, output_type=2
    )


@pytest.mark.parametrize("function", few([training, nearest, interleaved, gray], training))
def test_fused_tail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: Any) -> None:
    """A resize and what follows, in the launches of the resize alone: the bits of the operators one
    after the other on the CPU."""
    images = ragged("HWC", uint8, 7)
    if function is interleaved:  # a window of each, so that rows lie further apart than they are
        images = samples((37, 45, 3), (9, 8, 3), (10, 60, 3), (41, 11, 3))
    expected = function(gradiva, images, *(gradiva.as_batch(one) for one in FLAGS))
    noted, made = fused(monkeypatch, tmp_path, function, images)
    assert {len(launches) for launches in noted} == {2 if function is nearest else 3}
    assert made.layout() == expected.layout
    for number, one in enumerate(expected.arrays()):
        require_equal_bits(np.asarray(made[number]), one, number)
    if REASON is None:
        require_small(noted[0][-1].unit, 75)
        require_small(noted[0][-1].unit, 90)
