"""What DALI's list of operators says, and how much of it is here.

`facts.json` holds names, devices, numbers of inputs and arguments; `building/make_facts.py` made
it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from gradiva import fn
from gradiva.compat.dali.old_names import operator_of, renamed

__all__ = ["VERSION", "Fact", "Given", "deprecated", "facts", "operator_of", "reached", "renamed"]

VERSION = "2.4.0"
"""The version of DALI: whose names and arguments these are."""


@dataclass(frozen=True, slots=True)
class Given:
    """An argument in the list. default: None where there is none."""

    kind: str
    default: Any
    required: bool
    per_sample: bool


@dataclass(frozen=True, slots=True)
class Fact:
    """An operator in the list: its name in pipeline mode and in dynamic mode ("-": not there), its
    devices, (fewest, most) inputs, and its arguments."""

    name: str
    dynamic: str
    devices: tuple[str, ...]
    inputs: tuple[int, int]
    outputs: int
    arguments: dict[str, Given]


@cache
def _listed() -> dict[str, Any]:
    text = Path(__file__).with_name("facts.json").read_text("utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


@cache
def facts() -> dict[str, Fact]:
    """All operators of the list, by name."""
    return {
        name: Fact(
            name,
            row["dynamic"],
            tuple(row["devices"]),
            (row["inputs"][0], row["inputs"][1]),
            row["outputs"],
            {key: _given(*value) for key, value in row["arguments"].items()},
        )
        for name, row in _listed()["operators"].items()
    }


def _given(kind: str, default: Any = None) -> Given:
    return Given(kind.strip("!*"), default, "!" in kind, "*" in kind)


def deprecated() -> list[str]:
    """The names of the list that stand for others."""
    return list(_listed()["deprecated"])


def reached(name: str) -> Any:
    """The function `fn.<name>`, or None."""
    found: Any = fn
    for part in name.split("."):
        found = getattr(found, part, None)
    return found
