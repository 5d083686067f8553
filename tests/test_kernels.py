"""The rules that keep bits, asserted on the machine code of the kernels."""

from __future__ import annotations

import re
import stat
from pathlib import Path

import numpy as np
import pytest

import gradiva
from gradiva.eager import jit
from gradiva.ops.image.brightness_contrast import _samples
from gradiva.ops.image.crop_mirror_normalize import normalize_kernel
from gradiva.ops.image.resample import resample_range
from gradiva.ops.random.normal import _normal

KERNELS = [normalize_kernel, resample_range, _samples, _normal]


def use_all() -> None:
    images = gradiva.as_batch(np.zeros((2, 9, 9, 3), np.uint8), layout="HWC")
    gradiva.crop_mirror_normalize(images, mean=[1.0, 2.0, 3.0])
    gradiva.resize(images, size=(4, 4))
    gradiva.brightness_contrast(images, brightness=1.1)
    gradiva.random.normal(batch_size=2)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.__name__)
def test_no_contracted_multiply_add(kernel: jit.Kernel) -> None:
    use_all()
    dispatcher = kernel.dispatcher()
    assert dispatcher.targetoptions["nogil"]
    assert not dispatcher.targetoptions["fastmath"]
    codes = dispatcher.inspect_asm()
    assert codes
    for assembly in codes.values():
        assert re.search(r"\bv?mulss|v?mulps|v?mulsd|fmul", assembly)
        assert not re.search(r"\bvf(n?m(add|sub))\w*|\bf(n?m(add|sub))\b", assembly)


def test_the_cache_is_private() -> None:
    folder = jit.cache_folder()
    assert folder is not None
    for place in (folder, folder.parent):
        assert stat.S_IMODE(place.stat().st_mode) == 0o700


def test_a_folder_of_others_is_not_used(tmp_path: Path) -> None:
    open_folder = tmp_path / "open"
    open_folder.mkdir(mode=0o777)
    assert jit._private_folder(open_folder) == open_folder
    assert stat.S_IMODE(open_folder.stat().st_mode) == 0o700
    link = tmp_path / "link"
    link.symlink_to(open_folder)
    assert jit._private_folder(link) is None
