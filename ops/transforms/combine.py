"""`transforms.combine`: transforms one after the other."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradiva.eager import extension as op

from .affine import axes_of, product, transform_type


@op.operator("transforms.combine", schema="transforms__Combine", inputs=(2, 99))
def combine(
    *inputs: op.SampleType, reverse_order: bool = False, **common: op.Unpack[op.Common]
) -> op.SampleType:
    """Combine several transforms into one: the first input is applied first, then the second.

    Args:
        inputs: 2 to 99 transforms of the same number of axes, float32 (n, n + 1); some or all may
            be sequences of the same numbers of frames, with layouts that begin with F.
        reverse_order: the last one is applied first.

    Returns:
        Float32 matrices of the inputs' shape.

    Raises:
        OperatorTypeError: for other inputs.
        OperatorValueError: for shapes that do not fit together.

    Example:
        shift = gradiva.transforms.translation(offset=(10, 20))
        double = gradiva.transforms.scale(scale=(2, 2))
        gradiva.transforms.combine(shift, double)  # [[2.0, 0.0, 20.0], [0.0, 2.0, 40.0]]
    """
    types = [transform_type(input) for input in inputs]
    longest = next((type for type in types if type.ndim == 3), None)
    if longest is not None:
        return longest
    if any(type.ndim is None for type in types):
        return op.SampleType(op.float32, None, None)
    return next((type for type in types if type.layout is None), types[0])


@combine.shapes
def _shapes(call: op.Call) -> op.BatchShape:
    axes = [axes_of(call, number) for number in range(len(call.inputs))]
    other = next((number for number, count in enumerate(axes) if count != axes[0]), None)
    if other is not None:
        raise op.OperatorValueError(
            f"input {other} is about another number of axes",
            expected=f"{axes[0]}, as input 0",
            got=str(axes[other]),
        )
    longest = max(call.inputs, key=lambda batch: batch.batch_shape.ndim)
    if longest.batch_shape.ndim == 3:
        wanted = longest.batch_shape.shapes[:, 0]
        for number, batch in enumerate(call.inputs):
            frames = batch.batch_shape.shapes[:, 0]
            if batch.batch_shape.ndim == 3:
                problem = f"input {number} has another number of frames"
                op.refuse_samples(frames != wanted, "", lambda k: str(wanted[k]), frames, problem)
    return longest.batch_shape


def _with_frames(batch: op.Batch, target: op.Batch) -> np.ndarray[Any, Any]:
    """All transforms, with an axis for the frames of others, if there are any."""
    given = batch.as_array()
    return given[:, None] if batch.ndim < target.ndim else given


@combine.cpu
def _cpu(call: op.Call) -> None:
    order = call.inputs[::-1] if call["reverse_order"] else call.inputs
    target = call.outputs[0]
    if all(batch.batch_shape.uniform for batch in order):
        first, *others = (_with_frames(batch, target) for batch in order)
        for other in others:
            first = product(other, first)
        target.as_array()[...] = first
        return
    for index in range(call.size):
        result = order[0].array(index)
        for batch in order[1:]:
            result = product(batch.array(index), result)
        target.array(index)[...] = result


@combine.cases
def _cases() -> list[op.Case]:
    one, two = (
        op.samples((2, 3), (2, 3), dtype=op.float32, layout="", seed=seed) for seed in (0, 1)
    )
    frames = op.samples((3, 2, 3), (1, 2, 3), dtype=op.float32, layout="FAB")
    space = op.samples((3, 4), (3, 4), dtype=op.float32, layout="")
    identity = np.eye(2, 3, dtype=np.float32)
    same = [one.at(i) for i in (0, 1)]
    return [
        op.case("two", one, two).no_oracle(),
        op.case("reversed", one, two, reverse_order=True).no_oracle(),
        op.case("three", one, two, one).no_oracle(),
        op.case("an array", one, identity).equals(same).no_oracle(),
        op.case("sequence", frames, two).no_oracle(),
        op.case("space", space, space).no_oracle(),
        op.case("empty", *(op.samples(layout="FA", dtype=op.float32),) * 2).equals([]).no_oracle(),
        op.case("axes", one, space).value_error("input 1"),
        op.case(
            "frames", frames, op.samples((2, 2, 3), (1, 2, 3), dtype=op.float32, layout="FAB")
        ).value_error("sample 0"),
        op.case("one alone", one).type_error("2 to 99"),
        op.case("bytes", one, op.samples((2, 3), (2, 3), layout="")).type_error("dtype"),
    ]
