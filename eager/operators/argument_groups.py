"""Argument groups: what several operators take, declared and documented once.

A group is a TypedDict, whose documentation is a part of that of each operator that takes it:

    @argument_group(rounding="round")
    class Window(TypedDict, total=False):
        \"\"\"
        Args:
            size: of the window, in pixels.
            rounding: of its place.
        \"\"\"

        size: IntsArg | None
        rounding: str

    class Arguments(Window, Common, total=False):
        \"\"\"For type checkers.\"\"\"

    @operator("cut")
    @takes(Window)
    def cut(input: SampleType, /, *, mirror: int = 0, **options: Unpack[Arguments]) -> SampleType:

Users see `cut(input, *, mirror=0, size=None, rounding="round", ...)`; `options` holds all of them.
The sections of the docstrings (`Args:`, `Returns:`, `Raises:`) are merged.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from functools import wraps
from types import EllipsisType
from typing import Any, TypeVar

from .argument_types import evaluate
from .docstrings import merge_docstrings

__all__ = ["argument_group", "uses_arguments"]

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T", bound=type)

_defaults: dict[type, dict[str, Any]] = {}


def argument_group(**defaults: Any) -> Callable[[T], T]:
    """Decorator: a TypedDict as a group of arguments, whose defaults are these, else None."""

    def declare(group: T) -> T:
        _defaults[group] = defaults
        return group

    return declare


def uses_arguments(*order: type | str | EllipsisType) -> Callable[[F], F]:
    """Decorator of a type rule that ends in `**options`: the operator takes these groups too.

    order: groups, and names of the rule's own keywords, as users see them; `...` stands for those
    that are not named, which come first without it.
    """
    groups = [part for part in order if isinstance(part, type)]
    defaults = {p.name: p.default for group in groups for p in _parameters(group)}

    def declare(function: F) -> F:
        @wraps(function)
        def rule(*inputs: Any, **given: Any) -> Any:
            return function(*inputs, **{**defaults, **given})

        signature = inspect.signature(function)
        parameters = _arranged(signature, order if ... in order else (..., *order))
        rule.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        rule.group_defaults = defaults  # type: ignore[attr-defined]
        rule.__doc__ = merge_docstrings(
            function.__doc__ or "",
            [group.__doc__ or "" for group in groups],
            [one.name for one in parameters],
        )
        return rule  # type: ignore[return-value]

    return declare


def _parameters(group: type) -> Iterator[inspect.Parameter]:
    """The arguments of a group. Annotations that are text are evaluated in its module."""
    names = vars(sys.modules[group.__module__])
    for name, annotation in group.__annotations__.items():
        yield inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=_defaults[group].get(name),
            annotation=evaluate(getattr(annotation, "__forward_arg__", annotation), names),
        )


def _arranged(
    signature: inspect.Signature, order: tuple[type | str | EllipsisType, ...]
) -> list[inspect.Parameter]:
    """The parameters of a rule, its keywords and those of groups in this order."""
    given = list(signature.parameters.values())
    own = {one.name: one for one in given if one.kind is one.KEYWORD_ONLY}
    rest = [one for name, one in own.items() if name not in order]
    arranged: list[inspect.Parameter] = []
    for part in order:
        if isinstance(part, str):
            arranged.append(own[part])
        else:
            arranged += _parameters(part) if isinstance(part, type) else rest
    inputs = [one for one in given if one.kind not in (one.KEYWORD_ONLY, one.VAR_KEYWORD)]
    return [*inputs, *arranged, *(one for one in given if one.kind is one.VAR_KEYWORD)]
