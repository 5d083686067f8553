"""What is known of a name that a script uses, and of the arguments that it is called with."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Mapping
from functools import cache
from typing import Any

from gradiva.compat.dali.facts import facts, operator_of, renamed
from gradiva.compat.differences import Row, rows_about
from gradiva.compat.names import SOURCE, TARGET
from gradiva.compat.report import Verdict
from gradiva.eager.execution.gpu_execute import devices_of
from gradiva.eager.operators.operator import OperatorBase

__all__ = ["argument_verdict", "differences", "note_on", "operator_behind", "short_name"]

_DEVICES = ("cpu", "gpu", "mixed")


def operator_behind(value: Any) -> OperatorBase | None:
    """The operator that a function, a class of `ops` or a reader is made from."""
    found = operator_of(value)
    if found is None:
        found = getattr(value, "operator", None)
    return found if isinstance(found, OperatorBase) else None


def short_name(path: str) -> str:
    """`fn.resize` for `nvidia.dali.fn.resize`."""
    for root in (SOURCE, TARGET):
        if path.startswith(f"{root}."):
            return path.removeprefix(f"{root}.")
    return path


def note_on(path: str) -> str:
    """Whether a name is the old one of another."""
    package, _, name = short_name(path).partition(".")
    new = renamed().get(name) if package == "fn" else None
    return "" if new is None else f"an old name of {new if new[0].isupper() else f'fn.{new}'}"


def argument_verdict(
    value: Any, path: str, name: str, literal: Any, own: frozenset[str] = frozenset()
) -> tuple[Verdict, str]:
    """Whether an argument of a call of `value` is there, and what to do if it is not.

    literal: the value if it stands in the script (see `value_of`). own: names that are taken too.
    """
    operator = operator_behind(value)
    known = _parameters(value)
    if known is None or name in own:
        return "there", ""
    old: Mapping[str, str | None] = getattr(operator, "old_arguments", {})
    if name in old:
        new = old[name]
        return "there", f"an old name of `{new}`" if new else "it has no effect any more"
    if name not in known:
        return "missing", _instead(operator, path, name, tuple(known))
    if operator is not None and name == "device" and literal in _DEVICES[1:]:
        fact = facts().get(operator.name)
        if "gpu" not in devices_of(operator) and (fact is None or "gpu" in fact.devices):
            return "missing", f"{operator.name} has no GPU kernel here: run it on the CPU"
    return "there", ""


def differences(value: Any, path: str, given: Mapping[str, Any]) -> list[Row]:
    """What of a call differs. given: its arguments with their values."""
    operator = operator_behind(value)
    name = short_name(path).removeprefix("fn.") if operator is None else operator.name
    known = () if operator is None else tuple(operator.arguments)
    root = path.partition(".")[2] if path.startswith(f"{TARGET}.") else short_name(path)
    dynamic = root.startswith("experimental.dynamic") or (
        path.startswith(f"{TARGET}.") and not root.startswith(("fn.", "ops.", "plugin."))
    )
    return rows_about(name, known, given, dynamic)


def _parameters(value: Any) -> frozenset[str] | None:
    """The arguments that may be given by name, or None if any may."""
    operator = operator_behind(value)
    own = _signature(value)
    if operator is None:
        return own
    # Functions and classes around an operator may take more than it does.
    return frozenset(operator.arguments) | operator.common | (own or frozenset())


@cache
def _signature(value: Any) -> frozenset[str] | None:
    try:
        parameters = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(one.kind is one.VAR_KEYWORD for one in parameters):
        return None
    return frozenset(one.name for one in parameters if one.kind is not one.POSITIONAL_ONLY)


def _instead(operator: OperatorBase | None, path: str, name: str, known: tuple[str, ...]) -> str:
    """What to do about an argument that is not there."""
    fact = None if operator is None else facts().get(operator.name)
    if fact is not None and name in fact.arguments:
        return "not there yet"
    close = difflib.get_close_matches(name, known, 1)
    hint = f": did you mean `{close[0]}`?" if close else ""
    return f"{short_name(path)} has no such argument{hint}"
