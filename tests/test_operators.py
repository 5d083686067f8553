"""The generic operator test: the cases of every operator, turned into checks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva.capture.check import check
from gradiva.capture.graph import Edge
from gradiva.capture.tracer import Recorder, WholeBatch
from gradiva.eager.batch import Batch
from gradiva.eager.case import Case
from gradiva.eager.operator import OperatorBase, interpreter, operators
from gradiva.eager.source import SourceOperator


def params(bad: bool) -> list[Any]:
    """The cases of all operators: those that must raise, or the others."""
    return [
        pytest.param(operator, case, id=f"{name}-{case.name}".replace(" ", "_"))
        for name, operator in sorted(operators.items())
        if operator.case_maker
        for case in operator.case_maker()
        if (case.raises is not None) == bad
    ]


GOOD, BAD = params(bad=False), params(bad=True)


def outputs_of(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)


def call(operator: Any, case: Case) -> tuple[Any, ...]:
    return outputs_of(operator(*case.inputs, **case.arguments))


def same(left: Batch, right: Batch) -> None:
    assert left.type == right.type
    assert left.shape == right.shape
    for one, other in zip(left, right, strict=True):
        np.testing.assert_array_equal(np.asarray(one), np.asarray(other))


def test_every_operator_has_cases() -> None:
    """An operator that user code can call declares cases, a failing and an empty one among them."""
    arithmetic = set(gradiva.eager.value.arithmetic) - {"add"}
    for name, operator in operators.items():
        if isinstance(operator, SourceOperator) or operator.__module__ == "gradiva.capture.leaves":
            continue
        if name in arithmetic or not operator.__module__.startswith("gradiva."):
            continue
        if name in ("_conditional.split", "_conditional.merge"):  # a program runs them
            continue
        assert operator.case_maker is not None, name
        cases = operator.case_maker()
        assert len(cases) >= 5, name
        assert any(case.raises for case in cases), name
        assert any("empty" in case.name for case in cases), name


@pytest.mark.parametrize(("operator", "case"), GOOD)
def test_values(operator: OperatorBase, case: Case) -> None:
    """The first output is what an independent computation expects; types are as inferred."""
    outputs = call(operator, case)
    for output in outputs:
        assert output.type.dtype is not None
        assert output.type.ndim == output.geometry.ndim
        assert output.data.ctypes.data % 64 == 0 or not output.data.size
    if case.expect is None:
        return
    assert len(outputs[0]) == len(case.expect)
    for ours, expected in zip(outputs[0], case.expect, strict=True):
        assert np.asarray(ours).dtype == expected.dtype
        np.testing.assert_array_equal(np.asarray(ours), expected)


@pytest.mark.parametrize(("operator", "case"), GOOD)
def test_repeatable_and_pure(operator: OperatorBase, case: Case) -> None:
    """The same call gives the same bits, whatever the threads, and writes no input."""
    before = [value.data.copy() for value in case.inputs if isinstance(value, Batch)]
    keywords = dict(case.arguments)
    if operator.random:
        keywords.setdefault("seed", 11)
    results = []
    for threads in (1, 3):
        gradiva.set_num_threads(threads)
        results.append(outputs_of(operator(*case.inputs, **keywords)))  # type: ignore[operator]
    gradiva.set_num_threads(None)
    for left, right in zip(*results, strict=True):
        same(left, right)
    after = [value.data for value in case.inputs if isinstance(value, Batch)]
    for old, new in zip(before, after, strict=True):
        np.testing.assert_array_equal(old, new)


@pytest.mark.parametrize(("operator", "case"), GOOD)
def test_captured(operator: OperatorBase, case: Case) -> None:
    """Recorded into a graph and run by a pipeline, a call gives the bits of the eager one."""
    batches = [value for value in case.inputs if isinstance(value, Batch)]
    arguments = {
        name: value
        if isinstance(value, Batch)
        else gradiva.as_batch(np.asarray(value, _argument_dtype(value)))
        for name, value in case.arguments.items()
        if _per_sample(operator, name, value)
    }
    size = len(batches[0]) if batches else case.arguments.get("batch_size", 1)
    if size == 0:
        pytest.skip("a source of a pipeline delivers no empty batches")
    keywords = {name: value for name, value in case.arguments.items() if name not in arguments}
    keywords.pop("batch_size", None)
    if operator.random:
        keywords["seed"] = 5

    def feed() -> Any:
        return [(*batches, *arguments.values())] if batches or arguments else None

    @gradiva.pipeline_def(batch_size=size, num_threads=2)
    def pipeline() -> Any:
        fed = iter(())
        if batches or arguments:
            count = len(batches) + len(arguments)
            fed = iter(gradiva.fn.external_source(feed(), num_outputs=count, cycle=True))
        inputs = [next(fed) if isinstance(value, Batch) else value for value in case.inputs]
        given: dict[str, Any] = {name: next(fed) for name in arguments}
        if operator.random and not batches:
            given["batch_size"] = WholeBatch()
        return operator(*inputs, **keywords, **given)  # type: ignore[operator]

    pipe = pipeline()
    check(pipe.graph)
    captured = pipe.run()
    again = pipe.run()
    pipe.close()
    eager_keywords = {**keywords, **arguments}
    if not batches:
        eager_keywords["batch_size"] = size
    eager = outputs_of(operator(*case.inputs, **eager_keywords))  # type: ignore[operator]
    for left, right, repeat in zip(eager, captured, again, strict=True):
        same(left, right)
        if not operator.random:
            same(left, repeat)


def _argument_dtype(value: Any) -> Any:
    kind = np.asarray(value).dtype.kind
    return np.int32 if kind in "ib" else np.float32


def _per_sample(operator: OperatorBase, name: str, value: Any) -> bool:
    argument = operator.arguments.get(name)
    return argument is not None and gradiva.eager.arguments.is_edge(argument, value)


def _as_types(operator: OperatorBase, case: Case) -> dict[str, Any]:
    """The arguments as type rules get them: of those that are given per sample, the types."""
    found: dict[str, Any] = {}
    for name, value in case.arguments.items():
        if _per_sample(operator, name, value) and operator.arguments[name].kind.ragged:
            found[name] = gradiva.eager.value.SampleType()
        elif _per_sample(operator, name, value):
            batch = gradiva.as_batch(np.asarray(value, _argument_dtype(value)))
            found[name] = batch.type
        elif name in operator.arguments:
            found[name] = operator.arguments[name].static(value)
    return found


@pytest.mark.parametrize(("operator", "case"), GOOD)
def test_types_are_inferred_early(operator: OperatorBase, case: Case) -> None:
    """The type rule, given types only, says what the outputs turn out to be, or "not known"."""
    if not all(isinstance(value, Batch) for value in case.inputs):
        return
    static = _as_types(operator, case)
    inferred = outputs_of(operator.infer(*[value.type for value in case.inputs], **static))
    for type, output in zip(inferred, call(operator, case), strict=True):
        for field in ("dtype", "ndim", "layout"):
            known = getattr(type, field)
            assert known is None or known == getattr(output.type, field), field


@pytest.mark.parametrize(("operator", "case"), GOOD)
def test_unknown_types_pass(operator: OperatorBase, case: Case) -> None:
    """A type rule lets types pass that are not known yet."""
    static = _as_types(operator, case)
    unknown = [gradiva.eager.value.SampleType() for _ in case.inputs]
    assert outputs_of(operator.infer(*unknown, **static))


@pytest.mark.parametrize(("operator", "case"), BAD)
def test_errors(operator: OperatorBase, case: Case) -> None:
    """A bad call gives the promised error, naming the operator and the user's line; the next call
    works as if nothing had happened."""
    assert case.raises is not None
    with pytest.raises(case.raises) as caught:
        call(operator, case)
    text = str(caught.value)
    assert case.match in text
    assert text.startswith(operator.name)
    assert "test_operators.py" in text
    assert operator.case_maker is not None
    good = next(case for case in operator.case_maker() if case.raises is None)
    call(operator, good)


@pytest.mark.parametrize("name", sorted(operators))
def test_misspelt_argument(name: str) -> None:
    operator: Any = operators[name]
    if operator.__module__ == "gradiva.capture.leaves" or name in gradiva.eager.value.arithmetic:
        return
    with pytest.raises(TypeError, match="there is no argument `bogus_argument`"):
        operator.bind((), {"bogus_argument": 1})


@pytest.mark.parametrize("name", sorted(operators))
def test_device(name: str) -> None:
    """Asking for a GPU says clearly that there is none yet."""
    operator: Any = operators[name]
    if isinstance(operator, SourceOperator) or not operator.case_maker or not operator.common:
        return
    case = next(case for case in operator.case_maker() if case.raises is None)
    if name in gradiva.eager.value.arithmetic:
        return
    with pytest.raises(gradiva.OperatorRuntimeError, match="no GPU backend"):
        operator(*case.inputs, **case.arguments, device="gpu")


def test_symbols_have_no_data() -> None:
    recorder = Recorder()
    with interpreter(recorder):
        files, _ = gradiva.fn.readers.file(file_root="/data")
        node = gradiva.flip(gradiva.decoders.image(files))
    assert isinstance(node.edge, Edge)
    for misuse in (bool, len, iter, list, float, np.asarray):
        with pytest.raises(TypeError, match=r"`flip`, made at .*test_operators.py"):
            misuse(node)
