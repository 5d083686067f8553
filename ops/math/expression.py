"""Arithmetic on a GPU: one kernel for an operator, or for a tree of them.

A `Term` is C++ that computes an element, and its dtype. Terms are put together by `applied`, with
the rules of types that the CPU has, so that a tree gives the bits of its operators one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from gradiva.eager import extension as op

from .promotion import COMPARISON, promote, result_dtype

FUNCTIONS: Final = {
    "+": "add", "-": "subtract", "*": "multiply", "/": "divide", "//": "divide",
    "%": "remainder_of", "**": "power", "fpow": "power", "atan2": "angle",
    "&": "both_bits", "|": "any_bits", "^": "other_bits", "<<": "shifted_left",
    ">>": "shifted_right", "~": "turned_bits",
    "==": "equal", "!=": "not_equal", "<": "less", "<=": "less_equal", ">": "greater",
    ">=": "greater_equal", "min": "smaller", "max": "larger", "clamp": "clamped",
    "pos": "same", "neg": "negated", "abs": "absolute", "fabs": "absolute",
    "floor": "rounded_down", "ceil": "rounded_up", "sqrt": "root", "rsqrt": "inverse_root",
    "cbrt": "cube_root", "exp": "exponential", "log": "logarithm", "log2": "logarithm_2",
    "log10": "logarithm_10", "sin": "sine", "cos": "cosine", "tan": "tangent",
    "asin": "arc_sine", "acos": "arc_cosine", "atan": "arc_tangent", "sinh": "hyperbolic_sine",
    "cosh": "hyperbolic_cosine", "tanh": "hyperbolic_tangent", "asinh": "area_sine",
    "acosh": "area_cosine", "atanh": "area_tangent",
}  # fmt: skip
"""The functions of expression.cuh by the symbols of `promotion` and `evaluate`."""

EXACT: Final = frozenset({"floor", "ceil", "sqrt", "rsqrt", "fabs", "min", "max", "clamp"})
"""Functions whose bits do not depend on who wrote the library."""

LIBRARY: Final = 1e-6
"""The tolerance for the others. NumPy's and CUDA's are within 4 units in the last place of float32,
1.2e-7 each, of the true value."""

_HERE: Final = Path(__file__).parent
_SPREAD: Final = op.CudaKernel("spread", (_HERE / "expression.cuh", None, _HERE / "spread.cuh"))


class Term(NamedTuple):
    """C++ for an element, and its dtype."""

    text: str
    dtype: np.dtype[Any]


class Spread(NamedTuple):
    """An operand of a launch: memory, and where its samples lie.

    data: an array, or `Scratch`; shapes: (N, axes), which broadcast to those of the result.
    """

    data: Any
    offsets: op.Int64Array
    shapes: op.Int64Array


def operand(number: int, dtype: np.dtype[Any]) -> Term:
    """An element of an operand."""
    return Term(f"operand{number}[at[{number}]]", dtype)


def applied(symbol: str, *terms: Term) -> Term:
    """An operator on terms. symbol: as `evaluate` has it. Raises TypeError for wrong types."""
    types = [term.dtype for term in terms]
    dtype = result_dtype(symbol, *types, half=True)
    within = promote(*types) if symbol in COMPARISON else dtype
    given = ", ".join(term.text for term in terms)
    return Term(f"{FUNCTIONS[symbol]}<{op.type_name(within)}>({given})", dtype)


def operation_launch(call: op.Call, symbol: str) -> op.Launch:
    """The GPU kernel of one operator."""
    terms = [operand(k, one.data.dtype) for k, one in enumerate(call.inputs)]
    return expression_launch(call.inputs, call.outputs[0], applied(symbol, *terms))


def expression_launch(operands: Sequence[op.Batch], target: op.Batch, term: Term) -> op.Launch:
    """One launch for a tree of operators: `target` = `term` of the elements of `operands`."""
    given = [Spread(one.data, one.batch_shape.offsets, one.batch_shape.shapes) for one in operands]
    return spread_launch(given, target.data, target.batch_shape, term.text)


def spread_launch(
    operands: Sequence[Spread],
    target: Any,
    batch_shape: op.BatchShape,
    text: str,
    functions: str = "",
) -> op.Launch:
    """The launch that fills `target`. text: C++ for an element; functions: C++ that it calls."""
    extents, steps = _merged(batch_shape.shapes, [one.shapes for one in operands])
    count, axes = len(operands), extents.shape[1]
    places = [batch_shape.offsets, batch_shape.volumes, *(one.offsets for one in operands)]
    moves = steps.reshape(len(extents), count * axes)
    table = np.concatenate([np.stack(places, axis=1), extents, moves], axis=1)
    kinds = [op.type_name(one.data.dtype) for one in operands]
    pointers = ", ".join(f"const {kind}* operand{k}" for k, kind in enumerate(kinds))
    generated = (
        f"{functions}#define OPERANDS {pointers}\n#define VALUE {text}\n"
        f"constexpr int COUNT = {count}, AXES = {axes};\n"
    )
    unit = _SPREAD.unit({"Target": op.type_name(target.dtype)}, generated)
    blocks = op.blocks_of(batch_shape.volumes)
    given = [one.data for one in operands]
    return op.Launch(unit, blocks.total, (op.OutputArg(target), table, blocks.table, *given))


def _merged(
    shapes: op.Int64Array, given: Sequence[op.Int64Array]
) -> tuple[op.Int64Array, op.Int64Array]:
    """(N, axes) extents of the result and (N, operands, axes) steps of operands, with as few axes
    as these samples need: one, if no operand stretches but to a whole sample."""
    count, ndim = shapes.shape
    steps = np.zeros((count, len(given), ndim), np.int64)
    for k, own in enumerate(given):
        pitch = np.ones(count, np.int64)
        for axis in range(ndim - 1, ndim - 1 - own.shape[1], -1):
            extent = own[:, axis - ndim + own.shape[1]]
            steps[:, k, axis] = np.where(extent == 1, 0, pitch)
            pitch = pitch * extent
    extents, moves = [np.ones(count, np.int64)], [np.zeros((count, len(given)), np.int64)]
    for axis in range(ndim - 1, -1, -1):
        outer, step = shapes[:, axis], steps[:, :, axis]
        inner, within = extents[-1], moves[-1]
        follows = (step == within * inner[:, None]).all(axis=1)
        if (follows | (outer == 1) | (inner == 1)).all():
            extents[-1] = outer * inner
            moves[-1] = np.where((inner == 1)[:, None], step, within)
        else:
            extents.append(outer)
            moves.append(step)
    return np.stack(extents[::-1], axis=1), np.stack(moves[::-1], axis=2)
