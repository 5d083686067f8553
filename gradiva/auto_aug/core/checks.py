"""Checks of what users give to automatic augmentations, and the errors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gradiva.eager.execution.eager_interpreter import as_seed
from gradiva.eager.support.errors import (
    OperatorTypeError,
    OperatorValueError,
    annotate_error,
    user_location,
)
from gradiva.eager.support.validation import integer

__all__ = ["another_seed", "at_least", "in_range", "offered", "refuse_unused"]

_MIX = 0x9E3779B97F4A7C15
_LAST = (1 << 63) - 1


def at_least(lowest: int, value: Any, caller: str, argument: str) -> int:
    """An integer that is not too small. Raises OperatorTypeError or OperatorValueError."""
    expected = f"an integer of at least {lowest}"
    with annotate_error(caller):
        return integer(value, lowest, expected=expected, bools=False, argument=argument)


def in_range(value: Any, count: int, caller: str, argument: str) -> int:
    """An integer of 0 ... count - 1. Raises OperatorTypeError or OperatorValueError."""
    expected = f"an integer from 0 to {count - 1} (there are {count} magnitude bins)"
    with annotate_error(caller):
        return integer(value, 0, count - 1, expected=expected, bools=False, argument=argument)


def offered(
    augmentations: Iterable[Any],
    keywords: Mapping[str, Any],
    caller: str,
    checked: bool,
    spare: str | None = "",
) -> list[Any]:
    """The augmentations that a call chooses from.

    checked: whether the keyword arguments are the user's. spare: what else would do where there
    are no augmentations; None where none are needed. Raises OperatorTypeError, OperatorValueError.
    """
    found = list(augmentations)
    if checked:
        refuse_unused(found, keywords, caller)
    if not found and spare is not None:
        raise OperatorValueError(
            operator=caller,
            argument="augmentations",
            expected=f"at least one augmentation{spare}",
            got="none",
            location=user_location(),
        )
    return found


def refuse_unused(augmentations: Iterable[Any], keywords: Mapping[str, Any], caller: str) -> None:
    """Refuse keyword arguments that no augmentation takes. Raises OperatorTypeError."""
    offered = list(augmentations)
    if any(one.takes_all for one in offered):
        return
    known = sorted({name for one in offered for name in one.keywords})
    for name in keywords:
        if name not in known:
            raise OperatorTypeError(
                "no augmentation takes this argument",
                operator=caller,
                argument=name,
                expected=_listed(known) if known else "no further arguments",
                got=name,
                location=user_location(),
            )


def _listed(names: Sequence[str]) -> str:
    return "one of " + ", ".join(names)


def another_seed(seed: int | None, number: int) -> int | None:
    """The seed of the `number`-th random call of one function that was given `seed`: calls with
    one seed would draw the same words. None stays None."""
    given = as_seed(seed)
    return None if given is None else (given ^ (_MIX * number)) & _LAST
