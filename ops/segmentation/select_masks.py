"""`segmentation.select_masks`: the polygons of some of the masks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import I32Table, I32Vector, I64Table, I64Vector, Int, Table


@op.operator("segmentation.select_masks", schema="segmentation__SelectMasks", inputs=3)
def select_masks(
    mask_ids: op.SampleType,
    polygons: Any,
    vertices: Any,
    /,
    *,
    reindex_masks: bool = False,
    **common: op.Unpack[op.Common],
) -> tuple[op.SampleType, op.SampleType]:
    """Keep the polygons that belong to the chosen masks.

    Args:
        mask_ids: int32, 1-D: the masks, each once.
        polygons: int32, (n, 3): the mask of a polygon, and where its vertices begin and end.
        vertices: (v, coordinates), of any dtype.
        reindex_masks: number masks by their places in `mask_ids`.

    Returns:
        Polygons and vertices: those of the first chosen mask, then of the second, and so on, each
        mask's in their order.

    Raises:
        OperatorTypeError: for other dtypes and ranks.
        OperatorValueError: for a mask that is chosen twice or has no polygon, and for vertices that
            are not there.

    Example:
        polygons = np.int32([[0, 0, 3], [1, 3, 6]])  # mask, first vertex, end
        vertices = np.float32([[0, 0], [4, 0], [4, 4], [5, 5], [9, 5], [9, 9]])  # x, y
        chosen, points = gradiva.segmentation.select_masks(np.int32([1]), polygons, vertices)
        chosen  # [[1, 0, 3]]
    """
    for name, input, ndim in (("mask_ids", mask_ids, 1), ("polygons", polygons, 2)):
        op.require_dtype(input, (op.int32,), f"`{name}`")
        op.require_ndim(input, (ndim,), f"`{name}`")
    op.require_ndim(vertices, (2,), "`vertices`")
    device = mask_ids.device
    return op.SampleType(op.int32, 2, "", device), op.SampleType(vertices.dtype, 2, "", device)


@op.jit
def _place_of(value: np.int32, ids: I32Vector, ordered: I64Vector) -> Int:
    """The place of a mask in `ids`, which `ordered` sorts; -1 if it is not chosen."""
    first, last = 0, ids.size
    while first < last:
        middle = (first + last) // 2
        if ids[ordered[middle]] < value:
            first = middle + 1
        else:
            last = middle
    if first < ids.size and ids[ordered[first]] == value:
        return np.int64(ordered[first])
    return -1


@op.jit
def _chosen(ids: I32Vector, polygons: I32Table, count: int, found: I64Table) -> tuple[Int, Int]:
    """Write the chosen polygons to `found`, in their new order. Returns (polygons, vertices), or
    (-1 twice, -2 missing, -3 out of range, what)."""
    ordered = np.argsort(ids)
    for k in range(1, ids.size):
        if ids[ordered[k]] == ids[ordered[k - 1]]:
            return -1, np.int64(ids[ordered[k]])
    numbers = np.zeros(ids.size + 1, np.int64)
    total = 0
    for k in range(polygons.shape[0]):
        place = _place_of(polygons[k, 0], ids, ordered)
        if place < 0:
            continue
        begin, end = polygons[k, 1], polygons[k, 2]
        if begin < 0 or end > count or begin > end:
            return -3, np.int64(k)
        numbers[place + 1] += 1
        total += end - begin
    for k in range(ids.size):
        if numbers[k + 1] == 0:
            return -2, np.int64(ids[k])
        numbers[k + 1] += numbers[k]
    for k in range(polygons.shape[0]):
        place = _place_of(polygons[k, 0], ids, ordered)
        if place >= 0:
            found[numbers[place], 0] = k
            found[numbers[place], 1] = place
            numbers[place] += 1
    return numbers[ids.size - 1] if ids.size else 0, np.int64(total)


@dataclass(frozen=True)
class MasksPlan(op.Plan):
    """orders: of each sample, the rows of its chosen polygons and the places of their masks."""

    orders: list[op.Int64Array]


@select_masks.shapes
def _shapes(call: op.Call) -> MasksPlan:
    masks, polygons, vertices = call.inputs
    three = polygons.batch_shape.shapes[:, 1] != 3
    op.refuse_samples(
        three,
        "",
        "(n, 3)",
        polygons.batch_shape.shape,
        "`polygons` has three columns: mask, begin, end",
    )
    shapes = np.empty((2, call.size, 2), np.int64)
    shapes[0, :, 1] = 3
    shapes[1, :, 1] = vertices.batch_shape.shapes[:, 1]
    orders = []
    for i in range(call.size):
        rows = polygons.array(i)
        available = int(vertices.batch_shape.shapes[i, 0])
        found = np.empty((len(rows), 2), np.int64)
        number, more = _chosen(masks.array(i), rows, available, found)
        if number < 0:
            raise _refusal(int(number), int(more), rows, available).complete(sample=i)
        shapes[:, i, 0] = number, more
        orders.append(found[:number])
    return MasksPlan((shapes[0], shapes[1]), orders)


def _refusal(code: int, what: int, rows: Any, available: int) -> op.OperatorValueError:
    if code == -1:
        return op.wrong_value("", "different `mask_ids`", f"{what} twice", "a mask is chosen once")
    if code == -2:
        return op.OperatorValueError(f"mask {what} has no polygon")
    mask, begin, end = rows[what].tolist()
    return op.OperatorValueError(
        f"a polygon of mask {mask} has vertices that are not there",
        expected=f"begin <= end, from 0 to {available}",
        got=f"{begin} to {end}",
    )


@op.jit
def _copy(
    order: I64Table,
    polygons: I32Table,
    vertices: Table,
    out_polygons: I32Table,
    out_vertices: Table,
    renumber: bool,
) -> None:
    """Copy the chosen polygons with their vertices.

    order: (P, 2), the row of each polygon and the place of its mask; polygons: mask, first vertex
    and the vertex behind the last one; vertices: (V, axes); renumber: whether masks are numbered
    from 0 on.
    """
    first = 0
    for k in range(order.shape[0]):
        row = polygons[order[k, 0]]
        size = row[2] - row[1]
        out_polygons[k, 0] = order[k, 1] if renumber else row[0]
        out_polygons[k, 1] = first
        out_polygons[k, 2] = first + size
        for v in range(size):
            for c in range(vertices.shape[1]):
                out_vertices[first + v, c] = vertices[row[1] + v, c]
        first += size


@select_masks.cpu
def _cpu(call: op.Call, plan: MasksPlan) -> None:
    _, polygons, vertices = call.inputs
    renumber = call["reindex_masks"]
    # Bytes move whatever they mean: one compiled kernel per element size.
    unsigned = f"u{vertices.dtype.itemsize}"

    def run(begin: int, end: int) -> None:
        for i in range(begin, end):
            points, target = vertices.array(i), call.outputs[1].array(i)
            _copy(
                plan.orders[i],
                polygons.array(i),
                points.view(unsigned),
                call.outputs[0].array(i),
                target.view(unsigned),
                renumber,
            )

    call.for_samples(run)


@select_masks.cases
def _cases() -> list[op.Case]:
    polygons = np.array([[0, 0, 3], [1, 3, 7], [2, 7, 10], [1, 2, 5]], np.int32)
    points = np.arange(20, dtype=np.float32).reshape(10, 2)
    ids = op.batch([np.array([2, 1], np.int32), np.array([0], np.int32)])
    numbered = [
        np.array([[2, 0, 3], [1, 3, 7], [1, 7, 10]], np.int32),
        np.array([[0, 0, 3]], np.int32),
    ]
    renumbered = [np.array([[0, 0, 3], [1, 3, 7], [1, 7, 10]], np.int32), numbered[1]]

    def chosen(*masks: int) -> Any:
        return op.batch([np.array(masks, np.int32)])

    return [
        op.case("default", ids, polygons, points).equals(numbered).no_oracle(),
        op.case("renumbered", ids, polygons, points, reindex_masks=True)
        .equals(renumbered)
        .no_oracle(),
        op.case("one polygon each", chosen(2, 0), op.batch([polygons]), op.batch([points])).equals(
            [np.array([[2, 0, 3], [0, 3, 6]], np.int32)]
        ),
        op.case(
            "integers",
            chosen(0),
            op.batch([polygons]),
            op.batch([np.arange(30, dtype=np.int16).reshape(10, 3)]),
        ),
        op.case("none", chosen(), op.batch([polygons]), op.batch([points])).equals(
            [np.empty((0, 3), np.int32)]
        ),
        op.case("empty", op.samples(dtype=op.int32, layout=""), polygons, points)
        .equals([])
        .no_oracle(),
        op.case("twice", chosen(1, 1), polygons, points).value_error("twice"),
        op.case("missing", chosen(1, 7), polygons, points).value_error("mask 7"),
        op.case("no such vertices", chosen(0), polygons * 9, points).value_error("sample 0"),
        op.case("columns", chosen(0), polygons[:, :2].copy(), points).value_error("columns"),
        op.case("dtype", op.batch([np.array([1], np.int64)]), polygons, points).type_error(
            "mask_ids"
        ),
        op.case("flat vertices", chosen(0), polygons, points.ravel()).type_error("vertices"),
    ]
