"""The options of an iterator over pipelines, checked."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence, Set
from typing import Any

from gradiva.capture.pipeline.epochs import Shards
from gradiva.capture.pipeline.pipeline import Pipeline
from gradiva.eager.support.errors import OperatorTypeError, OperatorValueError, describe
from gradiva.eager.values.batch import Batch, as_batch
from gradiva.ops.readers.core.source import Source


class IteratorTypeError(OperatorTypeError, AssertionError):
    """What is no pipeline or no array. An AssertionError, as scripts expect."""


class IteratorValueError(OperatorValueError, AssertionError):
    """Arguments of an iterator that do not fit together. An AssertionError, as scripts expect."""


def check_pipelines(given: Pipeline | Sequence[Pipeline]) -> list[Pipeline]:
    """The pipelines, built. Raises OperatorTypeError for other objects, OperatorValueError for
    different batch sizes."""
    # A pipeline is itself a sequence of batches, which does not end.
    given = [given] if isinstance(given, Pipeline) else given
    pipes: list[Pipeline] = list(given) if isinstance(given, Iterable) else []
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
    if len({pipe.enable_checkpointing for pipe in pipes}) > 1:
        raise OperatorValueError(
            argument="pipelines",
            expected="all with enable_checkpointing, or none",
            got="some with it, and some without",
        )
    return pipes


def check_size(size: int, reader_name: str | None, padded: bool, pipelines: int) -> None:
    """Raise OperatorValueError for an invalid size, or for no size where one is required."""
    if reader_name is not None:
        if size != -1:
            raise IteratorValueError("`size` and `reader_name` say the same: give one")
        if padded:
            raise IteratorValueError(
                "with `reader_name`, the reader says whether it pads",
                argument="last_batch_padded",
                expected="False, and the reader's pad_last_batch",
                got=describe(padded),
            )
    elif size == -1 and pipelines > 1:
        raise IteratorValueError(
            "several pipelines need to know where an epoch ends: those that are longer than the "
            "first one to end would lose samples",
            argument="size",
            expected="a number of samples, or `reader_name`",
            got="-1",
        )
    if size != -1 and (isinstance(size, bool) or not isinstance(size, int) or size < 1):
        raise IteratorValueError(
            argument="size", expected="a positive number, or -1", got=describe(size)
        )


def check_full(batches: Sequence[Batch], expected: int) -> None:
    """Raise OperatorValueError for a batch that is smaller than a counted epoch requires."""
    if len(batches[0]) < expected:
        raise IteratorValueError(
            "a source has made a smaller batch, so that `size` samples are not the batches that "
            "were counted: leave `size` out, and let the source end its epochs",
            argument="size",
            expected=f"batches of {expected} samples",
            got=f"one of {len(batches[0])}",
        )


def check_names(given: Sequence[Any], pipes: list[Pipeline]) -> list[Any]:
    """The names of the outputs. Raises OperatorValueError unless there is one for each output."""
    names = list_of_names(given)
    if len(set(names)) != len(names):
        raise IteratorValueError(
            argument="output_map", expected="names that differ", got=describe(given)
        )
    for pipe in pipes:
        if pipe.num_outputs != sum(not is_fact(name) for name in names):
            raise IteratorValueError(
                argument="output_map",
                expected=f"a name for each of {pipe.num_outputs} outputs",
                got=describe(given),
            )
    return names


def entries_of(given: Any) -> list[Any]:
    """What an `output_map` holds, in its order. Raises OperatorTypeError for what has none."""
    if isinstance(given, str | bytes | Set) or not isinstance(given, Iterable):
        raise IteratorTypeError(
            argument="output_map",
            expected="a list with a name for each output",
            got=describe(given),
        )
    return list(given)


def list_of_names(given: Any) -> list[Any]:
    """The names in an `output_map`. Raises OperatorTypeError for what can hold no names."""
    names = entries_of(given)
    for name in names:
        try:
            hash(name)
        except TypeError:
            raise IteratorTypeError(
                "names are the keys of a dict",
                argument="output_map",
                expected="a name for each output",
                got=describe(name),
            ) from None
    return names


def is_fact(name: Any) -> bool:
    """Whether this name of an `output_map` is not an output, but a property of the samples."""
    return isinstance(name, str) and name in FACTS


def _paths(batches: Sequence[Batch]) -> list[str]:
    return _known(batches, "@path").source_info()


def _indices(batches: Sequence[Batch]) -> Batch:
    found = _known(batches, "@index").indices
    if found is None:
        raise IteratorValueError(
            "the samples have no numbers: they come from no reader of files",
            argument="output_map",
            got="'@index'",
        )
    return as_batch(found.copy())


def _positions(batches: Sequence[Batch]) -> Batch:
    found = _known(batches, "@position").positions
    assert found is not None
    return as_batch(found.copy())


def _receipt(batches: Sequence[Batch]) -> bytes:
    found: bytes | None = getattr(batches, "receipt", None)
    if found is None:
        raise IteratorValueError(
            "the pipeline makes no receipts: it was made without with_receipt=True",
            argument="output_map",
            got="'@receipt'",
        )
    return found


def _known(batches: Sequence[Batch], name: str) -> Batch:
    """The first output that knows where its samples come from. Raises OperatorValueError."""
    for batch in batches:
        if batch.provenance is not None:
            return batch
    raise IteratorValueError(
        "no output knows where its samples come from", argument="output_map", got=repr(name)
    )


FACTS: dict[str, Callable[[Sequence[Batch]], Any]] = {
    "@path": _paths,
    "@index": _indices,
    "@position": _positions,
    "@receipt": _receipt,
}
"""A property of the samples or of the batch, by its name in an `output_map`."""


def check_auto_reset(given: bool | str) -> bool:
    """Whether the next epoch begins automatically. Raises OperatorValueError."""
    known = {True: True, "yes": True, False: False, "no": False, None: False}
    if not isinstance(given, Hashable) or given not in known:
        raise OperatorValueError(
            argument="auto_reset", expected="True, False, 'yes' or 'no'", got=describe(given)
        )
    return known[given]


def reader_of(pipe: Pipeline, name: str) -> Source:
    """The source of the reader with this name. Raises OperatorValueError."""
    found = pipe._built().readers()
    if not isinstance(name, str) or name not in found:
        raise IteratorValueError(
            argument="reader_name",
            expected=f"the name of a reader ({', '.join(map(repr, found)) or 'there is none'})",
            got=repr(name),
        )
    return found[name]


def check_shards(given: Sequence[Shards]) -> None:
    """Raise OperatorValueError for readers with different data sets or numbers of shards: no number
    of batches would be right for all of them."""
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
