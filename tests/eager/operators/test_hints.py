"""Errors of beginners say what to write instead."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import fn, pipeline_def

crop: Any = gradiva.crop
color_space_conversion: Any = gradiva.color_space_conversion
resize: Any = gradiva.resize
uniform: Any = gradiva.random.uniform
"""Without their types, which say most of this, too."""

IMAGE = gradiva.as_tensor(np.zeros((6, 7, 3), np.uint8), layout="HWC")
FILE = np.frombuffer(b"\xff\xd8\xff\xe0 and so on", np.uint8)

SAID: dict[str, tuple[Callable[[], Any], str]] = {
    "encoded": (lambda: resize(FILE, size=4), r"decode them first with decoders\.image"),
    "a name": (lambda: resize("a.jpg", size=4), "imread"),
    "by position": (
        lambda: resize(IMAGE, (224, 224)),
        r"expected 1 input, got 2; arguments are given by name: did you mean size=\(224, 224\)\?",
    ),
    "two by position": (lambda: uniform(0, 1), r"did you mean range=\(0, 1\)\?"),
    "an array by position": (lambda: resize(IMAGE, np.ones(2)), "are given by name"),
    "no such argument": (lambda: resize(IMAGE, width=100), "there are `size`, `resize_x`"),
    "nearly": (lambda: resize(IMAGE, sizes=4), "did you mean `size`"),
    "one number": (lambda: crop(IMAGE, crop=5), r"\(h, w\).*got one number"),
    "an open file": (
        lambda: gradiva.decoders.image(io.BytesIO(b"x")),
        r"what its read\(\) returns",
    ),
    "a mean per channel": (
        lambda: gradiva.normalize(IMAGE, mean=[1.0, 2.0, 3.0], stddev=1.0),
        r"as gradiva\.as_tensor\(array\)",
    ),
    "a filter": (lambda: resize(IMAGE, size=4, interp_type="cubical"), "'linear'"),
    "a color space": (
        lambda: color_space_conversion(IMAGE, image_type="RGB", output_type="HSV"),
        "types.RGB or 'RGB'",
    ),
}


@pytest.mark.parametrize("name", SAID)
def test_what_is_said(name: str) -> None:
    call, said = SAID[name]
    with pytest.raises(gradiva.GradivaError, match=rf"(?s){said}"):
        call()


def test_readers_are_read_by_epochs(tmp_path: Any) -> None:
    (tmp_path / "a.bin").write_bytes(b"x")
    reader = gradiva.readers.File(files=[str(tmp_path / "a.bin")])
    with pytest.raises(TypeError, match=r"readers\.file.*next_epoch\(batch_size"):
        for _ in reader:
            pass


def test_functions_of_numpy_on_symbols() -> None:
    @pipeline_def(batch_size=1, num_threads=1)
    def pipeline() -> Any:
        return np.mean(fn.random.uniform(range=(0, 1), shape=(3,)))

    with pytest.raises(gradiva.OperatorTypeError, match=r"reductions\.mean"):
        pipeline()


@pytest.mark.parametrize("name", ["cubic", "CUBIC", "INTERP_CUBIC"])
def test_names_of_filters(name: str) -> None:
    image = gradiva.as_tensor(np.random.default_rng(0).integers(0, 256, (9, 8, 3), np.uint8))
    wanted = resize(image, size=(5, 5), interp_type=gradiva.types.INTERP_CUBIC)
    assert np.array_equal(resize(image, size=(5, 5), interp_type=name), wanted)


def test_names_of_color_spaces() -> None:
    image = gradiva.as_tensor(np.random.default_rng(0).integers(0, 256, (9, 8, 3), np.uint8))
    spaces = {"image_type": gradiva.types.RGB, "output_type": gradiva.types.YCbCr}
    wanted = color_space_conversion(image, **spaces)
    found = color_space_conversion(image, image_type="RGB", output_type="ycbcr")
    assert np.array_equal(found, wanted)


def test_a_mean_per_channel() -> None:
    """What the error proposes."""
    image = gradiva.as_tensor(np.full((4, 5, 3), 7, np.uint8), layout="HWC")
    mean = gradiva.as_tensor(np.array([[[1.0, 2.0, 3.0]]], np.float32))
    found = gradiva.normalize(image, mean=mean, stddev=2.0, axes=(0, 1))
    assert np.asarray(found)[0, 0].tolist() == [3.0, 2.5, 2.0]
