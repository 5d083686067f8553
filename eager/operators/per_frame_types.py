"""Types of arguments per frame: a type rule for frames becomes one for sequences."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from gradiva.eager.types.sample_type import SampleType

__all__ = ["framed_types", "has_frames", "of_frames", "of_sequences"]


def has_frames(type: SampleType) -> bool:
    """Whether the first axis is that of frames."""
    return bool(type.layout) and type.layout[0] == "F"  # type: ignore[index]


def of_frames(type: SampleType) -> SampleType:
    """The type of one frame."""
    if not has_frames(type):
        return type
    layout = (type.layout or "")[1:]
    ndim = None if type.ndim is None else type.ndim - 1
    return type.with_(ndim=ndim, layout="" if set(layout) <= {"*"} else layout)


def of_sequences(type: SampleType) -> SampleType:
    """The type of a sequence of such frames."""
    if type.ndim is None or type.layout is None:
        return type.with_(ndim=None, layout=None)
    return type.with_(ndim=type.ndim + 1, layout="F" + (type.layout or "*" * type.ndim))


def framed_types(rule: Callable[..., Any], names: frozenset[str]) -> Callable[..., Any]:
    """The type rule of an operator that takes the arguments `names` per frame."""

    @wraps(rule)
    def infer(*inputs: Any, **given: Any) -> Any:
        kinds = {
            name: value
            for name, value in given.items()
            if name in names and isinstance(value, SampleType)
        }
        others = [one for one in inputs[1:] if isinstance(one, SampleType)] if "1" in names else []
        if not any(map(has_frames, (*kinds.values(), *others))):
            types = rule(*inputs, **given)
            images = [one for one in inputs[:1] if isinstance(one, SampleType) and one.layout]
            if images or all(kind.layout is not None for kind in kinds.values()):
                return types
            # Whether it is per frame turns out later.
            return types.with_(ndim=None, layout=None)
        stripped = [of_frames(one) if isinstance(one, SampleType) else one for one in inputs]
        given.update({name: of_frames(kind) for name, kind in kinds.items()})
        return of_sequences(rule(*stripped, **given))

    return infer
