"""`gradiva warmup`: compile the kernels ahead of time."""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
import types
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import gradiva
from gradiva import fn
from gradiva.capture.pipeline.pipeline_def import pipeline_def
from gradiva.commands.graph import find_pipelines, made
from gradiva.eager.jit.background_kernel import at_once
from gradiva.eager.jit.jit import compiled_kernels
from gradiva.eager.jit.kernel_cache import cache_folder
from gradiva.eager.operators.operator import OperatorBase, operators
from gradiva.eager.runtime.chunks import MANY
from gradiva.eager.support.errors import OperatorValueError
from gradiva.eager.support.lazy_import import lazy_module

tqdm = lazy_module("tqdm", "tqdm")

__all__ = ["add_arguments", "run", "run_recipes"]

_TO_FLOAT: Any = {"mean": [124.0, 116.0, 104.0], "std": [58.0, 57.0, 57.0], "output_layout": "CHW"}


_OFTEN = 0.2  # seconds from one look at the number of kernels to the next


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `gradiva warmup`."""
    parser.add_argument(
        "file",
        nargs="?",
        metavar="FILE.py[:name]",
        help="a file, which is executed, and in it a function made by pipeline_def or a Pipeline: "
        "what its first batch needs is compiled, for all pipelines of the file if none is named. "
        "Without a file, all kernels of all operators are",
    )


def run(options: argparse.Namespace) -> int:
    """Compile kernels, those of some pipelines or all, and keep them. Returns the exit status."""
    started = time.perf_counter()
    with at_once():
        if options.file is None:
            _run_examples()
        else:
            _run_pipelines(options.file)
    folder = cache_folder()
    seconds = time.perf_counter() - started
    print(f"{len(compiled_kernels)} kernels compiled in {seconds:.1f} s")
    print(f"kept in {folder}" if folder else "not kept: there is no private folder for them")
    return 0


def _run_pipelines(place: str) -> None:
    """Run the first batch of pipelines in a file. Raises OperatorValueError for what is none, and
    what the file or a batch of it raises."""
    for name, value in find_pipelines(place).items():
        if isinstance(value, types.FunctionType):
            raise OperatorValueError(f"`{name}` is no pipeline: make one by pipeline_def")
        with _counter(name), made(value, name) as pipe:
            pipe.run()


@contextmanager
def _counter(name: str) -> Iterator[None]:
    """Show how many kernels have been compiled so far, while they are."""
    done = threading.Event()

    def watch() -> None:
        while not done.wait(_OFTEN):
            bar.update(len(compiled_kernels) - before - bar.n)

    with tqdm.tqdm(desc=f"warming up {name}", unit=" kernels") as bar:
        before = len(compiled_kernels)
        watcher = threading.Thread(target=watch, name="gradiva-warmup", daemon=True)
        watcher.start()
        try:
            yield
        finally:
            done.set()
            watcher.join()
            bar.update(len(compiled_kernels) - before - bar.n)


def _run_examples() -> None:
    """Run every operator's declared examples."""
    examples = [
        (operator, case)
        for _, operator in sorted(operators.items())
        if operator.case_maker is not None
        for case in operator.case_maker()
        if case.raises is None
    ]
    with tqdm.tqdm(examples, desc="warming up", unit=" calls") as bar:
        for operator, case in bar:
            _call(operator, case)
            bar.set_postfix_str(f"{len(compiled_kernels)} kernels", refresh=False)
    _run_by_many_threads()


def _call(operator: OperatorBase, case: Any) -> None:
    operator.bind(case.inputs, dict(case.arguments))


def run_recipes() -> None:
    """Run the usual ways to train and to validate on the package's photographs, so that the kernels
    of these are compiled and kept; only JPEG files are decoded."""
    with at_once():
        recipes = (_validation, _training, _training_with_color, _whole_images, _wide_images)
        for recipe in (*recipes, _patches):
            with _pipeline(recipe, batch_size=2, num_threads=1, seed=1) as pipe:
                pipe.run()
        _run_by_many_threads()
        _run_with_cache()


def _run_with_cache() -> None:
    """Store decoded images in a folder, and read them."""
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(2):
            with _pipeline(_training, batch_size=8, num_threads=2, seed=1, cache=folder) as pipe:
                pipe.run()


def _run_by_many_threads() -> None:
    """Where there are many threads, and later where there are few, samples are shared by loops of
    compiled code."""
    for recipe in (_validation, _training, _blurred):
        with _pipeline(recipe, batch_size=48, num_threads=MANY + 1, seed=1) as pipe:
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


def _patches(files: Any) -> Any:
    """What vision-language models read."""
    images = fn.smart_resize(fn.decoders.image(files), max_pixels=100 * 28 * 28)
    images = fn.rescale_normalize(images, mean=[0.5, 0.4, 0.3], std=0.25)
    rows, _ = fn.patches(images, patch_size=14, merge_size=2, temporal=2)
    return rows


def _wide_images(files: Any) -> Any:
    """Columns are resized first, and rows mirrored, as it happens now and then in training."""
    images = fn.resize(fn.decoders.image(files), size=(1024, 64))
    return fn.crop_mirror_normalize(images, mirror=1, **_TO_FLOAT)


def _blurred(files: Any) -> Any:
    """An operator that joins no group, behind a decoder."""
    return fn.gaussian_blur(fn.decoders.image(files), window_size=5)


def _whole_images(files: Any) -> Any:
    return fn.flip(fn.resize(fn.decoders.image(files), size=(64, 64)), horizontal=1)
