"""Arguments that are the same for all samples, as attributes of nodes."""

from __future__ import annotations

from typing import Any

from gradiva.capture.graph.graph import Opaque
from gradiva.eager.operators.arguments import Argument

__all__ = ["attribute_of"]


def attribute_of(argument: Argument, value: Any) -> Any:
    """The value, checked and converted; what has no hash, or is called, by identity."""
    converted = argument.static(value)
    try:
        hash(converted)
    except TypeError:
        return Opaque(converted)
    return Opaque(converted) if callable(converted) else converted
