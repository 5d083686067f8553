"""The arguments of operators that make transforms."""

from __future__ import annotations

from typing import TypedDict

from gradiva.eager import extension as op


@op.argument_group(reverse_order=False)
class Continued(TypedDict, total=False):
    """
    Args:
        input: a transform to go on from, float32 (n, n + 1), or a sequence of them with a layout
            that begins with F; this one comes after it, with `reverse_order` before it.
        reverse_order: put this transform before `input` instead of after it.

    Returns:
        Float32 matrices (n, n + 1), [M T], of the input's shape if there is one; without input and
        without `batch_size`, one Tensor in dynamic mode. Arguments may differ per sample, their
        lengths may not.

    Raises:
        OperatorTypeError: for another input.
        OperatorValueError: for lengths that do not fit together.
    """

    reverse_order: bool


@op.argument_group()
class Center(TypedDict, total=False):
    """
    Args:
        center: the point that stays where it is, n numbers or one for all axes; the origin by
            default.
    """

    center: op.FloatsArg | None


class Transform(Continued, op.Common, total=False):
    """What all take."""


class CenteredTransform(Center, Transform, total=False):
    """What those take that keep a center."""
