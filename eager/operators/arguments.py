"""Arguments of operators: what a signature declares, and how what a user wrote becomes a value."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from gradiva.eager.schedules.schedule import Schedule
from gradiva.eager.schedules.settling import LISTS, as_one, check_schedule
from gradiva.eager.support.errors import (
    ArgumentNameError,
    GradivaError,
    OperatorTypeError,
    OperatorValueError,
    describe,
)
from gradiva.eager.values.value import Value

from .argument_types import ArgumentType, Ints, argument_type, evaluate

if TYPE_CHECKING:
    from gradiva.eager.random.generator import RNG
    from gradiva.eager.types.device import DeviceLike

__all__ = [
    "COMMON",
    "Argument",
    "Common",
    "Sampled",
    "bytes_hint",
    "is_edge",
    "parse_signature",
    "position_hint",
]


class Common(TypedDict, total=False):
    """Arguments that every operator takes; `signature` says what help tells of each.

    `seed` is for operators that draw something. Others take it too, with a warning, since scripts
    for DALI give it to all operators; their signatures do not show it.
    """

    batch_size: Any

    device: DeviceLike
    name: str
    preserve: bool
    bytes_per_sample_hint: Ints
    seed: int


class Sampled(Common, total=False):
    """Arguments of random operators."""

    rng: RNG | None


_FOR_ALL = "; an array for all samples is given as gradiva.as_tensor(array)"

COMMON = frozenset(Common.__annotations__)
SAMPLED = frozenset(Sampled.__annotations__)


@dataclass(frozen=True, slots=True)
class Argument:
    """A declared argument. `default` is None where "not given" has a meaning of its own."""

    name: str
    kind: ArgumentType
    default: Any
    required: bool

    @property
    def per_sample(self) -> bool:
        return self.kind.element is not None

    def static(self, value: Any) -> Any:
        """The value for all samples, checked and hashable; a schedule stays one. Raises
        OperatorTypeError, OperatorValueError."""
        if type(value) in LISTS and Schedule in map(type, value):
            value = as_one(value)
        if type(value) is Schedule and not self.kind.schedules:
            check_schedule(value, self)
            return value
        try:
            return self.kind.convert(value)
        except GradivaError as error:
            if error.argument is not None:
                raise  # it says more
            raise OperatorValueError(
                argument=self.name, expected=self.kind.expected, got=describe(value)
            ) from None
        except TypeError:
            raise OperatorTypeError(
                argument=self.name, expected=self.kind.expected, got=describe(value)
            ) from None
        except (ValueError, OverflowError):
            raise OperatorValueError(
                argument=self.name, expected=self.kind.expected, got=describe(value)
            ) from None

    def rows(self, value: Any, count: int) -> Any:
        """One row per sample for a value that holds for all samples."""
        element = self.kind.element
        if self.kind.ragged:
            return [np.array(value, element)] * count
        result = np.empty((count, len(value)) if self.kind.vector else count, element)
        result[:] = value
        return result

    def given_rows(self, value: np.ndarray[Any, Any], count: int) -> np.ndarray[Any, Any]:
        """Check an array that holds one row per sample, and give it the declared dtype."""
        kind = self.kind
        if kind.element is np.int64 and value.dtype.kind not in "biu":
            raise OperatorTypeError(
                argument=self.name, expected="integers", got=f"values of dtype {value.dtype}"
            )
        if len(value) != count:
            raise OperatorValueError(
                argument=self.name,
                expected=f"one value per sample, {count} in all"
                + (_FOR_ALL if kind.shaped else ""),
                got=f"{len(value)}",
            )
        if kind.shaped or (kind.matrix and value.ndim == 3):
            return self._converted(value)
        wanted = 2 if kind.vector else 1
        if value.ndim > wanted and value.size == count * max(1, value.shape[-1] * kind.vector):
            last = value.shape[-1] if count == 0 else -1  # -1 needs elements to divide by
            value = value.reshape(count, last) if kind.vector else value.reshape(count)
        elif kind.vector and value.ndim == 1:
            value = value.reshape(count, 1)
        if value.ndim != wanted:
            raise OperatorValueError(
                argument=self.name,
                expected="a vector per sample" if kind.vector else "a scalar per sample",
                got=f"values of shape {value.shape[1:]}",
            )
        return self._converted(value)

    def _converted(self, value: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        if value.dtype.kind != "f" or value.dtype.itemsize < 8:
            return np.ascontiguousarray(value, self.kind.element)
        with np.errstate(over="ignore"):  # too large for float32 is infinite, as in `_single`
            return np.ascontiguousarray(value, self.kind.element)


def bytes_hint(value: Any) -> tuple[int, ...]:
    """The numbers of a `bytes_per_sample_hint`. Raises OperatorTypeError or OperatorValueError."""
    facts: dict[str, Any] = {
        "argument": "bytes_per_sample_hint",
        "expected": "a number of bytes or several",
    }
    try:
        hints: tuple[int, ...] = argument_type(Ints).convert(value)
    except TypeError:
        raise OperatorTypeError(**facts, got=describe(value)) from None
    if not hints or min(hints) < 0:
        raise OperatorValueError(**facts, got=describe(value))
    return hints


def is_edge(argument: Argument, value: Any) -> bool:
    """Whether a value is given per sample: an edge of the graph, not an attribute."""
    if isinstance(value, Value):
        return True
    if argument.kind.element is None or isinstance(value, str | bytes):
        return False
    if isinstance(value, np.ndarray):
        return value.ndim > int(argument.kind.vector)
    if isinstance(value, list | tuple):
        if not argument.kind.vector or not value:
            return not argument.kind.vector
        return type(value[0]) not in (int, float) and np.ndim(value[0]) > 0
    return False


def parse_signature(
    function: Callable[..., Any], random: bool = False
) -> tuple[dict[str, Argument], frozenset[str]]:
    """The declared arguments of an operator, and the names of the common ones it takes."""
    found: dict[str, Argument] = {}
    common = frozenset[str]()
    names = getattr(inspect.unwrap(function), "__globals__", {})
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            common = SAMPLED if random else COMMON
        elif parameter.kind not in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL):
            kind = _kind_of(parameter, names)
            required = parameter.default is parameter.empty
            draft = Argument(parameter.name, kind, None, required)
            default = None if required else parameter.default
            if default is not None:
                default = draft.static(default)
            found[parameter.name] = Argument(parameter.name, kind, default, required)
    return found, common


def _kind_of(parameter: inspect.Parameter, names: dict[str, Any]) -> ArgumentType:
    """The kind in the parameter's annotation. Raises OperatorTypeError."""
    annotation = parameter.annotation
    try:
        return argument_type(evaluate(annotation, names))
    except (NameError, AttributeError, SyntaxError, TypeError) as error:
        missing = annotation is parameter.empty
        raise OperatorTypeError(
            "the annotation of an operator's argument says what kind it is"
            + ("" if missing else "; its names are those of the operator's module"),
            argument=parameter.name,
            expected="int, float, bool, str, Any, or one of gradiva.extension such as IntArg",
            got="no annotation" if missing else describe(annotation, 60),
        ) from error


