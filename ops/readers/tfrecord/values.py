"""From the values of a feature, in the bytes of records, to an output."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.ops.readers.containers import shares
from gradiva.ops.readers.table import Failures

from . import example
from .features import Feature, int64, string

__all__ = ["Values"]


class Values:
    """The values of one feature, in the bytes of a batch: see `example.count`."""

    def __init__(
        self,
        data: np.ndarray[Any, Any],
        found: op.Int64Array,
        kinds: op.Int64Array,
        counts: op.Int64Array,
        firsts: op.Int64Array,
    ) -> None:
        self._data, self._found, self._firsts = data, found, firsts
        self._kinds, self._counts = kinds, counts

    def column(
        self, name: str, feature: Feature, pool: op.WorkerPool, failures: Failures
    ) -> op.Batch:
        """The output; what does not fit the feature goes to `failures`."""
        wanted = {int64: example.INTEGERS, string: example.BYTES}.get(feature.dtype, example.FLOATS)
        least = math.prod(feature.shape or ())
        sound = (self._counts > 0) & (self._kinds == wanted)
        for sample in np.flatnonzero(self._suspect(wanted, feature)).tolist():
            problem = self._problem(sample, wanted, feature)
            problem.problem = f"feature {name!r}: {problem.problem}"
            failures.setdefault(sample, problem)
            sound[sample] = False
        if feature.shape is not None and feature.default is None and feature.dtype != string:
            for sample in np.flatnonzero(self._counts < least).tolist():
                failures.setdefault(
                    sample,
                    op.SampleDataError(
                        f"feature {name!r}: there is no default for what is missing",
                        expected=f"{least} values",
                        got=str(self._counts[sample]),
                    ),
                )
        return self._made(feature, sound, pool)

    def _suspect(self, wanted: int, feature: Feature) -> Any:
        """Whether the values of each sample do not fit the feature."""
        if feature.dtype == string:
            misfit: Any = False
        elif feature.shape is None:
            misfit = self._counts % feature.item != 0
        else:
            misfit = self._counts > math.prod(feature.shape)
        return (self._counts > 0) & ((self._kinds != wanted) | misfit)

    def _problem(self, sample: int, wanted: int, feature: Feature) -> op.SampleDataError:
        """Why the values of a sample do not fit."""
        kind, count = int(self._kinds[sample]), int(self._counts[sample])
        if kind != wanted:
            names = {1: "bytes", 2: "float32", 3: "int64"}
            return op.SampleDataError(
                "values of another type", expected=names[wanted], got=names[kind]
            )
        if feature.shape is None:
            return op.SampleDataError(
                "the number of values does not fit the shape of an item",
                expected=f"a multiple of {feature.item}",
                got=str(count),
            )
        return op.SampleDataError(
            "the output is too small",
            expected=f"at least {count} elements",
            got=f"shape {list(feature.shape)}",
        )

    def _made(self, feature: Feature, sound: Any, pool: op.WorkerPool) -> op.Batch:
        """The batch, with the values of the sound samples."""
        count = len(sound)
        if feature.dtype == string:
            return self._strings(feature, sound, pool)
        if feature.shape is not None:
            shape = op.BatchShape.equal(count, feature.shape)
        else:
            lengths = np.where(sound, self._counts // feature.item, 0)
            partial = np.broadcast_to(
                np.array(feature.partial, np.int64), (count, len(feature.partial))
            )
            shape = op.BatchShape.of(np.concatenate([lengths[:, None], partial], 1))
        made = op.Batch.empty(shape, feature.type)
        if feature.shape is not None and shape.size:
            default = 0 if feature.default is None else feature.default
            whole = made.data[: shape.size].reshape(count, -1)
            whole[...] = np.array(default, made.data.dtype).reshape(-1)
        bits = made.data.view(np.uint32 if feature.dtype != int64 else np.uint64)
        floats = bits if feature.dtype != int64 else np.empty(0, np.uint32)
        integers = bits if feature.dtype == int64 else np.empty(0, np.uint64)
        kinds = np.where(sound, self._kinds, 0)

        def fill(begin: int, end: int) -> None:
            part = slice(begin, end)
            place = self._found[part], kinds[part], self._counts[part], shape.offsets[part]
            example.fill(self._data, *place, floats, integers)

        pool.run(fill, shares(shape, pool))
        return made

    def _strings(self, feature: Feature, sound: Any, pool: op.WorkerPool) -> op.Batch:
        default = np.frombuffer((feature.default or "").encode(), np.uint8)
        sizes = np.where(sound, self._firsts[:, 1] - self._firsts[:, 0], default.size)
        if sound.all() and 2 * int(sizes.sum()) > self._data.size:
            return self._in_place(feature, sizes)
        made = op.Batch.empty(op.BatchShape.of(sizes.reshape(-1, 1)), feature.type)
        if default.size:
            views = made.batch_shape.views(made.data)
            for sample in np.flatnonzero(~sound).tolist():
                views[sample][...] = default
        offsets = made.batch_shape.offsets

        def copy(begin: int, end: int) -> None:
            part = slice(begin, end)
            example.copy_bytes(
                self._data, self._firsts[part], sound[part], offsets[part], made.data
            )

        pool.run(copy, shares(made.batch_shape, pool))
        return made

    def _in_place(self, feature: Feature, sizes: op.Int64Array) -> op.Batch:
        """Strings as they lie in the records, of which they are the most."""
        shapes = sizes.reshape(-1, 1)
        uniform = bool((sizes == sizes[:1]).all())
        made = op.BatchShape(
            shapes, self._firsts[:, 0].copy(), self._data.size, uniform, False, False
        )
        return op.Batch.over(self._data, made, feature.type)
