"""Subscripts: each sample against NumPy, in both modes, with numbers that differ per sample."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gradiva
from gradiva import fn, newaxis
from tests.tiers import examples

LETTERS = "ABCDE"
DTYPES = ("uint8", "int16", "float16", "float64", "bool")
BIG = st.one_of(st.integers(-7, 7), st.sampled_from([2**31, -(2**40), 2**70, -(2**70)]))
STEP = st.one_of(st.none(), st.integers(-4, 4).filter(bool), st.just(2**70))


class Given:
    """A number that differs per sample, with its values."""

    def __init__(self, values: list[int], dtype: str) -> None:
        self.values = np.array(values, dtype)

    def __repr__(self) -> str:
        return f"Given({self.values!r})"


def resolved(ranges: tuple[Any, ...], sample: int) -> tuple[Any, ...]:
    """What NumPy takes for one sample."""

    def number(value: Any) -> Any:
        return int(value.values[sample]) if isinstance(value, Given) else value

    found: list[Any] = []
    for item in ranges:
        if isinstance(item, slice):
            found.append(slice(number(item.start), number(item.stop), number(item.step)))
        elif item is None:
            found.append(slice(None))
        elif isinstance(item, type(newaxis)):
            found.append(None)
        else:
            found.append(number(item))
    return tuple(found)


def with_values(ranges: tuple[Any, ...], make: Any) -> tuple[Any, ...]:
    """The ranges with `make(given)` for what differs per sample."""

    def number(value: Any) -> Any:
        return make(value) if isinstance(value, Given) else value

    return tuple(
        slice(number(item.start), number(item.stop), number(item.step))
        if isinstance(item, slice)
        else number(item)
        for item in ranges
    )


@st.composite
def calls(draw: st.DrawFn) -> tuple[list[np.ndarray[Any, Any]], str, tuple[Any, ...]]:
    """Samples, their layout, and subscripts that fit all of them."""
    ndim, count = draw(st.integers(0, 4)), draw(st.integers(1, 4))
    shapes = [draw(st.tuples(*[st.integers(0, 5)] * ndim)) for _ in range(count)]
    if draw(st.booleans()):
        shapes = shapes[:1] * count
    dtype = draw(st.sampled_from(DTYPES))
    arrays = [
        (np.arange(np.prod(shape, dtype=int)) % 251).reshape(shape).astype(dtype)
        for shape in shapes
    ]

    def given_or(number: Any, low: int, high: int, *, nonzero: bool = False) -> Any:
        if draw(st.integers(0, 3)):
            return number
        some = st.integers(low, high).filter(lambda x: x != 0 or not nonzero)
        kinds = ["int32", "int64", "int8", *(["uint8", "uint64"] if low >= 0 else [])]
        return Given([draw(some) for _ in range(count)], draw(st.sampled_from(kinds)))

    taken = draw(st.integers(0, ndim))
    axes: list[Any] = []
    rest_at = draw(st.integers(0, taken)) if draw(st.booleans()) else None
    for place in range(taken):
        axis = place if rest_at is None or place < rest_at else ndim - taken + place
        least = min(shape[axis] for shape in shapes)
        if least and draw(st.booleans()):
            number = draw(st.integers(-least, least - 1))
            low = draw(st.sampled_from([-least, 0]))
            axes.append(given_or(number, low, least - 1))
        elif draw(st.integers(0, 4)) == 0:
            axes.append(None)
        else:
            start, stop = draw(st.one_of(st.none(), BIG)), draw(st.one_of(st.none(), BIG))
            axes.append(
                slice(
                    given_or(start, -7, 7),
                    given_or(stop, 0, 7),
                    given_or(draw(STEP), -3, 3, nonzero=True),
                )
            )
    if rest_at is not None:
        axes.insert(rest_at, ...)
    named = draw(st.booleans()) and ndim > 0
    for letter in draw(st.sampled_from(["", "X", "XY"])):
        new = newaxis(letter) if named else newaxis
        axes.insert(draw(st.integers(0, len(axes))), new)
    layout = LETTERS[:ndim] if named or draw(st.booleans()) else ""
    return arrays, layout, tuple(axes)


def layout_of(layout: str, ndim: int, ranges: tuple[Any, ...]) -> str:
    """The layout by taking the parts of an array of letters' positions, axis by axis."""
    new = [item for item in ranges if isinstance(item, type(newaxis))]
    if not layout or any(not item.name for item in new):
        return ""
    plain = [item for item in ranges if not isinstance(item, type(newaxis))]
    missing = ndim - sum(item is not ... for item in plain)
    letters, left = "", list(layout)
    for item in [*ranges, *([] if ... in ranges else [...])]:
        if isinstance(item, type(newaxis)):
            letters += item.name
        elif item is ...:
            letters += "".join(left[:missing])
            del left[:missing]
        elif item is None or isinstance(item, slice):
            letters += left.pop(0)
        else:
            left.pop(0)
    return letters


