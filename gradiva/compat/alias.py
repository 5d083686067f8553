"""`nvidia.dali` served by gradiva, in the process that asks for it.

A finder in `sys.meta_path` answers for `nvidia.dali` and all below it with gradiva's own module
objects: `nvidia.dali.fn is gradiva.fn`. `nvidia.dali` itself is a module of its own that holds
gradiva's names, for its `__version__` is that of the library whose names they are. `nvidia` may
have other parts (nvidia.cudnn, ...): they stay what they are.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import os
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import gradiva
from gradiva.compat import child_processes
from gradiva.compat.dali.facts import VERSION
from gradiva.compat.names import SOURCE, TARGET, reason_for, said_of
from gradiva.compat.old_paths import SameModule
from gradiva.eager.support.errors import OperatorRuntimeError, user_location

__all__ = ["install", "installed", "uninstall"]

_NAMESPACE = SOURCE.partition(".")[0]


def install() -> None:
    """Serve `nvidia.dali` and its modules from gradiva, in this process and in those that
    multiprocessing starts from it.

    Calling it again changes nothing. Raises OperatorRuntimeError if the real package is loaded
    already: its modules would be mixed with gradiva's.
    """
    loaded = sys.modules.get(SOURCE)
    if loaded is not None and not isinstance(loaded, _Root):
        raise OperatorRuntimeError(
            f"the real {SOURCE} is loaded already, from {getattr(loaded, '__file__', None)}: call "
            "gradiva.compat.install() before anything imports it, or run the script by "
            "`gradiva run`",
            operator="compat.install",
            location=user_location(),
        )
    if not installed():
        sys.meta_path.insert(0, _FIRST)
        sys.meta_path.append(_LAST)
    child_processes.start()


def installed() -> bool:
    """Whether `nvidia.dali` is served by gradiva in this process."""
    return _FIRST in sys.meta_path


def uninstall() -> None:
    """Undo `install`. What was imported meanwhile stays where it is bound."""
    child_processes.stop()
    for finder in (_FIRST, _LAST):
        if finder in sys.meta_path:
            sys.meta_path.remove(finder)
    if isinstance(sys.modules.get(SOURCE), _Root):
        for name in [name for name in sys.modules if f"{name}.".startswith(f"{SOURCE}.")]:
            del sys.modules[name]
        namespace = sys.modules.get(_NAMESPACE)
        if isinstance(getattr(namespace, "dali", None), _Root):
            del namespace.dali  # type: ignore[union-attr]
        if _is_empty(namespace):
            del sys.modules[_NAMESPACE]


class _Root(ModuleType):
    """`nvidia.dali`: gradiva's names, and the version of the library that they are of."""

    def __getattr__(self, name: str) -> Any:
        try:
            return getattr(gradiva, name)
        except AttributeError:
            why = reason_for(f"{SOURCE}.{name}")
            raise AttributeError(
                f"module {SOURCE!r} has no attribute {name!r}{f': {why}' if why else ''}"
            ) from None

    def __dir__(self) -> list[str]:
        return sorted({*dir(gradiva), *vars(self)})


class _EmptyLoader(importlib.abc.Loader):
    """Of `nvidia`, where no part of it is installed."""

    def exec_module(self, module: ModuleType) -> None:
        """Nothing: it has no code."""


def _is_empty(module: ModuleType | None) -> bool:
    return isinstance(getattr(module, "__loader__", None), _EmptyLoader)


class _RootLoader(importlib.abc.Loader):
    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return _Root(spec.name, gradiva.__doc__)

    def exec_module(self, module: ModuleType) -> None:
        names = [name for name in dir(gradiva) if not name.startswith("_")]
        vars(module).update(__version__=VERSION, __file__=gradiva.__file__, __all__=names)


class _First(importlib.abc.MetaPathFinder):
    """Answers before all others for `nvidia.dali` and what is below it."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname == SOURCE:
            spec = importlib.machinery.ModuleSpec(SOURCE, _RootLoader(), is_package=True)
            spec.submodule_search_locations = list(gradiva.__path__)
            return spec
        if not fullname.startswith(f"{SOURCE}."):
            return None
        # `importlib.util.find_spec` asks whether there is one. An import is answered by its loader.
        loader: Any = SameModule(_ours_or_error)
        if sys._getframe(2).f_code.co_name == "_find_and_load_unlocked":
            return importlib.machinery.ModuleSpec(fullname, loader)
        module = _ours(fullname)
        if module is None:
            return None
        is_package = hasattr(module, "__path__")
        return importlib.machinery.ModuleSpec(fullname, loader, is_package=is_package)


class _Last(importlib.abc.MetaPathFinder):
    """Answers for what nobody else has: `nvidia` where none of its parts is installed; parts of it
    that are installed later; and `from nvidia.dali.fn import NAME`, where the name is not there."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname == _NAMESPACE:
            return importlib.machinery.ModuleSpec(fullname, _EmptyLoader(), is_package=True)
        namespace, _, rest = fullname.partition(".")
        if namespace == _NAMESPACE and "." not in rest and _is_empty(sys.modules.get(namespace)):
            folders = [os.path.join(folder or os.curdir, _NAMESPACE) for folder in sys.path]
            return importlib.machinery.PathFinder.find_spec(fullname, folders)
        if namespace == TARGET:
            # The machinery asks for a module gradiva.fn.NAME before it says that there is no such
            # name. Its own text would say that and no more.
            package, _, last = fullname.rpartition(".")
            why = said_of(sys.modules.get(package), last)
            if why is not None:
                alias = SOURCE + fullname.removeprefix(TARGET)
                raise ModuleNotFoundError(f"cannot import {alias}: {why}", name=alias)
        return None


def _ours_or_error(alias: str) -> ModuleType:
    module = _ours(alias)
    if module is None:
        why = reason_for(alias)
        raise ModuleNotFoundError(
            f"No module named {alias!r} in gradiva{f': {why}' if why else ''}", name=alias
        )
    return module


def _ours(alias: str) -> ModuleType | None:
    """gradiva's module for `nvidia.dali` or one in it, or None. An error inside of it passes."""
    name = TARGET + alias.removeprefix(SOURCE)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        lacking = error.name or ""
        if not f"{name}.".startswith(f"{lacking}.") and not f"{alias}.".startswith(f"{lacking}."):
            raise
    package, _, last = alias.rpartition(".")
    outer = _ours(package) if alias != SOURCE else None
    found = getattr(outer, last, None)
    return found if isinstance(found, ModuleType) else None


_FIRST, _LAST = _First(), _Last()
