"""`transpose`: permute the axes of each sample."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from gradiva.eager import extension as op
from gradiva.eager.execution.gpu_copies import steps_of, transpose_launch
from gradiva.eager.jit.jit import always_inline
from gradiva.eager.operators.fusion_roles import ToPlanar
from gradiva.eager.types.arrays import Slabs, Vector

Int64s = NDArray[np.int64]


@op.operator("transpose", schema="Transpose", bfloat16=True)
def transpose(
    input: op.SampleType,
    /,
    *,
    perm: op.Ints | None = None,
    transpose_layout: bool = True,
    output_layout: op.Layout | None = None,
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """Permute the axes of each sample: axis i of the output is axis perm[i] of the input.

    Args:
        input: any dtype, rank and layout.
        perm: all axes, in the new order; reversed by default.
        transpose_layout: permute the layout along with the data; False keeps its letters.
        output_layout: the layout of the output, whatever `perm` does; it does not choose the order.

    Returns:
        Samples with their axes in the new order.

    Raises:
        OperatorValueError: if `perm` is not a permutation of the axes.

    Example:
        image = gradiva.imread("cat.jpg")
        gradiva.transpose(image, perm=(2, 0, 1)).layout  # 'CHW'
    """
    if input.ndim is None:
        return input.with_(layout=output_layout)
    order = resolve_perm(input.ndim, perm)  # type: ignore[arg-type]
    if input.layout is None and not output_layout:
        return input
    return input.with_(
        layout=result_layout(input.layout or "", order, transpose_layout, output_layout)
    )


@transpose.shapes
def _shapes(call: op.Call) -> Int64s:
    shapes = call.inputs[0].batch_shape.shapes
    return shapes[:, list(resolve_perm(shapes.shape[1], call["perm"]))]


@transpose.coordinate_map
def _map(call: op.Call) -> Any:
    before, after = call.inputs[0].layout, call.types[0].layout or ""
    order = resolve_perm(len(before), call["perm"])
    letters = [letter for letter in "WHD" if letter in before]
    made = np.zeros((call.size, len(letters), len(letters) + 1))
    for row, letter in enumerate(letters):
        source = before[order[after.index(letter)]] if letter in after else ""
        if source not in letters:
            raise op.OperatorValueError(
                "targets follow height, width and depth, which this order mixes with others",
                argument="perm",
                got=f"{before!r} becomes {after!r}",
            )
        made[:, row, letters.index(source)] = 1.0
    return made


def _fits(call: op.Call) -> bool:
    """Whether interleaved channels become planes."""
    source = call.inputs[0].type
    return source.layout == "HWC" and resolve_perm(3, call["perm"]) == (2, 0, 1)


transpose.fusion_role = ToPlanar(_fits)

AXES: Final = 5


def resolve_perm(ndim: int, perm: Sequence[int] | None) -> tuple[int, ...]:
    """The permutation to use: the axes reversed, if none is given."""
    if perm is None:
        return tuple(range(ndim - 1, -1, -1))
    if len(perm) != ndim:
        raise op.wrong_value("perm", f"{ndim} axes, as the input has", tuple(perm))
    if sorted(perm) != list(range(ndim)):
        raise op.wrong_value("perm", f"the axes 0..{ndim - 1} in some order", tuple(perm))
    return tuple(perm)


def result_layout(
    layout: str,
    perm: Sequence[int],
    transpose_layout: bool = True,
    output_layout: str | None = None,
) -> str:
    """The output's layout; `output_layout` only relabels, it never chooses the permutation."""
    if output_layout is not None:
        if len(output_layout) != len(perm):
            raise op.wrong_value("output_layout", f"{len(perm)} letters", repr(output_layout))
        return output_layout
    if not layout or not transpose_layout:
        return layout
    return "".join(layout[axis] for axis in perm)


def plan(shapes: Int64s, perm: Sequence[int]) -> tuple[Int64s, Int64s] | None:
    """(N, 5) extents and source steps in the output's order, adjacent axes merged.

    None where more than five axes remain: then NumPy does the work (`transpose_numpy`).
    """
    count, ndim = shapes.shape
    strides = np.ones_like(shapes)
    for axis in range(ndim - 2, -1, -1):
        strides[:, axis] = strides[:, axis + 1] * shapes[:, axis + 1]
    groups: list[list[int]] = []
    for axis in perm:
        if groups and groups[-1][-1] == axis - 1:
            groups[-1].append(axis)
        else:
            groups.append([axis])
    if len(groups) > AXES:
        return None
    extents = np.ones((count, AXES), np.int64)
    steps = np.ones((count, AXES), np.int64)
    for position, group in enumerate(groups, AXES - len(groups)):
        extents[:, position] = shapes[:, group].prod(axis=1)
        steps[:, position] = strides[:, group[-1]]
    return extents, steps


