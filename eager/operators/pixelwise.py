"""Operators that work pixel by pixel: declared once, run alone or inside a fused group."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

import numpy as np

from gradiva.eager.rows.convert import convert_array
from gradiva.eager.rows.row_chain import (
    FRAMES,
    LAST,
    PIECE,
    PIXELS,
    ROWS,
    SOURCE,
    SOURCE_FRAME,
    SOURCE_PLANE,
    SOURCE_ROW,
    TARGET,
    TARGET_FRAME,
    TARGET_PLANE,
    TARGET_ROW,
    Chain,
    RowStep,
    strip_calls,
    strips_use_nontemporal,
    table,
)
from gradiva.eager.rows.row_kernel import RowKernel
from gradiva.eager.support.errors import OperatorTypeError, OperatorValueError, describe
from gradiva.eager.types.arrays import Int64Array
from gradiva.eager.types.batch_shape import SHARED, BatchShape
from gradiva.eager.types.coordinate_maps import IN_PLACE
from gradiva.eager.types.dtypes import float16

from .call import Call
from .operator import OperatorBase

__all__ = ["Pixelwise", "axes_of", "check_channels", "pixelwise", "run_pixelwise", "step_of"]

F = TypeVar("F", bound=Callable[[Call], "np.ndarray[Any, np.dtype[np.float32]]"])


class Pixelwise(NamedTuple):
    """How an operator works pixel by pixel: a row kernel, and its parameters for a call.

    parameters: from a call to float32 (N, 1, P), or (N, channels, P) for a "channelwise" kernel
    whose channels are treated differently. made: channels of the output, or how to tell them from
    a call; 0: as many as came in. keeps_values: whether the values that come in leave as they are.
    unfusable_arguments: where one of them is given, a call is no such step, and joins no group.
    """

    row: RowKernel
    parameters: Callable[[Call], np.ndarray[Any, np.dtype[np.float32]]]
    made: int | Callable[[Call], int] = 0
    keeps_values: bool = False
    unfusable_arguments: tuple[str, ...] = ()


def pixelwise(
    operator: OperatorBase,
    row: RowKernel,
    made: int | Callable[[Call], int] = 0,
    keeps_values: bool = False,
    unless: Mapping[str, Callable[[Call], None]] | None = None,
) -> Callable[[F], F]:
    """Decorator of the function that computes the parameters: declare a pixel-wise operator.

    The operator gets its CPU kernel from this, and joins fused groups. The function gets the `Call`
    and returns float32, (N, 1, P): P numbers for each of the N samples. The row kernel sees those
    of the sample as its 1-D `parameters`. (N, channels, P) has numbers for each channel of the
    input, for a "channelwise" kernel; the channels are those of the axis C of the layout. P may be
    0. Another shape raises OperatorTypeError when the operator is called.

    operator: declared with `operator`, usually with `same_shapes=True`. row: the row kernel. made:
    channels of the output of a "mixing" kernel, or a function of the call that returns them; 0: as
    many as the input has. keeps_values: whether the values of the input leave as they are. unless:
    by the name of an argument, the CPU kernel of calls that give it: they are no such step.

    Example:
        @extension.operator("mine.add", same_shapes=True)
        def add(input, /, *, level: FloatArg = 0.0, **common):
            return input

        @extension.row_kernel()
        def add_row(source, target, parameters):
            for k in range(source.size):
                target[k] = extension.convert_sat(source[k] + parameters[0], target)

        @extension.pixelwise(add, add_row)
        def add_parameters(call):
            return call["level"][:, None, None]  # from (N,) to (N, 1, 1)
    """
    if not isinstance(row, RowKernel):
        raise OperatorTypeError(
            "the second argument of `pixelwise` is not a row kernel",
            expected="a function under `@row_kernel()`",
            got=describe(row),
        )

    def declare(parameters: F) -> F:
        others = dict(unless or {})
        spec = Pixelwise(row, parameters, made, keeps_values, tuple(others))

        def run(call: Call) -> None:
            for name, other in others.items():
                if call.arguments[name] is not None:
                    return other(call)
            return run_pixelwise(call, spec)

        operator.fusion_role, operator.moves = spec, IN_PLACE
        operator.kernels["cpu"] = run
        return parameters

    return declare


def axes_of(layout: str, shapes: Int64Array) -> tuple[Int64Array, Int64Array, Int64Array]:
    """(frames, channels, pixels) of each sample: what stands before C, C, and what follows it.

    Without a C there is one channel. Interleaved channels come last, so `pixels` is 1 for them.
    """
    axis = layout.find("C")
    if axis < 0:
        return np.ones(len(shapes), np.int64), np.ones(len(shapes), np.int64), shapes.prod(axis=1)
    before, after = shapes[:, :axis].prod(axis=1), shapes[:, axis + 1 :].prod(axis=1)
    return before, shapes[:, axis], after


def step_of(call: Call, spec: Pixelwise, channels: int) -> RowStep:
    """The step of a chain that a call is; `channels`: of its input."""
    source, target = call.inputs[0].dtype, call.types[0].dtype
    assert target is not None
    rows = _checked(call, spec.parameters(call))
    made = (spec.made(call) if callable(spec.made) else spec.made) or channels
    return RowStep(spec.row, _storable(source.numpy), _storable(target.numpy), rows, made)


def _checked(call: Call, rows: Any) -> np.ndarray[Any, np.dtype[np.float32]]:
    """The parameters that the function of `pixelwise` returns. Raises OperatorTypeError for a shape
    other than (N, any, any), beyond which kernels would read."""
    if not isinstance(rows, np.ndarray) or rows.ndim != 3 or len(rows) != call.size:
        raise _wrong_parameters(call, "1 or channels", rows)
    return rows


def check_channels(call: Call, step: RowStep, channels: int) -> None:
    """Raise OperatorTypeError for parameters of another number of channels than the input has."""
    if step.parameters.shape[1] not in (1, channels):
        count = f"1 or {channels}" if channels > 1 else "1"
        raise _wrong_parameters(call, count, step.parameters)


def _wrong_parameters(call: Call, channels: str, rows: Any) -> OperatorTypeError:
    shape = f"shape {rows.shape}" if isinstance(rows, np.ndarray) else describe(rows)
    return OperatorTypeError(
        "the function under `pixelwise` returns parameters of another shape",
        expected=f"a float32 array of shape (samples, {channels}, parameters), here "
        f"({call.size}, {channels}, P)",
        got=shape,
    )


def _storable(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Numba has no float16 on the CPU: such samples pass through float32."""
    return np.dtype(np.float32) if dtype == np.float16 else dtype


