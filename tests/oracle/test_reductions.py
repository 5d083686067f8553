"""reductions.* against DALI, and against float64 where the two differ."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gradiva
from gradiva import OperatorTypeError, OperatorValueError, batch

from .pictures import Array, pictures
from .reference import DTYPES, NAMES, REFUSALS, Samples, assert_close, check, reference

MEANS = ("mean", "mean_square", "rms")
PLAIN = ("sum", *MEANS, "min", "max")
ABOUT = ("std_dev", "variance")
OURS_ALONE = ("bool", "float16", "float64")


def noise(name: str, *shapes: tuple[int, ...]) -> list[Array]:
    """Numbers whose squares DALI can add."""
    generator = np.random.default_rng(3)
    if name.startswith("float"):
        return [generator.uniform(-1, 1, shape).astype(name) for shape in shapes]
    if name == "bool":
        return [generator.integers(0, 2, shape).astype(np.bool_) for shape in shapes]
    limits = np.iinfo(name)
    low, high = max(limits.min, -30000), min(limits.max, 30000)
    return [generator.integers(low, high, shape, endpoint=True).astype(name) for shape in shapes]


def about(name: str, input: Any, mean: Any, **arguments: Any) -> None:
    """An operator with means as its second input, on both sides."""
    ours = getattr(gradiva.reductions, name)(input, mean, **arguments)
    theirs = reference(f"reductions.{name}", [input, mean], **arguments)
    assert_close(ours, theirs, exact=False)


@pytest.mark.parametrize("axes", [None, [], 0, [0, 1], [2], [-1, 0], [1]])
@pytest.mark.parametrize("name", PLAIN)
def test_pictures(name: str, axes: Any) -> None:
    more = {} if axes is None else {"axes": axes}
    for keep_dims in (False, True):
        check(
            f"reductions.{name}",
            pictures(),
            exact=name in ("sum", "min", "max"),
            keep_dims=keep_dims,
            **more,
        )


@pytest.mark.parametrize("source", [name for name in NAMES if name not in OURS_ALONE])
@pytest.mark.parametrize("name", PLAIN)
def test_dtypes(name: str, source: str) -> None:
    input = batch(noise(source, (6, 7, 3), (400, 1, 3)), layout="HWC")
    exact = name in ("min", "max") or (name == "sum" and source != "float32")
    check(f"reductions.{name}", input, exact=exact, axes=[0, 1])
    check(f"reductions.{name}", input, exact=exact)


@pytest.mark.parametrize("target", NAMES)
@pytest.mark.parametrize("name", ["sum", *MEANS])
def test_dtype_of_the_output(name: str, target: str) -> None:
    """Where DALI takes the dtype; it refuses most, ours takes all. Each pair of dtypes is
    tried with one of the operators."""
    operator = getattr(gradiva.reductions, name)
    turn = NAMES.index(target) + ("sum", *MEANS).index(name)
    for source in NAMES[turn % 4 :: 4]:
        input = batch([np.arange(5).astype(source)])
        try:
            theirs = reference(f"reductions.{name}", [input], dtype=DTYPES[target])
        except REFUSALS:
            theirs = None
        ours = operator(input, dtype=DTYPES[target])
        values = np.arange(5).astype(source).astype(np.float64)
        wanted = {
            "sum": values.sum(),
            "mean": values.mean(),
            "mean_square": (values**2).mean(),
            "rms": np.sqrt((values**2).mean()),
        }[name]
        if theirs is not None:
            assert_close(ours, theirs, exact=False)
        if np.dtype(target).kind in "iu":
            assert ours.at(0) == np.floor(wanted + 0.5)
        elif target != "bool":
            np.testing.assert_allclose(ours.at(0), np.float64(wanted), 1e-3)


@pytest.mark.parametrize("name", [*PLAIN, *ABOUT])
def test_accuracy(name: str) -> None:
    """At least DALI's: a relative error of 6e-8, half a unit of the last place."""
    generator = np.random.default_rng(1)
    far = (1e4 + generator.uniform(0, 1, (120, 130, 3))).astype(np.float32)
    wide = generator.integers(-(2**31), 2**31, (120, 130, 3)).astype(np.int32)
    long = generator.integers(-(2**40), 2**40, (120, 130, 3))
    for sample in (far, wide, long, wide.astype(np.uint32)):
        values = sample.astype(np.longdouble)
        for axes in ((0, 1, 2), (0, 1), (2,), (0, 2)):
            mean = values.mean(axes).astype(np.float32)
            apart = values - mean.reshape(
                [1 if a in axes else n for a, n in enumerate((120, 130, 3))]
            )
            wanted = {
                "sum": values.sum(axes),
                "mean": values.mean(axes),
                "mean_square": (values**2).mean(axes),
                "rms": np.sqrt((values**2).mean(axes)),
                "min": values.min(axes),
                "max": values.max(axes),
                "variance": (apart**2).mean(axes),
                "std_dev": np.sqrt((apart**2).mean(axes)),
            }[name]
            more = [batch([mean])] if name in ABOUT else []
            got = getattr(gradiva.reductions, name)(batch([sample]), *more, axes=axes).at(0)
            error = np.abs(got.astype(np.longdouble) - wanted)
            assert (error <= 6.1e-8 * np.abs(wanted) + 1e-13 * np.abs(values).max()).all(), axes


