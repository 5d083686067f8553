"""The error policies for samples that cannot be read: `on_error="skip"` and `"replace"`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from gradiva.eager.random.step import narrow_step
from gradiva.eager.support.errors import GradivaError, OperatorValueError
from gradiva.eager.types.provenance import Provenance
from gradiva.eager.values.batch import Batch
from gradiva.eager.values.buffers import fill

from .quarantine import Quarantined, place_of, record

__all__ = [
    "apply_error_policy",
    "check_not_single",
    "continues_on_error",
    "keep_rows",
    "quarantine_samples",
    "replacements",
    "skips",
]


def skips(given: Mapping[str, Any]) -> bool:
    """Whether a call with these arguments may drop samples."""
    return given.get("on_error") == "skip"


def continues_on_error(given: Mapping[str, Any]) -> bool:
    """Whether a call with these arguments continues after a sample that cannot be read."""
    return bool(given.get("on_error", "raise") != "raise")


def check_not_single(given: Mapping[str, Any], single: bool) -> None:
    """Raise an error for a call on one sample: there is no batch from which it could be dropped."""
    if single and skips(given):
        raise OperatorValueError(
            "a single sample cannot be left out: give a batch",
            argument="on_error",
            expected="'raise' or 'replace'",
            got="'skip'",
        )


def apply_error_policy(
    outputs: tuple[Batch, ...],
    failures: Mapping[int, GradivaError],
    given: Mapping[str, Any],
    operator: str,
    where: Provenance | None,
    dropped: list[int] | None,
) -> tuple[Batch, ...]:
    """The outputs of a call, of whose samples some failed.

    failures: by sample; given: the arguments; where: files and positions of all samples; lost:
    takes the samples that were left out. Reports the failures to the quarantine.
    """
    quarantine_samples(failures, operator, where)
    bad = sorted(failures)
    if not skips(given):
        for batch in outputs:
            value = replacements(given.get("fill_value", 0.0), batch.data.dtype)
            for sample in bad:
                fill(batch.array(sample), value)
        return outputs
    if dropped is not None:
        dropped.extend(bad)
    kept = np.delete(np.arange(len(outputs[0])), bad)
    if where is not None:
        narrow_step(where.positions[kept])
    return tuple(keep_rows(batch, kept) for batch in outputs)


def keep_rows(batch: Batch, rows: Iterable[int] | np.ndarray[Any, Any]) -> Batch:
    """The batch with these samples only."""
    chosen: Sequence[int] = [int(row) for row in rows]
    return batch.select(chosen)


def quarantine_samples(
    failures: Mapping[int, GradivaError], operator: str, where: Provenance | None
) -> None:
    """Report failed samples, in the order of their positions."""
    entries = [
        Quarantined(
            error.file or (where.name(sample) if where is not None else None),
            int(where.positions[sample]) if where is not None else None,
            operator,
            error.problem,
        )
        for sample, error in sorted(failures.items())
    ]
    record(sorted(entries, key=place_of))


def replacements(value: Any, dtype: np.dtype[Any]) -> Any:
    """One value, or one for each channel."""
    if not isinstance(value, tuple):
        return replacement(value, dtype)
    return np.array([replacement(one, dtype) for one in value], dtype)


def replacement(value: float, dtype: np.dtype[Any]) -> Any:
    """`fill_value` in a dtype: rounded half away from zero, saturated; NaN is 0 for integers."""
    if dtype.kind not in "iu":
        return value
    if math.isnan(value):
        return 0
    limits = np.iinfo(dtype)
    bounded = min(max(value, float(limits.min)), float(limits.max))
    rounded = int(math.copysign(math.floor(abs(bounded) + 0.5), bounded))
    return min(max(rounded, int(limits.min)), int(limits.max))
