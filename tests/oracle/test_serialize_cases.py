"""The cases that operators declare, as stored pipelines: an operator that is written later takes
part by its cases."""

from __future__ import annotations

import operator as python
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import Batch, DType
from gradiva.capture.recording.data_node import WholeBatch
from gradiva.capture.serialization.files import load
from gradiva.capture.serialization.reader import read_pipeline
from gradiva.eager.operators.argument_types import DTypeLike, argument_type
from gradiva.eager.operators.arguments import is_edge
from gradiva.eager.operators.cases import Case, samples
from gradiva.eager.operators.operator import Maker, OperatorBase, operators
from gradiva.ops.indexing.subscript import subscript
from gradiva.ops.math.arithmetic import Arithmetic

from .reference import Samples, _samples, assert_close, dali, fn, types
from .reference import _function as their_function
from .reference import theirs as their_value
from .test_cases import tolerances

OPTIONS: dict[str, Any] = {
    "num_threads": 1, "device_id": None, "seed": 3, "prefetch_queue_depth": 1, "exec_async": False,
    "exec_pipelined": False,
}  # fmt: skip

RANDOM_SHAPES = ("decoders.image_random_crop",)
"""Operators whose outputs are of random shapes."""

ON_GPU = ("jitter",)
"""Operators that DALI has on the GPU alone: here it can neither store nor load them."""


def in_format(operator: OperatorBase) -> bool:
    """Whether the file format has a place for an operator that users call."""
    return operator.schema is not None or isinstance(operator, Arithmetic) or operator is subscript


def holds_objects(operator: OperatorBase) -> bool:
    """Whether an operator needs a Python object, such as a function, which no file holds."""
    kinds = [one.kind for one in operator.arguments.values() if one.required]
    return argument_type(Any) in kinds and not in_format(operator)


def _given(operator: OperatorBase, case: Case) -> dict[str, Batch]:
    """The arguments of a case that are given per sample."""
    found = {}
    for name, value in case.arguments.items():
        declared = operator.arguments.get(name)
        if declared is None or not is_edge(declared, value):
            continue
        if isinstance(value, Batch):
            found[name] = value
        elif not isinstance(value, gradiva.Tensor):
            kind = np.asarray(value).dtype.kind
            found[name] = gradiva.as_batch(
                np.asarray(value, np.int32 if kind in "ib" else np.float32)
            )
    return found


def _size(operator: OperatorBase, case: Case) -> int:
    batches = [value for value in case.inputs if isinstance(value, Batch)]
    batches += _given(operator, case).values()
    if batches:
        return len(batches[0])
    return 0 if case.inputs else int(case.arguments.get("batch_size", 1))


def _takes_part(operator: OperatorBase, case: Case) -> bool:
    if operator.unstored & case.arguments.keys():  # arguments of our own, which are refused
        return False
    return case.raises is None and (case.oracle or operator.random) and _size(operator, case) > 0


def _first(operator: OperatorBase) -> str:
    """The case of a random operator that DALI runs as well. The others ask for what it
    may not know, and it does not survive all of that."""
    assert operator.case_maker is not None
    name: str = next(case.name for case in operator.case_maker() if _takes_part(operator, case))
    return name


CASES = [
    pytest.param(operator, case, id=f"{name}-{case.name}".replace(" ", "_"))
    for name, operator in sorted(operators.items())
    if operator.case_maker and in_format(operator)
    for case in operator.case_maker()
    if _takes_part(operator, case)
]


def _constant(value: Any) -> Any:
    """A tensor as a constant of DALI."""
    if isinstance(value, gradiva.Tensor | np.ndarray):
        return types.Constant(np.asarray(value), device="cpu")
    return value


def _dtyped(operator: OperatorBase, name: str, value: Any) -> Any:
    """A static argument; element types by whatever name as DType."""
    declared = operator.arguments.get(name)
    return DType.of(value) if declared and declared.kind is argument_type(DTypeLike) else value


