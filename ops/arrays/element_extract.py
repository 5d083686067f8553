"""`element_extract`: single frames of sequences."""

from __future__ import annotations

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.gpu.copies import sample_launches

from .copy_pieces import copy_pieces
from .frames import require_frames, require_in_range


@op.operator("element_extract", bfloat16=True)
def element_extract(
    input: op.SampleType, /, *, element_map: op.Ints, **common: op.Unpack[op.Common]
) -> op.SampleType | tuple[op.SampleType, ...]:
    """Single frames of each sequence.

    input: any dtype, at least 1-D, whose first axis is that of frames: a layout that begins with F,
    or none. element_map: numbers of frames, from 0; one output for each.

    The outputs have an axis and a letter less than the input: one, or a tuple of several. Raises
    OperatorTypeError for other layouts and scalars, OperatorValueError for no numbers at all and,
    with the sample, for frames that are not there.
    """
    chosen: tuple[int, ...] = element_map  # type: ignore[assignment]  # converted by the engine
    require_frames(input)
    if not chosen or min(chosen) < 0:
        raise op.OperatorValueError(
            argument="element_map", expected="numbers from 0 on", got=str(chosen)
        )
    frame = input.with_(
        ndim=None if input.ndim is None else input.ndim - 1, layout=(input.layout or "")[1:]
    )
    if input.layout is None:
        frame = frame.with_(layout=None)
    return frame if len(chosen) == 1 else (frame,) * len(chosen)


@element_extract.shapes
def _shapes(call: op.Call) -> tuple[op.Int64Array, ...]:
    source, chosen = call.inputs[0], call["element_map"]
    numbers = np.tile(np.array(chosen, np.int64), (call.size, 1))
    require_in_range(numbers, True, source, "element_map")
    if source.layout:
        call.types = tuple(type.with_(layout=source.layout[1:]) for type in call.types)
    return (source.geometry.shapes[:, 1:],) * len(chosen)


@element_extract.cpu
def _cpu(call: op.Call) -> None:
    source = call.inputs[0]
    for output, frame in enumerate(call["element_map"]):
        begins = source.geometry.offsets + frame * call.outputs[output].geometry.volumes
        copy_pieces(call, source.data, begins * source.dtype.itemsize, output)


@element_extract.gpu
def _gpu(call: op.Call) -> list[op.Launch]:
    source, launches = call.inputs[0], []
    for output, frame in enumerate(call["element_map"]):
        begins = source.geometry.offsets + frame * call.outputs[output].geometry.volumes
        launches += sample_launches(source.data, begins, call, output)
    return launches


@element_extract.cases
def _cases() -> list[op.Case]:
    videos = op.samples((4, 3, 5, 3), (2, 1, 7, 3), layout="FHWC")
    plain = op.samples((3, 4), (2, 4), dtype=op.float32, layout="")
    numbers = op.samples((3,), (2,), dtype=op.int16, layout="F")
    return [
        op.case("one", videos, element_map=1).equals([videos.at(i)[1] for i in range(2)]),
        op.case("several", videos, element_map=[1, 0, 1]).equals(
            [videos.at(i)[1] for i in range(2)]
        ),
        op.case("no layout", plain, element_map=[0]).equals([plain.at(i)[0] for i in range(2)]),
        op.case("to scalars", numbers, element_map=[1])
        .equals([numbers.at(i)[1] for i in range(2)])
        .no_oracle(),
        op.case("empty", op.samples(layout="FHWC"), element_map=[0]).equals([]),
        op.case("too few frames", videos, element_map=[2]).value_error("sample 1"),
        op.case("negative", videos, element_map=[-1]).value_error("`element_map`"),
        op.case("nothing", videos, element_map=[]).value_error("`element_map`"),
        op.case("images", op.samples((2, 2, 3)), element_map=[0]).type_error("frames"),
    ]
