"""Samples without a layout that look like images of another layout than the one that is assumed."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import fn, pipeline_def

PICTURE = np.random.default_rng(0).integers(0, 256, (20, 30, 3), np.uint8)
PLANES = np.ascontiguousarray(PICTURE.transpose(2, 0, 1))


def said(call: Callable[[], Any]) -> list[str]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call()
    return [str(one.message) for one in found]


@pytest.mark.parametrize("name", ["gaussian_blur", "laplacian"])
def test_channels_that_are_filtered(name: str) -> None:
    """The values are those of DALI, which filters along all axes; the user hears of it."""
    operator = getattr(gradiva, name)
    options = {"sigma": 2.0} if name == "gaussian_blur" else {"dtype": gradiva.types.FLOAT}
    (text,) = said(lambda: operator(PICTURE, **options))
    assert name in text
    assert "(20, 30, 3) looks like HWC" in text
    assert "layout='HWC'" in text
    for fine in (
        gradiva.as_tensor(PICTURE, layout="HWC"),
        gradiva.as_tensor(PICTURE, layout="DHW"),
        PICTURE[..., 0].copy(),
        np.zeros((8, 9, 10), np.uint8),
        np.zeros((3, 9, 3), np.uint8),
        gradiva.as_batch([PICTURE[..., :2].copy(), np.zeros((9, 9, 3), np.uint8)]),
    ):
        assert said(lambda fine=fine: operator(fine, **options)) == []  # type: ignore[misc]


def test_planes_that_are_taken_for_rows() -> None:
    (text,) = said(lambda: gradiva.resize(PLANES, size=(10, 10)))
    assert "resize" in text
    assert "(3, 20, 30) looks like CHW" in text
    assert said(lambda: gradiva.resize(PICTURE, size=(10, 10))) == []
    assert said(lambda: gradiva.resize(PLANES[:, :, :4].copy(), size=(10, 10))) == []
    planes = gradiva.as_tensor(PLANES, layout="CHW")
    assert said(lambda: gradiva.resize(planes, size=(10, 10))) == []
    assert said(lambda: gradiva.flip(PLANES)) != []
    assert said(lambda: PLANES + gradiva.as_tensor(PLANES)) == []


def test_in_a_pipeline() -> None:
    @pipeline_def(batch_size=2, num_threads=1)
    def pipeline() -> Any:
        return fn.gaussian_blur(fn.external_source(lambda: [PICTURE] * 2), sigma=1.0)

    pipe = pipeline()
    found = said(lambda: (pipe.run(), pipe.run()))
    assert any("looks like HWC" in text for text in found)
    pipe.close()


def test_once_for_a_line_whatever_the_shapes() -> None:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("default")
        for more in range(3):
            gradiva.resize(np.zeros((3, 20, 30 + more), np.uint8), size=(10, 10))
    (one,) = found
    assert "`output_layouts=` of python_function" in str(one.message)
