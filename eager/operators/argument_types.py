"""Kinds of arguments: how the user's values are checked and converted to plain values.

The kind of an argument is an object in its annotation, `Annotated[..., ArgumentType(...)]`: type
checkers see the type before it, `argument_type` finds the kind. Aliases of annotations, and other
names for them, work as well. Kinds that end in `Arg` may be given per sample: as a batch, a symbol
of a graph, or a list or array with one row per sample. Kernels always see one row per sample and do
not know the difference.
"""

from __future__ import annotations

import functools
import operator as python
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from types import CodeType, NoneType, UnionType
from typing import Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin

import numpy as np

from gradiva.eager.support.layouts import as_layout
from gradiva.eager.types import dtypes
from gradiva.eager.types.dtypes import DType, ImageType, InterpType
from gradiva.eager.values.value import Value


def _integer(value: Any) -> int:
    if isinstance(value, bool | np.bool_):
        return int(value)
    number = python.index(value)
    if not -(1 << 63) <= number < 1 << 63:
        raise OverflowError
    return number


def _real(value: Any) -> float:
    if isinstance(value, str | bytes):
        raise TypeError
    return float(value)


_LARGEST = float(np.finfo(np.float32).max)


def _single(value: Any) -> float:
    """A number for kernels, which compute in float32: numbers that are too large become
    infinite."""
    number = float(value) if type(value) in (int, float) else _real(value)
    if number > _LARGEST:
        return float("inf")
    return float("-inf") if number < -_LARGEST else number


def _boolean(value: Any) -> bool:
    if isinstance(value, bool | np.bool_) or (isinstance(value, int) and value in (0, 1)):
        return bool(value)
    raise TypeError


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _path(value: Any) -> str:
    return _text(fspath(value))


def _policy(value: Any) -> str:
    if _text(value) not in ("raise", "skip", "replace"):
        raise ValueError
    return str(value)


def _vector(convert: Callable[[Any], Any]) -> Callable[[Any], tuple[Any, ...]]:
    def convert_all(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list | tuple) and (isinstance(value, str) or np.ndim(value) == 0):
            return (convert(value),)
        return tuple(map(convert, value))

    return convert_all


def _enumeration(kind: type[ImageType] | type[InterpType]) -> Callable[[Any], int]:
    names = {
        name.removeprefix("INTERP_").lower(): member for name, member in kind.__members__.items()
    }

    def convert(value: Any) -> int:
        if isinstance(value, bool | float):
            raise TypeError
        if isinstance(value, str):
            found = names.get(value.removeprefix("INTERP_").lower())
            if found is None:
                raise ValueError
            return found
        return kind(python.index(value))

    return convert


@dataclass(frozen=True, slots=True)
class ArgumentType:
    """How one kind of argument is written, checked and stored.

    name: for signatures; expected: for error messages; convert: from what the user wrote to a
    hashable value; element: dtype of the rows if it may be given per sample; vector: a row holds
    several values; ragged: how many may differ between samples: kernels see a list with a 1-D array
    per sample; uneven: they see such a list where the numbers differ, and else an array; matrix: a
    row may have two axes, and an array of two axes is one matrix for all samples; shaped: per
    sample it is an array of any shape, and kernels see the batch of these; schedules: a schedule is
    converted like any other value, by a source that asks it by itself.
    """

    name: str
    expected: str
    convert: Callable[[Any], Any]
    element: type | None = None
    vector: bool = False
    ragged: bool = False
    uneven: bool = False
    matrix: bool = False
    shaped: bool = False
    schedules: bool = False

    @property
    def number(self) -> type | None:
        """int or float if its values are numbers, one or several: then a schedule may be given."""
        return _NUMBERS.get(self.convert)


_Array: TypeAlias = np.ndarray[Any, Any]
_integers, _reals, _singles = _vector(_integer), _vector(_real), _vector(_single)
_NUMBERS: dict[Callable[[Any], Any], type] = {
    **dict.fromkeys((_integer, _integers), int),
    **dict.fromkeys((_real, _reals, _single, _singles), float),
}

