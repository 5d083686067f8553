"""`multi_paste`: regions of several samples, put together."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.execution.gpu_copies import SLABS, in_eights, steps_of
from gradiva.eager.operators.argument_types import RaggedFloatsArg, RaggedIntsArg
from gradiva.eager.rows.convert import convert_array, convert_sat
from gradiva.eager.types.arrays import Array, I64Table, I64Vector, Int64Array, Vector

from .crop_window import LAYOUTS
from .paste_regions import Regions, paste_regions

_LAYOUTS = (*LAYOUTS, "HW", "DHW", "FHW")
_ASSUMED = {2: "HW", 3: "HWC", 4: "FHWC"}
_AXES = 5


@op.operator("multi_paste", schema="MultiPaste", inputs=(1, 64))
def multi_paste(
    input: op.SampleType,
    /,
    *more: op.SampleType | op.Value,
    in_ids: RaggedIntsArg | None = None,
    output_size: op.IntsArg | None = None,
    in_anchors: RaggedIntsArg | None = None,
    in_anchors_rel: RaggedFloatsArg | None = None,
    shapes: RaggedIntsArg | None = None,
    shapes_rel: RaggedFloatsArg | None = None,
    out_anchors: RaggedIntsArg | None = None,
    out_anchors_rel: RaggedFloatsArg | None = None,
    dtype: op.DTypeLike | None = None,
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """Paste regions of samples onto a canvas of zeros, later ones over earlier ones.

    All but `dtype` may differ per sample, also in their number. The axes that are not cut (C, F)
    are as in the pasted samples.

    Args:
        input, more: 1 to 64 inputs of one dtype and layout: any dtype; layouts HWC, CHW, HW,
            volumes with D, sequences with F (all frames are pasted alike). Without a layout HW, HWC
            or FHWC.
        in_ids: for each output the numbers of the samples in the batch to paste, of a single input.
            Not given: of each input the sample at the output's own place.
        output_size: (h, w) or (d, h, w) of the outputs; if it is not given, the inputs' common
            size.
        in_anchors, shapes: the low end of each region in its sample, and its extents: as many
            numbers for each region as `output_size` has. By default a region begins at 0 and ends
            where the sample ends.
        out_anchors: where each region begins in the output; 0 by default.
        in_anchors_rel, shapes_rel, out_anchors_rel: the same as fractions, from 0 to 1, of the
            sample or of the output. Low ends are rounded down, extents are rounded up.
        dtype: the element type of the output, by default that of the input. Values are rounded half
            away from zero, and saturate.

    Returns:
        Samples of the size `output_size`. Their names (`source_info`) are those of the pasted ones,
        with ";" between them.

    Raises:
        OperatorValueError: naming the sample, for regions that leave their sample or the output.

    Example:
        image = gradiva.imread("cat.jpg")
        pair = gradiva.multi_paste(
            image, gradiva.flip(image), output_size=(300, 902), out_anchors=[0, 0, 0, 451]
        )
    """
    for number, other in enumerate(more, start=1):
        for what in ("dtype", "ndim", "layout"):
            mine, its = getattr(input, what), getattr(other, what)
            if mine is not None and its is not None and mine != its:
                raise op.OperatorTypeError(
                    f"input {number} has another {what} than input 0",
                    expected=str(mine) or "none",
                    got=str(its) or "none",
                )
    result = op.with_layout(input, op.require_layout(input, _LAYOUTS, _ASSUMED))
    return result if dtype is None else result.with_(dtype=dtype)


@dataclass(frozen=True)
class _MultiPastePlan(op.Plan):
    """regions: what is pasted where."""

    regions: Regions


multi_paste.samplewise = False


multi_paste.moves = op.NoMap("it puts several samples together")


@multi_paste.shapes
def _shapes(call: op.Call) -> _MultiPastePlan:
    layout = call.types[0].layout or ""
    if not layout:
        raise op.OperatorTypeError(
            "samples of this rank need a layout",
            expected=f"one of {', '.join(_LAYOUTS)}",
            got=f"{call.inputs[0].ndim}-D samples without one",
        )
    cut = [axis for axis, letter in enumerate(layout) if letter in "DHW"]
    others = [axis for axis in range(len(layout)) if axis not in cut]
    tables = [given.batch_shape.shapes for given in call.inputs]
    regions = paste_regions(call, [table[:, cut] for table in tables])
    result = tables[0].copy()
    result[:, cut] = regions.sizes
    used = np.stack(tables)[regions.inputs, regions.sources]
    for sample in range(call.size):
        own = used[regions.starts[sample] : regions.starts[sample + 1], others]
        if len(own):
            result[sample, others] = own[0]
            if (own != own[0]).any():
                raise op.OperatorValueError(
                    "the regions of a sample have the same channels and frames",
                    got=" and ".join(str(tuple(row)) for row in np.unique(own, axis=0).tolist()),
                    sample=sample,
                )
    return _MultiPastePlan(result, regions)


@op.jit
def paste_kernel(
    src: Array,
    target_slab: tuple[Vector, I64Vector, I64Vector],
    starts: Int64Array,
    own: Array,
    tables: tuple[I64Table, I64Vector, I64Table, I64Vector, I64Table],
    clear: bool,
    begin: int,
    end: int,
) -> None:
    """Copy the regions that `own` marks. target_slab: data, offsets, volumes; tables: extents
    (R, 5), then where each begins in its source, steps there, where in its target, steps there: (R,
    5) in elements; the last axis lies without gaps on both sides. `clear`: first set everything
    to 0."""
    dst, dst_offsets, volumes = target_slab
    extents, src_at, src_steps, dst_at, dst_steps = tables
    for i in range(begin, end):
        if clear:
            dst[dst_offsets[i] : dst_offsets[i] + volumes[i]] = 0
        for r in range(starts[i], starts[i + 1]):
            if not own[r]:
                continue
            n, s, d = extents[r], src_steps[r], dst_steps[r]
            for a in range(n[0]):
                for b in range(n[1]):
                    for c in range(n[2]):
                        for e in range(n[3]):
                            x = src_at[r] + a * s[0] + b * s[1] + c * s[2] + e * s[3]
                            y = dst_offsets[i] + dst_at[r]
                            y += a * d[0] + b * d[1] + c * d[2] + e * d[3]
                            source, target = src[x : x + n[4]], dst[y : y + n[4]]
                            for k in range(n[4]):
                                target[k] = convert_sat(source[k], dst)


def _name(call: op.Call, regions: Regions) -> None:
    """Name the outputs after what is pasted."""
    given = [batch.provenance for batch in call.inputs]
    first = next((one for one in given if one is not None and one.names is not None), None)
    if first is None:
        return
    parts = [
        (one.name(source) if one is not None else None) or ""
        for one, source in zip([given[k] for k in regions.inputs], regions.sources, strict=True)
    ]
    ends = regions.starts.tolist()
    names = [";".join(parts[begin:end]) for begin, end in itertools.pairwise(ends)]
    call.outputs[0].provenance = first.renamed(names)


@multi_paste.cpu
def _cpu(call: op.Call, plan: _MultiPastePlan) -> None:
    _name(call, plan.regions)
    target = call.outputs[0]
    layout, regions = target.layout, plan.regions
    cut = [axis for axis, letter in enumerate(layout) if letter in "DHW"]
    owner = np.repeat(np.arange(call.size), np.diff(regions.starts))
    shapes = target.batch_shape.shapes
    extents = shapes[owner]
    extents[:, cut] = regions.shape
    there = steps_of(shapes)[owner]
    place = (there[:, cut] * regions.place).sum(axis=1)
    single = np.dtype(np.float32)
    halves = target.dtype is op.float16 and call.inputs[0].dtype is not op.float16
    result = np.zeros(target.data.shape, single) if halves else target.data
    for number, given in enumerate(call.inputs):
        own = regions.inputs == number
        batch_shape = given.batch_shape
        here = steps_of(batch_shape.shapes)[regions.sources]
        at = batch_shape.offsets[regions.sources] + (here[:, cut] * regions.low).sum(axis=1)
        data, into = given.data, result
        if given.dtype is target.dtype:
            # Bytes move whatever they mean: one compiled kernel per element size.
            unsigned = f"u{given.dtype.itemsize}"
            data, into = data.view(unsigned), result.view(unsigned)
        elif given.dtype is op.float16:
            data = convert_array(data, single)
        tables = _rows(extents, at, here, place, there, layout[-1] == "C")
        slab = (into, target.batch_shape.offsets, target.batch_shape.volumes)
        call.for_samples(paste_kernel, data, slab, regions.starts, own, tables, number == 0)
    if halves:
        target.data[:] = convert_array(result, target.data.dtype)


def _rows(
    extents: Int64Array,
    at: Int64Array,
    here: Int64Array,
    place: Int64Array,
    there: Int64Array,
    interleaved: bool,
) -> tuple[Int64Array, Int64Array, Int64Array, Int64Array, Int64Array]:
    """The tables with five axes; interleaved channels join the width."""
    if interleaved:
        extents = np.hstack([extents[:, :-2], extents[:, -2:].prod(axis=1, keepdims=True)])
        here, there = (np.hstack([t[:, :-2], t[:, -1:]]) for t in (here, there))
    wide = np.ones((len(extents), _AXES), np.int64)
    steps = [np.zeros_like(wide) for _ in range(2)]
    first = _AXES - extents.shape[1]
    wide[:, first:], steps[0][:, first:], steps[1][:, first:] = extents, here, there
    return wide, at, steps[0], place, steps[1]


_FILES: Final = ("slabs.cuh", "coordinates.cuh", Path(__file__).with_name("multi_paste.cuh"))
_KERNEL: Final = op.CudaKernel("multi_paste", _FILES)


@multi_paste.gpu
def _gpu(call: op.Call, plan: _MultiPastePlan) -> list[op.Launch]:
    target, regions = call.outputs[0], plan.regions
    _name(call, regions)
    shapes, volumes = target.batch_shape.shapes, target.batch_shape.volumes
    cut = [axis for axis, letter in enumerate(target.layout) if letter in "DHW"]
    first = _AXES - shapes.shape[1]
    owner = np.repeat(np.arange(call.size), np.diff(regions.starts))
    lows, extents = (np.zeros((len(owner), _AXES), np.int64) for _ in range(2))
    extents[:, :first], extents[:, first:] = 1, shapes[owner]
    placed = [first + axis for axis in cut]
    lows[:, placed], extents[:, placed] = regions.place, regions.shape
    wide = np.ones((call.size, _AXES), np.int64)
    wide[:, first:] = shapes
    paces = np.stack([steps_of(given.batch_shape.shapes) for given in call.inputs])
    offsets = np.stack([given.batch_shape.offsets for given in call.inputs])
    steps = np.zeros((len(owner), _AXES), np.int64)
    steps[:, first:] = paces[regions.inputs, regions.sources]
    at = offsets[regions.inputs, regions.sources] + (steps[:, placed] * regions.low).sum(axis=1)
    corners = np.concatenate([lows, extents], axis=1).astype(np.int32).view(np.int64)
    slabs, result = [given.data for given in call.inputs], target.data
    if call.inputs[0].dtype is target.dtype:
        # Bytes move whatever they mean.
        unsigned = f"u{target.dtype.itemsize}"
        slabs, result = [slab.view(unsigned) for slab in slabs], result.view(unsigned)
    kinds = {"Source": op.type_name(slabs[0].dtype), "Target": op.type_name(result.dtype)}
    blocks, launches = op.blocks_of(volumes), []
    # Later inputs lie over earlier ones, as their launches follow.
    for number, group in in_eights(slabs):
        mine = (regions.inputs >= number) & (regions.inputs < number + SLABS)
        counts = np.bincount(owner[mine], minlength=call.size)
        ends = counts.cumsum()
        short = [wide, volumes[:, None], (ends - counts)[:, None], ends[:, None]]
        narrow = np.concatenate(short, axis=1).astype(np.int32).view(np.int64)
        canvases = np.concatenate([target.batch_shape.offsets[:, None], narrow], axis=1)
        places = np.stack([regions.inputs - number, at], axis=1)
        table = np.concatenate([places, steps, corners], axis=1)[mine]
        arguments = (
            *group,
            op.OutputArg(result),
            canvases,
            blocks.table,
            table,
            np.int64(number == 0),
        )
        launches.append(op.Launch(_KERNEL.unit(kinds), blocks.total, arguments))
    return launches


@multi_paste.cases
def _cases() -> list[op.Case]:
    images = op.samples((4, 6, 3), (3, 5, 3), (2, 3, 3))
    equal, others = op.samples((2, 3, 3), (2, 3, 3)), op.samples((2, 3, 3), (2, 3, 3), seed=1)
    planes = op.samples((2, 3, 4), (2, 2, 5), dtype=op.float32, layout="CHW")

    def pasted(shape: tuple[int, ...], *parts: tuple[Any, Any], dtype: Any = np.uint8) -> Array:
        canvas = np.zeros(shape, dtype)
        for part, (top, left) in parts:
            canvas[top : top + part.shape[0], left : left + part.shape[1]] = part
        return canvas

    a, b, c = (images.at(i) for i in range(3))
    ids = op.batch([np.array(row, np.int32) for row in ([0, 2], [1], [])])
    anchors = op.batch(
        [np.array(row, np.int32).reshape(-1, 2) for row in ([0, 0, 3, 3], [1, 2], [])]
    )
    corner = [[1, 1]] * 3
    parts: Any = {"in_anchors": corner, "shapes": [[2, 2]] * 3, "in_ids": [[1], [0], [0]]}
    cut = a[1:3, 1:3], (0, 0)
    relative: Any = {"in_anchors_rel": (0.5, 0.3), "shapes_rel": (0.5, 0.4)}
    halves = [a[2:4, 1:4], b[1:3, 1:3], c[1:2, 0:2]]
    both = [
        pasted((5, 6, 3), (x, (0, 0)), (y, (1, 2)))
        for x, y in zip(equal.arrays(), others.arrays(), strict=True)
    ]
    wide = [pasted((2, 4, 3), (x, (0, 0)), dtype=np.float32) for x in equal.arrays()]
    three = [((a, (0, 0)), (c, (3, 3))), ((b, (1, 2)),), ()]
    padded = [((0, 0), (0, 0), (0, 1)), ((0, 0), (0, 1), (0, 0))]
    many: Any = {"in_ids": ids, "output_size": (6, 8), "out_anchors": anchors}
    return [
        op.case("two inputs", equal, others, output_size=(5, 6), out_anchors=(0, 0, 1, 2))
        .equals(both)
        .no_oracle(),
        op.case("other numbers of regions", images, **many).equals(
            [pasted((6, 8, 3), *one) for one in three]
        ),
        op.case("parts", images, output_size=[[2, 2], [5, 5], [3, 4]], **parts)
        .equals([b[1:3, 1:3], pasted((5, 5, 3), cut), pasted((3, 4, 3), cut)])
        .no_oracle(),
        op.case("fractions", images, output_size=(5, 7), **relative, out_anchors_rel=(0.25, 0.5))
        .equals([pasted((5, 7, 3), (part, (1, 3))) for part in halves])
        .no_oracle(),
        op.case("no size", equal, others).equals(others.arrays()),
        op.case("to float", equal, dtype=op.float32, output_size=(2, 4)).equals(wide),
        op.case("planes", planes, output_size=(3, 5))
        .equals([np.pad(one, by) for one, by in zip(planes.arrays(), padded, strict=True)])
        .no_oracle(),
        op.case("empty", op.samples(), output_size=(2, 4)).equals([]),
        op.case("outside", images, output_size=(4, 6), out_anchors=(0, 1)).value_error(
            "leaves the output"
        ),
        op.case(
            "outside its sample", images, output_size=(9, 9), in_anchors=(1, 1), shapes=(2, 2)
        ).value_error("sample 2"),
        op.case("bad id", images, output_size=(9, 9), in_ids=[[0], [1], [3]]).value_error(
            "`in_ids`"
        ),
        op.case("no common size", images).value_error("`output_size`"),
        op.case("both", images, output_size=(9, 9), shapes=(1, 1), shapes_rel=(1, 1)).value_error(
            "exclude"
        ),
        op.case("three numbers", images, output_size=(9, 9), shapes=(1, 1, 1)).value_error(
            "`shapes`"
        ),
        op.case("dtypes", equal, op.samples((2, 3, 3), (2, 3, 3), dtype=op.float32)).type_error(
            "dtype"
        ),
    ]
