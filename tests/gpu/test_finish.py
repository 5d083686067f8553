"""The kernel that finishes decoded JPEGs, against the CPU decoder: what nvJPEG would have written
is made by the CPU, unturned and whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradiva.eager.cuda.launch import Launch
from gradiva.eager.cuda.nvrtc import ARCHITECTURES
from gradiva.eager.types.batch_shape import BatchShape
from gradiva.eager.types.dtypes import DType
from gradiva.eager.types.sample_type import SampleType
from gradiva.eager.values.batch import Batch
from gradiva.ops.decoders.formats.decode import output_shape
from gradiva.ops.decoders.formats.decode_region import decode_region_into
from gradiva.ops.decoders.formats.probe import probe
from gradiva.ops.decoders.jpeg.gpu.finish import finish_launch, window_of
from gradiva.ops.decoders.jpeg.gpu.job import WHOLE
from gradiva.ops.decoders.jpeg.gpu.plan import plan
from gradiva.ops.decoders.jpeg.gpu.route import Options
from tests.ops.decoders.nvjpeg_fake import as_asked
from tests.oracle import flavors
from tests.tiers import few

from .shim import COMPILER, NO_COMPILER, run_launches
from .test_nvrtc import needs_nvrtc, require_small

NAMES = (
    *(f"jpeg_exif{o}" for o in range(1, 9)),
    "jpeg_gray",
    "jpeg_1x1_2",
    "jpeg_rgb",
    "jpeg_cmyk",
    "jpeg_ycck",
    "jpeg_cmyk_plain",
)
TYPES = ("uint8", "int8", "uint16", "int16", "uint32", "int32", "float32")
COLORS = ("RGB", "BGR", "GRAY", "YCbCr", "ANY_DATA")
JPEGS = flavors.jpegs()


def planned(
    color: str, dtype: str, turned: bool = True, cut: bool = False, load: float = 0.0
) -> tuple[Launch, Batch, Batch]:
    """The launch for all files at once, what it fills, and what the CPU makes."""
    names = [name for name in NAMES if (color, name) != ("GRAY", "jpeg_rgb")]
    files = [np.frombuffer(JPEGS[name](), np.uint8) for name in names]
    infos = [probe(file) for file in files]
    shapes = [output_shape(info, color, turned) for info in infos]
    windows = [
        (h // 5, w // 3, h - h // 5 - h // 4, w - w // 3) if cut else (0, 0, h, w)
        for h, w, _ in shapes
    ]
    options = Options(output_type=color, hw_decoder_load=load)
    made = plan(files, infos, options, windows, turned)
    assert not made.host
    jobs = [*made.hybrid, *(job for batch in made.engine for job in batch)]
    parts = [window_of(job, windows[job.index], turned) for job in jobs]
    pieces, starts, size = [], [], 0
    for job in jobs:
        top, left, height, width = job.region
        roi = (0, 0, -1, -1) if job.region == WHOLE else (left, top, width, height)
        planes = [plane.ravel() for plane in as_asked(job.data, job.output, roi)]
        pieces += [np.full(7, 0x77, np.uint8), *planes]
        starts.append(size + 7)
        size += 7 + sum(plane.size for plane in planes)
    scratch = np.concatenate(pieces)
    wanted = np.array([(*w[2:], s[2]) for w, s in zip(windows, shapes, strict=True)], np.int64)
    target, expected = (empty(wanted, DType.of(dtype)) for _ in range(2))
    for index, (file, info) in enumerate(zip(files, infos, strict=True)):
        decode_region_into(
            file,
            info,
            windows[index],
            expected.array(index),
            output_type=color,
            adjust_orientation=turned,
        )
    rows = list(zip(jobs, starts, parts, strict=True))
    return finish_launch(rows, scratch, target, color, turned), target, expected


def empty(shapes: np.ndarray[Any, Any], dtype: DType) -> Batch:
    batch_shape = BatchShape.of(shapes)
    data = np.full(batch_shape.size * dtype.itemsize, 0xA5, np.uint8).view(dtype.numpy)
    return Batch.over(data, batch_shape, SampleType(dtype, 3, "HWC"))


def check_same(launches: list[tuple[Launch, Batch, Batch]], folder: Path, **how: bool) -> None:
    run_launches([launch for launch, _, _ in launches], folder, **how)
    for _, target, expected in launches:
        for ours, other in zip(target.arrays(), expected.arrays(), strict=True):
            np.testing.assert_array_equal(ours, other)


@pytest.mark.skipif(COMPILER is None, reason=NO_COMPILER)
@pytest.mark.parametrize("turned", few([True, False], True))
@pytest.mark.parametrize("cut", few([False, True], True))
def test_all_colors(tmp_path: Path, turned: bool, cut: bool) -> None:
    """Windows that the library has cut, and those that the kernel cuts."""
    check_same(
        [planned(color, "uint8", turned, cut, load) for color in COLORS for load in (0.0, 1.0)],
        tmp_path,
    )


@pytest.mark.skipif(COMPILER is None, reason=NO_COMPILER)
@pytest.mark.full
def test_all_types(tmp_path: Path) -> None:
    check_same([planned(c, dtype) for dtype in TYPES[1:] for c in ("BGR", "YCbCr")], tmp_path)


@pytest.mark.full
@pytest.mark.skipif(COMPILER is None, reason=NO_COMPILER)
@pytest.mark.parametrize("backward", [False, True])
def test_sanitized(tmp_path: Path, backward: bool) -> None:
    """Under AddressSanitizer and UBSan, in both orders of threads."""
    found = [planned(c, dtype, cut=True, load=1.0) for dtype in TYPES for c in COLORS]
    check_same(found, tmp_path, backward=backward, sanitize=True)


@needs_nvrtc
@pytest.mark.parametrize(
    "dtype", ["uint8", *(pytest.param(name, marks=pytest.mark.full) for name in TYPES[1:])]
)
def test_compiles(dtype: str) -> None:
    unit = planned("RGB", dtype)[0].unit
    for architecture in ARCHITECTURES:
        require_small(unit, architecture)
