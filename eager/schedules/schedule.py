"""`schedule`: a number, or several, that is a function of the epoch, the step or the sample."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np

from gradiva.eager.support.errors import (
    OperatorTypeError,
    OperatorValueError,
    annotate_error,
    describe,
    user_location,
    wrong_value,
)
from gradiva.eager.support.hooks import Hook
from gradiva.eager.support.lazy_import import lazy_module
from gradiva.eager.values.value import Value, arithmetic, ufuncs

if TYPE_CHECKING:
    from . import rules
    from .rules import Rule
else:  # for few programs
    rules = lazy_module("gradiva.eager.schedules.rules")

__all__ = ["Moment", "Schedule", "joined", "schedule"]

PER = ("epoch", "step", "sample")
MODES = ("linear", "step", "cosine")

to_picture: Hook[Callable[[Schedule], str]] = Hook("schedules as pictures", "gradiva.display.curve")


Values = np.ndarray[Any, Any]


class Moment(NamedTuple):
    """The place in the run at which a schedule is asked. samples: the numbers of the samples, of
    which there is a value each; None where nobody knows them."""

    epoch: float | None
    step: float | None
    samples: Any = None


class Schedule:
    """What `schedule` returns: give it to an operator in place of a number.

    It takes part in arithmetic with numbers, with other schedules, and with batches.
    """

    __slots__ = ("_hash", "checked", "rule")

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self._hash: int | None = None
        self.checked: list[Any] = []
        """The arguments that are known to take its values."""

    def __reduce__(self) -> tuple[Any, ...]:
        return Schedule, (self.rule,)

    @property
    def per(self) -> frozenset[str]:
        """What its values depend on: "epoch", "step", "sample"."""
        return self.rule.per

    @property
    def per_sample(self) -> bool:
        """Whether the samples of a batch have values of their own."""
        return "sample" in self.rule.per

    @property
    def several(self) -> bool:
        """Whether a value is a tuple of numbers."""
        return self.rule.several

    @property
    def ndim(self) -> int:
        """The axes of a value, as NumPy counts them."""
        return int(self.rule.several)

    @property
    def whole(self) -> bool:
        """Whether all its values are whole numbers, whatever the place."""
        return self.rule.whole

    def at(
        self, epoch: float | None = None, *, step: float | None = None, sample: Any = None
    ) -> Any:
        """The value there: a number or a tuple; for several samples, an array with a row for each.

        epoch, step, sample: from 0 on; what the schedule does not depend on may be left out.
        Raises OperatorValueError for what it depends on and is not given.

        Example:
            gradiva.schedule({0: 128, 10: 192}).at(epoch=5)  # 160.0
        """
        given = {"epoch": epoch, "step": step, "sample": sample}
        with annotate_error("schedule"):
            for name in PER:
                place = given[name]
                if place is None and name in self.rule.per:
                    raise wrong_value(name, f"the {name} at which the value is wanted", "None")
                if place is not None and not _is_place(place, name):
                    raise wrong_value(name, "a number from 0 on", describe(place))
            values = self.rule.at(Moment(epoch, step, sample))
        if np.ndim(sample):
            return values if self.several else values[:, 0]
        return self.plain(values)

    def plain(self, values: Values) -> Any:
        """The one value in an array of them, as a number or a tuple."""
        numbers = values[0].tolist()
        return tuple(numbers) if self.several else numbers[0]

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash((Schedule, self.rule.key))
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schedule) and self.rule.key == other.rule.key

    def __repr__(self) -> str:
        return self.rule.text

    def _repr_html_(self) -> str:
        return to_picture.get()(self)

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        places = ", ".join(f"{one}=..." for one in PER if one in self.rule.per)
        raise OperatorTypeError(
            f"{self!r} is no number: it has a value where an operator runs; `.at({places})` is the "
            "value there",
            operator="schedule",
            location=user_location(),
        )

    __bool__ = __int__ = __float__ = __index__ = __array__ = __round__ = _refuse
    __iter__ = None

    def _compared(self, name: str, other: Any) -> Any:
        if not isinstance(other, Value):
            self._refuse()
        return arithmetic[name](self, other)

    def __lt__(self, other: Any) -> Any:
        return self._compared("lt", other)

    def __le__(self, other: Any) -> Any:
        return self._compared("leq", other)

    def __gt__(self, other: Any) -> Any:
        return self._compared("gt", other)

    def __ge__(self, other: Any) -> Any:
        return self._compared("geq", other)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        name = ufuncs.get(ufunc)
        if name not in rules.OPERATIONS or method != "__call__" or options:
            self._refuse()
        return _computed(name, *inputs)

    def __add__(self, other: Any) -> Any:
        return _computed("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return _computed("add", other, self)

    def __sub__(self, other: Any) -> Any:
        return _computed("sub", self, other)

    def __rsub__(self, other: Any) -> Any:
        return _computed("sub", other, self)

    def __mul__(self, other: Any) -> Any:
        return _computed("mul", self, other)

    def __rmul__(self, other: Any) -> Any:
        return _computed("mul", other, self)

    def __truediv__(self, other: Any) -> Any:
        return _computed("fdiv", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _computed("fdiv", other, self)

    def __floordiv__(self, other: Any) -> Any:
        return _computed("div", self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return _computed("div", other, self)

    def __mod__(self, other: Any) -> Any:
        return _computed("mod", self, other)

    def __rmod__(self, other: Any) -> Any:
        return _computed("mod", other, self)

    def __pow__(self, other: Any) -> Any:
        return _computed("pow", self, other)

    def __rpow__(self, other: Any) -> Any:
        return _computed("pow", other, self)

    def __neg__(self) -> Any:
        return _computed("minus", self)

    def __pos__(self) -> Any:
        return _computed("plus", self)

    def __abs__(self) -> Any:
        return _computed("abs", self)


def _is_place(place: Any, name: str) -> bool:
    if isinstance(place, str | bytes):
        return False
    try:
        numbers = np.asarray(place)
    except (TypeError, ValueError):
        return False
    axes = 1 if name == "sample" else 0
    if numbers.dtype.kind not in "iuf" or numbers.ndim > axes:
        return False
    return bool((np.isfinite(numbers) & (numbers >= 0)).all())


def _computed(name: str, *operands: Any) -> Any:
    """A schedule of numbers and schedules; beside a batch or another value, the operator on it."""
    if any(isinstance(one, Value) for one in operands):
        return arithmetic[name](*operands)
    with annotate_error("schedule"):
        return Schedule(rules.Arithmetic(name, list(map(_rule, operands))))


def joined(values: Sequence[Any]) -> Schedule:
    """Schedules and numbers as one schedule of tuples. Raises OperatorTypeError."""
    return Schedule(rules.Joined(list(map(_rule, values))))


def _rule(operand: Any) -> Rule:
    if isinstance(operand, Schedule):
        return operand.rule
    try:
        return rules.Constant(operand)
    except OperatorValueError:
        raise OperatorTypeError(
            "arithmetic with a schedule",
            expected="a finite number, a tuple of them, a schedule or a batch",
            got=describe(operand),
        ) from None


def schedule(
    points: Mapping[Any, Any] | Sequence[Any] | np.ndarray[Any, Any] | Callable[[int], Any],
    per: str = "epoch",
    mode: str = "linear",
) -> Any:
    """Make a number that changes during a training, for any argument of an operator that is one.

    An operator takes the value of the batch that it works on, in all modes: that of its first
    input, or of the current step of a loop or pipeline. So batches that are made ahead, resumed
    trainings and shards have the values that they should have, and nothing has to be saved.

    Args:
        points: {place: value}, or a list of (place, value), an array with a row for each, or
            (places, values), two arrays. Places are numbers from 0 on that increase; values are
            numbers, or tuples of one length, such as (height, width). Before the first point and
            after the last the values are those of these points. Or a function of the place, a whole
            number, that depends on nothing else.
        per: what places count: "epoch", the epoch of the first sample of the batch; "step", the
            batches since the beginning of epoch 0; or "sample", the samples since then, of all
            shards: each sample of a batch has its own value.
        mode: between points: "linear"; "cosine", which begins and ends slowly; "step", the value
            of the last point. Arguments that are whole numbers take the nearest one, and of two
            the one away from zero.

    Returns:
        A `Schedule`. Arithmetic with numbers, other schedules and batches works; `at(epoch=3)` is
        its value, and a notebook shows its curve.

    Raises:
        OperatorTypeError, OperatorValueError: for points that are no numbers or do not increase,
            for another `per` or `mode`. OperatorRuntimeError for a function that raises; and of an
            operator that is called where there is no epoch, step or sample, with such an argument.

    Example:
        size = gradiva.schedule({0: 128, 10: 192, 30: 224}, mode="step")
        size.at(epoch=12)  # 192
        reader = gradiva.readers.File(file_root="photos")
        for files, labels in reader.next_epoch(batch_size=2):
            images = gradiva.resize(gradiva.decoders.image(files), size=size)
    """
    with annotate_error("schedule"):
        if isinstance(points, Schedule):
            raise OperatorTypeError(
                argument="points", expected="points or a function", got="a schedule"
            )
        if per not in PER:
            raise wrong_value("per", "'epoch', 'step' or 'sample'", describe(per))
        if mode not in MODES:
            raise wrong_value("mode", "'linear', 'step' or 'cosine'", describe(mode))
        rule: Rule
        if callable(points):
            if mode != "linear":
                raise wrong_value("mode", "none for a function", describe(mode))
            rule = rules.Function(points, per)
        else:
            rule = rules.Points(points, per, mode)
        return Schedule(rule)