IntArg: TypeAlias = Annotated[
    int | Value | Sequence[int] | _Array,
    ArgumentType("IntArg", "an integer, or one per sample", _integer, np.int64),
]
FloatArg: TypeAlias = Annotated[
    float | Value | Sequence[float] | _Array,
    ArgumentType("FloatArg", "a number, or one per sample", _single, np.float32),
]
DoubleArg: TypeAlias = Annotated[
    float | Value | Sequence[float] | _Array,
    ArgumentType("FloatArg", "a number, or one per sample", _single, np.float64),
]
"""As `FloatArg`, in float64: what other libraries compute in float64 begins with it."""
IntsArg: TypeAlias = Annotated[
    int | Value | Sequence[int] | Sequence[Sequence[int]] | _Array,
    ArgumentType("IntsArg", "integers, or a row per sample", _integers, np.int64, True),
]
FloatsArg: TypeAlias = Annotated[
    float | Value | Sequence[float] | Sequence[Sequence[float]] | _Array,
    ArgumentType("FloatsArg", "numbers, or a row per sample", _singles, np.float32, True),
]
DoublesArg: TypeAlias = Annotated[
    float | Value | Sequence[float] | Sequence[Sequence[float]] | _Array,
    ArgumentType("FloatsArg", "numbers, or a row per sample", _singles, np.float64, True),
]
MatrixArg: TypeAlias = Annotated[
    float | Value | Sequence[Any] | _Array,
    ArgumentType(
        "MatrixArg",
        "a matrix as numbers row by row, or one per sample",
        _singles,
        np.float32,
        True,
        matrix=True,
    ),
]
RaggedIntsArg: TypeAlias = Annotated[
    IntsArg,
    ArgumentType(
        "RaggedIntsArg", "integers, or some per sample", _integers, np.int64, True, ragged=True
    ),
]
RaggedFloatsArg: TypeAlias = Annotated[
    FloatsArg,
    ArgumentType(
        "RaggedFloatsArg", "numbers, or some per sample", _singles, np.float32, True, ragged=True
    ),
]
UnevenIntsArg: TypeAlias = Annotated[
    IntsArg,
    ArgumentType(
        "UnevenIntsArg", "integers, or some per sample", _integers, np.int64, True, uneven=True
    ),
]
UnevenFloatsArg: TypeAlias = Annotated[
    FloatsArg,
    ArgumentType(
        "UnevenFloatsArg", "numbers, or some per sample", _singles, np.float32, True, uneven=True
    ),
]
FloatArrayArg: TypeAlias = Annotated[
    float | Value | Sequence[Any] | _Array,
    ArgumentType(
        "FloatArrayArg", "a number, or an array per sample", _single, np.float32, shaped=True
    ),
]
InterpArg: TypeAlias = Annotated[
    InterpType | int | str | Value | Sequence[int] | _Array,
    ArgumentType(
        "InterpArg",
        "an interpolation such as types.INTERP_LINEAR or 'linear', or one per sample",
        _enumeration(InterpType),
        np.int64,
    ),
]
Ints: TypeAlias = Annotated[
    int | Sequence[int], ArgumentType("Ints", "an integer or several", _integers)
]
Floats: TypeAlias = Annotated[
    float | Sequence[float], ArgumentType("Floats", "a number or several", _reals)
]
Strings: TypeAlias = Annotated[
    str | Sequence[str], ArgumentType("Strings", "a string or several", _vector(_text))
]
Path: TypeAlias = Annotated[str | PathLike[str], ArgumentType("Path", "a path", _path)]
Paths: TypeAlias = Annotated[
    str | PathLike[str] | Sequence[str | PathLike[str]],
    ArgumentType("Paths", "a path or several", _vector(_path)),
]
OnError: TypeAlias = Annotated[
    Literal["raise", "skip", "replace"],
    ArgumentType("OnError", "'raise', 'skip' or 'replace'", _policy),
]
Layout: TypeAlias = Annotated[str, ArgumentType("Layout", "a layout such as 'HWC'", as_layout)]
_DTYPE = ArgumentType("DTypeLike", "an element type such as gradiva.uint8", DType.of)
DTypeLike: TypeAlias = Annotated[dtypes.DTypeLike, _DTYPE]
_IMAGE_TYPE = ArgumentType(
    "ImageType", "an image type such as types.RGB or 'RGB'", _enumeration(ImageType)
)
ImageTypeLike: TypeAlias = Annotated[ImageType | str, _IMAGE_TYPE]
_INTERP_TYPE = ArgumentType(
    "InterpType",
    "an interpolation such as types.INTERP_LINEAR or 'linear'",
    _enumeration(InterpType),
)
InterpTypeLike: TypeAlias = Annotated[InterpType | str, _INTERP_TYPE]

_PLAIN: tuple[tuple[Any, ArgumentType], ...] = (
    (dtypes.DTypeLike, _DTYPE),
    (Any, ArgumentType("Any", "a value", lambda value: value)),
    (int, ArgumentType("int", "an integer", _integer)),
    (float, ArgumentType("float", "a number", _real)),
    (bool, ArgumentType("bool", "True or False", _boolean)),
    (str, ArgumentType("str", "a string", _text)),
    (ImageType, _IMAGE_TYPE),
    (InterpType, _INTERP_TYPE),
)


def argument_type(annotation: Any) -> ArgumentType:
    """The kind of argument that an annotation holds, with or without `| None`.

    Where it holds several, as an alias of an alias does, the outermost one counts. Raises TypeError
    where it holds none.
    """
    if get_origin(annotation) in (Union, UnionType):
        parts = tuple(part for part in get_args(annotation) if part is not NoneType)
        annotation = Union[parts]  # noqa: UP007  of one part it is that part
    for part in reversed(getattr(annotation, "__metadata__", ())):
        if isinstance(part, ArgumentType):
            return part
    for plain, kind in _PLAIN:
        if plain == annotation:
            return kind
    raise TypeError(f"no kind of argument: {annotation!r}")


def evaluate(annotation: Any, names: dict[str, Any]) -> Any:
    """An annotation as an object. Text, which `from __future__ import annotations` leaves, is
    evaluated among `names`, those of its module. Raises whatever that raises."""
    return eval(_compiled(annotation), names) if isinstance(annotation, str) else annotation


@functools.cache
def _compiled(text: str) -> CodeType:
    """A few dozen texts are used in all annotations of the operators."""
    return compile(text, "<annotation>", "eval")
