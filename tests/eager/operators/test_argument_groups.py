"""Argument groups: what several operators take is declared once, and shown at each."""

from __future__ import annotations

import inspect
from typing import Any, TypedDict

import pytest

import gradiva
from docs.site.docstrings import parse
from gradiva.eager import extension as op
from gradiva.eager.operators.docstrings import merge_docstrings
from gradiva.eager.operators.operator import operators
from gradiva.ops.image.crop_window import CropWindow


@op.argument_group(times=1)
class Scaling(TypedDict, total=False):
    """
    The factor comes first.

    Args:
        input: numbers.
        times: a factor.
        offset: what is added; may differ
            per sample.

    Raises:
        OperatorValueError: for other factors.
    """

    times: int
    offset: op.IntArg | None


class Arguments(Scaling, op.Common, total=False):
    """For type checkers."""


@pytest.fixture
def scale() -> Any:
    @op.operator("test.scale", same_shapes=True)
    @op.uses_arguments("first", Scaling, ...)
    def scale(
        input: op.SampleType,
        /,
        *,
        last: bool = False,
        first: float = 0.5,
        **options: op.Unpack[Arguments],
    ) -> op.SampleType:
        """Scale samples.

        Args:
            last: after all.
            first: before all.
            offset: in pixels.

        Returns:
            Samples.

        Raises:
            OperatorTypeError: for booleans.
            OperatorValueError: for many offsets.
        """
        if options["times"] < 1:
            raise op.OperatorValueError(argument="times", got=str(options["times"]))
        assert set(options) >= {"times", "offset"}
        return input

    return operators.pop("test.scale")


def test_the_order_is_that_of_the_declaration(scale: Any) -> None:
    names = ["input", "first", "times", "offset", "last"]
    assert list(scale.__signature__.parameters)[:5] == names
    assert list(scale.arguments) == names[1:]


def test_kinds_and_defaults(scale: Any) -> None:
    times, offset = scale.arguments["times"], scale.arguments["offset"]
    assert (times.default, times.per_sample, times.required) == (1, False, False)
    assert (offset.default, offset.per_sample, offset.required) == (None, True, False)


def test_the_documentation_holds_that_of_the_group(scale: Any) -> None:
    """By sections, arguments in the order of the signature."""
    assert (
        scale.__doc__.partition("\n\nArguments of all operators:")[0]
        == """Scale samples.

The factor comes first.

Args:
    input: numbers.
    first: before all.
    times: a factor.
    offset: what is added; may differ
        per sample.
        In pixels.
    last: after all.

Returns:
    Samples.

Raises:
    OperatorTypeError: for booleans.
    OperatorValueError: for many offsets;
        for other factors."""
    )


def test_what_a_group_says_stands_in_each_operator() -> None:
    said = parse(CropWindow.__doc__ or "")
    assert said.named == list(CropWindow.__annotations__)
    for cut in (gradiva.crop, gradiva.resize_crop_mirror, gradiva.crop_mirror_normalize):
        for names, text in said.args:
            assert (names, text) in parse(cut.__doc__ or "").args


def test_many_names_take_several_lines() -> None:
    names = [f"argument_{number}" for number in range(12)]
    group = f"""
    Args:
        {", ".join(names[:6])},
            {", ".join(names[6:])}: all alike.
    """
    merged = merge_docstrings("Do it.", [group], reversed(names))
    assert max(map(len, merged.splitlines())) <= 96
    assert parse(merged).args == [(tuple(reversed(names)), "all alike.")]


def test_documentation_without_sections_stays() -> None:
    assert merge_docstrings("Do it.", ["size: of it.", ""], ["size"]) == "Do it.\n\nsize: of it."


def test_the_type_rule_receives_what_was_given_and_the_defaults(scale: Any) -> None:
    image = op.SampleType(op.uint8, 3, "HWC")
    assert scale.types([image], {}) == (image,)
    with pytest.raises(op.OperatorValueError, match="times"):
        scale.types([image], {"times": 0})


_GROUPED = [n for n, one in operators.items() if hasattr(one.__wrapped__, "__wrapped__")]


@pytest.mark.parametrize("name", sorted(set(_GROUPED) - {"test.scale"}))
def test_type_checkers_see_the_arguments_that_users_see(name: str) -> None:
    """The TypedDict of `**options` holds those of the groups, and no others."""
    declared = inspect.unwrap(operators[name].__wrapped__)
    parameters = inspect.signature(declared).parameters
    more = [one for one in parameters.values() if one.kind is one.VAR_KEYWORD]
    text = str(more[0].annotation).removeprefix("op.Unpack[").removesuffix("]")
    found = set(declared.__globals__[text].__annotations__)
    own = {one.name for one in parameters.values() if one.kind is one.KEYWORD_ONLY}
    assert own | (found - set(op.Sampled.__annotations__)) == set(operators[name].arguments)
