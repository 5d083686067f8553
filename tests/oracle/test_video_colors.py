"""Pixels of VP9 videos against DALI: the same bits with colorspace="bt601"."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradiva.ops.video.color import planes_to_rgb
from tests.ops.video.frames import decoded, encoded

from .reference import feed, fn, run


@pytest.mark.parametrize("range", [None, 1, 2])
@pytest.mark.parametrize("colorspace", [None, 1, 5])
@pytest.mark.parametrize("size", [(48, 64), (47, 63), (33, 18), (180, 322)])
def test_vp9(size: tuple[int, int], colorspace: int | None, range: int | None) -> None:
    video = encoded("libvpx-vp9", *size, colorspace=colorspace, range=range)
    files = [np.frombuffer(video, np.uint8)]
    (expected,) = run(lambda: fn.decoders.video(feed(files)), 1)
    made: Any = np.empty_like(expected[0])
    for frame, out in zip(decoded(video), made, strict=True):
        planes_to_rgb(frame, out, "bt601")
    np.testing.assert_array_equal(made, expected[0])
