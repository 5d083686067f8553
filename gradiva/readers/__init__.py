"""Readers of dynamic mode: objects that are looped over, epoch by epoch."""

from typing import NoReturn as _NoReturn

from gradiva.ops.class_names import waiting as _waiting
from gradiva.ops.readers.file import File

__all__ = ["File"]


def __getattr__(name: str) -> _NoReturn:
    if f"readers.{name}" in _waiting:
        raise AttributeError(
            f"gradiva.readers.{name} is not there yet: this version of gradiva reads with "
            "readers.File, or from a Python source with ExternalSource"
        )
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
