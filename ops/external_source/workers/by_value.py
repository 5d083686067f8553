"""Serializes functions with their code for worker processes, if they cannot be imported there."""

from __future__ import annotations

import builtins
import importlib
import inspect
import io
import marshal
import pickle
import sys
from collections.abc import Iterator
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any, TypeVar

from gradiva.eager.support.errors import OperatorTypeError, describe, user_location

__all__ = ["dumps", "loads", "pickle_by_value"]

F = TypeVar("F")

loads = pickle.loads


def pickle_by_value(fun: F) -> F:
    """Decorator: a function that goes to worker processes with its code, even though it could be
    imported; for modules that are not there. Lambdas and functions within functions do anyway.

    Raises OperatorTypeError for what is no function.
    """
    if not inspect.isfunction(fun):
        raise OperatorTypeError(
            operator="pickle_by_value",
            expected="a function",
            got=describe(fun),
            location=user_location(),
        )
    fun._gradiva_by_value = True  # type: ignore[attr-defined]
    return fun


def dumps(value: Any) -> bytes:
    """The bytes of an object. Functions and their variables are copied as they are now: later
    changes are local to each process. Raises what Python's pickle raises."""
    stream = io.BytesIO()
    _Pickler(stream).dump(value)
    return stream.getvalue()


class _Pickler(pickle.Pickler):
    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, FunctionType) and _goes_by_value(value):
            code = marshal.dumps(value.__code__)
            names = (value.__name__, value.__qualname__, value.__module__)
            given = (code, names, value.__closure__ or ())
            return _function, given, _state(value), None, None, _set
        if isinstance(value, CellType):
            return _cell, ()  # its contents come with its function, which may be among them
        if isinstance(value, ModuleType):
            return importlib.import_module, (value.__name__,)
        return NotImplemented


def _goes_by_value(function: FunctionType) -> bool:
    if getattr(function, "_gradiva_by_value", False):
        return True
    found: Any = sys.modules.get(function.__module__)
    for name in function.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is not function


def _state(function: FunctionType) -> tuple[Any, ...]:
    cells = function.__closure__ or ()
    filled = {place: cell.cell_contents for place, cell in enumerate(cells) if _is_filled(cell)}
    names = {name for name in _names(function.__code__) if name in function.__globals__}
    globals = {name: function.__globals__[name] for name in sorted(names)}
    attributes = function.__defaults__, function.__kwdefaults__, vars(function), function.__doc__
    return filled, globals, attributes


def _is_filled(cell: CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


def _names(code: CodeType) -> Iterator[str]:
    """The names that a code object, or one inside of it, may look up."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _cell() -> CellType:
    return CellType()


def _function(code: bytes, names: tuple[str, str, str], cells: tuple[CellType, ...]) -> Any:
    """A function without variables. `_set` adds them later: they may refer to the function
    itself."""
    name, qualified, module = names
    globals = {"__builtins__": builtins, "__name__": module}
    made = FunctionType(marshal.loads(code), globals, name, None, tuple(cells))
    made.__qualname__ = qualified
    return made


def _set(function: FunctionType, state: tuple[Any, ...]) -> None:
    filled, globals, (defaults, keywords, attributes, text) = state
    for place, value in filled.items():
        assert function.__closure__ is not None
        function.__closure__[place].cell_contents = value
    function.__globals__.update(globals)
    function.__defaults__, function.__kwdefaults__ = defaults, keywords
    function.__doc__ = text
    vars(function).update(attributes)
