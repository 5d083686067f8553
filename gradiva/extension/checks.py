"""`check_operator`: the cases of an operator, turned into checks.

Those of gradiva's own tests. Each takes an operator and a case, raises AssertionError, and returns
whether there was anything to check.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from gradiva.capture.compiler import optimise
from gradiva.eager.batch import Batch, as_batch
from gradiva.eager.case import Case
from gradiva.eager.errors import GradivaError, OperatorRuntimeError, OperatorTypeError
from gradiva.eager.operator import OperatorBase
from gradiva.eager.pixelwise import Pixelwise
from gradiva.eager.threads import get_num_threads, set_num_threads
from gradiva.eager.value import SampleType
from gradiva.extension.modes import argument_dtype, both_ways, outputs_of, per_sample
from gradiva.ops.image.brightness_contrast import brightness_contrast

__all__ = ["check_operator"]


def check_operator(operator: Any) -> int:
    """Put an operator through the checks that all operators of gradiva pass; for your own tests.

    operator: declared with `operator` or `maker`, and with `.cases`: five or more, one of them
        with an empty batch (its name holds "empty"), one that raises.

    For each case: the values and types are those expected; the same bits come out for one and for
    three threads, and in a pipeline; inputs are not written into; the type rule knows early what
    comes out, and lets unknown types pass; a pixel-wise operator joins fused groups; errors are
    the promised ones and name the operator. Returns how many checks were made. Raises
    AssertionError, naming the operator, the case and what is wrong.
    """
    if not isinstance(operator, OperatorBase):
        raise OperatorTypeError(
            argument="operator", expected="an operator", got=type(operator).__name__
        )
    require(operator.case_maker is not None, f"{operator.name}: it has no cases")
    assert operator.case_maker is not None
    cases = operator.case_maker()
    require(len(cases) >= 5, f"{operator.name}: {len(cases)} cases are too few: give five")
    require(any(case.raises for case in cases), f"{operator.name}: no case raises")
    require(
        any("empty" in case.name for case in cases), f"{operator.name}: no case is called 'empty'"
    )
    made = 0
    for case in cases:
        with about(operator, case):
            checks = (check_error,) if case.raises else CHECKS
            made += sum(one(operator, case) for one in checks)
    good = next(case for case in cases if case.raises is None)
    with about(operator, good):
        return made + check_common_arguments(operator, good)


def require(condition: object, text: str) -> None:
    """As `assert`, which an optimising Python leaves out."""
    if not condition:
        raise AssertionError(text)


@contextmanager
def about(operator: OperatorBase, case: Case) -> Iterator[None]:
    """Name operator and case in what goes wrong."""
    try:
        yield
    except (AssertionError, GradivaError) as error:
        text = f"{operator.name}, case {case.name!r}: {str(error).strip()}"
        raise AssertionError(text) from error


def call(operator: Any, case: Case) -> tuple[Any, ...]:
    return outputs_of(operator(*case.inputs, **case.arguments))


def require_same(left: Batch, right: Batch, what: str) -> None:
    """Refuse batches that differ in type, shapes or bits."""
    require(left.type == right.type, f"{what}: the types differ: {left.type}, {right.type}")
    require(left.shape == right.shape, f"{what}: the shapes differ")
    for one, other in zip(left, right, strict=True):
        np.testing.assert_array_equal(np.asarray(one), np.asarray(other), err_msg=what)


@contextmanager
def inputs_untouched(case: Case) -> Iterator[None]:
    """Refuse that the block writes into an input."""
    before = [value.data.copy() for value in case.inputs if isinstance(value, Batch)]
    yield
    batches = [value for value in case.inputs if isinstance(value, Batch)]
    for old, batch in zip(before, batches, strict=True):
        np.testing.assert_array_equal(old, batch.data, err_msg="an input was written into")


def check_values(operator: OperatorBase, case: Case) -> bool:
    """The first output is what an independent computation expects; types are as inferred."""
    with inputs_untouched(case):
        outputs = call(operator, case)
    for output in outputs:
        require(output.type.dtype is not None, "the type rule left the dtype open")
        require(output.type.ndim == output.geometry.ndim, "type rule and shape rule disagree")
        require(output.data.ctypes.data % 64 == 0 or not output.data.size, "not aligned")
    if case.expect is None:
        return False
    require(len(outputs[0]) == len(case.expect), f"{len(outputs[0])} samples came out")
    for ours, expected in zip(outputs[0], case.expect, strict=True):
        found = np.asarray(ours)
        require(found.dtype == expected.dtype, f"{found.dtype} came out, not {expected.dtype}")
        np.testing.assert_array_equal(found, expected)
    return True


def check_threads(operator: OperatorBase, case: Case) -> bool:
    """The same call gives the same bits, whatever the threads, and writes no input."""
    keywords = dict(case.arguments)
    if operator.random:
        keywords.setdefault("seed", 11)
    threads = get_num_threads()
    results = []
    try:
        for count in (1, 3):
            set_num_threads(count)
            with inputs_untouched(case):
                results.append(outputs_of(operator(*case.inputs, **keywords)))  # type: ignore[operator]
    finally:
        set_num_threads(threads)
    for left, right in zip(*results, strict=True):
        require_same(left, right, "one thread and three")
    return True


def check_captured(operator: OperatorBase, case: Case) -> bool:
    """Recorded into a graph and run by a pipeline, a call gives the bits of the eager one.

    Not for an empty batch: a source of a pipeline delivers none.
    """
    pair = both_ways(operator, case, lambda value: value)
    if pair is None:
        return False
    eager, captured, again, _graph = pair
    for left, right, repeat in zip(eager, captured, again, strict=True):
        require_same(left, right, "at once and in a pipeline")
        if not operator.random:
            require_same(left, repeat, "two runs of a pipeline")
    return True


def check_fused(operator: OperatorBase, case: Case) -> bool:
    """A pixel-wise operator joins a group with the one after it, and no bit changes."""
    if not isinstance(operator.stage, Pixelwise):
        return False

    def follow(value: Any) -> Any:
        return brightness_contrast(value, brightness=1.25, contrast=0.75)

    try:
        follow(call(operator, case)[0])
    except GradivaError:
        return False  # an output that the other operator does not take
    pair = both_ways(operator, case, follow)
    if pair is None:
        return False
    eager, captured, _again, graph = pair
    require("fused(" in str(optimise(graph)), "it does not join a fused group")
    require_same(eager[0], captured[0], "alone and fused")
    return True


def _as_types(operator: OperatorBase, case: Case) -> dict[str, Any]:
    """The arguments as type rules get them: of those that are given per sample, the types."""
    found: dict[str, Any] = {}
    for name, value in case.arguments.items():
        if per_sample(operator, name, value) and operator.arguments[name].kind.ragged:
            found[name] = SampleType()
        elif per_sample(operator, name, value):
            found[name] = as_batch(np.asarray(value, argument_dtype(value))).type
        elif name in operator.arguments:
            found[name] = operator.arguments[name].static(value)
    return found


def check_types(operator: OperatorBase, case: Case) -> bool:
    """The type rule, given types only, says what the outputs turn out to be, or "not known"."""
    if not all(isinstance(value, Batch) for value in case.inputs):
        return False
    static = _as_types(operator, case)
    inferred = outputs_of(operator.infer(*[value.type for value in case.inputs], **static))
    for type, output in zip(inferred, call(operator, case), strict=True):
        for field in ("dtype", "ndim", "layout"):
            known, found = getattr(type, field), getattr(output.type, field)
            require(known in (None, found), f"the type rule says {field} {known}, it is {found}")
    return True


def check_unknown_types(operator: OperatorBase, case: Case) -> bool:
    """A type rule lets types pass that are not known yet."""
    unknown = [SampleType() for _ in case.inputs]
    found = operator.infer(*unknown, **_as_types(operator, case))
    require(outputs_of(found), "the type rule returns nothing")
    return True


def check_error(operator: OperatorBase, case: Case) -> bool:
    """A bad call gives the promised error, naming the operator and the user's line; the next call
    works as if nothing had happened."""
    assert case.raises is not None
    try:
        call(operator, case)
    except case.raises as error:
        text = str(error)
        require(case.match in text, f"no {case.match!r} in the error: {text}")
        require(text.startswith(operator.name), f"the error does not name the operator: {text}")
        require(error.location is not None, f"the error does not name the line: {text}")
    else:
        raise AssertionError(f"no {case.raises.__name__} was raised")
    assert operator.case_maker is not None
    call(operator, next(case for case in operator.case_maker() if case.raises is None))
    return True


def check_common_arguments(operator: OperatorBase, case: Case) -> int:
    """A misspelt argument is named; a GPU, for operators that take `device`, is refused."""
    _must_raise(OperatorTypeError, operator, case, bogus_argument=1)
    if not operator.common:
        return 1
    _must_raise(OperatorRuntimeError, operator, case, device="gpu")
    return 2


def _must_raise(error: type[GradivaError], operator: Any, case: Case, **more: Any) -> None:
    try:
        operator(*case.inputs, **{**case.arguments, **more})
    except error:
        return
    raise AssertionError(f"no {error.__name__} was raised for {more}")


CHECKS = (check_values, check_threads, check_captured, check_fused, check_types,
          check_unknown_types)  # fmt: skip
