"""The signatures of operators for help and completion: every argument by its name."""

from __future__ import annotations

import functools
import inspect
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .arguments import Argument


class Written(str):
    """An annotation that is shown without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True, slots=True)
class _CommonArgument:
    """An argument that all operators take, and what help says of it."""

    kind: str
    said: str
    default: Any = None


_COMMON = {
    "batch_size": _CommonArgument(
        "int | None",
        "the number of samples in dynamic mode, if no input is a batch; without it, the result is "
        "one Tensor.",
    ),
    "device": _CommonArgument(
        "DeviceLike | None",
        '"cpu" or "gpu", where the operator runs; by default on the GPU if an input is there, else '
        "on the CPU. `gradiva ops NAME` says whether it runs on a GPU.",
    ),
    "name": _CommonArgument("str | None", "the name of the node in a pipeline."),
    "preserve": _CommonArgument(
        "bool", "in a pipeline, keep the node even if nothing uses its outputs.", False
    ),
    "bytes_per_sample_hint": _CommonArgument(
        "Ints",
        "in a pipeline, the bytes that are reserved for a sample of the output before the first "
        "batch, one number or one for each output; 0 for no hint.",
        0,
    ),
    "seed": _CommonArgument(
        "int | None",
        "the seed of what is drawn. Two calls with the same seed draw the same values; in a "
        "pipeline, and in a loop over a reader, samples, batches and epochs still differ. By "
        "default the seed of the pipeline, or that of `gradiva.random.set_seed`.",
    ),
    "rng": _CommonArgument(
        "RNG | None", "the generator of the random values, in place of the default one."
    ),
}


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
            default=argument.default,
            annotation=Written(argument.kind),
        )
        for name, argument in _COMMON.items()
        if name in present
    ]


def explained(common: Iterable[str]) -> list[str]:
    """What help says of the arguments that all operators take, as lines of a section."""
    present = set(common)
    return [_line(name) for name in _COMMON if name in present]


@functools.cache
def _line(name: str) -> str:
    return textwrap.fill(
        f"{name}: {_COMMON[name].said}",
        96,
        initial_indent=" " * 4,
        subsequent_indent=" " * 8,
        break_long_words=False,
    )


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


def _kind(argument: Argument) -> Written:
    """What the signature says of an argument."""
    name = argument.kind.name
    may_be_none = argument.default is None and not argument.required and name != "Any"
    return Written(f"{name} | None" if may_be_none else name)


def _value(annotation: Any) -> Any:
    """The annotation of an input or output: its text, with values in place of types."""
    if not isinstance(annotation, str):
        return annotation
    plain = re.sub(r"\b[a-z_]\w*\.(?=[A-Z])", "", annotation)  # `op.SampleType`
    plain = plain.replace("SampleType | Value", "Batch").replace("SampleType", "Batch")
    return Written(plain)
