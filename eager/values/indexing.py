"""Indexing expressions, as plain values that compare and hash.

A subscript becomes a tuple of items, one per axis or so: `("index", i)` takes one element and
drops the axis, `("range", start, stop, step)` takes some, `("new", letter)` makes an axis of
extent 1, `("rest",)` stands for `...`. A number that differs per sample is `GIVEN`; its values
come beside the items, in the order in which they stand.
"""

from __future__ import annotations

import operator
from typing import Any, Final, TypeAlias

import numpy as np

from gradiva.eager.support.errors import (
    GradivaError,
    OperatorValueError,
    describe,
    wrong_type,
    wrong_value,
)
from gradiva.eager.support.layouts import as_layout
from gradiva.eager.support.validation import integer
from gradiva.eager.types.sample_type import SampleType

from .value import Value

__all__ = [
    "GIVEN",
    "Items",
    "NewAxis",
    "chosen_samples",
    "expand",
    "newaxis",
    "parse",
    "result_type",
    "sample_number",
    "written",
]

Items: TypeAlias = "tuple[tuple[Any, ...], ...]"

GIVEN: Final = "given"
_MOST_AXES = 32
_WHOLE = ("range", None, None, None)
_MEANT = "integers, ranges (start:stop:step), `...`, None (a whole axis) or gradiva.newaxis"


class NewAxis:
    """An axis of extent 1 in a subscript: `newaxis`, or `newaxis("N")` with a letter for the
    layout. Raises OperatorTypeError or OperatorValueError for what is not one letter."""

    __slots__ = ("name",)

    def __init__(self, name: str = "") -> None:
        self.name = name

    def __call__(self, name: str | None = None) -> NewAxis:
        if name is not None and not isinstance(name, str):
            raise wrong_type("name", "one letter", describe(name))
        if name is not None and len(name) != 1:
            raise wrong_value("name", "one letter", describe(name))
        return NewAxis(name or "")

    def __repr__(self) -> str:
        return f"newaxis({self.name!r})" if self.name else "newaxis"


newaxis = NewAxis()


def parse(ranges: Any) -> tuple[Items, tuple[Value, ...]]:
    """An indexing expression as items, and the values of those that are given per
    sample. Raises OperatorTypeError or OperatorValueError."""
    given: list[Value] = []
    items: list[tuple[Any, ...]] = []
    for item in ranges if isinstance(ranges, tuple) else (ranges,):
        if item is None:
            items.append(_WHOLE)
        elif item is ...:
            if ("rest",) in items:
                raise OperatorValueError("there may be only one `...` in a subscript")
            items.append(("rest",))
        elif isinstance(item, NewAxis):
            items.append(("new", item.name))
        elif isinstance(item, slice):
            numbers = (item.start, item.stop, item.step)
            start, stop, step = (
                None if number is None else _number(number, given) for number in numbers
            )
            if step == 0:
                raise OperatorValueError("the step of a range must not be 0")
            items.append(("range", start, stop, step))
        else:
            items.append(("index", _number(item, given)))
    return tuple(items), tuple(given)


def _number(value: Any, given: list[Value]) -> int | str:
    """A number for all samples, or GIVEN."""
    number: Any = value
    if isinstance(value, Value):
        # A tensor is the same for all samples; it has an `item`, batches and symbols have none.
        if not hasattr(number, "item") or number.ndim:
            given.append(value)
            return GIVEN
        if number.drawn_at is not None:
            # An input of the call, where it is looked for; a bool as the number that it is.
            given.append(number * 1 if number.dtype.numpy.kind == "b" else number)
            return GIVEN
        number = number.item()
    try:
        return int(operator.index(number))
    except TypeError:
        raise wrong_type(
            "", _MEANT, describe(value), "a subscript of a type it does not take"
        ) from None


def written(items: Items) -> str:
    """The items as a user writes them, in brackets; `?` is a number that differs per sample."""

    def number(value: Any) -> str:
        return "" if value is None else "?" if value == GIVEN else str(value)

    parts = []
    for kind, *fields in items:
        if kind == "rest":
            parts.append("...")
        elif kind == "new":
            parts.append(f"newaxis({fields[0]!r})" if fields[0] else "newaxis")
        elif kind == "index":
            parts.append(number(fields[0]))
        else:
            start, stop, step = map(number, fields)
            parts.append(f"{start}:{stop}:{step}" if step else f"{start}:{stop}")
    return f"[{', '.join(parts)}]"


