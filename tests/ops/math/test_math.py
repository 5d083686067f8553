"""Mathematical functions: values against Python's, types, places, both modes, errors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import fn
from gradiva.ops.math.mathematics import functions
from tests.tiers import few

UNARY: dict[str, Callable[[float], float]] = {
    "fabs": math.fabs,
    "floor": math.floor,
    "ceil": math.ceil,
    "sqrt": math.sqrt,
    "rsqrt": lambda x: 1 / math.sqrt(x),
    "cbrt": lambda x: math.copysign(abs(x) ** (1 / 3), x),
    "exp": math.exp,
    "log": math.log,
    "log2": math.log2,
    "log10": math.log10,
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "asin": math.asin,
    "acos": math.acos,
    "atan": math.atan,
    "sinh": math.sinh,
    "cosh": math.cosh,
    "tanh": math.tanh,
    "asinh": math.asinh,
    "acosh": lambda x: math.acosh(x + 1),
    "atanh": math.atanh,
}
BINARY: dict[str, Callable[[float, float], float]] = {
    "fpow": math.pow,
    "atan2": math.atan2,
    "min": min,
    "max": max,
}


def points(dtype: Any, seed: int = 0) -> np.ndarray[Any, Any]:
    """Numbers in 0.01..0.99, where all functions are defined."""
    return np.random.default_rng(seed).uniform(0.01, 0.99, (2, 70)).astype(dtype)


def bits(array: Any) -> bytes:
    return np.ascontiguousarray(np.asarray(array)).tobytes()


def test_all_are_there() -> None:
    assert set(functions) == {*UNARY, *BINARY, "clamp"}
    assert set(gradiva.math.__all__) == {*functions, "abs", "pow"}
    assert fn.math is gradiva.math


@pytest.mark.parametrize("dtype", few([np.float16, np.float32, np.float64], np.float32))
@pytest.mark.parametrize("name", UNARY)
def test_unary_values(name: str, dtype: Any) -> None:
    x = points(dtype) + dtype(name == "acosh")
    exact = [[UNARY[name](float(v) - (name == "acosh")) for v in row] for row in x]
    result = getattr(gradiva.math, name)(gradiva.as_batch(x)).as_array()
    assert result.dtype == dtype
    np.testing.assert_array_max_ulp(result, np.array(exact).astype(dtype), maxulp=8)


@pytest.mark.parametrize("dtype", few([np.float16, np.float32, np.float64], np.float32))
@pytest.mark.parametrize("name", BINARY)
def test_binary_values(name: str, dtype: Any) -> None:
    x, y = points(dtype), points(dtype, 1)
    exact = np.vectorize(BINARY[name])(x.astype(np.float64), y.astype(np.float64))
    result = getattr(gradiva.math, name)(gradiva.as_batch(x), gradiva.as_batch(y)).as_array()
    assert result.dtype == dtype
    np.testing.assert_array_max_ulp(result, exact.astype(dtype), maxulp=4)


def test_what_is_taken_and_what_comes_back() -> None:
    batch = gradiva.batch([[1, 4], [9, 16, 25]], dtype="uint8")
    roots = gradiva.math.sqrt(batch)
    assert isinstance(roots, gradiva.Batch)
    assert roots.dtype is gradiva.float32
    assert [t.shape for t in roots] == [(2,), (3,)]
    assert np.asarray(roots.at(1)).tolist() == [3, 4, 5]
    for value in (4.0, 4, np.float32(4), gradiva.tensor(4), np.array(4)):
        root = gradiva.math.sqrt(value)
        assert isinstance(root, gradiva.Tensor)
        assert root.item() == 2
    assert gradiva.math.sqrt([4.0, 9.0]).shape == (2,)
    assert gradiva.math.max(batch, 3).dtype is gradiva.int32
    assert gradiva.math.max(3, batch).at(0).tolist() == [3, 4]
    assert gradiva.math.clamp(batch, lo=2, hi=10.5).at(1).tolist() == [9, 10.5, 10.5]
    assert gradiva.math.pow(batch, 2).at(0).tolist() == [1, 16]
    assert gradiva.math.abs(gradiva.tensor([-1, 2])).dtype is gradiva.int32


def test_edges() -> None:
    with np.errstate(all="ignore"):
        edges = gradiva.tensor([0.0, -0.0, -1.0, np.inf, np.nan])
    assert str(np.asarray(gradiva.math.rsqrt(edges)).tolist()) == "[inf, -inf, nan, 0.0, nan]"
    assert str(np.asarray(gradiva.math.log(edges)).tolist()) == "[-inf, -inf, nan, inf, nan]"
    assert str(np.asarray(gradiva.math.min(edges, 0.0)).tolist()) == "[0.0, 0.0, -1.0, 0.0, 0.0]"
    assert str(np.asarray(gradiva.math.clamp(edges, 2, 1)).tolist()) == "[1.0, 1.0, 1.0, 1.0, nan]"
    infinite = gradiva.tensor([-np.inf, -0.0])
    for exponent in (0.5, [0.5, 0.5]):
        assert str(np.asarray(gradiva.math.fpow(infinite, exponent)).tolist()) == "[inf, 0.0]"


@pytest.mark.parametrize(
    "dtype", few([np.uint8, np.int32, np.float16, np.float32, np.float64], np.float32)
)
@pytest.mark.parametrize("name", few([*UNARY, "pow", "fpow", "atan2"], every=4))
def test_a_value_does_not_depend_on_its_place(name: str, dtype: Any) -> None:
    """One at a time, by sixes and sevens, and all at once: the same bits. A dense batch is
    computed at once, others sample by sample."""
    generator = np.random.default_rng(2)
    x = (generator.normal(size=420) * 3).astype(dtype)
    function = getattr(gradiva.math, name)
    # Exponents from 0 to 3 in halves: some of them have short ways in NumPy.
    more = [] if name in UNARY else [(generator.integers(0, 7, 420) / 2).astype(np.float32)]
    whole = bits(function(gradiva.tensor(x), *more))
    for size in (1, 6, 7):
        parts = [gradiva.as_batch(array.reshape(-1, size)) for array in (x, *more)]
        assert bits(function(*parts)) == whole, size
        sparse = [part.select([*range(len(part))]) for part in parts]
        assert bits(function(*sparse)) == whole, size
    scalars = [gradiva.as_batch(array) for array in (x, *more)]
    assert bits(function(*scalars)) == whole
    single = [function(*[part.select(i) for part in scalars]) for i in range(40)]
    assert b"".join(map(bits, single)) == whole[: 40 * len(whole) // 420]


def test_both_modes() -> None:
    m = gradiva.math

    def expression(x: Any) -> Any:
        low = m.floor(m.sqrt(x) - m.sin(x * 0.1))
        high = m.max(m.fpow(x, 0.5), m.pow(x, 1.5)) + m.atan2(x, 2.0) + m.sqrt(2.0)
        return m.clamp(x, low, high), m.exp(m.tanh(low)), m.abs(low - high)

    data = gradiva.batch(
        [np.random.default_rng(i).integers(0, 255, (9 + i, 300, 3), np.uint8) for i in range(4)],
        layout="HWC",
    )

    @gradiva.pipeline_def(batch_size=4, num_threads=2)
    def pipeline() -> Any:
        return expression(fn.external_source(source=[data], cycle=True))

    pipe = pipeline()
    for captured, eager in zip(pipe.run(), expression(data), strict=True):
        assert captured.type == eager.type
        assert captured.shape == eager.shape
        for i in range(4):
            assert bits(captured.at(i)) == bits(eager.at(i))
    names = [node.operator.name for node in pipe.graph]
    assert names.count("math.sqrt") == 1  # that of a number is folded into a constant
    pipe.close()


def test_equal_calls_are_one_node() -> None:
    @gradiva.pipeline_def(batch_size=1)
    def pipeline() -> Any:
        x = fn.external_source(source=lambda: [np.array([1, 2], np.float32)])
        one, two = gradiva.math.clamp(x, 0, 1), gradiva.math.clamp(x, 0, 1)
        return one, two, abs(x), gradiva.math.abs(x), x**2.0, gradiva.math.pow(x, 2.0)

    outputs = pipeline().graph.outputs
    assert outputs[0] == outputs[1]
    assert outputs[2] == outputs[3]
    assert outputs[4] == outputs[5]


@pytest.mark.parametrize("bad", ["text", None, object(), {1: 2}, ["a"], [[1], [1, 2]]])
def test_no_number(bad: Any) -> None:
    for call in (gradiva.math.sqrt, lambda x: gradiva.math.clamp(x, 0, 1), gradiva.math.abs):
        with pytest.raises(gradiva.OperatorTypeError, match=r"(?s)neither a batch.*test_math\.py"):
            call(bad)


def test_errors_name_the_sample_and_the_line() -> None:
    x = gradiva.batch([np.ones(3), np.ones(4)])
    y = gradiva.batch([np.ones(3), np.ones(5)])
    with pytest.raises(gradiva.OperatorValueError, match=r"(?s)math\.min.*sample 1.*test_math"):
        gradiva.math.min(x, y)
    with pytest.raises(gradiva.OperatorValueError, match=r"(?s)math\.clamp.*sample 1.*test_math"):
        gradiva.math.clamp(x, 0, y)
    with pytest.raises(gradiva.OperatorValueError, match="out of the range of int32"):
        gradiva.math.max(x, 2**40)
    with pytest.raises(gradiva.OperatorValueError, match="out of the range of int32"):
        gradiva.math.max(x, [1, 1, 2**40])
    with pytest.raises(gradiva.OperatorTypeError, match="booleans"):
        gradiva.math.sqrt(gradiva.tensor([True]))
