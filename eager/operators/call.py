"""One running call: what shape rules and kernels see."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
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
from gradiva.eager.random.generator import RandomKey
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
from gradiva.eager.types.arrays import Array, Float32Array, Int64Array
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

    `inputs` are batches; `outputs`, in kernels, too: fill them. `call.inputs[0].at(i)` is sample i
    as an array. `size` is N, the number of samples. `call.inputs[0].batch_shape` has the shapes of
    the samples, int64, (N, axes), and their offsets and volumes, int64, (N,), in elements;
    `call.inputs[0].dtype` and `.layout` are theirs, `call.types` those of the outputs.

    A kernel in Python writes one sample at a time, in a function for `each_sample`. A compiled one
    (`jit`) takes a range of samples, and `for_slabs` calls it, or `for_samples` and `for_calls`
    with any other arrays.
    """

    __slots__ = (
        "arguments",
        "batch_shapes",
        "edges",
        "failures",
        "frames",
        "given",
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
        self.given: Mapping[str, Any] = given
        """The arguments as they were given, before they became rows; for calls made of this one."""
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
        self.frames: Any = None
        """Of a call on the frames of sequences: which of these belong together (`Frames`)."""
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

    def single(self, name: str) -> Float32Array:
        """The value of a `DoubleArg` or `DoublesArg` in float32; what is too large is infinite."""
        with np.errstate(over="ignore"):
            return np.asarray(self.arguments[name], np.float32)

    @property
    def seed_and_number(self) -> tuple[np.uint64, np.uint32]:
        """The key of a random call, as kernels take it."""
        assert self.key is not None
        return np.uint64(self.key.seed), np.uint32(self.key.number)

    @property
    def draws(self) -> tuple[Any, np.uint64, np.uint32]:
        """(positions, seed, number): the inputs of the random generator `philox`, for kernels of
        operators that were declared with `random=True`.

        positions: int64, (N,), of the samples in the data; seed: uint64; number: uint32, of the
        call in its step. `gradiva.extension.draws(call, count)` makes numbers of them.
        """
        assert self.positions is not None
        return self.positions, *self.seed_and_number

    @property
    def slabs(self) -> tuple[Array, Int64Array, Array, Int64Array]:
        """(source, source_offsets, target, target_offsets): the first input and the first output,
        as kernels take them.

        source, target: 1-D arrays of the dtypes of the input and the output, which hold all samples
        of the batch, each in C order. The offsets say where each sample begins, in elements: int64,
        (N,), not N + 1. There may be gaps between samples, so one does not end where the next one
        begins: kernels take the lengths besides, from `call.inputs[0].batch_shape.volumes` or
        `call.outputs[0].batch_shape.volumes`, int64, (N,), in elements. `for_slabs` has an example.
        """
        source, target = self.inputs[0], self.outputs[0]
        return source.data, source.batch_shape.offsets, target.data, target.batch_shape.offsets

    @property
    def words(self) -> tuple[Array, Int64Array, Array, Int64Array]:
        """`slabs` as unsigned integers of the size of an element, for kernels that only move
        elements: one kernel is compiled for each size (1, 2, 4 or 8 bytes), and not for each dtype.

        The offsets are those of `slabs`, int64, (N,), in elements. Input and output have elements
        of one size: pass `*call.words`, and other arrays, to `for_samples`.
        """
        data, offsets, result, places = self.slabs
        unsigned = f"u{self.outputs[0].dtype.itemsize}"
        return data.view(unsigned), offsets, result.view(unsigned), places

    def for_costly_samples(self, kernel: Callable[..., Any], *arrays: Any) -> None:
        """Run `kernel(*arrays, begin, end)` over ranges of few samples, whose costs differ.

        As `for_samples`, for costs that are not known before: the time that a few samples take says
        whether other threads are woken for the rest.
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
        """Run `kernel(*arrays, begin, end)` over ranges that together cover all samples, in the
        worker threads.

        kernel: marked `jit`; it does the samples from `begin` to `end` - 1, and writes only to
            them, so the number of threads changes no bit.
        arrays: NumPy arrays, numbers and tuples of them, the same for each range: usually with a
            row for each of the N samples, such as `call["level"]`, (N,), or offsets and volumes of
            samples, int64, (N,), in elements (see `slabs`).
        work: the batch whose bytes and volumes say how the samples are divided among threads; the
            first output by default.

        Indices are not checked; see `for_slabs`.
        """
        calls = [(kernel, arrays)]
        self.for_calls(lambda _: calls, work)

    def for_calls(
        self, calls: Callable[[int], Sequence[KernelCall]], work: Batch | None = None
    ) -> None:
        """As `for_samples` for several kernels, which run one after the other on each range.

        calls: a function of the number of threads T, 1 or more. It returns a list of pairs
            (kernel, arguments), each of which is run as `kernel(*arguments, begin, end)`. Scratch
            memory that each thread writes must be one array for each of the T threads.
        work: as for `for_samples`.
        """
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

        slabs: (source, source_offsets, target, target_offsets), where the offsets are int64, (N,),
            in elements, and samples may have gaps between them; so pass the lengths, too.
        arrays: as for `for_samples`.

        Indices are not checked: a wrong one reads or overwrites other memory, or ends the process.
        Run a new kernel once with NUMBA_BOUNDSCHECK=1 in the environment: it then raises
        IndexError. Numba has no float16 on the CPU: such samples pass through float32.

        Example:
            @extension.jit
            def halve(slabs, volumes, begin, end):
                source, source_offsets, target, target_offsets = slabs
                for sample in range(begin, end):
                    first, to = source_offsets[sample], target_offsets[sample]
                    for k in range(volumes[sample]):
                        target[to + k] = source[first + k] // 2

            @half.cpu  # of an operator `half` with same_shapes=True
            def half_cpu(call):
                call.for_slabs(halve, call.outputs[0].batch_shape.volumes)
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
        costs: Sequence[float] | Int64Array | None = None,
        several: Callable[[int, int], Sequence[bool]] | None = None,
        ranges: Sequence[tuple[int, int]] | None = None,
    ) -> None:
        """Run `function(sample)` for each sample, from 0 to N - 1, in the worker threads; the
        costly ones first.

        function: a Python function; it writes only to this sample of the outputs, such as
            `call.outputs[0].at(sample)[...] = call.inputs[0].at(sample)`.
        costs: N numbers, about the elements that each sample makes; samples of small cost share a
            thread. By default each sample is a task of its own.
        several: called with `begin` and `end` before a range of samples; it does some of them,
            and returns for each whether it did.
        ranges: (begin, end) pairs that cover all samples, where they are known already.

        An exception that is not a GradivaError becomes an OperatorRuntimeError; both get the number
        of the sample. Samples that have failed before are left out.
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
