"""What building native plugins against the library would need: nothing is there to build on.

The functions exist so that a script which only prints them runs; folders are an error.
"""

from __future__ import annotations

from typing import NoReturn

from gradiva.eager.support.errors import OperatorRuntimeError, user_location

__all__ = [
    "get_compile_flags",
    "get_include_dir",
    "get_include_flags",
    "get_lib_dir",
    "get_link_flags",
]


def _refuse(name: str, what: str) -> NoReturn:
    raise OperatorRuntimeError(
        f"gradiva is written in Python and has no {what}: native plugins cannot be built for it",
        operator=f"sysconfig.{name}",
        location=user_location(),
    )


def get_include_dir() -> NoReturn:
    """Raises OperatorRuntimeError: there are no headers."""
    _refuse("get_include_dir", "headers")


def get_lib_dir() -> NoReturn:
    """Raises OperatorRuntimeError: there is no library."""
    _refuse("get_lib_dir", "library to link with")


def get_compile_flags() -> list[str]:
    """Flags for the compiler: none."""
    return []


def get_include_flags() -> list[str]:
    """Flags for the search of headers: none."""
    return []


def get_link_flags() -> list[str]:
    """Flags for the linker: none."""
    return []