@settings(max_examples=examples(300), derandomize=True, deadline=None)
@given(calls())
def test_against_numpy(call: Any) -> None:
    arrays, layout, ranges = call
    batch = gradiva.batch(arrays, layout=layout)
    part = batch.slice[with_values(ranges, lambda x: gradiva.as_batch(x.values))]
    assert part.layout == layout_of(layout, batch.ndim, ranges)
    for sample, array in enumerate(arrays):
        expected = array[(*resolved(ranges, sample), *([] if ... in ranges else [...]))]
        got = part.at(sample)
        assert got.dtype == expected.dtype
        assert got.shape == expected.shape
        np.testing.assert_array_equal(got, expected)
        tensor = batch.select(sample)
        for one in (
            tensor[with_values(ranges, lambda x, i=sample: gradiva.tensor(x.values[i]))],
            tensor.slice[with_values(ranges, lambda x, i=sample: int(x.values[i]))],
        ):
            assert one.layout == part.layout
            assert one.dtype is part.dtype
            np.testing.assert_array_equal(np.asarray(one), expected)


@settings(max_examples=examples(60), derandomize=True, deadline=None)
@given(calls())
def test_captured(call: Any) -> None:
    arrays, layout, ranges = call
    batch = gradiva.batch(arrays, layout=layout)
    values: list[Any] = []
    with_values(ranges, values.append)
    fed = [batch, *[gradiva.as_batch(value.values) for value in values]]
    eager = batch.slice[with_values(ranges, lambda x: gradiva.as_batch(x.values))]

    @gradiva.pipeline_def(batch_size=len(arrays), num_threads=2)
    def pipeline() -> Any:
        images, *numbers = fn.external_source(source=[tuple(fed)], num_outputs=len(fed), cycle=True)
        chosen = with_values(ranges, lambda x: numbers[values.index(x)])
        return images[chosen], images.slice[chosen], images[chosen]

    pipe = pipeline()
    assert len(set(pipe.graph.outputs)) == 1
    for captured in pipe.run():
        assert captured.type == eager.type
        assert captured.shape == eager.shape
        for ours, theirs in zip(captured, eager, strict=True):
            np.testing.assert_array_equal(np.asarray(ours), np.asarray(theirs))
    pipe.close()


def images() -> gradiva.Batch:
    return gradiva.batch(
        [np.arange(h * 5 * 3, dtype=np.uint8).reshape(h, 5, 3) for h in (4, 2, 6)], layout="HWC"
    )


def test_large_batches_are_split_over_threads() -> None:
    whole = gradiva.as_batch(np.random.default_rng(0).integers(0, 255, (16, 64, 64, 3), np.uint8))
    results = []
    for threads in (1, 4):
        gradiva.set_num_threads(threads)
        ragged = whole.slice[gradiva.as_batch(np.arange(16)) :, ::-1]
        results.append((whole.slice[1:, ::2, 2], ragged))
    gradiva.set_num_threads(None)
    for even, ragged in results:
        np.testing.assert_array_equal(even.as_array(), whole.as_array()[:, 1:, ::2, 2])
        for i in range(16):
            np.testing.assert_array_equal(ragged.at(i), whole.at(i)[i:, ::-1])


@pytest.mark.tiny
def test_empty_batch() -> None:
    empty = gradiva.batch([], layout="HWC")
    part = empty.slice[..., 0]
    assert part.batch_size == 0
    assert part.layout == "HW"
    none = gradiva.batch([], dtype="int32").slice[0]
    assert empty.slice[none:].layout == "HWC"


@pytest.mark.tiny
def test_what_differs_from_numpy() -> None:
    """As in DALI, None is a whole axis; newaxis makes one."""
    batch = images()
    assert batch.slice[None].shape == batch.shape
    assert batch.slice[None].layout == "HWC"
    assert batch.slice[newaxis].shape[0] == (1, 4, 5, 3)
    assert batch.slice[newaxis("N")].layout == "NHWC"
    assert batch.slice[:, newaxis("N"), 0].layout == "HNC"
    assert batch.slice[0, 0, 0, newaxis("N")].layout == "N"
    assert gradiva.batch([1, 2]).slice[newaxis("N")].layout == "N"
    assert repr(newaxis("N")) == "newaxis('N')"


@pytest.mark.tiny
def test_provenance_and_memory() -> None:
    tensor = gradiva.tensor(np.arange(12).reshape(3, 4), layout="HW")
    row = tensor[gradiva.tensor(1)]
    assert np.shares_memory(np.asarray(row), np.asarray(tensor))
    assert row.layout == "W"
    rows = tensor.slice[gradiva.as_batch(np.array([0, -1], np.int16))]
    assert isinstance(rows, gradiva.Batch)
    np.testing.assert_array_equal(rows.as_array(), np.asarray(tensor)[[0, -1]])
    assert [value.item() for value in tensor[1]] == [4, 5, 6, 7]


