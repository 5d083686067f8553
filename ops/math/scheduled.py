"""`scheduled`: the value of a schedule as samples, for arithmetic with batches."""

from __future__ import annotations

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import Array


@op.maker("scheduled")
def scheduled(
    *,
    integers: op.IntsArg | None = None,
    numbers: op.FloatsArg | None = None,
    several: bool = False,
    limits: op.Ints | None = None,
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """Make samples of numbers: of a schedule, where one stands beside a batch in arithmetic.

    Args:
        integers: the values, if they are whole numbers that never have a fraction.
        numbers: the values otherwise.
        several: whether a sample holds several of them.
        limits: the least and the most that integers may be.

    Returns:
        int32 or float32; scalars, or 1-D.

    Raises:
        OperatorValueError: for integers that are not within `limits`, or need more than 32 bits.

    Example:
        images = gradiva.imread(["cat.jpg", "coffee.jpg"])
        with gradiva.step(epoch=5, batch_size=2):
            dark = images * gradiva.schedule({0: 0.0, 10: 1.0})
    """
    dtype = op.float32 if integers is None else op.int32
    return op.SampleType(dtype, int(several), "")


def _rows(call: op.Call) -> Array:
    """(N, k): the numbers of each sample."""
    rows: Array = call["numbers"] if call["integers"] is None else call["integers"]
    name = "numbers" if call["integers"] is None else "integers"
    if rows is None:
        raise op.wrong_value("numbers", "`integers` or `numbers`", "neither")
    if rows.shape[1] != 1 and not call["several"]:
        raise op.wrong_value(name, "one number for each sample", f"{rows.shape[1]} numbers")
    return rows


@scheduled.shapes
def _shapes(call: op.Call) -> op.BatchShape:
    rows = _rows(call)
    return op.BatchShape.equal(call.size, (rows.shape[1],) if call["several"] else ())


@scheduled.cpu
def _cpu(call: op.Call) -> None:
    rows, info = _rows(call), np.iinfo(np.int32)
    if call["integers"] is not None:
        limits = call["limits"] or (info.min, info.max)
        if len(limits) != 2:
            raise op.wrong_value("limits", "the least and the most", f"{len(limits)} numbers")
        least, most = limits
        bad = ((rows < least) | (rows > most)).any(axis=1)
        op.refuse_samples(bad, "integers", f"whole numbers from {least} to {most}", rows)
    target = call.outputs[0]
    target.as_array()[...] = rows.reshape(target.as_array().shape)


@scheduled.cases
def _cases() -> list[op.Case]:
    scalars = [np.array(value, np.float32) for value in (0.5, 2)]
    rows = [np.array(row, np.float32) for row in ((0.5, 2), (1, 3))]
    sevens = [np.array(7, np.int32)] * 2
    return [
        op.case("numbers", numbers=[[0.5], [2.0]], batch_size=2).equals(scalars).no_oracle(),
        op.case("rows", numbers=[[0.5, 2], [1, 3]], several=True, batch_size=2)
        .equals(rows)
        .no_oracle(),
        op.case("integers", integers=7, batch_size=2).equals(sevens).no_oracle(),
        op.case("empty", integers=7, batch_size=0).equals([]).no_oracle(),
        op.case("too large", integers=1 << 40, batch_size=1).value_error("`integers`"),
        op.case("limits", integers=9, limits=(0, 8), batch_size=2).value_error("0 to 8"),
        op.case("neither", batch_size=1).value_error("`numbers`"),
    ]
