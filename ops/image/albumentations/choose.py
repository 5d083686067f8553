"""`albumentations.choose`: which transforms of a container are applied to a sample."""

from __future__ import annotations

import itertools
from typing import Any, Final

import numpy as np

from gradiva.eager import extension as op

from .numbers import Numbers

_KINDS: Final = ("one", "some", "again", "order", "free")
_MOST: Final = 1024


@op.operator("albumentations.choose", inputs=(1, 2), random=True)
def choose(
    input: op.SampleType,
    gates: op.SampleType | op.Value | None = None,
    /,
    *,
    kind: str,
    weights: op.Floats,
    chosen: int = 1,
    place: int = 0,
    probability: op.FloatArg = 1.0,
    **common: op.Unpack[op.Sampled],
) -> op.SampleType:
    """Choose transforms for each sample.

    Args:
        input: images, which say how many samples there are.
        gates: of a container around this one, from such a call.
        kind: "one": one transform, by its weight; "some": `chosen` different ones, in their order;
            "again": `chosen` ones, which may be the same, in their order; "order": `chosen`
            different ones, in a random order; "free": `chosen` ones, which may be the same, in a
            random order.
        weights: of each transform.
        chosen: how many are applied.
        place: which of the gates says whether anything is applied here.
        probability: that anything is applied; may differ per sample.

    Returns:
        1-D float64 of zeros and ones: of each transform whether it is applied ("one", "some"); for
        "again" of each transform whether it is applied for the first, the second time and so on;
        for "order" and "free" of each step which transform it is.

    Raises:
        OperatorValueError: for weights that are negative or all 0, and other arguments out of
            range.

    Example:
        from gradiva.ops.image.albumentations.choose import choose

        images = gradiva.imread(["cat.jpg", "coffee.jpg"])
        choose(images, kind="some", weights=(1, 1), chosen=2).tensors[0]  # [1.0, 1.0]
    """
    if kind not in _KINDS:
        raise op.wrong_value("kind", f"one of {', '.join(_KINDS)}", repr(kind))
    numbers = np.atleast_1d(np.asarray(weights, np.float64))
    if not (numbers >= 0).all() or not np.isfinite(numbers).all() or not numbers.any():
        raise op.wrong_value("weights", "numbers from 0 on, not all 0", weights)
    most = len(numbers) if kind in ("some", "order") else _MOST
    if not 1 <= chosen <= most or chosen * len(numbers) > _MOST:
        raise op.wrong_value("chosen", f"1 to {most}, and at most {_MOST} calls", chosen)
    if place < 0:
        raise op.wrong_value("place", "0 or more", place)
    if isinstance(gates, op.SampleType):
        op.require_ndim(gates, (1,), "the second input")
    return op.SampleType(op.float64, 1, "", "cpu")


choose.moves = op.IN_PLACE


def gates_of(call: op.Call) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Whether the gate of each sample is open. Raises OperatorValueError."""
    if len(call.inputs) < 2:
        return np.ones(call.size, bool)
    gates, place = call.inputs[1], call["place"]
    counts = gates.batch_shape.shapes[:, 0]
    op.refuse_samples(counts <= place, "place", "a gate at this place", counts)
    return np.array([gates.array(sample)[place] != 0 for sample in range(call.size)], bool)


@choose.shapes
def _shapes(call: op.Call) -> op.BatchShape:
    count = len(np.atleast_1d(call["weights"]))
    rows = 1 if call["kind"] in ("one", "some") else call["chosen"]
    return op.BatchShape.equal(call.size, (rows * count,))


def _flags(numbers: Numbers, kind: str, weights: list[float], chosen: int) -> Any:
    count = len(weights)
    flags = np.zeros((count, chosen) if kind == "again" else (chosen, count))
    if kind == "one":
        at = numbers.uniform(0.0, sum(weights))
        sums = itertools.accumulate(weights)
        last = max(place for place, weight in enumerate(weights) if weight)
        return np.eye(1, count, next((k for k, top in enumerate(sums) if at < top), last))[0]
    if kind == "again":
        found = [numbers.integer(0, count - 1) for _ in range(chosen)]
        for place in range(count):
            flags[place, : found.count(place)] = 1
        return flags.reshape(-1)
    order = numbers.shuffled(count)[:chosen]
    if kind == "free":
        order = [numbers.integer(0, count - 1) for _ in range(chosen)]
    flags[np.arange(chosen), order] = 1
    return flags.sum(axis=0) if kind == "some" else flags.reshape(-1)


@choose.cpu
def _cpu(call: op.Call) -> None:
    weights = np.atleast_1d(np.asarray(call["weights"], np.float64)).tolist()
    chances, gates = call["probability"], gates_of(call)
    bad = ~((chances >= 0) & (chances <= 1))
    op.refuse_samples(bad, "probability", "a number from 0 to 1", chances)
    positions, seed, number = call.draws
    for sample in range(call.size):
        numbers = Numbers(positions[sample], seed, number)
        applied = numbers.unit() < float(chances[sample]) and bool(gates[sample])
        flags = _flags(numbers, call["kind"], weights, call["chosen"])
        call.outputs[0].array(sample)[:] = flags if applied else 0


@choose.cases
def _cases() -> list[op.Case]:
    images = op.samples((4, 4, 3), (4, 4, 3))
    gates = op.batch([np.array([1.0, 0.0]), np.array([0.0, 1.0])])
    sure = [np.array([0.0, 1.0])] * 2
    return [
        op.case("one", images, kind="one", weights=(0, 3)).equals(sure).no_oracle(),
        op.case("gates", images, gates, kind="one", weights=(0, 3), place=1)
        .equals([np.zeros(2), sure[1]])
        .no_oracle(),
        op.case("all", images, kind="some", weights=(1, 1), chosen=2)
        .equals([np.ones(2)] * 2)
        .no_oracle(),
        op.case("again", images, kind="again", weights=(1,), chosen=3)
        .equals([np.ones(3)] * 2)
        .no_oracle(),
        op.case("order", images, kind="order", weights=(1, 1, 1), chosen=2, seed=1).no_oracle(),
        op.case("never", images, kind="one", weights=(1, 1), probability=0.0)
        .equals([np.zeros(2)] * 2)
        .no_oracle(),
        op.case("empty", op.samples(), kind="one", weights=(1, 1)).equals([]).no_oracle(),
        op.case("kind", images, kind="two", weights=(1,)).value_error("`kind`"),
        op.case("weights", images, kind="one", weights=(0, 0)).value_error("`weights`"),
        op.case("too many", images, kind="some", weights=(1, 1), chosen=3).value_error("`chosen`"),
        op.case("place", images, gates, kind="one", weights=(1,), place=2).value_error("`place`"),
    ]
