"""The transforms that leave pixels where they are."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from gradiva.convert.core.calls import call, written
from gradiva.convert.core.writer import NoCounterpartError

from .images import RULES, Images
from .nodes import Node
from .places import apply, fixed

__all__: list[str] = []

_RANGES: Final = {
    "Blur": ("blur_limit",),
    "CLAHE": ("clip_limit",),
    "Defocus": ("radius", "alias_blur"),
    "Downscale": ("scale_range",),
    "Emboss": ("alpha", "strength"),
    "GaussianBlur": ("blur_limit", "sigma_limit"),
    "HueSaturationValue": ("hue_shift_limit", "sat_shift_limit", "val_shift_limit"),
    "ImageCompression": ("quality_range",),
    "MedianBlur": ("blur_limit",),
    "Posterize": ("num_bits",),
    "RGBShift": ("r_shift_limit", "g_shift_limit", "b_shift_limit"),
    "RandomBrightnessContrast": ("brightness_limit", "contrast_limit"),
    "RandomGamma": ("gamma_limit",),
    "Sharpen": ("alpha", "lightness"),
    "Solarize": ("threshold_range",),
    "UnsharpMask": ("blur_limit", "sigma_limit", "alpha"),
}
"""The ranges that values are drawn from."""


@RULES.rule(*_RANGES, calls="`apply`")
def _ranged(writer: Images, node: Node) -> None:
    settings = writer.settings(node)
    names = _RANGES[node.name]
    if settings.get("method") == "gaussian":
        names = ("alpha",)
    apply(writer, node, not all(fixed(settings[name]) for name in names))


@RULES.rule("InvertImg", "ToSepia", calls="`apply`")
def _constant(writer: Images, node: Node) -> None:
    apply(writer, node, False)


@RULES.rule("Equalize", calls="`apply`")
def _equalize(writer: Images, node: Node) -> None:
    if node.arguments.get("mask") is not None:
        raise NoCounterpartError("`mask`")
    apply(writer, node, False)


@RULES.rule("ToGray", calls="`apply`, `recast`")
def _gray(writer: Images, node: Node) -> None:
    settings = writer.settings(node)
    if settings["method"] == "pca":
        raise NoCounterpartError('`method="pca"`')
    if settings["num_output_channels"] == writer.channels:
        apply(writer, node, False)
        return
    if settings["num_output_channels"] != 1:
        raise NoCounterpartError("it makes other than 1 channel, or as many as there were")
    writer.always(node)
    writer.flush()
    line = f"images = {call('recast', written('ToGray'), 'images', method=settings['method'])}"
    writer.layout, writer.channels = "HW", 1
    writer.add(node, line, random=False)


@RULES.rule("ColorJitter", "ChannelShuffle", "ChannelDropout", "MotionBlur", calls="`apply`")
def _random_colors(writer: Images, node: Node) -> None:
    apply(writer, node, True)


@RULES.rule(
    *("GaussNoise", "ISONoise", "SaltAndPepper", "MultiplicativeNoise"),
    calls="`apply`",
    exactness="the distribution of each pixel is the same",
)
def _noise(writer: Images, node: Node) -> None:
    apply(writer, node, True)


@RULES.rule("CoarseDropout", "GridDropout", "Erasing", calls="`apply`")
def _dropout(writer: Images, node: Node) -> None:
    apply(writer, node, True)


def _single(values: Any, scale: float) -> list[float]:
    """Numbers of float32, times a scale, as Albumentations computes them."""
    found = np.atleast_1d(np.array(values, np.float32) * np.float32(scale))
    return [float(one) for one in found]


@RULES.rule(
    "Normalize",
    calls="`crop_mirror_normalize`, `recast`",
    exactness="exact; by the values of an image rounded to float32",
)
def _normalize(writer: Images, node: Node) -> None:
    settings = writer.settings(node)
    writer.always(node)
    if settings["normalization"] != "standard":
        given = call(
            "recast", written("Normalize"), "images", normalization=settings["normalization"]
        )
        writer.dtype = "float32"
        writer.add(node, f"images = {given}", random=False)
        return
    scale = settings["max_pixel_value"]
    mean, std = _single(settings["mean"], scale), _single(settings["std"], scale)
    if writer.dtype == "uint8" and writer.layout == "HWC":

        def fused(layout: str) -> str:
            kept: Any = ... if layout == "CHW" else layout
            called = "gradiva.crop_mirror_normalize"
            return writer.moving(called, mean=mean, std=std, output_layout=kept)

        writer.scaled(node, fused)
        return
    factors = np.reciprocal(np.array(std, np.float32)).tolist()
    line = f"images = (images - np.float32({mean})) * np.float32({factors})"
    writer.dtype = "float32"
    writer.add(node, line, random=False)


@RULES.rule("ToFloat", calls="division")
def _to_float(writer: Images, node: Node) -> None:
    most = writer.settings(node)["max_value"]
    writer.always(node)
    if writer.dtype != "uint8":
        if writer.dtype == "float32":
            writer.add(node, random=False)
            return
        raise NoCounterpartError(f"the images are {writer.dtype} then")
    writer.dtype = "float32"
    writer.add(node, f"images = images / {float(most or 255.0)!r}", random=False)


@RULES.rule("FromFloat", calls="`recast`")
def _from_float(writer: Images, node: Node) -> None:
    settings = writer.settings(node)
    writer.always(node)
    if writer.dtype != "float32":
        raise NoCounterpartError(f"the images are {writer.dtype} then")
    most, dtype = settings["max_value"], settings["dtype"]
    line = f"images = {call('recast', written('FromFloat'), 'images', dtype=dtype, max_value=most)}"
    writer.add(node, line, random=False)
    writer.dtype = dtype


@RULES.rule("ToTensorV2", calls="`crop_mirror_normalize`, `transpose`")
def _to_tensor(writer: Images, node: Node) -> None:
    writer.always(node)
    if node.arguments.get("transpose_mask") and writer.targets:
        raise NoCounterpartError("`transpose_mask`")
    if writer.layout == "HW":
        writer.layout = "CHW"
        line = call("gradiva.expand_dims", "images", axes=0, new_axis_names="C")
        writer.add(node, f"images = {line}", random=False)
        return
    if writer.layout != "HWC":
        raise NoCounterpartError("the images are no longer HWC then")
    if writer.waits:
        writer.flush(node)
        return
    writer.layout = "CHW"
    writer.add(node, writer.moving("gradiva.transpose", perm=[2, 0, 1]), random=False)


@RULES.rule("NoOp", calls="nothing")
def _nothing(writer: Images, node: Node) -> None:
    return
