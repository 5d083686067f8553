"""Conditionals: the same functions, through both libraries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradiva
import gradiva.fn
import gradiva.types
from tests.capture.recording.conditional_forms import FORMS

from . import reference

SIZE = 6
X = [np.int32(value) for value in (0, 1, 2, 3, 3, 0)]
Y = [np.int32(value) for value in (1, 1, 1, 0, 3, 3)]


def _outputs(library: Any, fn: Any, define: Callable[[Any], Any]) -> list[list[Any]]:
    """Every output of one batch, as lists of samples with their dtypes."""
    extra = {"exec_pipelined": False, "exec_async": False}
    decorate = library.pipeline_def(
        batch_size=SIZE, num_threads=1, device_id=None, seed=7, enable_conditionals=True, **extra
    )
    pipe = decorate(define)(fn)
    pipe.build()
    outputs = pipe.run()
    return [[np.array(output.at(i)) for i in range(len(output))] for output in outputs]


def _same(define: Callable[[Any], Any]) -> None:
    theirs = _outputs(reference.dali, reference.fn, define)
    ours = _outputs(gradiva, gradiva.fn, define)
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs, strict=True):
        assert len(one) == len(other)
        for got, expected in zip(one, other, strict=True):
            assert got.dtype == expected.dtype
            np.testing.assert_array_equal(got, expected)


def _numbers(fn: Any) -> tuple[Any, Any]:
    return fn.external_source(source=lambda: X), fn.external_source(source=lambda: Y)


@pytest.mark.parametrize("name", list(FORMS))
def test_forms(name: str) -> None:
    function = FORMS[name]

    def define(fn: Any) -> Any:
        return function(*_numbers(fn))

    _same(define)


def _images(fn: Any) -> Any:
    noise = np.random.default_rng(3)
    shapes = [(9, 12, 3), (13, 8, 3), (8, 8, 3), (16, 9, 3), (8, 8, 3), (9, 9, 3)]
    given = [noise.integers(0, 256, shape, np.uint8) for shape in shapes]
    return fn.external_source(source=lambda: given, layout="HWC")


def augments(fn: Any) -> Any:
    images = _images(fn)
    x, y = _numbers(fn)
    if x > 1:
        images = fn.flip(images, horizontal=1)
    elif y > 1:
        images = fn.crop(images, crop=(7, 7))
        if x == 0:
            images = fn.flip(images, vertical=1)
    return images


def arguments_in_branches(fn: Any) -> Any:
    images = _images(fn)
    x, y = _numbers(fn)
    if x > y:
        images = fn.flip(images, horizontal=x - 2, vertical=y)
    return images, fn.crop(images, crop_h=x * 0.0 + 8.0, crop_w=8)


def sources_in_branches(fn: Any) -> Any:
    x, _y = _numbers(fn)
    if x > 1:
        z = fn.external_source(source=lambda: [np.int32(10 + k) for k in range(SIZE)])
    else:
        z = -1
    return z


def draws_without_chance(fn: Any) -> Any:
    x, y = _numbers(fn)
    if x > y:
        z = fn.random.coin_flip(probability=1.0)
    else:
        z = fn.random.coin_flip(probability=0.0) - x
    return z


def floats_decide(fn: Any) -> Any:
    values = [np.float32(v) for v in (np.nan, 0.0, -0.0, 1e-30, 2, 0)]
    given = fn.external_source(source=lambda: values)
    if given:
        z = 1
    else:
        z = 2
    return z, not given


@pytest.mark.parametrize(
    "define",
    [augments, arguments_in_branches, sources_in_branches, draws_without_chance, floats_decide],
)
def test_operators(define: Callable[[Any], Any]) -> None:
    _same(define)


def int_and(fn: Any) -> Any:
    x, y = _numbers(fn)
    return x and y > 1


def int_or_right(fn: Any) -> Any:
    x, _y = _numbers(fn)
    return x > 1 or 3


def axes_decide(fn: Any) -> Any:
    if _images(fn):
        z = 1
    else:
        z = 2
    return z


def dtypes_differ(fn: Any) -> Any:
    x, y = _numbers(fn)
    if x > y:
        z = x
    else:
        z = y * 0.5
    return z


def undefined(fn: Any) -> Any:
    x, y = _numbers(fn)
    if x > y:
        z = x
    return z


def one_return(fn: Any) -> Any:  # noqa: RET503
    x, y = _numbers(fn)
    if x > y:
        return x


def lengths_differ(fn: Any) -> Any:
    x, y = _numbers(fn)
    if x > y:
        z: Any = (x, y)
    else:
        z = (x,)
    return z[0]


@pytest.mark.parametrize(
    "define",
    [int_and, int_or_right, axes_decide, dtypes_differ, undefined, one_return, lengths_differ],
)
def test_both_refuse(define: Callable[[Any], Any]) -> None:
    with pytest.raises(reference.REFUSALS):
        _outputs(reference.dali, reference.fn, define)
    with pytest.raises(gradiva.GradivaError):
        _outputs(gradiva, gradiva.fn, define)
