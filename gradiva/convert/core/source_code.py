"""The steps of a function as a module of source code, and the function that it defines."""

from __future__ import annotations

import ast
import itertools
import linecache
import textwrap
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from .calls import function
from .step import Step

__all__ = ["function_of", "module_of"]

_NAMES = {
    "np": ("", "numpy as np"),
    "gradiva": ("", "gradiva"),
    "random": ("gradiva", "random"),
    "types": ("gradiva", "types"),
    "auto_augment": ("gradiva.auto_aug", "auto_augment"),
    "rand_augment": ("gradiva.auto_aug", "rand_augment"),
    "trivial_augment": ("gradiva.auto_aug", "trivial_augment"),
    "select": ("gradiva.auto_aug.core", "select"),
    "apply": ("gradiva.convert.from_albumentations.steps", "apply"),
    "choose": ("gradiva.convert.from_albumentations.steps", "choose"),
    "recast": ("gradiva.convert.from_albumentations.steps", "recast"),
}
"""The modules and functions that lines may use, by name: from where they are imported, and how."""
_COMMENT = 90
_files = itertools.count(1)


def module_of(
    name: str, parameters: Sequence[str], steps: Sequence[Step], returned: Sequence[str]
) -> str:
    """A module that defines the function `name` of the parameters, which does the steps.

    Objects that the steps refer to are parameters of the function, at the end.
    """
    lines: list[str] = []
    for step in steps:
        lines.extend(_comment(step))
        lines.extend(step.lines)
    objects = [name for step in steps for name in step.objects]
    given = [*parameters, *(["*", *objects] if objects else [])]
    defined = function(name, given, lines, ", ".join(returned))
    used = {node.id for node in ast.walk(ast.parse(defined)) if isinstance(node, ast.Name)}
    above = ["import numpy as np", ""] if "np" in used else []
    found: dict[str, list[str]] = {}
    for name, (module, imported) in _NAMES.items():
        if module and name in used:
            found.setdefault(module, []).append(imported)
    ours = [f"from {module} import {', '.join(names)}" for module, names in found.items()]
    return "\n".join([*above, "import gradiva", *ours, "", "", defined, ""])


def _comment(step: Step) -> list[str]:
    """What a step is, as comments. A title is the text of an object, which may hold anything."""
    text = " ".join(step.title.split())
    text = "".join(letter if letter.isprintable() else "?" for letter in text)
    if step.random:
        text += "; random"
    elif step.python:
        text += "; without counterpart"
    elif step.bound:
        text += f"; within {step.bound:.3g}"
    return [f"# {line}" for line in textwrap.wrap(text, _COMMENT)[:4]]


def function_of(source: str, name: str) -> Callable[..., Any]:
    """The function that the module defines. Tracebacks show its lines."""
    file = f"<gradiva.convert {next(_files)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    # Errors name the line that calls the function, and not one of its own.
    names: dict[str, Any] = {"__name__": "gradiva.convert.converted"}
    exec(compile(source, file, "exec"), names)
    made: Callable[..., Any] = names[name]
    weakref.finalize(made, linecache.cache.pop, file, None)
    return made
