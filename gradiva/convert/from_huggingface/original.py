"""The processor of transformers itself: for comparisons, and for what has no counterpart."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np

from gradiva.convert.core.step import Array
from gradiva.convert.core.step import Original as Comparison
from gradiva.eager.support.errors import OperatorTypeError, user_location
from gradiva.eager.support.lazy_import import lazy_module

from .configuration import OPERATOR, Configuration

__all__ = ["Original"]

pillow: Any = lazy_module("PIL.Image", "pillow")

_PACKAGE = "transformers"
_GRID = "image_grid_thw"
_PROBES = (64, 96)
"""Sides of images that are tried to find out what a processor returns."""


@dataclass(frozen=True)
class _Run:
    """An image of Pillow, and what the processor made of it: arrays by their names."""

    image: Any
    made: Mapping[str, Array] = field(default_factory=dict)


class Original:
    """An image processor of transformers, which is made when it is first needed."""

    def __init__(self, configuration: Configuration) -> None:
        self.configuration = configuration
        self.backend = configuration.backend

    @functools.cached_property
    def processor(self) -> Any:
        """The processor. Raises ImportError without transformers, OperatorTypeError for a class
        that it has not."""
        given = self.configuration
        if given.source is not None:
            return given.source
        transformers = import_module(_PACKAGE)
        endings = {"pil": "Pil", "torchvision": ""}
        if int(transformers.__version__.partition(".")[0]) < 5:
            endings = {"pil": "", "torchvision": "Fast"}
        name = f"{given.name}{endings[given.backend]}"
        kind = getattr(transformers, name, None)
        if kind is None:
            raise OperatorTypeError(
                f"{_PACKAGE} {transformers.__version__} has no {name}",
                operator=OPERATOR,
                argument="processor",
                location=user_location(),
            )
        names = ("image_processor_type", "feature_extractor_type", "processor_class")
        return kind(**{key: value for key, value in given.given.items() if key not in names})

    def run(self, images: Sequence[Any], **switches: bool) -> dict[str, Any]:
        """What the processor makes of images of Pillow."""
        found = self.processor(images=list(images), **switches)
        return {name: _array(value) for name, value in found.items()}

    def until(self, switches: dict[str, bool]) -> Callable[[_Run], _Run]:
        """The processor with those parts alone that are switched on, for one image."""
        return functools.partial(self._until, switches)

    def _until(self, switches: dict[str, bool], before: _Run) -> _Run:
        known = {name: on for name, on in switches.items() if hasattr(self.processor, name)}
        return _Run(before.image, self.run([before.image], **known))

    def outputs(self, names: Sequence[str]) -> Callable[[_Run], tuple[Array, ...]]:
        """What a run has by these names, without the axis of the images."""
        return functools.partial(_arrays, tuple(names))

    def comparison(self, outputs: Sequence[str]) -> Comparison:
        """How the whole function is compared, which returns these outputs."""
        return Comparison(
            package=_PACKAGE,
            version=_version,
            begin=_begin,
            array=self._pixels,
            together=self._together,
            arrays=self.outputs(outputs),
        )

    def _together(self, runs: Sequence[_Run]) -> list[_Run]:
        """All of it for a batch, whose images may be padded to one size."""
        if _GRID in self.processor.model_input_names:
            return [_Run(run.image, self.run([run.image])) for run in runs]
        made = self.run([run.image for run in runs])
        return [
            _Run(run.image, {name: value[i : i + 1] for name, value in made.items()})
            for i, run in enumerate(runs)
        ]

    def _pixels(self, run: _Run, layout: str) -> Array:
        """The image that a run made, in this layout."""
        if not run.made:
            return np.asarray(run.image)
        planes = _of_one(run.made, "pixel_values")
        if _GRID in run.made:
            planes = _planes(planes, run.made[_GRID][0], self.processor).astype(np.uint8)
        if layout == "HWC":
            planes = np.moveaxis(planes, 0, -1)
        return np.ascontiguousarray(planes)

    def probe(self) -> tuple[tuple[str, ...], bool]:
        """The names of what the processor returns, and whether each has one value per image."""
        images = [pillow.new("RGB", (64, side)) for side in _PROBES]
        made = self.run(images)
        return tuple(made), all(len(value) == len(images) for value in made.values())

    def function(self, names: Sequence[str], per_image: bool) -> Callable[[list[Array]], Any]:
        """A function of the arrays of a batch, for `python_function`: the processor itself."""
        return functools.partial(self._batch, tuple(names), per_image)

    def _batch(self, names: tuple[str, ...], per_image: bool, arrays: list[Array]) -> Any:
        images = [pillow.fromarray(np.ascontiguousarray(one)) for one in arrays]
        if per_image:
            made = self.run(images)
            columns = [list(made[name]) for name in names]
        else:
            runs = [self.run([image]) for image in images]
            columns = [[_of_one(one, name) for one in runs] for name in names]
        return columns[0] if len(names) == 1 else tuple(columns)


def _begin(pixels: Array) -> _Run:
    """What the processor takes: an image of Pillow."""
    return _Run(pillow.fromarray(np.ascontiguousarray(pixels)))


def _arrays(names: tuple[str, ...], run: _Run) -> tuple[Array, ...]:
    return tuple(_of_one(run.made, name) for name in names)


def _version() -> str | None:
    try:
        return str(import_module(_PACKAGE).__version__)
    except ImportError:
        return None


def _array(value: Any) -> Any:
    """A tensor, a list of tensors or of arrays as one array, or as a list if shapes differ."""
    if isinstance(value, list | tuple):
        parts = [np.asarray(one) for one in value]
        same = len({(part.shape, part.dtype) for part in parts}) == 1
        return np.stack(parts) if same else parts
    return np.asarray(value)


def _of_one(made: Mapping[str, Any], name: str) -> Array:
    """A value for the only image of a run: without the axis of images, if it has one."""
    value = made[name]
    if name == "pixel_values" and _GRID in made:
        return np.asarray(value)
    return np.asarray(value[0] if len(value) == 1 else value)


def _planes(rows: Array, grid: Array, processor: Any) -> Array:
    """The image (C, H, W) that was cut into these rows of patches."""
    _, high, wide = (int(one) for one in grid)
    patch, merge = processor.patch_size, processor.merge_size
    frames = processor.temporal_patch_size
    blocks = rows.reshape(high // merge, wide // merge, merge, merge, -1, frames, patch, patch)
    blocks = blocks[:, :, :, :, :, 0]
    return blocks.transpose(4, 0, 2, 5, 1, 3, 6).reshape(-1, high * patch, wide * patch)
