"""What names in a script may mean, as far as the reader of scripts follows them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

__all__ = ["Call", "Factory", "Meaning", "Name", "Object", "Own", "OwnClass"]


@dataclass(frozen=True, slots=True)
class Name:
    """A name in the reference: a module, function, class or constant."""

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
    """A call: its arguments by name, with their values where those stand in the script."""

    path: str
    line: int
    arguments: dict[str, tuple[int, Any]]
    own: frozenset[str] = frozenset()
