"""What rewritten functions call instead of `if`, `and`, `or`, `not` and calls.

On ordinary values all of this does what Python does. On a symbol both sides are recorded, each in
its branch.
"""

from __future__ import annotations

import functools
import operator as python
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from gradiva.capture.graph.builtin_ops import constant
from gradiva.eager.operators.interpreter import current_interpreter
from gradiva.eager.support.errors import OperatorTypeError, annotate_error, describe, user_location
from gradiva.eager.types.dtypes import bool_
from gradiva.eager.values.random_origin import check_not_random
from gradiva.eager.values.value import Value
from gradiva.ops.math.truth import boolean, check_boolean, check_scalar
from gradiva.ops.math.truth import not_ as _not

from . import function_source
from .assignment_targets import AssignmentTarget
from .branches import Branch
from .data_node import DataNode
from .free_node import FreeNode
from .merging import NOTHING, UNDEFINED, DivergentError, Unusable, merge_values
from .recorder import Recorder

__all__ = [
    "NOTHING",
    "If",
    "and_",
    "call",
    "chain",
    "choose",
    "leave",
    "not_",
    "or_",
    "returned",
    "target",
    "use",
]

target = AssignmentTarget


def _is_symbolic(test: Any) -> bool:
    return isinstance(test, DataNode) and test.edge.node.operator is not constant


def _own(test: Any) -> Any:
    """The symbol of the graph that is recorded, for one that belongs to no pipeline yet."""
    recorder = current_interpreter()
    if isinstance(recorder, Recorder):
        return recorder.own(test)
    if isinstance(test, FreeNode):
        test._refuse("a condition on its samples, which takes a pipeline definition")
    return test


def _truth(test: Any) -> bool:
    """The truth of a value that is no symbol, or of a constant of the graph."""
    if isinstance(test, DataNode):
        with annotate_error("if"):
            check_scalar(test.type, "a condition")
        return bool(np.asarray(test.edge.node.attribute("value")))
    if isinstance(test, Value) and getattr(current_interpreter(), "symbolic", False):
        with annotate_error("if"):
            check_not_random(test)
    return bool(test)


def _sides(test: DataNode, what: str) -> tuple[Branch, Branch]:
    branches = test.recorder.branches
    with annotate_error(what):
        check_scalar(test.type, "a condition")
        return branches.sides(branches.bring(test.edge), user_location())


class If:
    """One `if` statement while it runs.

    targets: the variables that its branches assign to, with the lines where they do.
    first, second: whether to run the body and the other branch; both, on a symbol.
    """

    def __init__(self, test: Any, targets: tuple[AssignmentTarget, ...]) -> None:
        test = _own(test)
        self.symbolic = _is_symbolic(test)
        if not self.symbolic:
            self.first = _truth(test)
            self.second = not self.first
            return
        self.first = self.second = True
        self._recorder = test.recorder
        self._branches = _sides(test, "if")
        self._targets = targets
        self._before = [target.get() for target in targets]
        self._after: list[list[Any]] = []

    def branch(self, side: int) -> AbstractContextManager[None]:
        """What is called in the block is recorded in that branch."""
        return _Side(self, side) if self.symbolic else nullcontext()

    def _names(self, values: list[Any]) -> tuple[Any, ...]:
        """Put values back: into attributes and items here, into variables by the caller."""
        for target, value in zip(self._targets, values, strict=True):
            target.put(value)
        pairs = zip(self._targets, values, strict=True)
        return tuple(value for target, value in pairs if target.is_name)

    def before(self) -> tuple[Any, ...]:
        """The variables as they were before the `if`, for its second branch."""
        location = self._branches[0].location
        return self._names(
            [
                Unusable(f"`{target.name}` has no value here", location, undefined=True)
                if value is UNDEFINED and target.is_name
                else value
                for target, value in zip(self._targets, self._before, strict=True)
            ]
        )

    def merge(self) -> tuple[Any, ...]:
        """The variables after the `if`."""
        merged = map(self._merge, self._targets, *self._after)
        return self._names(list(merged))

    def _merge(self, target: AssignmentTarget, true: Any, false: Any) -> Any:
        location = self._branches[0].location
        name = target.name
        if isinstance(true, Unusable) or isinstance(false, Unusable):
            return true if isinstance(true, Unusable) else false
        if true is UNDEFINED or false is UNDEFINED:
            if true is false and not target.is_name:
                return UNDEFINED
            if true is false:
                return Unusable(
                    f"`{name}` has no value after this condition", location, undefined=True
                )
            side, line = (
                ("is not", target.lines[0]) if false is UNDEFINED else ("is", target.lines[1])
            )
            return Unusable(
                f"`{name}` has a value in one branch only ({_line(line)}); give it one where the "
                f"condition {side} true, or before",
                location,
            )
        if true is not false and (true is NOTHING or false is NOTHING):
            return Unusable(
                "one branch returns a value and the other one does not: return one in both",
                location,
            )
        try:
            return merge_values(true, false, self._branches, self._recorder)
        except DivergentError as error:
            return Unusable(
                f"`{name}{error.part}` ({_line(target.lines[0])}, and {_line(target.lines[1])} in "
                f"the other branch): {error.problem}",
                location,
                expected=error.expected,
                got=error.got,
            )