@always_inline
def _transpose_plane(part: Vector, plane: Vector, n3: int, n4: int, p3: int, p4: int) -> None:
    """Fill a plane of n3 x n4 elements, of which neighbors lie p3 and p4 elements apart in the
    source, tile by tile."""
    tile = 64
    if p4 == 1:
        for e in range(n3):
            line = part[e * p3 : e * p3 + n4]
            row = plane[e * n4 : e * n4 + n4]
            for k in range(n4):
                row[k] = line[k]
    elif p4 == 3 and n3 == 3 and p3 == 1:
        # Interleaved to planar, three channels: the case of images.
        for e in range(n3):
            row = plane[e * n4 : e * n4 + n4]
            line = part[e : e + n4 * 3 - 2]
            for k in range(n4):
                row[k] = line[k * 3]
    elif p3 == 1 and n4 == 3:
        # Planar to interleaved.
        one = part[p4 : p4 + n3]
        two = part[2 * p4 : 2 * p4 + n3]
        for e in range(n3):
            plane[e * 3] = part[e]
            plane[e * 3 + 1] = one[e]
            plane[e * 3 + 2] = two[e]
    else:
        for e0 in range(0, n3, tile):
            e1 = min(e0 + tile, n3)
            for k0 in range(0, n4, tile):
                k1 = min(k0 + tile, n4)
                for e in range(e0, e1):
                    row = plane[e * n4 + k0 : e * n4 + k1]
                    line = part[e * p3 + k0 * p4 :]
                    for k in range(k1 - k0):
                        row[k] = line[k * p4]


@op.jit
def transpose_kernel(slabs: Slabs, extents: Int64s, steps: Int64s, begin: int, end: int) -> None:
    """Transpose a range of samples, tile by tile over the two innermost axes of the output."""
    src, src_offsets, dst, dst_offsets = slabs
    for i in range(begin, end):
        n3, n4 = extents[i, 3], extents[i, 4]
        p3, p4 = steps[i, 3], steps[i, 4]
        size = n3 * n4
        d = dst_offsets[i]
        for a in range(extents[i, 0]):
            for b in range(extents[i, 1]):
                for c in range(extents[i, 2]):
                    s = src_offsets[i] + a * steps[i, 0] + b * steps[i, 1] + c * steps[i, 2]
                    plane = dst[d : d + size]
                    d += size
                    if size == 0:
                        continue
                    part = src[s : s + (n3 - 1) * p3 + (n4 - 1) * p4 + 1]
                    _transpose_plane(part, plane, n3, n4, p3, p4)


def transpose_numpy(slabs: Any, shapes: Int64s, perm: Sequence[int], begin: int, end: int) -> None:
    """The same for any rank, not to be compiled."""
    src, src_offsets, dst, dst_offsets = slabs
    for i in range(begin, end):
        shape = tuple(shapes[i].tolist())
        size = int(np.prod(shape))
        part = src[src_offsets[i] : src_offsets[i] + size].reshape(shape).transpose(tuple(perm))
        out = dst[dst_offsets[i] : dst_offsets[i] + size]
        np.copyto(out.reshape(part.shape), part)


@transpose.cpu
def _cpu(call: op.Call) -> None:
    shapes = call.inputs[0].batch_shape.shapes
    perm = resolve_perm(shapes.shape[1], call["perm"])
    tables = plan(shapes, perm)
    if tables is None:
        call.for_samples(transpose_numpy, call.words, shapes, perm)
    else:
        call.for_samples(transpose_kernel, call.words, *tables)


@transpose.gpu
def _gpu(call: op.Call) -> op.Launch:
    source, target = call.inputs[0], call.outputs[0]
    shapes = source.batch_shape.shapes
    perm = list(resolve_perm(source.ndim, call["perm"]))
    return transpose_launch(source, target, shapes[:, perm], steps_of(shapes)[:, perm])


@transpose.cases
def _cases() -> list[op.Case]:
    images = op.samples((4, 5, 3), (1, 7, 3), (6, 1, 3))
    larger = op.samples((33, 50, 3), (40, 31, 3))
    planes = op.samples((3, 4, 5), (3, 2, 2), dtype=op.float16, layout="CHW")
    deep = op.samples((2, 3, 2, 1, 2, 3, 2), dtype=op.int32, layout="")
    vectors = op.samples((5,), (3,), dtype=op.float32, layout="")
    scalars = op.samples((), (), dtype=op.int32, layout="")

    def permuted(batch: Any, perm: Sequence[int] | None) -> list[np.ndarray[Any, Any]]:
        return [batch.at(i).transpose(perm) for i in range(len(batch))]

    return [
        op.case("to CHW", images, perm=[2, 0, 1]).equals(permuted(images, [2, 0, 1])),
        op.case("larger, to CHW", larger, perm=[2, 0, 1]).equals(permuted(larger, [2, 0, 1])),
        op.case("larger, reversed", larger).equals(permuted(larger, None)),
        op.case("reversed", images).equals(permuted(images, None)),
        op.case("to HWC", planes, perm=[1, 2, 0]).equals(permuted(planes, [1, 2, 0])),
        op.case("keep layout", images, perm=[1, 0, 2], transpose_layout=False).equals(
            permuted(images, [1, 0, 2])
        ),
        op.case("new layout", images, perm=[1, 0, 2], output_layout="ABC"),
        op.case("seven axes", deep, perm=[6, 1, 4, 3, 0, 5, 2]).equals(
            permuted(deep, [6, 1, 4, 3, 0, 5, 2])
        ),
        op.case("vectors", vectors).equals(permuted(vectors, None)),
        op.case("scalars", scalars).equals(permuted(scalars, None)),
        op.case("empty", op.samples(), perm=[2, 0, 1]).equals([]),
        op.case("short perm", images, perm=[1, 0]).value_error("`perm`"),
        op.case("not a perm", images, perm=[1, 1, 0]).value_error("`perm`"),
    ]
