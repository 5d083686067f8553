"""`gradiva preview`: a contact sheet of the user's own pipeline or function."""

from __future__ import annotations

import argparse
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import gradiva
from gradiva import random, readers
from gradiva.capture.compiler.optimize import optimize
from gradiva.capture.pipeline.facts import planned_graph
from gradiva.capture.pipeline.pipeline import Pipeline
from gradiva.capture.pipeline.source_plan import Read, SourcePlan
from gradiva.commands.contact_sheet import CELL, Row, check_folder, draw_sheet
from gradiva.commands.demo import find_files
from gradiva.commands.graph import made, missing_arguments, only_pipeline
from gradiva.eager.runtime.worker_pool import default_pool
from gradiva.eager.support.errors import OperatorTypeError, OperatorValueError
from gradiva.eager.values.batch import Batch
from gradiva.eager.values.tensor import Tensor
from gradiva.ops.decoders.image.image import image as decode

__all__ = ["add_arguments", "run"]

_MOST = 64
"""Images of a sheet, and variants of an image."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `gradiva preview`."""
    parser.add_argument(
        "file",
        metavar="FILE.py[:name]",
        help="a file, which is executed, and in it a function made by pipeline_def, a Pipeline, "
        "or a function of a batch of files or images; the name may be left out if there is one "
        "pipeline",
    )
    parser.add_argument(
        "out", metavar="OUT.png", nargs="?", default="gradiva-preview.png", help="the contact sheet"
    )
    parser.add_argument(
        "--data",
        metavar="FOLDER",
        help="images for a function, in place of the package's photographs; a pipeline reads its "
        "own data",
    )
    parser.add_argument("--images", type=int, default=8, help="how many images")
    parser.add_argument("--draws", type=int, default=4, help="how many variants of each image")
    parser.add_argument("--seed", type=int, default=42, help="of the random values")


def run(options: argparse.Namespace) -> int:
    """Write the contact sheet. Returns the exit status. Raises GradivaError."""
    for name in ("images", "draws"):
        if not 1 <= getattr(options, name) <= _MOST:
            raise _refusal(f"--{name}", f"1 to {_MOST}", str(getattr(options, name)))
    check_folder(Path(options.out).absolute().parent, options.out, "preview")
    value, name = only_pipeline(options.file)
    if isinstance(value, types.FunctionType):
        random.set_seed(options.seed)
        drawn = _draws_of_function(value, name, options)
    elif options.data is not None:
        raise _refusal("--data", "nothing, since a pipeline reads its own data", options.data)
    else:
        drawn = _draws_of_pipeline(made(value, name), options)
    rows: list[Row] = []
    for read, outputs in drawn:
        originals = list(read)[: options.images]
        if not rows:
            names = [Path(one.source_info()).name for one in originals]
            pictures = _pixels(originals)
            rows = [Row(*row) for row in zip(names, [[one] for one in pictures], strict=True)]
        variants = _picture_of(outputs, name)[: options.images]
        for row, pixels in zip(rows, _pixels(variants), strict=False):
            row.pictures.append(pixels)
    draw_sheet(rows, options.out, f"{name}: {len(rows)} images, {options.draws} draws of each")
    print(f"contact sheet: {options.out}")
    return 0


def _draws_of_function(
    function: Callable[..., Any], name: str, options: argparse.Namespace
) -> Iterator[tuple[Iterable[Tensor], Any]]:
    """The files, and what the function makes of them, for each draw: they are read again in each
    epoch, so that random values differ. A function that refuses files gets images."""
    count = len(missing_arguments(function))
    if count not in (1, 2):
        raise _refusal("file", "a function of a batch, or of files and labels", f"`{name}`")
    every = readers.File(**find_files(options.data))
    (chosen,) = [files.source_info() for files, _ in [next(every.next_epoch(options.images))]]
    reader = readers.File(files=chosen)
    decoded = False
    for _ in range(options.draws):
        for files, labels in reader.next_epoch(batch_size=len(chosen)):
            try:
                given = decode(files) if decoded else files
                made_of = function(*(given, labels)[:count])
            except OperatorTypeError as error:
                if decoded or "bytes of an image file" not in str(error):
                    raise
                decoded = True
                made_of = function(*(decode(files), labels)[:count])
            yield files, made_of


def _draws_of_pipeline(
    pipe: Pipeline, options: argparse.Namespace
) -> Iterator[tuple[Iterable[Tensor], Any]]:
    """What the first source of a pipeline delivers, and the outputs, for each draw: the same
    samples under another seed, so that random values differ which have no seed of their own."""
    graph = optimize(planned_graph(pipe))
    if any(node.device == "gpu" for node in graph.nodes):
        raise _refusal("file", "a pipeline on the CPU", "operators on a GPU")
    size = max(1, min(options.images, pipe.max_batch_size))
    plan = SourcePlan(graph, size, options.seed, default_pool())
    if not plan.sources:
        raise _refusal("file", "a pipeline that reads images", "no reader and no external source")
    read = plan.read(plan.pool)
    first = read.values[next(iter(plan.sources)), 0]
    for draw in range(options.draws):
        plan.seed = options.seed + draw
        again = Read(dict(read.values), *read[1:])
        yield list(first), plan.compute(again)
    for source in plan.sources.values():
        source.close()


def _picture_of(outputs: Any, name: str) -> list[Tensor]:
    """The first output whose samples can be drawn."""
    several = outputs if isinstance(outputs, tuple | list) else [outputs]
    several = list(outputs.values()) if isinstance(outputs, dict) else several
    for one in several:
        samples = list(one) if isinstance(one, Batch) else [one]
        if samples and _pixels(samples[:1])[0] is not None:
            return samples
    raise _refusal("file", f"`{name}` to return pictures", f"{len(several)} outputs that are none")


def _pixels(samples: Sequence[Any]) -> list[Any]:
    """The pictures of samples as `gradiva.show` draws them; None for what is none."""
    return [gradiva.show([sample], size=CELL).cells[0].pixels for sample in samples]


def _refusal(argument: str, expected: str, got: str) -> OperatorValueError:
    return OperatorValueError(operator="preview", argument=argument, expected=expected, got=got)
