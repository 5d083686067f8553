"""The common part of concrete and symbolic values: arithmetic, written once.

`Batch`, `Tensor` and the symbols of a graph are `Value`s. Their operators are looked up by name in
the registry, because operators are in a higher layer.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Generic, NoReturn, Protocol, TypeAlias, TypeVar

import numpy as np

from gradiva.eager.support.errors import OperatorTypeError, user_location
from gradiva.eager.support.registry import Modules, Registry

if TYPE_CHECKING:
    from typing_extensions import Self

    class Sample(Protocol):
        """Members of Tensor only: other values have no `item`, and other arrays have no layout."""

        layout: str

        def item(self) -> Any: ...

    Operand: TypeAlias = (
        complex | np.generic | np.ndarray[Any, Any] | list[Any] | tuple[Any, ...] | Sample
    )

__all__ = ["Following", "Slicing", "Symbolic", "Value", "arithmetic", "ufuncs"]


V = TypeVar("V", bound="Value")


arithmetic: Registry[Any] = Registry(Modules("gradiva._names:arithmetic"))
"""Functions (left, right) or (operand) by name, put here by `ops.math.arithmetic`."""


ufuncs = {
    np.add: "add", np.subtract: "sub", np.multiply: "mul", np.true_divide: "fdiv",
    np.floor_divide: "div", np.remainder: "mod", np.power: "pow", np.bitwise_and: "bitand",
    np.bitwise_or: "bitor", np.bitwise_xor: "bitxor", np.left_shift: "shl", np.right_shift: "shr",
    np.equal: "eq", np.not_equal: "neq", np.less: "lt", np.less_equal: "leq", np.greater: "gt",
    np.greater_equal: "geq", np.negative: "minus", np.positive: "plus", np.absolute: "abs",
    np.invert: "bitnot",
}  # fmt: skip
"""Python's operators as functions of NumPy, which calls them when an array stands on the left."""


def _apply(name: str, *operands: Any) -> Any:
    try:
        function = arithmetic[name]
    except KeyError:
        raise TypeError(f"gradiva has no operator {name!r} on batches") from None
    return function(*operands)


class Slicing(Generic[V]):
    """`value.slice`: its subscripts apply to each sample, for every kind of value."""

    __slots__ = ("_value",)

    def __init__(self, value: V) -> None:
        self._value = value

    def __getitem__(self, ranges: Any) -> V:
        """A part of each sample: integers, ranges, `...`, None, newaxis. Numbers may be batches
        or symbols of integers, one per sample."""
        part: V = _apply("getitem", self._value, ranges)
        return part

    # Else Python would try 0, 1, 2, ... as subscripts.
    __iter__ = None


class Symbolic:
    """Stands for data that exist only while a pipeline runs."""

    __slots__ = ()

    def moved_since(self, earlier: Any) -> str:
        """The operator that moved the pixels of this symbol, if it was made of an earlier one; an
        empty text if none did, or if it was made of others."""
        return ""


class Following(abc.ABC):
    """Base of `Targets`: is no value, but holds values that follow the images before them."""

    __slots__ = ()

    @abc.abstractmethod
    def merged(
        self,
        other: Any,
        merge: Callable[[Any, Any, str], Any],
        inside: Callable[[int], AbstractContextManager[None]],
    ) -> Any:
        """One object of this one, from a branch of a condition, and of one from the other branch.

        merge: makes one value of two, of this name; inside: makes a branch the current one, 0 that
        of this object and 1 the other. Raises OperatorTypeError if they do not go together.
        """

    @abc.abstractmethod
    def begun(self, images: Any) -> Any:
        """This object, ready to follow these images in some of their samples only."""

    @abc.abstractmethod
    def part(self, take: Callable[[Any], Any]) -> Any:
        """What belongs to some of the samples. take: makes that part of what belongs to all."""

    @abc.abstractmethod
    def joined(self, others: Sequence[Any], join: Callable[[list[Any]], Any]) -> Any:
        """One object of several parts, of which this one is the first. join: makes one value of
        those of the parts. Raises OperatorTypeError if they do not go together."""

    @abc.abstractmethod
    def marked(self, mark: Callable[[Any], Any]) -> Any:
        """This object, with `mark` of what says how it has moved."""


