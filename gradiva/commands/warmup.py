"""`python -m gradiva warmup`: compile the kernels ahead of time."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import gradiva
from gradiva import fn
from gradiva.capture.pipeline.pipeline_def import pipeline_def
from gradiva.eager.jit.jit import compiled_kernels
from gradiva.eager.jit.kernel_cache import cache_folder
from gradiva.eager.operators.operator import OperatorBase, operators
from gradiva.eager.support.lazy_import import lazy_module

tqdm = lazy_module("tqdm", "tqdm")

__all__ = ["run", "run_recipes"]

_TO_FLOAT: Any = {"mean": [124.0, 116.0, 104.0], "std": [58.0, 57.0, 57.0], "output_layout": "CHW"}


def run() -> int:
    """Run every operator's declared examples, so that their kernels are compiled and kept."""
    started = time.perf_counter()
    examples = [
        (operator, case)
        for _, operator in sorted(operators.items())
        if operator.case_maker is not None
        for case in operator.case_maker()
        if case.raises is None
    ]
    for operator, case in tqdm.tqdm(examples, desc="warming up", unit=" calls"):
        _call(operator, case)
    folder = cache_folder()
    seconds = time.perf_counter() - started
    print(f"{len(compiled_kernels)} kernels compiled in {seconds:.1f} s")
    print(f"kept in {folder}" if folder else "not kept: there is no private folder for them")
    return 0


def _call(operator: OperatorBase, case: Any) -> None:
    operator.bind(case.inputs, dict(case.arguments))


def run_recipes() -> None:
    """Run the usual ways to train and to validate on the package's photographs, so that the kernels
    of these are compiled and kept; only JPEG files are decoded."""
    for recipe in (_validation, _training, _training_with_color, _whole_images, _wide_images):
        pipe = _pipeline(recipe, batch_size=2, num_threads=1, seed=1)
        with pipe:
            pipe.run()


@pipeline_def
def _pipeline(recipe: Any) -> Any:
    files, labels = fn.readers.file(file_root=str(Path(gradiva.__file__).parent / "photographs"))
    return recipe(files), labels


def _validation(files: Any) -> Any:
    images = fn.resize(fn.decoders.image(files), resize_shorter=256)
    return fn.crop_mirror_normalize(images, crop=(224, 224), **_TO_FLOAT)


def _training(files: Any) -> Any:
    images = fn.resize(fn.decoders.image_random_crop(files), size=(224, 224))
    return fn.crop_mirror_normalize(images, mirror=fn.random.coin_flip(), **_TO_FLOAT)


def _training_with_color(files: Any) -> Any:
    images = fn.random_resized_crop(fn.decoders.image(files), size=(224, 224))
    factor = fn.random.uniform(range=[0.8, 1.2])
    images = fn.color_twist(images, hue=10.0 * factor, saturation=factor)
    images = fn.brightness_contrast(images, brightness=factor, contrast=factor)
    return fn.crop_mirror_normalize(images, mirror=fn.random.coin_flip(), **_TO_FLOAT)


def _wide_images(files: Any) -> Any:
    """Columns are resized first, and rows mirrored, as it happens now and then in training."""
    images = fn.resize(fn.decoders.image(files), size=(1024, 64))
    return fn.crop_mirror_normalize(images, mirror=1, **_TO_FLOAT)


def _whole_images(files: Any) -> Any:
    return fn.flip(fn.resize(fn.decoders.image(files), size=(64, 64)), horizontal=1)
