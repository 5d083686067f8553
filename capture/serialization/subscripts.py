"""Subscripts in files: `at_n`, or `lo_n`, `hi_n` and `step_n`, for axis n of so many.

New axes are operators of their own, behind the subscript; a subscript that takes all there is only
checks how many axes there are.
"""

from __future__ import annotations

from typing import Any

from gradiva.capture.graph.graph import Node
from gradiva.eager.support.errors import OperatorValueError, wrong_value
from gradiva.eager.values.indexing import GIVEN, expand

from .model import Writer

__all__ = ["CHECK", "EXPAND", "TAKE", "read_check", "read_new_axes", "read_subscript"]

TAKE, CHECK, EXPAND = "_TensorSubscript", "_SubscriptDimCheck", "ExpandDims"

_WHOLE = ("range", None, None, None)
_MOST_AXES = 32


def write_subscript(writer: Writer, node: Node) -> None:
    """Write a subscript as one operator, or as two if it makes new axes."""
    items = list(node.attribute("ranges"))
    if ("rest",) in items:
        at = items.index(("rest",))
        rest = items[at + 1 :]
        ndim = node.inputs[0].node.type[node.inputs[0].output].ndim
        if rest and ndim is None:
            raise OperatorValueError(
                "`...` before other subscripts needs an input whose rank is known before the "
                "first batch; declare `ndim` where it enters"
            )
        items = list(expand(tuple(items), ndim)) if rest and ndim is not None else items[:at]
    axes = [item for item in items if item[0] != "new"]
    arguments: dict[str, Any] = {}
    named: list[tuple[str | None, str]] = []
    numbers = iter(node.inputs[1:])
    for axis, item in enumerate(axes):
        fields = ("at",) if item[0] == "index" else ("lo", "hi", "step")
        for field, value in zip(fields, item[1:], strict=True):
            if value == GIVEN:
                named.append((f"{field}_{axis}", writer.edge(next(numbers))))
            elif value is not None:
                arguments[f"{field}_{axis}"] = value
    name = writer.edge(node.inputs[0])
    made = [item for item in items if item[0] != "index"]
    new = [place for place, item in enumerate(made) if item[0] == "new"]
    if arguments or named or (axes and not new):
        schema = TAKE if arguments or named else CHECK
        arguments["num_subscripts"] = len(axes)
        (name,) = writer.call(node, schema, [name], named, arguments, 1, helper=bool(new))
    if new:
        letters = "".join(item[1] for item in made if item[0] == "new")
        more: dict[str, Any] = {"axes": new}
        if letters:
            more["new_axis_names"] = letters
        (name,) = writer.call(node, EXPAND, [name], [], more, 1)
    writer.alias(node, name)


def read_subscript(
    arguments: dict[str, Any], given: dict[str, Any]
) -> tuple[tuple[tuple[Any, ...], ...], tuple[Any, ...]]:
    """The items of a stored subscript, and what feeds those that are given per sample."""
    count = _count(arguments)
    known = {f"{field}_{axis}" for field in ("at", "lo", "hi", "step") for axis in range(count)}
    stray = ({*arguments, *given} - {"num_subscripts"}) - known
    if stray:
        raise OperatorValueError(f"there is no argument `{min(stray)}` on {count} axes")
    numbers: list[Any] = []

    def field(name: str) -> Any:
        if name in given:
            numbers.append(given[name])
            return GIVEN
        value = arguments.get(name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
            raise wrong_value(name, "an integer", repr(value))
        return value

    items: list[tuple[Any, ...]] = []
    for axis in range(count):
        at = field(f"at_{axis}")
        ends = [field(f"{name}_{axis}") for name in ("lo", "hi", "step")]
        if at is not None and any(end is not None for end in ends):
            raise OperatorValueError(f"axis {axis} has both an index and a range")
        if ends[2] == 0:
            raise OperatorValueError("the step of a range must not be 0")
        items.append(("range", *ends) if at is None else ("index", at))
    return tuple(items), tuple(numbers)


def read_check(arguments: dict[str, Any]) -> tuple[tuple[Any, ...], ...]:
    """The items of a subscript that takes everything."""
    return (_WHOLE,) * _count(arguments)


def read_new_axes(arguments: dict[str, Any]) -> tuple[tuple[Any, ...], ...]:
    """The items of a subscript that makes the axes of a stored ExpandDims."""
    axes = arguments.get("axes")
    axes = [axes] if isinstance(axes, int) else axes
    if not isinstance(axes, list) or not all(type(axis) is int for axis in axes):
        raise wrong_value("axes", "integers", repr(axes)[:80])
    if len({*axes}) < len(axes) or not all(0 <= axis < _MOST_AXES for axis in axes):
        raise wrong_value("axes", f"different numbers from 0 to {_MOST_AXES - 1}", repr(axes)[:80])
    letters = arguments.get("new_axis_names", "")
    if not isinstance(letters, str) or (letters and len(letters) != len(axes)):
        raise wrong_value("new_axis_names", f"{len(axes)} letters", repr(letters)[:80])
    names = dict(zip(axes, letters or [""] * len(axes), strict=True))
    last = max(axes, default=-1)
    return tuple(("new", names[i]) if i in names else _WHOLE for i in range(last + 1))


def _count(arguments: dict[str, Any]) -> int:
    count = arguments.get("num_subscripts")
    if type(count) is not int or not 1 <= count <= _MOST_AXES:
        raise wrong_value("num_subscripts", f"a number from 1 to {_MOST_AXES}", repr(count)[:80])
    return count
