"""Arithmetic, comparison and bitwise operators of Python on batches, tensors and symbols.

The table below declares one operator for each; `eager.value` finds them under these names. The
rules of types, values and broadcasting are in `promotion` and `evaluate`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.operators.arguments import COMMON
from gradiva.eager.operators.fusion_roles import Expression
from gradiva.eager.operators.operator import OperatorBase
from gradiva.eager.schedules.schedule import Schedule
from gradiva.eager.support.errors import OperatorOverflowError, user_location
from gradiva.eager.values.random_origin import random_origin_among
from gradiva.eager.values.value import arithmetic

from .documentation import python_documentation
from .elementary_kernels import KERNELS
from .evaluate import evaluate, evaluate_unary
from .expression import LIBRARY, operation_launch
from .promotion import result_dtype, result_layout, scalar_dtype

BINARY = {
    "add": "+", "sub": "-", "mul": "*", "fdiv": "/", "div": "//", "mod": "%", "pow": "**",
    "bitand": "&", "bitor": "|", "bitxor": "^", "shl": "<<", "shr": ">>",
    "eq": "==", "neq": "!=", "lt": "<", "leq": "<=", "gt": ">", "geq": ">=",
}  # fmt: skip
UNARY = {"minus": "neg", "plus": "pos", "abs": "abs", "bitnot": "~"}


def _dtype(symbol: str, *types: op.SampleType) -> op.DType | None:
    known = [type.dtype.numpy for type in types if type.dtype is not None]
    if len(known) < len(types):
        return op.bool_ if symbol in ("==", "!=", "<", "<=", ">", ">=") else None
    try:
        return op.DType.from_numpy(result_dtype(symbol, *known, half=True))
    except TypeError as error:
        raise op.OperatorTypeError(str(error)) from None


def broadcast_type(symbol: str, *operands: op.SampleType) -> op.SampleType:
    """The type of the result of `symbol` on two or more operands. Raises OperatorTypeError."""
    dtype, device = _dtype(symbol, *operands), operands[0].device
    ranks = [operand.ndim for operand in operands if operand.ndim is not None]
    if len(ranks) < len(operands):
        return op.SampleType(dtype, None, None, device)
    layouts = [operand.layout for operand in operands if operand.layout is not None]
    if len(layouts) < len(operands):
        return op.SampleType(dtype, max(ranks), None, device)
    try:
        return op.SampleType(dtype, max(ranks), result_layout(max(ranks), *layouts), device)
    except ValueError as error:
        raise op.OperatorTypeError(str(error)) from None


def binary_type(symbol: str) -> Callable[..., op.SampleType]:
    """The type rule of an operator on two operands."""

    def infer(
        left: op.SampleType, right: op.SampleType, /, **common: op.Unpack[op.Common]
    ) -> op.SampleType:
        return broadcast_type(symbol, left, right)

    return infer


def unary_type(symbol: str) -> Callable[..., op.SampleType]:
    """The type rule of an operator on one operand, which keeps rank and layout."""

    def infer(input: op.SampleType, /, **common: op.Unpack[op.Common]) -> op.SampleType:
        return input.with_(dtype=_dtype(symbol, input))

    return infer


def broadcast_shapes(call: op.Call) -> Any:
    """The shape rule of two or more operands: extents align from the last axis on, 1 stretches."""
    result = call.inputs[0].batch_shape
    for operand in call.inputs[1:]:
        result = _broadcast(result, operand.batch_shape)
    return result


def _broadcast(left: op.BatchShape, right: op.BatchShape) -> op.BatchShape:
    if right.ndim == 0 or left is right:
        return left
    if left.ndim == 0:
        return right
    ndim = max(left.ndim, right.ndim)
    a, b = (
        np.pad(batch_shape.shapes, ((0, 0), (ndim - batch_shape.ndim, 0)), constant_values=1)
        for batch_shape in (left, right)
    )
    bad = ((a != b) & (a != 1) & (b != 1)).any(axis=1)
    op.refuse_samples(
        bad,
        "",
        "equal extents, or 1, from the last axis on",
        lambda sample: f"{left.shape(sample)} and {right.shape(sample)}",
        "the shapes of the operands do not broadcast",
    )
    return op.BatchShape.of(np.where(a == 1, b, a))


def compute(call: op.Call, function: Callable[..., Any]) -> None:
    """Whole ranges of samples at once where memory allows, else sample by sample."""
    target = call.outputs[0]
    batches = (*call.inputs, target)
    flat = all(
        (batch.batch_shape.dense and batch.batch_shape.shapes is target.batch_shape.shapes)
        or (batch.batch_shape.ndim == 0 and not batch.batch_shape.offsets.any())
        for batch in batches
    )

    def ranges(begin: int, end: int) -> None:
        if flat:
            volume = target.batch_shape.size // max(1, call.size)
            function(*[_part(batch, begin, end, volume) for batch in batches])
            return
        for sample in range(begin, end):
            try:
                function(*[batch.array(sample) for batch in batches])
            except ValueError as error:
                raise op.OperatorValueError(str(error), sample=sample) from None

    try:
        call.for_samples(ranges)
    except op.OperatorValueError:
        raise
    except ValueError as error:
        raise op.OperatorValueError(str(error)) from None


def _part(batch: Any, begin: int, end: int, volume: int) -> np.ndarray[Any, Any]:
    data: np.ndarray[Any, Any] = batch.data
    if batch.batch_shape.ndim == 0 and not batch.batch_shape.offsets.any():
        return data[:1].reshape(())
    return data[begin * volume : end * volume]


def to_operand(value: Any) -> Any:
    """A Python scalar or list as an array of its fixed type: bool, int32 or float32."""
    if isinstance(value, op.Value | np.ndarray | Schedule):
        return value
    try:
        if not isinstance(value, list | tuple):
            return np.asarray(value, scalar_dtype(value))
        array, drawn = np.asarray(value), random_origin_among(value)
        ends = (array.min().item(), array.max().item()) if array.size else (0,)
        kinds = [scalar_dtype(end) for end in ends]
        array = array.astype(kinds[0])
        return array if drawn is None else op.Tensor.over(array, drawn_at=drawn)
    except OverflowError as error:
        raise OperatorOverflowError(str(error)) from None
    except (TypeError, ValueError):
        raise op.OperatorTypeError(
            "an operand is neither a batch, a tensor, an array nor a number",
            got=repr(value),
            expected="a number",
        ) from None


class Arithmetic(OperatorBase):
    """An operator that is called by Python's own operators, which take no further arguments."""

    symbol: str
    hidden_common = COMMON

    def __call__(self, *operands: Any) -> Any:
        try:
            values = tuple(to_operand(operand) for operand in operands)
        except op.GradivaError as error:
            raise error.complete(operator=self.name, location=user_location()) from None
        return self.bind(values, {})

    def libraries_of(
        self, keywords: Mapping[str, Any], types: Sequence[op.SampleType]
    ) -> tuple[str, ...]:
        """NumPy, for elementary functions of float64, which it computes by the CPU."""
        elementary = self.fusion_role.symbol in KERNELS
        return ("numpy",) if elementary and types[0].dtype in (None, op.float64) else ()


