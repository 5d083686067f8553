"""What the operators on sequences share: frames are the first axis, F if it has a letter."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradiva.eager import extension as op


def require_frames(input: op.SampleType) -> None:
    """Refuse scalars, and layouts that do not begin with F. Raises OperatorTypeError."""
    if input.ndim == 0:
        raise op.OperatorTypeError("scalars have no frames", expected="at least 1-D samples")
    if input.layout and not input.layout.startswith("F"):
        raise op.OperatorTypeError(
            "the first axis is not that of frames",
            expected="a layout that begins with F, or none",
            got=repr(input.layout),
        )


def require_in_range(numbers: Any, asked: Any, source: op.Batch, argument: str) -> None:
    """Refuse numbers (N, n) of frames that are not there, where `asked` (N, n) says that they are
    meant. Raises OperatorValueError, with the sample."""
    counts = source.geometry.shapes[:, :1]
    bad = asked & ((numbers < 0) | (numbers >= counts))
    if bad.any():
        sample, place = np.argwhere(bad)[0].tolist()
        count = int(counts[sample, 0])
        raise op.OperatorValueError(
            argument=argument,
            expected=f"frames from 0 to {count - 1}" if count else "none, of a sample without any",
            got=str(int(numbers[sample, place])),
            sample=sample,
        )
