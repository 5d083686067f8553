"""The class spelling of operators, `gradiva.ops.Resize(size=...)(images)`.

The classes are made from the operators by a higher room (`gradiva/namespaces/op_classes.py`), which
puts them here; the packages of this room hand them out as their attributes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

classes: dict[str, Any] = {}
"""Classes by name: "Resize", "decoders.Image", ..."""


waiting: dict[str, str] = {}
"""Names of classes that are not there yet, and what they wait for."""


def attributes_of(
    package: str, names: dict[str, Any]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package, "" for the outermost, whose globals are `names`."""
    prefix = f"{package}." if package else ""

    def get(name: str) -> Any:
        try:
            return classes[prefix + name]
        except KeyError:
            where = f"gradiva.ops.{package}" if package else "gradiva.ops"
            reason = waiting.get(prefix + name)
            if reason is not None:
                raise AttributeError(
                    f"{where}.{name} is not there yet: it waits for {reason}"
                ) from None
            raise AttributeError(f"module {where!r} has no attribute {name!r}") from None

    def names_of() -> list[str]:
        own = {name.removeprefix(prefix) for name in classes if name.startswith(prefix)}
        return sorted({*names, *(name for name in own if "." not in name)})

    return get, names_of