def _line(line: int | None) -> str:
    return "as before the `if`" if line is None else f"line {line}"


class _Side:
    """The block of one branch; when it ends well, the variables are noted."""

    def __init__(self, owner: If, side: int) -> None:
        self._owner = owner
        branches = owner._recorder.branches
        self._inside = branches.inside(owner._branches[side])

    def __enter__(self) -> None:
        self._inside.__enter__()

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self._inside.__exit__(kind, error, trace)
        if kind is None:
            self._owner._after.append([target.get() for target in self._owner._targets])


def use(value: Any) -> Any:
    """The value of a variable that an `if` may have left without one."""
    if isinstance(value, Unusable):
        value.refuse()
    return value


def returned(value: Any) -> Any:
    """What a function returns whose branches do."""
    value = use(value)
    return None if value is NOTHING else value


def leave(statement: str, *around: If) -> None:
    """Refuse `return`, `break` and `continue` where only some samples would take them."""
    if any(one.symbolic for one in around):
        raise OperatorTypeError(
            f"`{statement}` cannot leave this block for some of the samples only",
            operator="if",
            location=user_location(),
        )


def _boolean(value: Any, what: str) -> Any:
    """An operand of `and` or `or`: a bool, or a symbol of bools."""
    if isinstance(value, DataNode):
        with annotate_error(what):
            check_boolean(value.type, f"an operand of `{what}`")
        known = value.type.dtype is bool_ and value.type.ndim == 0
        return value if known else boolean(value)
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise OperatorTypeError(
        f"an operand of `{what}` is a bool per sample",
        operator=what,
        expected="bool",
        got=describe(value),
        location=user_location(),
    )


def _pick(test: DataNode, true: Callable[[], Any], false: Callable[[], Any], what: str) -> Any:
    """Both sides, each in its branch, as one value."""
    test = _own(test)
    recorder, sides = test.recorder, _sides(test, what)
    found = []
    for branch, make in zip(sides, (true, false), strict=True):
        with recorder.branches.inside(branch):
            found.append(make())
    try:
        return merge_values(found[0], found[1], sides, recorder)
    except DivergentError as error:
        raise OperatorTypeError(
            f"the two values: {error.problem}"
            if not error.part
            else f"the two values at {error.part}: {error.problem}",
            operator=what,
            expected=error.expected,
            got=error.got,
            location=user_location(),
        ) from None


def and_(left: Any, right: Callable[[], Any]) -> Any:
    """`left and right`; on symbols, `right` only for the samples that need it."""
    if not _is_symbolic(left):
        return right() if _truth(left) else left
    return _pick(_boolean(left, "and"), lambda: _boolean(right(), "and"), lambda: False, "and")


def or_(left: Any, right: Callable[[], Any]) -> Any:
    """`left or right`; on symbols, `right` only for the samples that need it."""
    if not _is_symbolic(left):
        return left if _truth(left) else right()
    return _pick(_boolean(left, "or"), lambda: True, lambda: _boolean(right(), "or"), "or")


def not_(value: Any) -> Any:
    """`not value`."""
    return _not(value) if isinstance(value, DataNode) else not _truth(value)


def choose(test: Any, true: Callable[[], Any], false: Callable[[], Any]) -> Any:
    """`true if test else false`."""
    if not _is_symbolic(test):
        return true() if _truth(test) else false()
    return _pick(test, true, false, "if")


_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "Eq": python.eq,
    "NotEq": python.ne,
    "Lt": python.lt,
    "LtE": python.le,
    "Gt": python.gt,
    "GtE": python.ge,
    "Is": python.is_,
    "IsNot": python.is_not,
    "In": lambda a, b: a in b,
    "NotIn": lambda a, b: a not in b,
}


def chain(left: Any, *steps: tuple[str, Callable[[], Any]]) -> Any:
    """`a < b < c`: each operand is evaluated once, and only where it is needed."""
    (name, make), *more = steps
    right = make()
    result = _COMPARISONS[name](left, right)
    return and_(result, lambda: chain(right, *more)) if more else result


_CALL = "__call__"


def _converted(function: FunctionType) -> FunctionType:
    """The function rewritten, so that it calls this module."""
    return function_source.converted(function, sys.modules[__name__])


def call(function: Any) -> Any:
    """What to call instead of a function: a function of the user's, rewritten too."""
    if isinstance(function, FunctionType):
        return _converted(function)
    if isinstance(function, MethodType):
        inner = function.__func__
        if isinstance(inner, FunctionType) and not isinstance(function.__self__, DataNode):
            return MethodType(_converted(inner), function.__self__)
        return function
    if isinstance(function, functools.partial):
        return functools.partial(call(function.func), *function.args, **function.keywords)
    if function is map or function is filter:
        return lambda first, *rest: function(call(first), *rest)
    if not isinstance(function, type):
        method = getattr(type(function), _CALL, None)
        if isinstance(method, FunctionType) and function_source.is_users(method):
            return MethodType(_converted(method), function)
    return function
