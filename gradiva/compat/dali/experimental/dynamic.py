"""Dynamic mode under the module name that scripts import: all names of `gradiva` itself."""

import importlib
from typing import Any

__path__: list[str] = []  # so that modules below it are looked for: gradiva.compat finds them


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module("gradiva"), name)


def __dir__() -> list[str]:
    return [name for name in dir(importlib.import_module("gradiva")) if not name.startswith("_")]
