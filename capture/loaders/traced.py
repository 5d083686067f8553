"""`Traced`: a program from a function of batches, whose random values depend on positions only."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gradiva.capture.compiler.optimize import optimize
from gradiva.capture.graph.builtin_ops import random_key
from gradiva.capture.lazy.compile import trace
from gradiva.capture.runtime.program import Program
from gradiva.eager.readers.source import SourceOperator
from gradiva.eager.runtime.worker_pool import WorkerPool, default_pool, shared_pool
from gradiva.eager.support.errors import OperatorTypeError, OperatorValueError
from gradiva.eager.types.device import CPU
from gradiva.eager.types.provenance import Provenance
from gradiva.eager.values.batch import Batch

__all__ = ["Traced"]

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
                raise OperatorValueError(
                    "a random value for the whole batch depends on which batch it is",
                    argument="fn",
                    expected="random calls with batch_size=images.batch_size, of some input",
                    got="one without a batch size",
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
            raise OperatorValueError(
                "the function draws random values, and nothing says which sample is which",
                argument="seed_column",
                expected="the name of a column with a number for each sample",
                got="None",
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
