"""`gradiva.convert.huggingface` beside the processors of `transformers`, where it is installed."""

from __future__ import annotations

import hashlib
import importlib
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import gradiva
from gradiva import OperatorTypeError
from gradiva.convert.from_huggingface.processors import PROCESSORS
from tests.ops.image.test_processors import OF_DIGESTS, SIZES, files, is_old, picture, processor

pytestmark = pytest.mark.core

BACKENDS = ("pil", "torchvision")
USUAL: dict[str, dict[str, Any]] = {
    "DetrImageProcessor": {"size": {"shortest_edge": 160, "longest_edge": 267}},
    "ConditionalDetrImageProcessor": {"size": {"shortest_edge": 100, "longest_edge": 266}},
    "DeformableDetrImageProcessor": {"size": {"shortest_edge": 99, "longest_edge": 131}},
    "GroundingDinoImageProcessor": {"size": {"height": 90, "width": 100}},
    "RTDetrImageProcessor": {"size": {"height": 90, "width": 100}},
    "OwlViTImageProcessor": {"size": {"height": 90, "width": 100}},
}
"""In place of the sizes of the classes, where these are large."""
OTHERS: list[tuple[str, dict[str, Any]]] = [
    ("BitImageProcessor", {"size": {"shortest_edge": 256}, "crop_size": 224}),
    ("CLIPImageProcessor", {"size": {"shortest_edge": 100}, "crop_size": 121}),
    (
        "CLIPImageProcessor",
        {"size": {"shortest_edge": 90}, "crop_size": {"height": 120, "width": 9}},
    ),
    ("ViTImageProcessor", {"size": {"height": 50, "width": 60}, "resample": 0}),
    ("ViTImageProcessor", {"size": {"height": 50, "width": 60}, "resample": 1}),
    ("ViTImageProcessor", {"size": {"height": 50, "width": 60}, "resample": 4}),
    ("ViTImageProcessor", {"size": {"height": 50, "width": 60}, "resample": 5}),
    ("ViTImageProcessor", {"size": {"height": 50, "width": 60}, "do_rescale": False}),
    ("ViTImageProcessor", {"size": {"height": 50, "width": 60}, "do_normalize": False}),
    (
        "ViTImageProcessor",
        {"size": {"height": 50, "width": 60}, "do_normalize": False, "do_rescale": False},
    ),
    (
        "ViTImageProcessor",
        {"size": 40, "image_mean": 0.3, "image_std": 0.2, "rescale_factor": 0.01},
    ),
    ("ConvNextImageProcessor", {"size": {"shortest_edge": 224}}),
    ("ConvNextImageProcessor", {"size": {"shortest_edge": 101}, "crop_pct": 0.95}),
    (
        "Qwen2VLImageProcessor",
        {"patch_size": 16, "min_pixels": 65536, "max_pixels": 100_000, "image_mean": [0.5] * 3},
    ),
    (
        "Qwen2VLImageProcessor",
        {"max_pixels": 50_000, "do_rescale": False, "temporal_patch_size": 1},
    ),
    (
        "RTDetrImageProcessor",
        {
            "size": {"height": 40, "width": 50},
            "do_pad": True,
            "pad_size": {"height": 60, "width": 60},
        },
    ),
]
NEWER: list[tuple[str, dict[str, Any]]] = [
    ("ViTImageProcessor", {"size": {"shortest_edge": 100, "longest_edge": 150}}),
    ("ViTImageProcessor", {"size": {"max_height": 100, "max_width": 150}}),
    ("ViTImageProcessor", {"size": 40, "do_pad": True, "pad_size": {"height": 50, "width": 41}}),
    ("ViTImageProcessor", {"do_resize": False, "do_pad": True}),
    ("ViTImageProcessor", {"do_resize": False, "do_center_crop": True, "crop_size": (201, 100)}),
]
"""What version 4 has not."""


def made(name: str, backend: str, **options: Any) -> Any:
    """The processor, or a skip where this version of transformers has none, or other bits."""
    transformers = pytest.importorskip("transformers")
    transformers.logging.set_verbosity_error()
    fast = backend == "torchvision"
    if is_old() and fast and (options.get("resample") == 1 or name.startswith("Chameleon")):
        pytest.skip("version 4 resizes with BICUBIC in place of LANCZOS")
    if is_old() and not fast and name.startswith("ChineseCLIP"):
        pytest.skip("version 4 cannot resize with the settings of its own class")
    if is_old() and fast and name.startswith("ConvNext") and options:
        pytest.skip("version 4 rounds the place of the window to the nearest number")
    if is_old() and name.startswith("Qwen2VL"):
        # Version 4 keeps the areas of one processor as those of the class.
        options = {"min_pixels": 56 * 56, "max_pixels": 28 * 28 * 1280, **options}
    try:
        return processor(name.removesuffix("Fast"), backend, **options)
    except AttributeError:
        pytest.skip("this version has no such processor")


def images() -> list[Any]:
    chosen = [size for size in SIZES if not (is_old() and size[0] in (1, 3))]
    return [picture(*size) for size in chosen if max(size) / min(size) < 50]


def check(theirs: Any) -> Any:
    function = gradiva.convert.huggingface(theirs)
    report = function.report(images())
    assert report.ok, repr(report)
    if function.exact:
        assert report.exact, repr(report)
        assert all(row.result == "exact" for row in report.rows if row.compared)
    else:
        assert report.largest <= 5e-6, repr(report)
    return function


@pytest.mark.full
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", PROCESSORS)
def test_all(name: str, backend: str) -> None:
    """Every processor of the table, with the settings of its class, step by step."""
    check(made(name, backend, **USUAL.get(name, {})))


