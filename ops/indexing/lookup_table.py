"""`lookup_table`: integers to the values that a table gives for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.operators.cases import samples
from gradiva.eager.rows.convert import convert_sat
from gradiva.eager.types.arrays import F32Vector, Vector
from gradiva.eager.types.dtypes import dtypes

_DTYPES: Final = tuple(dtype for dtype in dtypes if not dtype.is_float and not dtype.is_bool)
_MOST: Final = 65535


@op.operator(
    "lookup_table", schema="LookupTable", same_shapes=True, old_arguments={"output_dtype": "dtype"}
)
def lookup_table(
    input: op.SampleType,
    /,
    *,
    keys: op.Ints = (),
    values: op.Floats = (),
    default_value: float = 0.0,
    dtype: op.DTypeLike = op.float32,
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """Map integers by a table: `keys[i]` becomes `values[i]`, other numbers `default_value`.

    Args:
        input: integers of any dtype, rank and layout.
        keys: numbers from 0 to 65535; of a number that comes twice the later place counts.
        values: a float32 number for each key.
        default_value: the result for all numbers that are not keys.
        dtype: the element type of the output; values are rounded half away from zero, and saturate.

    Returns:
        Samples of the same shapes and layout.

    Raises:
        OperatorTypeError: for inputs that are not integers.
        OperatorValueError: for other keys, or another number of values.

    Example:
        labels = np.uint8([1, 18, 7])
        gradiva.lookup_table(labels, keys=[1, 7], values=[0, 1], default_value=-1, dtype="int32")
        # [0, -1, 1]
    """
    op.require_dtype(input, _DTYPES)
    assert not isinstance(keys, int)
    assert not isinstance(values, float | int)
    if len(keys) != len(values):
        raise op.wrong_value("values", f"{len(keys)} numbers, as many as keys", len(values))
    wrong = [key for key in keys if not 0 <= key <= _MOST]
    if wrong:
        raise op.wrong_value("keys", f"numbers from 0 to {_MOST}", wrong[0])
    return input.with_(dtype=dtype)


@op.row_kernel()
def lookup_row(source: Vector, target: Vector, table: F32Vector) -> None:
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


@op.pixelwise(lookup_table, lookup_row)
def _table(call: op.Call) -> np.ndarray[Any, np.dtype[np.float32]]:
    """(N, 1, P): the table, and the default at its end."""
    keys = call["keys"]
    size = max(keys, default=0) + 1
    with np.errstate(over="ignore"):
        row = np.full(size + 1, call["default_value"], np.float32)
        for key, value in zip(keys, call["values"], strict=True):
            row[key] = value
    return np.ascontiguousarray(np.broadcast_to(row, (call.size, 1, row.size)))


_KERNEL: Final = op.CudaKernel("lookup_table", (Path(__file__).with_name("lookup_table.cuh"),))


@lookup_table.gpu
def _gpu(call: op.Call) -> op.Launch:
    source, target = call.inputs[0], call.outputs[0]
    volumes = source.batch_shape.volumes
    samples = np.stack([source.batch_shape.offsets, target.batch_shape.offsets, volumes], axis=1)
    # One table for all samples.
    table = _table(call)[0, 0]
    types = {"Source": op.type_name(source.data.dtype), "Target": op.type_name(target.data.dtype)}
    slabs, size = (source.data, target.data), np.int64(table.size - 1)
    return op.launch_over(_KERNEL.unit(types), *slabs, samples, volumes, table, size)


@lookup_table.cases
def _cases() -> list[op.Case]:
    images = samples((4, 5, 3), (1, 7, 3), (6, 1, 3), high=9)
    wide = samples((50,), (3,), dtype=op.int32, layout="")
    table = {"keys": [1, 3, 200], "values": [10.5, 300.7, -3.0], "default_value": 7.6}

    def replaced(batch: Any, dtype: Any, other: float, pairs: dict[int, float]) -> list[Any]:
        return [
            np.array([pairs.get(int(x), other) for x in np.asarray(one).flat], dtype).reshape(
                np.asarray(one).shape
            )
            for one in batch
        ]

    return [
        op.case("default", images).equals(replaced(images, np.float32, 0.0, {})),
        op.case("floats", images, **table).equals(
            replaced(images, np.float32, 7.6, {1: 10.5, 3: 300.7, 200: -3.0})
        ),
        op.case("to uint8", images, **table, dtype=op.uint8).equals(
            replaced(images, np.uint8, 8, {1: 11, 3: 255, 200: 0})
        ),
        op.case("beyond the table", wide, keys=[7, 7], values=[1.0, 2.0]).equals(
            replaced(wide, np.float32, 0.0, {7: 2.0})
        ),
        op.case("large keys", wide, keys=65535, values=2.0).equals(
            replaced(wide, np.float32, 0.0, {65535: 2.0})
        ),
        op.case("empty", samples(), **table).equals([]),
        op.case("floats as input", samples((2, 2, 3), dtype=op.float32), **table).type_error(
            "float32"
        ),
        op.case("one value too many", images, keys=[1], values=[1.0, 2.0]).value_error("`values`"),
        op.case("negative key", images, keys=[-1], values=[1.0]).value_error("`keys`"),
        op.case("fraction as key", images, keys=[0.5], values=[1.0]).type_error("`keys`"),
    ]
