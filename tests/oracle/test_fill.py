"""full, zeros, ones, their likes, one_hot, cast_like and copy against DALI: exact."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gradiva
from gradiva import batch

from .pictures import pictures, ramp, values
from .reference import DTYPES, NAMES, REFUSALS, agree, assert_close, fn, reference, run, theirs


def check(name: str, inputs: list[Any], **arguments: Any) -> None:
    function: Any = getattr(gradiva, name)
    assert_close(function(*inputs, **arguments), reference(name, inputs, **arguments))


def refuse_alike(name: str, inputs: list[Any], **arguments: Any) -> None:
    function: Any = getattr(gradiva, name)
    agree(lambda: function(*inputs, **arguments), lambda: reference(name, inputs, **arguments))


@pytest.mark.parametrize("name", NAMES)
def test_full(name: str) -> None:
    dtype = DTYPES[name].numpy
    numbers, rows = batch([ramp(dtype=dtype)] * 2), batch([ramp(3, dtype=dtype)] * 2, layout="W")
    columns = batch([ramp(2, 1, dtype=dtype)] * 2)
    for shape in ([], [2], [0, 2], [2, 3], [4, 2, 3], [70, 300, 3]):
        check("full", [numbers], shape=shape)
    for shape in ([3], [2, 3], [5, 2, 3]):
        check("full", [rows], shape=shape)
    for shape in ([2, 1], [2, 5], [3, 2, 5]):
        check("full", [columns], shape=shape)
    for shape in ([4], [3, 2]):
        refuse_alike("full", [rows], shape=shape)
    check("full", [numbers], shape=np.array([[2, 3], [4, 1]], np.int32))
    check("full", [numbers])


def test_fill_that_is_too_large() -> None:
    """There, what has more axes than the shape is cut, without a word, as are extents where the
    shape has 1; here it is refused."""
    with pytest.raises(gradiva.OperatorValueError, match="broadcast"):
        gradiva.full(batch([ramp(3)]), shape=[3, 1])
    assert reference("full", [batch([ramp(3)])], shape=[3, 1])[0].shape == (3, 1)
    with pytest.raises(gradiva.OperatorValueError, match="broadcast"):
        gradiva.full(batch([ramp(2, 3)]), shape=[3])
    with pytest.raises(gradiva.OperatorValueError, match="broadcast"):
        gradiva.full(batch([ramp(2, 3)]))


@pytest.mark.parametrize("shape", [None, 3, [2, 3], [0], [], [60, 70, 3]])
@pytest.mark.parametrize("name", NAMES)
def test_zeros_and_ones(name: str, shape: Any) -> None:
    named: dict[str, Any] = {} if shape is None else {"shape": shape}
    for kind in ("zeros", "ones"):
        function: Any = getattr(gradiva, kind)
        ask = getattr(fn, kind)
        (expected,) = run(partial(ask, dtype=theirs(DTYPES[name]), **named), 3)
        assert_close(function(batch_size=3, dtype=DTYPES[name], **named), expected)
        (expected,) = run(partial(ask, **named), 3)
        assert_close(function(batch_size=3, **named), expected)


def test_layouts() -> None:
    for layout, shape in (("HW", [2, 3]), ("HWC", [2, 3]), ("", [2, 3]), ("A", None)):
        named: dict[str, Any] = {"layout": layout, **({} if shape is None else {"shape": shape})}
        numbers = batch([np.float32(3), np.float32(4)])
        zeros, full = partial(fn.zeros, **named), partial(fn.full, **named)
        agree(partial(gradiva.zeros, batch_size=2, **named), partial(_first, zeros))
        agree(partial(gradiva.full, numbers, **named), partial(reference, full, [numbers]))


def _first(build: Any) -> Any:
    return run(build, 2)[0]


@pytest.mark.parametrize("name", NAMES)
def test_likes(name: str) -> None:
    dtype = DTYPES[name].numpy
    images = batch([ramp(2, 3, 4, dtype=dtype), ramp(1, 2, 4, dtype=dtype)], layout="HWC")
    for kind in ("zeros_like", "ones_like"):
        check(kind, [images])
        check(kind, [batch([ramp(dtype=dtype)])])
        for other in NAMES:
            check(kind, [images], dtype=DTYPES[other])


@pytest.mark.parametrize("source", NAMES)
@pytest.mark.parametrize("target", NAMES)
def test_casts(source: str, target: str) -> None:
    generator = np.random.default_rng(3)
    numbers = values(DTYPES[source].numpy, generator, 60)
    if numbers.dtype.kind == "f":
        numbers = numbers[np.isfinite(numbers)]
    given = batch([numbers, numbers[:20]], layout="W")
    like = batch([np.zeros((2, 2), DTYPES[target].numpy)] * 2)
    check("cast_like", [given, like])
    goal = batch([np.zeros((2, 60), DTYPES[target].numpy)] * 2, layout="HW")
    fill = batch([np.resize(numbers, 60)] * 2)
    check("full_like", [goal, fill])


def test_full_like() -> None:
    images = pictures()
    check("full_like", [images, batch([np.array([1.5, 300, -2], np.float32)] * 6)])
    check("full_like", [images, batch([np.int16(7)] * 6)])
    check("full_like", [images, batch([np.zeros((1, 1, 1, 3), np.uint8)] * 6)])
    check("full_like", [batch([ramp(3)]), batch([ramp(3, seed=1)], layout="W")])
    refuse_alike("full_like", [images, batch([ramp(2)] * 6)])


@pytest.mark.parametrize("name", NAMES)
def test_copy(name: str) -> None:
    check("copy", [pictures(DTYPES[name].numpy)])
    check("copy", [batch([ramp(dtype=DTYPES[name].numpy)] * 3)])
    check("copy", [batch([ramp(200, 300, dtype=DTYPES[name].numpy)] * 3, layout="HW")])


INTEGERS = [name for name in NAMES if "int" in name]


@pytest.mark.parametrize("name", [*INTEGERS, "float32", "float64"])
def test_one_hot_inputs(name: str) -> None:
    dtype = DTYPES[name].numpy
    generator = np.random.default_rng(1)
    labels = batch(list(generator.integers(0, 6, 5).astype(dtype)))
    boxed = batch([np.array([k], dtype) for k in (0, 3, 1)])
    masks = batch(
        [
            generator.integers(0, 6, (4, 5)).astype(dtype),
            generator.integers(0, 6, (1, 70)).astype(dtype),
        ],
        layout="HW",
    )
    for count in (0, 1, 4, 6):
        check("one_hot", [labels], num_classes=count)
        check("one_hot", [boxed], num_classes=count)
        check("one_hot", [boxed], num_classes=count, axis=0)
        for axis in (-1, 0, 1, 2):
            check("one_hot", [masks], num_classes=count, axis=axis)
            check("one_hot", [masks], num_classes=count, axis=axis, axis_name="C")
        check("one_hot", [masks], num_classes=count)


@pytest.mark.parametrize("name", [n for n in NAMES if n not in ("bool", "float16")])
def test_one_hot_dtypes(name: str) -> None:
    labels = batch([np.int32(2), np.int32(-1), np.int32(0)])
    for on, off in ((1, 0), (2.7, 100.2), (0.3, 7)):
        check("one_hot", [labels], num_classes=3, dtype=DTYPES[name], on_value=on, off_value=off)
    large = batch([np.random.default_rng(2).integers(-1, 9, (90, 110))] * 3)
    check("one_hot", [large], num_classes=7, dtype=DTYPES[name], axis=0)


def test_one_hot_single_elements() -> None:
    for shape in ((1,), (1, 1)):
        for layout in ("HW"[: len(shape)], ""):
            ones = batch([np.full(shape, 1), np.full(shape, 0)], layout=layout)
            check("one_hot", [ones], num_classes=3)
            check("one_hot", [ones], num_classes=3, axis_name="C")
            check("one_hot", [ones], num_classes=3, axis=-1)
    check("one_hot", [batch([np.array([1]), np.array([1, 2])])], num_classes=3)


def test_one_hot_refusals() -> None:
    masks, plain = batch([ramp(2, 3)], layout="HW"), batch([ramp(2, 3)])
    refuse_alike("one_hot", [masks], num_classes=-1)
    refuse_alike("one_hot", [masks], num_classes=2, axis=3)
    for letters in ("", "XY"):
        refuse_alike("one_hot", [masks], num_classes=2, axis_name=letters)
    refuse_alike("one_hot", [plain], num_classes=2, axis_name="C")


def test_one_hot_beyond_the_reference() -> None:
    """There, classes are cut to 32 bits and values wrap; bool and float16 are refused."""
    far = batch([np.array([1, 2**32 + 1])])
    assert gradiva.one_hot(far, num_classes=2, axis=1).at(0).tolist() == [[0, 1], [0, 0]]
    huge = batch([np.array([1, 2**63 + 1], np.uint64)])
    assert gradiva.one_hot(huge, num_classes=2, axis=1).at(0).tolist() == [[0, 1], [0, 0]]
    labels = batch([np.int32(1)])
    for name, on, expected in (
        ("uint8", 300, 255),
        ("int8", -300, -128),
        ("bool", 0.3, False),
        ("float16", 0.5, 0.5),
    ):
        got = gradiva.one_hot(labels, num_classes=2, dtype=name, on_value=on, off_value=0)
        assert got.at(0)[1] == expected
        assert got.dtype == DTYPES[name]
    with pytest.raises(REFUSALS):
        reference("one_hot", [labels], num_classes=2, dtype=DTYPES["bool"])
    for dtype in (bool, np.float16):
        assert gradiva.one_hot(batch([dtype(1)]), num_classes=2).at(0).tolist() == [0, 1]


@settings(max_examples=40, derandomize=True, deadline=None)
@given(shape=st.lists(st.integers(1, 4), max_size=3), count=st.integers(0, 5), data=st.data())
def test_any_one_hot(shape: list[int], count: int, data: st.DataObject) -> None:
    axis = data.draw(st.integers(-1, len(shape)))
    numbers = np.random.default_rng(count).integers(-1, 6, (2, *shape)).astype(np.int32)
    check("one_hot", [batch(numbers)], num_classes=count, axis=axis)


@settings(max_examples=40, derandomize=True, deadline=None)
@given(shape=st.lists(st.integers(1, 4), max_size=4), data=st.data())
def test_any_full(shape: list[int], data: st.DataObject) -> None:
    kept = data.draw(st.integers(0, len(shape)))
    inner = [
        data.draw(st.sampled_from([1, extent, 5 if extent > 1 else 1])) for extent in shape[kept:]
    ]
    refuse_alike("full", [batch([ramp(*inner), ramp(*inner, seed=1)])], shape=shape)
    like = batch([ramp(*shape), ramp(*shape)])
    refuse_alike("full_like", [like, batch([ramp(*inner), ramp(*inner, seed=1)])])


@pytest.mark.parametrize("name", ["ones", "zeros"])
@settings(max_examples=15, derandomize=True, deadline=None)
@given(shape=st.lists(st.integers(0, 5), max_size=4), dtype=st.sampled_from(NAMES), data=st.data())
def test_any_constant(name: str, shape: list[int], dtype: str, data: st.DataObject) -> None:
    letters = "".join(data.draw(st.permutations("FHWC"))[: len(shape)])
    layout: dict[str, Any] = {"layout": letters} if data.draw(st.booleans()) and shape else {}
    kind = theirs(DTYPES[dtype])
    make: Any = getattr(gradiva, name)
    (expected,) = run(lambda: getattr(fn, name)(shape=shape, dtype=kind, **layout), 2)
    assert_close(make(batch_size=2, shape=shape, dtype=dtype, **layout), expected)
