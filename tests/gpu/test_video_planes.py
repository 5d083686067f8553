"""The kernel that makes pixels of NVDEC's frames, against the CPU kernel: the same bits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradiva.eager.cuda.launch import Launch
from gradiva.eager.cuda.nvrtc import ARCHITECTURES
from gradiva.ops.video.color import frame_shape, planes_to_rgb
from gradiva.ops.video.colorspaces import COLORSPACES, color_numbers
from gradiva.ops.video.nvdec.convert import Planes, planes_launch
from tests.ops.video.frames import frame
from tests.tiers import few

from .shim import COMPILER, NO_COMPILER, run_launches
from .test_nvrtc import needs_nvrtc, require_small

SIZES = ((48, 64), (33, 17), (47, 63), (1, 1), (2, 5), (3, 8), (6, 7), (9, 2), (50, 33))
FORMATS = {"nv12": (8, 0), "p010le": (10, 6), "p012le": (12, 4)}
needs_compiler = pytest.mark.skipif(COMPILER is None, reason=NO_COMPILER)


def planes_of(source: Any) -> Planes:
    """A frame of FFmpeg as NVDEC would hand it out."""
    depth, drop = FORMATS[source.format.name]
    kind: Any = np.uint8 if depth == 8 else np.uint16
    luma, chroma = (np.frombuffer(plane, kind).copy() for plane in source.planes)
    item = luma.itemsize
    pitch, chroma_pitch = (plane.line_size // item for plane in source.planes)
    return Planes(luma, chroma, pitch, chroma_pitch, source.height, source.width, depth, drop)


def planned(name: str, turns: int, colorspace: str, full: bool) -> list[tuple[Launch, Any, Any]]:
    """For each size the launch into three places, what it fills, and what the CPU makes."""
    found = []
    for seed, (height, width) in enumerate(SIZES):
        source = frame(name, height, width, seed, 2 if full else 1)
        expected = np.empty(frame_shape(height, width, turns), np.uint8)
        planes_to_rgb(source, expected, colorspace, turns=turns)
        target = np.full(3 * expected.size + 5, 0xA5, np.uint8)
        places = 5 + expected.size * np.array([0, 2])
        numbers = color_numbers(colorspace, full)
        launch = planes_launch(planes_of(source), numbers, turns, target, places)
        blank = np.full_like(expected, 0xA5)
        found.append((launch, target, np.stack([expected, blank, expected])))
    return found


def check_same(found: list[tuple[Launch, Any, Any]], folder: Path, **how: bool) -> None:
    run_launches([launch for launch, _, _ in found], folder, **how)
    for _, target, expected in found:
        assert (target[:5] == 0xA5).all()
        np.testing.assert_array_equal(target[5:].reshape(expected.shape), expected)


@needs_compiler
@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("full", few([False, True], False))
def test_bits_of_the_cpu(tmp_path: Path, name: str, full: bool) -> None:
    spaces = sorted(COLORSPACES)
    found = [one for space in spaces for one in planned(name, 0, space, full)]
    found += [one for turns in (1, 2, 3) for one in planned(name, turns, "bt709", full)]
    check_same(found, tmp_path)


@pytest.mark.full
@needs_compiler
@pytest.mark.parametrize("backward", [False, True])
def test_sanitized(tmp_path: Path, backward: bool) -> None:
    """Under AddressSanitizer and UBSan, in both orders of threads."""
    found = [one for name in FORMATS for t in range(4) for one in planned(name, t, "fcc", True)]
    check_same(found, tmp_path, backward=backward, sanitize=True)


@needs_nvrtc
@pytest.mark.parametrize("name", FORMATS)
def test_compiles(name: str) -> None:
    unit = planned(name, 0, "bt601", False)[0][0].unit
    for architecture in ARCHITECTURES:
        require_small(unit, architecture)
