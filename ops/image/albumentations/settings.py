"""What the operators on the transforms of Albumentations share: their arguments, and the numbers
that were drawn for a sample."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from typing import Any, Final

from gradiva.eager import extension as op

LAYOUTS: Final = ("HWC", "HW")
ASSUMED: Final = {2: "HW", 3: "HWC"}
DTYPES: Final = (op.uint8, op.float32)

UNUSABLE: Final = (TypeError, ValueError, ArithmeticError, LookupError, AttributeError)
"""What settings of other kinds than a transform has lead to."""

Settings = Mapping[str, Any]
Drawn = list[float]


@functools.lru_cache(maxsize=1024)
def settings_of(text: str) -> Settings:
    """The arguments of a transform, from JSON. Raises OperatorValueError."""
    try:
        found = json.loads(text)
    except ValueError as error:
        raise op.wrong_value("settings", "a JSON object", repr(text)) from error
    if not isinstance(found, dict):
        raise op.wrong_value("settings", "a JSON object", repr(text))
    return found


def image_type(input: op.SampleType, dtypes: tuple[op.DType, ...] = DTYPES) -> op.SampleType:
    """The type of an image."""
    op.require_dtype(input, dtypes)
    return op.with_layout(input, op.require_layout(input, LAYOUTS, ASSUMED))


def check_drawn(drawn: op.SampleType) -> None:
    """Refuse what is not from `albumentations.draw`."""
    op.require_dtype(drawn, (op.float64,), "the drawn numbers")
    op.require_ndim(drawn, (1,), "the drawn numbers")


def drawn_of(batch: op.Batch, sample: int) -> Drawn | None:
    """The numbers of a transform for a sample; None where it is not applied."""
    numbers: Drawn = batch.array(sample).tolist()
    return numbers[1:] if numbers and numbers[0] else None
