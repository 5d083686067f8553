"""What runs in the place of a cache: it reads what is kept, and computes the rest.

The operator `cached` is a decoder to a fused group: it delivers samples one by one, of a cropped
one only the rows that the group reads.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, Final

import numpy as np

from gradiva.capture.compiler.caches import CacheRecipe, new_runner
from gradiva.capture.compiler.optimize import optimize
from gradiva.capture.graph.builtin_ops import cached
from gradiva.capture.runtime.program import Program
from gradiva.eager.execution.error_policy import with_mask
from gradiva.eager.execution.quarantine import (
    Quarantined,
    collecting_in,
    isolated,
    place_of,
    record,
)
from gradiva.eager.operators.call import Call
from gradiva.eager.operators.fusion_roles import Decode, DecodeSeveral
from gradiva.eager.operators.plan import Plan
from gradiva.eager.random.step import step
from gradiva.eager.runtime.worker_pool import shared_pool
from gradiva.eager.support import tracing
from gradiva.eager.support.errors import GradivaError, OperatorRuntimeError, SampleDataError
from gradiva.eager.types.arrays import Array, BoolVector, Int64Array
from gradiva.eager.types.batch_shape import BatchShape
from gradiva.eager.types.dtypes import DType
from gradiva.eager.types.provenance import Provenance
from gradiva.eager.types.sample_type import SampleType
from gradiva.eager.values.batch import Batch
from gradiva.ops.cache.entry import Entry, in_memory
from gradiva.ops.cache.opening import open_store
from gradiva.ops.cache.read_several import read_several
from gradiva.ops.cache.store import Store

from .identities import identities_of, loaded
from .options import place_name

__all__ = ["Runner"]


_ASKED: Final = 4096
"""Samples that are read ahead, at most."""
_NOTHING: Final[tuple[bytes, Entry | None]] = b"", None


@dataclass(frozen=True)
class _Samples(Plan):
    """entries: where each sample of a call is kept; computed: by number, those that were computed
    for this call; rows: (N, 2), which of their rows are wanted, from the first one to the one
    behind the last; made: all samples, if all were computed for this call."""

    entries: list[Entry | None]
    computed: dict[int, Array]
    rows: Int64Array
    made: Batch | None


class Runner:
    """Finds samples, and runs the graph above a cache for those that are not there."""

    def __init__(self, recipe: CacheRecipe) -> None:
        self.recipe = replace(recipe)  # without the runner: they shall not refer to each other
        self.program = Program(optimize(recipe.graph))
        self.hits = self.misses = 0
        self._store: Store | None = None
        self._samples, self._bytes = 0, 0
        self._lock = threading.Lock()
        """Who has it counts, or uses `_asked`: several threads may be at work on different batches,
        and another one reads."""
        self._asked: OrderedDict[tuple[str, ...], tuple[bytes, Entry | None]] = OrderedDict()
        """The keys and entries of samples that were about to be read, by their identities: they are
        not looked up again."""

    @property
    def sample_bytes(self) -> float:
        """The mean of all samples so far, found and computed; 0.0 before the first one."""
        return self._bytes / max(self._samples, 1)

    def _count(self, samples: int, nbytes: int) -> None:
        with self._lock:
            self._samples += samples
            self._bytes += nbytes

    def described(self) -> str:
        """What is kept, and how often it was found; on a second line, where the user calls what
        computes it."""
        recipe, all_of_them = self.recipe, self.hits + self.misses
        where = place_name(recipe.where)
        text = f"cache of `{recipe.name}` in {where}: {self.hits} of {all_of_them} samples found"
        if self._samples:
            size = self.sample_bytes
            text += f", {size / 1024:.0f} KiB" if size >= 10240 else f", {size:.0f} bytes"
            text += " a sample"
        return text if recipe.location is None else f"{text}\n  {recipe.location}"

    @property
    def store(self) -> Store:
        """What keeps the samples; opened when it is needed."""
        # A cached_property would be a frame of the standard library, whose line a warning of the
        # store would take for the user's.
        if self._store is None:
            self._store = open_store(self.recipe.where, self.recipe.cache_bytes)
        return self._store

    @store.setter
    def store(self, store: Store) -> None:
        self._store = store

    def statistics(self) -> dict[str, Any]:
        """What it has done, and what its store has (`Pipeline.stats`)."""
        asked = self.hits + self.misses
        of_store = self.store.statistics()
        return {
            "operator": self.recipe.name,
            "where": self.recipe.where,
            "sample_bytes": self.sample_bytes,
            "hit_rate": self.hits / asked if asked else 0.0,
            **of_store,
            "hits": self.hits,
            "misses": self.misses,
        }

    def known(self, identities: Sequence[Sequence[str | None]]) -> BoolVector:
        """Which samples need not be read. identities: of the samples, for each leaf."""
        asked = self._asked
        rows: list[Any] = list(zip(*identities, strict=True))
        with self._lock:
            new = [row for row in rows if row not in asked and None not in row]
        keys = [self._key(row) for row in new]
        found = self.store.find(keys)
        with self._lock:
            asked.update(zip(new, zip(keys, found, strict=True), strict=True))
            # One that is known as damaged may have to be read again, for its error.
            entries = [asked.get(row, _NOTHING)[1] for row in rows]
            while len(asked) > max(_ASKED, len(rows)):
                asked.popitem(last=False)
        return np.array([one is not None and one.failure is None for one in entries], np.bool_)

    def _find(self, call: Call) -> tuple[list[bytes], list[Entry | None]]:
        """The keys and the entries of the samples of a call."""
        parts = [
            identities_of(batch, trusted, call.pool)
            for batch, trusted in zip(call.inputs, self.recipe.leaves, strict=True)
        ]
        rows = list(zip(*parts, strict=True))
        with self._lock:
            found = [self._asked.pop(row, _NOTHING) for row in rows]
        keys = [key or self._key(row) for row, (key, _) in zip(rows, found, strict=True)]
        entries = [entry for _, entry in found]
        # Another pipeline may have computed meanwhile what was not there.
        without = [sample for sample, entry in enumerate(entries) if entry is None]
        for sample, entry in zip(without, self.store.find([keys[i] for i in without]), strict=True):
            entries[sample] = entry
        return keys, entries

    def look_up(self, call: Call) -> _Samples:
        """Where the samples of a call are, after those that were missing are computed."""
        keys, entries = self._find(call)
        missing = []
        for sample, entry in enumerate(entries):
            if entry is None or not self._fits(entry):
                missing.append(sample)
            elif entry.failure is not None:
                if call.failures is None:
                    missing.append(sample)  # it is computed again, so that its error is raised
                else:
                    call.failures[sample] = _error(entry.failure)
        with self._lock:
            self.hits += len(keys) - len(missing)
            self.misses += len(missing)
        recording = tracing.active
        began = 0 if recording is None else recording.now()
        computed: dict[int, Array] = {}
        made = None
        if missing or not keys:
            for sample in missing:
                entries[sample] = None
            made, computed = self._compute(call, keys, missing)
        if recording is not None:
            facts = {"hits": len(keys) - len(missing), "misses": len(missing)}
            recording.done(call.pool, "cache", f"cache of {self.recipe.name}", began, **facts)
        kept = {
            sample: entry
            for sample, entry in enumerate(entries)
            if entry is not None and entry.failure is None
        }
        if kept:
            self._count(len(kept), sum(entry.size for entry in kept.values()))
            kind = next(iter(kept.values()))
            call.types = (SampleType(_dtype(kind), len(kind.shape), kind.layout, "cpu"),)
        ndim = call.types[0].ndim or 0
        shapes = np.ones((call.size, ndim), np.int64)
        for sample, entry in kept.items():
            shapes[sample] = entry.shape
        for sample, array in computed.items():
            shapes[sample] = array.shape
        rows = np.zeros((call.size, 2), np.int64)
        rows[:, 1] = shapes[:, 0] if ndim else 1
        made = made if len(computed) == call.size else None
        return _Samples(BatchShape.of(shapes), entries, computed, rows, made)

    def _compute(
        self, call: Call, keys: list[bytes], missing: list[int]
    ) -> tuple[Batch, dict[int, Array]]:
        """Compute the samples that are missing, and store them. Returns those that are there, as a
        batch, and each by its number in the call."""
        values = self._inputs(call.inputs, missing)
        size, began, noted = len(missing), time.perf_counter(), isolated()
        places = {None: np.arange(size, dtype=np.int64)}
        try:
            with collecting_in(noted), step(0, size):
                (made,), rows = self.program.run_step(values, size, places, 0, call.pool)
        except GradivaError as error:
            if error.sample is not None:
                error.sample = missing[error.sample]
            raise
        if call.pool.cancelled:  # the pipeline is being closed: some samples were not computed
            raise StopIteration
        seconds = (time.perf_counter() - began) / max(size, 1)
        call.types = (made.type,)
        left = missing if rows is None else [missing[row] for row in rows.tolist()]
        bad = self._lost(call, missing, left, list(noted))
        computed = dict(zip(left, made.arrays(), strict=True))
        self._count(len(computed), made.nbytes)
        whole = [sample for sample in left if sample not in bad]
        self.store.put_many(
            [keys[sample] for sample in whole],
            [computed[sample] for sample in whole],
            made.layout,
            [seconds] * len(whole),
        )
        for sample, facts in bad.items():
            if sample not in computed:
                self.store.put_failure(keys[sample], facts)
        return made, computed

    def _lost(
        self, call: Call, missing: list[int], left: list[int], noted: list[Quarantined]
    ) -> dict[int, dict[str, Any]]:
        """The samples that could not be read, with what is known of them; those that are lost are
        failures of the call, others were replaced. noted: with the positions of `_inputs`."""
        found: dict[int, dict[str, Any]] = {}
        gone = sorted({*missing} - {*left})
        for entry in sorted(noted, key=place_of):
            assert entry.position is not None
            leaf, number = divmod(entry.position, len(missing))
            sample, where = missing[number], call.inputs[leaf].provenance
            found.setdefault(sample, {"problem": entry.reason, "operator": entry.operator})
            if sample not in gone:  # it was replaced
                position = None if where is None else int(where.positions[sample])
                record([entry._replace(position=position)])
        for sample in gone:
            assert call.failures is not None
            call.failures[sample] = _error(found.get(sample, {"problem": "it cannot be read"}))
        return found

    def _inputs(self, inputs: tuple[Batch, ...], samples: list[int]) -> dict[Any, Batch]:
        """The values of the leaves, for some samples; what was left out is read now. They have no
        mask: it is of the samples of the graph around the cache. Their positions say which leaf
        and which of these samples they are, also where the inputs have none."""
        values = {}
        for node in self.program.parameters:
            number = node.attribute("number")
            batch = with_mask(loaded(inputs[number], samples), None)
            where, first = batch.provenance, number * len(samples)
            positions = np.arange(first, first + len(samples), dtype=np.int64)
            known = Provenance(positions) if where is None else replace(where, positions=positions)
            batch.provenance = known
            values[node, 0] = batch
        return values

    def one(self, call: Call, sample: int) -> Any:
        """A sample whose entry turned out to be damaged, computed in this thread."""
        values = self._inputs(call.inputs, [sample])
        places = {None: np.zeros(1, np.int64)}
        try:
            with collecting_in(isolated()), step(0, 1):
                made = self.program.run_step(values, 1, places, 0, shared_pool(1))[0][0]
        except GradivaError as error:
            error.sample = sample
            raise
        if not len(made):
            raise SampleDataError("the file has changed while it was read", sample=sample)
        return made.array(0)

    def _fits(self, entry: Entry) -> bool:
        """Whether an entry is what the graph says; one that is not is as good as none."""
        if entry.failure is not None:
            return True
        type = self.recipe.type
        return (
            type.dtype in (None, _dtype(entry))
            and type.ndim in (None, len(entry.shape))
            and type.layout in (None, entry.layout)
        )

    def _key(self, row: Sequence[str | None]) -> bytes:
        digest = blake2b(self.recipe.digest, digest_size=16)
        digest.update("\0".join(map(str, row)).encode("utf-8", "surrogateescape"))
        return digest.digest()


def _error(facts: dict[str, Any]) -> GradivaError:
    error = SampleDataError(str(facts["problem"]))
    error.operator = facts.get("operator")
    return error


def _dtype(entry: Entry) -> DType:
    return DType.of(entry.dtype)


@cached.shapes
def _shapes(call: Call) -> _Samples:
    runner: Runner = call["recipe"].runner
    return runner.look_up(call)


def _plan(call: Call) -> _Samples:
    assert isinstance(call.plan, _Samples)
    return call.plan


def _decode(call: Call) -> tuple[Callable[[int, Any], None], list[int]]:
    plan, runner = _plan(call), call["recipe"].runner

    def fill(sample: int, out: Any) -> None:
        entry = plan.entries[sample]
        first, last = plan.rows[sample].tolist()
        made = plan.computed.get(sample)
        if made is not None:
            target, source = (out, made) if not out.ndim else (out[first:last], made[first:last])
            target[...] = source
        elif entry is None or not runner.store.read(entry, out, first, last):
            array = runner.one(call, sample)
            if array.shape != out.shape:
                raise OperatorRuntimeError("the file has changed while it was read", sample=sample)
            out[...] = array

    return fill, call.batch_shapes[0].volumes.tolist()


def _decode_several(call: Call) -> DecodeSeveral | None:
    plan, runner = _plan(call), call["recipe"].runner
    entries = [
        entry if sample not in plan.computed else in_memory(plan.computed[sample])
        for sample, entry in enumerate(plan.entries)
    ]
    return read_several(runner.store, entries, plan.rows)


def _read_only(call: Call, firsts: Int64Array, lasts: Int64Array) -> None:
    rows = _plan(call).rows
    rows[:, 0], rows[:, 1] = firsts, lasts


def _made(call: Call) -> Batch | None:
    return _plan(call).made


cached.fusion_role = Decode(_decode, decode_several=_decode_several, rows=_read_only, made=_made)
cached.cpu(cached.fusion_role.run)
new_runner.fill(Runner)
