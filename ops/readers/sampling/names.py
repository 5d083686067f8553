"""Labels of files, and parts of a data set, by the names of the files."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Annotated, Any, TypeAlias

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.operators.argument_types import ArgumentType
from gradiva.ops.storage.urls import local_path

__all__ = ["LabelRule", "labels_by", "names_in", "part_of", "split_places"]

Rule: TypeAlias = "Callable[[str], Any] | str | re.Pattern[str]"


def names_in(paths: Sequence[str], root: str | None) -> list[str]:
    """The paths as they are called below the folder `root`, with slashes."""
    prefix = "" if not root else os.path.join(local_path(root), "")
    return [path.removeprefix(prefix).replace(os.sep, "/") for path in paths]


def labels_by(rule: Rule, names: Sequence[str]) -> tuple[list[int], list[str] | None]:
    """The labels that a function, or a regular expression, finds in names, and the text of each
    label, where texts were found. Raises OperatorValueError, OperatorTypeError,
    OperatorRuntimeError, naming the file."""
    found = [_found(name, rule) for name in names]
    if all(isinstance(one, int) for one in found):
        for name, one in zip(names, found, strict=True):
            if not -(2**31) <= one < 2**31:
                raise _refused(name, "a label that fits into int32", one)
        return found, None
    texts = [str(one) for one in found]
    if isinstance(rule, str | re.Pattern) and all(
        text.isdecimal() and int(text) < 2**31 for text in texts
    ):
        return [int(text) for text in texts], None
    classes = sorted(set(texts))
    numbers = {text: number for number, text in enumerate(classes)}
    return [numbers[text] for text in texts], classes


def _found(name: str, rule: Rule) -> Any:
    if isinstance(rule, str | re.Pattern):
        match = re.search(rule, name)
        if match is None:
            raise _refused(name, f"a name in which {rule!r} is found", name)
        value = match.group(match.re.groups and 1)
        if value is None:
            raise _refused(name, f"a name in which the group of {rule!r} is found", name)
        return value
    try:
        value = rule(name)
    except Exception as error:
        raise op.OperatorRuntimeError(
            f"the function has raised {type(error).__name__}: {error}",
            argument="label_fn",
            file=name,
        ) from error
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise op.OperatorTypeError(
            argument="label_fn",
            expected="an integer, or a text, from the function",
            got=repr(value),
            file=name,
        )
    return value


def _refused(name: str, expected: str, got: object) -> op.OperatorValueError:
    return op.OperatorValueError(argument="label_fn", expected=expected, got=repr(got), file=name)


def as_rule(rule: Any) -> Rule:
    """A function, or a regular expression. Raises OperatorTypeError, OperatorValueError."""
    if isinstance(rule, re.Pattern) and isinstance(rule.pattern, str):
        return rule
    if isinstance(rule, str):
        try:
            re.compile(rule)
        except re.error as error:
            raise op.wrong_value("label_fn", "a regular expression", f"{rule!r}: {error}") from None
        return rule
    if not callable(rule):
        raise op.wrong_type(
            "label_fn", "a function of the name, or a regular expression", repr(rule)
        )
    named: Callable[[str], Any] = rule
    return named


def split_places(names: Sequence[str], split: Sequence[float]) -> list[int]:
    """The places of the names that belong to a part of the data set: those whose hash, as a number
    from 0 to 1, lies in it. Raises OperatorValueError."""
    if len(split) != 2 or not 0 <= split[0] < split[1] <= 1:
        raise op.wrong_value(
            "split", "where a part begins and ends, such as (0, 0.9)", tuple(split)
        )
    begin, end = (int(round(edge * 2**53)) << 11 for edge in split)
    found = [place for place, name in enumerate(names) if begin <= _hash(name) < end]
    if not found:
        raise op.wrong_value(
            "split", "a part that has files", f"{tuple(split)}, which has none of {len(names)}"
        )
    return found


def part_of(paths: list[str], root: str, split: Sequence[float] | None) -> list[str]:
    """The paths below a folder that belong to a part of the data set, by default all."""
    if split is None:
        return paths
    return [paths[place] for place in split_places(names_in(paths, root), split)]


def _hash(name: str) -> int:
    held = name.encode("utf-8", "surrogateescape")
    return int.from_bytes(blake2b(held, digest_size=8).digest(), "little")


LabelRule: TypeAlias = Annotated[
    Any, ArgumentType("LabelRule", "a function of the name, or a regular expression", as_rule)
]
