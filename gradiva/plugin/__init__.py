"""Bridges to other libraries, each loaded when it is imported or asked for."""

from importlib import import_module as _import_module
from typing import Any as _Any

_BRIDGES = (
    *("base_iterator", "huggingface", "jax", "mxnet", "numba", "numpy", "paddle", "pytorch", "ray"),
    *("row_source", "tf", "triton"),
)


def __getattr__(name: str) -> _Any:
    if name in _BRIDGES:
        return _import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *_BRIDGES]
