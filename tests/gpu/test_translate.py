"""Row kernels as CUDA C++: what is translated, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from gradiva.eager.execution.cuda_translate import UntranslatableError, translated
from gradiva.eager.execution.gpu_elementwise import gpu_kernel
from gradiva.eager.jit.jit import jit
from gradiva.eager.operators.operator import operators
from gradiva.eager.rows.convert import convert_sat

pytestmark = pytest.mark.tiny

_HALF = np.float32(0.5)


@jit
def doubled(value: Any) -> Any:
    return value + value


def chosen(source: Any, target: Any, row: Any) -> None:
    """A branch, a loop, a call, a constant of the module."""
    if row[0] > _HALF:
        factor = row[0]
    else:
        factor = row[1]
    for k in range(source.size):
        target[k] = convert_sat(doubled(np.float32(source[k])) * factor, target)


def test_a_kernel_and_what_it_calls() -> None:
    texts = translated(chosen)
    assert list(texts) == ["row_gpu_test_translate_doubled", "row_gpu_test_translate_chosen"]
    assert texts["row_gpu_test_translate_chosen"].splitlines() == [
        "template <class T0, class T1, class T2> "
        "DEVICE auto row_gpu_test_translate_chosen(T0 source, T1 target, T2 row) {",
        "    decltype(row[i64(0)]) factor;",
        "    if (greater(row[i64(0)], f32(0x1.0000000000000p-1))) {",
        "        assign(factor, row[i64(0)]);",
        "    } else {",
        "        assign(factor, row[i64(1)]);",
        "    }",
        "    for (i64 k = 0; k < i64(source.size); k += 1) {",
        "        target.set(k, convert_like(multiply(row_gpu_test_translate_doubled("
        "f32(source[k])), factor), target));",
        "    }",
        "}",
    ]


def halved(value: Any) -> Any:
    """A loop with a condition, and functions of mathematics."""
    count = 0
    while value > 1.0:
        value *= 0.5
        count += 1
    return math.ldexp(np.floor(value), int(count))


def test_loops_with_a_condition() -> None:
    (text,) = translated(halved).values()
    assert text.splitlines()[1:] == [
        "    auto count = i64(0);",
        "    while (greater(value, f64(0x1.0000000000000p+0))) {",
        "        assign(value, multiply(value, f64(0x1.0000000000000p-1)));",
        "        assign(count, add(count, i64(1)));",
        "    }",
        "    return times_power_of_two(rounded_down(value), i64(count));",
        "}",
    ]


def limited(value: Any) -> Any:
    return np.float32(-np.inf if value == 0.0 else np.nan)


def test_infinity_and_what_is_no_number() -> None:
    (text,) = translated(limited).values()
    assert text.splitlines()[1] == (
        "    return f32((equal(value, f64(0x0.0p+0)) ? "
        "negate(f64(FLOAT_OF_BITS(0x7F800000u))) : f64(FLOAT_OF_BITS(0x7FC00000u))));"
    )


def mixed(word: Any, low: Any, high: Any) -> Any:
    """Bits of integers, and the smaller and the larger of two numbers."""
    bits = ((word >> 8) & 255) | (word << 1)
    return min(max(np.float32(bits), low), np.sqrt(np.nextafter(high, low)))


def test_bits_and_bounds() -> None:
    (text,) = translated(mixed).values()
    assert text.splitlines()[1:] == [
        "    auto bits = bit_or(bit_and(shift_right(word, i64(8)), i64(255)), "
        "shift_left(word, i64(1)));",
        "    return minimum(maximum(f32(bits), low), square_root(next_after(high, low)));",
        "}",
    ]


def with_break(source: Any, target: Any, row: Any) -> None:
    k = 0
    while k < source.size:
        if source[k] > row[0]:
            break
        k += 1


def with_sine(source: Any, target: Any, row: Any) -> None:
    target[0] = math.sin(source[0])


def with_slice(source: Any, target: Any, row: Any) -> None:
    target[1:] = source


def with_new_array(source: Any, target: Any, row: Any) -> None:
    room = np.empty(3, np.float32)
    target[0] = room[0]


def with_a_name_of_one_branch(source: Any, target: Any, row: Any) -> None:
    if row[0] > _HALF:
        factor = row[0]
    target[0] = factor


def with_three_bounds(source: Any, target: Any, row: Any) -> None:
    target[0] = min(row[0], row[1], source[0])


def with_chained_comparison(source: Any, target: Any, row: Any) -> None:
    target[0] = row[0] < source[0] < row[1]


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (with_break, "break"),
        (with_sine, r"math.sin\(source\[0\]\)"),
        (with_slice, r"target\[1:\] = source"),
        (with_new_array, r"np.empty\(3, np.float32\)"),
        (with_a_name_of_one_branch, "factor"),
        (with_three_bounds, r"min\(row\[0\], row\[1\], source\[0\]\)"),
        (with_chained_comparison, r"row\[0\] < source\[0\] < row\[1\]"),
    ],
)
def test_the_rest_is_refused(function: Any, text: str) -> None:
    """With the expression and the line that have no translation."""
    with pytest.raises(UntranslatableError, match=rf"`{text}` \(test_translate.py:\d+\)"):
        translated(function)


def test_operators_with_and_without_a_gpu_kernel() -> None:
    """One without translation declares its kernel, or has none."""
    with pytest.raises(UntranslatableError):
        translated(operators["lookup_table"].fusion_role.row.function)
    assert gpu_kernel(operators["lookup_table"]) is operators["lookup_table"].kernels["gpu"]
    assert gpu_kernel(operators["python_function"]) is None
    assert gpu_kernel(operators["hsv"]) is not None
