"""`gradiva.convert.huggingface`: configurations in all forms, what is refused, all modes."""

from __future__ import annotations

import json
import pickle
import types as modules
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import OperatorTypeError, OperatorValueError, fn
from gradiva.convert.from_huggingface.configuration import parsed
from gradiva.convert.from_huggingface.processors import MODELS, PROCESSORS

pytestmark = pytest.mark.core

CLIP: dict[str, Any] = {
    "image_processor_type": "CLIPImageProcessor",
    "size": {"shortest_edge": 24},
    "crop_size": 20,
    "resample": 3,
}
VIT: dict[str, Any] = {"image_processor_type": "ViTImageProcessor", "size": 20}
QWEN: dict[str, Any] = {
    "image_processor_type": "Qwen2VLImageProcessor",
    "min_pixels": 784,
    "max_pixels": 4 * 784,
}
DETR: dict[str, Any] = {
    "image_processor_type": "DetrImageProcessor",
    "size": {"shortest_edge": 20, "longest_edge": 31},
}


def images() -> list[np.ndarray[Any, Any]]:
    generator = np.random.default_rng(1)
    sizes = ((30, 41), (64, 33), (28, 56))
    return [generator.integers(0, 256, (*size, 3), np.uint8) for size in sizes]


def code(given: Any, **options: Any) -> str:
    made: str = gradiva.convert.huggingface(given, **options).code()
    return made


@pytest.mark.parametrize("ending", ["", "Fast", "Pil"])
def test_backend_by_name(ending: str) -> None:
    """Fast processors are torchvision's; the argument overrules the name."""
    given = {**VIT, "image_processor_type": f"ViTImageProcessor{ending}"}
    usual = "torchvision" if ending == "Fast" else "pil"
    for backend in (None, "pil", "torchvision"):
        assert f'compat="{backend or usual}"' in code(given, backend=backend)


def test_processors_without_a_slow_one() -> None:
    given = {"image_processor_type": "DINOv3ViTImageProcessor"}
    assert 'compat="torchvision"' in code(given)
    assert not gradiva.convert.huggingface(given).exact  # floats are resized
    with pytest.raises(OperatorTypeError, match="no backend that uses Pillow"):
        gradiva.convert.huggingface(given, backend="pil")


def test_files_and_folders(tmp_path: Path) -> None:
    """The file, the folder, the file of a processor of several kinds of data, its folder."""
    wanted = code(CLIP)
    path = tmp_path / "preprocessor_config.json"
    path.write_text(json.dumps(CLIP), "utf-8")
    assert code(path) == code(str(path)) == code(tmp_path) == code(str(tmp_path)) == wanted
    other = tmp_path / "processor_config.json"
    other.write_text(json.dumps({"processor_class": "CLIPProcessor"}), "utf-8")
    assert code(tmp_path) == wanted
    other.write_text(json.dumps({"image_processor": {**CLIP, "resample": 2}}), "utf-8")
    assert code(tmp_path) == code(other) == code({**CLIP, "resample": 2}) != wanted


def test_type_of_the_model(tmp_path: Path) -> None:
    """Old configurations do not name the processor: the model's does."""
    (tmp_path / "preprocessor_config.json").write_text('{"size": 20}', "utf-8")
    with pytest.raises(OperatorValueError, match="no `image_processor_type`"):
        gradiva.convert.huggingface(tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "vit"}', "utf-8")
    assert code(tmp_path) == code(VIT)
    assert code({"feature_extractor_type": "ViTFeatureExtractor", "size": 20}) == code(VIT)
    (tmp_path / "config.json").write_text('{"model_type": "zork"}', "utf-8")
    with pytest.raises(OperatorTypeError, match="zork"):
        gradiva.convert.huggingface(tmp_path)
    assert all(name in PROCESSORS for name in MODELS.values())


def test_objects() -> None:
    """A processor tells its settings by `to_dict`; one of several kinds of data has one inside."""
    kind = type("CLIPImageProcessorFast", (), {"to_dict": lambda self: dict(CLIP)})
    wanted = code({**CLIP, "image_processor_type": "CLIPImageProcessorFast"})
    assert code(kind()) == wanted
    assert code(modules.SimpleNamespace(image_processor=kind())) == wanted
    kind = type("ViTImageProcessor", (), {"to_dict": lambda self: {"do_normalize": None}})
    assert "mean" not in code(kind())  # of version 4, where None is off
    kind = type("CLIPImageProcessor", (), {"to_dict": lambda self: {}, "backend": "torchvision"})
    assert 'compat="torchvision"' in code(kind())
    with pytest.raises(OperatorValueError, match="that of the processor"):
        gradiva.convert.huggingface(kind(), backend="pil")


