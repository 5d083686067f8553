"""The class spelling of operators, `gradiva.ops.Resize(size=...)(images)`.

The classes are made from the operators by `op_classes.py`, each when it is first asked for. The
packages in `gradiva.ops` have them as their attributes, which `compat/old_paths.py` adds.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from gradiva.compat.aliases import CLASS_PACKAGES
from gradiva.eager.support.lazy_import import lazy_module
from gradiva.eager.support.registry import Registry

__all__ = ["PACKAGES", "attributes_of", "classes"]

classes: Registry[Any] = Registry(lazy_module("gradiva.compat.dali.op_classes"))
"""Classes by name: "Resize", "decoders.Image", ..."""

PACKAGES = CLASS_PACKAGES[1:]
"""The packages of classes."""


def attributes_of(
    package: str, names: dict[str, Any]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package, "" for the outermost, whose globals are `names`."""
    prefix = f"{package}." if package else ""
    where = f"gradiva.ops.{package}".rstrip(".")

    def get(name: str) -> Any:
        if prefix + name in PACKAGES:
            return importlib.import_module(f"{where}.{name}")
        # Names of classes begin so. Python asks for others before it looks for a module.
        if name[:1].isupper():
            found = classes.get(prefix + name)
            if found is not None:
                return found
        raise AttributeError(f"module {where!r} has no attribute {name!r}")

    def names_of() -> list[str]:
        inside = {*classes.names(), *PACKAGES}
        own = {name.removeprefix(prefix) for name in inside if name.startswith(prefix)}
        return sorted({*names, *(name for name in own if "." not in name)})

    return get, names_of
