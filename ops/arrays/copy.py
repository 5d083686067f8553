"""`copy`: the samples in memory of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradiva.eager.cuda.launch import Launch
from gradiva.eager.gpu.pieces import sample_launches
from gradiva.eager.operators.call import Call
from gradiva.eager.operators.cases import Case, case, samples
from gradiva.eager.operators.operator import operator
from gradiva.eager.types.batch_shape import Geometry
from gradiva.eager.types.dtypes import bool_, float16, int64
from gradiva.eager.types.sample_type import SampleType

from .copy_pieces import copy_pieces

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from gradiva.eager.operators.arguments import Common

__all__ = ["copy"]


@operator("copy", bfloat16=True)
def copy(input: SampleType, /, **common: Unpack[Common]) -> SampleType:
    """The same samples in other memory; shapes, dtype and layout stay. Any dtype and rank.

    What comes out of `reshape`, `squeeze` or `permute_batch` lies in the memory of their input;
    a copy is independent of it.
    """
    return input


copy.transfers = True


@copy.shapes
def _shapes(call: Call) -> Geometry:
    return call.inputs[0].geometry


@copy.cpu
def _cpu(call: Call) -> None:
    source = call.inputs[0]
    copy_pieces(call, source.data, source.geometry.offsets * source.dtype.itemsize)


@copy.gpu
def _gpu(call: Call) -> list[Launch]:
    source = call.inputs[0]
    return sample_launches(source.data, source.geometry.offsets, call)


@copy.cases
def _cases() -> list[Case]:
    images = samples((4, 5, 3), (1, 7, 3), (6, 2, 3))
    halves = samples((4, 2), (4, 2), dtype=float16, layout="HW")
    numbers = samples((), (), dtype=int64, layout="")
    masks = samples((2, 0), (1, 3), dtype=bool_, layout="")
    return [
        case("ragged", images).equals([images.at(i) for i in range(3)]),
        case("uniform", halves).equals([halves.at(i) for i in range(2)]),
        case("scalars", numbers).equals([numbers.at(i) for i in range(2)]),
        case("no elements", masks).equals([masks.at(i) for i in range(2)]),
        case("empty", samples()).equals([]),
        case("two inputs", images, images).type_error("1 input"),
    ]
