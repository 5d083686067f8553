"""Loading plugins of native code: refused, with what to do instead."""

from __future__ import annotations

import os
from typing import NoReturn

from gradiva.eager.support.errors import OperatorRuntimeError, user_location

__all__ = ["load_directory", "load_library"]

_INSTEAD = (
    "operators that were compiled for another library cannot be loaded: gradiva has no interface "
    "for native plugins. Write the operator as a function for gradiva.python_function or "
    "gradiva.plugin.numba.fn.numba_function, or as an operator of your "
    "own: help(gradiva.extension)"
)


def load_library(library_path: str | os.PathLike[str], global_symbols: bool = False) -> NoReturn:
    """Raises OperatorRuntimeError: there are no native plugins."""
    raise OperatorRuntimeError(
        f"{os.fspath(library_path)}: {_INSTEAD}",
        operator="plugin_manager.load_library",
        location=user_location(),
    )


def load_directory(
    plugin_dir_path: str | os.PathLike[str], global_symbols: bool = False
) -> NoReturn:
    """Raises OperatorRuntimeError: there are no native plugins."""
    raise OperatorRuntimeError(
        f"{os.fspath(plugin_dir_path)}: {_INSTEAD}",
        operator="plugin_manager.load_directory",
        location=user_location(),
    )