class Value:
    """Base of Batch, Tensor and DataNode: the Python operators on them."""

    __slots__ = ()
    __array_priority__ = 1000

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        """`array + batch` and `numpy.add(array, batch)` are as `batch + array`. Raises
        OperatorTypeError for other functions of NumPy."""
        if ufunc in ufuncs and method == "__call__" and not options:
            return _apply(ufuncs[ufunc], *inputs)
        name = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
        more = f" with {', '.join(f'`{option}`' for option in options)}" if options else ""
        raise OperatorTypeError(
            f"numpy.{name}{more} takes no {type(self).__name__}: use arithmetic, gradiva.math and "
            "gradiva.reductions, or give NumPy the arrays of the samples",
            location=user_location(),
        )

    @property
    def slice(self) -> Slicing[Self]:
        """Subscripts of each sample, `images.slice[..., 0]`, in both modes."""
        return Slicing(self)

    def __add__(self, other: Operand | Self) -> Self:
        return _apply("add", self, other)

    def __radd__(self, other: Operand | Self) -> Self:
        return _apply("add", other, self)

    def __sub__(self, other: Operand | Self) -> Self:
        return _apply("sub", self, other)

    def __rsub__(self, other: Operand | Self) -> Self:
        return _apply("sub", other, self)

    def __mul__(self, other: Operand | Self) -> Self:
        return _apply("mul", self, other)

    def __rmul__(self, other: Operand | Self) -> Self:
        return _apply("mul", other, self)

    def __truediv__(self, other: Operand | Self) -> Self:
        return _apply("fdiv", self, other)

    def __rtruediv__(self, other: Operand | Self) -> Self:
        return _apply("fdiv", other, self)

    def __floordiv__(self, other: Operand | Self) -> Self:
        return _apply("div", self, other)

    def __rfloordiv__(self, other: Operand | Self) -> Self:
        return _apply("div", other, self)

    def __mod__(self, other: Operand | Self) -> Self:
        return _apply("mod", self, other)

    def __rmod__(self, other: Operand | Self) -> Self:
        return _apply("mod", other, self)

    def __pow__(self, other: Operand | Self) -> Self:
        return _apply("pow", self, other)

    def __rpow__(self, other: Operand | Self) -> Self:
        return _apply("pow", other, self)

    def __and__(self, other: Operand | Self) -> Self:
        return _apply("bitand", self, other)

    def __rand__(self, other: Operand | Self) -> Self:
        return _apply("bitand", other, self)

    def __or__(self, other: Operand | Self) -> Self:
        return _apply("bitor", self, other)

    def __ror__(self, other: Operand | Self) -> Self:
        return _apply("bitor", other, self)

    def __xor__(self, other: Operand | Self) -> Self:
        return _apply("bitxor", self, other)

    def __rxor__(self, other: Operand | Self) -> Self:
        return _apply("bitxor", other, self)

    def __lshift__(self, other: Operand | Self) -> Self:
        return _apply("shl", self, other)

    def __rlshift__(self, other: Operand | Self) -> Self:
        return _apply("shl", other, self)

    def __rshift__(self, other: Operand | Self) -> Self:
        return _apply("shr", self, other)

    def __rrshift__(self, other: Operand | Self) -> Self:
        return _apply("shr", other, self)

    def __eq__(self, other: object) -> Self:  # type: ignore[override]
        return _apply("eq", self, other)

    def __ne__(self, other: object) -> Self:  # type: ignore[override]
        return _apply("neq", self, other)

    def __lt__(self, other: Operand | Self) -> Self:
        return _apply("lt", self, other)

    def __le__(self, other: Operand | Self) -> Self:
        return _apply("leq", self, other)

    def __gt__(self, other: Operand | Self) -> Self:
        return _apply("gt", self, other)

    def __ge__(self, other: Operand | Self) -> Self:
        return _apply("geq", self, other)

    def __neg__(self) -> Self:
        return _apply("minus", self)

    def __pos__(self) -> Self:
        return _apply("plus", self)

    def __abs__(self) -> Self:
        return _apply("abs", self)

    def __invert__(self) -> Self:
        return _apply("bitnot", self)

    def __round__(self, ndigits: int | None = None) -> NoReturn:
        raise OperatorTypeError(
            f"round() takes no {type(self).__name__}: `cast` to an integer type rounds, "
            "`gradiva.math.floor` and `gradiva.math.ceil` go down and up",
            location=user_location(),
        )

    def __divmod__(self, other: object) -> NoReturn:
        raise OperatorTypeError(
            f"divmod() takes no {type(self).__name__}: use `a // b` and `a % b`",
            location=user_location(),
        )

    __rdivmod__ = __divmod__

    def __contains__(self, item: object) -> bool:
        """Whether one of the samples, or of the elements of a tensor, is this number. Raises
        OperatorTypeError if these are arrays."""
        parts: list[Any] = list(self)  # type: ignore[call-overload]  # those that have samples
        if any(part.ndim for part in parts):
            raise OperatorTypeError(
                f"`in` looks for a number among numbers, and this {type(self).__name__} holds "
                "arrays: compare, as `x == number`, or ask `number in np.asarray(sample)`",
                location=user_location(),
            )
        return any(part is item or bool(part == item) for part in parts)

    # Equality makes a new batch, so values are hashed, where a dict needs it, by identity.
    __hash__ = object.__hash__
