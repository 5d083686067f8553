"""What the random operators share: shapes, dtypes, and the loop over samples."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.rows.convert import convert_array
from gradiva.eager.support.lazy_import import lazy_module

# Few calls need it, and `import gradiva` must stay fast.
_translate: Any = lazy_module("gradiva.eager.execution.cuda_translate")


def drawn_type(like: Any, shape: Any, dtype: Any, default: op.DType) -> op.SampleType:
    """The type of drawn samples: as many axes as `like` or `shape` says, none without them."""
    chosen: op.DType = default if dtype is None else dtype
    if like is not None:
        if shape is not None:
            raise op.OperatorValueError(
                "give `shape` or an input whose shape is taken, not both", argument="shape"
            )
        return op.SampleType(chosen, like.ndim, "", like.device)
    if isinstance(shape, op.SampleType | op.Value):
        return op.SampleType(chosen, None, "")
    if shape is not None and any(extent < 0 for extent in shape):
        raise op.wrong_value("shape", "extents from 0 on", shape)
    return op.SampleType(chosen, 0 if shape is None else len(shape), "")


def drawn_shapes(call: op.Call) -> Any:
    """The shape rule of random operators whose only input is `shape_like`."""
    return drawn_shapes_of(call, call.inputs[0] if call.inputs else None)


def drawn_shapes_of(call: op.Call, like: op.Batch | None) -> Any:
    """The shapes of `like`, or those that the argument `shape` says."""
    if like is not None:
        return like.batch_shape
    rows = call["shape"]
    if rows is None:
        return op.BatchShape.equal(call.size, ())
    op.refuse_samples((rows < 0).any(axis=1), "shape", "extents from 0 on", rows)
    return rows


def fill(call: op.Call, kernel: Callable[..., Any], native: type, *parameters: Any) -> None:
    """Draw into the output, through `native` elements if it has another dtype.

    kernel((out, offsets, counts), call.draws, *parameters, begin, end)
    """
    target = call.outputs[0]
    same = target.data.dtype == native
    drawn = target.data if same else np.zeros(target.data.shape, native)
    places = drawn, target.batch_shape.offsets, target.batch_shape.volumes
    call.for_samples(kernel, places, call.draws, *parameters)
    if not same:
        target.data[:] = convert_array(drawn, target.data.dtype)


@lru_cache(maxsize=16)
def _draw_kernel(file: Path) -> op.CudaKernel:
    return op.CudaKernel("draw", ("philox.cuh", "arithmetic.cuh", None, file, "draw.cuh"))


def launch_draws(
    call: op.Call, file: Path, parameters: np.ndarray[Any, Any], calls: Any = None
) -> op.Launch:
    """What `fill` does, as a launch on a GPU. file: a `.cuh` with the function `drawn`, which
    makes a value of a word and the sample's row of `parameters`, (N, P). calls: a kernel marked
    with `jit` whose translation the file calls."""
    target = call.outputs[0]
    assert call.positions is not None
    volumes = target.batch_shape.volumes
    table = np.stack([target.batch_shape.offsets, volumes, call.positions], axis=1)
    blocks = op.blocks_of(-(-volumes // 4))
    types = {"Target": op.type_name(target.data.dtype), "Parameter": op.type_name(parameters.dtype)}
    translation = "" if calls is None else _translate.translation_of(calls)
    key = call.seed_and_number
    arguments = (
        op.OutputArg(target.data),
        table,
        blocks.table,
        *key,
        np.ascontiguousarray(parameters),
    )
    width = np.int64(parameters.shape[1])
    return op.Launch(_draw_kernel(file).unit(types, translation), blocks.total, (*arguments, width))
