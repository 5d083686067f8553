"""Arguments that are the same for all samples, as attributes of nodes."""

from __future__ import annotations

from typing import Any

from gradiva.capture.graph.graph import Opaque
from gradiva.eager.operators.arguments import Argument
from gradiva.eager.types.dtypes import DType
from gradiva.ops.readers.core.source import ValueEqual


def attribute_of(argument: Argument, value: Any) -> Any:
    """The value, checked and converted, as `as_attribute`."""
    return as_attribute(argument.static(value))


def as_attribute(value: Any) -> Any:
    """The value; what has no hash, or is a function or an object of a source, by identity."""
    try:
        hash(value)
    except TypeError:
        return Opaque(value)
    if isinstance(value, ValueEqual) or (callable(value) and not isinstance(value, DType)):
        return Opaque(value)
    return value
