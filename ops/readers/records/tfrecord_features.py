"""Which features of a record are read, and as what."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, TypeAlias

from gradiva.eager import extension as op
from gradiva.eager.operators.argument_types import ArgumentType

int64, string, float32 = 0, 1, 2
"""Types of the values of a feature."""

_DTYPES: Final = {int64: op.int64, string: op.uint8, float32: op.float32}


@dataclass(frozen=True)
class Feature:
    """A feature of a record. shape: of its value, None where the length differs; dtype: `int64`,
    `string` or `float32`; default: the value of records that lack it, None if that is an error;
    partial: where the length differs, the shape of one item."""

    shape: tuple[int, ...] | None
    dtype: int
    default: Any = None
    partial: tuple[int, ...] = ()

    @property
    def type(self) -> op.SampleType:
        """Of the output."""
        if self.dtype == string:
            return op.SampleType(op.uint8, 1, "", "cpu")
        ndim = 1 + len(self.partial) if self.shape is None else len(self.shape)
        return op.SampleType(_DTYPES[self.dtype], ndim, "", "cpu")

    @property
    def item(self) -> int:
        """Values of one item, where the length differs."""
        return math.prod(self.partial)


def FixedLenFeature(shape: Sequence[int], dtype: int, default: Any = None) -> Feature:  # noqa: N802
    """A feature whose value has a fixed shape; [] for a scalar, and for a string."""
    return Feature(tuple(shape), dtype, default)


def VarLenFeature(*arguments: Any) -> Feature:  # noqa: N802
    """A feature of any length: (dtype, default), or (shape of one item, dtype, default)."""
    *partial, dtype, default = arguments
    return Feature(None, dtype, default, tuple(partial[0]) if partial else ())


def _parts(text: str) -> tuple[str, list[int] | None, int, Any, list[int]]:
    """Name, shape, dtype, default and shape of items of a feature in a graph, which may come from a
    file. Raises TypeError and ValueError."""
    try:
        name, shape, dtype, default, items = json.loads(text)
    except RecursionError:
        raise ValueError("no feature") from None
    known = isinstance(name, str) and isinstance(dtype, int) and isinstance(items, list)
    if not known or not isinstance(shape, list | None):
        raise TypeError("no feature")
    return name, shape, dtype, default, items


def _as_text(features: Any) -> tuple[str, ...]:
    """Features as plain text, which graphs hold. Raises TypeError and ValueError."""
    if not isinstance(features, Mapping):
        return tuple(json.dumps(_parts(text)) for text in features)
    lines = []
    for name, feature in features.items():
        if not isinstance(name, str) or not isinstance(feature, Feature):
            raise TypeError(f"{name!r}: {feature!r} is no feature")
        default = getattr(feature.default, "tolist", lambda given=feature.default: given)()
        if isinstance(default, bytes):
            default = default.decode("latin1")
        shape = None if feature.shape is None else [*feature.shape]
        lines.append(json.dumps([name, shape, int(feature.dtype), default, [*feature.partial]]))
    if not lines:
        raise ValueError("no features")
    return tuple(lines)


Features: TypeAlias = Annotated[
    Mapping[str, Feature],
    ArgumentType(
        "Features",
        "a dictionary of features by name, such as {'label': tfrecord.FixedLenFeature([], "
        "tfrecord.int64, -1)}",
        _as_text,
    ),
]


def features_of(given: Any) -> dict[str, Feature]:
    """The features, from what a user wrote or what a graph holds. Raises OperatorValueError."""
    found = {}
    for text in _as_text(given):
        name, shape, dtype, default, partial = _parts(text)
        fixed = None if shape is None else tuple(shape)
        found[name] = _checked(name, Feature(fixed, dtype, default, tuple(partial)))
    return found


def _checked(name: str, feature: Feature) -> Feature:
    facts: dict[str, Any] = {"argument": "features", "got": f"{name!r}: {feature}"}
    extents = feature.partial if feature.shape is None else feature.shape
    if feature.dtype not in _DTYPES:
        raise op.OperatorValueError(expected="a dtype of `gradiva.tfrecord`", **facts)
    if not all(isinstance(one, int) and 0 <= one < 1 << 31 for one in extents):
        raise op.OperatorValueError(expected="a shape of extents from 0 on", **facts)
    if feature.dtype == string and (feature.shape is None or math.prod(feature.shape) != 1):
        raise op.OperatorValueError(
            "tensors of strings are not supported", expected="FixedLenFeature([], string)", **facts
        )
    if feature.shape is None and feature.item == 0:
        raise op.OperatorValueError(expected="items with at least one value", **facts)
    default = feature.default
    values = default if isinstance(default, list) else [default]
    kinds = str if feature.dtype == string else int if feature.dtype == int64 else (int, float)
    if default is not None and not all(isinstance(one, kinds) for one in values):
        raise op.OperatorValueError(expected="a default value of the type", **facts)
    fixed = feature.shape is not None and isinstance(default, list)
    if fixed and len(default) != math.prod(extents):
        raise op.OperatorValueError(expected="one default value, or as many", **facts)
    return feature
