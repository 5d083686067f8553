"""Bridges to other libraries, each loaded when it is imported or asked for."""

import importlib
from typing import Any

_BRIDGES = ("base_iterator", "numba", "numpy", "pytorch", "triton")


def __getattr__(name: str) -> Any:
    if name in _BRIDGES:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *_BRIDGES]
