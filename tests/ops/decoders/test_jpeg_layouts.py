"""A libjpeg-turbo in Pillow that is not as gradiva knows it: nothing crashes, the pixels are the
same, and a warning says what is used instead."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gradiva.eager.simd.guarded_calls import can_guard
from gradiva.ops.decoders.jpeg.window import window_decoder_works

pytestmark = [
    pytest.mark.skipif(not can_guard(), reason="jumps are others here"),
    pytest.mark.skipif(
        not window_decoder_works(), reason="Pillow has no libjpeg-turbo that can be called"
    ),
]

CHANGES: dict[str, list[tuple[str, str]]] = {
    "the same": [],
    "another version": [("VERSION: Final = 62", "VERSION: Final = 80")],
    "a larger structure": [('*_pointers("src")', '*_pointers("src", "more")')],
    "a smaller structure": [('("parts", _POINTER * 11)', '("parts", _POINTER * 10)')],
    "no such function": [('"crop_scanline"', '"crop_scanline_of_old"')],
    "size moved": [
        (
            '"image_width", "image_height", "num_components"',
            '"num_components", "image_width", "image_height"',
        )
    ],
    "colors moved": [
        (
            '*_ints("out_color_space", "scale_num", "scale_denom")',
            '*_ints("scale_num", "scale_denom", "out_color_space")',
        )
    ],
    "source moved": [
        ('"progress", "client_data"', '"src", "client_data"'),
        ('*_pointers("src"),', '*_pointers("progress"),'),
    ],
    "components moved": [
        ('*_pointers("coef_bits")', '*_pointers("nothing")'),
        ('*_pointers("comp_info")', '*_pointers("coef_bits")'),
        ('*_pointers("nothing")', '*_pointers("comp_info")'),
    ],
    "components at an odd address": [
        (
            '*_pointers("err", "mem", "progress", "client_data")',
            '*_pointers("err", "mem", "progress", "comp_info")',
        ),
        ('*_pointers("comp_info"),', '*_pointers("client_data"),'),
    ],
    "components of another size": [('("others", _INT * 16)', '("others", _INT * 18)')],
    "tables moved": [
        ('("quant_tbl_ptrs", _POINTER * 4),', ""),
        (
            '*_ints("data_precision"),',
            '("quant_tbl_ptrs", _POINTER * 4), *_ints("data_precision"),',
        ),
    ],
    "warnings moved": [('("msg_parm", ctypes.c_char * 80)', '("msg_parm", ctypes.c_char * 96)')],
    "output size moved": [
        ('*_pointers("colormap"),', '*_ints("output_width", "output_height"),'),
        (
            '"output_width", "output_height", "out_color_components"',
            '"colormap_1", "colormap_2", "out_color_components"',
        ),
    ],
    "transform moved": [
        (
            '"buffered_image", "raw_data_out", "dct_method"',
            '"dct_method", "buffered_image", "raw_data_out"',
        )
    ],
}
"""What is replaced in the declarations, as if the library was another one."""

SCRIPT = """
import importlib, json, sys, types, warnings
import numpy as np
from gradiva.eager.jit.background_kernel import at_once
import gradiva.ops.decoders.image.image
from gradiva.ops.decoders.image_info import ImageInfo
import simplejpeg

changes = json.load(sys.stdin)
package = "gradiva.ops.decoders.jpeg."
spec = importlib.util.find_spec(package + "library")
text = open(spec.origin).read()
y, x = np.mgrid[0:131, 0:197]
picture = np.stack([3 * y + x, 5 * x, y * x // 7], -1).astype(np.uint8)
data = np.frombuffer(simplejpeg.encode_jpeg(picture, 90, colorsubsampling="420"), np.uint8)
whole = simplejpeg.decode_jpeg(data)
info = ImageInfo("jpeg", 131, 197, 3, color="ycbcr", coding="baseline")
for name, replaced in changes.items():
    changed = text
    for old, new in replaced:
        assert changed.count(old) == 1, old
        changed = changed.replace(old, new)
    module = types.ModuleType(spec.name)
    module.__dict__.update(__file__=spec.origin, __package__=package[:-1], __spec__=spec)
    sys.modules[spec.name] = module
    exec(compile(changed, spec.origin, "exec"), module.__dict__)
    sys.modules.pop(package + "self_test"), sys.modules.pop(package + "window")
    window = importlib.import_module(package + "window")
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        works = [window.window_decoder_works() for _ in range(2)]
    window._background.is_worth_compiling = lambda *_: True
    for fast in (False, True):
        expected = simplejpeg.decode_jpeg(data, fastdct=fast)[31:50, 60:90]
        got = window.jpeg_window(data, info, "RGB", fast, (31, 60, 19, 30))
        assert np.array_equal(got, expected), name
    print(json.dumps([name, works, [str(one.message) for one in heard]]), flush=True)
"""


@pytest.mark.full
def test_layouts(tmp_path: Path) -> None:
    """In a process of its own, with kernels of its own."""
    answer = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        input=json.dumps(CHANGES),
        check=False,
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, "GRADIVA_CACHE": str(tmp_path), "GRADIVA_QUIET": "1"},
    )
    assert answer.returncode == 0, answer.stderr
    assert not answer.stderr
    found = [json.loads(line) for line in answer.stdout.splitlines()]
    assert [name for name, _, _ in found] == list(CHANGES)
    for name, works, heard in found:
        assert works == [name == "the same"] * 2, (name, heard)
        assert len(heard) == (name != "the same"), (name, heard)
        assert all("decoded by simplejpeg" in one for one in heard)
