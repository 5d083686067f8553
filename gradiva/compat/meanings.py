"""What names in a script may mean, as far as the reader of scripts follows them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from gradiva.compat.conditions import value_of
from gradiva.compat.names import SOURCE, TARGET

__all__ = [
    "Call",
    "Factory",
    "Meaning",
    "Name",
    "Object",
    "Own",
    "OwnClass",
    "catches_imports",
    "imported_by_call",
    "is_ours",
    "is_super_init",
    "keywords_of",
    "stored_attributes",
]

_CATCH_IMPORTS = ("ImportError", "ModuleNotFoundError", "Exception", "BaseException")


@dataclass(frozen=True, slots=True)
class Name:
    """A name in DALI: a module, function, class or constant."""

    path: str


@dataclass(frozen=True, slots=True)
class Object:
    """What a call of the class `path` made."""

    path: str


@dataclass(slots=True)
class OwnClass:
    """A class of the script. pipeline: whether it is a kind of Pipeline."""

    pipeline: bool
    names: set[str]
    attributes: dict[str, Meaning] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Own:
    """An object of a class of the script, or the class."""

    kind: OwnClass
    is_class: bool


@dataclass(frozen=True, slots=True)
class Factory:
    """A function that pipeline_def decorates. own: its arguments; None if it takes any."""

    own: frozenset[str] | None


Meaning: TypeAlias = "Name | Object | Own | Factory | None"


@dataclass(frozen=True, slots=True)
class Call:
    """A call: its arguments by name, with their lines and values."""

    path: str
    line: int
    arguments: dict[str, tuple[int, Any]]
    own: frozenset[str] = frozenset()


def catches_imports(node: ast.Try) -> bool:
    """Whether a `try` goes on without what it could not import."""
    caught = {
        one.id
        for handler in node.handlers
        for one in ast.walk(handler.type or ast.Name("Exception"))
        if isinstance(one, ast.Name)
    }
    return not caught.isdisjoint(_CATCH_IMPORTS)


def imported_by_call(node: ast.Call) -> str | None:
    """The module of ours that `importlib.import_module("...")` imports."""
    if ast.unparse(node.func) in ("importlib.import_module", "import_module") and node.args:
        name = getattr(node.args[0], "value", None)
        return name if isinstance(name, str) and is_ours(name) else None
    return None


def keywords_of(node: ast.Call) -> dict[str, tuple[int, Any]]:
    """The lines and values of the arguments that a call gives by name (see `value_of`)."""
    return {
        one.arg: (one.value.lineno, value_of(one.value))
        for one in node.keywords
        if one.arg is not None
    }


def is_super_init(node: ast.expr) -> bool:
    """Whether a function that is called is `super().__init__`."""
    return (
        isinstance(node, ast.Attribute)
        and node.attr == "__init__"
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Name)
        and node.value.func.id == "super"
    )


def stored_attributes(tree: ast.AST) -> Iterator[str]:
    """All attributes that something is assigned to."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr


def is_ours(path: str) -> bool:
    """Whether a dotted name begins with DALI's, or with gradiva's."""
    return f"{path}.".startswith((f"{SOURCE}.", f"{TARGET}."))