@pytest.mark.full
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("number", range(len(OTHERS)))
def test_other_settings(number: int, backend: str) -> None:
    name, options = OTHERS[number]
    theirs = made(name, backend, **options)
    if backend == "torchvision" and options.get("resample") in (4, 5):
        with pytest.raises(OperatorTypeError, match="no filter"):
            gradiva.convert.huggingface(theirs)
        return
    check(theirs)


@pytest.mark.full
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("number", range(len(NEWER)))
def test_settings_of_version_5(number: int, backend: str) -> None:
    name, options = NEWER[number]
    pytest.importorskip("transformers")
    if is_old():
        pytest.skip("version 4 has other rules")
    check(made(name, backend, **options))


@pytest.mark.full
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "name",
    ["CLIPImageProcessor", "ViTImageProcessor", "DetrImageProcessor", "Qwen2VLImageProcessor"],
)
def test_files(name: str, backend: str, photographs: Path) -> None:
    """From files: what `load_image` of transformers opens, upright and RGB. Gray ones, ones with
    alpha or a palette, CMYK, turned ones, photographs."""
    theirs = made(name, backend, **USUAL.get(name, {}))
    load = importlib.import_module("transformers.image_utils").load_image
    function = gradiva.convert.huggingface(theirs, decode=True)
    data = list(files().values())
    data += [path.read_bytes() for path in sorted(photographs.rglob("*.jpg"))[:3]]
    opened = [load(Image.open(io.BytesIO(one))) for one in data]
    for image in opened:
        # The transparent color of a palette is noted there, also of an image that is RGB by now;
        # version 5 would blend that color with white.
        image.info.clear()
    result = theirs(images=opened)
    ours = function(gradiva.batch([np.frombuffer(one, np.uint8) for one in data]))
    several = ours if isinstance(ours, tuple) else (ours,)
    for output, found in zip(function.outputs, several, strict=True):
        wanted = result[output]
        if name.startswith("Qwen") and output == "pixel_values":
            np.testing.assert_array_equal(gradiva.pixel_values(found), np.asarray(wanted))
            continue
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(np.asarray(one), np.asarray(other))


@pytest.mark.full
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", ["CLIPImageProcessor", "Qwen2VLImageProcessor"])
def test_saved(name: str, backend: str, tmp_path: Path) -> None:
    """What `save_pretrained` writes is read; without transformers."""
    theirs = made(name, backend)
    theirs.save_pretrained(tmp_path)
    ours = gradiva.convert.huggingface(tmp_path, backend=backend)
    assert ours.code() == gradiva.convert.huggingface(theirs).code()
    assert gradiva.convert.huggingface(theirs.to_dict(), backend=backend).code() == ours.code()


@pytest.mark.full
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", ["EfficientNetImageProcessor", "SamImageProcessor"])
def test_without_counterpart(name: str, backend: str) -> None:
    """An error that names the processor; or the processor itself, in `python_function`."""
    theirs = made(name, backend)
    with pytest.raises(OperatorTypeError, match=f"{name} has no counterpart"):
        gradiva.convert.huggingface(theirs)
    function = gradiva.convert.huggingface(theirs, fallback="python")
    assert function.outputs[0] == "pixel_values"
    assert [step.python for step in function.steps] == [True]
    samples = images()[1:3]
    result = theirs(images=[Image.fromarray(one) for one in samples])
    ours = function(gradiva.batch(samples, layout="HWC"))
    several = ours if isinstance(ours, tuple) else (ours,)
    for output, found in zip(function.outputs, several, strict=True):
        for one, other in zip(found, result[output], strict=True):
            np.testing.assert_array_equal(np.asarray(one), np.asarray(other))


@pytest.mark.full
def test_unknown_settings_of_a_known_class() -> None:
    """They are a reason to run the processor itself, too."""
    theirs = made("ViTImageProcessor", "pil", zork=3)
    function = gradiva.convert.huggingface(theirs, fallback="python")
    assert [step.python for step in function.steps] == [True]
    assert "zork=3" in function.steps[0].note


DIGESTS = {
    (
        "CLIPImageProcessor",
        "pil",
    ): "ac5e18a5168a814c5dfe543d3529815e23e5f6e8acefbd98fb207ef94ce03209",
    (
        "CLIPImageProcessor",
        "torchvision",
    ): "19c5e6f8e4f573361e07c8e3b4b0af7b1256812d04cf5f21a2c149ef5c00bb9c",
    (
        "ConvNextImageProcessor",
        "pil",
    ): "522ea71358616ff43639714e060a043b0094ef17418030fc0e555aa78a61a5d9",
    (
        "DetrImageProcessor",
        "pil",
    ): "a9b968c3e4b8d64e49addff75a7a16dc70cc22778b9436baf3aa00c68f59618e",
    (
        "DetrImageProcessor",
        "torchvision",
    ): "b8f068a111c801315a5bf3b2ee9f03ffba23d395eee7fa0d17c22b98a1ae2905",
}
"""SHA-256 of what the processors of transformers 5.24 made of the images of `OF_DIGESTS`."""


@pytest.mark.parametrize(("name", "backend"), DIGESTS)
def test_values(name: str, backend: str) -> None:
    """The values of the processors, where transformers is not installed."""
    settings = {"image_processor_type": name, "size": {"shortest_edge": 60, "longest_edge": 100}}
    if not name.startswith("Detr"):
        settings["size"] = {"shortest_edge": 60}
    function = gradiva.convert.huggingface(settings, backend=backend)
    samples = [picture(*size) for size in OF_DIGESTS]
    ours = function(gradiva.batch(samples, layout="HWC"))
    several = ours if isinstance(ours, tuple) else (ours,)
    digest = hashlib.sha256(b"".join(one.as_array().tobytes() for one in several))
    assert digest.hexdigest() == DIGESTS[name, backend]
