"""Constants of pipelines: their names, and members of enumerations among them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import fn, ops, pipeline_def, types

pytestmark = pytest.mark.core

OPTIONS: dict[str, Any] = {"batch_size": 2, "num_threads": 1, "device_id": None}


def defined(**more: Any) -> Callable[[Callable[..., Any]], Any]:
    made: Callable[[Callable[..., Any]], Any] = pipeline_def(**OPTIONS, **more)
    return made


NAMED: dict[str, Callable[..., Any]] = {
    "types": lambda **named: types.Constant(2.5, shape=(3, 2), **named),
    "array": lambda **named: types.Constant(np.ones((2, 2), np.float16), **named),
    "node": lambda **named: types.ConstantNode("cpu", [1, 2], **named),
    "function": lambda **named: fn.constant(fdata=[1.0, 2.0], **named),
    "class": lambda **named: ops.Constant(fdata=[1.0, 2.0], **named)(),
}


@pytest.mark.parametrize("make", NAMED.values(), ids=NAMED)
def test_a_name(make: Any) -> None:
    @defined()
    def pipeline() -> Any:
        return make(name="given") + 0, make()

    with pipeline() as pipe:
        first, second = pipe.run()
        assert "given" in pipe.graph.names.values()
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("make", NAMED.values(), ids=NAMED)
def test_preserve(make: Any) -> None:
    @defined()
    def pipeline(kept: bool) -> Any:
        make(name="unused", preserve=kept)
        return fn.random.uniform()

    for kept in (True, False):
        with pipeline(kept) as pipe:
            pipe.run()
            assert len(pipe.graph.kept) == int(kept)


@pytest.mark.parametrize("make", [NAMED[name] for name in ("types", "array", "function")])
def test_outside_of_pipelines_names_mean_nothing(make: Any) -> None:
    np.testing.assert_array_equal(make(name="given"), make())


ENUMERATIONS = {
    "element type": (types.INT16, types.DATA_TYPE, 5),
    "element types": ([types.UINT8, types.FLOAT], types.DATA_TYPE, [0, 9]),
    "interpolations": ([types.INTERP_NN, types.INTERP_CUBIC], types.INTERP_TYPE, [0, 2]),
    "color space": (types.GRAY, types.IMAGE_TYPE, 2),
}


@pytest.mark.parametrize(("value", "kind", "number"), ENUMERATIONS.values(), ids=ENUMERATIONS)
def test_members_of_enumerations_are_numbers(value: Any, kind: Any, number: Any) -> None:
    expected = np.asarray(number, np.int32)
    numbers = [int(one) for one in value] if isinstance(value, list) else int(value)

    @defined()
    def pipeline() -> Any:
        return (
            fn.copy(value),
            types.Constant(value),
            types.Constant(value, dtype=kind),
            types.Constant(numbers, dtype=kind),
            fn.cast(value, dtype=types.INT32),
        )

    with pipeline() as pipe:
        outputs = pipe.run()
    found = [np.asarray(one[1]) for one in outputs]
    found += [np.asarray(gradiva.tensor(value)), np.asarray(types.Constant(value))]
    for one in found:
        assert one.dtype == np.int32
        np.testing.assert_array_equal(one, expected)


def test_drawn_interpolations() -> None:
    choices = [types.INTERP_LINEAR, types.INTERP_CUBIC]

    @defined(seed=1)
    def pipeline() -> Any:
        images = fn.random.uniform(range=(0, 255), dtype=types.UINT8, shape=(6, 5, 3))
        drawn = fn.random.choice(choices)
        return images, drawn, fn.resize(images, size=(3, 9), interp_type=drawn)

    with pipeline() as pipe:
        images, drawn, resized = pipe.run()
    for image, kind, found in zip(images, drawn, resized, strict=True):
        wanted = gradiva.resize(
            np.asarray(image), size=(3, 9), interp_type=types.DALIInterpType(int(np.asarray(kind)))
        )
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("value", [object(), [types.INT16, "a"], np.array([], object)])
def test_other_objects_are_no_numbers(value: Any) -> None:
    with pytest.raises(gradiva.OperatorTypeError, match="numbers"):
        gradiva.tensor(value)
