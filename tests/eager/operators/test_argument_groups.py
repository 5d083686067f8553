"""Argument groups: what several operators take is declared once, and shown at each."""

from __future__ import annotations

import inspect
from typing import Any, TypedDict

import pytest

import gradiva
from gradiva.eager import extension as op
from gradiva.eager.operators.operator import operators
from gradiva.ops.image.crop.crop_window import CropWindow


@op.argument_group(times=1)
class Scaling(TypedDict, total=False):
    """times: a factor.
    offset: what is added; may differ per sample.
    """

    times: int
    offset: op.IntArg | None


class Arguments(Scaling, op.Common, total=False):
    """For type checkers."""


@pytest.fixture
def scale() -> Any:
    @op.operator("test.scale", same_shapes=True)
    @op.takes("first", Scaling, ...)
    def scale(
        input: op.SampleType,
        /,
        *,
        last: bool = False,
        first: float = 0.5,
        **options: op.Unpack[Arguments],
    ) -> op.SampleType:
        """Scale samples."""
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
    assert scale.__doc__ == f"Scale samples.\n\n{inspect.cleandoc(Scaling.__doc__ or '')}"
    for cut in (gradiva.crop, gradiva.resize_crop_mirror, gradiva.crop_mirror_normalize):
        assert inspect.cleandoc(CropWindow.__doc__ or "") in (cut.__doc__ or "")


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