@pytest.mark.parametrize("name", ABOUT)
def test_means(name: str) -> None:
    images = pictures()
    for axes in ([0, 1], [2], [0], [0, 1, 2]):
        for keep_dims in (False, True):
            mean = gradiva.reductions.mean(images, axes=axes, keep_dims=keep_dims)
            for ddof in (0, 1, -2):
                if min(np.prod([shape[a] for a in axes]) for shape in images.shape) <= ddof:
                    continue
                about(name, images, mean, axes=axes, ddof=ddof, keep_dims=keep_dims)
    about(name, images, 11.5)
    about(name, images, 11.5, keep_dims=True, ddof=0)


@pytest.mark.parametrize("source", [name for name in NAMES if name not in OURS_ALONE])
def test_dtypes_about_means(source: str) -> None:
    input = batch(noise(source, (6, 7, 3), (40, 2, 3)), layout="HWC")
    mean = gradiva.reductions.mean(input, axes=[0, 1])
    about("std_dev", input, mean, axes=[0, 1], ddof=1)


@pytest.mark.parametrize("name", ABOUT)
def test_a_wrong_mean_is_refused(name: str) -> None:
    """DALI reads beyond a mean that is too short."""
    image = batch(noise("uint8", (4, 5, 3)), layout="HWC")
    operator = getattr(gradiva.reductions, name)
    for shape in ((2,), (4, 5), (3, 1), (0,)):
        with pytest.raises(OperatorValueError, match="mean has the wrong shape"):
            operator(image, batch([np.zeros(shape, np.float32)]), axes=[0, 1])
    single = operator(image, batch([np.float32(2)]), axes=[0, 1]).at(0)
    mean = operator(image, batch([np.full(3, 2, np.float32)]), axes=[0, 1]).at(0)
    np.testing.assert_array_equal(single, mean)
    with pytest.raises(OperatorTypeError, match="expected 2 inputs"):
        operator(image)


@pytest.mark.parametrize("name", PLAIN)
def test_scalars_and_nothing(name: str) -> None:
    check(f"reductions.{name}", [np.array(7, np.uint8), np.array(9, np.uint8)], exact=False)
    check(f"reductions.{name}", [np.array(7, np.uint8)], axes=[], keep_dims=True, exact=False)
    for dtype in ("float32", "uint8"):
        exact = name != "mean" or dtype == "float32"
        for shape, axes in (((0,), [0]), ((0, 3), [0]), ((0, 3), [1]), ((2, 0, 3), [2])):
            check(f"reductions.{name}", [np.zeros(shape, dtype)], axes=axes, exact=exact)


@pytest.mark.parametrize("name", ["min", "max"])
def test_nan(name: str) -> None:
    """As in DALI NaN does not count, but where there is nothing else."""
    nan, inf = np.nan, np.inf
    rows = [[1, nan, 3], [nan, 1, 3], [3, 1, nan], [inf, -inf, 0], [nan, inf, 1]]
    check(f"reductions.{name}", [np.array(row, np.float32) for row in rows])
    got = getattr(gradiva.reductions, name)(batch([np.full((40, 20), nan, np.float32)]), axes=0)
    assert np.isnan(got.at(0)).all()
    # DALI gives the largest finite number, of the sign that is not there.
    for infinite in (np.float32(-inf), np.float32(inf)):
        row = batch([np.array([nan, infinite], np.float32)])
        assert getattr(gradiva.reductions, name)(row).at(0) == infinite


