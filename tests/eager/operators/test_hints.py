"""Errors of beginners say what to write instead."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import fn, pipeline_def
from gradiva.capture.recording.attribute_hints import INSTEAD

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


BATCH = gradiva.as_batch([np.zeros((6, 7, 3), np.uint8)] * 2, layout="HWC")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("cuda", r"gpu\(\)"),
        ("to", r"to_device\(\"gpu\"\)"),
        ("mean", r"gradiva\.reductions\.mean\(value\)"),
        ("std", r"gradiva\.reductions\.std_dev"),
        ("astype", r"gradiva\.cast"),
        ("reshape", r"gradiva\.reshape"),
        ("permute", r"gradiva\.transpose"),
        ("as_array", "no data while a graph is recorded"),
    ],
)
def test_methods_of_other_libraries_on_symbols(name: str, said: str) -> None:
    with gradiva.Pipeline(batch_size=2, num_threads=1):
        symbol: Any = fn.external_source(lambda: [IMAGE] * 2, layout="HWC")
    with pytest.raises(AttributeError, match=f"object has no attribute '{name}': .*{said}"):
        getattr(symbol, name)
    assert not hasattr(symbol, name)
    assert not hasattr(symbol, "nothing")


def test_what_hints_name_is_there() -> None:
    for hint in INSTEAD.values():
        for path in re.findall(r"`gradiva\.([\w.]+)\(", hint):
            found: Any = gradiva
            for part in path.split("."):
                found = getattr(found, part)
    assert hasattr(gradiva.DataNode, "gpu")
    assert hasattr(gradiva.DataNode, "to_device")


def test_outputs_that_are_passed_together() -> None:
    """`f = readers.file(...)`, and then a decoder of `f`: it is a list of two."""

    def pipeline() -> Any:
        return fn.decoders.image(fn.readers.file(files=["a.jpg"]))

    with pytest.raises(
        TypeError, match=r"does not take; the input is a list of 2.* number 1.*`fir"
    ):
        pipeline_def(batch_size=1, num_threads=1)(pipeline)()
    labels = gradiva.as_batch([np.array([1], np.int32)] * 2)
    with pytest.raises(TypeError, match=r"the input is a list of 2.* number 1\. Of the outputs"):
        gradiva.decoders.image([gradiva.as_batch([FILE] * 0), labels])


def test_an_argument_for_each_input() -> None:
    filters = [gradiva.types.INTERP_LINEAR, gradiva.types.INTERP_NN]
    crop_of: Any = gradiva.random_resized_crop
    said = r"`interp_type` are one for each sample.*with the same `seed=`"
    one = BATCH.select([0])
    with pytest.warns(UserWarning, match=said), pytest.raises(ValueError, match=said):
        crop_of([one, one], size=(3, 3), interp_type=filters)
    with pytest.warns(UserWarning, match=said) as found:
        crop_of([BATCH, BATCH], size=(3, 3), interp_type=filters)
    assert {one.filename for one in found} == {__file__}
    crop_of([BATCH, BATCH], size=(3, 3), interp_type=filters[0])  # warnings are errors here
    crop_of(BATCH, size=(3, 3), interp_type=filters)
    crop_of([BATCH, BATCH, BATCH], size=(3, 3), interp_type=filters)


def test_an_argument_that_is_no_value_for_each_sample() -> None:
    with pytest.raises(ValueError, match=r"this is number 0; expected one of default") as found:
        gradiva.resize([BATCH, BATCH], size=(3, 3), mode="bogus")
    assert "one for each sample" not in str(found.value)


def test_one_seed_for_both_calls() -> None:
    """What that warning proposes: the same windows, of images and of masks."""
    values = np.random.default_rng(1).integers(0, 2, (2, 40, 40, 3)).astype(np.uint8) * 200
    masks = gradiva.as_batch(values, layout="HWC")
    for _ in range(3):
        options: dict[str, Any] = {"size": (16, 16), "interp_type": gradiva.types.INTERP_NN}
        first = gradiva.random_resized_crop(masks, seed=5, **options)
        second = gradiva.random_resized_crop(masks, seed=5, **options)
        assert np.array_equal(first.as_array(), second.as_array())
        assert set(np.unique(second.as_array())) <= {0, 200}
