"""`shapes`: the shape of each sample, as data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gradiva.eager.cuda.launch import Launch
from gradiva.eager.gpu.pieces import sample_launches
from gradiva.eager.operators.arguments import DTypeLike
from gradiva.eager.operators.call import Call
from gradiva.eager.operators.cases import Case, case, samples
from gradiva.eager.operators.operator import operator
from gradiva.eager.support.errors import OperatorTypeError
from gradiva.eager.types.batch_shape import Geometry
from gradiva.eager.types.dtypes import DType, float32, float64, int32, int64, uint32, uint64
from gradiva.eager.types.sample_type import SampleType

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from gradiva.eager.operators.arguments import Common

__all__ = ["shapes"]

_DTYPES = (int64, int32, uint32, uint64, float32, float64)


@operator("shapes", bfloat16=True)
def shapes(
    input: SampleType, /, *, dtype: DTypeLike = int64, **common: Unpack[Common]
) -> SampleType:
    """The extents of each sample: 1-D, one number per axis.

    dtype: int64 (the default), int32, uint32, uint64, float32 or float64. In pipelines
    `DataNode.shape()` is the usual way to write it; a Batch tells its `shape` itself.
    """
    if dtype not in _DTYPES:
        raise OperatorTypeError(
            argument="dtype", expected=", ".join(d.name for d in _DTYPES), got=str(dtype)
        )
    chosen: DType = dtype  # type: ignore[assignment]  # one of the above
    return SampleType(chosen, 1, "", input.device)


shapes.metadata = True


@shapes.shapes
def _shapes(call: Call) -> Geometry:
    return Geometry.equal(call.size, (call.inputs[0].ndim,))


@shapes.cpu
def _cpu(call: Call) -> None:
    call.outputs[0].as_array()[...] = call.inputs[0].geometry.shapes


@shapes.gpu
def _gpu(call: Call) -> list[Launch]:
    target = call.outputs[0]
    values = call.inputs[0].geometry.shapes.astype(target.data.dtype)
    return sample_launches(values, target.geometry.offsets, call)


@shapes.cases
def _cases() -> list[Case]:
    ragged = samples((3, 4, 3), (5, 1, 3))
    extents = [np.array([3, 4, 3]), np.array([5, 1, 3])]
    return [
        case("ragged", ragged).equals(extents).no_oracle(),
        case("float", ragged, dtype=float32)
        .equals([e.astype(np.float32) for e in extents])
        .no_oracle(),
        case("scalars", samples((), (), layout="")).equals([np.empty(0, np.int64)] * 2).no_oracle(),
        case("empty", samples()).equals([]),
        case("dtype", ragged, dtype="uint8").type_error("int64"),
    ]
