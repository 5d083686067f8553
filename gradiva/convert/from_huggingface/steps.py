"""Writes the steps of image processors as calls of gradiva."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gradiva.convert.core.calls import Name, call
from gradiva.convert.core.writer import NoCounterpartError, Writer

from .original import Original

__all__ = ["write"]

_FILTERS = {
    "pil": {
        "NEAREST": "INTERP_NN",
        "BILINEAR": "INTERP_LINEAR",
        "BICUBIC": "INTERP_CUBIC",
        "LANCZOS": "INTERP_LANCZOS3",
        "BOX": "INTERP_BOX",
        "HAMMING": "INTERP_HAMMING",
    },
    "torchvision": {
        "NEAREST": "INTERP_NEAREST_EXACT",
        "BILINEAR": "INTERP_LINEAR",
        "BICUBIC": "INTERP_CUBIC",
        "LANCZOS": "INTERP_LANCZOS3",
    },
}
"""The filters of gradiva, by the processor's backend and Pillow's names."""
_FLOATS = 5e-6
"""How far resized floats of 0 to 1 may be from those of torch."""
_CONVNEXT_CROPS = 384
"""ConvNeXT's processor crops where the shortest edge is less than this."""


def write(writer: Writer, family: str, settings: Mapping[str, Any], original: Original) -> None:
    """Write all steps. Raises NoCounterpartError."""
    _Steps(writer, settings, original).write(family)


