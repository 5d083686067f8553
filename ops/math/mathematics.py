"""The operators of mathematical functions, such as `math.sqrt`; `functions` holds what users call.

They take batches, tensors, symbols, arrays and numbers, and mix them as Python's own
operators do: a number is bool, int32 or float32, operands broadcast per sample, the result has
the common type. Functions of real numbers give float32 for integers, and the type of the operand
for floats. A value does not depend on the place of an element in a batch. The elementary functions
of float32 and float16 are the float that is nearest to the true value, but for one in thousands
that is its neighbor, and have the same bits on every machine. Those of float64 are NumPy's, a few
units in the last place from the true values: they may differ between CPUs.

All raise OperatorTypeError for booleans alone, for layouts that do not match and for operands that
are no numbers, and OperatorValueError for shapes that do not broadcast.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.operators.fusion_roles import Expression
from gradiva.eager.operators.signature import Written
from gradiva.eager.support.errors import user_location

from .arithmetic import (
    Arithmetic,
    binary_type,
    broadcast_shapes,
    broadcast_type,
    compute,
    same_batch_shape,
    to_operand,
    unary_type,
)
from .documentation import clamp_documentation, function_documentation
from .evaluate import clamp as clamp_arrays
from .evaluate import evaluate, evaluate_unary
from .expression import EXACT, LIBRARY, operation_launch
from .promotion import UNARY_FLOAT

BINARY = {
    "min": "Take the smaller of two values; the second where they are equal or one is NaN.",
    "max": "Take the larger of two values; the second where they are equal or one is NaN.",
    "fpow": "Compute the power `base ** exponent` in floating point.",
    "atan2": "Compute the angle in radians whose tangent is x / y, in the quadrant of both signs.",
}
_OPERANDS = {"fpow": ("base", "exponent"), "atan2": ("x", "y")}
"""What the operands are called, where it is not left and right."""


class Function(Arithmetic):
    """An operator that is called by a function of this module."""

    def __call__(self, *operands: Any, **common: Any) -> Any:
        try:
            values = tuple(to_operand(operand) for operand in operands)
        except op.GradivaError as error:
            raise error.complete(operator=self.name, location=user_location()) from None
        return self.bind(values, common)


def _clamp_type(
    value: op.SampleType, lo: op.SampleType, hi: op.SampleType, /, **common: op.Unpack[op.Common]
) -> op.SampleType:
    return broadcast_type("clamp", value, lo, hi)


def _as_called(rule: Callable[..., Any], names: Sequence[str]) -> inspect.Signature:
    """The signature of the function that calls an operator, whose operands have these names."""
    given = inspect.signature(rule).parameters.values()
    kept = [parameter for parameter in given if parameter.kind is not parameter.VAR_KEYWORD]
    return inspect.Signature(
        [
            parameter.replace(
                name=name, kind=parameter.POSITIONAL_OR_KEYWORD, annotation=Written("Operand")
            )
            for name, parameter in zip(names, kept, strict=True)
        ],
        return_annotation=Written("Batch"),
    )


def _declare() -> dict[str, Function]:
    made = {}
    for name, meaning in UNARY_FLOAT.items():
        rule = unary_type(name)
        rule.__doc__ = function_documentation(name, meaning, ("input",))
        made[name] = one = Function(rule, f"math.{name}", (1, 1))
        one.__signature__ = _as_called(rule, ("input",))
        one.shapes(same_batch_shape)
        one.cpu(lambda call, s=name: compute(call, lambda a, out: evaluate_unary(s, a, out)))
        one.cases(lambda: _cases(1))
    for name, meaning in BINARY.items():
        names = _OPERANDS.get(name, ("left", "right"))
        rule = binary_type(name)
        rule.__doc__ = function_documentation(name, meaning, names)
        made[name] = two = Function(rule, f"math.{name}", (2, 2))
        two.__signature__ = _as_called(rule, names)
        two.shapes(broadcast_shapes)
        two.cpu(lambda call, s=name: compute(call, lambda a, b, out: evaluate(s, a, b, out)))
        two.cases(lambda: _cases(2))
    _clamp_type.__doc__ = clamp_documentation()
    made["clamp"] = three = Function(_clamp_type, "math.clamp", (3, 3))
    three.__signature__ = _as_called(_clamp_type, ("value", "lo", "hi"))
    three.shapes(broadcast_shapes)
    three.cpu(lambda call: compute(call, clamp_arrays))
    three.cases(lambda: _cases(3))
    for name, operator in made.items():
        mark = operator.gpu if name in EXACT else operator.gpu_within(LIBRARY)
        mark(lambda call, s=name: operation_launch(call, s))
        operator.fusion_role = Expression(name)
        operator.__module__ = __name__
    return made


def _cases(operands: int) -> list[op.Case]:
    """Calls for any function of so many operands; tests/ops/math/test_math.py checks the values."""
    shapes = ((4, 5, 3), (1, 7, 3), (6, 1, 3))

    def drawn(*shapes: Any, **options: Any) -> list[Any]:
        return [op.samples(*shapes, seed=seed, **options) for seed in range(operands)]

    images, booleans = drawn(*shapes), [op.samples((2, 2), dtype=op.bool_, layout="")] * operands
    calls: dict[str, list[Any]] = {
        "images": images,
        "int16": drawn(*shapes, dtype=op.int16),
        "uniform int32": drawn((2, 3), (2, 3), dtype=op.int32, layout=""),
        "float16": drawn((9, 5), (1, 7), dtype=op.float16, layout="HW"),
        "float64": drawn((3,), (3,), dtype=op.float64, layout="C"),
        "numbers": [op.samples(*shapes, dtype=op.float32), *[np.float32(0.5)] * (operands - 1)],
    }
    cases = [op.case(name, *given).no_oracle() for name, given in calls.items()]
    cases.append(op.case("empty", *(op.samples(),) * operands).equals([]).no_oracle())
    cases.append(op.case("booleans", *booleans).type_error("booleans"))
    if operands > 1:
        two = op.samples((2,), (2,), (2,), layout="C")
        three = op.samples((3,), (3,), (3,), layout="C")
        cases += [
            op.case("channels", images[0], *[three] * (operands - 1)).no_oracle(),
            op.case("no broadcast", images[0], *[two] * (operands - 1)).value_error("sample 0"),
        ]
    return cases


functions = _declare()
"""The operators by the names of their functions."""
