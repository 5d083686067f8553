"""Functions for kernels that Numba has no words for: extensions of it, in LLVM's terms.

- `without_refcount`: arrays whose slices are not counted. Numba counts who holds an array: each
  slice that is made and dropped adds and subtracts, by an atomic instruction each. In a kernel that
  makes ten slices per row that was a fifth of the time. Its arguments live as long as the call, so
  nothing has to be counted.
- `span`: such a slice, of a start and a size that are known to be right: it compiles in a tenth of
  the time that a slice takes, with its tests for steps, ends and signs.
- `local_floats`, `local_words`: a few numbers on the stack. What `np.empty` makes is asked for and
  given back in every call, and takes the compiler 0.05 to 0.1 s for each dtype.
- `holds_integers`: which of two ways is compiled.
- `chosen`: one of two numbers without a branch. Of `a if condition else b` LLVM makes branches
  that it cannot always take away again, and a loop with branches does not vectorize.
- `word_at`, `put_word`: eight bytes in one instruction. LLVM finds that in eight loads and shifts
  only if it has not made something else of them before.
- `call_row`: a row kernel, called by its address.
- `filter_four`: the innermost loop of `resize`, which filters four lines of pixels at once, in
  vectors of four lanes. LLVM makes vectors of it by itself only sometimes, and then takes the
  overlapping loads of neighboring taps apart. So this loop is written in LLVM's vectors, which
  every target has: each lane is one channel, multiplied and added in the order of the taps, as in
  `_filter_row` (`ops/image/resize/rows.py`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final, TypeVar

from gradiva.eager.jit import numba_adapter
from gradiva.eager.jit.jit import register_intrinsic
from gradiva.eager.types.arrays import Array, Float32Array, Float64Array, Int64Array

__all__ = [
    "LOCAL",
    "call_row",
    "chosen",
    "filter_four",
    "holds_integers",
    "local_floats",
    "local_words",
    "put_word",
    "span",
    "without_refcount",
    "word_at",
]

A = TypeVar("A")

LOCAL: Final = 16
"""Elements of `local_floats` and `local_words`."""
_LINES: Final = 4
_LANES: Final = 4
_USUAL_TAPS: Final = (2, 3, 4)
"""Input pixels of an output pixel, for which there is code of their own: a loop around so few
instructions takes longer than they do. Linear filters down to half the size have no more."""


def without_refcount(array: A) -> A:
    """The same array, without an owner; for kernels only, and for arrays that outlive the call."""
    raise NotImplementedError


@register_intrinsic(without_refcount)
def _without_refcount_in_kernels(numba: Any) -> Callable[..., Any]:
    """What Numba compiles for `without_refcount`."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return numba_adapter.ownerless_array(context, builder, signature.return_type, values[0])

    def call(typing_context, array):  # type: ignore[no-untyped-def]
        return array(array), generate

    return call


def span(array: A, first: int, size: int) -> A:
    """`array[first : first + size]` of a contiguous 1-D array, without an owner; for kernels only.
    All of it must be inside of the array."""
    raise NotImplementedError


@register_intrinsic(span)
def _span_in_kernels(numba: Any) -> Callable[..., Any]:
    """What Numba compiles for `span`."""
    word = numba.types.int64

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return numba_adapter.array_part(context, builder, signature.return_type, *values)

    def call(typing_context, array, first, size):  # type: ignore[no-untyped-def]
        return array(array, word, word), generate

    return call


def holds_integers(array: Array) -> bool:
    """Whether its elements are integers: known when it is compiled; for kernels only."""
    raise NotImplementedError


@register_intrinsic(holds_integers)
def _holds_integers_in_kernels(numba: Any) -> Callable[..., Any]:
    """What Numba compiles for `holds_integers`."""
    ir, _ = numba_adapter.llvm()
    boolean = numba.types.boolean

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        found = isinstance(signature.args[0].dtype, numba.types.Integer)
        return ir.Constant(ir.IntType(1), found)

    def call(typing_context, array):  # type: ignore[no-untyped-def]
        return boolean(array), generate

    return call


def chosen(condition: object, first: float, second: float) -> float:
    """`first` if the condition holds, else `second`: both are float64, and both are computed; for
    kernels only."""
    raise NotImplementedError


