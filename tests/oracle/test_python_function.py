"""`python_function`, `numba_function`, `dump_image` and constants, against DALI."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import batch
from gradiva.eager.operators.cases import samples

from . import reference as theirs
from .reference import assert_close, run

CALLED: list[Any] = []


def noted(array: Any) -> Any:
    CALLED.append((type(array), array.dtype, array.shape, array.flags.writeable))
    return array + 1


def ours_and_theirs(build: Callable[[Any, Any], Any], count: int = 3, layout: str = "") -> Any:
    """Outputs of the same definition in both libraries, on `count` vectors (n, 1)."""
    arrays = [np.array([index, 1], np.int32) for index in range(count)]

    def define(functions: Any, types: Any) -> Any:
        source = functions.external_source(source=lambda: arrays, layout=layout or None)
        return build(functions, source)

    @gradiva.pipeline_def(batch_size=count, num_threads=1)
    def pipeline() -> Any:
        return define(gradiva.fn, gradiva.types)

    pipe = pipeline()
    ours = pipe.run()
    pipe.close()
    expected = run(lambda: define(theirs.fn, theirs.types), count)
    assert len(ours) == len(expected)
    for one, other in zip(ours, expected, strict=True):
        assert_close(one, other)
    return ours


def test_what_functions_are_called_with() -> None:
    CALLED.clear()
    ours_and_theirs(lambda fn, source: fn.python_function(source, function=noted))
    half = len(CALLED) // 2
    assert half >= 3
    assert set(CALLED) == {(np.ndarray, np.dtype(np.int32), (2,), True)}


FUNCTIONS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "float16": (lambda a: a.astype(np.float16), {}),
    "bool": (lambda a: a > 0, {}),
    "reversed view": (lambda a: a[::-1], {}),
    "scalar array": (lambda a: np.array(3.5, np.float32), {}),
    "tuple of one": (lambda a: (a,), {}),
    "more axes": (lambda a: a[None, :, None], {"output_layouts": "HWC"}),
    "two": (lambda a: (a, a.astype(np.float64) * 2), {"num_outputs": 2}),
    "layout for both": (lambda a: (a, a), {"num_outputs": 2, "output_layouts": "W"}),
    "layout for one": (lambda a: (a, a), {"num_outputs": 2, "output_layouts": ["W"]}),
    "layouts": (lambda a: (a, a), {"num_outputs": 2, "output_layouts": ["W", "X"]}),
    "batch": (lambda b: [a + len(b) for a in b], {"batch_processing": True}),
    "batch of two": (lambda b: (b[::-1], b), {"batch_processing": True, "num_outputs": 2}),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("layout", ["", "W"])
def test_results(name: str, layout: str) -> None:
    function, arguments = FUNCTIONS[name]

    def build(fn: Any, source: Any) -> Any:
        made = fn.python_function(source, function=function, **arguments)
        return tuple(made) if isinstance(made, list | tuple) else made

    ours_and_theirs(build, layout=layout)


def test_several_inputs_constants_and_none() -> None:
    def build(fn: Any, source: Any) -> Any:
        return (
            fn.python_function(source, source, function=lambda a, b: a - 2 * b),
            fn.python_function(source, np.array([1, 2], np.int32), function=lambda a, b: a - b),
            fn.python_function(source, 5, function=lambda a, b: a - b),
            fn.python_function(function=lambda: np.array([7], np.int64)),
        )

    ours_and_theirs(build)


REFUSED: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "nothing": (lambda a: None, {}),
    "a list": (lambda a: [1, 2], {}),
    "text": (lambda a: "a", {}),
    "an array for two": (lambda a: a, {"num_outputs": 2}),
    "three for two": (lambda a: (a, a, a), {"num_outputs": 2}),
    "dtypes": (lambda a: a.astype(np.int8 if a[0] else np.int16), {}),
    "ranks": (lambda a: a if a[0] else a[None], {}),
    "objects": (lambda a: a.astype(object), {}),
    "raises": (lambda a: 1 // 0, {}),
    "layout": (lambda a: a, {"output_layouts": "HWC"}),
    "layouts": (lambda a: a, {"output_layouts": ["W", "W"]}),
    "short batch": (lambda b: b[:2], {"batch_processing": True}),
}


@pytest.mark.parametrize("name", REFUSED)
def test_both_refuse(name: str) -> None:
    function, arguments = REFUSED[name]

    def build(fn: Any, source: Any) -> Any:
        made = fn.python_function(source, function=function, **arguments)
        return tuple(made) if isinstance(made, list | tuple) else made

    arrays = [np.array([index, 1], np.int32) for index in range(3)]
    with pytest.raises(theirs.REFUSALS):
        run(lambda: build(theirs.fn, theirs.fn.external_source(source=lambda: arrays)), 3)
    with pytest.raises(gradiva.GradivaError):
        gradiva.python_function(batch(arrays), function=function, **arguments)


CONSTANTS: dict[str, tuple[Any, dict[str, Any]]] = {
    "int": (5, {"device": "cpu"}),
    "float": (2.5, {"device": "cpu"}),
    "bool": (True, {"device": "cpu"}),
    "ints": ([1, 2, 3], {}),
    "floats": ((1.5, 2), {}),
    "bools": ([True, False], {}),
    "int64": (np.arange(3), {}),
    "float64": (np.array([1.0, 2.0]), {}),
    "float64 scalar": (np.float64(3), {"device": "cpu"}),
    "uint8 image": (np.arange(12, dtype=np.uint8).reshape(2, 2, 3), {"layout": "HWC"}),
    "repeated": (5, {"shape": [2, 2]}),
    "shape": ([1, 2, 3, 4], {"shape": [2, 2]}),
    "array and shape": (np.arange(4), {"shape": [4, 1]}),
    "dtype": (np.arange(4), {"dtype": gradiva.float32}),
    "rounded": ([1.6, -2.5, 2.5], {"dtype": gradiva.int32}),
    "letters": ([1, 2], {"layout": "X"}),
}


@pytest.mark.parametrize("name", CONSTANTS)
def test_constants(name: str) -> None:
    value, arguments = CONSTANTS[name]

    @gradiva.pipeline_def(batch_size=2, num_threads=1)
    def pipeline() -> Any:
        return gradiva.types.Constant(value, **arguments)

    pipe = pipeline()
    (ours,) = pipe.run()
    pipe.close()
    given = {key: theirs.theirs(argument) for key, argument in arguments.items()}
    (expected,) = run(lambda: theirs.types.Constant(value, **given), 2)
    assert_close(ours, expected)
    if name not in ("int", "float", "bool", "float64 scalar"):
        made = gradiva.types.Constant(value, **arguments)
        np.testing.assert_array_equal(np.asarray(made), expected[0])


def test_constants_in_arithmetic() -> None:
    scalars = {"i": 3, "f": 2.5, "b": True, "np": np.float64(3)}

    def constant(fn: Any, value: Any) -> Any:
        return (gradiva if fn is gradiva.fn else theirs).types.Constant(value)

    for value in scalars.values():

        def times(fn: Any, source: Any, value: Any = value) -> Any:
            return source * constant(fn, value)

        ours_and_theirs(times)
    ours_and_theirs(lambda fn, source: source + constant(fn, 3).uint8())


@pytest.mark.parametrize(
    "arguments",
    [
        {"idata": [1, 2, 3]},
        {"fdata": [1, 2, 3, 4], "shape": [2, 2], "layout": "HW"},
        {"idata": [1, 0], "dtype": gradiva.bool_},
        {"fdata": [1.6, -2.5], "dtype": gradiva.int32},
        {"fdata": [1.6], "shape": [2, 2]},
    ],
)
def test_fn_constant(arguments: dict[str, Any]) -> None:
    given = {key: theirs.theirs(value) for key, value in arguments.items()}
    (expected,) = run(lambda: theirs.fn.constant(**given), 1)
    np.testing.assert_array_equal(np.asarray(gradiva.fn.constant(**arguments)), expected[0])
    assert gradiva.fn.constant(**arguments).layout == expected.layout


def test_dump_image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same files with the same bytes."""
    images = samples((4, 5, 3), (2, 3, 3))
    gray = samples((4, 5, 1), (2, 3, 1))
    files = []
    for library in ("theirs", "ours"):
        folder = tmp_path / library
        folder.mkdir()
        monkeypatch.chdir(folder)
        for pictures, suffix in ((images, ""), (gray, "gray")):
            if library == "ours":
                gradiva.dump_image(pictures, suffix=suffix)
            else:
                theirs.reference("dump_image", [pictures], suffix=suffix)
        files.append({path.name: path.read_text() for path in sorted(folder.iterdir())})
    assert files[0] == files[1]
    assert len(files[0]) == 4
    assert os.getcwd() == str(folder)


