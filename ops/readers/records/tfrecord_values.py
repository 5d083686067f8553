"""From the values of a feature, in the bytes of records, to an output."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.ops.readers.core.containers import shares
from gradiva.ops.readers.core.table import Failures

from . import tfrecord_example as example
from .tfrecord_features import Feature, int64, string

_NO_FLOATS, _NO_INTEGERS = np.empty(0, np.uint32), np.empty(0, np.uint64)


def wanted_of(features: Iterable[Feature]) -> op.Int64Array:
    """What `example.parse` must know of each feature: the kind of its values, how many its shape
    holds, how many an item has where the length differs (else 0), and whether all must be there."""
    rows = []
    for feature in features:
        if feature.dtype == string:  # the first of any number
            rows.append((example.BYTES, 0, 1, False))
            continue
        kind = example.INTEGERS if feature.dtype == int64 else example.FLOATS
        if feature.shape is None:
            rows.append((kind, 0, feature.item, False))
        else:
            rows.append((kind, math.prod(feature.shape), 0, feature.default is None))
    return np.array(rows, np.int64).reshape(-1, 4)


class Values:
    """The values of one feature, in the bytes of a batch. rows: see `example.parse`."""

    def __init__(self, data: np.ndarray[Any, Any], rows: op.Int64Array) -> None:
        self._data, self._rows = data, rows

    def note(self, name: str, feature: Feature, failures: Failures) -> None:
        """Say of each sample what does not fit the feature, or is missing."""
        for sample in np.flatnonzero(self._rows[:, example.VERDICT] >= example.MISSING).tolist():
            problem = self._problem(sample, feature)
            problem.problem = f"feature {name!r}: {problem.problem}"
            failures.setdefault(sample, problem)

    def _problem(self, sample: int, feature: Feature) -> op.SampleDataError:
        """Why the values of a sample do not fit."""
        row = self._rows[sample]
        kind, count = abs(int(row[example.KIND])), int(row[example.COUNT])
        if row[example.VERDICT] == example.MISSING:
            return op.SampleDataError(
                "there is no default for what is missing",
                expected=f"{math.prod(feature.shape or ())} values",
                got=str(count),
            )
        (wanted, *_), names = wanted_of([feature])[0].tolist(), ("bytes", "float32", "int64")
        if kind != wanted:
            return op.SampleDataError(
                "values of another type", expected=names[wanted - 1], got=names[kind - 1]
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

    def column(self, feature: Feature, pool: op.WorkerPool) -> op.Batch:
        """The output."""
        rows = self._rows
        complete = bool((rows[:, example.VERDICT] == example.COMPLETE).all())
        if feature.dtype == string:
            return self._strings(feature, complete, pool)
        count = len(rows)
        if feature.shape is not None:
            shape = op.BatchShape.equal(count, feature.shape)
        else:
            used = np.where(rows[:, example.KIND] > 0, rows[:, example.COUNT], 0)
            shapes = np.empty((count, 1 + len(feature.partial)), np.int64)
            shapes[:, 0], shapes[:, 1:] = used // feature.item, feature.partial
            shape = op.BatchShape.of(shapes)
        made = op.Batch.empty(shape, feature.type)
        if feature.shape is not None and shape.size and not complete:
            default = 0 if feature.default is None else feature.default
            whole = made.data[: shape.size].reshape(count, -1)
            whole[...] = np.array(default, made.data.dtype).reshape(-1)
        bits: Any = made.data.view(np.uint32 if feature.dtype != int64 else np.uint64)
        floats = bits if feature.dtype != int64 else _NO_FLOATS
        integers = bits if feature.dtype == int64 else _NO_INTEGERS

        def fill(begin: int, end: int) -> None:
            part = slice(begin, end)
            example.fill(self._data, rows[part], shape.offsets[part], floats, integers)

        pool.run(fill, shares(shape, pool))
        return made

    def _strings(self, feature: Feature, complete: bool, pool: op.WorkerPool) -> op.Batch:
        rows = self._rows
        default = np.frombuffer((feature.default or "").encode(), np.uint8)
        sizes = rows[:, example.FIRST + 1] - rows[:, example.FIRST]
        if complete and 2 * int(sizes.sum()) > self._data.size:
            return self._in_place(feature, sizes)
        absent = rows[:, example.KIND] <= 0
        sizes[absent] = default.size
        made = op.Batch.empty(op.BatchShape.of(sizes.reshape(-1, 1)), feature.type)
        if default.size:
            views = made.batch_shape.views(made.data)
            for sample in np.flatnonzero(absent).tolist():
                views[sample][...] = default
        offsets = made.batch_shape.offsets

        def copy(begin: int, end: int) -> None:
            part = slice(begin, end)
            example.copy_bytes(self._data, rows[part], offsets[part], made.data)

        pool.run(copy, shares(made.batch_shape, pool))
        return made

    def _in_place(self, feature: Feature, sizes: op.Int64Array) -> op.Batch:
        """Strings as they lie in the records, of which they are the most."""
        shapes = sizes.reshape(-1, 1)
        uniform = bool((sizes == sizes[:1]).all())
        begins = self._rows[:, example.FIRST].copy()
        made = op.BatchShape(shapes, begins, self._data.size, uniform, False, False)
        return op.Batch.over(self._data, made, feature.type)
