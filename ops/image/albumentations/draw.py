"""`albumentations.draw`: the random numbers of a transform, and whether it is applied."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gradiva.eager import extension as op

from .choose import gates_of
from .drawn_colors import COLORS
from .drawn_places import PLACES
from .numbers import Numbers
from .settings import UNUSABLE, Settings, settings_of

RULES = COLORS | PLACES
"""By transform: a function of random numbers, of (height, width, channels) and of the settings,
which makes the numbers that the transform is applied with."""


@op.operator("albumentations.draw", inputs=(1, 2), random=True)
def draw(
    input: op.SampleType,
    gates: op.SampleType | op.Value | None = None,
    /,
    *,
    transform: str,
    settings: str = "{}",
    place: int = 0,
    probability: op.FloatArg = 1.0,
    **common: op.Unpack[op.Sampled],
) -> op.SampleType:
    """Draw the random numbers of a transform of Albumentations.

    Args:
        input: images, whose shapes may matter; HW or HWC.
        gates: from `albumentations.choose`; where one is 0 the transform is not applied.
        transform: its name.
        settings: its arguments, as a JSON object.
        place: which of the gates is that of the transform.
        probability: of the transform to be applied; may differ per sample.

    Returns:
        1-D float64: 1, and the numbers of the transform; or 0 alone, if it is not applied.

    Raises:
        OperatorTypeError: for gates of another rank.
        OperatorValueError: for unknown transforms, and images that a transform does not take.

    Example:
        from gradiva.ops.image.albumentations.draw import draw

        images = gradiva.imread(["cat.jpg", "coffee.jpg"])
        settings = '{"gamma_limit": [80, 80]}'
        draw(images, transform="RandomGamma", settings=settings).tensors[0]  # [1.0, 80.0]
    """
    if transform not in RULES:
        raise op.wrong_value("transform", "a known transform", repr(transform))
    settings_of(settings)
    if place < 0:
        raise op.wrong_value("place", "0 or more", place)
    if isinstance(gates, op.SampleType):
        op.require_ndim(gates, (1,), "the second input")
    return op.SampleType(op.float64, 1, "", "cpu")


draw.moves = op.IN_PLACE


@dataclass(frozen=True)
class DrawnPlan(op.Plan):
    """rows: the numbers of each sample."""

    rows: list[list[float]]


@draw.shapes
def _shapes(call: op.Call) -> DrawnPlan:
    rule, settings = RULES[call["transform"]], settings_of(call["settings"])
    chances = call["probability"]
    bad = ~((chances >= 0) & (chances <= 1))
    op.refuse_samples(bad, "probability", "a number from 0 to 1", chances)
    gates = gates_of(call)
    positions, seed, number = call.draws
    shapes = call.inputs[0].batch_shape.shapes
    rows = list[list[float]]()
    for sample in range(call.size):
        numbers = Numbers(positions[sample], seed, number)
        applied = numbers.unit() < float(chances[sample]) and bool(gates[sample])
        rows.append(_row(rule, numbers, shapes[sample].tolist(), settings, sample, applied))
    lengths = np.array([[len(row)] for row in rows], np.int64).reshape(call.size, 1)
    return DrawnPlan(op.BatchShape.of(lengths), rows)


def _row(
    rule: Any, numbers: Numbers, shape: list[int], settings: Settings, sample: int, applied: bool
) -> list[float]:
    """The numbers of a sample. Raises OperatorValueError."""
    if not applied:
        return [0.0]
    size = (*shape, 1)[:3]
    try:
        return [1.0, *(float(one) for one in rule(numbers, size, settings))]
    except op.OperatorValueError as error:
        raise error.complete(sample=sample) from error.__cause__
    except UNUSABLE as error:
        raise op.OperatorValueError(
            f"the settings cannot be used: {type(error).__name__}: {error}",
            argument="settings",
            sample=sample,
        ) from error


@draw.cpu
def _cpu(call: op.Call, plan: DrawnPlan) -> None:
    for sample, row in enumerate(plan.rows):
        call.outputs[0].array(sample)[:] = row


@draw.cases
def _cases() -> list[op.Case]:
    images = op.samples((9, 7, 3), (5, 8, 3), (6, 6, 3))
    off = op.batch([np.array([0.0, one]) for one in (1, 0, 1)])
    sure: Any = {"transform": "RandomGamma", "settings": '{"gamma_limit": [80, 80]}'}
    crop = '{"height": 6, "width": 6, "pad_if_needed": false, "pad_position": "center"}'
    return [
        op.case("one value", images, **sure).equals([np.array([1.0, 80.0])] * 3).no_oracle(),
        op.case("a gate", images, off, **sure, place=1)
        .equals([np.array([1.0, 80.0]), np.array([0.0]), np.array([1.0, 80.0])])
        .no_oracle(),
        op.case("never", images, **sure, probability=0.0).equals([np.array([0.0])] * 3).no_oracle(),
        op.case("some", images, **sure, probability=[0.0, 1.0, 0.5], seed=1).no_oracle(),
        op.case("empty", op.samples(), **sure).equals([]).no_oracle(),
        op.case("unknown", images, transform="Fog").value_error("`transform`"),
        op.case("no JSON", images, transform="RandomGamma", settings="{").value_error("JSON"),
        op.case("chance", images, **sure, probability=[0, 2, 0]).value_error("sample 1"),
        op.case("too small", images, transform="CenterCrop", settings=crop).value_error("sample 1"),
    ]
