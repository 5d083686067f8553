"""Descriptions of the fields of a record, under the module name that scripts import.

The reader of such records is not there yet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Feature", "FixedLenFeature", "VarLenFeature", "float32", "int64", "string"]

int64, string, float32 = 0, 1, 2
"""Types of the values of a field."""


@dataclass(frozen=True)
class Feature:
    """A field of a record. shape: of its value, None where the length differs; dtype: `int64`,
    `string` or `float32`; default: the value of records that lack it."""

    shape: tuple[int, ...] | None
    dtype: int
    default: Any


def FixedLenFeature(shape: Sequence[int], dtype: int, default: Any) -> Feature:  # noqa: N802
    """A field whose value has a fixed shape; [] for a scalar."""
    return Feature(tuple(shape), dtype, default)


def VarLenFeature(*arguments: Any) -> Feature:  # noqa: N802
    """A field of any length: (dtype, default), or (shape of one item, dtype, default)."""
    *_, dtype, default = arguments
    return Feature(None, dtype, default)