class _Steps:
    """The steps of one processor."""

    def __init__(self, writer: Writer, settings: Mapping[str, Any], original: Original) -> None:
        self.writer = writer
        self.settings = settings
        self.original = original
        self.backend = original.backend
        self.facts: dict[str, Any] = {}
        self.done = dict.fromkeys(
            ("do_resize", "do_center_crop", "do_rescale", "do_normalize", "do_pad"), False
        )

    def write(self, family: str) -> None:
        if family == "llava" and self.settings["do_pad"]:
            raise NoCounterpartError("it pads images to squares")
        if family == "qwen2_vl":
            self._qwen2_vl()
            return
        if family == "dinov3":
            self._rescale_first()
        if self.settings["do_resize"]:
            (self._convnext if family == "convnext" else self._resize)()
        if self.settings["do_center_crop"]:
            self._center_crop()
        self._values(family)
        if self.settings["do_pad"]:
            self._pad(mask=family == "detr")

    def _rescale_first(self) -> None:
        """The first step of DINOv3: floats are resized."""
        if self.settings["do_rescale"]:
            factor = _single(self.settings["rescale_factor"])
            line = _images("rescale_normalize", rescale=factor)
            title = self._title("rescale", "rescale_factor")
            self._add(title, line, did=("do_rescale",))
            self.settings = {**self.settings, "do_rescale": False}
            self.facts = {"bound": _FLOATS, "note": "sums of floats, in another order"}

    def _add(self, title: str, *lines: str, did: tuple[str, ...], **facts: Any) -> None:
        """Add a step, which does what these switches of the processor turn on."""
        self.done |= dict.fromkeys(did, True)
        original = self.original.until(dict(self.done))
        if did == ("do_resize",):
            facts = {**self.facts, **facts}
        self.writer.step(title, *lines, original=original, **facts)

    def _resized(self, **size: Any) -> str:
        """The call of `resize`."""
        return _images("resize", **size, **self._filter(), compat=self.backend)

    def _filter(self) -> dict[str, Any]:
        wanted = self.settings["resample"]
        filter = _FILTERS[self.backend].get(wanted)
        if filter is None:
            raise NoCounterpartError(f"torchvision has no filter {wanted} for tensors")
        return {"interp_type": Name(f"types.{filter}")}

    def _title(self, what: str, *names: str) -> str:
        return f"{what}({', '.join(f'{name}={self.settings[name]}' for name in names)})"

    def _resize(self) -> None:
        size = self.settings["size"]
        if size.keys() == {"height", "width"}:
            line = self._resized(size=(size["height"], size["width"]))
        elif size.keys() == {"max_height", "max_width"}:
            limits = size["max_height"], size["max_width"]
            line = self._resized(size=limits, mode="not_larger")
        elif size.keys() == {"shortest_edge"}:
            line = self._resized(resize_shorter=size["shortest_edge"])
        else:
            limits = size["shortest_edge"], size["longest_edge"]
            line = self._resized(resize_shorter=limits[0], max_size=limits[1], size_rule="detr")
        self._add(self._title("resize", "size", "resample"), line, did=("do_resize",))

    def _convnext(self) -> None:
        size = self.settings["size"]
        if size.keys() != {"shortest_edge"}:
            raise NoCounterpartError("its size has to be a shortest edge")
        edge = size["shortest_edge"]
        if edge >= _CONVNEXT_CROPS:
            lines = [self._resized(size=(edge, edge))]
        else:
            shorter = int(edge / self.settings["crop_pct"])
            lines = [self._resized(resize_shorter=shorter), self._cropped(edge, edge, shorter)]
        title = self._title("resize", "size", "crop_pct", "resample")
        self._add(title, *lines, did=("do_resize",))

    def _cropped(self, height: int, width: int, shorter: int) -> str:
        """The call of `crop`. shorter: what the shorter side of the images is at least."""
        rounding = "floor" if self.backend == "pil" else "truncate"
        inside = max(height, width) <= shorter
        more = {} if inside else {"out_of_bounds_policy": "pad"}
        return _images("crop", crop=(height, width), rounding=rounding, **more)

    def _center_crop(self) -> None:
        size = self.settings["crop_size"]
        if size is None or size.keys() != {"height", "width"}:
            raise NoCounterpartError(f"it crops to the size {size}")
        shorter = 0
        if self.settings["do_resize"]:
            resized = self.settings["size"]
            if resized.keys() in ({"height", "width"}, {"shortest_edge"}):
                shorter = min(resized.values())
        line = self._cropped(size["height"], size["width"], shorter)
        self._add(self._title("center_crop", "crop_size"), line, did=("do_center_crop",))

    def _scaled(self) -> str | None:
        """The call of `rescale_normalize`; None where no values change."""
        settings = self.settings
        rescale: Any = settings["rescale_factor"]
        if not settings["do_normalize"]:
            if not settings["do_rescale"]:
                return None
            if self.backend == "torchvision":
                # A product of float32 numbers: the factor is rounded first.
                rescale = _single(rescale)
            return _images("rescale_normalize", rescale=_factor(rescale))
        return _images(
            "rescale_normalize",
            mean=_channels(settings["image_mean"]),
            std=_channels(settings["image_std"]),
            rescale=_factor(rescale) if settings["do_rescale"] else 1.0,
            compat=self.backend,
        )

    def _value_titles(self) -> str:
        titles = []
        if self.settings["do_rescale"]:
            titles.append(self._title("rescale", "rescale_factor"))
        if self.settings["do_normalize"]:
            titles.append(self._title("normalize", "image_mean", "image_std"))
        return ", ".join([*titles, "channels first"])

    def _values(self, family: str) -> None:
        scaled = self._scaled()
        planar = call("gradiva.transpose", "images", perm=[2, 0, 1])
        lines = [*([] if scaled is None else [scaled]), f"pixel_values = {planar}"]
        did = tuple(name for name in ("do_rescale", "do_normalize") if self.settings[name])
        title = self._value_titles()
        self._add(title, *lines, did=did, outputs=("pixel_values",), layout="CHW")

    def _pad(self, mask: bool) -> None:
        size = self.settings["pad_size"]
        shape: Any = ...
        if size is not None:
            if size.keys() != {"height", "width"}:
                raise NoCounterpartError(f"it pads to the size {size}")
            shape = (size["height"], size["width"])
        lines: list[str] = []
        outputs: tuple[str, ...] = ("pixel_values",)
        if mask:
            sizes = call("gradiva.slice", "gradiva.shapes(pixel_values)", "1", "2", axes=[0])
            ones = call("gradiva.ones", shape=Name("sizes"), dtype=Name("types.INT64"))
            padded = call("gradiva.pad", "pixel_mask", axes=[0, 1], shape=shape)
            lines += [f"sizes = {sizes}", f"pixel_mask = {ones}", f"pixel_mask = {padded}"]
            outputs = ("pixel_values", "pixel_mask")
        padded = call("gradiva.pad", "pixel_values", axes=[1, 2], shape=shape)
        title = self._title("pad", "pad_size") if size else "pad to the largest image of the batch"
        self.writer.step(title, *lines, f"pixel_values = {padded}", outputs=outputs, layout="CHW")

    def _qwen2_vl(self) -> None:
        settings = self.settings
        size, patch = settings["size"], settings["patch_size"]
        if size.keys() != {"shortest_edge", "longest_edge"}:
            raise NoCounterpartError("its size has to be a least and a greatest area")
        if settings["do_resize"]:
            line = _images(
                "smart_resize",
                patch_size=patch,
                merge_size=settings["merge_size"],
                min_pixels=size["shortest_edge"],
                max_pixels=size["longest_edge"],
                **self._filter(),
                compat=self.backend,
            )
            self._add(self._title("resize", "size", "resample"), line, did=("do_resize",))
        scaled = self._scaled()
        cut = call(
            "gradiva.patches",
            "images",
            patch_size=patch,
            merge_size=settings["merge_size"],
            temporal=settings["temporal_patch_size"],
        )
        outputs = ("pixel_values", "image_grid_thw")
        if scaled is None and self.backend == "pil":
            scaled = _images("cast", dtype=Name("types.FLOAT"))
        titles = self._value_titles().removesuffix("channels first")
        names = ("patch_size", "temporal_patch_size", "merge_size")
        did = tuple(name for name in ("do_rescale", "do_normalize") if settings[name])
        self._add(
            titles + self._title("patchify", *names),
            *([] if scaled is None else [scaled]),
            f"{', '.join(outputs)} = {cut}",
            did=did,
            outputs=outputs,
            layout="",
            arrays=self.original.outputs(outputs),
        )


def _images(function: str, **arguments: Any) -> str:
    return f"images = {call(f'gradiva.{function}', 'images', **arguments)}"


def _channels(numbers: tuple[float, ...]) -> Any:
    return numbers[0] if len(numbers) == 1 else list(numbers)


def _factor(number: float) -> Any:
    """A factor as a reader would write it."""
    return Name("1 / 255") if number == 1 / 255 else number


def _single(number: float) -> float:
    return float(np.float32(number))
