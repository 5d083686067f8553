"""Arguments of operators: which kinds there are, and how what a user wrote becomes a value.

The kind of an argument is the name of its annotation in the operator's signature. Kinds that end
in `Arg` may be given per sample: as a batch, a symbol of a graph, or a list or array with one row
per sample. Kernels always see one row per sample and never know the difference.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict

import numpy as np

from gradiva.eager.support.errors import (
    ArgumentNameError,
    OperatorTypeError,
    OperatorValueError,
    describe,
)
from gradiva.eager.types.dtypes import DTypeLike, ImageType, InterpType
from gradiva.eager.values.value import Value

from .argument_types import ARGUMENT_TYPES, ArgumentType

if TYPE_CHECKING:
    from gradiva.eager.random.generator import RNG
    from gradiva.eager.types.device import DeviceLike

__all__ = [
    "Argument",
    "Common",
    "DTypeLike",
    "FloatArg",
    "FloatArrayArg",
    "Floats",
    "FloatsArg",
    "ImageType",
    "IntArg",
    "InterpArg",
    "InterpType",
    "Ints",
    "IntsArg",
    "MatrixArg",
    "OnError",
    "Path",
    "Paths",
    "RaggedFloatsArg",
    "RaggedIntsArg",
    "Strings",
    "bytes_hint",
    "is_edge",
    "parse_signature",
]

IntArg: TypeAlias = "int | Value | Sequence[int] | np.ndarray[Any, Any]"
FloatArg: TypeAlias = "float | Value | Sequence[float] | np.ndarray[Any, Any]"
IntsArg: TypeAlias = "int | Value | Sequence[int] | Sequence[Sequence[int]] | np.ndarray[Any, Any]"
FloatsArg: TypeAlias = (
    "float | Value | Sequence[float] | Sequence[Sequence[float]] | np.ndarray[Any, Any]"
)
MatrixArg: TypeAlias = "float | Value | Sequence[Any] | np.ndarray[Any, Any]"
RaggedIntsArg: TypeAlias = IntsArg
RaggedFloatsArg: TypeAlias = FloatsArg
FloatArrayArg: TypeAlias = "float | Value | Sequence[Any] | np.ndarray[Any, Any]"
InterpArg: TypeAlias = "InterpType | int | Value | Sequence[int] | np.ndarray[Any, Any]"
Ints: TypeAlias = "int | Sequence[int]"
Floats: TypeAlias = "float | Sequence[float]"
Strings: TypeAlias = "str | Sequence[str]"
Path: TypeAlias = "str | PathLike[str]"
Paths: TypeAlias = "Path | Sequence[Path]"
OnError: TypeAlias = 'Literal["raise", "skip", "replace"]'
Layout: TypeAlias = str


class Common(TypedDict, total=False):
    """Arguments that every operator takes.

    device: where to run; only "cpu" in this version. name: of the node in a graph. preserve: keep
    the node in a graph even if nothing needs its outputs. bytes_per_sample_hint: in a pipeline,
    bytes per sample of the outputs (one number, or one for each), reserved before the first batch;
    0 for no hint. seed: of random operators and readers. batch_size: number of
    samples in dynamic mode, if no input is a batch.
    """

    batch_size: Any

    device: DeviceLike
    name: str
    preserve: bool
    bytes_per_sample_hint: Ints
    seed: int


class Sampled(Common, total=False):
    """Arguments of random operators. rng: the generator to use instead of the default one.

    Without an input and without `batch_size`, one Tensor is made in dynamic mode.
    """

    rng: RNG | None


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
        """The value for all samples, checked and hashable. Raises OperatorTypeError/ValueError."""
        try:
            return self.kind.convert(value)
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
        if not self.kind.vector:
            return np.full(count, value, element)
        result = np.empty((count, len(value)), element)
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
                expected=f"one value per sample, {count} in all",
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
        hints: tuple[int, ...] = ARGUMENT_TYPES["Ints"].convert(value)
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
        return not argument.kind.vector or bool(value and np.ndim(value[0]))
    return False


def parse_signature(
    function: Callable[..., Any], random: bool = False
) -> tuple[dict[str, Argument], frozenset[str]]:
    """The declared arguments of an operator, and the names of the common ones it takes."""
    found: dict[str, Argument] = {}
    common = frozenset[str]()
    for parameter in inspect.signature(function).parameters.values():
        annotation = str(parameter.annotation)
        if parameter.kind is parameter.VAR_KEYWORD:
            common = SAMPLED if random or "Sampled" in annotation else COMMON
        elif parameter.kind not in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL):
            kind = _kind_of(parameter)
            required = parameter.default is parameter.empty
            draft = Argument(parameter.name, kind, None, required)
            default = None if required else parameter.default
            if default is not None:
                default = draft.static(default)
            found[parameter.name] = Argument(parameter.name, kind, default, required)
    return found, common


def _kind_of(parameter: inspect.Parameter) -> ArgumentType:
    """The kind that the parameter's annotation names. Raises OperatorTypeError."""
    annotation = parameter.annotation
    text = annotation.__name__ if isinstance(annotation, type) else str(annotation)
    kind = ARGUMENT_TYPES.get(text.removesuffix(" | None").rpartition(".")[2])
    if kind is None:
        missing = annotation is parameter.empty
        raise OperatorTypeError(
            "the annotation of an operator's argument says what kind it is, by name; "
            "begin the file with `from __future__ import annotations`",
            argument=parameter.name,
            expected=f"one of {', '.join(ARGUMENT_TYPES)}",
            got="no annotation" if missing else describe(text, 40),
        )
    return kind


def check_names(
    names: Mapping[str, Any], known: Mapping[str, Argument], common: frozenset[str]
) -> None:
    """Raise OperatorTypeError for an argument that the operator does not have, or that it lacks."""
    for name in names:
        if name not in known and name not in common:
            close = difflib.get_close_matches(name, [*known, *common], 1)
            hint = f"; did you mean `{close[0]}`?" if close else ""
            raise ArgumentNameError(f"there is no argument `{name}`{hint}")
    for argument in known.values():
        if argument.required and names.get(argument.name) is None:
            raise OperatorTypeError(f"argument `{argument.name}` is required and was not given")
