"""What a dotted name of DALI is here, and what to do where it is nothing."""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from types import ModuleType
from typing import Any

__all__ = ["ABSENT", "SOURCE", "TARGET", "look_up", "member", "reason_for", "said_of"]

SOURCE, TARGET = "nvidia.dali", "gradiva"
ABSENT = object()
"""What `look_up` and `member` return for what is not there."""


def look_up(name: str) -> Any:
    """What `nvidia.dali.fn.resize` or `gradiva.fn.resize` is, or ABSENT."""
    found: Any = importlib.import_module(TARGET)
    for part in _parts(name):
        found = member(found, part)
        if found is ABSENT:
            return ABSENT
    return found


def member(owner: Any, name: str) -> Any:
    """An attribute of a module or class, or a module in a package; or ABSENT."""
    found = getattr(owner, name, ABSENT)
    if found is not ABSENT or not isinstance(owner, ModuleType):
        return found
    whole = f"{owner.__name__}.{name}"
    try:
        return importlib.import_module(whole)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{whole}.".startswith(f"{error.name}."):
            return ABSENT
        raise  # a library that the module needs
    except ImportError:
        return ABSENT


def reason_for(name: str) -> str | None:
    """Why `nvidia.dali.fn.mfcc` or `gradiva.fn.mfcc` is not there, or what to write instead."""
    owner: Any = importlib.import_module(TARGET)
    parts = _parts(name)
    for index, part in enumerate(parts):
        found = member(owner, part)
        if found is ABSENT:
            return _reason(owner, ".".join(parts[:index]), part)
        owner = found
    return None


def said_of(owner: Any, name: str) -> str | None:
    """What a module itself says of a name that it has not got, beyond that it has not."""
    try:
        getattr(owner, name)
    except AttributeError as error:
        text = str(error)
        return None if "has no attribute" in text else text
    return None


def _parts(name: str) -> list[str]:
    for root in (SOURCE, TARGET):
        if f"{name}.".startswith(f"{root}."):
            return [part for part in name.removeprefix(root).split(".") if part]
    raise ValueError(name)


def _reason(owner: Any, place: str, name: str) -> str | None:
    if name.startswith("_"):
        return "names that begin with _ are private parts of the other library"
    said = said_of(owner, name)
    if said is not None:
        return said
    known = {one for one in dir(owner) if not one.startswith("_")}
    if isinstance(owner, ModuleType):
        known |= {module.name for module in pkgutil.iter_modules(getattr(owner, "__path__", []))}
    close = difflib.get_close_matches(name, sorted(known), 3, 0.7)
    if close:
        return f"did you mean {' or '.join(close)}?"
    if 0 < len(known) <= 16 and place:
        return f"{place} has {', '.join(sorted(known))}"
    return None
