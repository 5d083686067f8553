"""The import paths that DALI's scripts and older programs use, where gradiva has another module.

A finder in `sys.meta_path` answers for them with the module itself: `import gradiva.backend` gives
`gradiva.compat.dali.backend`, which is then one module under two names. It also gives the classes
of operators (`compat/dali/class_names.py`) to the packages in `gradiva.ops`.
"""

from __future__ import annotations

import importlib
import os
import sys
from importlib.machinery import ModuleSpec, PathFinder

from gradiva.compat.aliases import ALIASES, CLASS_PACKAGES
from gradiva.eager.support.lazy_names import no_attribute

TYPE_CHECKING = False  # importing `typing` takes longer than all of this
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import CodeType, ModuleType
    from typing import Any, ClassVar

__all__ = ["SameModule", "attributes", "install", "real_name"]

_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))


def install() -> None:
    """Serve the old paths, in this process."""
    if _FINDER not in sys.meta_path:
        # It comes first: a folder that an older version has left would be a namespace package.
        sys.meta_path.insert(0, _FINDER)


def real_name(name: str) -> str | None:
    """The name of the module that an old path stands for; None for all other names."""
    package, inside = name, ""
    while package:
        if package in ALIASES:
            return ALIASES[package] + inside
        package, _, last = package.rpartition(".")
        inside = f".{last}{inside}"
    return None


def attributes(package: str) -> Callable[[str], Any]:
    """`__getattr__` of a package, for old paths that it does not list as its own names."""

    def get(name: str) -> Any:
        if f"{package}.{name}" in ALIASES:
            return importlib.import_module(f"{package}.{name}")
        raise no_attribute(package, name)

    return get


class SameModule:
    """A loader that gives an existing module under another name.

    find: imports the module of this name, and returns it. That is done here, and not by a finder:
    Python holds a lock for all imports while it asks a finder, and an import within would wait for
    other threads that wait for that lock.
    """

    _specs: ClassVar[dict[str, ModuleSpec]] = {}
    """Of the modules, by their own names."""

    def __init__(self, find: Callable[[str], ModuleType] = importlib.import_module) -> None:
        self._find = find

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The module itself, so that no thread ever sees another one under this name."""
        module = self._find(real_name(spec.name) or spec.name)
        own = module.__spec__
        if own is not None and own.name == module.__name__:
            self._specs[own.name] = own  # it is another one while a second thread does the same
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Undo the only thing that the import system does to the module: it has given it the spec
        of the other name."""
        module.__spec__ = self._specs[module.__name__]

    def get_code(self, name: str) -> CodeType | None:
        """The code of the module, for `python -m`."""
        module = self._find(real_name(name) or name)
        loader: Any = module.__loader__
        code: CodeType | None = loader.get_code(module.__name__)
        return code


class _WithClasses:
    """The loader of a package of operators, which gives it the classes of operators, too."""

    def __init__(self, loader: Any, package: str) -> None:
        self._loader, self._package = loader, package

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        names = vars(module)

        def functions() -> Any:
            class_names = importlib.import_module("gradiva.compat.dali.class_names")
            return class_names.attributes_of(self._package, names)

        def get(name: str) -> Any:
            return functions()[0](name)

        def every() -> list[str]:
            found: list[str] = functions()[1]()
            return found

        names.update(__getattr__=get, __dir__=every)


class _ClassesOnly:
    """The loader of a package without a file: there are classes in it, and no operators."""

    def create_module(self, spec: ModuleSpec) -> None:
        """A plain module."""

    def exec_module(self, module: ModuleType) -> None:
        module.__doc__ = "Classes of operators; the operators themselves are in other packages."


class _Finder:
    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not name.startswith("gradiva."):
            return None
        real = real_name(name)
        if real is not None:
            return _alias(name, real)
        if name.startswith("gradiva.ops") and name[12:] in CLASS_PACKAGES:
            spec = PathFinder.find_spec(name, path)
            own: Any = _ClassesOnly()
            if spec is None or not spec.has_location:  # there may be a folder of stub files
                spec = ModuleSpec(name, own, is_package=True)
            loader: Any = _WithClasses(spec.loader, name[12:])
            spec.loader = loader
            return spec
        return None


def _alias(name: str, real: str) -> ModuleSpec | None:
    if name not in ALIASES:  # it is in a package that has been imported under both names
        package = sys.modules.get(real.rpartition(".")[0])
        if PathFinder.find_spec(real, getattr(package, "__path__", [])) is None:
            return None
    loader: Any = SameModule()
    return ModuleSpec(name, loader, is_package=os.path.isdir(os.path.join(_ROOT, *real.split("."))))


_FINDER: Any = _Finder()