def expand(items: Items, ndim: int) -> Items:
    """The items with one index or range for each of `ndim` axes. Raises OperatorTypeError."""
    taken = sum(item[0] in ("index", "range") for item in items)
    if taken > ndim:
        raise wrong_type("", f"at most {ndim}", str(taken), "there are more subscripts than axes")
    at = items.index(("rest",)) if ("rest",) in items else len(items)
    return (*items[:at], *[_WHOLE] * (ndim - taken), *items[at + 1 :])


def result_type(input: SampleType, items: Items) -> SampleType:
    """The type of what is taken. Raises OperatorTypeError or OperatorValueError."""
    names = [item[1] for item in items if item[0] == "new"]
    if any(names) and not all(names):
        raise OperatorValueError("either all new axes of a subscript have names, or none has")
    if input.ndim is None:
        return input.with_(layout=None)
    items = expand(items, input.ndim)
    ndim = sum(item[0] != "index" for item in items)
    if ndim > _MOST_AXES:
        raise wrong_value("", f"at most {_MOST_AXES}", str(ndim), "a subscript makes too many axes")
    return input.with_(ndim=ndim, layout=_layout(input, items, names))


def _layout(input: SampleType, items: Items, names: list[str]) -> str | None:
    if names and not all(names):
        return ""
    if input.layout is None:
        return None
    if not input.layout and input.ndim:
        if names and any(item[0] == "range" for item in items):
            raise wrong_value(
                "",
                "an input with a layout, or newaxis without a name",
                "no layout",
                f"the new axis {names[0]!r} has a name, but the input has no layout",
            )
        if not names:
            return ""
    letters = []
    rest = iter(input.layout or " " * (input.ndim or 0))
    for item in items:
        letter = item[1] if item[0] == "new" else next(rest)
        if item[0] != "index":
            letters.append(letter)
    try:
        return as_layout("".join(letters))
    except ValueError as error:
        raise OperatorValueError(str(error)) from None


def view(array: np.ndarray[Any, Any], items: Items) -> np.ndarray[Any, Any]:
    """What the items, none of which is given per sample, take of an array; on its memory.

    Raises OperatorValueError for an index out of range.
    """
    index: list[Any] = []
    axis = 0
    for item in expand(items, array.ndim):
        if item[0] == "new":
            index.append(None)
            continue
        if item[0] == "range":
            index.append(slice(*item[1:]))
        else:
            extent = array.shape[axis]
            if not -extent <= item[1] < extent:
                raise out_of_range(item[1], axis, extent)
            index.append(item[1])
        axis += 1
    taken: np.ndarray[Any, Any] = array[(*index, ...)]
    return taken


def out_of_range(index: int, axis: int, extent: int, sample: int | None = None) -> GradivaError:
    """The error for an index that an axis does not have."""
    return wrong_value(
        "",
        (
            f"an index from {-extent} to {extent - 1} on axis {axis}"
            if extent
            else f"no index on axis {axis}, which is empty"
        ),
        str(index),
        "an index is out of range",
        sample=sample,
    )


def chosen_samples(sample_range: Any, count: int) -> int | list[int]:
    """The number of the one sample that is meant, or the numbers of several; of `count` in all.

    Raises IndexError for samples that are not there, OperatorTypeError for other subscripts.
    """
    if isinstance(sample_range, slice):
        return list(range(count))[sample_range]
    picked = np.asarray(sample_range)
    if picked.ndim > 1 or (picked.dtype.kind not in "iub" and picked.size):
        raise wrong_type(
            "sample_range", "an integer, a slice, integers or a mask", describe(sample_range)
        )
    if not picked.ndim:
        return sample_number(int(picked), count)
    if not picked.size:
        return []
    if picked.dtype.kind == "b":
        if len(picked) != count:
            raise IndexError(f"expected a mask of {count} samples, got one of {len(picked)}")
        masked: list[int] = np.flatnonzero(picked).tolist()
        return masked
    outside = (picked < -count) | (picked >= count)
    if outside.any():
        sample_number(int(picked[outside][0]), count)
    numbers: list[int] = np.arange(count)[picked].tolist()
    return numbers


def sample_number(sample: int, count: int) -> int:
    """A number of a sample, counted from 0. Raises IndexError, OperatorTypeError."""
    sample = integer(sample, argument="sample")
    if not -count <= sample < count:
        raise IndexError(f"expected a sample from 0 to {count - 1}, got {sample}")
    return sample % count
