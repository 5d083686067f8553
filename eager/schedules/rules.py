"""What a schedule computes its values by: points, a function, or arithmetic on other schedules.

A value is an array of two axes: a row for the batch, or one for each of its samples; and a column
for a number, or several for a tuple. It is int64 or float64.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from gradiva.eager.support.errors import (
    GradivaError,
    OperatorRuntimeError,
    OperatorTypeError,
    OperatorValueError,
    describe,
)
from gradiva.eager.support.hooks import Hook

__all__ = ["OPERATIONS", "Arithmetic", "Constant", "Function", "Joined", "Points", "Rule", "Values"]

Values = np.ndarray[Any, Any]

digest_of_code: Hook[Callable[[Any], str]] = Hook(
    "digests of functions", "gradiva.capture.compiler.code_digests"
)
"""What tells functions of different code, or with other values in them, apart."""

OPERATIONS: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "fdiv": operator.truediv,
    "div": operator.floordiv,
    "mod": operator.mod,
    "pow": operator.pow,
    "minus": operator.neg,
    "plus": operator.pos,
    "abs": operator.abs,
}
"""Arithmetic on schedules, by the names that it has on batches."""
_SIGNS = {"fdiv": "/", "div": "//", "mod": "%", "pow": "**", "mul": "*", "minus": "-"} | {
    **dict.fromkeys(("add", "plus"), "+"),
    "sub": "-",
}


class Moment(Protocol):
    """The place in the run at which schedules are asked."""

    @property
    def epoch(self) -> float | None: ...

    @property
    def step(self) -> float | None: ...

    @property
    def samples(self) -> Any: ...


class _Beginning:
    """The first epoch, step and sample."""

    epoch = step = samples = 0


class Rule(Protocol):
    """per: what it depends on, a set of "epoch", "step" and "sample"; several: whether its values
    are tuples; whole: whether all of them are whole numbers; key: equal for equal rules; text: as
    it is written."""

    @property
    def per(self) -> frozenset[str]: ...

    @property
    def several(self) -> bool: ...

    @property
    def whole(self) -> bool: ...

    @property
    def key(self) -> Any: ...

    @property
    def text(self) -> str: ...

    @property
    def fingerprint(self) -> str:
        """All that decides about its values, the same in every process."""

    def at(self, moment: Moment) -> Values:
        """Its value at a moment. Raises GradivaError."""


def _given(moment: Moment, per: str) -> Any:
    """What a rule is asked for: a number, or an array of them. Raises OperatorRuntimeError."""
    place = {"epoch": moment.epoch, "step": moment.step, "sample": moment.samples}[per]
    if place is None:
        raise OperatorRuntimeError(f"nothing says which {per} this is{_WHY[per]}")
    return place


_WHY = {
    "epoch": ": the source has no epochs, or gradiva.step was given none (`epoch=`)",
    "step": "",
    "sample": "",
}


class Points:
    """Values at some places, and what is between them."""

    __slots__ = ("_places", "_values", "mode", "per", "several", "text")

    def __init__(self, points: Any, per: str, mode: str) -> None:
        pairs = list(_pairs(points))
        if not pairs:
            raise _wrong("at least one point", "none")
        self.several = _is_several(pairs[0][1])
        places, rows = [], []
        for place, value in pairs:
            places.append(_place(place))
            if len(places) > 1 and not places[-1] > places[-2]:
                raise _wrong(
                    "places that increase", f"{place!r} after {pairs[len(places) - 2][0]!r}"
                )
            rows.append(_row(value, place))
            if len(rows[-1]) != len(rows[0]) or _is_several(value) != self.several:
                raise _wrong(
                    "values of one length",
                    f"{value!r} at {place!r}, and {pairs[0][1]!r} at {pairs[0][0]!r}",
                )
        self.per, self.mode = frozenset((per,)), mode
        self._places: Values = np.array(places, np.float64)
        self._values: Values = np.array(rows)
        texts = (f"{_plain(place)}: {_shown(row, self.several)}" for place, row in self.points())
        self.text = f"schedule({{{', '.join(texts)}}}, per={per!r}, mode={mode!r})"

    def points(self) -> list[tuple[float, Any]]:
        """The places and the values there."""
        return list(zip(self._places.tolist(), self._values, strict=True))

    @property
    def whole(self) -> bool:
        between = self.mode == "step" or len(self._places) == 1
        return between and self._values.dtype.kind in "iu"

    @property
    def key(self) -> Any:
        return self.text, self._values.dtype.str, self._values.tobytes(), self._places.tobytes()

    @property
    def fingerprint(self) -> str:
        return self.text

    def at(self, moment: Moment) -> Values:
        (per,) = self.per
        wanted = np.asarray(_given(moment, per), np.float64).reshape(-1)
        places, values = self._places, self._values
        after = np.searchsorted(places, wanted, side="right").clip(1, len(places) - 1)
        if len(places) == 1:
            return np.repeat(values, len(wanted), axis=0)
        before = after - 1
        if self.mode == "step":
            found: Values = values[np.searchsorted(places, wanted, side="right").clip(1) - 1]
            return found
        part = ((wanted - places[before]) / (places[after] - places[before])).clip(0.0, 1.0)
        if self.mode == "cosine":
            part = _half_cosine(part)
        first, last = values[before].astype(np.float64), values[after].astype(np.float64)
        between: Values = first + (last - first) * part[:, None]
        ends = part[:, None] >= 1.0
        return np.where(ends, last, between)


def _half_cosine(part: Values) -> Values:
    """(1 - cos(pi * part)) / 2, by multiplications and additions only, so that all machines compute
    the same bits."""
    x = np.minimum(part, 1.0 - part) * (np.pi / 2)
    square, sine = x * x, np.zeros_like(x)
    for k in range(9, -1, -1):
        sine = 1.0 - sine * square / ((2 * k + 2) * (2 * k + 3))
    lower = (x * sine) ** 2
    return np.where(part > 0.5, 1.0 - lower, lower)


class Function:
    """A function of the user's."""

    __slots__ = ("_per", "function", "per", "several")
    whole = False  # what it returns next is not known

    def __init__(self, function: Any, per: str) -> None:
        self.function, self._per = function, per
        self.per = frozenset((per,))
        try:
            self.several = _is_several(self._call(0))
            self.at(_Beginning())
        except GradivaError as error:
            raise error.complete(argument="points") from error.__cause__

    def _call(self, place: Any) -> Any:
        try:
            value = self.function(place)
        except GradivaError:
            raise
        except Exception as error:
            raise OperatorRuntimeError(
                f"the function of the schedule, {self.name}, raised {type(error).__name__} for "
                f"{self._per} {place}: {error}"
            ) from error
        return value

    @property
    def name(self) -> str:
        """What errors call the function."""
        found = getattr(self.function, "__qualname__", None) or type(self.function).__qualname__
        return str(found)

    @property
    def key(self) -> Any:
        return _function_key(self.function), self._per

    @property
    def text(self) -> str:
        return f"schedule({self.name}, per={self._per!r})"

    @property
    def fingerprint(self) -> str:
        return f"{self.text} {digest_of_code.get()(self.function)}"

    def at(self, moment: Moment) -> Values:
        rows: list[Any] = []
        for place in np.asarray(_given(moment, self._per)).reshape(-1).tolist():
            value = self._call(place)
            try:
                row = _row(value, place)
                if _is_several(value) != self.several or (rows and len(row) != len(rows[0])):
                    raise _wrong("", "")
            except GradivaError:
                raise OperatorTypeError(
                    f"the function of the schedule, {self.name}, returned the wrong thing for "
                    f"{self._per} {place}",
                    expected="a finite number, or as many of them as always",
                    got=describe(value),
                ) from None
            rows.append(row)
        return np.array(rows)


