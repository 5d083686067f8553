"""The transforms of torchvision's weights: `weights.transforms()`."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from gradiva.convert.core.calls import call
from gradiva.eager.support.lazy_import import lazy_module

from .sizes import center_crop, interpolation, pair, resize
from .values import RULES, Images, refuse

__all__: list[str] = []

F: Any = lazy_module("torchvision.transforms.functional", "torchvision")


@RULES.rule("ImageClassification", calls="`resize`, `crop`, `rescale_normalize`, `transpose`")
def _image_classification(writer: Images, preset: Any) -> None:
    _resized(writer, preset, list(preset.resize_size), preset.antialias)
    size = pair(preset.crop_size)
    center_crop(writer, f"center_crop({list(size)})", lambda x: F.center_crop(x, size), size)
    _normalized(writer, preset.mean, preset.std)


@RULES.rule("SemanticSegmentation", calls="`resize`, `rescale_normalize`, `transpose`")
def _segmentation(writer: Images, preset: Any) -> None:
    if preset.resize_size is not None:
        _resized(writer, preset, list(preset.resize_size), preset.antialias)
    _normalized(writer, preset.mean, preset.std)


@RULES.rule("ObjectDetection", calls="`rescale_normalize`, `transpose`")
def _detection(writer: Images, preset: Any) -> None:
    writer.scaled("convert_image_dtype(float)", _floats, 1 / 255)


@RULES.rule(
    "VideoClassification",
    calls="`resize`, `crop`, `rescale_normalize`, `transpose`",
    exactness="within one step of uint8, by the resize",
)
def _video(writer: Images, preset: Any) -> None:
    refuse(writer.kind == "pil", "it takes tensors, and here the images are of Pillow")
    writer.parameters, writer.layout = ("videos",), "FHWC"
    writer.step("videos of shape (frames, height, width, 3)", "images = videos", original=_same)
    _resized(writer, preset, list(preset.resize_size), False)
    size = pair(preset.crop_size)
    center_crop(writer, f"center_crop({list(size)})", lambda x: F.center_crop(x, size), size)
    _normalized(writer, preset.mean, preset.std)
    writer.flush()
    writer.layout = "CFHW"
    line = call("gradiva.transpose", "images", perm=[3, 0, 1, 2])
    writer.step("permute", f"images = {line}", original=lambda x: x.permute(1, 0, 2, 3))


@RULES.rule("OpticalFlow", calls="`rescale_normalize`, `transpose`, for two images")
def _flow(writer: Images, preset: Any) -> None:
    half = {"mean": [0.5] * 3, "std": [0.5] * 3}
    names = ("images", "others")
    writer.parameters, writer.layout = names, "CHW"  # nothing is left for `finish` to do
    lines = []
    for name in names:
        lines.append(f"{name} = {call('gradiva.rescale_normalize', name, **half)}")
        lines.append(f"{name} = {call('gradiva.transpose', name, perm=[2, 0, 1])}")
    writer.step("OpticalFlow()", *lines, outputs=names)


def _resized(writer: Images, preset: Any, size: list[int], antialias: Any) -> None:
    mode = preset.interpolation
    smooth = bool(antialias) if antialias != "warn" else False
    wanted = SimpleNamespace(interpolation=mode, antialias=smooth)
    arguments: dict[str, Any] = {"size": (size[0], size[-1])}
    if len(size) == 1:
        arguments = {"resize_shorter": size[0]}
    title = f"resize({size}, {interpolation(mode)})"

    def original(value: Any) -> Any:
        return F.resize(value, size, interpolation=mode, antialias=antialias)

    resize(writer, title, original, "gradiva.resize", wanted, **arguments)
    writer.least = (size[0], size[-1])


def _normalized(writer: Images, mean: list[float], std: list[float]) -> None:
    writer.scaled("convert_image_dtype(float)", _floats, 1 / 255)
    writer.normalized(
        f"normalize({mean}, {std})", lambda x: F.normalize(x, mean=mean, std=std), mean, std
    )


def _same(value: Any) -> Any:
    return value


def _floats(value: Any) -> Any:
    planes = F.pil_to_tensor(value) if hasattr(value, "getbands") else value
    return F.convert_image_dtype(planes)
