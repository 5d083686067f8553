"""Names of operators that are not there yet: an AttributeError says what they wait for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradiva.eager.support.lazy_names import no_attribute

__all__ = ["AWAITED", "LATER", "absent", "later"]

AWAITED: dict[str, str] = {}
"""Old names of operators that are not there yet, and their names."""

LATER: dict[str, str] = {}
"""What operators wait for that users know and that are still to be written."""


def later(name: str) -> str | None:
    """What an operator waits for that is not there yet, under its old or new name; or None."""
    return LATER.get(AWAITED.get(name, name))


def absent(module: str) -> Callable[[str], Any]:
    """`__getattr__` of `gradiva.fn` and the modules in it, and of those of the same names in
    `gradiva`, for names that are not there."""
    package = module.removeprefix("gradiva.").removeprefix("fn").removeprefix(".")
    prefix = f"{package}." if package else ""

    def get(name: str) -> Any:
        reason = later(prefix + name)
        if reason is None:
            raise no_attribute(module, name)
        new = AWAITED.get(prefix + name)
        called = f" (fn.{new})" if new else ""
        raise AttributeError(f"fn.{prefix}{name}{called} is not there yet: it waits for {reason}")

    return get
