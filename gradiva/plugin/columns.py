"""Functions of batches for libraries whose batches are dictionaries of columns."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gradiva.capture.compiler.optimize import optimize
from gradiva.capture.graph.builtin_ops import random_key
from gradiva.capture.loop.compile import trace
from gradiva.capture.runtime.program import Program
from gradiva.eager.runtime.worker_pool import WorkerPool, default_pool, shared_pool
from gradiva.eager.support.errors import (
    OperatorTypeError,
    SampleDataError,
    annotate_error,
    describe,
    wrong_type,
    wrong_value,
)
from gradiva.eager.types.device import CPU
from gradiva.eager.types.provenance import Provenance
from gradiva.eager.values.batch import Batch, as_batch
from gradiva.ops.readers.core.source import SourceOperator
from gradiva.ops.readers.rows.objects import value_of
from gradiva.ops.readers.rows.values import column_of

__all__ = ["ColumnFunction"]

# `Traced`: a program from a function of batches, whose random values depend on positions only.

Positions = np.ndarray[Any, np.dtype[np.int64]]


class Traced:
    """Called once for each combination of types, with symbols; the program then runs.

    seed: of random calls. num_threads: by default those of dynamic mode. names: of the outputs,
    where the function returns a dictionary; else None. Raises what `trace` raises;
    OperatorTypeError for a function that reads.
    """

    def __init__(
        self, function: Callable[..., Any], seed: int = 0, num_threads: int | None = None
    ) -> None:
        self.function = function
        self.seed = seed
        self.names: list[str] | None = None
        self._num_threads = num_threads
        self._pool: WorkerPool | None = None
        self._programs: dict[tuple[Any, ...], tuple[Program, bool]] = {}

    def _program(self, batches: Sequence[Batch]) -> tuple[Program, bool]:
        """The program for these types, and whether it draws random values."""
        key = tuple(batch.type for batch in batches)
        if key not in self._programs:

            def named(*symbols: Any) -> Any:
                result = self.function(*symbols)
                self.names = list(result) if isinstance(result, Mapping) else None
                return result

            graph = trace(named, *batches)
            if any(isinstance(node.operator, SourceOperator) for node in graph.nodes):
                raise OperatorTypeError("a function of batches reads none", argument="fn")
            if any(node.attribute("shared") for node in graph.nodes):
                raise wrong_value(
                    "fn",
                    "random calls with batch_size=images.batch_size, of some input",
                    "one without a batch size",
                    "a random value for the whole batch depends on which batch it is",
                )
            random = any(node.operator is random_key for node in graph.nodes)
            self._programs[key] = Program(optimize(graph)), random
        return self._programs[key]

    def __call__(
        self, batches: Sequence[Batch], positions: Positions | None = None
    ) -> tuple[Batch, ...]:
        """The outputs. positions: of the samples, each its own; without them a function that draws
        random values is an OperatorValueError."""
        program, random = self._program(batches)
        if random and positions is None:
            raise wrong_value(
                "seed_column",
                "the name of a column with a number for each sample",
                "None",
                "the function draws random values, and nothing says which sample is which",
            )
        size = len(batches[0])
        where = np.arange(size, dtype=np.int64) if positions is None else positions
        placed = [
            Batch.over(batch.data, batch.batch_shape, batch.type, Provenance(where))
            for batch in batches
        ]
        values = {(node, 0): placed[node.attribute("number")] for node in program.parameters}
        pool = self._pool or self._started()
        return tuple(program.run(values, size, {None: where}, self.seed, pool, gpu=CPU))

    def _started(self) -> WorkerPool:
        given = self._num_threads
        self._pool = default_pool() if given is None else shared_pool(given)
        return self._pool

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_pool": None, "_programs": {}}


class ColumnFunction:
    """A gradiva function as a function of columns: of a dictionary with a list or an array for each
    column, all of one length, to another one.

    fn: a function of batches, one for each of `inputs`; it is called with symbols, once for each
        combination of types, and what it records then runs optimized. It returns a batch, several,
        or a dictionary of them.
    inputs: names of columns. Texts, bytes and files of Hugging Face's (`Image(decode=False)`)
        become bytes; images of Pillow HWC.
    outputs: names of what it returns, unless that is a dictionary; by default those of the inputs.
    keep: whether the other columns stay.
    seed, seed_column: of random values: they are a function of the seed and of what the row has in
        this column, a number or a text, whatever batch it is in. Without one a function that draws
        is an error.
    num_threads: by default those of dynamic mode.

    Raises OperatorTypeError for what is no function.
    """

    def __init__(
        self,
        fn: Callable[..., Any],
        inputs: str | Sequence[str],
        outputs: str | Sequence[str] | None = None,
        *,
        keep: bool = True,
        seed: int = 0,
        seed_column: str | None = None,
        num_threads: int | None = None,
    ) -> None:
        if not callable(fn):
            raise wrong_type(
                "fn", "a function of batches", describe(fn), operator=type(self).__name__
            )
        self._inputs = [inputs] if isinstance(inputs, str) else list(inputs)
        self._outputs = [outputs] if isinstance(outputs, str) else outputs
        self._keep = keep
        self._seed_column = seed_column
        self._traced = Traced(fn, seed, num_threads)

    def __call__(self, columns: Mapping[str, Any]) -> dict[str, Any]:
        """The columns of these rows: an array for each output, of one shape; else a list of
        arrays. Raises OperatorValueError for missing columns, and GradivaError with the row as the
        sample."""
        with annotate_error(type(self).__name__):
            wanted = [*self._inputs, *([self._seed_column] if self._seed_column else [])]
            for name in wanted:
                if name not in columns:
                    raise wrong_value(
                        "inputs",
                        f"columns that are there ({', '.join(map(repr, columns))})",
                        repr(name),
                    )
            batches = [_batch(name, columns[name]) for name in self._inputs]
            positions = None
            if self._seed_column is not None:
                positions = _positions(columns[self._seed_column])
            made = self._traced(batches, positions)
            names = self._traced.names or self._outputs or self._inputs
            if len(names) != len(made):
                raise wrong_value("outputs", f"{len(made)} names", describe(names))
            kept = dict(columns) if self._keep else {}
            return {**kept, **dict(zip(names, map(self._column, made), strict=True))}

    def _column(self, batch: Batch) -> Any:
        """What the library gets for an output."""
        return batch.as_array() if batch.batch_shape.uniform else batch.arrays()


def _batch(name: str, values: Any) -> Batch:
    if isinstance(values, np.ndarray) and values.dtype.kind in "biuf":
        return as_batch(values)
    arrays: list[np.ndarray[Any, Any] | None] = []
    for sample, value in enumerate(values):
        try:
            arrays.append(value_of(value, None))
        except SampleDataError as error:
            raise error.complete(sample=sample, file=f"column {name}") from None
    failures: dict[int, Any] = {}
    batch = column_of(arrays, None, failures)
    if failures:
        first = min(failures)
        raise failures[first].complete(sample=first, file=f"column {name}")
    return batch


def _positions(values: Any) -> np.ndarray[Any, np.dtype[np.int64]]:
    found = np.asarray(values)
    if found.dtype.kind in "iu" and found.ndim == 1:
        return found.astype(np.int64)
    numbers = [
        int.from_bytes(hashlib.blake2b(str(value).encode(), digest_size=8).digest(), "little") >> 2
        for value in values
    ]
    return np.array(numbers, np.int64)
