"""The features that `readers.tfrecord` reads, in files: names, and a message of type TFRecord for
each, whose parts stand in a fixed order."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from gradiva.eager.support.errors import OperatorValueError

from .names import from_single, to_single

SCHEMA: Final = "readers___TFRecord"
_OWN_SCHEMA: Final = "readers__GradivaTFRecord"
"""The same reader, with features as graphs hold them. DALI refuses files with it."""
KIND: Final = "TFRecord"
NAMES: Final = "feature_names"

_DEFAULTS: Final = ("int64", "string", "float")
"""The types of default values, by the number of the type of a feature's values."""


def schema_with(features: Sequence[str]) -> str:
    """What files call the reader of these features, given as graphs hold them: the format has no
    place for features with items of a shape, or without a default."""
    described = [json.loads(text) for text in features]
    whole = all(default is not None and not items for *_, default, items in described)
    return SCHEMA if whole else _OWN_SCHEMA


def add_features(made: Any, features: Sequence[str]) -> None:
    """Add features, given as graphs hold them, to an OpDef. Raises OperatorValueError."""
    described = [json.loads(text) for text in features]
    names = made.args.add(name=NAMES, type="string", is_vector=True)
    stored = made.args.add(name="features", type=KIND, is_vector=True)
    for number, (name, shape, dtype, default, _) in enumerate(described):
        element = f"element {number}"
        names.extra_args.add(name=element, type="string", is_vector=False).strings.append(name)
        one = stored.extra_args.add(name=element, type=KIND, is_vector=False)
        add = one.extra_args.add
        add(name="type", type="int64", is_vector=False).ints.append(dtype)
        add(name="has_shape", type="bool", is_vector=False).bools.append(shape is not None)
        add(name="shape", type="int64", is_vector=False).ints.extend(shape or [])
        held = add(name="default_value", type=_DEFAULTS[dtype], is_vector=False)
        values = default if isinstance(default, list) else [default]
        try:
            if dtype == 0:
                held.ints.extend(values)
            elif dtype == 1:
                held.strings.extend(values)
            else:
                held.floats.extend(map(to_single, values))
        except (OverflowError, ValueError, UnicodeEncodeError) as error:
            raise OperatorValueError(str(error), argument="features", got=name) from None


def read_features(stored: Any, where: str) -> list[list[Any]]:
    """Shape, type and default of each feature of an Argument. Raises OperatorValueError."""
    found = []
    for one in stored.extra_args:
        parts = {part.name: part for part in one.extra_args}
        missing = {"type", "has_shape", "shape", "default_value"} - {*parts}
        if missing or len(parts["type"].ints) != 1 or len(parts["has_shape"].bools) != 1:
            raise OperatorValueError(f"a feature of {where} is damaged")
        (dtype,), (fixed,) = parts["type"].ints, parts["has_shape"].bools
        held = parts["default_value"]
        values = [*held.ints, *held.strings, *(from_single(value) for value in held.floats)]
        default = values[0] if len(values) == 1 else values or None
        found.append([[*parts["shape"].ints] if fixed else None, dtype, default, []])
    return found


def joined_features(arguments: dict[str, Any], where: str) -> None:
    """Put names and descriptions of features together, as graphs hold them, in place. Raises
    OperatorValueError."""
    names: Any = arguments.pop(NAMES, None)
    features: Any = arguments.get("features")
    known = isinstance(names, list) and isinstance(features, list)
    if not known or not len({*names}) == len(names) == len(features):
        raise OperatorValueError(f"{where} has not a name of its own for each feature")
    arguments["features"] = [
        json.dumps([name, *feature]) for name, feature in zip(names, features, strict=True)
    ]
