"""Operators that users declare outside of the package, with the names in `gradiva.extension`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Annotated, Any, Optional

import numpy as np
import pytest

import gradiva
from gradiva import extension, fn
from gradiva.eager.operators.argument_types import ArgumentType
from gradiva.eager.operators.operator import operators
from gradiva.extension import Call, Case, FloatArg, IntArg, SampleType
from gradiva.extension.checks import CHECKS


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """What a test declares is gone after it."""
    before = dict(operators)
    yield
    for name in operators.keys() - before.keys():
        del operators[name]


def widen(**changes: Any) -> Any:
    """An operator that repeats columns, with cases; `changes` spoil one part of it."""

    @extension.operator("test.widen")
    def declared(input: SampleType, /, *, times: IntArg = 2, **common: Any) -> SampleType:
        extension.require_dtype(input, (gradiva.uint8,))
        if changes.get("type"):
            return input.with_(dtype=gradiva.float32)
        return input

    @declared.shapes
    def shapes(call: Call) -> Any:
        if (call["times"] < 1).any():
            raise gradiva.OperatorValueError(argument="times", expected="1 or more", got="less")
        shapes = call.inputs[0].batch_shape.shapes.copy()
        shapes[:, 1] *= call["times"]
        return shapes

    @declared.cpu
    def kernel(call: Call) -> None:
        source, target, times = call.inputs[0], call.outputs[0], call["times"]

        def one(index: int) -> None:
            target.at(index)[...] = source.at(index).repeat(times[index], 1)
            if changes.get("writes"):
                source.at(index)[...] = 0

        call.each_sample(one)

    @declared.cases
    def cases() -> list[Case]:
        noise = extension.samples((4, 5, 3), (1, 7, 3))
        twice = [noise.at(index).repeat(2, 1) for index in range(2)]
        wrong = {"times": 0}
        error = gradiva.OperatorTypeError if changes.get("error") else gradiva.OperatorValueError
        found = [
            Case("default", (noise,), expect=twice[::-1] if changes.get("values") else twice),
            Case("once", (noise,), {"times": 1}, [noise.at(0), noise.at(1)]),
            Case("per sample", (noise,), {"times": [1, 2]}, [noise.at(0), twice[1]]),
            Case("empty", (extension.samples(),), expect=[]),
            Case("none", (noise,), wrong, raises=error, match="`times`"),
        ]
        return found[: changes.get("count", 5)]

    return declared


def test_an_operator_passes() -> None:
    # Five of the six checks for each good case; none for expectations that were not given, and no
    # pipeline for the empty batch; one error; a misspelled argument, and a GPU.
    assert extension.check_operator(widen()) == 4 * (len(CHECKS) - 1) - 1 + 1 + 2


@pytest.mark.parametrize(
    ("spoilt", "text"),
    [
        ({"values": True}, "case 'default'"),
        ({"writes": True}, "an input was written into"),
        ({"type": True}, "float32 came out, not uint8"),
        ({"error": True}, "case 'none'"),
        ({"count": 4}, "4 cases are too few"),
        ({"count": 1}, "1 cases are too few: give five, no case raises, no case is called 'empty'"),
    ],
)
def test_what_is_wrong_is_named(spoilt: dict[str, Any], text: str) -> None:
    with pytest.raises(AssertionError, match=f"(?s)test.widen.*{text}"):
        extension.check_operator(widen(**spoilt))


def test_no_operator() -> None:
    with pytest.raises(gradiva.OperatorTypeError, match="`operator`"):
        extension.check_operator(len)


def test_missing_parts_are_named() -> None:
    @extension.operator("test.bare")
    def bare(input: SampleType, /, **common: Any) -> SampleType:
        return input

    with pytest.raises(gradiva.OperatorRuntimeError, match=r"test.bare: .* no shape rule"):
        bare(np.zeros(3))
    bare.shapes(lambda call: call.inputs[0].batch_shape)
    with pytest.raises(gradiva.OperatorRuntimeError, match=r"test.bare: .* no kernel"):
        bare(np.zeros(3))
    with pytest.raises(AssertionError, match="it has no cases"):
        extension.check_operator(bare)


def test_names_of_gradiva_are_taken() -> None:
    with pytest.raises(gradiva.OperatorValueError, match="'flip'"):

        @extension.operator("flip")
        def flip(input: SampleType, /) -> SampleType:
            return input

    assert operators["flip"] is gradiva.flip


Count = IntArg
"""An alias, as users write them; `Pixels` says more to type checkers, and is of a kind of its own.
"""
Pixels = Annotated[
    IntArg, "in pixels", ArgumentType("Pixels", "pixels, or some per sample", int, np.int64)
]


def test_an_alias_is_of_the_kind_that_it_stands_for() -> None:
    @extension.operator("test.aliases")
    def aliases(
        input: SampleType,
        /,
        *,
        a: Count = 1,
        b: Count | None = None,
        c: extension.IntArg = 1,
        d: Optional[IntArg] = None,  # noqa: UP045
        e: Annotated[IntArg, "in pixels"] = 1,
    ) -> SampleType:
        return input

    assert {one.kind.name for one in aliases.arguments.values()} == {"IntArg"}
    assert {one.per_sample for one in aliases.arguments.values()} == {True}
    shown = str(inspect.signature(aliases))
    assert shown.startswith("(input: Batch, /, *, a: IntArg = 1, b: IntArg | None = None, c: ")


def test_the_outermost_kind_counts() -> None:
    @extension.operator("test.pixels", same_shapes=True)
    def moved(input: SampleType, /, *, by: Pixels = 2) -> SampleType:
        return input

    @moved.cpu
    def kernel(call: Call) -> None:
        def one(index: int) -> None:
            call.outputs[0].at(index)[...] = call["by"][index]

        call.each_sample(one)

    wrong: Any = "many"
    assert moved.arguments["by"].kind.expected == "pixels, or some per sample"
    batch = moved(extension.samples((2,), (1,), layout="W"), by=[3, 4])
    assert [list(sample) for sample in batch] == [[3, 3], [4]]
    with pytest.raises(gradiva.OperatorValueError, match="expected pixels, or some per sample"):
        moved(batch, by=wrong)


def test_annotations_may_be_objects() -> None:
    """As without the import from `__future__`."""

    def declared(input: Any, /, *, times: Any = 1, layout: Any = None) -> Any:
        return input

    declared.__annotations__ |= {"times": IntArg, "layout": extension.Layout | None}
    objects = extension.operator("test.objects")(declared)
    assert [one.kind.name for one in objects.arguments.values()] == ["IntArg", "Layout"]
    shown = str(inspect.signature(objects))
    assert "times: IntArg = 1, layout: Layout | None = None" in shown


@pytest.mark.parametrize("annotation", ["Unknown", "extension.Unknown", "list[int]", "no text", 7])
def test_an_annotation_without_a_kind_is_refused(annotation: Any) -> None:
    def declared(input: Any, /, *, times: Any = 1) -> Any:
        return input

    declared.__annotations__["times"] = annotation
    with pytest.raises(gradiva.OperatorTypeError, match=re.escape(f"got {annotation!r}")):
        extension.operator("test.unknown")(declared)


def test_an_argument_without_an_annotation_is_refused() -> None:
    def declared(input: Any, /, *, times=1) -> Any:  # type: ignore[no-untyped-def]
        return input

    with pytest.raises(gradiva.OperatorTypeError, match=r"`times`: .*got no annotation"):
        extension.operator("test.bare")(declared)


@extension.row_kernel()
def add_row(source: Any, target: Any, parameters: Any) -> None:
    for k in range(source.size):
        target[k] = extension.convert_sat(np.float32(source[k]) + parameters[0], target)


def random_gain() -> Any:
    @extension.operator("test.random_gain", random=True)
    def declared(
        input: SampleType, /, *, most: FloatArg = 100.0, **common: extension.Sampled
    ) -> SampleType:
        return input

    declared.shapes(lambda call: call.inputs[0].batch_shape)

    @extension.pixelwise(declared, add_row)
    def parameters(call: Call) -> Any:
        return (call["most"] * extension.draws(call, 6)[:, 5]).reshape(-1, 1, 1)

    return declared


def test_a_random_pixelwise_operator() -> None:
    """Its values are those of `random.uniform`; it fuses; a pipeline gives the same bits."""
    operator = random_gain()
    images = extension.samples((4, 5, 3), (2, 2, 3), (8, 1, 3))
    drawn = gradiva.random.uniform(range=(0, 1), shape=6, batch_size=3, seed=21).as_array()
    alone = operator(images, seed=21)
    for index in range(3):
        expected = images.at(index) + np.float32(100.0) * drawn[index, 5]
        np.testing.assert_array_equal(
            alone.at(index), np.floor(np.minimum(expected, 255) + np.float32(0.5))
        )

    @gradiva.pipeline_def(batch_size=3, num_threads=2)
    def program() -> Any:
        fed = fn.external_source([images], cycle=True)
        return fn.brightness(operator(fed, seed=21), brightness=0.5)

    pipe = program()
    graph = str(gradiva.capture.optimize(pipe.graph))
    assert "fused(" in graph
    assert ".0 = test.random_gain" in graph
    for one, other in zip(pipe.run()[0], gradiva.brightness(alone, brightness=0.5), strict=True):
        np.testing.assert_array_equal(one, other)
    pipe.close()


def test_draws_are_for_random_operators() -> None:
    @extension.operator("test.plain")
    def plain(input: SampleType, /) -> SampleType:
        return input

    @plain.shapes
    def shapes(call: Call) -> Any:
        extension.draws(call, 1)

    with pytest.raises(gradiva.OperatorRuntimeError, match="random=True"):
        plain(np.zeros(3))


def test_an_argument_that_is_not_declared() -> None:
    @extension.operator("test.mistyped", same_shapes=True)
    def mistyped(input: SampleType, /, *, gain: FloatArg = 1.0) -> SampleType:
        return input

    @mistyped.cpu
    def kernel(call: Call) -> None:
        _ = call["gian"]

    with pytest.raises(
        KeyError, match=r"test\.mistyped: argument `gian`: .* declares: gain"
    ) as found:
        mistyped(np.zeros(3))
    assert isinstance(found.value, gradiva.OperatorValueError)
    assert __file__ in str(found.value)


@pytest.mark.parametrize("annotation", [None, "Nothing"])
def test_an_annotation_that_is_missing_or_unknown(annotation: str | None) -> None:
    def declared(input, /, *, gain=1.0):  # type: ignore[no-untyped-def]
        return input

    declared.__annotations__ = {} if annotation is None else {"gain": annotation}
    said = "got no annotation" if annotation is None else "are those of the operator's module"
    with pytest.raises(TypeError, match=rf"test\.bare: argument `gain`: .*{said}") as found:
        extension.operator("test.bare")(declared)
    assert f"{__file__}:{declared.__code__.co_firstlineno}, in declared" in str(found.value)


def test_kinds_of_arguments_are_explained() -> None:
    """Each kind of `gradiva.extension` is in its help, and what kernels see is as the help says."""
    text = str(extension.__doc__)
    kinds = [
        name
        for name, value in vars(extension).items()
        if any(isinstance(part, ArgumentType) for part in getattr(value, "__metadata__", ()))
    ]
    assert len(kinds) > 15
    assert [name for name in kinds if f"`{name}`" not in text] == []
