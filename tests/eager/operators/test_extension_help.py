"""What someone who writes an operator outside of the package meets: help, examples and errors."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import extension
from gradiva.eager.operators.operator import operators
from gradiva.extension import Call, FloatArg, SampleType


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """What a test declares is gone after it."""
    before = dict(operators)
    yield
    for name in operators.keys() - before.keys():
        del operators[name]


@extension.row_kernel()
def add_row(source: Any, target: Any, parameters: Any) -> None:
    """Add a number."""
    for k in range(source.size):
        target[k] = extension.convert_sat(np.float32(source[k]) + parameters[0], target)


def example_of(documented: Any) -> str:
    """The lines below `Example:` of a docstring."""
    text = inspect.getdoc(documented) or ""
    return textwrap.dedent(text.partition("Example:\n")[2])


@pytest.mark.tiny
def test_help_lists_every_name() -> None:
    text = extension.__doc__ or ""
    older = {"Geometry", "takes", "TYPE_CHECKING"}
    names = {
        name
        for name, value in vars(extension).items()
        if not name.startswith("_") and not isinstance(value, ModuleType) and name not in older
    }
    assert len(names) > 80
    assert sorted(name for name in names if f"`{name}`" not in text) == []
    named = set(re.findall(r"`(\w+)`", text))
    assert [name for name in named if name[0].isupper() and not hasattr(extension, name)] == []


@pytest.mark.tiny
def test_unpack_is_there_at_run_time() -> None:
    """Also where annotations are objects."""

    def declared(input: Any, /, *, times: Any = 1, **common: Any) -> Any:
        return input

    objects = {"times": extension.IntArg, "common": extension.Unpack[extension.Common]}
    declared.__annotations__ |= objects
    made = extension.operator("test.unpacked")(declared)
    assert list(made.arguments) == ["times"]


@pytest.mark.tiny
@pytest.mark.parametrize("name", ["slabs", "words", "for_slabs", "for_samples", "draws"])
def test_shapes_and_units_are_said(name: str) -> None:
    text = " ".join((inspect.getdoc(getattr(Call, name)) or "").split())
    assert "(N,)" in text
    assert "int64" in text
    if name != "draws":
        assert "in elements" in text


@pytest.mark.tiny
def test_help_says_that_indices_are_not_checked() -> None:
    assert "NUMBA_BOUNDSCHECK=1" in (inspect.getdoc(Call.for_slabs) or "")
    assert "NUMBA_BOUNDSCHECK=1" in (inspect.getdoc(extension.jit) or "")


@pytest.mark.full
def test_the_example_of_for_slabs() -> None:
    """Ragged samples, which have gaps between them."""

    @extension.operator("test.half", same_shapes=True)
    def half(input: SampleType, /, **common: Any) -> SampleType:
        return input

    exec(example_of(Call.for_slabs), {"extension": extension, "half": half})
    noise = extension.samples((4, 5, 3), (1, 7, 3), (70, 1, 3))
    for one, made in zip(noise, half(noise), strict=True):
        np.testing.assert_array_equal(made, np.asarray(one) // 2)
    halves = extension.samples((4, 5), (3, 1), dtype=gradiva.float16, layout="")
    for one, made in zip(halves, half(halves), strict=True):
        np.testing.assert_array_equal(made, np.asarray(one) // 2)


def test_the_example_of_pixelwise() -> None:
    names: dict[str, Any] = {"extension": extension, "FloatArg": FloatArg}  # and no `__name__`
    exec(example_of(extension.pixelwise), names)
    noise = extension.samples((4, 5, 3), (1, 7, 3))
    for one, made, level in zip(noise, names["add"](noise, level=[3, 60]), (3, 60), strict=True):
        np.testing.assert_array_equal(made, np.minimum(np.asarray(one, np.int64) + level, 255))


def test_the_example_of_jit() -> None:
    names: dict[str, Any] = {"extension": extension}
    exec(example_of(extension.jit), names)
    values = np.zeros((3, 2), np.float32)
    names["add_levels"](values, np.array([1, 2, 3], np.float32), 1, 3)
    assert values.tolist() == [[0, 0], [2, 2], [3, 3]]


@pytest.mark.full
def test_bounds_can_be_checked() -> None:
    """As the help says: a kernel that takes offsets for N + 1 raises an error."""
    script = """
        import numpy as np
        import gradiva
        from gradiva import extension as op

        @op.operator("mine.wrong", same_shapes=True)
        def wrong(input, /, **common):
            return input

        @op.jit
        def kernel(slabs, begin, end):
            source, source_offsets, target, target_offsets = slabs
            for sample in range(begin, end):
                for k in range(source_offsets[sample], source_offsets[sample + 1]):
                    target[k] = source[k]

        @wrong.cpu
        def cpu(call):
            call.for_slabs(kernel)

        try:
            wrong([np.zeros(5, np.uint8), np.zeros(9, np.uint8)])
        except Exception as error:
            print(type(error.__cause__ or error).__name__)
    """
    path = os.environ | {"NUMBA_BOUNDSCHECK": "1"}
    command = [sys.executable, "-c", textwrap.dedent(script)]
    done = subprocess.run(command, env=path, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "IndexError", done.stderr


def pixelwise_with(returned: Any) -> Any:
    """An operator whose function of parameters returns this, or the result of this."""

    @extension.operator("test.shaped", same_shapes=True)
    def shaped(input: SampleType, /, **common: Any) -> SampleType:
        return input

    @extension.pixelwise(shaped, add_row)
    def parameters(call: Call) -> Any:
        return returned

    return shaped


@pytest.mark.parametrize(
    ("returned", "got"),
    [
        (np.zeros((2, 1), np.float32), "got shape (2, 1)"),
        (np.zeros(2, np.float32), "got shape (2,)"),
        (np.zeros((3, 1, 1), np.float32), "got shape (3, 1, 1)"),
        (np.zeros((1, 1, 1), np.float32), "got shape (1, 1, 1)"),
        (np.zeros((2, 1, 1, 1), np.float32), "got shape (2, 1, 1, 1)"),
        ([[[1.0]], [[2.0]]], "got [[[1.0]], [[2.0]]] (list)"),
        (None, "got None (NoneType)"),
    ],
)
def test_parameters_of_another_shape(returned: Any, got: str) -> None:
    noise = extension.samples((4, 5, 3), (1, 7, 3))
    with pytest.raises(gradiva.OperatorTypeError) as found:
        pixelwise_with(returned)(noise)
    text = str(found.value)
    assert text.startswith("test.shaped: the function under `pixelwise` returns parameters of ")
    assert (
        "expected a float32 array of shape (samples, 1 or channels, parameters), here (2, " in text
    )
    assert got in text
    assert __file__ in text


def test_parameters_for_channels_that_are_not_there() -> None:
    noise = extension.samples((4, 5, 3), (1, 7, 3))
    with pytest.raises(gradiva.OperatorTypeError, match=r"here \(2, 1 or 3, P\), got shape \(2, 2"):
        pixelwise_with(np.zeros((2, 2, 1), np.float32))(noise)
    flat = extension.samples((4,), (7,), layout="")
    with pytest.raises(gradiva.OperatorTypeError, match=r"here \(2, 1, P\), got shape \(2, 4, 1"):
        pixelwise_with(np.zeros((2, 4, 1), np.float32))(flat)
    made = pixelwise_with(np.array([[[1], [2], [3]]] * 2, np.float32))(
        extension.samples((2, 1, 3), (1, 1, 3))
    )
    assert made.at(0).shape == (2, 1, 3)


def test_parameters_of_another_shape_in_a_pipeline() -> None:
    """In a fused group the error is the same, and names the operator."""
    noise = extension.samples((4, 5, 3), (1, 7, 3))
    for wrong in (np.zeros((2, 1), np.float32), np.zeros((2, 2, 1), np.float32)):
        shaped = pixelwise_with(wrong)

        @gradiva.pipeline_def(batch_size=2, num_threads=1)
        def program() -> Any:
            fed = gradiva.fn.external_source([noise], cycle=True)
            return gradiva.fn.brightness(shaped(fed), brightness=0.5)  # noqa: B023

        with (
            program() as pipe,
            pytest.raises(gradiva.OperatorTypeError, match=r"test\.shaped: the function under"),
        ):
            pipe.run()
        del operators["test.shaped"]


@pytest.mark.tiny
@pytest.mark.parametrize("kind", ["pixels", "Channelwise", len])
def test_a_row_kernel_of_no_kind(kind: Any) -> None:
    """As `@row_kernel` without the brackets."""
    with pytest.raises(gradiva.OperatorValueError, match=r"`@row_kernel\(\)`.* \"channelwise\" or"):
        extension.row_kernel(kind)


@pytest.mark.tiny
def test_pixelwise_of_no_row_kernel() -> None:
    shaped = pixelwise_with(None)
    with pytest.raises(gradiva.OperatorTypeError, match="the second argument of `pixelwise`"):
        extension.pixelwise(shaped, extension.jit(add_row.function))  # type: ignore[arg-type]
