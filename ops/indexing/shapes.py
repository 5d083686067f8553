"""`shapes`: the shape of each sample, as data."""

from __future__ import annotations

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.gpu.copies import sample_launches

_DTYPES = (op.int64, op.int32, op.uint32, op.uint64, op.float32, op.float64)


@op.operator("shapes", bfloat16=True)
def shapes(
    input: op.SampleType, /, *, dtype: op.DTypeLike = op.int64, **common: op.Unpack[op.Common]
) -> op.SampleType:
    """The extents of each sample: 1-D, one number per axis.

    dtype: int64 (the default), int32, uint32, uint64, float32 or float64. In pipelines
    `DataNode.shape()` is the usual way to write it; a Batch tells its `shape` itself.
    """
    if dtype not in _DTYPES:
        raise op.OperatorTypeError(
            argument="dtype", expected=", ".join(d.name for d in _DTYPES), got=str(dtype)
        )
    chosen: op.DType = dtype  # type: ignore[assignment]  # one of the above
    return op.SampleType(chosen, 1, "", input.device)


shapes.metadata = True


@shapes.shapes
def _shapes(call: op.Call) -> op.Geometry:
    return op.Geometry.equal(call.size, (call.inputs[0].ndim,))


@shapes.cpu
def _cpu(call: op.Call) -> None:
    call.outputs[0].as_array()[...] = call.inputs[0].geometry.shapes


@shapes.gpu
def _gpu(call: op.Call) -> list[op.Launch]:
    target = call.outputs[0]
    values = call.inputs[0].geometry.shapes.astype(target.data.dtype)
    return sample_launches(values, target.geometry.offsets, call)


@shapes.cases
def _cases() -> list[op.Case]:
    ragged = op.samples((3, 4, 3), (5, 1, 3))
    extents = [np.array([3, 4, 3]), np.array([5, 1, 3])]
    return [
        op.case("ragged", ragged).equals(extents).no_oracle(),
        op.case("float", ragged, dtype=op.float32)
        .equals([e.astype(np.float32) for e in extents])
        .no_oracle(),
        op.case("scalars", op.samples((), (), layout=""))
        .equals([np.empty(0, np.int64)] * 2)
        .no_oracle(),
        op.case("empty", op.samples()).equals([]),
        op.case("dtype", ragged, dtype="uint8").type_error("int64"),
    ]
