"""`albumentations.geometry`: a transform that moves pixels, with drawn numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.support.opencv import cv2

from .moves import MOVES, Move, Rule, Size, stay
from .settings import UNUSABLE, Drawn, Settings, check_drawn, drawn_of, image_type, settings_of
from .warps import WARPS

_MOST: Final = 1 << 28
"""Pixels of a result: `Perspective` with `fit_output` may ask for any number."""
RULES: Final[dict[str, Rule]] = MOVES | WARPS
"""By transform, a function of a size, of drawn numbers and of the settings."""


@op.operator("albumentations.geometry", inputs=2)
def geometry(
    input: op.SampleType,
    drawn: op.SampleType,
    /,
    *,
    transform: str,
    settings: str = "{}",
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """Apply a transform of Albumentations that moves pixels.

    Args:
        input: uint8, uint16, int16 or float32; HWC or HW.
        drawn: its numbers for each sample, from `albumentations.draw`.
        transform: its name.
        settings: its arguments, as a JSON object.

    Returns:
        Images of the same dtype; where it is not applied, of the same size.

    Raises:
        OperatorTypeError: for other dtypes and layouts.
        OperatorValueError: for unknown transforms, and images without pixels.

    Example:
        from gradiva.ops.image.albumentations.geometry import geometry

        geometry(np.uint8([[1, 2]]), np.array([1.0]), transform="Transpose")  # [[1], [2]]
    """
    if transform not in RULES:
        raise op.wrong_value("transform", "a known transform", repr(transform))
    settings_of(settings)
    check_drawn(drawn)
    return image_type(input, (op.uint8, op.uint16, op.int16, op.float32))


geometry.libraries = ("opencv-python-headless",)


@dataclass(frozen=True)
class MovePlan(op.Plan):
    """moves: where the pixels of each sample go."""

    moves: list[Move]


@geometry.shapes
def _shapes(call: op.Call) -> MovePlan:
    rule, settings = RULES[call["transform"]], settings_of(call["settings"])
    shapes = call.inputs[0].batch_shape.shapes.copy()
    empty = (shapes[:, :2] == 0).any(axis=1)
    op.refuse_samples(empty, "", "", shapes, "the image has no pixels")
    moves = list[Move]()
    for sample in range(call.size):
        size = int(shapes[sample, 0]), int(shapes[sample, 1])
        drawn = drawn_of(call.inputs[1], sample)
        move = stay(size) if drawn is None else _moved(rule, size, drawn, settings, sample)
        if min(move.size) < 1:
            raise op.OperatorValueError(
                "the result has no pixels", got=f"{move.size[0]} x {move.size[1]}", sample=sample
            )
        if move.size[0] * move.size[1] > _MOST:
            raise op.OperatorValueError(
                "the result is too large",
                expected=f"at most {_MOST} pixels",
                got=f"{move.size[0]} x {move.size[1]}",
                sample=sample,
            )
        moves.append(move)
        shapes[sample, :2] = move.size
    return MovePlan(op.BatchShape.of(shapes), moves)


def _moved(rule: Rule, size: Size, drawn: Drawn, settings: Settings, sample: int) -> Move:
    """The move of a sample. Raises OperatorValueError."""
    try:
        return rule(size, drawn, settings)
    except (*UNUSABLE, cv2.error) as error:
        raise op.OperatorValueError(
            f"the settings cannot be used: {type(error).__name__}: {error}",
            argument="settings",
            sample=sample,
        ) from error


@geometry.coordinate_map
def _map(call: op.Call) -> Any:
    assert isinstance(call.plan, MovePlan)
    return np.array([move.matrix for move in call.plan.moves]).reshape(-1, 3, 3)


@geometry.cpu
def _cpu(call: op.Call, plan: MovePlan) -> None:
    source, target = call.inputs[0], call.outputs[0]

    def run(sample: int) -> None:
        made = plan.moves[sample].make(source.array(sample))
        target.array(sample)[...] = made

    call.each_sample(run, target.batch_shape.volumes.tolist())


@geometry.cases
def _cases() -> list[op.Case]:
    images = op.samples((4, 5, 3), (1, 7, 3), (6, 1, 3))
    numbers = op.batch([np.array([1.0]), np.array([0.0]), np.array([1.0])])
    turned = [images.at(0)[:, ::-1], images.at(1), images.at(2)[:, ::-1]]
    turns = op.batch([np.array([1.0, 1.0]), np.array([1.0, 2.0]), np.array([0.0])])
    planes = op.samples((4, 5), (3, 3), dtype=op.float32, layout="HW")
    swapped = op.batch([np.array([1.0])] * 2)
    none = op.samples(dtype=op.float64, layout="")
    return [
        op.case("mirror", images, numbers, transform="HorizontalFlip").equals(turned).no_oracle(),
        op.case("turns", images, turns, transform="RandomRotate90")
        .equals([np.rot90(images.at(0)), np.rot90(images.at(1), 2), images.at(2)])
        .no_oracle(),
        op.case("planes", planes, swapped, transform="Transpose")
        .equals([one.T for one in planes.arrays()])
        .no_oracle(),
        op.case("empty", op.samples(), none, transform="Transpose").equals([]).no_oracle(),
        op.case("unknown", images, numbers, transform="Fog").value_error("`transform`"),
        op.case("numbers", images, images, transform="Transpose").type_error("drawn"),
        op.case(
            "no pixels", op.samples((0, 4, 3)), op.batch([np.array([1.0])]), transform="Transpose"
        ).value_error("sample 0"),
    ]
