"""The rules that keep bits, asserted on the machine code of the kernels."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

# Numba shows the code of what it has just compiled, not of what comes from the cache: so this runs
# in a process of its own, with an empty cache.
SCRIPT = """
import gc, json, numpy as np, gradiva
from gradiva.eager.jit import numba_compiler
from gradiva.eager.jit.jit import Kernel
from gradiva.eager.rows.row_kernel import RowKernel
images = gradiva.as_batch(np.zeros((2, 9, 9, 3), np.uint8), layout="HWC")
gradiva.crop_mirror_normalize(images, mean=[1.0, 2.0, 3.0])
gradiva.resize(images, size=(4, 4))
gradiva.brightness_contrast(images, brightness=1.1)
gradiva.hue(images, hue=1.1)
gradiva.color_space_conversion(images, image_type=0, output_type=3)
gradiva.gaussian_blur(images, sigma=1.1)
gradiva.random.normal(batch_size=2)
gradiva.random.uniform(batch_size=2)
found = {}
kernels = [one for one in gc.get_objects() if isinstance(one, Kernel)]
compiled = [(repr(one), one._compiled) for one in kernels if one._compiled is not None]
compiled += [(name, one._dispatcher) for name, one in numba_compiler._noinline.items()]
for name, dispatcher in compiled:
    options = dispatcher.targetoptions
    assert options["nogil"] and not options["fastmath"], name
    for code in dispatcher.inspect_asm().values():
        found[name] = found.get(name, "") + code
for one in gc.get_objects():
    if isinstance(one, RowKernel):
        for _, callback in one._entries.values():
            found[repr(one)] = found.get(repr(one), "") + callback._library.get_asm_str()
print(json.dumps(found))
"""


@pytest.mark.full
def test_no_contracted_multiply_add(tmp_path: Path) -> None:
    """No kernel holds an instruction that rounds a product and a sum only once."""
    environment = {**os.environ, "GRADIVA_CACHE": str(tmp_path), "PYTHONPATH": str(ROOT)}
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env=environment,
    )
    codes: dict[str, str] = json.loads(run.stdout)
    names = " ".join(codes)
    for expected in ("normalize_rows", "filter_lines", "resample_rows", "_blur_samples"):
        assert expected in names
    for expected in ("brightness_contrast_row", "matrix_row", "convert_row", "store_unsigned_row"):
        assert expected in names
    multiplies = re.compile(r"\bv?mul[sp][sd]\b|\bfmul\b")
    contracted = re.compile(r"\bvfn?m(add|sub)\w*|\bfn?m(add|sub|la|ls)\b")
    assert contracted.search("\tvfmadd213ps\t%ymm0")
    assert sum(bool(multiplies.search(code)) for code in codes.values()) >= 5
    for name, code in codes.items():
        assert not contracted.search(code), name


@pytest.mark.full
def test_a_person_is_told_when_kernels_are_compiled(tmp_path: Path) -> None:
    """Once, on a terminal or in a notebook; and each compiled kernel is counted."""
    script = (
        "import sys\n"
        "sys.stderr.isatty = lambda: True\n"
        "import numpy as np, gradiva\n"
        "from gradiva.eager.jit.jit import compiled_kernels\n"
        "images = gradiva.as_batch(np.zeros((2, 4, 4, 3), np.uint8), layout='HWC')\n"
        "gradiva.flip(images), gradiva.cast(images, dtype='float32')\n"
        "print(sorted(name for name, seconds in compiled_kernels if seconds > 0))\n"
    )
    environment = {**os.environ, "GRADIVA_CACHE": str(tmp_path), "PYTHONPATH": str(ROOT)}
    for expected, told in ((["cast_row", "_flip_samples"], 1), ([], 0)):
        run = subprocess.run(
            [sys.executable, "-c", script],
            capture_output=True,
            text=True,
            check=True,
            cwd=ROOT,
            env=environment,
        )
        assert [name for name in expected if name not in run.stdout] == []
        assert bool(expected) == ("_flip_samples" in run.stdout)
        assert run.stderr.count("compiling kernels, once per machine") == told