def _declare() -> None:
    for name, symbol in BINARY.items():
        rule = binary_type(symbol)
        rule.__doc__ = python_documentation(name, symbol)
        made = Arithmetic(rule, name, (2, 2))
        made.shapes(broadcast_shapes)
        made.cpu(lambda call, s=symbol: compute(call, lambda a, b, out: evaluate(s, a, b, out)))
        # Powers of floats are the library's; all else is exact.
        mark = made.gpu_within(LIBRARY) if name == "pow" else made.gpu
        mark(lambda call, s=symbol: operation_launch(call, s))
        made.fusion_role = Expression(symbol)
        made.cases(lambda: _any_cases(2))
        arithmetic[name] = made
    for name, symbol in UNARY.items():
        rule = unary_type(symbol)
        rule.__doc__ = python_documentation(name, symbol)
        made = Arithmetic(rule, name, (1, 1))
        made.shapes(same_batch_shape)
        made.cpu(lambda call, s=symbol: compute(call, lambda a, out: evaluate_unary(s, a, out)))
        made.gpu(lambda call, s=symbol: operation_launch(call, s))
        made.fusion_role = Expression(symbol)
        made.cases(lambda: _any_cases(1))
        arithmetic[name] = made


def same_batch_shape(call: op.Call) -> op.BatchShape:
    """The shape rule of operators on one operand."""
    return call.inputs[0].batch_shape


_declare()


def _any_cases(operands: int) -> list[op.Case]:
    """Calls for any operator of so many operands; tests/eager/values/test_values.py checks the
    values."""
    shapes = ((4, 5, 3), (1, 7, 3), (6, 1, 3))
    images = op.samples(*shapes)
    signed = op.samples(*shapes, dtype=op.int16, low=1, high=6)
    channel = op.samples((3,), (3,), (3,), dtype=op.int32, layout="C", low=1, high=6)
    calls: dict[str, tuple[Any, ...]] = {
        "mixed": (images, signed),
        "number": (signed, np.int32(2)),
        "channels": (images, channel),
        "empty": (op.samples(), op.samples()),
    }
    return [op.case(name, *given[:operands]).no_oracle() for name, given in calls.items()]


def _cases() -> list[op.Case]:
    images = op.samples((4, 5, 3), (1, 7, 3), (6, 1, 3))
    other = op.samples((4, 5, 3), (1, 7, 3), (6, 1, 3), seed=1)
    signed = op.samples((4, 5, 3), (1, 7, 3), (6, 1, 3), dtype=op.int16, seed=2)
    channel = op.samples((3,), (3,), (3,), dtype=op.float32, layout="C")
    whole = op.samples((2, 2), (2, 2), dtype=op.int32, layout="")
    return [
        op.case("wraps", images, other).each(lambda image, one: image + one),
        op.case("promotes", images, signed).each(lambda image, one: image.astype(np.int16) + one),
        op.case("scalar", images, np.int32(1)).each(lambda image, *_: image.astype(np.int32) + 1),
        op.case("channels", images, channel).each(lambda a, b: a.astype(np.float32) + b),
        op.case("uniform", whole, whole).each(lambda one, *_: one * 2),
        op.case("empty", op.samples(), op.samples()).equals([]),
        op.case("no broadcast", images, op.samples((2, 5, 3), (1, 7, 3), (6, 1, 3))).value_error(
            "sample 0"
        ),
        op.case(
            "layouts", images, op.samples((4, 5, 3), (1, 7, 3), (6, 1, 3), layout="CHW")
        ).type_error("CHW"),
    ]


arithmetic["add"].cases(_cases)
