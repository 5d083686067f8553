"""What the operators of conditionals share: values that can be asked whether they are true."""

from __future__ import annotations

from gradiva.eager import extension as op


def require_scalar(type: op.SampleType, what: str) -> None:
    """Refuse samples with axes: they are neither true nor false. Raises OperatorTypeError."""
    if type.device != "cpu":
        raise op.OperatorTypeError(
            f"{what} is decided on the CPU, and this one is on the GPU: take `.cpu()` of it"
        )
    if type.ndim not in (None, 0):
        raise op.OperatorTypeError(
            f"{what} is one value per sample; of arrays, make one value (such as a part of them)",
            expected="scalars (0-D samples)",
            got=f"{type.ndim}-D samples",
        )


def require_boolean(type: op.SampleType, what: str) -> None:
    """Refuse what is no scalar bool. Raises OperatorTypeError."""
    require_scalar(type, what)
    if type.dtype not in (None, op.bool_):
        raise op.OperatorTypeError(
            f"{what} is a bool; compare (x != 0), or combine bits with & and |",
            expected="bool",
            got=str(type.dtype),
        )
