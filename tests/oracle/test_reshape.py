"""reshape, reinterpret, squeeze and expand_dims against DALI: exact."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gradiva
from gradiva import Batch, batch
from gradiva.eager.types.dtypes import DType

from .pictures import pictures, ramp
from .reference import DTYPES, NAMES, agree, assert_close, feed, fn, reference, theirs


def ask(name: str, images: Batch, **arguments: Any) -> Any:
    """DALI, with `layout` as an argument of the operator."""

    def build(node: Any) -> Any:
        given = {}
        for key, value in arguments.items():
            if isinstance(value, np.ndarray):
                given[key] = feed(list(value))
            else:
                given[key] = theirs(DType.of(value)) if key == "dtype" else value
        return getattr(fn, name)(node, **given)

    return reference(build, [images])


def check(name: str, images: Batch, **arguments: Any) -> None:
    function: Any = getattr(gradiva, name)
    assert_close(function(images, **arguments), ask(name, images, **arguments))


def refuse_alike(name: str, images: Batch, **arguments: Any) -> None:
    function: Any = getattr(gradiva, name)
    agree(lambda: function(images, **arguments), lambda: ask(name, images, **arguments))


def test_pictures() -> None:
    for dtype in (np.uint8, np.uint16, np.float32):
        images = pictures(dtype)
        check("reshape", images, shape=[-1, 3])
        check("reshape", images, shape=[-1], layout="X")
        check("reshape", images, src_dims=[2, 1, 0])
        check("reshape", images, rel_shape=[1, -1])
        check("reinterpret", images, dtype="int8", shape=[-1])
        check("expand_dims", images, axes=[0], new_axis_names="F")
        check("squeeze", gradiva.expand_dims(images, axes=[2]), axes=[2])


@pytest.mark.parametrize("name", NAMES)
def test_dtypes(name: str) -> None:
    dtype = DTYPES[name].numpy
    images = batch([ramp(4, 6, dtype=dtype), ramp(2, 12, dtype=dtype)], layout="HW")
    check("reshape", images, shape=[8, 3])
    check("expand_dims", images, axes=[1], new_axis_names="C")
    check("squeeze", gradiva.reshape(images, shape=[1, 24]), axes=[0])
    for other in NAMES:
        if other != name and other != "bool":
            refuse_alike("reinterpret", images, dtype=other)
            refuse_alike("reinterpret", images, dtype=other, shape=[3, -1])


GIVEN = [
    {"shape": [3, 2]}, {"shape": [6]}, {"shape": [3, 2], "layout": "AB"},
    {"shape": [3, 2], "layout": ""}, {"shape": [3, 2], "layout": "ABC"}, {"layout": "AB"},
    {"layout": ""}, {"layout": "ABC"}, {}, {"shape": [-1]}, {"shape": [3, -1]},
    {"shape": [4, -1]}, {"shape": [-1, -1]}, {"shape": [-2, 3]}, {"shape": [5]},
    {"shape": [0, -1]}, {"shape": []}, {"shape": [3, 2], "rel_shape": [1, 1]},
    {"rel_shape": [0.5, 2]}, {"rel_shape": [0.5, -1]}, {"rel_shape": [-1, 2]},
    {"rel_shape": [-1]}, {"rel_shape": [1, 1, -1]}, {"rel_shape": [1, 1, 1]},
    {"rel_shape": [0, -1]}, {"rel_shape": [1.25, -1]}, {"rel_shape": [1.24, -1]},
    {"rel_shape": [0.5, 2], "src_dims": [1, 0]}, {"rel_shape": [1, 1], "src_dims": [1, 0]},
    {"rel_shape": [1, 1, 1], "src_dims": [1, 0]}, {"src_dims": [1, 0]}, {"src_dims": [0]},
    {"src_dims": [0, 2]}, {"src_dims": [0, -2]}, {"src_dims": [0, 0, 1]},
    {"src_dims": [0], "shape": [2, -1]}, {"rel_shape": [1, 1, 3], "src_dims": [0, -1, -1]},
]  # fmt: skip


@pytest.mark.parametrize("layout", ["HW", ""])
@pytest.mark.parametrize("given", GIVEN, ids=str)
def test_arguments(given: dict[str, Any], layout: str) -> None:
    refuse_alike("reshape", batch([ramp(2, 3), ramp(2, 3, seed=1)], layout=layout), **given)
    same = {"layout", "shape", "rel_shape"}
    if set(given) & same or "src_dims" in given:
        images = batch([ramp(2, 3), ramp(2, 3, seed=1)], layout=layout)
        refuse_alike("reinterpret", images, dtype="int8", **given)


def test_more_axes_by_src_dims() -> None:
    images = batch([ramp(2, 3, 4), ramp(2, 3, 4)])
    check("reshape", images, src_dims=[2, -1, 0, 1])
    check("reshape", images, src_dims=[0, -1, 1], rel_shape=[1, 4, 1])
    named = batch([ramp(2, 3, 4)], layout="HWC")
    check("reshape", named, src_dims=[0, 1, 2, -1], layout="HWCX")
    # There, a layout that no longer fits is an error; here it is dropped.
    assert gradiva.reshape(named, src_dims=[0, 1, 2, -1]).layout == ""


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_shapes_per_sample(dtype: Any) -> None:
    images = batch([ramp(2, 6), ramp(4, 3)], layout="HW")
    rows = np.array([[3, 4], [-1, 6]], dtype)
    check("reshape", images, shape=rows)
    check("reshape", images, shape=rows, layout="AB")
    check("reshape", images, rel_shape=np.array([[0.5, 2], [1.5, -1]], np.float32))
    expected = reference(fn.reshape, [images, batch(list(rows))])
    assert_close(gradiva.reshape(images, batch(list(rows))), expected)


@pytest.mark.parametrize("kind", ["uint8", "uint16", "uint32", "int64", "float32", "scalar", "2-D"])
def test_shapes_as_data(kind: str) -> None:
    images = batch([ramp(2, 6), ramp(4, 3)])
    rows = [np.array([3, 4]), np.array([6, 2])]
    if kind == "scalar":
        extents = batch([np.int32(12)] * 2)
    elif kind == "2-D":
        extents = batch([row[None].astype(np.int32) for row in rows])
    else:
        extents = batch([row.astype(kind) for row in rows])
    agree(
        lambda: gradiva.reshape(images, extents), lambda: reference(fn.reshape, [images, extents])
    )


@settings(max_examples=60, derandomize=True, deadline=None)
@given(
    extents=st.lists(st.integers(1, 6), max_size=4),
    shape=st.lists(st.integers(-1, 12), min_size=1, max_size=4),
    fitting=st.booleans(),
    data=st.data(),
)
def test_any_shape(extents: list[int], shape: list[int], fitting: bool, data: Any) -> None:
    volume = int(np.prod(extents))
    if fitting:  # a shape that has the same volume: split off divisors
        shape, rest = [], volume
        for _ in range(data.draw(st.integers(0, 3))):
            shape.append(data.draw(st.sampled_from([d for d in range(1, 7) if rest % d == 0])))
            rest //= shape[-1]
        shape.insert(data.draw(st.integers(0, len(shape))), data.draw(st.sampled_from([rest, -1])))
    images = batch([ramp(*extents, dtype=np.int16), ramp(*extents, dtype=np.int16, seed=1)])
    refuse_alike("reshape", images, shape=shape)


@settings(max_examples=40, derandomize=True, deadline=None)
@given(
    extents=st.lists(st.integers(1, 6), min_size=1, max_size=3),
    factors=st.lists(st.sampled_from([-1, 0.25, 0.5, 1, 1.5, 2, 3, 4]), min_size=1, max_size=4),
)
def test_any_factors(extents: list[int], factors: list[float]) -> None:
    refuse_alike("reshape", batch([ramp(*extents), ramp(*extents)]), rel_shape=factors)


@settings(max_examples=40, derandomize=True, deadline=None)
@given(
    extents=st.lists(st.integers(0, 9), min_size=1, max_size=3),
    source=st.sampled_from([name for name in NAMES if name != "bool"]),
    target=st.sampled_from([name for name in NAMES if name != "bool"]),
)
def test_any_dtypes(extents: list[int], source: str, target: str) -> None:
    dtype = DTYPES[source].numpy
    images = batch(
        [ramp(*extents, dtype=dtype), ramp(*extents, dtype=dtype, seed=1)],
        layout="ABC"[: len(extents)],
    )
    refuse_alike("reinterpret", images, dtype=target)


def test_bytes_as_bool() -> None:
    """There, bytes stay what they are behind the name of bool; here each is 0 or 1."""
    images = batch([ramp(3, 4), np.zeros((2, 2), np.uint8)])
    got = gradiva.reinterpret(images, dtype="bool")
    assert_close(got, [image != 0 for image in images.arrays()])
    assert set(np.unique(np.concatenate([i.reshape(-1).view(np.uint8) for i in got.arrays()]))) <= {
        0,
        1,
    }


def test_what_the_reference_cannot() -> None:
    """Scalars of another size kill the process there; shapes as data drop no layout."""
    scalars = batch([np.int32(1), np.int32(-2)])
    assert gradiva.reinterpret(scalars, dtype="uint8", shape=[4]).at(1).tolist() == [
        254,
        255,
        255,
        255,
    ]
    with pytest.raises(gradiva.OperatorValueError, match="`dtype`"):
        gradiva.reinterpret(scalars, dtype="uint8")
    images = batch([ramp(2, 3, 4), ramp(2, 3, 4)], layout="HWC")
    assert gradiva.reshape(images, batch([np.array([24], np.int32)] * 2)).layout == ""
    none = batch([np.zeros((0, 2), np.uint8)])
    assert gradiva.reshape(none, shape=[5, 0]).shape == [(5, 0)]


LETTERS = "ABCD"


@pytest.mark.parametrize("layout", [LETTERS, ""])
def test_squeeze(layout: str) -> None:
    images = batch([ramp(1, 2, 1, 3), ramp(1, 1, 1, 3), ramp(1, 5, 1, 2)], layout=layout)
    for count in range(4):
        for axes in itertools.permutations(range(4), count):
            refuse_alike("squeeze", images, axes=list(axes))
            names = "".join(LETTERS[axis] for axis in axes)
            if layout or names:
                refuse_alike("squeeze", images, axis_names=names)
    for bad in ({"axes": [0, 0]}, {"axis_names": "X"}, {"axes": [0], "axis_names": "A"}, {}):
        refuse_alike("squeeze", images, **bad)
    refuse_alike("squeeze", images, axes=0)
    check("squeeze", batch([ramp(1, 1), ramp(1, 1)], layout="HW"), axes=[0, 1])
    check("squeeze", batch([np.zeros((0, 1), np.int8)], layout="HW"), axes=[1])


@pytest.mark.parametrize("layout", ["HW", ""])
def test_expand_dims(layout: str) -> None:
    images = batch([ramp(2, 3), ramp(4, 1)], layout=layout)
    for count in range(4):
        for axes in itertools.permutations(range(4), count):
            refuse_alike("expand_dims", images, axes=list(axes))
            if count:
                refuse_alike("expand_dims", images, axes=list(axes), new_axis_names="XYZ"[:count])
    pairs: Any = (([0, 0], ""), ([0], "XY"), ([], "X"), ([9], ""))
    for axes, names in pairs:
        refuse_alike("expand_dims", images, axes=axes, new_axis_names=names)
    scalars = batch([np.float64(2), np.float64(3)])
    check("expand_dims", scalars, axes=[0, 1], new_axis_names="HW")
    refuse_alike("expand_dims", scalars, axes=[1])


def test_axes_from_the_end() -> None:
    """There, `squeeze` leaves unknown and negative axes where they are, without a word, and
    `expand_dims` refuses them; here they are NumPy's."""
    images = batch([ramp(2, 1, 3, 1), ramp(4, 1, 1, 1)], layout="FHWC")
    got = gradiva.squeeze(images, axes=[-1, -3])
    assert_close(got, [image[:, 0, :, 0] for image in images.arrays()])
    assert got.layout == "FW"
    with pytest.raises(gradiva.OperatorValueError, match="`axes`"):
        gradiva.squeeze(images, axes=[4])
    wide = gradiva.expand_dims(got, axes=[-1, -4], new_axis_names="CN")
    assert_close(wide, [np.expand_dims(image, (-1, -4)) for image in got.arrays()])
    assert wide.layout == "NFWC"
