"""`readers.mix`: several readers as one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.operators.argument_types import ArgumentType
from gradiva.eager.operators.signature import extended
from gradiva.eager.schedules.schedule import Schedule
from gradiva.ops.readers.core.order import Order
from gradiva.ops.readers.core.reader import Reader, reader_class
from gradiva.ops.readers.core.source import (
    Arrangement,
    Names,
    Source,
    SourceOperator,
    ValueEqual,
    source_operator,
)
from gradiva.ops.readers.core.table import Table
from gradiva.ops.readers.sampling.checks import as_weights
from gradiva.ops.readers.sampling.sampled_order import MOST_SAMPLES
from gradiva.ops.readers.sampling.sampling_arguments import BucketLike, Sharding, order_of

from .mixed_order import MixedOrder, normalized
from .mixed_table import MixedTable
from .sample_origins import reader_head
from .table_source import TableSource, table_openers

__all__ = ["Mix", "mix", "mixed"]

_ALONE: dict[str, Any] = {
    "pad_last_batch": False,
    "bucket": None,
    "with_index": False,
    "num_shards": 1,
    "sharding": "contiguous",
}
"""What belongs to the mixture, and what its readers have then."""


class Readers(ValueEqual):
    """The readers of a mixture: their operators, and what these are given."""

    def __init__(self, given: Sequence[Any]) -> None:
        self.operators: list[SourceOperator[Any]] = []
        self.arguments: list[dict[str, Any]] = []
        for number, reader in enumerate(given):
            operator, arguments = (
                getattr(reader, "operator", None),
                getattr(reader, "arguments", None),
            )
            if not isinstance(operator, SourceOperator) or not isinstance(arguments, dict):
                raise op.wrong_type(
                    "readers",
                    "readers: objects of gradiva.readers, or of gradiva.ops.readers",
                    f"{type(reader).__name__} as reader {number}",
                )
            if operator.name not in table_openers:
                raise op.wrong_type(
                    "readers", "readers of files", f"{operator.name} as reader {number}"
                )
            values = operator.attributes(arguments)
            wrong = next((name for name, none in _ALONE.items() if values[name] != none), None)
            if wrong is not None:
                raise op.OperatorValueError(
                    f"`{wrong}` belongs to the mixture, not to its readers",
                    argument="readers",
                    got=f"reader {number} with {wrong}={values[wrong]}",
                )
            self.operators.append(operator)
            self.arguments.append({**values, "seed": arguments.get("seed")})

    @property
    def description(self) -> str:
        said = [
            f"{operator.name}(sampler={values['sampler']}, shuffle="
            f"{bool(values['random_shuffle'] or values['shuffle_after_epoch'])})"
            for operator, values in zip(self.operators, self.arguments, strict=True)
        ]
        return f"[{', '.join(said)}]"

    def names(self) -> Names:
        """The names of the outputs, or their arrangement, if all readers have the same."""
        found = {operator.names(values) for operator, values in self._pairs()}
        return found.pop() if len(found) == 1 else None

    def _pairs(self) -> list[tuple[SourceOperator[Any], dict[str, Any]]]:
        return list(zip(self.operators, self.arguments, strict=True))

    def types(self) -> tuple[op.SampleType, ...]:
        """The types of the outputs. Raises OperatorTypeError where readers differ."""
        found: list[op.SampleType] = []
        for number, (operator, values) in enumerate(self._pairs()):
            own = {name: value for name, value in values.items() if name in operator.arguments}
            types = operator.types((), own)
            if number and len(types) != len(found):
                raise _differ(f"{len(found)} outputs", number, operator.name, f"{len(types)}")
            found = found or list(types)
            for output, (one, two) in enumerate(zip(found, types, strict=True)):
                for fact in ("dtype", "ndim", "layout"):
                    was, now = getattr(one, fact), getattr(two, fact)
                    if was is not None and now is not None and was != now:
                        what = f"{fact} {was} of output {output}"
                        raise _differ(what, number, operator.name, str(now))
                    if was is None:
                        found[output] = found[output].with_(**{fact: now})
        return tuple(found)


def _differ(expected: str, number: int, name: str, got: str) -> op.OperatorTypeError:
    return op.OperatorTypeError(
        "readers that are mixed have the same outputs",
        argument="readers",
        expected=f"{expected}, as of the first reader",
        got=f"{got} of reader {number}, {name}",
    )


def _readers(value: Any) -> Readers:
    if isinstance(value, Readers):
        return value
    if not isinstance(value, list | tuple):
        raise TypeError
    if not value:
        raise ValueError
    return Readers(value)


def _stop(value: Any) -> str | int:
    if value in ("first", "all", "cycle"):
        return str(value)
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError
    if value < 1:
        raise ValueError
    return int(value)


def _per(value: Any) -> str:
    if value not in ("sample", "batch"):
        raise ValueError
    return str(value)


def _shares(value: Any) -> Any:
    """Weights, or a schedule of them. Raises OperatorTypeError, OperatorValueError."""
    if not isinstance(value, Schedule):
        return as_weights(value, "weights")
    if value.per - {"epoch"} or not value.several:
        raise op.wrong_type("weights", "a schedule by epochs, of a tuple of numbers", repr(value))
    return value


ReadersLike: TypeAlias = Annotated[
    Any, ArgumentType("ReadersLike", "a list of at least one reader", _readers)
]
Stop: TypeAlias = Annotated[
    str | int, ArgumentType("Stop", "'first', 'all', 'cycle' or a positive number", _stop)
]
MixWeights: TypeAlias = Annotated[
    Any, ArgumentType("MixWeights", "a number for each reader", _shares, schedules=True)
]
Per: TypeAlias = Annotated[str, ArgumentType("Per", "'sample' or 'batch'", _per)]


@source_operator("readers.mix")
def mix(
    *,
    readers: ReadersLike,
    weights: MixWeights | None = None,
    stop: Stop = "first",
    per: Per = "sample",
    with_source: bool = False,
    num_shards: int = 1,
    shard_id: int = 0,
    stick_to_shard: bool = False,
    pad_last_batch: bool = False,
    sharding: Sharding = "contiguous",
    lazy_init: bool = False,
    read_ahead: bool = False,
    prefetch_queue_depth: int = 1,
    on_error: op.OnError = "raise",
    bucket: BucketLike | None = None,
    with_index: bool = False,
    **common: op.Unpack[op.Common],
) -> tuple[op.SampleType, ...]:
    """Read several data sets as one: the reader of each sample is drawn by weights.

    Args:
        readers: what is mixed: readers of dynamic mode, or their class spelling of
            `gradiva.ops.readers`. Their arguments count, with their samplers, and not the place
            where they are; they are not moved. Their outputs are alike.
        weights: how often each of them is read, as numbers from 0 on; by default equally often. Of
            a schedule by epochs, whose values are a number for each, those of the epoch.
        stop: where an epoch ends: "first", where a reader has come to its end; "all", where each of
            them has, while others begin again; "cycle", after as many samples as all have together,
            or after a number of samples: then readers go on where they were in the epoch before.
        per: "sample" draws for each sample, "batch" for each batch; what is drawn for a sample does
            not depend on the batch size, for a batch it does.
        with_source: add an output, int32 of shape (1,): the number of the reader.
        num_shards, shard_id: read one part of each epoch; the parts are equal up to one sample.
        stick_to_shard: keep to this part, instead of moving to the next one at each epoch.
        pad_last_batch: repeat the last sample so that all shards have epochs of one length and the
            last batch is full.
        sharding: how the parts lie in an epoch: "contiguous" or "interleaved", as of other readers.
        lazy_init: look for the data at the first read.
        read_ahead: ask the system to fetch the data of the next `prefetch_queue_depth` batches.
        prefetch_queue_depth: with `read_ahead`, of how many batches the data are fetched.
        on_error: the error policy for a sample that cannot be read; see `docs/errors.md`.
        bucket: a `gradiva.samplers.Bucket`: batches of samples of about one size.
        with_index: add an output, int64 of shape (1,): the number of the sample in the data sets,
            counted from the first of the first reader to the last of the last.

    Returns:
        The outputs of the readers.

    Raises:
        OperatorTypeError: for readers whose outputs differ.
        OperatorValueError: for weights that are not one for each reader, and readers that are
            sharded, padded or read in buckets by themselves.

    Example:
        photos = gradiva.readers.File(file_root="photos")
        frames = gradiva.readers.File(file_root="frames")
        reader = gradiva.readers.Mix(readers=[photos, frames], weights=[0.7, 0.3], stop="all")
        for files, labels in reader.next_epoch(batch_size=4):
            images = gradiva.decoders.image(files)
    """
    source = (op.SampleType(op.int32, 1, "", "cpu"),) if with_source else ()
    return (*_readers(readers).types(), *source)


def _names(given: dict[str, Any]) -> Names:
    names: Names = given["readers"].names()
    if names is None or isinstance(names, Arrangement):
        return names
    return names if not given["with_source"] else (*names, "@source")


mix.output_names = _names

_NOT_TAKEN: dict[str, Any] = {
    "random_shuffle": False,
    "shuffle_after_epoch": False,
    "shuffle_after_epoch_seed": None,
    "sampler": None,
}


def _open_tables(given: dict[str, Any]) -> MixedTable:
    readers: Readers = given["readers"]
    outputs = len(readers.types())
    tables = [
        table_openers[operator.name](values)
        for operator, values in zip(readers.operators, readers.arguments, strict=True)
    ]
    heads = [
        reader_head(operator.name, values, table)
        for operator, values, table in zip(
            readers.operators, readers.arguments, tables, strict=True
        )
    ]
    return MixedTable(tables, outputs if given["with_source"] else None, heads)


def _order(given: dict[str, Any], table: Table, seed: int) -> Order:
    assert isinstance(table, MixedTable)
    readers: Readers = given["readers"]
    orders = []
    for number, (own, values) in enumerate(zip(table.tables, readers.arguments, strict=True)):
        chosen = values["shuffle_after_epoch_seed"]
        chosen = values["seed"] if chosen is None else chosen
        # Readers of the same data are not read in the same order.
        chosen = seed + 1 + number if chosen is None or chosen < 0 else chosen
        order = order_of(values, len(own), chosen % 2**64, own.labels)
        if order.unit > 1:
            raise op.OperatorValueError(
                "a mixture would take the groups of this sampler apart",
                argument="readers",
                got=f"reader {number} with sampler={values['sampler']}",
            )
        orders.append(order)
    weights = given["weights"]
    numbers = weights.at(0) if isinstance(weights, Schedule) else weights
    count = len(orders if numbers is None else numbers)
    if count != len(orders):
        raise op.wrong_value("weights", f"a number for each reader, {len(orders)}", count)
    sizes = tuple(len(own) for own in table.tables)
    stop = sum(sizes) if given["stop"] == "cycle" else given["stop"]
    if isinstance(stop, int) and stop > MOST_SAMPLES:
        raise op.wrong_value("stop", f"an epoch of at most {MOST_SAMPLES} samples", stop)
    shares = weights
    if not isinstance(weights, Schedule):
        shares = normalized(np.ones(len(orders)) if weights is None else weights)
    return MixedOrder(tuple(orders), sizes, seed, shares, stop, given["per"] == "batch")


@mix.opens
def _open(given: dict[str, Any], seed: int) -> Source:
    values = {**_NOT_TAKEN, **given}
    return TableSource(mix, _open_tables, values, seed, True, _order)


Mix = reader_class("Mix", mix)


def mixed(readers: Sequence[Any], weights: Any = None, **arguments: Any) -> Reader:
    """A reader of dynamic mode over several data sets: `gradiva.readers.Mix` of these readers."""
    return Mix(readers=readers, weights=weights, **arguments)


mixed.__signature__ = extended(mixed, mix.__signature__)  # type: ignore[attr-defined]