BAD: dict[str, tuple[Any, type[Exception], str]] = {
    "an index out of range": (2, ValueError, r"from -2 to 1 on axis 0, got 2(?s:.*)sample 1"),
    "a negative one": ((0, -6), ValueError, r"from -5 to 4 on axis 1, got -6(?s:.*)sample 0"),
    "a huge one": (2**70, ValueError, f"got {2**70}"),
    "too many": ((0, 0, 0, 0), TypeError, "at most 3, got 4"),
    "a step of 0": (slice(None, None, 0), ValueError, "must not be 0"),
    "a float": (1.5, TypeError, "1.5"),
    "a float in a range": (slice(0.5, None), TypeError, "0.5"),
    "a string": ("a", TypeError, "'a'|a"),
    "a list": ([0, 1], TypeError, r"\[0, 1\]"),
    "a mask": (np.array([True, False]), TypeError, "True"),
    "two ellipses": ((..., 0, ...), ValueError, "only one"),
    "a letter twice": (newaxis("H"), ValueError, "distinct"),
    "names for some": ((newaxis, newaxis("N")), ValueError, "have names, or none"),
    "many axes": ((newaxis,) * 40, ValueError, "too many axes"),
}


@pytest.mark.tiny
@pytest.mark.parametrize("name", BAD)
def test_refused(name: str) -> None:
    ranges, kind, match = BAD[name]
    with pytest.raises(gradiva.GradivaError, match=match) as caught:
        images().slice[ranges]
    assert isinstance(caught.value, kind)
    assert str(caught.value).startswith("subscript")
    assert "images().slice[ranges]" in str(caught.value)
    small = images().select(1)
    with pytest.raises(gradiva.GradivaError, match=match.split("(?s")[0]):
        small[ranges]


PER_SAMPLE: dict[str, tuple[Any, str]] = {
    "floats": (np.zeros(3, np.float32), "expected integers, got dtype float32"),
    "booleans": (np.zeros(3, np.bool_), "expected integers"),
    "vectors": (np.zeros((3, 1), np.int32), "a scalar per sample, got 1-D"),
    "another size": (np.zeros(2, np.int32), "3 samples, got 2"),
    "out of range": (np.array([0, 0, 6]), r"from -6 to 5 on axis 0, got 6(?s:.*)sample 2"),
    "too large": (np.array([0, 2**64 - 1, 0], np.uint64), r"axis 0, got (?s:.*)sample 1"),
}


@pytest.mark.tiny
@pytest.mark.parametrize("name", PER_SAMPLE)
def test_refused_per_sample(name: str) -> None:
    values, match = PER_SAMPLE[name]
    with pytest.raises(gradiva.GradivaError, match=match):
        images().slice[gradiva.as_batch(values)]


@pytest.mark.tiny
def test_a_step_of_0_for_one_sample() -> None:
    with pytest.raises(gradiva.OperatorValueError, match=r"not be 0(?s:.*)sample 1"):
        images().slice[:: gradiva.as_batch(np.array([1, 0, 1]))]


@pytest.mark.tiny
def test_a_name_needs_a_layout() -> None:
    batch = gradiva.batch([[1, 2]])
    with pytest.raises(gradiva.OperatorValueError, match="the input has no layout"):
        batch.slice[newaxis("N")]
    for name in ("", "NM"):
        with pytest.raises(gradiva.OperatorValueError, match="one letter"):
            newaxis(name)
    with pytest.raises(gradiva.OperatorTypeError, match="one letter"):
        newaxis(3)  # type: ignore[arg-type]


@pytest.mark.tiny
def test_a_batch_itself_takes_none() -> None:
    with pytest.raises(TypeError, match=r"(?s)batch\.select.*batch\.slice.*test_subscript\.py"):
        images()[0]
    for value in (images(), images().select(0)):
        with pytest.raises(TypeError, match="not iterable"):
            list(value.slice)  # type: ignore[call-overload]


def test_errors_in_a_pipeline_name_the_line() -> None:
    @gradiva.pipeline_def(batch_size=3)
    def late() -> Any:
        source = fn.external_source(source=[images()], cycle=True)
        return source[2]  # the line

    pipe = late()
    with pytest.raises(gradiva.OperatorValueError, match=r"(?s)sample 1.*return source\[2\]"):
        pipe.run()
    pipe.close()

    @gradiva.pipeline_def(batch_size=3)
    def early() -> Any:
        files, _ = fn.readers.file(file_root="/data")
        return fn.decoders.image(files)[0, 0, 0, 0]

    with pytest.raises(gradiva.OperatorTypeError, match=r"(?s)at most 3, got 4.*0, 0, 0, 0"):
        early()

    @gradiva.pipeline_def(batch_size=3)
    def concrete() -> Any:
        return fn.external_source(source=[images()])[gradiva.as_batch(np.zeros(3, np.int32))]

    with pytest.raises(gradiva.OperatorTypeError, match="a batch has no place in a graph"):
        concrete()


def test_a_tensor_by_a_symbol() -> None:
    table = gradiva.tensor([[1, 2], [3, 4]], layout="HW")

    @gradiva.pipeline_def(batch_size=3)
    def pipeline() -> Any:
        return table[fn.external_source(source=lambda: [np.int32(i) for i in (0, 1, -1)])]

    pipe = pipeline()
    (rows,) = pipe.run()
    assert np.asarray(rows).tolist() == [[1, 2], [3, 4], [3, 4]]
    assert rows.layout == "W"
    pipe.close()
