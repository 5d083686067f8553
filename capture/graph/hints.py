"""Hints of operators: how many bytes the samples of an output will take."""

from __future__ import annotations

from typing import Any

from gradiva.eager.operators.arguments import bytes_hint
from gradiva.eager.support.errors import OperatorValueError

HINT = "bytes_per_sample_hint"
"""The attribute of a node that holds its hints, one per output."""


def hint_for(value: Any, outputs: int) -> tuple[int, ...]:
    """The hint of an operator as one number per output, from one for all or one for each.

    Raises OperatorTypeError or OperatorValueError.
    """
    hints = bytes_hint(value)
    if len(hints) not in (1, outputs):
        raise OperatorValueError(
            argument=HINT,
            expected="one number" if outputs == 1 else f"one number, or {outputs}, one per output",
            got=f"{len(hints)}",
        )
    return hints if len(hints) == outputs else hints * outputs
