"""What help and completion show of an operator: every argument by its name."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .arguments import Argument

__all__ = ["Signatures", "described", "extended", "named", "spread"]


class _Written(str):
    """An annotation that is shown without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


_COMMON = {
    "batch_size": "int | None",
    "device": "DeviceLike | None",
    "name": "str | None",
    "preserve": "bool",
    "bytes_per_sample_hint": "Ints",
    "seed": "int | None",
    "rng": "RNG | None",
}
_DEFAULTS: dict[str, Any] = {"preserve": False, "bytes_per_sample_hint": 0}


def spread(
    function: Callable[..., Any], arguments: Mapping[str, Argument], common: Iterable[str]
) -> inspect.Signature:
    """The signature of an operator's type rule as users call it: arguments by the names of their
    kinds, `**common` by its names, values where the rule has types."""
    given = inspect.signature(function)
    parameters = [
        parameter.replace(
            annotation=_kind(arguments[parameter.name])
            if parameter.name in arguments
            else _value(parameter.annotation)
        )
        for parameter in given.parameters.values()
        if parameter.kind is not parameter.VAR_KEYWORD
    ]
    return inspect.Signature(
        [*parameters, *named(common, taken=given.parameters)],
        return_annotation=_value(given.return_annotation),
    )


def named(common: Iterable[str], taken: Iterable[str] = ()) -> list[inspect.Parameter]:
    """The arguments that all operators take as parameters; without those in `taken`."""
    present = set(common) - set(taken)
    return [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=_DEFAULTS.get(name),
            annotation=_Written(kind),
        )
        for name, kind in _COMMON.items()
        if name in present
    ]


def described(
    bind: Callable[[tuple[Any, ...], dict[str, Any]], Any], signature: inspect.Signature
) -> Callable[..., Any]:
    """A function with this signature that binds a call."""

    def call(*inputs: Any, **keywords: Any) -> Any:
        return bind(inputs, keywords)

    call.__signature__ = signature  # type: ignore[attr-defined]
    return call


def extended(
    function: Callable[..., Any], more: inspect.Signature, without: Iterable[str] = ()
) -> inspect.Signature:
    """The signature of a function that hands its `**keywords` on to one with the signature `more`:
    with the names of these in their place."""
    given = inspect.signature(function)
    own = [
        parameter
        for parameter in given.parameters.values()
        if parameter.kind is not parameter.VAR_KEYWORD and parameter.name != "self"
    ]
    hidden = {*without, *given.parameters}
    handed = [
        parameter.replace(kind=parameter.KEYWORD_ONLY)
        for parameter in more.parameters.values()
        if parameter.name not in hidden
        and parameter.kind in (parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]
    return inspect.Signature([*own, *handed], return_annotation=given.return_annotation)


class Signatures:
    """`__signature__` of a class: as its constructor is called; on an instance, as that is."""

    def __init__(self, constructor: inspect.Signature, call: inspect.Signature) -> None:
        self.constructor = constructor
        self.call = call

    def __get__(self, instance: object, owner: type) -> inspect.Signature:
        return self.constructor if instance is None else self.call


def _kind(argument: Argument) -> _Written:
    """What the signature says of an argument."""
    name = argument.kind.name
    may_be_none = argument.default is None and not argument.required and name != "Any"
    return _Written(f"{name} | None" if may_be_none else name)


def _value(annotation: Any) -> Any:
    """What the signature says of an input or output: its text, with values in place of types."""
    if not isinstance(annotation, str):
        return annotation
    plain = re.sub(r"\b[a-z_]\w*\.(?=[A-Z])", "", annotation)  # `op.SampleType`
    plain = plain.replace("SampleType | Value", "Batch").replace("SampleType", "Batch")
    return _Written(plain)
