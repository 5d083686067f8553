"""`lookup_table`: integers to the values that a table gives for them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gradiva.eager.cuda.launch import CudaKernel, Launch, Out, blocks_of, type_name
from gradiva.eager.jit.convert import convert_sat
from gradiva.eager.jit.row_kernel import row_kernel
from gradiva.eager.operators.arguments import DTypeLike, Floats, Ints
from gradiva.eager.operators.call import Call
from gradiva.eager.operators.cases import Case, case, samples
from gradiva.eager.operators.operator import operator
from gradiva.eager.operators.pixelwise import pixelwise
from gradiva.eager.operators.type_rules import require_dtype
from gradiva.eager.support.errors import OperatorValueError
from gradiva.eager.types.batch_shape import Geometry
from gradiva.eager.types.dtypes import dtypes, float32, int32, uint8
from gradiva.eager.types.sample_type import SampleType

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from gradiva.eager.operators.arguments import Common

__all__ = ["lookup_table"]

_DTYPES: Final = tuple(dtype for dtype in dtypes if not dtype.is_float and not dtype.is_bool)
_MOST: Final = 65535


@operator("lookup_table")
def lookup_table(
    input: SampleType,
    /,
    *,
    keys: Ints = (),
    values: Floats = (),
    default_value: float = 0.0,
    dtype: DTypeLike = float32,
    **common: Unpack[Common],
) -> SampleType:
    """Replace each number that is one of `keys` by the one of `values` in its place.

    input: integers of any dtype, rank and layout.
    keys: numbers from 0 to 65535; of a number that comes twice the later place counts.
    values: as many, float32. default_value: for all numbers that are not keys.
    dtype: of the output; values are rounded half away from zero, and saturate.

    Returns samples of the same shapes and layout. Raises OperatorTypeError for inputs that are not
    integers, OperatorValueError for other keys, or another number of values.
    """
    require_dtype(input, _DTYPES)
    assert not isinstance(keys, int)
    assert not isinstance(values, float | int)
    if len(keys) != len(values):
        raise OperatorValueError(
            argument="values",
            expected=f"{len(keys)} numbers, as many as keys",
            got=str(len(values)),
        )
    wrong = [key for key in keys if not 0 <= key <= _MOST]
    if wrong:
        raise OperatorValueError(
            argument="keys", expected=f"numbers from 0 to {_MOST}", got=str(wrong[0])
        )
    return input.with_(dtype=dtype)


@lookup_table.shapes
def _shapes(call: Call) -> Geometry:
    return call.inputs[0].geometry


@row_kernel()
def lookup_row(source: Any, target: Any, table: Any) -> None:
    """One strip of numbers; the last place of the table is for all that are beyond it."""
    size = np.int64(table.size - 1)
    if table.size <= source.size:
        # Each value of the table is converted once, not each time that it is met.
        ready = np.empty(table.size, target.dtype)
        for place in range(table.size):
            ready[place] = convert_sat(table[place], target)
        for k in range(source.size):
            at = np.int64(source[k])
            target[k] = ready[size if at < 0 or at > size else at]
        return
    for k in range(source.size):
        # Unsigned numbers of 64 bits come out negative if they are too large for the table.
        at = np.int64(source[k])
        target[k] = convert_sat(table[size if at < 0 or at > size else at], target)


@pixelwise(lookup_table, lookup_row)
def _table(call: Call) -> np.ndarray[Any, np.dtype[np.float32]]:
    """(N, 1, P): the table, and the default at its end."""
    keys = call["keys"]
    size = max(keys, default=0) + 1
    with np.errstate(over="ignore"):
        row = np.full(size + 1, call["default_value"], np.float32)
        for key, value in zip(keys, call["values"], strict=True):
            row[key] = value
    return np.ascontiguousarray(np.broadcast_to(row, (call.size, 1, row.size)))


_KERNEL: Final = CudaKernel("lookup_table", (Path(__file__).with_name("lookup_table.cuh"),))


@lookup_table.gpu
def _gpu(call: Call) -> Launch:
    source, target = call.inputs[0], call.outputs[0]
    volumes = source.geometry.volumes
    samples = np.stack([source.geometry.offsets, target.geometry.offsets, volumes], axis=1)
    # One table for all samples.
    table, blocks = _table(call)[0, 0], blocks_of(volumes)
    types = {"Source": type_name(source.data.dtype), "Target": type_name(target.data.dtype)}
    arguments = source.data, Out(target.data), samples, blocks, table, np.int64(table.size - 1)
    return Launch(_KERNEL.unit(types), len(blocks), arguments)


@lookup_table.cases
def _cases() -> list[Case]:
    images = samples((4, 5, 3), (1, 7, 3), (6, 1, 3), high=9)
    wide = samples((50,), (3,), dtype=int32, layout="")
    table = {"keys": [1, 3, 200], "values": [10.5, 300.7, -3.0], "default_value": 7.6}

    def replaced(batch: Any, dtype: Any, other: float, pairs: dict[int, float]) -> list[Any]:
        return [
            np.array([pairs.get(int(x), other) for x in np.asarray(one).flat], dtype).reshape(
                np.asarray(one).shape
            )
            for one in batch
        ]

    return [
        case("default", images).equals(replaced(images, np.float32, 0.0, {})),
        case("floats", images, **table).equals(
            replaced(images, np.float32, 7.6, {1: 10.5, 3: 300.7, 200: -3.0})
        ),
        case("to uint8", images, **table, dtype=uint8).equals(
            replaced(images, np.uint8, 8, {1: 11, 3: 255, 200: 0})
        ),
        case("beyond the table", wide, keys=[7, 7], values=[1.0, 2.0]).equals(
            replaced(wide, np.float32, 0.0, {7: 2.0})
        ),
        case("large keys", wide, keys=65535, values=2.0).equals(
            replaced(wide, np.float32, 0.0, {65535: 2.0})
        ),
        case("empty", samples(), **table).equals([]),
        case("floats as input", samples((2, 2, 3), dtype=float32), **table).type_error("float32"),
        case("one value too many", images, keys=[1], values=[1.0, 2.0]).value_error("`values`"),
        case("negative key", images, keys=[-1], values=[1.0]).value_error("`keys`"),
        case("fraction as key", images, keys=[0.5], values=[1.0]).type_error("`keys`"),
    ]
