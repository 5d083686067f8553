"""The error policies for samples that cannot be read: `on_error="skip"` and `"replace"`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from gradiva.eager.random.step import current_step
from gradiva.eager.support.errors import GradivaError, OperatorValueError
from gradiva.eager.types.arrays import BoolVector, Int64Array
from gradiva.eager.types.provenance import Provenance
from gradiva.eager.values.batch import Batch
from gradiva.eager.values.buffers import fill

from .quarantine import Quarantined, place_of, record

__all__ = [
    "apply_error_policy",
    "check_not_single",
    "continues_on_error",
    "keep_rows",
    "leave_out",
    "narrowed",
    "quarantine_samples",
    "replacements",
    "skips",
    "with_mask",
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
    valid: BoolVector | None,
) -> tuple[Batch, ...]:
    """The outputs of a call, of whose samples some failed; those that have lost samples say in
    `valid` which they hold.

    failures: by sample; given: the arguments; where: files and positions of all samples; valid:
    of the inputs. Reports the failures to the quarantine.
    """
    quarantine_samples(failures, operator, where)
    bad = sorted(failures)
    if not skips(given):
        for batch in outputs:
            value = replacements(given.get("fill_value", 0.0), batch.data.dtype)
            for sample in bad:
                fill(batch.array(sample), value)
        return outputs
    kept, valid = leave_out(bad, len(outputs[0]), where, valid)
    outputs = tuple(keep_rows(batch, kept) for batch in outputs)
    for batch in outputs:
        batch.valid = valid
    return outputs


def leave_out(
    bad: Sequence[int], size: int, where: Provenance | None, valid: BoolVector | None
) -> tuple[Int64Array, BoolVector]:
    """The samples of a call of `size` samples that are left, and the mask of its outputs. where,
    valid: of its inputs."""
    kept: Int64Array = np.delete(np.arange(size), bad)
    step = current_step()
    if where is not None and step is not None:
        step.narrow(where.positions[kept])
    before = np.arange(size) if valid is None else np.flatnonzero(valid)
    left = np.zeros(size if valid is None else len(valid), np.bool_)
    left[before[kept]] = True
    return kept, left


def narrowed(batch: Batch, valid: BoolVector) -> Batch:
    """The batch without those of its samples that are not in the mask."""
    if batch.valid is valid or (batch.valid is None and len(batch) != len(valid)):
        return batch
    rows = np.flatnonzero(valid if batch.valid is None else valid[batch.valid])
    return with_mask(keep_rows(batch, rows) if len(rows) < len(batch) else batch, valid)


def with_mask(batch: Batch, valid: BoolVector | None) -> Batch:
    """The same batch with another mask: None where the user gets it, who sees no masks."""
    made = Batch.over(batch.data, batch.batch_shape, batch.type, batch.provenance, batch.drawn_at)
    made.valid = valid
    return made


def keep_rows(batch: Batch, rows: Iterable[int] | np.ndarray[Any, Any]) -> Batch:
    """The batch with these samples only."""
    chosen: Sequence[int] = [int(row) for row in rows]
    return batch.select(chosen)


def quarantine_samples(
    failures: Mapping[int, GradivaError], operator: str, where: Provenance | None
) -> None:
    """Report failed samples, in the order of their positions. operator: that met the errors, but
    for those that say another one."""
    entries = [
        Quarantined(
            error.file or (where.name(sample) if where is not None else None),
            int(where.positions[sample]) if where is not None else None,
            error.operator or operator,
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
