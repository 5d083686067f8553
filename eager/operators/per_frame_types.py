"""Types of arguments per frame: a type rule for frames becomes one for sequences."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from gradiva.eager.types.sample_type import SampleType


def has_frames(type: SampleType) -> bool:
    """Whether the first axis is that of frames."""
    return bool(type.layout) and type.layout[0] == "F"  # type: ignore[index]


def axes_of_frames(type: SampleType, names: frozenset[str]) -> str:
    """The axes before those of a frame, "" for what has none: F, or CF in operators that take each
    channel alone ("CF" among `names`)."""
    if "CF" in names and (type.layout or "").startswith("CF"):
        return "CF"
    return "F" if has_frames(type) else ""


def of_frames(type: SampleType, axes: str = "F") -> SampleType:
    """The type of one frame."""
    if not axes or not (type.layout or "").startswith(axes):
        return type
    layout = (type.layout or "")[len(axes) :]
    ndim = None if type.ndim is None else type.ndim - len(axes)
    return type.with_(ndim=ndim, layout="" if set(layout) <= {"*"} else layout)


def of_sequences(type: SampleType, axes: str = "F") -> SampleType:
    """The type of a sequence of such frames."""
    if type.ndim is None or type.layout is None:
        return type.with_(ndim=None, layout=None)
    layout = axes + (type.layout or "*" * type.ndim)
    return type.with_(ndim=type.ndim + len(axes), layout=layout)


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
        first = next((one for one in inputs[:1] if isinstance(one, SampleType)), None)
        axes = "F" if first is None else axes_of_frames(first, names) or "F"
        stripped = [
            of_frames(one, axes if one is first else "F") if isinstance(one, SampleType) else one
            for one in inputs
        ]
        given.update({name: of_frames(kind) for name, kind in kinds.items()})
        return of_sequences(rule(*stripped, **given), axes)

    return infer
