"""What an iterator over pipelines is made with, checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradiva.capture.pipeline.epochs import Shards
from gradiva.capture.pipeline.pipeline import Pipeline
from gradiva.eager.readers.source import Source
from gradiva.eager.support.errors import OperatorTypeError, OperatorValueError, describe

__all__ = [
    "IteratorTypeError",
    "IteratorValueError",
    "check_auto_reset",
    "check_names",
    "check_pipelines",
    "check_shards",
    "reader_of",
]


class IteratorTypeError(OperatorTypeError, AssertionError):
    """What is no pipeline or no array. An AssertionError, as scripts expect."""


class IteratorValueError(OperatorValueError, AssertionError):
    """Arguments of an iterator that do not fit together. An AssertionError, as scripts expect."""


def check_pipelines(given: Pipeline | Sequence[Pipeline]) -> list[Pipeline]:
    """The pipelines, built. Raises OperatorTypeError for other objects, OperatorValueError for
    different batch sizes."""
    pipes = [given] if isinstance(given, Pipeline) else list(given)
    if not pipes or not all(isinstance(pipe, Pipeline) for pipe in pipes):
        raise IteratorTypeError(
            argument="pipelines", expected="a Pipeline, or several", got=describe(given)
        )
    sizes = {pipe.max_batch_size for pipe in pipes}
    if len(sizes) > 1:
        raise IteratorValueError(
            argument="pipelines", expected="one batch size for all", got=str(sorted(sizes))
        )
    for pipe in pipes:
        pipe.build()
    return pipes


def check_names(given: Sequence[Any], pipes: list[Pipeline]) -> list[Any]:
    """The names of the outputs. Raises OperatorValueError where they are not one for each."""
    names = list(given)
    if len(set(names)) != len(names):
        raise IteratorValueError(
            argument="output_map", expected="names that differ", got=describe(given)
        )
    for pipe in pipes:
        if pipe.num_outputs != len(names):
            raise IteratorValueError(
                argument="output_map",
                expected=f"a name for each of {pipe.num_outputs} outputs",
                got=describe(given),
            )
    return names


def check_auto_reset(given: bool | str) -> bool:
    """Whether the next epoch begins by itself. Raises OperatorValueError."""
    known = {True: True, "yes": True, False: False, "no": False, None: False}
    if given not in known:
        raise OperatorValueError(
            argument="auto_reset", expected="True, False, 'yes' or 'no'", got=describe(given)
        )
    return known[given]


def reader_of(pipe: Pipeline, name: str) -> Source:
    """The source of the reader with this name. Raises OperatorValueError."""
    found = pipe._built().readers()
    if name not in found:
        raise IteratorValueError(
            argument="reader_name",
            expected=f"the name of a reader ({', '.join(map(repr, found)) or 'there is none'})",
            got=repr(name),
        )
    return found[name]


def check_shards(given: Sequence[Shards]) -> None:
    """Raise OperatorValueError for readers that are not of one data set in as many shards: there
    is no number of batches that would be right for all of them."""
    for what, found in (
        ("files", {shards.size for shards in given}),
        ("num_shards", {shards.number for shards in given}),
        ("stick_to_shard", {not shards.moving for shards in given}),
        ("pad_last_batch", {shards.padded for shards in given}),
    ):
        if len(found) > 1:
            raise IteratorValueError(
                "the epochs of the pipelines differ",
                argument="pipelines",
                expected="readers with the same number of files, num_shards, stick_to_shard and "
                "pad_last_batch",
                got=f"{what}: {', '.join(map(str, sorted(found)))}",
            )
