"""`external_source`: batches from a callable or an iterable; see parallel_feed.py for processes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from gradiva.eager.arguments import Strings
from gradiva.eager.batch import Batch, as_batch
from gradiva.eager.dtypes import DType
from gradiva.eager.errors import (
    GradivaError,
    OperatorRuntimeError,
    OperatorTypeError,
    OperatorValueError,
    describe,
)
from gradiva.eager.provenance import Provenance
from gradiva.eager.source import Source, source_operator
from gradiva.eager.tensor import Tensor
from gradiva.eager.threads import WorkerPool
from gradiva.eager.value import SampleType

from .feed import BatchInfo, Feed, SampleInfo, check_parallel, parts_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from gradiva.eager.device import DeviceLike

    class _Common(TypedDict, total=False):
        """`Common` without `bytes_per_sample_hint`, which means something here."""

        batch_size: Any
        device: DeviceLike
        name: str
        preserve: bool
        seed: int


__all__ = ["external_source"]


@source_operator("external_source")
def external_source(
    source: Any = None,
    num_outputs: int | None = None,
    *,
    cycle: Any = None,
    layout: Strings | None = None,
    dtype: Any = None,
    ndim: Any = None,
    batch: bool = True,
    batch_info: bool = False,
    repeat_last: bool = False,
    blocking: bool = False,
    no_copy: bool = False,
    parallel: bool = False,
    prefetch_queue_depth: int = 1,
    bytes_per_sample_hint: int | None = None,
    cuda_stream: Any = None,
    use_copy_kernel: bool = False,
    **common: Unpack[_Common],
) -> Any:
    """Take batches from a callable or an iterable.

    source: an iterable or a generator function, whose items are batches; or a callable that
        returns the next batch and raises StopIteration at the end. A callable with an argument is
        told which batch: its number in the epoch, or a BatchInfo with `batch_info=True`.
        A batch is an array with a leading axis, a list of arrays, or a Batch.
    batch: False if the source deals in single samples: a callable gets a SampleInfo for each.
    num_outputs: if given, items are tuples of that many batches (or samples), and a tuple is
        returned.
    cycle: what to do at the end of an iterable: "no" (or None) ends the data; "quiet" (or True)
        starts again; "raise" ends the epoch, and starts again after `reset`.
    layout, dtype, ndim: of the samples, one or one per output. Data of another dtype or rank is an
        error; without `dtype` and `ndim` the first batch fixes them.
    repeat_last: deliver the last batch again where the data has ended.
    blocking: wait for data that is fed from outside; a callable or iterable always is waited for.
    no_copy: use the arrays where they are; the caller must not change them while they are in use.
    parallel: call the source in worker processes (`py_num_workers` and `py_start_method` of the
        pipeline); the same bits. A callable takes one argument and must depend on nothing else:
        samples of a batch (`batch=False`), or batches, are made by several workers at once. An
        iterable lives in one worker; if that dies, what was delivered is skipped in another.
    prefetch_queue_depth: with `parallel`, batches that are asked for before they are needed.
    bytes_per_sample_hint: with `parallel`, the size of a sample, for the first shared memory.
    cuda_stream, use_copy_kernel: of GPU sources; without effect.
    Batches may be smaller than the pipeline's batch size, not larger. Raises OperatorRuntimeError,
    with the callable's own traceback, if it raises; OperatorTypeError for data that is no batch.
    With `parallel`, an OperatorRuntimeError also tells that a worker process ended, with its signal
    and the sample that it was at; the next `run` asks for the same batch again, up to five times.
    """
    if source is None:
        raise OperatorTypeError(
            "feeding a source from outside is not there yet",
            argument="source",
            expected="a callable or an iterable",
            got="None",
        )
    if num_outputs is not None and num_outputs < 1:
        raise OperatorValueError(
            argument="num_outputs", expected="at least 1", got=str(num_outputs)
        )
    for name, number in (
        ("prefetch_queue_depth", prefetch_queue_depth),
        ("bytes_per_sample_hint", bytes_per_sample_hint),
    ):
        if number is not None and number < 1:
            raise OperatorValueError(argument=name, expected="at least 1", got=str(number))
    if parallel:
        check_parallel(source, batch)
    return tuple(declared_types(num_outputs or 1, layout, dtype, ndim))


def declared_types(count: int, layout: Any, dtype: Any, ndim: Any) -> list[SampleType]:
    """The declared type of each output; what was not declared is unknown."""
    layouts = _each("layout", layout, count)
    ranks = _each("ndim", ndim, count)
    types = []
    for index, name in enumerate(_each("dtype", dtype, count)):
        try:
            chosen = None if name is None else DType.of(name)
        except (TypeError, ValueError) as error:
            raise OperatorTypeError(str(error), argument="dtype") from None
        rank = ranks[index]
        if layouts[index] and rank is None:
            rank = len(layouts[index])
        if layouts[index] and len(layouts[index]) != rank:
            raise OperatorValueError(
                argument="layout", expected=f"{rank} letters", got=repr(layouts[index])
            )
        types.append(SampleType(chosen, rank, layouts[index] or None))
    return types


def _each(name: str, value: Any, count: int) -> list[Any]:
    if not isinstance(value, list | tuple):
        return [value] * count
    if len(value) == 1:
        return list(value) * count
    if len(value) != count:
        raise OperatorValueError(
            argument=name, expected=f"one, or one for each of {count} outputs", got=str(len(value))
        )
    return list(value)


@external_source.opens
class ExternalFeed(Source):
    """The user's source, and how much of it was read."""

    def __init__(self, arguments: dict[str, Any], seed: int) -> None:
        self._arguments = arguments
        self._feed = Feed(arguments["source"], arguments["cycle"])
        self._count = arguments["num_outputs"] or 1
        self._types = declared_types(
            self._count, arguments["layout"], arguments["dtype"], arguments["ndim"]
        )
        self._fixed: list[SampleType | None] = [None] * self._count
        self._epoch = 0
        self._iteration = 0
        self._in_epoch = 0
        self._position = 0
        self._last: tuple[Batch, ...] | None = None

    def read(self, batch_size: int, pool: WorkerPool) -> tuple[Batch, ...]:
        try:
            items = self._samples(batch_size) if not self._arguments["batch"] else self._whole()
            batches = self._made(items, batch_size)
        except StopIteration:
            if self._arguments["repeat_last"] and self._last is not None:
                return self._last
            raise
        except GradivaError:
            if not self._arguments["batch"]:
                # The batch is lost, its samples are not asked for again.
                self._position += batch_size
                self._in_epoch += batch_size
            raise
        finally:
            self._iteration += 1
        size = len(batches[0])
        positions = np.arange(self._position, self._position + size, dtype=np.int64)
        self._position += size
        self._in_epoch += size
        for batch in batches:
            names = batch.provenance.names if batch.provenance else None
            batch.provenance = Provenance(positions, names)
        self._last = batches
        return batches

    def _made(self, items: tuple[Any, ...], batch_size: int) -> tuple[Batch, ...]:
        """The batches for what the source returned, of one size that is not too large."""
        batches = tuple(self._batch(item, index) for index, item in enumerate(items))
        sizes = {len(batch) for batch in batches}
        if len(sizes) > 1:
            raise OperatorValueError(
                "the source returned batches of different sizes",
                expected="one size",
                got=", ".join(str(len(batch)) for batch in batches),
            )
        size = sizes.pop()
        if size > batch_size:
            raise OperatorValueError(
                "the source returned a batch that is too large",
                expected=f"at most {batch_size} samples",
                got=str(size),
            )
        return batches

    def _whole(self) -> tuple[Any, ...]:
        request: Any = self._iteration
        if self._arguments["batch_info"]:
            request = BatchInfo(self._iteration, self._epoch)
        return self._outputs(self._feed.next(request), None)

    def _samples(self, batch_size: int) -> tuple[Any, ...]:
        rows: list[tuple[Any, ...]] = []
        for index in range(batch_size):
            info = SampleInfo(self._in_epoch + index, index, self._iteration, self._epoch)
            try:
                rows.append(self._outputs(self._feed.next(info), index))
            except StopIteration:
                # Callables end an epoch with a whole batch; an iterable ends where it ends.
                if not rows or self._feed.takes_request:
                    raise
                break
            except GradivaError as error:
                raise error.complete(sample=index) from error.__cause__
        return tuple([row[output] for row in rows] for output in range(self._count))

    def _outputs(self, item: Any, sample: int | None) -> tuple[Any, ...]:
        try:
            return parts_of(item, self._arguments["num_outputs"])
        except GradivaError as error:
            raise error.complete(sample=sample) from None

    def _batch(self, item: Any, index: int) -> Batch:
        declared = self._types[index]
        if isinstance(item, Tensor) or not (
            isinstance(item, Batch | np.ndarray | list | tuple) or hasattr(item, "__dlpack__")
        ):
            raise OperatorTypeError(
                "the source returned the wrong thing",
                expected="a batch: an array with a leading axis, or a list of arrays",
                got=describe(item),
            )
        made = as_batch(item, layout=declared.layout)
        if not self._arguments["no_copy"] and not isinstance(item, list | tuple):
            made = made.to_device("cpu", force_copy=True)
        # The batch gets positions of its own: the user's object stays as it is.
        made = Batch(made.data, made.geometry, made.type, made.provenance)
        self._check(made, declared, index)
        return made

    def _check(self, made: Batch, declared: SampleType, index: int) -> None:
        """The dtype and rank are those declared, or those of the first batch."""
        wanted = self._fixed[index] or declared
        for what, expected, got in (
            ("dtype", wanted.dtype, made.dtype),
            ("rank", wanted.ndim, made.ndim),
        ):
            if expected is not None and got != expected and len(made):
                since = "as declared" if self._fixed[index] is None else "as in the first batch"
                raise OperatorTypeError(
                    f"output {index} of the source has another {what}",
                    expected=f"{expected}, {since}",
                    got=str(got),
                )
        if len(made):
            self._fixed[index] = SampleType(made.dtype, made.ndim, made.layout)

    def reset(self) -> None:
        self._feed.restart()
        self._epoch += 1
        self._iteration = 0
        self._in_epoch = 0

    def get_state(self) -> dict[str, Any]:
        return {
            "epoch": self._epoch,
            "iteration": self._iteration,
            "in_epoch": self._in_epoch,
            "position": self._position,
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """For callables that are told which sample or batch; others cannot be moved."""
        if not self._feed.takes_request:
            raise OperatorRuntimeError(
                "only a callable that takes the number of the batch, or a SampleInfo, can be "
                "continued from a saved place"
            )
        try:
            self._epoch, self._iteration, self._in_epoch, self._position = (
                int(state[key]) for key in ("epoch", "iteration", "in_epoch", "position")
            )
        except (KeyError, TypeError, ValueError) as error:
            raise OperatorValueError(f"this is not the state of a source: {error}") from None
