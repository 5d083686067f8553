"""Operators that are declared outside of gradiva move targets by their maps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import extension as op
from gradiva.eager.operators.operator import operators

from .graphs import f32

IMAGE = np.zeros((60, 80, 3), np.uint8)
TARGETS = gradiva.Targets(boxes=f32([[10, 20, 30, 40]]))


@pytest.fixture
def shift() -> Any:
    """Moves images to the right, by pixels that differ per sample."""

    @op.operator("mine.shift", same_shapes=True)
    def shift(input: op.SampleType, /, *, pixels: op.IntArg, **common: Any) -> op.SampleType:
        return input

    @shift.coordinate_map
    def _map(call: op.Call) -> Any:
        return op.axis_map(1.0, np.stack([call["pixels"], 0 * call["pixels"]], axis=1))

    @shift.cpu
    def _cpu(call: op.Call) -> None:
        for sample in range(call.size):
            pixels = int(call["pixels"][sample])
            call.outputs[0].at(sample)[...] = np.roll(call.inputs[0].at(sample), pixels, 1)

    yield shift
    dict.pop(operators, "mine.shift")


def test_a_map_of_ones_own(shift: Any) -> None:
    images = gradiva.as_batch([IMAGE, IMAGE], layout="HWC")
    _, targets = shift(images, TARGETS, pixels=[5, 60])
    assert [np.asarray(one).tolist() for one in targets.boxes] == [
        [[15, 20, 35, 40]],
        [[70, 20, 80, 40]],
    ]
    assert targets.names == ("boxes",)

    @gradiva.pipeline_def(batch_size=2, num_threads=1, seed=1)
    def pipe() -> Any:
        images = gradiva.fn.external_source(lambda: [IMAGE, IMAGE], layout="HWC")
        images, targets = shift(images, TARGETS, pixels=5)
        images, targets = gradiva.fn.flip(images, targets)
        return images, targets.boxes

    _, boxes = pipe().run()
    assert np.asarray(boxes.as_array()).tolist() == [[[45, 20, 65, 40]]] * 2


def test_in_place_and_without_a_map() -> None:
    @op.operator("mine.same", same_shapes=True)
    def same(input: op.SampleType, /, **common: Any) -> op.SampleType:
        return input

    same.cpu(lambda call: None)

    @op.operator("mine.unknown")
    def unknown(input: op.SampleType, /, **common: Any) -> op.SampleType:
        return input

    unknown.shapes(lambda call: call.inputs[0].batch_shape)
    unknown.cpu(lambda call: None)
    try:
        _, targets = same(IMAGE, TARGETS)
        assert targets is TARGETS
        with pytest.raises(gradiva.OperatorTypeError, match=r"mine.unknown.*`coordinate_map`"):
            unknown(IMAGE, TARGETS)
    finally:
        dict.pop(operators, "mine.same")
        dict.pop(operators, "mine.unknown")


def test_an_operator_with_its_own_way(shift: Any) -> None:
    """One that merges samples does what it does with targets itself."""

    def alone(images: Any, trees: Any, keywords: Any) -> Any:
        (targets,) = trees
        boxes = np.asarray(targets.fields()["boxes"]) + 1
        return images, (targets.with_fields({"boxes": boxes}),)

    shift.with_targets = alone
    _, moved = gradiva.flip(IMAGE, TARGETS)
    _, targets = shift(IMAGE, moved)
    _, targets = gradiva.flip(IMAGE, targets)
    assert np.asarray(targets.boxes).tolist() == [[9, 21, 29, 41]]