def _function_key(function: Any) -> Any:
    """Equal for a function that a loop defines again in each step, with the same values in it."""
    code = getattr(function, "__code__", None)
    if code is None or getattr(function, "__self__", None) is not None:
        return id(function), function
    cells = getattr(function, "__closure__", None) or ()
    try:
        held = (code, function.__defaults__, tuple(cell.cell_contents for cell in cells))
        hash(held)
    except (TypeError, ValueError):
        return id(function), function
    return held


class Constant:
    """A number, or several, beside a schedule in arithmetic."""

    __slots__ = ("_row", "several")
    per = frozenset[str]()

    def __init__(self, value: Any) -> None:
        self.several = _is_several(value)
        self._row: Values = np.array([_row(value, None)])

    @property
    def whole(self) -> bool:
        return self._row.dtype.kind in "iu"

    @property
    def key(self) -> Any:
        return self._row.dtype.str, self._row.tobytes(), self.several

    @property
    def text(self) -> str:
        return _shown(self._row[0], self.several)

    @property
    def fingerprint(self) -> str:
        return self.text

    def at(self, moment: Moment) -> Values:
        return self._row


class Arithmetic:
    """An operation on rules."""

    __slots__ = ("_name", "operands", "per", "several")

    def __init__(self, name: str, operands: Sequence[Rule]) -> None:
        self._name, self.operands = name, tuple(operands)
        self.per = frozenset[str]().union(*(one.per for one in operands))
        self.several = any(one.several for one in operands)

    @property
    def whole(self) -> bool:
        fractions = self._name in ("fdiv", "pow")
        return not fractions and all(one.whole for one in self.operands)

    @property
    def key(self) -> Any:
        return self._name, tuple(one.key for one in self.operands)

    def _written(self, texts: Sequence[str]) -> str:
        sign = _SIGNS.get(self._name)
        if len(texts) == 2:
            return f"({texts[0]} {sign} {texts[1]})"
        return f"abs({texts[0]})" if sign is None else f"({sign}{texts[0]})"

    @property
    def text(self) -> str:
        return self._written([one.text for one in self.operands])

    @property
    def fingerprint(self) -> str:
        return self._written([one.fingerprint for one in self.operands])

    def at(self, moment: Moment) -> Values:
        values = [one.at(moment) for one in self.operands]
        if self._name == "pow" and (values[1] < 0).any():
            values[0] = values[0].astype(np.float64)
        with np.errstate(all="ignore"):
            try:
                made: Values = np.asarray(OPERATIONS[self._name](*values))
            except ValueError:
                lengths = " and ".join(str(one.shape[1]) for one in values)
                raise OperatorValueError(
                    f"the values of {self.text} have different lengths", got=lengths
                ) from None
        if not np.isfinite(made).all():
            raise OperatorValueError(f"{self.text} is no finite number", got=str(made.tolist()))
        return made


