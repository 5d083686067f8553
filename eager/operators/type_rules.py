"""Checks that type rules share. A field that is not known yet passes."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from gradiva.eager.support.errors import OperatorTypeError, OperatorValueError
from gradiva.eager.types.dtypes import DType, DTypeLike, float32, uint8
from gradiva.eager.types.sample_type import SampleType

_ENCODED = (
    "; if these are the bytes of an image file, decode them first with decoders.image (a file is "
    "read by its name with imread)"
)


def require_dtype(
    input: SampleType, allowed: Collection[DType], what: str = "the input"
) -> DType | None:
    """The dtype, if it is one of `allowed`. Raises OperatorTypeError."""
    if input.dtype is not None and input.dtype not in allowed:
        names = ", ".join(dtype.name for dtype in allowed)
        raise OperatorTypeError(
            f"{what} has a dtype this operator does not take", expected=names, got=str(input.dtype)
        )
    return input.dtype


def require_ndim(input: SampleType, allowed: Collection[int], what: str = "the input") -> None:
    """Refuse a rank that is not one of `allowed`. Raises OperatorTypeError."""
    if input.ndim is not None and input.ndim not in allowed:
        ranks = " or ".join(f"{ndim}-D" for ndim in allowed)
        layout = f" with layout {input.layout!r}" if input.layout else ""
        encoded = input.ndim == 1 and not input.layout and input.dtype in (None, uint8)
        raise OperatorTypeError(
            f"{what} has the wrong number of axes" + (_ENCODED if encoded else ""),
            expected=f"{ranks} samples",
            got=f"{input.ndim}-D samples{layout}",
        )


def require_layout(
    input: SampleType,
    allowed: Collection[str],
    assumed: dict[int, str] | None = None,
    what: str = "the input",
) -> str | None:
    """The layout, if it is one of `allowed`; for input without a layout, the one that `assumed`
    gives for its rank. None if nothing is known. Raises OperatorTypeError."""
    layout = input.layout
    if not layout:
        if layout is None and input.ndim is None:
            return None
        if input.ndim is not None:
            found = (assumed or {}).get(input.ndim)
            if found is not None:
                # An unknown layout may yet turn out to be another one.
                return found if layout == "" else None
            require_ndim(input, sorted({len(name) for name in allowed}), what)
        return None if layout is None else ""
    if layout not in allowed:
        raise OperatorTypeError(
            f"{what} has a layout this operator does not take",
            expected=f"one of {', '.join(allowed)}",
            got=repr(layout),
        )
    return layout


def with_layout(input: SampleType, layout: str | None) -> SampleType:
    """The type with its layout filled in, if it had none."""
    return input if input.layout or not layout else input.with_(layout=layout)


def own_or_float32(input: SampleType, dtype: DTypeLike | None) -> SampleType:
    """The type in the wanted dtype, by default its own. Raises OperatorTypeError for others than
    its own and float32."""
    if dtype is None:
        return input
    if dtype is not float32 and input.dtype is not None and dtype is not input.dtype:
        raise OperatorTypeError(
            argument="dtype", expected=f"float32 or {input.dtype}, as the input", got=str(dtype)
        )
    return input.with_(dtype=dtype)


def refuse_samples(
    bad: Any,
    argument: str,
    expected: str | Callable[[int], str],
    values: Any,
    problem: str = "",
    first: int = 0,
    error: type[OperatorValueError] = OperatorValueError,
) -> None:
    """Raise an error for the first of the samples that are `bad`.

    bad: bool, (N,) or (N, k); argument: "" where an input is to blame; expected: or a function that
    says it of a sample; values: of the shape of `bad`, or with more axes, what was given, or a
    function that says it of a sample; first: the sample that the first row is of.
    """
    if bad.any():
        place = tuple(np.argwhere(bad)[0].tolist())
        got = values(place[0]) if callable(values) else values[place]
        raise error(
            problem,
            argument=argument or None,
            expected=(expected(place[0]) if callable(expected) else expected) or None,
            got=str(tuple(got.tolist()) if isinstance(got, np.ndarray) else got),
            sample=first + place[0],
        )
