"""What decides about the values that operators compute: the code of gradiva; of the operators of a
user their code, the functions of the user that it calls, and the values that it reads from modules
and closures."""

from __future__ import annotations

import inspect
import pickle
import sys
import types
import uuid
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache, partial
from hashlib import blake2b
from pathlib import Path
from typing import Any

from gradiva.eager.operators.operator import OperatorBase
from gradiva.eager.schedules.rules import digest_of_code
from gradiva.eager.support.lazy_import import lazy_module

metadata = lazy_module("importlib.metadata")


def code_of(operators: Iterable[OperatorBase]) -> list[str]:
    """The version of gradiva, and digests of its code and of that of operators from outside."""
    own = sorted({code_of_operator(one) for one in set(operators)})
    return [_version(), _inside(), *filter(None, own)]


def _version() -> str:
    try:
        return str(metadata.version("gradiva"))
    except metadata.PackageNotFoundError:
        return ""


@cache
def _inside() -> str:
    """A digest of the files with the code of operators: someone who edits one gets misses."""
    digest = blake2b(digest_size=16)
    for package in ("gradiva.eager", "gradiva.ops"):
        folder = Path(inspect.getfile(sys.modules[package])).parent
        for path in sorted(folder.rglob("*.py")):
            digest.update(str(path.relative_to(folder)).encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


def code_of_function(function: Any) -> str:
    """A digest of the code of a function, and of the values that it reads."""
    visitor = _Visitor()
    visitor.visit(function)
    return blake2b(repr(visitor.parts).encode(), digest_size=8).hexdigest()


digest_of_code.fill(code_of_function)


def code_of_operator(operator: OperatorBase) -> str:
    """A digest of the code of an operator that is no part of gradiva; "" for one that is.

    It covers the file, and the code that is loaded: a file may have been edited since then, and the
    cell of a notebook has none.
    """
    if operator.infer.__module__.startswith("gradiva."):
        return ""
    visitor = _Visitor()
    visitor.operator(operator)
    digest = blake2b(repr(visitor.parts).encode(), digest_size=16)
    with suppress(OSError, TypeError):  # of the cell of a notebook
        digest.update(Path(inspect.getfile(operator.infer)).read_bytes())
    return digest.hexdigest()


class _Visitor:
    """Collects the code and the values that functions depend on."""

    def __init__(self) -> None:
        self.parts: list[Any] = []
        self._seen: dict[int, Any] = {}
        """By number, what was visited; it is kept, so that no number is given again."""

    def operator(self, operator: OperatorBase) -> None:
        rules = (operator.infer, operator.shape_rule, operator.view_rule, operator.decomposition)
        self._all((*rules, operator.kernels, operator.fusion_role))

    def visit(self, value: Any) -> None:
        """Add what decides about a value."""
        if value is None or isinstance(value, bool | int | float | complex | str | bytes):
            self.parts.append(value)
            return
        if id(value) in self._seen:
            return
        self._seen[id(value)] = value
        if isinstance(value, OperatorBase):
            if not _is_library(value.infer.__module__):
                self.operator(value)
        elif isinstance(value, types.FunctionType):
            self._function(value)
        elif isinstance(value, partial):
            self._all((value.func, value.args, value.keywords))
        elif isinstance(value, types.MethodType):
            self._all((value.__func__, value.__self__))
        elif isinstance(getattr(value, "py_func", None), types.FunctionType):  # of Numba
            self.visit(value.py_func)
        elif isinstance(value, dict):
            self._all(part for item in value.items() for part in item)
        elif isinstance(value, list | tuple):
            self._all(value)
        elif isinstance(value, set | frozenset):
            self._all(sorted(value, key=repr))
        elif isinstance(value, type):
            self._class(value)
        elif not isinstance(value, types.ModuleType | types.BuiltinFunctionType):
            self._object(value)

    def _all(self, values: Iterable[Any]) -> None:
        for value in values:
            self.visit(value)

    def _function(self, function: types.FunctionType) -> None:
        for cell in function.__closure__ or ():
            with suppress(ValueError):  # of one that has no value yet
                self.visit(cell.cell_contents)
        self._all((function.__defaults__, function.__kwdefaults__))
        self._all([getattr(function, "__wrapped__", None)])
        if _is_library(function.__module__):
            self.parts.append((function.__module__, function.__qualname__))
            return
        self.parts.append(_code(function.__code__))
        names = sorted(set(_names(function.__code__)))
        for name in names:
            if name not in function.__globals__:
                continue
            value = function.__globals__[name]
            self.visit(value)
            if isinstance(value, types.ModuleType) and not _is_library(value.__name__):
                self._all(vars(value)[one] for one in names if one in vars(value))

    def _class(self, kind: type) -> None:
        self.parts.append((kind.__module__, kind.__qualname__))
        if not _is_library(kind.__module__):
            self._all(kind.__bases__)
            members = (getattr(one, "__func__", one) for one in vars(kind).values())
            self._all(one for one in members if isinstance(one, types.FunctionType))

    def _object(self, value: Any) -> None:
        self.visit(type(value))
        if type(value).__module__.startswith("gradiva."):
            fields = [getattr(value, name, None) for name in _slots(value)]
            self._all(one for one in fields if callable(one) or isinstance(one, tuple))
            return
        try:
            self.parts.append(pickle.dumps(value))
        except Exception:  # noqa: BLE001  # of any kind; whether the value changes is not known
            self.parts.append(uuid.uuid4().hex)


def _slots(value: Any) -> list[str]:
    slots = [name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())]
    return sorted({*getattr(value, "__dict__", ()), *slots})


def _names(code: types.CodeType) -> Iterator[str]:
    """The names that a function uses, also in functions inside of it."""
    yield from code.co_names
    for one in code.co_consts:
        if isinstance(one, types.CodeType):
            yield from _names(one)


def _code(code: types.CodeType) -> tuple[Any, ...]:
    """What a function does, without its place in a file. `marshal` writes the same code in
    different ways."""
    counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    handlers = getattr(code, "co_exceptiontable", b"")
    return code.co_code, handlers, counts, names, tuple(map(_constant, code.co_consts))


def _constant(value: Any) -> Any:
    if isinstance(value, types.CodeType):
        return _code(value)
    if isinstance(value, tuple):
        return tuple(map(_constant, value))
    return sorted(map(repr, value)) if isinstance(value, frozenset) else value


def _is_library(module: str | None) -> bool:
    """Whether a module is part of gradiva, of another installed package, or of Python."""
    name = (module or "").partition(".")[0]
    if name in ("gradiva", "builtins") or name in sys.stdlib_module_names - {"__main__"}:
        return True
    file = getattr(sys.modules.get(name), "__file__", None)
    return file is not None and not {"site-packages", "dist-packages"}.isdisjoint(Path(file).parts)