def position_hint(arguments: Iterable[Argument], inputs: Sequence[Any]) -> str:
    """What to say of too many inputs: the last ones may be meant as an argument, which is given by
    its name."""
    values: list[Any] = []
    for value in reversed(inputs):
        if not isinstance(value, bool | int | float | str | list | tuple):
            break
        values.insert(0, value)
    given = values[0] if len(values) == 1 else tuple(values)
    for argument in arguments if values else ():
        try:
            argument.kind.convert(given)
        except (TypeError, ValueError, OverflowError, GradivaError):
            continue
        return f"; arguments are given by name: did you mean {argument.name}={given!r}?"
    return "; arguments other than the inputs are given by name"


_ELSEWHERE = {
    "degrees": "angle",
    "expand": "keep_size",
    "fill": "fill_value",
    "interpolation": "interp_type",
    "kernel_size": "window_size",
    "p": "probability",
    "padding": "before",
    "padding_mode": "mode",
    "ratio": "random_aspect_ratio",
    "scale": "random_area",
}
"""What torchvision calls an argument, and what it is called here."""


def check_names(
    names: Mapping[str, Any], known: Mapping[str, Argument], common: frozenset[str]
) -> None:
    """Raise OperatorTypeError for an argument that the operator does not have, or that it lacks."""
    for name in names:
        if name not in known and name not in common:
            close = [_ELSEWHERE[name]] if _ELSEWHERE.get(name) in known else []
            close = close or difflib.get_close_matches(name, [*known, *common], 1)
            every = ", ".join(f"`{one}`" for one in known) or "the common ones alone"
            hint = f"; did you mean `{close[0]}`?" if close else f"; there are {every}"
            raise ArgumentNameError(f"there is no argument `{name}`{hint}")
    for argument in known.values():
        if argument.required and names.get(argument.name) is None:
            raise OperatorTypeError(f"argument `{argument.name}` is required and was not given")
