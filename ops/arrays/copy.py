"""`copy`: the samples in memory of their own."""

from __future__ import annotations

from gradiva.eager import extension as op
from gradiva.eager.gpu.copies import sample_launches

from .copy_pieces import copy_pieces


@op.operator("copy", bfloat16=True, same_shapes=True)
def copy(input: op.SampleType, /, **common: op.Unpack[op.Common]) -> op.SampleType:
    """The same samples in other memory; shapes, dtype and layout stay. Any dtype and rank.

    What comes out of `reshape`, `squeeze` or `permute_batch` lies in the memory of their input;
    a copy is independent of it.
    """
    return input


copy.transfers = True


@copy.cpu
def _cpu(call: op.Call) -> None:
    source = call.inputs[0]
    copy_pieces(call, source.data, source.geometry.offsets * source.dtype.itemsize)


@copy.gpu
def _gpu(call: op.Call) -> list[op.Launch]:
    source = call.inputs[0]
    return sample_launches(source.data, source.geometry.offsets, call)


@copy.cases
def _cases() -> list[op.Case]:
    images = op.samples((4, 5, 3), (1, 7, 3), (6, 2, 3))
    halves = op.samples((4, 2), (4, 2), dtype=op.float16, layout="HW")
    numbers = op.samples((), (), dtype=op.int64, layout="")
    masks = op.samples((2, 0), (1, 3), dtype=op.bool_, layout="")
    return [
        op.case("ragged", images).equals([images.at(i) for i in range(3)]),
        op.case("uniform", halves).equals([halves.at(i) for i in range(2)]),
        op.case("scalars", numbers).equals([numbers.at(i) for i in range(2)]),
        op.case("no elements", masks).equals([masks.at(i) for i in range(2)]),
        op.case("empty", op.samples()).equals([]),
        op.case("two inputs", images, images).type_error("1 input"),
    ]