@pytest.mark.parametrize("source", ["bool", "float16", "float64"])
@pytest.mark.parametrize("name", PLAIN)
def test_dtypes_that_are_ours_alone(name: str, source: str) -> None:
    (sample,) = noise(source, (40, 9, 3))
    with pytest.raises(REFUSALS):
        reference(f"reductions.{name}", [[sample]])
    got = getattr(gradiva.reductions, name)(batch([sample]), axes=[0]).at(0)
    values = sample.astype(np.float64)
    if name in ("min", "max"):
        assert got.dtype == sample.dtype
        np.testing.assert_array_equal(got, getattr(np, name)(sample, 0))
        return
    wanted = {
        "sum": values.sum(0),
        "mean": values.mean(0),
        "mean_square": (values**2).mean(0),
        "rms": np.sqrt((values**2).mean(0)),
    }[name]
    kept = {"bool": "uint64" if name == "sum" else "float32", "float64": "float64"}
    assert got.dtype == kept.get(source, "float32")
    np.testing.assert_allclose(got, wanted, 1e-13 if source == "float64" else 1e-7, 1e-13)


def test_sums_saturate() -> None:
    """DALI lets sums in the input's dtype wrap around, those of squares too."""
    sevens = np.full(12, 7, np.uint8)
    assert reference("reductions.rms", [[sevens]], dtype=DTYPES["uint8"])[0] != 7
    assert gradiva.reductions.rms(batch([sevens]), dtype="uint8").at(0) == 7
    sample = np.full(300, 200, np.uint8)
    theirs = reference("reductions.sum", [[sample]], dtype=DTYPES["uint8"])
    assert theirs[0] == 60000 % 256
    assert gradiva.reductions.sum(batch([sample]), dtype="uint8").at(0) == 255
    wrapped = np.full(3, 2**63 - 1)
    check("reductions.sum", [wrapped])


@pytest.mark.parametrize(
    "arguments",
    [
        {"axes": [0, 0]},
        {"axes": [0, -3]},
        {"axes": [3]},
        {"axes": [-4]},
        {"axis_names": "X"},
        {"axis_names": "H", "axes": [0]},
        {"axis_names": "HH"},
    ],
)
@pytest.mark.parametrize("layout", ["HWC", ""])
def test_refused_axes(arguments: dict[str, Any], layout: str) -> None:
    check(
        "reductions.sum",
        noise("uint8", (2, 4, 3)),
        layout=layout,
        both_may_refuse=True,
        **arguments,
    )


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_random_axes(data: st.DataObject) -> None:
    ndim = data.draw(st.integers(0, 6))
    layout = (
        "".join(data.draw(st.permutations("FDHWCX"))[:ndim]) if data.draw(st.booleans()) else ""
    )
    shapes = data.draw(st.lists(st.tuples(*[st.integers(1, 7)] * ndim), min_size=1, max_size=3))
    axes = data.draw(st.lists(st.integers(0, ndim - 1), unique=True)) if ndim else []
    source = data.draw(st.sampled_from(["uint8", "int16", "int32", "uint64", "float32"]))
    input = batch(noise(source, *shapes), layout=layout)
    named = layout and data.draw(st.booleans())
    more: dict[str, Any] = {"keep_dims": data.draw(st.booleans())}
    more.update({"axis_names": "".join(layout[a] for a in axes)} if named else {"axes": axes})
    name = data.draw(st.sampled_from(PLAIN + ABOUT))
    if name in ABOUT:
        about(name, input, gradiva.reductions.mean(input, **more), **more)
    else:
        exact = name in ("min", "max") or (name == "sum" and source != "float32")
        check(f"reductions.{name}", input, exact=exact, **more)


def test_layouts() -> None:
    theirs: Samples = reference("reductions.max", [noise("uint8", (2, 4, 3))], layout="HWC", axes=1)
    assert theirs.layout == "HC"
    check("reductions.max", noise("uint8", (2, 4, 3)), layout="HWC", axis_names="HC")
