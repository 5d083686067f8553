"""Arguments that are the same for all samples, as attributes of nodes."""

from __future__ import annotations

from typing import Any

from gradiva.capture.graph.graph import Opaque
from gradiva.eager.operators.arguments import Argument
from gradiva.eager.readers.source import Described
from gradiva.eager.types.dtypes import DType

__all__ = ["attribute_of", "held"]


def attribute_of(argument: Argument, value: Any) -> Any:
    """The value, checked and converted, as `held`."""
    return held(argument.static(value))


def held(value: Any) -> Any:
    """The value; what has no hash, or is a function or an object of a source, by identity."""
    try:
        hash(value)
    except TypeError:
        return Opaque(value)
    if isinstance(value, Described) or (callable(value) and not isinstance(value, DType)):
        return Opaque(value)
    return value
