"""Errors are also of the classes that scripts catch."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import GradivaError, OperatorRuntimeError, OperatorTypeError, OperatorValueError
from gradiva.capture.iterators.iterator import PipelineIterator
from gradiva.eager.support.errors import SampleDataError

_ANY: Any = gradiva
"""For calls that a type checker refuses."""
_IMAGES = gradiva.batch([np.zeros((4, 6, 3), np.uint8)], layout="HWC")


@pytest.mark.parametrize(
    ("kind", "also"),
    [
        (OperatorTypeError, (RuntimeError, TypeError, ValueError)),
        (OperatorValueError, (RuntimeError, ValueError)),
        (OperatorRuntimeError, (RuntimeError,)),
        (SampleDataError, (RuntimeError,)),
    ],
)
def test_every_error_is_a_runtime_error(kind: type[GradivaError], also: tuple[type, ...]) -> None:
    assert issubclass(kind, GradivaError)
    for one in also:
        assert issubclass(kind, one)


def _run(call: Callable[[Any], Any]) -> None:
    pipe = gradiva.Pipeline(batch_size=1, num_threads=1)
    with pipe:
        pipe.set_outputs(call(gradiva.fn.external_source(source=lambda: _IMAGES)))
    pipe.run()


@pytest.mark.parametrize(
    ("call", "also"),
    [
        pytest.param(lambda x: _ANY.flip(x, sideways=1), KeyError, id="no such argument"),
        pytest.param(lambda x: _ANY.flip(x, sideways=1), TypeError, id="nor keyword"),
        pytest.param(lambda x: _ANY.flip(x, x), ValueError, id="too many inputs"),
        pytest.param(
            lambda x: _ANY.flip(gradiva.reshape(x, layout="WHC")), ValueError, id="layout"
        ),
        pytest.param(lambda x: x + None, ValueError, id="no number"),
        pytest.param(lambda x: x + 2**40, OverflowError, id="beyond int32"),
        pytest.param(lambda x: gradiva.reductions.sum(x, axes=3), IndexError, id="reduced axis"),
        pytest.param(lambda x: gradiva.squeeze(x, axes=[4]), IndexError, id="squeezed axis"),
        pytest.param(lambda x: gradiva.pad(x, axes=[5]), IndexError, id="padded axis"),
        pytest.param(
            lambda x: gradiva.tensor_resize(x, sizes=4, axes=[3]), IndexError, id="resized axis"
        ),
    ],
)
def test_other_classes(call: Callable[[Any], Any], also: type[Exception]) -> None:
    with pytest.raises(also) as now:
        call(_IMAGES)
    assert isinstance(now.value, GradivaError)

    with pytest.raises(also) as later:
        _run(call)
    assert type(later.value) is type(now.value)
    for made in (copy.copy(now.value), pickle.loads(pickle.dumps(now.value))):
        assert type(made) is type(now.value)
        assert isinstance(made, GradivaError)
        assert made.problem.startswith(now.value.problem)


@pytest.mark.parametrize(
    "options",
    [
        {"output_map": ["a", "b"]},
        {"output_map": []},
        {"output_map": ["a"], "size": 0},
        {"output_map": ["a"], "size": 3, "reader_name": "Reader"},
        {"output_map": ["a"], "reader_name": "Reader"},
    ],
)
def test_iterators_raise_assertion_errors(options: dict[str, Any]) -> None:
    pipe = gradiva.Pipeline(batch_size=1, num_threads=1)
    with pipe:
        pipe.set_outputs(gradiva.fn.external_source(source=lambda: _IMAGES))
    with pytest.raises(AssertionError) as caught:
        PipelineIterator(pipe, **options)
    assert isinstance(caught.value, OperatorValueError)


def test_an_iterator_over_something_else() -> None:
    nothing: Any = []
    with pytest.raises(AssertionError) as caught:
        PipelineIterator(nothing, ["a"])
    assert isinstance(caught.value, OperatorTypeError)
