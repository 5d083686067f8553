"""Functions with conditions on x and y, one value per sample, which are also ordinary Python: what
a pipeline must give for a sample is what the function gives for its numbers."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

__all__ = ["FORMS", "OURS"]

FORMS: dict[str, Callable[[Any, Any], Any]] = {}
"""Those that DALI takes too."""
OURS: dict[str, Callable[[Any, Any], Any]] = {}
"""Those that only gradiva takes."""

LIMIT = 2


def form(function: Any) -> Any:
    FORMS[function.__name__] = function
    return function


def ours(function: Any) -> Any:
    OURS[function.__name__] = function
    return function


@form
def one_branch(x: Any, y: Any) -> Any:
    if x > y:
        x = x + 10
    return x


@form
def two_branches(x: Any, y: Any) -> Any:
    if x > y:
        z = x + 10
    else:
        z = y * 3
    return z


@form
def constants(x: Any, y: Any) -> Any:
    if x > y:
        z = 1
    else:
        z = 2
    return z + x


@form
def constant_and_value(x: Any, y: Any) -> Any:
    z = 7
    if x > 1:
        z = y
    return z, x


@form
def chain_of_elif(x: Any, y: Any) -> Any:
    if x == 0:
        y = y + 1
    elif x == 1:
        y = y + 10
    elif x == 2:
        y = y + 100
    else:
        y = y + 1000
    return y


@form
def numbers_as_conditions(x: Any, y: Any) -> Any:
    if x:
        y = y + 5
    if not y:
        x = x + 50
    return x, y


@form
def three_deep(x: Any, y: Any) -> Any:
    z = x - y
    if x > 1:
        if y > 1:
            if x > y:
                z = z * 2
            else:
                z = z * 3
            y = y + z
        else:
            z = x
    elif y > 2:
        z = y * x + z
    return z, y


@form
def logic(x: Any, y: Any) -> Any:
    a = x > 1 and y > 1
    b = x > 1 or y > 1
    c = not (x > 1 and not y > 1)
    d = (x > 0 and y > 0 and x != y) or x == 2
    return a, b, c, d


@form
def logic_with_constants(x: Any, y: Any) -> Any:
    return x > 1 and True, x > 1 or False, True and y > 1, False or y > 1


@form
def chained_comparison(x: Any, y: Any) -> Any:
    if 0 < x <= y < 3:
        x = x * 10
    return x, 0 <= x != y


@form
def condition_of_logic(x: Any, y: Any) -> Any:
    if x > 1 and (y > 1 or x == 3):
        x = x + y
    return x


@form
def nested_containers(x: Any, y: Any) -> Any:
    if x > y:
        found = (x, {"a": [y + 1, 3], "b": (x,)})
    else:
        found = (x * 10, {"a": [y * 100, 4], "b": (y,)})
    inner: Any = found[1]
    return found[0], inner["a"][0], inner["a"][1], inner["b"][0]


@form
def returns_in_both(x: Any, y: Any) -> Any:
    if x > y:
        return x, y
    else:
        return y * 10, x


@form
def returns_early(x: Any, y: Any) -> Any:
    if x > y:
        return x
    y = y + 1
    return y * 10


@form
def returns_from_helpers(x: Any, y: Any) -> Any:
    return _larger(x, y) + _larger(y, LIMIT), _recursive(x, 3)


def _larger(a: Any, b: Any) -> Any:
    if a > b:
        return a
    return b


def _recursive(value: Any, depth: int) -> Any:
    if depth == 0:
        return value
    if value > depth:
        value = value - depth
    return _recursive(value, depth - 1)


@form
def in_a_loop(x: Any, y: Any) -> Any:
    for k in range(4):
        if x > k:
            y = y + k
        else:
            x = x + 1
    return x, y


@form
def continues(x: Any, y: Any) -> Any:
    for k in range(3):
        if x > k:
            continue
        if k == 1:
            continue
        y = y + x - k
    return y


@form
def ordinary_conditions(x: Any, y: Any) -> Any:
    flag, nothing = True, None
    if flag and not nothing:
        z = x
    else:
        raise AssertionError("never")
    if nothing is not None and nothing > x:
        z = y
    for k in range(5):
        if k == 3:
            break
        z = z + (k if k % 2 else 10)
    while flag:
        flag = False
    return z


@form
def temporaries(x: Any, y: Any) -> Any:
    if x > y:
        t = x * 2
        t = t + 1
        z = t
    else:
        u = (y, y)
        z = u[0] - 1
    return z


@form
def updates_in_place(x: Any, y: Any) -> Any:
    z = 1
    if x > 1:
        z += x
        x -= 1
    else:
        z *= 4
    return z, x


@form
def closures(x: Any, y: Any) -> Any:
    offset = 5

    def inner(value: Any, more: Any = 2) -> Any:
        if value > x:
            return value + offset
        return value * more

    add: Any = lambda value: inner(value) + offset  # noqa: E731
    return inner(y), add(y), functools.partial(inner, more=7)(y), next(iter(map(inner, [y])))


class _Scaler:
    def __init__(self, factor: int) -> None:
        self.factor = factor
        self.__secret = 3

    def scaled(self, value: Any) -> Any:
        if value > 1:
            return value * self.factor
        return value + self.__secret

    def __call__(self, value: Any) -> Any:
        if value > 2:
            value = self.scaled(value)
        return value

    @staticmethod
    def least(a: Any, b: Any) -> Any:
        if a < b:
            return a
        return b

    @classmethod
    def made(cls, a: Any, b: Any) -> Any:
        if a < b:
            a = cls(4).scaled(a)
        return a


class _Shifted(_Scaler):
    def scaled(self, value: Any) -> Any:
        if value > 2:
            value = value + 1
        return super().scaled(value)


@ours  # DALI leaves one of these as it is
def methods(x: Any, y: Any) -> Any:
    scaler = _Scaler(3)
    shifted = _Shifted(5)
    return (scaler.scaled(x), scaler(y), shifted.scaled(x), _Scaler.least(x, y), _Scaler.made(x, y))


class _Box:
    value: Any


@form
def attributes_and_items(x: Any, y: Any) -> Any:
    box, table = _Box(), {"k": x}
    box.value = y
    if x > y:
        box.value = x + 10
        table["k"] = y + 20
    else:
        table["k"] = table["k"] + box.value
    return box.value, table["k"]


def _doubled(function: Any) -> Any:
    @functools.wraps(function)
    def wrapper(*args: Any) -> Any:
        result = function(*args)
        if args[0] > 1:
            result = result * 2
        return result

    return wrapper


@_doubled
def _decorated(a: Any, b: Any) -> Any:
    if a > b:
        a = a + 100
    return a


@form
def decorators(x: Any, y: Any) -> Any:
    return _decorated(x, y)


@form
def blocks(x: Any, y: Any) -> Any:
    try:
        if x > y:
            x = x + 1
    finally:
        y = y + 1
    return x, y


@ours
def expressions(x: Any, y: Any) -> Any:
    z = x if x > y else y * 2
    two = [x + k if x > k else y for k in range(2)]
    return z, (1 if x > 2 else 4 if y > 1 else 5), two[0], two[1]


@ours
def returns_deep(x: Any, y: Any) -> Any:
    if x > 0:
        if y > 1:
            return x * 2
        x = x + 5
    if x > 6:
        return x
    return x * 3 + y


class _Pair(NamedTuple):
    first: Any
    second: Any


@ours
def named_tuples(x: Any, y: Any) -> Any:
    if x > y:
        pair = _Pair(x, "name")
    else:
        pair = _Pair(y + 1, "name")
    assert pair.second == "name"
    return pair.first


@ours
def same_constants(x: Any, y: Any) -> Any:
    if x > y:
        mode, x = "fast", x + 1
    else:
        mode, x = "fast", x + 2
    if mode == "fast":
        x = x * 2
    return x


@ours
def deletes(x: Any, y: Any) -> Any:
    z = x
    if x > y:
        w = z + 1
        del z
    else:
        w = y
    return w
