"""Things by name, whose modules are imported when somebody asks for them: a program uses few of the
operators."""

from __future__ import annotations

import importlib
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from .lazy_names import found_at

if TYPE_CHECKING:
    from _collections_abc import dict_items, dict_keys, dict_values

__all__ = ["Declarations", "Modules", "Provider", "Registry"]

T = TypeVar("T")


class Provider(Protocol):
    """What puts values into a registry."""

    def names(self) -> Collection[str]:
        """The names of all that it can put there."""

    def provide(self, name: str) -> None:
        """Put the value of a name there, if there is one."""


class Modules:
    """Provides what modules put into a registry when they are imported.

    table: "package.module:name" of a function that returns all names and their modules. It is
    called when it is first needed, because it is in a higher layer.
    """

    def __init__(self, table: str) -> None:
        self._table = table
        self._known: Mapping[str, str] | None = None

    def names(self) -> Collection[str]:
        return self._places().keys()

    def provide(self, name: str) -> None:
        if name in self._places():
            importlib.import_module(self._places()[name])

    def _places(self) -> Mapping[str, str]:
        if self._known is None:
            self._known = found_at(self._table)()
        return self._known


class Registry(dict[str, T]):
    """Values by name. One that the provider knows of is there when it is first asked for; who goes
    through all of them gets all."""

    def __init__(self, provider: Provider) -> None:
        super().__init__()
        self._provider = provider

    def names(self) -> set[str]:
        """All names. Asking provides nothing."""
        return {*dict.keys(self), *self._provider.names()}

    def present(self, name: str) -> T | None:
        """The value of a name, if it is there. Asking provides nothing."""
        return dict.get(self, name)

    def __missing__(self, name: str) -> T:
        self._provider.provide(name)
        if not dict.__contains__(self, name):
            raise KeyError(name)
        return self[name]

    def get(self, name: str, default: Any = None) -> Any:
        """The value of a name, or `default`."""
        if not dict.__contains__(self, name):
            self._provider.provide(name)
        return dict.get(self, name, default)

    def __contains__(self, name: object) -> bool:
        return dict.__contains__(self, name) or name in self._provider.names()

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __len__(self) -> int:
        return len(self.keys())

    def keys(self) -> dict_keys[str, T]:
        return self._whole().keys()

    def values(self) -> dict_values[str, T]:
        return self._whole().values()

    def items(self) -> dict_items[str, T]:
        return self._whole().items()

    def _whole(self) -> dict[str, T]:
        """A copy of all: another thread may declare an operator while somebody goes through it."""
        provider = self._provider
        for name in provider.names():
            if not dict.__contains__(self, name):
                provider.provide(name)
        while True:
            try:
                return dict(list(dict.items(self)))
            except RuntimeError:  # it grew: garbage was collected meanwhile, and threads switched
                continue


class Declarations(Registry[T]):
    """A registry of what is not complete before the end of its module: an operator is put there
    first, then its rules are declared. Another thread that asks for one waits for its module."""

    def __getitem__(self, name: str) -> T:
        self._provider.provide(name)
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        """The value of a name, or `default`."""
        self._provider.provide(name)
        return dict.get(self, name, default)

    def _whole(self) -> dict[str, T]:
        for name in self._provider.names():
            self._provider.provide(name)
        return super()._whole()