@register_intrinsic(chosen)
def _chosen_in_kernels(numba: Any) -> Callable[..., Any]:
    """What Numba compiles for `chosen`."""
    boolean, number = numba.types.boolean, numba.types.float64

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.select(*values)

    def call(typing_context, condition, first, second):  # type: ignore[no-untyped-def]
        return number(boolean, number, number), generate

    return call


def local_floats() -> Float64Array:
    """Room for `LOCAL` numbers that lives as long as the call; for kernels only."""
    raise NotImplementedError


def local_words() -> Int64Array:
    """The same for integers."""
    raise NotImplementedError


@register_intrinsic(local_floats)
def _local_floats_in_kernels(numba: Any) -> Callable[..., Any]:
    return _local(numba.types.float64[::1])


@register_intrinsic(local_words)
def _local_words_in_kernels(numba: Any) -> Callable[..., Any]:
    return _local(numba.types.int64[::1])


def _local(kind: Any) -> Callable[..., Any]:
    """What Numba compiles for these."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return numba_adapter.local_array(context, builder, kind, LOCAL)

    def call(typing_context):  # type: ignore[no-untyped-def]
        return kind(), generate

    return call


def word_at(array: Array, place: Any) -> Any:
    """Eight bytes of a contiguous 1-D array of uint8 as uint64, the first of them on top; for
    kernels only. All of them must be inside of the array."""
    raise NotImplementedError


@register_intrinsic(word_at)
def _word_at_in_kernels(numba: Any) -> Callable[..., Any]:
    """What Numba compiles for `word_at`."""
    kind = numba.types.uint64

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        pointer = _word_pointer(context, builder, signature, values)
        return _on_top(builder, builder.load(pointer, align=1))

    def call(typing_context, array, place):  # type: ignore[no-untyped-def]
        return kind(array, kind), generate

    return call


def put_word(array: Array, place: Any, word: Any) -> None:
    """Write what `word_at` reads; for kernels only."""
    raise NotImplementedError


@register_intrinsic(put_word)
def _put_word_in_kernels(numba: Any) -> Callable[..., Any]:
    """What Numba compiles for `put_word`."""
    kind = numba.types.uint64

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        pointer = _word_pointer(context, builder, signature, values)
        builder.store(_on_top(builder, values[2]), pointer, align=1)
        return numba_adapter.no_value(context)

    def call(typing_context, array, place, word):  # type: ignore[no-untyped-def]
        return numba.types.none(array, kind, kind), generate

    return call


def _word_pointer(context: Any, builder: Any, signature: Any, values: Any) -> Any:
    """Where a word of an array of bytes begins: the first two arguments of a call."""
    ir, _ = numba_adapter.llvm()
    first = numba_adapter.first_element(context, builder, signature.args[0], values[0])
    return builder.bitcast(builder.gep(first, [values[1]]), ir.IntType(64).as_pointer())


def _on_top(builder: Any, word: Any) -> Any:
    """Between the machine's order of bytes and the first on top."""
    return builder.bswap(word) if sys.byteorder == "little" else word


def call_row(
    address: int,
    source: int,
    target: int,
    pixels: int,
    source_pitch: int,
    target_pitch: int,
    channels: int,
    made: int,
    parameters: int,
    count: int,
) -> None:
    """Call a row kernel by address; for kernels only."""
    raise NotImplementedError


@register_intrinsic(call_row)
def _call_row_in_kernels(numba: Any) -> Callable[..., Any]:
    """What Numba compiles for `call_row`: a call through a pointer that is known at run time."""
    ir, _ = numba_adapter.llvm()
    integer = numba.types.int64

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        word = ir.IntType(64)
        kind = ir.FunctionType(ir.VoidType(), [word] * 9)
        builder.call(builder.inttoptr(values[0], kind.as_pointer()), values[1:])
        return numba_adapter.no_value(context)

    def call(  # type: ignore[no-untyped-def]
        typing_context,
        address,
        source,
        target,
        pixels,
        source_pitch,
        target_pitch,
        channels,
        made,
        parameters,
        count,
    ):
        return numba.types.none(*[integer] * 10), generate

    return call


