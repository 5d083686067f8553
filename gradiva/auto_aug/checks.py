"""Checks of what users give to automatic augmentations, and the errors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from gradiva.eager.execution.eager_interpreter import as_seed
from gradiva.eager.support.errors import (
    OperatorTypeError,
    OperatorValueError,
    annotate_error,
    user_location,
)
from gradiva.eager.support.validation import integer
from gradiva.eager.types.sample_type import SampleType
from gradiva.eager.values.tensor import as_tensor
from gradiva.ops.arrays.reshape import reshape

__all__ = ["another_seed", "as_images", "at_least", "check_all_used", "in_range", "offered"]

_MIX = 0x9E3779B97F4A7C15
_LAST = (1 << 63) - 1


_LAYOUTS = {3: "HWC", 4: "FHWC"}
"""By rank."""


def as_images(data: Any, caller: str) -> Any:
    """The samples with the layout that the augmentations need. A layout that is not given is HWC,
    or FHWC for samples of four axes. Symbols whose type is not known yet stay as they are.

    Raises OperatorTypeError for samples that are no color images.
    """
    value = as_tensor(data) if isinstance(data, np.ndarray) else data
    known: SampleType | None = getattr(value, "type", None)
    if not isinstance(known, SampleType):
        return data
    layout = _LAYOUTS.get(known.ndim or 0)
    if known.ndim is not None and (layout is None or known.layout not in ("", None, layout)):
        raise OperatorTypeError(
            operator=caller,
            argument="data",
            expected="images of layout HWC or sequences of layout FHWC",
            got=f"{known.ndim}-D samples" + (f" of layout {known.layout}" if known.layout else ""),
            location=user_location(),
        )
    return reshape(value, layout=layout) if layout and known.layout == "" else data


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
        check_all_used(found, keywords, caller)
    if not found and spare is not None:
        raise OperatorValueError(
            operator=caller,
            argument="augmentations",
            expected=f"at least one augmentation{spare}",
            got="none",
            location=user_location(),
        )
    return found


def check_all_used(augmentations: Iterable[Any], keywords: Mapping[str, Any], caller: str) -> None:
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