@pytest.mark.parametrize(
    ("given", "same"),
    [
        ({"size": 20}, {"size": {"height": 20, "width": 20}}),
        ({"size": [20, 30]}, {"size": {"height": 20, "width": 30}}),
        ({"size": 20, "default_to_square": False}, {"size": {"shortest_edge": 20}}),
        ({"resample": None}, {}),
        ({"resample": (2.0).__trunc__()}, {"resample": "bilinear"}),
        ({"do_rescale": 1, "rescale_factor": 1 / 255}, {}),
        ({"image_mean": 0.5, "image_std": [0.5]}, {"image_mean": [0.5], "image_std": 0.5}),
        ({"processor_class": "X", "auto_map": {}, "data_format": "channels_first"}, {}),
        ({"do_thumbnail": False, "zork": None}, {}),
    ],
)
def test_older_forms(given: dict[str, Any], same: dict[str, Any]) -> None:
    base = {"image_processor_type": "ViTImageProcessor"}
    assert code({**base, **given}) == code({**base, **same})


def test_older_forms_of_families() -> None:
    assert code({**DETR, "size": 20, "max_size": 31}) == code(DETR)
    assert "pixel_mask" not in code({**DETR, "pad_and_return_pixel_mask": False})
    size = {"shortest_edge": 784, "longest_edge": 4 * 784}
    same = {"image_processor_type": "Qwen2VLImageProcessor", "size": size}
    assert code(QWEN) == code(same)
    areas = {"min_pixels": 784, "max_pixels": 4 * 784}
    assert code(QWEN) == code({**same, "size": areas})