class Joined:
    """Several rules as the numbers of one tuple."""

    __slots__ = ("operands", "per")
    several = True

    def __init__(self, operands: Sequence[Rule]) -> None:
        self.operands = tuple(operands)
        self.per = frozenset[str]().union(*(one.per for one in operands))
        if any(one.several for one in operands):
            raise OperatorTypeError(
                "schedules in a tuple have one number each", got=self._written("text")
            )

    @property
    def whole(self) -> bool:
        return all(one.whole for one in self.operands)

    @property
    def key(self) -> Any:
        return "join", tuple(one.key for one in self.operands)

    def _written(self, name: str) -> str:
        return f"({', '.join(getattr(one, name) for one in self.operands)})"

    @property
    def text(self) -> str:
        return self._written("text")

    @property
    def fingerprint(self) -> str:
        return self._written("fingerprint")

    def at(self, moment: Moment) -> Values:
        values = [one.at(moment) for one in self.operands]
        count = max(map(len, values))
        return np.concatenate([np.broadcast_to(one, (count, 1)) for one in values], axis=1)


def _pairs(points: Any) -> Iterator[tuple[Any, Any]]:
    """The places and values of points, as users write them. Raises OperatorTypeError."""
    if isinstance(points, Mapping):
        yield from points.items()
        return
    if isinstance(points, np.ndarray):
        if points.ndim != 2 or (points.shape[1] < 2 and len(points)):
            raise _wrong("an array (points, 2 or more)", f"one of shape {points.shape}")
        for row in points.tolist():
            yield row[0], row[1] if len(row) == 2 else tuple(row[1:])
        return
    if isinstance(points, tuple) and len(points) == 2 and isinstance(points[0], np.ndarray):
        places, values = np.asarray(points[0]), np.asarray(points[1])
        if places.ndim != 1 or values.ndim not in (1, 2) or len(places) != len(values):
            raise _wrong("as many values as places", f"shapes {places.shape} and {values.shape}")
        yield from zip(places.tolist(), values.tolist(), strict=True)
        return
    if not isinstance(points, list | tuple):
        raise OperatorTypeError(
            operator="schedule",
            argument="points",
            expected="a dict {place: value}, a list of pairs, arrays, or a function",
            got=describe(points),
        )
    for pair in points:
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise _wrong("pairs (place, value)", describe(pair))
        yield pair[0], pair[1]


def _place(place: Any) -> float:
    """Raises OperatorValueError for what is no place in a run."""
    try:
        number = float(place) if not isinstance(place, str | bytes) else -1.0
    except (TypeError, ValueError, OverflowError):
        number = -1.0
    if not (number >= 0 and np.isfinite(number)):
        raise _wrong("places that are numbers from 0 on", repr(place))
    return number


def _is_several(value: Any) -> bool:
    return isinstance(value, list | tuple) or np.ndim(value) > 0


def _row(value: Any, place: Any) -> list[int] | list[float]:
    """A value as a list of numbers. Raises OperatorValueError."""
    array = None
    if not isinstance(value, str | bytes):
        try:
            array = np.asarray(value)
        except (TypeError, ValueError):
            array = None
    if array is None or array.dtype.kind not in "biuf" or array.ndim > 1 or not array.size:
        raise _wrong("values that are numbers, or tuples of them", f"{value!r} at {place!r}")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise _wrong("values that are finite", f"{value!r} at {place!r}")
    if array.dtype.kind == "b":
        array = array.astype(np.int64)
    found: list[Any] = array.reshape(-1).tolist()
    if array.dtype.kind != "f" and not all(-(1 << 53) <= one <= 1 << 53 for one in found):
        raise _wrong("values below 2**53", f"{value!r} at {place!r}")
    return found


def _shown(row: Values, several: bool) -> str:
    numbers = list(map(repr, row.tolist()))
    if not several:
        return numbers[0]
    return f"({', '.join(numbers)}{',' if len(numbers) == 1 else ''})"


def _plain(place: float) -> str:
    """A place, without `.0`."""
    return repr(int(place)) if place.is_integer() else repr(place)


def _wrong(expected: str, got: str) -> OperatorValueError:
    return OperatorValueError(operator="schedule", argument="points", expected=expected, got=got)