class Stored:
    """A case as a pipeline of ours, with an external source for each batch, and its file."""

    def __init__(self, operator: OperatorBase, case: Case) -> None:
        self.sources: dict[str, Batch] = {}
        self.pipe = gradiva.Pipeline(batch_size=_size(operator, case), **OPTIONS)
        with self.pipe:
            outputs = self._call(operator, case)
            self.pipe.set_outputs(*outputs if isinstance(outputs, list | tuple) else (outputs,))
        self.data = self.pipe.serialize()

    def _call(self, operator: OperatorBase, case: Case) -> Any:
        inputs = [
            self._source(f"input{number}", value) if isinstance(value, Batch) else value
            for number, value in enumerate(case.inputs)
        ]
        keywords = {name: value for name, value in case.arguments.items() if name != "batch_size"}
        for name, value in _given(operator, case).items():
            keywords[name] = self._source(name, value)
        if isinstance(operator, Maker) and operator.random:
            keywords["batch_size"] = WholeBatch()
        ours: Any = operator
        return ours(*inputs, **keywords)

    def _source(self, name: str, value: Batch) -> Any:
        self.sources[name] = value
        more: dict[str, Any] = {"layout": value.layout} if value.layout else {}
        return gradiva.fn.external_source(
            source=lambda: value, name=name, dtype=value.dtype, ndim=value.ndim, **more
        )

    def by_them(self) -> tuple[Samples, ...]:
        """What DALI makes of the file."""
        pipe = dali.Pipeline.deserialize(self.data)
        for name, value in self.sources.items():
            arrays = [np.asarray(value.at(i)) for i in range(len(value))]
            pipe.feed_input(name, arrays, layout=value.layout or None)
        return tuple(_samples(output) for output in pipe.run())

    def theirs(self, operator: OperatorBase, case: Case) -> bytes:
        """The same call, as DALI stores it."""
        pipe = dali.Pipeline(batch_size=self.pipe.batch_size, **OPTIONS)
        with pipe:
            inputs = [
                self._their_source(f"input{number}", value.layout)
                if isinstance(value, Batch)
                else _constant(value)
                for number, value in enumerate(case.inputs)
            ]
            keywords = {
                name: their_value(_constant(_dtyped(operator, name, value)))
                for name, value in case.arguments.items()
                if name != "batch_size" and name not in _given(operator, case)
            }
            for name in _given(operator, case):
                keywords[name] = self._their_source(name, "")
                if name in ("interp_type", "min_filter", "mag_filter"):
                    number = types.DALIDataType.INTERP_TYPE
                    keywords[name] = fn.reinterpret(keywords[name], dtype=number)
            target = python.add if operator.name == "add" else their_function(operator.name)
            outputs = target(*inputs, **keywords)
            pipe.set_outputs(*outputs if isinstance(outputs, tuple | list) else (outputs,))
        data: bytes = pipe.serialize()
        return data

    def _their_source(self, name: str, layout: str) -> Any:
        more = {"layout": layout} if layout else {}
        return fn.external_source(name=name, **more)

    def by_us(self, data: bytes) -> tuple[Batch, ...]:
        """What we make of a file."""
        assert {*read_pipeline(data).fed} == {*self.sources}
        sources = {name: partial(_value, value) for name, value in self.sources.items()}
        outputs: tuple[Batch, ...] = load(gradiva.Pipeline, data, None, {}, sources).run()
        return outputs


def _value(value: Batch) -> Batch:
    return value


def _same(got: tuple[Batch, ...], expected: tuple[Batch, ...]) -> None:
    assert len(got) == len(expected)
    for one, other in zip(got, expected, strict=True):
        assert one.type == other.type
        assert one.shape == other.shape
        assert [array.tobytes() for array in one.arrays()] == [
            array.tobytes() for array in other.arrays()
        ]


@pytest.mark.parametrize(("operator", "case"), CASES)
def test_case(operator: OperatorBase, case: Case) -> None:
    stored = Stored(operator, case)
    ours = stored.pipe.run()
    _same(stored.by_us(stored.data), ours)
    if operator.name in ON_GPU:
        return
    _same(stored.by_us(stored.theirs(operator, case)), ours)
    if not (case.oracle or case.name == _first(operator)):
        dali.Pipeline.deserialize(stored.data)
        return
    theirs = stored.by_them()
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs, strict=True):
        if case.oracle:
            assert_close(one, other, **tolerances(operator))
            continue
        assert one.layout == other.layout
        for got, expected in zip(one.arrays(), other, strict=True):
            assert got.dtype == expected.dtype
            assert got.ndim == expected.ndim
            assert got.shape == expected.shape or operator.name in RANDOM_SHAPES


def test_dump_image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    case = Case("", (samples((4, 5, 3), (2, 3, 1)),), {"suffix": "a", "input_layout": "HWC"})
    stored = Stored(operators["dump_image"], case)

    def written(run: Any) -> list[bytes]:
        run()
        found = [tmp_path / f"{number}-a-0.ppm" for number in range(2)]
        texts = [path.read_bytes() for path in found]
        for path in found:
            path.unlink()
        return texts

    expected = written(stored.pipe.run)
    assert written(stored.by_them) == expected
    assert written(lambda: stored.by_us(stored.data)) == expected
    theirs = stored.theirs(operators["dump_image"], case)
    assert written(lambda: stored.by_us(theirs)) == expected


def test_an_effect_that_no_output_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    images = samples((4, 5, 3), (2, 3, 1))
    pipe = gradiva.Pipeline(batch_size=2, **OPTIONS)
    with pipe:
        given = gradiva.fn.external_source(lambda: images, name="images", layout="HWC")
        gradiva.fn.dump_image(given, suffix="b")
        pipe.set_outputs(given)
    loaded = dali.Pipeline.deserialize(pipe.serialize())
    loaded.feed_input("images", [np.asarray(one) for one in images.arrays()], layout="HWC")
    loaded.run()
    assert len(list(tmp_path.glob("*-b-0.ppm"))) == 2


@pytest.mark.parametrize(
    "name",
    [one.name for one in operators.values() if holds_objects(one) and one.case_maker is not None],
)
def test_objects_are_refused(name: str) -> None:
    operator: Any = operators[name]
    case = next(case for case in operator.case_maker() if case.raises is None)
    with pytest.raises(gradiva.GradivaError, match=name):
        Stored(operator, case)
