"""`check_operator`: the cases of an operator, turned into checks.

Those of gradiva's own tests. Each takes the calls of one case, which all checks of the case share,
raises AssertionError, and returns whether there was anything to check.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from gradiva.capture.compiler.optimize import optimize
from gradiva.eager.operators.cases import Case
from gradiva.eager.operators.operator import OperatorBase
from gradiva.eager.operators.pixelwise import Pixelwise
from gradiva.eager.support.errors import GradivaError, OperatorRuntimeError, OperatorTypeError
from gradiva.eager.types.sample_type import SampleType
from gradiva.eager.values.batch import Batch, as_batch
from gradiva.extension.modes import CaseCalls, argument_dtype, outputs_of, per_sample
from gradiva.ops.image.color.brightness_contrast import brightness_contrast

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
    lacks = {
        f"{len(cases)} cases are too few: give five": len(cases) < 5,
        "no case raises": not any(case.raises for case in cases),
        "no case is called 'empty'": not any("empty" in case.name for case in cases),
    }
    missing = [text for text, lacking in lacks.items() if lacking]
    require(not missing, f"{operator.name}: {', '.join(missing)}")
    made = 0
    for case in cases:
        if case.raises is None:
            made += len(check_case(operator, case))
        else:
            with about(operator, case):
                made += check_error(operator, case)
    good = next(case for case in cases if case.raises is None)
    with about(operator, good):
        return made + check_common_arguments(operator, good)


def check_case(operator: OperatorBase, case: Case) -> list[str]:
    """Put a case that must succeed through all checks; the names of those that had anything to
    check. Raises AssertionError, which names each check that failed."""
    calls = CaseCalls(operator, case)
    made: list[str] = []
    failed: dict[str, Exception] = {}
    for name, one in CHECKS.items():
        try:
            if one(calls):
                made.append(name)
        except Exception as error:  # noqa: BLE001  raised below, when all checks have been made
            failed[name] = error
    if failed:
        first = next(iter(failed.values()))
        texts = [f"check {name!r}: {_told(error)}" for name, error in failed.items()]
        raise AssertionError(f"{operator.name}, case {case.name!r}, {'; '.join(texts)}") from first
    return made


def _told(error: Exception) -> str:
    kind = "" if isinstance(error, AssertionError) else f"{type(error).__name__}: "
    return kind + str(error).strip()


def require(condition: object, text: str) -> None:
    """As `assert`, which an optimizing Python leaves out."""
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


def check_same(left: Batch, right: Batch, what: str) -> None:
    """Refuse batches that differ in type, shapes or bits."""
    require(left.type == right.type, f"{what}: the types differ: {left.type}, {right.type}")
    require(left.shape == right.shape, f"{what}: the shapes differ")
    for one, other in zip(left, right, strict=True):
        np.testing.assert_array_equal(np.asarray(one), np.asarray(other), err_msg=what)


def check_values(calls: CaseCalls) -> bool:
    """The first output is what an independent computation expects; types are as inferred."""
    outputs, expect = calls.plain, calls.case.expect
    for output in outputs:
        require(output.type.dtype is not None, "the type rule left the dtype open")
        require(output.type.ndim == output.batch_shape.ndim, "type rule and shape rule disagree")
        require(output.data.ctypes.data % 64 == 0 or not output.data.size, "not aligned")
    if expect is None:
        return False
    require(len(outputs[0]) == len(expect), f"{len(outputs[0])} samples came out")
    for ours, expected in zip(outputs[0], expect, strict=True):
        found = np.asarray(ours)
        require(found.dtype == expected.dtype, f"{found.dtype} came out, not {expected.dtype}")
        np.testing.assert_array_equal(found, expected)
    return True


def check_threads(calls: CaseCalls) -> bool:
    """The same call gives the same bits, whatever the threads, and writes no input."""
    for left, right in zip(calls.by_one_thread, calls.by_three_threads, strict=True):
        check_same(left, right, "one thread and three")
    return True


def check_captured(calls: CaseCalls) -> bool:
    """Recorded into a graph and run by a pipeline, a call gives the bits of the eager one.

    Not for an empty batch: a source of a pipeline delivers none.
    """
    made = calls.in_pipeline()
    if made is None:
        return False
    captured, again, _graph = made
    for left, right, repeat in zip(calls.like_a_pipeline, captured, again, strict=True):
        check_same(left, right, "at once and in a pipeline")
        if not calls.operator.random:
            check_same(left, repeat, "two runs of a pipeline")
    return True


def check_fused(calls: CaseCalls) -> bool:
    """A pixel-wise operator joins a group with the one after it, and no bit changes."""
    role = calls.operator.fusion_role
    if not isinstance(role, Pixelwise):
        return False
    if not calls.case.arguments.keys().isdisjoint(role.unfusable_arguments):
        return False

    def follow(value: Any) -> Any:
        return brightness_contrast(value, brightness=1.25, contrast=0.75)

    try:
        eager = follow(calls.like_a_pipeline[0])
    except GradivaError:
        return False  # an output that the other operator does not take
    made = calls.in_pipeline(follow)
    if made is None:
        return False
    captured, _again, graph = made
    require("fused(" in str(optimize(graph)), "it does not join a fused group")
    check_same(eager, captured[0], "alone and fused")
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


def check_types(calls: CaseCalls) -> bool:
    """The type rule, given types only, says what the outputs turn out to be, or "not known"."""
    operator, case = calls.operator, calls.case
    if not all(isinstance(value, Batch) for value in case.inputs):
        return False
    static = _as_types(operator, case)
    inferred = outputs_of(operator.infer(*[value.type for value in case.inputs], **static))
    for type, output in zip(inferred, calls.plain, strict=True):
        for field in ("dtype", "ndim", "layout"):
            known, found = getattr(type, field), getattr(output.type, field)
            require(known in (None, found), f"the type rule says {field} {known}, it is {found}")
    return True


def check_unknown_types(calls: CaseCalls) -> bool:
    """A type rule lets types pass that are not known yet."""
    operator, case = calls.operator, calls.case
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
    """A misspelled argument is named; a GPU, for operators that take `device`, is refused."""
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


CHECKS: dict[str, Callable[[CaseCalls], bool]] = {
    "values": check_values,
    "threads": check_threads,
    "captured": check_captured,
    "fused": check_fused,
    "types": check_types,
    "unknown types": check_unknown_types,
}
