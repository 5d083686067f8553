"""Images of Pillow: their layouts, alone and in batches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import fn, pipeline_def

pil = pytest.importorskip("PIL.Image")

MODES = dict.fromkeys(("RGB", "RGBA", "LA", "CMYK"), "HWC") | dict.fromkeys(
    ("L", "1", "P", "I;16", "F"), "HW"
)


def image(mode: str) -> Any:
    return pil.new(mode, (5, 4))


@pytest.mark.parametrize("mode", list(MODES))
def test_layouts(mode: str) -> None:
    one, layout = image(mode), MODES[mode]
    expected = np.asarray(one)
    for made in (gradiva.as_tensor(one), gradiva.tensor(one), gradiva.Tensor(one)):
        assert made.layout == layout
        np.testing.assert_array_equal(np.asarray(made), expected)
    for batch in (gradiva.as_batch([one, one]), gradiva.batch([one]), gradiva.Batch([one])):
        assert batch.layout == layout
        np.testing.assert_array_equal(batch.as_array()[0], expected)
    assert gradiva.flip(one).layout == gradiva.flip([one, one]).layout == layout


def test_given_layouts_and_other_samples() -> None:
    color, gray = image("RGB"), image("L")
    assert gradiva.as_tensor(color, layout="CHW").layout == "CHW"
    assert gradiva.as_tensor(color, layout="").layout == ""
    assert gradiva.as_batch([gray], layout="FW").layout == "FW"
    assert gradiva.as_batch([color, np.zeros((4, 5, 3), np.uint8)]).layout == ""
    assert gradiva.as_batch([]).layout == ""
    with pytest.raises(TypeError, match="one rank; expected 2-D uint8 as in sample 0, got 3-D"):
        gradiva.as_batch([gray, color])


@pytest.mark.parametrize("parallel", [False, True])
def test_sources(parallel: bool) -> None:
    @pipeline_def(batch_size=2, num_threads=1, py_num_workers=1, py_start_method="spawn")
    def pipe() -> Any:
        return fn.external_source(_sample, batch=False, parallel=parallel)

    made = pipe()
    assert made.run()[0].layout() == "HWC"
    made.close()


def _sample(info: Any) -> Any:
    return image("RGB")
