"""Batches in another order: `batch_permutation` and `permute_batch`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gradiva.eager import extension as op
from gradiva.eager.random.philox import philox


@op.maker("batch_permutation", schema="BatchPermutation", random=True)
def batch_permutation(
    *,
    allow_repetitions: bool = False,
    no_fixed_points: bool = False,
    **common: op.Unpack[op.Sampled],
) -> op.SampleType:
    """Draw a random order of the samples of a batch: the numbers 0 to N - 1.

    Without `batch_size`, dynamic mode makes the only order of one sample, 0.

    Args:
        allow_repetitions: draw each number for itself; some then come several times, others not at
            all.
        no_fixed_points: no sample gets its own number (where there are at least two).

    Returns:
        Int32 scalars. Each permutation, or each without fixed points, is as likely as the others:
        Fisher and Yates' shuffle ("Statistical tables", 1938), repeated until no point is fixed.
        The result is about the whole batch: it depends on the position of the batch's first sample,
        and on the batch size.

    Raises:
        OperatorTypeError: for flags that are neither True nor False.

    Example:
        images = gradiva.imread(["cat.jpg", "coffee.jpg"])
        order = gradiva.batch_permutation(batch_size=2)
        shuffled = gradiva.permute_batch(images, indices=order)
    """
    return op.SampleType(op.int32, 0, "")


batch_permutation.shapes(lambda call: op.BatchShape.equal(call.size, ()))


@op.jit
def below(number: int, block: int, call: np.uint32, position: np.uint64, seed: np.uint64) -> int:
    """A random integer from 0 to number - 1: the high half of number times a random word."""
    words = philox(np.uint32(block // 4), call, position, seed)
    word = words[0]
    for k in range(1, 4):
        if block % 4 == k:
            word = words[k]
    return int((np.uint64(word) * np.uint64(number)) >> np.uint64(32))


@op.jit
def permute(
    out: NDArray[np.int32],
    repeat: bool,
    move: bool,
    call: np.uint32,
    position: np.uint64,
    seed: np.uint64,
) -> None:
    """Fill `out` with numbers of samples."""
    count = out.size
    block = 0
    if repeat:
        for i in range(count):
            if move and count > 1:
                drawn = below(count - 1, i, call, position, seed)
                out[i] = drawn + (1 if drawn >= i else 0)
            else:
                out[i] = below(count, i, call, position, seed)
        return
    # A permutation is free of fixed points with probability 1/e: 99 attempts fail in 1e-20.
    for attempt in range(100):
        # The last resort leaves the own place out at each draw, which gives a single cycle.
        away = 1 if move and attempt == 99 and count > 1 else 0
        for i in range(count):
            out[i] = i
        for i in range(count - 1, 0, -1):
            other = below(i + 1 - away, block, call, position, seed)
            block += 1
            out[i], out[other] = out[other], out[i]
        fixed = False
        for i in range(count):
            fixed = fixed or out[i] == i
        if not (move and fixed and count > 1):
            return


@batch_permutation.cpu
def _cpu(call: op.Call) -> None:
    positions, seed, number = call.draws
    flags = call["allow_repetitions"], call["no_fixed_points"]
    permute(call.outputs[0].data[: call.size], *flags, number, np.uint64(positions[0]), seed)


@batch_permutation.cases
def _batch_permutation_cases() -> list[op.Case]:
    swapped = [np.array(1, np.int32), np.array(0, np.int32)]
    return [
        op.case("some", batch_size=9, seed=1).no_oracle(),
        op.case("one", batch_size=1, seed=1).equals([np.array(0, np.int32)]).no_oracle(),
        op.case("two, moved", batch_size=2, no_fixed_points=True, seed=1)
        .equals(swapped)
        .no_oracle(),
        op.case(
            "two, drawn elsewhere",
            batch_size=2,
            no_fixed_points=True,
            allow_repetitions=True,
            seed=1,
        )
        .equals(swapped)
        .no_oracle(),
        op.case("repetitions", batch_size=5, allow_repetitions=True, seed=1).no_oracle(),
        op.case("empty", batch_size=0).equals([]).no_oracle(),
        op.case("not a flag", batch_size=2, no_fixed_points=3).type_error("`no_fixed_points`"),
    ]


@op.operator("permute_batch", schema="PermuteBatch", bfloat16=True)
def permute_batch(
    input: op.SampleType, /, *, indices: op.IntsArg, **common: op.Unpack[op.Common]
) -> op.SampleType:
    """Put the samples of a batch into another order.

    A sample may stand there several times, or not at all. Nothing is copied: the result shares the
    memory of the input. The names of files go with the samples; positions stay, so that later
    random values differ for samples that come several times.

    Args:
        input: any dtype, rank and layout.
        indices: for each sample of the result its number in the input, from 0: one number per
            sample, as a batch of scalars or as a sequence. A single number takes the same sample
            everywhere.

    Returns:
        The chosen samples.

    Raises:
        OperatorValueError: for a wrong number of indices, and, with the sample, for one that is out
            of range.

    Example:
        images = gradiva.imread(["cat.jpg", "coffee.jpg"])
        gradiva.permute_batch(images, indices=[1, 0]).shape  # [(400, 600, 3), (300, 451, 3)]
    """
    return input


@dataclass(frozen=True)
class PermutePlan(op.Plan):
    """order: for each sample of the result its number in the input."""

    order: list[int]


permute_batch.samplewise = False


@permute_batch.shapes
def _permute_batch_shapes(call: op.Call) -> PermutePlan:
    rows = call["indices"]
    if rows.shape[1] == 1:  # without samples: a batch of no numbers, or one number for all
        order = rows[:, 0]
    elif rows.shape[1] != call.size or (rows[1:] != rows[:-1]).any():
        raise op.wrong_value(
            "indices", f"one index per sample, {call.size} in all", f"{rows.shape[1]}"
        )
    else:
        order = rows[0] if call.size else rows.reshape(-1)
    bad = (order < 0) | (order >= call.size)
    op.refuse_samples(bad, "indices", f"numbers from 0 to {call.size - 1}", order)
    numbers = order.tolist()
    return PermutePlan(call.inputs[0].batch_shape.select(numbers), numbers)


@permute_batch.view
def _view(call: op.Call) -> op.Batch:
    source, plan = call.inputs[0], call.plan
    assert isinstance(plan, PermutePlan)
    where = source.provenance
    if where is not None:
        names = where.select(plan.order).names
        where = where.renamed(names)
    return op.Batch.over(source.data, plan.shapes, call.types[0], where)


@permute_batch.cases
def _permute_batch_cases() -> list[op.Case]:
    images = op.samples((4, 5, 3), (1, 7, 3), (6, 2, 3))
    numbers = op.samples((), (), (), dtype=op.int32, layout="")
    rows = op.samples((3,), (3,), (3,), dtype=op.float32, layout="W")
    return [
        op.case("turn", images, indices=[1, 2, 0]).equals([images.at(i) for i in (1, 2, 0)]),
        op.case("again and again", rows, indices=[1, 1, 0]).equals([rows.at(i) for i in (1, 1, 0)]),
        op.case("as data", images, indices=np.array([[2], [0], [1]], np.int32))
        .equals([images.at(i) for i in (2, 0, 1)])
        .no_oracle(),
        op.case("scalars", numbers, indices=[2, 1, 0]).equals([numbers.at(i) for i in (2, 1, 0)]),
        op.case("the same", images, indices=[0, 1, 2]).equals(images.arrays()),
        op.case("empty", op.samples(), indices=[]).equals([]),
        op.case("empty, as data", op.samples(), indices=np.zeros((0, 1), np.int32))
        .equals([])
        .no_oracle(),
        op.case("out of range", images, indices=[0, 3, 1]).value_error("sample 1"),
        op.case("negative", images, indices=[0, -1, 1]).value_error("`indices`"),
        op.case("too few", images, indices=[0, 1]).value_error("3 in all"),
        op.case("none", images).type_error("`indices`"),
    ]
