"""One kernel for a chain of pixel-wise steps, generated from their row kernels."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from gradiva.eager.cuda.launch import (
    CudaKernel,
    Launch,
    NoGpuKernelError,
    OutputArg,
    blocks_of,
    type_name,
)
from gradiva.eager.operators.operator import OperatorBase
from gradiva.eager.operators.pixelwise import Pixelwise, axes_of, check_channels, step_of
from gradiva.eager.rows.row_chain import RowStep
from gradiva.eager.support.errors import OperatorRuntimeError
from gradiva.eager.types.arrays import Int64Array
from gradiva.eager.types.dtypes import bfloat16
from gradiva.eager.values.batch import Batch

from .cuda_translate import UntranslatableError, translated, translated_name

if TYPE_CHECKING:
    from gradiva.eager.operators.call import Call

_PIXELS: Final = CudaKernel("pixels", ("arithmetic.cuh", None, "pixels.cuh"), registers=64)


def gpu_kernel(operator: OperatorBase) -> Callable[[Call], Launch | Sequence[Launch]] | None:
    """The GPU kernel of an operator: the one it declares, or what follows from its row kernel.

    None if it has neither, or a row kernel that cannot be translated.
    """
    declared: Any = operator.kernels.get("gpu")
    if declared is None and isinstance(operator.fusion_role, Pixelwise):
        try:
            translated(cast(FunctionType, operator.fusion_role.row.function))
        except UntranslatableError:
            return None
        return pixelwise_launch
    return declared  # type: ignore[no-any-return]


def pixelwise_launch(call: Call) -> Launch:
    """The launch of one pixel-wise operator: a chain of one step over whole samples."""
    for name in call.operator.fusion_role.unfusable_arguments:
        if call.arguments[name] is not None:
            raise NoGpuKernelError(argument=name, expected="None", got=repr(call.arguments[name]))
    return chain_launch([call], call.inputs[0], call.outputs[0])


def chain_launch(calls: Sequence[Call], source: Batch, target: Batch) -> Launch:
    """One launch for calls of pixel-wise operators, each of which reads what the one before makes.

    calls: prepared, of the same batch; only the first one's input and the last one's output are
    in memory. Raises OperatorRuntimeError for bfloat16 and for what cannot be translated.
    """
    if bfloat16 in (source.dtype, target.dtype):
        raise OperatorRuntimeError("there is no GPU kernel for bfloat16")
    layout = source.type.layout or target.type.layout or ""
    shapes = source.batch_shape.shapes
    axis = layout.find("C")
    channels = int(shapes[0, axis]) if axis >= 0 and len(shapes) else 1
    steps, count = [], channels
    for call in calls:
        steps.append(step_of(call, call.operator.fusion_role, count))
        count = steps[-1].made
    alike = all(s.row.kind == "channelwise" and s.parameters.shape[1] == 1 for s in steps)
    if not alike and axis >= 0 and (axes_of(layout, shapes)[1] != channels).any():
        raise OperatorRuntimeError("the samples of a batch have different numbers of channels")
    if len(shapes):
        counts = [channels, *(step.made for step in steps[:-1])]
        for call, step, before in zip(calls, steps, counts, strict=True):
            check_channels(call, step, before)
    if alike:
        layout, channels, count = "", 1, 1
    table = _table(source, target, layout, channels, count)
    parameters = chain_parameters(steps)
    kinds = {"Source": source.data.dtype, "Target": target.data.dtype}
    types = {name: type_name(dtype) for name, dtype in kinds.items()}
    unit = _PIXELS.unit(types, chain_source(steps, steps[0].source, channels, types["Target"]))
    blocks = blocks_of(table[:, 2])
    return Launch(
        unit, blocks.total, (source.data, OutputArg(target.data), table, blocks.table, parameters)
    )


def _table(source: Batch, target: Batch, layout: str, channels: int, made: int) -> Int64Array:
    """(N, 10): the struct `Pixels` of pixels.cuh. layout: empty if all channels are alike."""
    shapes = source.batch_shape.shapes
    table = np.ones((len(shapes), 10), np.int64)
    table[:, 0], table[:, 1] = source.batch_shape.offsets, target.batch_shape.offsets
    if not layout:
        table[:, 2] = table[:, 3] = source.batch_shape.volumes
        return table
    frames, _, inner = axes_of(layout, shapes)
    pixel_sizes = (1, 1)
    if layout[-1] == "C":
        frames, inner, pixel_sizes = np.ones_like(frames), frames, (channels, made)
    table[:, 2], table[:, 3] = frames * inner, inner
    table[:, 4], table[:, 5] = inner * channels, inner * made
    table[:, 6:8] = pixel_sizes
    table[:, 8:10] = 1 if layout[-1] == "C" else inner[:, None]
    return table


def chain_parameters(steps: Sequence[RowStep]) -> np.ndarray[Any, np.dtype[np.float32]]:
    """(N, PARAMETERS): those of all steps, by sample; one number that is not read, without any."""
    rows = [step.parameters.reshape(len(step.parameters), -1) for step in steps]
    joined = np.concatenate(rows, axis=1) if rows else np.zeros((1, 1))
    return np.ascontiguousarray(joined, np.float32)


def chain_source(
    steps: Sequence[RowStep],
    source: np.dtype[Any],
    channels: int,
    target: str,
    given: str = "Source",
) -> str:
    """C++: the function `chain`, which takes one pixel through all steps, and PARAMETERS.

    source: of what the first step reads; given, target: C++ types of what lies in memory.
    """
    bodies: dict[str, str] = {}
    here = type_name(source)
    given_each = sum(math.prod(step.parameters.shape[1:]) for step in steps)
    lines = [
        f"constexpr i64 PARAMETERS = {given_each or 1};",
        "DEVICE void chain(",
        f"    const {given}* source, i64 source_plane, Target* target, i64 target_plane,",
        "    const f32* parameters",
        ") {",
        f"    {here} values0[{channels}];",
        f"    for (int c = 0; c < {channels}; c++)",
        f"        values0[c] = convert<{here}>(source[c * source_plane]);",
    ]
    first = 0
    for number, step in enumerate(steps):
        function = cast(FunctionType, step.row.function)
        bodies.update(translated(function))
        name = translated_name(function)
        here, there = type_name(step.source), type_name(step.target)
        rows, count = step.parameters.shape[1:]
        made = step.made if step.row.kind == "mixing" else channels
        lines.append(f"    {there} values{number + 1}[{made}];")
        if step.row.kind == "mixing":
            lines += [
                f"    {name}(",
                f"        Rows<const {here}>{{values{number}, {channels}, 1}},",
                f"        Rows<{there}>{{values{number + 1}, {made}, 1}},",
                f"        Strip<const f32>{{parameters + {first}, {count}}}",
                "    );",
            ]
        else:
            stride = count if rows > 1 else 0
            lines += [
                f"    for (int c = 0; c < {channels}; c++)",
                f"        {name}(",
                f"            Strip<const {here}>{{values{number} + c, 1}},",
                f"            Strip<{there}>{{values{number + 1} + c, 1}},",
                f"            Strip<const f32>{{parameters + {first} + c * {stride}, {count}}}",
                "        );",
            ]
        first += rows * count
        channels = made
    lines += [
        f"    for (int c = 0; c < {channels}; c++)",
        f"        target[c * target_plane] = convert<{target}>(values{len(steps)}[c]);",
        "}\n",
    ]
    return "\n".join([*bodies.values(), *lines])