def filter_four(
    source: Array,
    at: Int64Array,
    heads: Int64Array,
    weights: Float32Array,
    taps: int,
    first: int,
    last: int,
    step: int,
    target: Float32Array,
    to: Int64Array,
) -> None:
    """Output pixels `first .. last - 1` of four lines; for kernels only.

    Line i begins at element `at[i]` of source and goes to `to[i]` of target. Pixel x reads `taps`
    pixels of `step` elements (3 or 4) from element `heads[x]` of its line. Four elements are read
    and written per pixel, whatever `step` is: with 3, the fourth belongs to the next pixel, which
    overwrites it; both arrays need one element more than what is asked for.
    """
    raise NotImplementedError


@register_intrinsic(filter_four)
def _filter_four_in_kernels(numba: Any) -> Callable[..., Any]:
    """What Numba compiles for `filter_four`."""
    ir, cgutils = numba_adapter.llvm()
    lanes = ir.VectorType(ir.FloatType(), _LANES)
    indices = ir.VectorType(ir.IntType(32), _LANES)

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        source, at, heads, weights, taps, first, last, step, target, to = (
            # Of an array, the address of its first element.
            numba_adapter.first_element(context, builder, kind, value)
            if isinstance(kind, numba.types.Array)
            else value
            for kind, value in zip(signature.args, values, strict=True)
        )
        kind = signature.args[0].dtype
        one = ir.Constant(taps.type, 1)

        def line(base: Any, places: Any, number: int) -> Any:
            """Where the line of this number begins."""
            place = builder.gep(places, [ir.Constant(taps.type, number)])
            return builder.gep(base, [builder.load(place)])

        lines = [(line(source, at, i), line(target, to, i)) for i in range(_LINES)]
        sums = [cgutils.alloca_once(builder, lanes) for _ in range(_LINES)]
        count = taps.type

        def pixel(line: Any, place: Any) -> Any:
            """Four elements as float32."""
            pointer = builder.gep(line, [place])
            width = kind.bitwidth
            if width == 32:
                whole = builder.bitcast(pointer, lanes.as_pointer())
                return builder.load(whole, align=4)
            vector = ir.VectorType(ir.IntType(width), _LANES)
            number = builder.load(builder.bitcast(pointer, vector.as_pointer()), align=width // 8)
            wide = builder.sext if kind.signed else builder.zext
            return builder.sitofp(wide(number, indices), lanes)

        def weight(number: Any) -> Any:
            """One weight in all lanes."""
            found = builder.load(builder.gep(weights, [number]))
            start = ir.Constant(lanes, ir.Undefined)
            alone = builder.insert_element(start, found, ir.Constant(ir.IntType(32), 0))
            return builder.shuffle_vector(alone, start, ir.Constant(indices, None))

        def tap(base: Any, head: Any, number: Any, begins: bool = False) -> None:
            """Add what one input pixel counts in each line."""
            w = weight(builder.add(base, number))
            place = builder.add(head, builder.mul(number, step))
            for (line, _), total in zip(lines, sums, strict=True):
                product = builder.fmul(w, pixel(line, place))
                if not begins:
                    product = builder.fadd(builder.load(total), product)
                builder.store(product, total)

        def pixels(known: int | None) -> None:
            """All pixels; known: how many taps there are, where the code is for these alone."""
            with cgutils.for_range_slice(builder, first, last, one, inc=True) as (x, _):
                head = builder.load(builder.gep(heads, [x]))
                base = builder.mul(x, taps if known is None else ir.Constant(count, known))
                tap(base, head, ir.Constant(count, 0), begins=True)
                for number in range(1, known or 1):
                    tap(base, head, ir.Constant(count, number))
                if known is None:
                    with cgutils.for_range_slice(builder, one, taps, one, inc=True) as (number, _):
                        tap(base, head, number)
                place = builder.mul(x, step)
                for (_, line), total in zip(lines, sums, strict=True):
                    out = builder.bitcast(builder.gep(line, [place]), lanes.as_pointer())
                    builder.store(builder.load(total), out, align=4)

        done = builder.append_basic_block("filtered")
        for known in _USUAL_TAPS:
            same = builder.icmp_signed("==", taps, ir.Constant(count, known))
            with builder.if_then(same):
                pixels(known)
                builder.branch(done)
        pixels(None)
        builder.branch(done)
        builder.position_at_end(done)
        return numba_adapter.no_value(context)

    def call(  # type: ignore[no-untyped-def]
        typing_context, source, at, heads, weights, taps, first, last, step, target, to
    ):
        word = numba.types.int64
        signature = numba.types.none(source, at, heads, weights, word, word, word, word, target, to)
        return signature, generate

    return call
