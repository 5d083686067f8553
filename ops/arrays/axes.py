"""What the operators on arrays share: axes by number and by name, and inputs of one type."""

from __future__ import annotations

from collections.abc import Sequence

from gradiva.eager import extension as op
from gradiva.eager.support.errors import OperatorIndexError


def resolve_axis(axis: int, ndim: int, argument: str = "axis") -> int:
    """An axis from 0 to ndim - 1; negative ones count from the end. Raises OperatorValueError."""
    if not -ndim <= axis < ndim:
        expected = f"an axis from {-ndim} to {ndim - 1}" if ndim else "no axis, of scalars"
        raise OperatorIndexError(argument=argument, expected=expected, got=str(axis))
    return axis % ndim


def named_axis(layout: str, name: str, argument: str) -> int:
    """The axis that a letter of the layout names. Raises OperatorValueError."""
    if len(name) != 1 or name not in layout:
        expected = f"a letter of the layout {layout!r}" if layout else "an input with a layout"
        raise op.wrong_value(argument, expected, repr(name))
    return layout.index(name)


def with_axis(input: op.SampleType, axis: int, name: str | None) -> str | None:
    """The layout with a new axis: none, if the axis has no name. Raises OperatorValueError."""
    if name is None:
        return ""
    if len(name) != 1:
        raise op.wrong_value("axis_name", "one letter", repr(name))
    if input.layout is None:
        return None
    if input.ndim and not input.layout:
        raise op.OperatorValueError(
            "a new axis has a name only among named axes",
            argument="axis_name",
            expected="an input with a layout",
            got="one without",
        )
    if name in input.layout:
        raise op.wrong_value("axis_name", f"a letter that {input.layout!r} lacks", repr(name))
    return input.layout[:axis] + name + input.layout[axis:]


def alike(inputs: Sequence[op.SampleType]) -> op.SampleType:
    """The one type of all inputs, with the layout of the first. Raises OperatorTypeError."""
    known = inputs[0]
    for number, input in enumerate(inputs[1:], 1):
        if known.dtype is None or known.ndim is None:
            known = known.with_(
                dtype=known.dtype or input.dtype,
                ndim=input.ndim if known.ndim is None else known.ndim,
            )
        if input.dtype not in (None, known.dtype):
            raise op.OperatorTypeError(
                f"input {number} has another dtype than those before",
                expected=str(known.dtype),
                got=str(input.dtype),
            )
        if input.ndim not in (None, known.ndim):
            raise op.OperatorTypeError(
                f"input {number} has another number of axes than those before",
                expected=f"{known.ndim}-D samples",
                got=f"{input.ndim}-D samples",
            )
    return known