REFUSED: dict[str, tuple[Any, type[Exception], str]] = {
    "nothing": (None, OperatorTypeError, "an image processor of transformers"),
    "a number": (3, OperatorTypeError, "int"),
    "no file": ("/no/such/model", OperatorValueError, "snapshot_download"),
    "name of a model": ("openai/clip-vit", OperatorValueError, "not downloaded"),
    "empty": ({}, OperatorValueError, "no `image_processor_type`"),
    "unknown type": (
        {"image_processor_type": "SamImageProcessor"},
        OperatorTypeError,
        "SamImageProcessor has no counterpart.*ViTImageProcessor",
    ),
    "unknown settings": (
        {**VIT, "do_thumbnail": True, "keep_aspect_ratio": 2},
        OperatorValueError,
        r"do_thumbnail=True .*keep_aspect_ratio=2",
    ),
    "channels last": ({**VIT, "data_format": "channels_last"}, OperatorValueError, "data_format"),
    "size of keys": ({**VIT, "size": {"height": 3}}, OperatorValueError, "`size`"),
    "size of nothing": ({**VIT, "size": {}}, OperatorValueError, "`size`"),
    "size of text": ({**VIT, "size": "224"}, OperatorValueError, "`size`"),
    "negative size": ({**VIT, "size": -4}, OperatorValueError, "whole numbers"),
    "half a pixel": ({**VIT, "size": 4.5}, OperatorValueError, "whole numbers"),
    "huge size": ({**VIT, "size": 10**400}, OperatorValueError, "finite"),
    "size of a switch": ({**VIT, "size": True}, OperatorValueError, "`size`"),
    "filter": ({**VIT, "resample": 9}, OperatorValueError, "`resample`"),
    "filter of text": ({**VIT, "resample": "spline"}, OperatorValueError, "`resample`"),
    "box for tensors": (
        {"image_processor_type": "ViTImageProcessorFast", "resample": 4},
        OperatorTypeError,
        "no filter BOX",
    ),
    "mean": ({**VIT, "image_mean": [0.5, 0.5]}, OperatorValueError, "`image_mean`"),
    "mean of text": ({**VIT, "image_mean": ["a"] * 3}, OperatorValueError, "`image_mean`"),
    "no deviation": ({**VIT, "image_std": [0.5, 0.0, 0.5]}, OperatorValueError, "`image_std`"),
    "no factor": ({**VIT, "rescale_factor": 0}, OperatorValueError, "`rescale_factor`"),
    "not finite": ({**VIT, "rescale_factor": 1e999}, OperatorValueError, "finite"),
    "switch": ({**VIT, "do_resize": "yes"}, OperatorValueError, "`do_resize`"),
    "no crop size": ({**VIT, "do_center_crop": True}, OperatorTypeError, "crops to the size None"),
    "convnext": (
        {"image_processor_type": "ConvNextImageProcessor", "size": [3, 4]},
        OperatorTypeError,
        "shortest edge",
    ),
    "qwen": (
        {"image_processor_type": "Qwen2VLImageProcessor", "size": {"height": 3, "width": 4}},
        OperatorTypeError,
        "greatest area",
    ),
    "squares": (
        {"image_processor_type": "LlavaImageProcessor", "do_pad": True},
        OperatorTypeError,
        "squares",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    given, kind, text = REFUSED[name]
    with pytest.raises(kind, match=text):
        gradiva.convert.huggingface(given)


def test_refused_arguments() -> None:
    with pytest.raises(OperatorValueError, match="'pil' or 'torchvision'"):
        gradiva.convert.huggingface(VIT, backend="slow")
    with pytest.raises(OperatorValueError, match="`fallback`"):
        gradiva.convert.huggingface(VIT, fallback="numpy")
    assert code({**VIT, "zork": 3}, ignore=["zork"]) == code(VIT)


def test_damaged_files(tmp_path: Path) -> None:
    path = tmp_path / "preprocessor_config.json"
    with pytest.raises(OperatorValueError, match=r"has no preprocessor_config.json"):
        gradiva.convert.huggingface(tmp_path)
    for data, text in (
        (b"{", "is no JSON"),
        (b"\xff\xfe", "is no JSON"),
        (b"[" * 100_000, "is no JSON"),
        (b"[1, 2]", "holds a list"),
        (b"", "is no JSON"),
    ):
        path.write_bytes(data)
        with pytest.raises(OperatorValueError, match=text):
            gradiva.convert.huggingface(tmp_path)
        with pytest.raises(OperatorValueError, match=text):
            parsed(data, "it")


def test_no_code_of_a_file_runs() -> None:
    """Texts of a configuration are values in the code, and comments hold one line each."""
    for key in ("size", "resample", "image_mean", "do_resize", "rescale_factor"):
        with pytest.raises((OperatorValueError, OperatorTypeError)):
            gradiva.convert.huggingface({**VIT, key: "__import__('os').abort()"})
    with pytest.raises(OperatorTypeError):
        gradiva.convert.huggingface({"image_processor_type": "X\nimport os\nos.abort()"})


@pytest.mark.parametrize("given", [CLIP, QWEN, DETR], ids=["clip", "qwen", "detr"])
def test_modes_agree(given: dict[str, Any]) -> None:
    """At once, compiled and in a pipeline; also for an empty batch."""
    function = gradiva.convert.huggingface(given)
    samples = images()
    batch = gradiva.batch(samples, layout="HWC")

    @gradiva.pipeline_def(batch_size=3, num_threads=2, device_id=None)
    def pipeline() -> Any:
        return function(fn.external_source(lambda: samples, layout="HWC"))

    def tuples(found: Any) -> tuple[Any, ...]:
        return tuple(found) if isinstance(found, tuple | list) else (found,)

    wanted = tuples(function(batch))
    assert len(wanted) == len(function.outputs)
    for other in (gradiva.capture.compile(function)(batch), pipeline().run()):
        for one, two in zip(wanted, tuples(other), strict=True):
            assert one.dtype is two.dtype
            for left, right in zip(one, two, strict=True):
                np.testing.assert_array_equal(np.asarray(left), np.asarray(right))
    nothing = batch.select([])
    assert [len(one) for one in tuples(function(nothing))] == [0] * len(wanted)


def test_one_group(photographs: Path) -> None:
    """From the files on, all of it is one fused group."""
    files = [np.fromfile(photographs / "people" / "camera.jpg", np.uint8)]
    for given in (CLIP, QWEN, {**VIT, "resample": 5}):
        function = gradiva.convert.huggingface(given, decode=True)

        @gradiva.pipeline_def(batch_size=1, num_threads=1, device_id=None)
        def pipeline(function: Any = function) -> Any:
            return function(fn.external_source(lambda: files))

        pipe = pipeline()
        pipe.run()
        (group,) = pipe.explain()
        assert group.members[0] == "decoders.image"
        assert group.fused == group.batches


def test_mask() -> None:
    """Images are padded to the largest of the batch; the mask says where they are."""
    pixels, mask = gradiva.convert.huggingface(DETR)(gradiva.batch(images(), layout="HWC"))
    assert pixels.shape == [(3, 31, 31)] * 3
    assert mask.dtype is gradiva.types.INT64
    sizes = [tuple(np.asarray(one).sum(axis)[0] for axis in (0, 1)) for one in mask]
    assert sizes == [(20, 27), (31, 16), (16, 31)]
    for one, where in zip(pixels, mask, strict=True):
        assert not np.asarray(one)[:, np.asarray(where) == 0].any()


def test_what_it_says() -> None:
    function = gradiva.convert.huggingface(CLIP)
    assert function.exact
    assert repr(function) == "<CLIPImageProcessor (pil): 3 steps, exact>"
    assert function.outputs == ("pixel_values",)
    assert "rescale=1 / 255" in function.code()
    for given in (CLIP, QWEN, DETR):
        function = gradiva.convert.huggingface(given)
        assert pickle.loads(pickle.dumps(function)).code() == function.code()