def plus(output: Any, input: Any) -> None:
    for index in range(len(input)):
        output[index] = input[index] + 1


def all_plus(outputs: Any, inputs: Any) -> None:
    for output, input in zip(outputs, inputs):  # noqa: B905  Numba knows no strict=
        output[:] = input * 2


def four(outs: Any, ins: Any) -> None:
    for sample in range(len(outs[0])):
        outs[0][sample][0] = 4


def second(output: Any, input: Any) -> None:
    output[:] = input[1]


@pytest.mark.parametrize(
    ("run_fn", "arguments"),
    [
        (plus, {}),
        (all_plus, {"batch_processing": True}),
        (second, {"setup_fn": four, "out_types": ["FLOAT"]}),
    ],
)
def test_numba_function(run_fn: Any, arguments: dict[str, Any]) -> None:
    plugin = pytest.importorskip("nvidia.dali.plugin.numba.fn.experimental", exc_type=ImportError)
    from gradiva.plugin.numba.fn.experimental import numba_function

    arrays = [np.array([index, 1], np.int32) for index in range(3)]

    def given(types: Any) -> dict[str, Any]:
        made = {"in_types": ["INT32"], "out_types": ["INT32"], "ins_ndim": [1], "outs_ndim": [1],
                **arguments}  # fmt: skip
        for name in ("in_types", "out_types"):
            made[name] = [getattr(types, one) for one in made[name]]
        return made

    ours = numba_function(batch(arrays), run_fn=run_fn, **given(gradiva.types))
    (expected,) = run(
        lambda: plugin.numba_function(
            theirs.fn.external_source(source=lambda: arrays), run_fn=run_fn, **given(theirs.types)
        ),
        3,
    )
    assert_close(ours, expected)
