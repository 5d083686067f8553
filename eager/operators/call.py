"""One running call: what shape rules and kernels see."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradiva.eager.jit.packed_calls import (
    KernelCall,
    NotPackableError,
    PackedCall,
    pack_call,
    run_calls,
)
from gradiva.eager.jit.work_sharing import can_share, parallel_for
from gradiva.eager.random.keys import RandomKey
from gradiva.eager.rows.convert import convert_array
from gradiva.eager.runtime.chunks import chunks
from gradiva.eager.runtime.worker_pool import WorkerPool
from gradiva.eager.support import tracing
from gradiva.eager.support.errors import (
    GradivaError,
    OperatorKeyError,
    OperatorRuntimeError,
    SampleDataError,
    failure_text,
    without_frames,
)
from gradiva.eager.types.arrays import Array, Int64Array
from gradiva.eager.types.batch_shape import BatchShape
from gradiva.eager.types.sample_type import SampleType
from gradiva.eager.values.batch import Batch

from .operator import OperatorBase
from .plan import Plan

_INLINE_BYTES = 1 << 17
"""Work on fewer bytes than this is not worth waking another thread."""
_SURE_BYTES = 1 << 21
"""Work on more bytes is always worth it. Between these limits, a few samples are timed."""
_INLINE_SECONDS = 250e-6
"""Work of less time, in seconds, is not worth it either."""


class _Arguments(dict[str, Any]):
    """The values of arguments; a default with a row for each sample is made when it is read."""

    __slots__ = ("operator", "size")
    operator: OperatorBase
    size: int

    def __missing__(self, name: str) -> Any:
        argument = self.operator.arguments.get(name)
        if argument is None:
            names = ", ".join(self.operator.arguments) or "none"
            problem = f"the operator declares no argument of this name; it declares: {names}"
            raise OperatorKeyError(problem, argument=name)
        self[name] = value = argument.rows(argument.default, self.size)
        return value


class Call:
    """One call while it runs: what shape rules and kernels see.

    `call.arguments["name"]`, or `call["name"]` for short, is the value of an argument: an array
    with one row per sample if the argument may be given per sample, else the value; None if it was
    not given and has no default.
    """

    __slots__ = (
        "arguments",
        "batch_shapes",
        "edges",
        "failures",
        "inputs",
        "kept",
        "key",
        "operator",
        "outputs",
        "plan",
        "pool",
        "positions",
        "size",
        "types",
    )

    def __init__(
        self,
        operator: OperatorBase,
        inputs: tuple[Batch, ...],
        given: dict[str, Any],
        size: int,
        pool: WorkerPool,
    ) -> None:
        self.operator = operator
        self.inputs = inputs
        self.arguments = values = _Arguments(operator.fixed_defaults)
        values.operator, values.size = operator, size
        values.update(given)
        self.size = size
        self.pool = pool
        self.types: tuple[SampleType, ...] = ()
        self.batch_shapes: tuple[BatchShape, ...] = ()
        self.outputs: tuple[Batch, ...] = ()
        self.key: RandomKey | None = None
        self.positions: np.ndarray[Any, np.dtype[np.int64]] | None = None
        self.plan: Plan | None = None
        """The result of the shape rule, if that is more than shapes."""
        self.failures: dict[int, GradivaError] | None = None
        """The errors, by sample, in a call that continues after errors (`on_error`)."""
        self.edges: frozenset[str] = frozenset()
        """The arguments that were given per sample, and not as one value for all."""
        self.kept: dict[Any, Any] | None = None
        """Values that depend on the arguments, types and shapes only, for calls that are repeated
        with `again`."""

    def again(self, inputs: tuple[Batch, ...], pool: WorkerPool) -> Call:
        """A call with the same arguments, types, shapes and plan, for other inputs of the same
        types and shapes."""
        made = Call(self.operator, inputs, self.arguments, self.size, pool)
        made.types, made.batch_shapes, made.plan = self.types, self.batch_shapes, self.plan
        made.edges, made.kept = self.edges, self.kept
        return made

    @property
    def geometries(self) -> tuple[BatchShape, ...]:
        """The older name of `batch_shapes`, for operators outside of gradiva."""
        return self.batch_shapes

    def __getitem__(self, name: str) -> Any:
        return self.arguments[name]

    @property
    def seed_and_number(self) -> tuple[np.uint64, np.uint32]:
        """The key of a random call, as kernels take it."""
        assert self.key is not None
        return np.uint64(self.key.seed), np.uint32(self.key.number)

    @property
    def draws(self) -> tuple[Any, np.uint64, np.uint32]:
        """The inputs of the random generator, for kernels: positions of samples, seed, number of
        the call."""
        assert self.positions is not None
        return self.positions, *self.seed_and_number

    @property
    def slabs(self) -> tuple[Array, Int64Array, Array, Int64Array]:
        """The first input and the first output, as kernels take them: data, offsets of samples."""
        source, target = self.inputs[0], self.outputs[0]
        return source.data, source.batch_shape.offsets, target.data, target.batch_shape.offsets

    @property
    def words(self) -> tuple[Array, Int64Array, Array, Int64Array]:
        """`slabs` as unsigned integers: bytes move whatever they mean, and one kernel is compiled
        for each size of elements."""
        data, offsets, result, places = self.slabs
        unsigned = f"u{self.outputs[0].dtype.itemsize}"
        return data.view(unsigned), offsets, result.view(unsigned), places

    def for_costly_samples(self, kernel: Callable[..., Any], *arrays: Any) -> None:
        """Run `kernel(*arrays, begin, end)` over ranges of few samples, whose costs differ.

        They are not known either: a few samples tell whether the others are worth the way to other
        threads.
        """
        threads, size = self.pool.num_threads, self.size
        calls = [(kernel, arrays)]
        few = self._begin(calls, None)
        if few == size:
            return
        step = max(1, size // (4 * threads))
        ranges = [(k, min(k + step, size)) for k in range(few, size, step)]
        self._in_threads(lambda _: calls, ranges)

    def _begin(self, calls: Sequence[KernelCall], costs: Int64Array | None) -> int:
        """Make calls for a few samples, and for all of them if that does not take long. Returns the
        number of samples that are done. costs: of each sample, in elements; None for equal
        costs."""
        threads, size = self.pool.num_threads, self.size
        few = size if threads == 1 else min(max(1, size // (16 * threads)), size)
        began = time.perf_counter()
        run_calls(calls, 0, few)
        spent = time.perf_counter() - began
        done, whole = (few, size) if costs is None else (costs[:few].sum(), costs.sum())
        if few < size and spent * (whole - done) < _INLINE_SECONDS * done:
            run_calls(calls, few, size)
            return size
        return few

    def for_samples(
        self, kernel: Callable[..., Any], *arrays: Any, work: Batch | None = None
    ) -> None:
        """Run `kernel(*arrays, begin, end)` over ranges that together cover all samples.

        work: the batch whose size tells how much work there is; the first output by default.
        """
        calls = [(kernel, arrays)]
        self.for_calls(lambda _: calls, work)

    def for_calls(
        self, calls: Callable[[int], Sequence[KernelCall]], work: Batch | None = None
    ) -> None:
        """The same for several kernels, one after the other. calls: from a number of threads to
        the calls that they make, each thread with memory of its own."""
        output, threads = self.outputs[0] if work is None else work, self.pool.num_threads
        if output.data.nbytes < _INLINE_BYTES or self.size < 2 or threads == 1:
            for kernel, arguments in calls(1):
                kernel(*arguments, 0, self.size)
            return
        ranges = output.batch_shape.shares(threads)
        if output.data.nbytes < _SURE_BYTES:
            few = self._begin(calls(1), output.batch_shape.volumes)
            ranges = [(max(begin, few), end) for begin, end in ranges if end > few]
        if ranges:
            self._in_threads(calls, ranges)

    def _in_threads(
        self, calls: Callable[[int], Sequence[KernelCall]], ranges: list[tuple[int, int]]
    ) -> None:
        """Make calls for each range, in the threads of the pool."""
        threads = min(self.pool.num_threads, len(ranges))

        def run(begin: int, end: int) -> None:
            run_calls(calls(1), begin, end)

        packed: list[PackedCall] = []
        if threads > 1 and tracing.active is None and can_share():
            with contextlib.suppress(NotPackableError):
                packed = [pack_call(*one, threads) for one in calls(threads)]
        if packed:
            parallel_for(self.pool, ranges, packed, run)
        else:
            self.pool.run(run, ranges)

    def for_slabs(self, kernel: Callable[..., Any], *arrays: Any) -> None:
        """Run `kernel(slabs, *arrays, begin, end)` as `for_samples` does, on `slabs`.

        Numba has no float16 on the CPU: such samples pass through float32.
        """
        data, before, result, after = self.slabs
        single, half = np.dtype(np.float32), np.dtype(np.float16)
        data = convert_array(data, single) if data.dtype == half else data
        made = np.zeros(result.shape, single) if result.dtype == half else result
        self.for_samples(kernel, (data, before, made, after), *arrays)
        if made is not result:
            result[:] = convert_array(made, half)

    def goes_on_after(self, error: GradivaError) -> bool:
        """Record in `failures` that a sample cannot be read. Returns False if the call does not
        continue after errors; then the error has to be raised."""
        if self.failures is None or error.sample is None:
            return False
        self.failures[error.sample] = without_frames(error)
        return True

    def each_sample(
        self,
        function: Callable[[int], None],
        costs: Sequence[float] | None = None,
        several: Callable[[int, int], Sequence[bool]] | None = None,
        ranges: Sequence[tuple[int, int]] | None = None,
    ) -> None:
        """Run `function(sample)` for each sample, the costly ones first.

        costs: in elements, about; samples of small cost share a thread. several: what does some of
        a range of samples before, and says of each whether it did. ranges: those that the costs
        make, where they are known. An exception that is not a
        GradivaError becomes one; both are given the sample's index. Samples that have failed before
        are left out.
        """
        failed = frozenset(self.failures or ())

        def run(begin: int, end: int) -> None:
            done = () if several is None else several(begin, end)
            for sample in range(begin, end):
                if sample in failed or (done and done[sample - begin]):
                    continue
                try:
                    function(sample)
                except SampleDataError as error:
                    error.complete(sample=sample)
                    if not self.goes_on_after(error):
                        raise
                except GradivaError as error:
                    raise error.complete(sample=sample) from error.__cause__
                except Exception as error:
                    raise OperatorRuntimeError(failure_text(error), sample=sample) from error

        if ranges is None and costs is not None:
            ranges = chunks(costs, self.pool.num_threads, dedicated=self.pool.dedicated)
        elif ranges is None:
            ranges = [(sample, sample + 1) for sample in range(self.size)]
        self.pool.run(run, ranges)