@functools.lru_cache(maxsize=256)
def _samples(
    source: BatchShape, target: BatchShape, layout: str, made: int, here: int, there: int
) -> Int64Array:
    """The table of samples for strips. layout: empty where all channels are treated alike; made:
    channels of the output; here, there: bytes of an element.
    """
    samples = table(len(source))
    if layout:
        frames, channels, inner = axes_of(layout, source.shapes)
    else:
        frames = channels = np.ones(len(source), np.int64)
        inner = source.volumes
    pixel_sizes = 1, 1
    if layout[-1:] == "C":
        pixel_sizes = int(channels[0]), made
        frames, inner = np.ones_like(frames), frames
    samples[:, FRAMES] = frames
    samples[:, ROWS] = -(-inner // PIECE)
    samples[:, PIXELS] = PIECE
    samples[:, LAST] = inner - (samples[:, ROWS] - 1) * PIECE
    samples[:, SOURCE] = source.offsets * here
    samples[:, TARGET] = target.offsets * there
    samples[:, SOURCE_FRAME] = inner * channels * here
    samples[:, TARGET_FRAME] = inner * made * there
    samples[:, SOURCE_ROW] = PIECE * pixel_sizes[0] * here
    samples[:, TARGET_ROW] = PIECE * pixel_sizes[1] * there
    samples[:, SOURCE_PLANE] = inner * here
    samples[:, TARGET_PLANE] = inner * there
    return samples


def run_pixelwise(call: Call, spec: Pixelwise) -> None:
    """The CPU kernel of a pixel-wise operator: a chain of one step over whole samples."""
    source, target = call.inputs[0], call.outputs[0]
    layout = source.type.layout or target.type.layout or ""
    shape, axis = source.batch_shape.shapes, layout.find("C")
    count = int(shape[0, axis]) if axis >= 0 else 1
    step = step_of(call, spec, count)
    alike = spec.row.kind == "channelwise" and step.parameters.shape[1] == 1
    if not alike and not source.batch_shape.uniform:
        channels = axes_of(layout, shape)[1]
        if (channels != count).any():
            raise OperatorValueError(
                "the samples of a batch have different numbers of channels",
                expected=f"{count}, as in sample 0",
                got=str(int(channels[channels != count][0])),
                sample=int(np.flatnonzero(channels != count)[0]),
            )
    check_channels(call, step, count)
    # One channel that becomes several is interleaved, or a plane, as the several will be.
    planes = not alike and layout[-1:] != "C"
    data = source.data
    if data.dtype != step.source:
        data = convert_array(data, step.source)
    result = target.data
    if target.dtype is float16:
        result = np.zeros(target.data.shape, np.float32)
    made = 1 if alike else step.made
    batch_shapes = source.batch_shape, target.batch_shape
    # Batch shapes of equal samples are shared by batches.
    shared = call.size <= SHARED and batch_shapes[0].uniform and batch_shapes[1].uniform
    fill = _samples if shared else _samples.__wrapped__
    samples = fill(*batch_shapes, "" if alike else layout, made, data.itemsize, result.itemsize)
    count = 1 if alike else count
    past = strips_use_nontemporal(result, samples)
    chain = Chain((step,), data.dtype, count, PIECE, planes, planes, past=past)
    call.for_calls(functools.partial(strip_calls, data, samples, chain, result))
    if result is not target.data:
        target.data[:] = convert_array(result, target.data.dtype)
