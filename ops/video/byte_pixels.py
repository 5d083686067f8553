"""Kernel part: 64 pixels at once from bytes of luma and lines of chroma, in LLVM's terms.

Samples times weights are sums of two products of 16 bits, for which CPUs have one
instruction; written as loops, LLVM makes products of 32 bits of them. Everything is exact, so the
bits are those of `color_rows`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from gradiva.eager.jit import numba_adapter
from gradiva.eager.jit.jit import register_intrinsic
from gradiva.eager.types.arrays import Array

PIXELS: Final = 64
"""How many `put_pixels` makes."""
_WIDE: Final = "avx512vbmi"
"""Processors with this, which permutes bytes, compute them all at once, and others half of them.
Elsewhere vectors of 512 bits are worth nothing: where some are used, two units work, not three."""
PARTS: Final = 64
"""What lines of chroma are multiplied by: four parts from two rows, and 16 for the scale of sums.
With four from two columns chroma takes all of a word of 16 bits."""
_GRAY: Final = -4 * PARTS * 128
"""What is added to chroma: then no color is 0."""
_LIGHT: Final = 7
"""Luma is shifted by this, and has twice its weight."""
ONE: Final = 2048
"""What the constant that is added to luma is multiplied by."""
_INTO_BYTE: Final = 6
"""Sums are those that the scaler has in 32 bits, divided by two, exactly. Their upper halves times
two wrap where the scaler's sum does; shifted by this they are bytes that may be out of range."""
LINE: Final = 64
"""Bytes that are written past the caches are whole lines."""
_SUMS: Final = {16: "llvm.x86.avx2.pmadd.wd", 32: "llvm.x86.avx512.pmaddw.d.512"}
_PACKS: Final = {16: "llvm.x86.avx2.packuswb", 32: "llvm.x86.avx512.packuswb.512"}
"""Instructions for sums of two products of so many words, and for bytes of twice as many."""


class _Vectors:
    """Operations on vectors of integers of one function that LLVM compiles. pairs: pixels that
    stand over one sample of chroma: they are computed apart, even ones and odd ones; special:
    whether the CPU has the instructions of `_SUMS` and `_PACKS`."""

    def __init__(self, builder: Any, pairs: int, special: bool) -> None:
        self.ir, _ = numba_adapter.llvm()
        self.builder, self.pairs, self._special = builder, pairs, special
        # The lanes that are widened together: those that registers have side by side.
        lanes = range(pairs)
        self._halves = [[k for k in lanes if k // 4 % 2 == half] for half in (0, 1)]

    def kind(self, bits: int, lanes: int) -> Any:
        return self.ir.VectorType(self.ir.IntType(bits), lanes)

    def alike(self, vector: Any, number: int) -> Any:
        """A number in each lane of such a vector."""
        return self.ir.Constant(vector.type, [number] * vector.type.count)

    def load(self, pointer: Any, bits: int, lanes: int) -> Any:
        whole = self.builder.bitcast(pointer, self.kind(bits, lanes).as_pointer())
        return self.builder.load(whole, align=pointer.type.pointee.width // 8)

    def chosen(self, one: Any, other: Any, lanes: list[int]) -> Any:
        """Lanes of both, counted through."""
        numbers = self.ir.Constant(self.kind(32, len(lanes)), lanes)
        return self.builder.shuffle_vector(one, other, numbers)

    def weights(self, first: Any, second: Any) -> Any:
        """Two numbers, in turns."""
        word = self.ir.IntType(16)
        made = self.ir.Constant(self.kind(16, 2), self.ir.Undefined)
        for lane, number in enumerate((first, second)):
            place = self.ir.Constant(self.ir.IntType(32), lane)
            made = self.builder.insert_element(made, self.builder.trunc(number, word), place)
        return self.chosen(made, made, [0, 1] * (self.pairs // 2))

    def in_turns(self, one: Any, other: Any) -> list[Any]:
        """The lanes of two vectors side by side, as two vectors."""
        return [
            self.chosen(one, other, [lane + k for lane in half for k in (0, self.pairs)])
            for half in self._halves
        ]

    def products(self, pairs: Any, weights: Any) -> Any:
        """Of lanes of 16 bits the sums of two products, half as many of 32 bits."""
        made = self.kind(32, self.pairs // 2)
        if self._special:
            kind = self.ir.FunctionType(made, [pairs.type, weights.type])
            function = self.builder.module.declare_intrinsic(_SUMS[self.pairs], (), kind)
            return self.builder.call(function, [pairs, weights])

        def wide(vector: Any, first: int) -> Any:
            every_second = self.chosen(vector, vector, list(range(first, self.pairs, 2)))
            return self.builder.sext(every_second, made)

        parts = [self.builder.mul(wide(pairs, k), wide(weights, k)) for k in (0, 1)]
        return self.builder.add(*parts)

    def shifted(self, vector: Any, bits: int) -> Any:
        return self.builder.ashr(vector, self.alike(vector, bits))

    def packed(self, one: Any, other: Any) -> Any:
        """The bytes next to words of two halves, pixel by pixel."""
        bytes_ = self.kind(8, 2 * self.pairs)
        if self._special:
            kind = self.ir.FunctionType(bytes_, [one.type, other.type])
            function = self.builder.module.declare_intrinsic(_PACKS[self.pairs], (), kind)
            return self.builder.call(function, [one, other])
        pixels = [2 * lane + k for half in self._halves for lane in half for k in (0, 1)]
        words = self.chosen(one, other, [pixels.index(k) for k in range(2 * self.pairs)])
        for sign, bound in ((">", 0), ("<", 255)):
            limit = self.alike(words, bound)
            inside = self.builder.icmp_signed(sign, words, limit)
            words = self.builder.select(inside, words, limit)
        return self.builder.trunc(words, bytes_)

    def upper(self, even: Any, odd: Any) -> Any:
        """The upper halves of lanes of 32 bits of both, in turns."""
        words = self.kind(16, 2 * even.type.count)
        moved = self.builder.lshr(even, self.alike(even, 16))
        if self._special:
            # Nothing, of which LLVM knows nothing: else it makes one permutation of the shift and
            # what follows, which takes longer.
            kind = self.ir.FunctionType(even.type, [even.type])
            moved = self.builder.call(self.ir.InlineAsm(kind, "", "=v,0"), [moved])
        turns = [k + (k % 2) * words.count for k in range(words.count)]
        moved, odd = self.builder.bitcast(moved, words), self.builder.bitcast(odd, words)
        return self.chosen(moved, odd, turns)

    def doubled(self, before: Any, here: Any, after: Any) -> list[Any]:
        """Chroma of even and of odd pixels, about zero: three parts of the sample they stand over,
        and one of the other neighbor."""
        three = self.builder.mul(here, self.alike(here, 3))
        three = self.builder.add(three, self.alike(here, _GRAY))
        return [self.builder.add(three, other) for other in (before, after)]

    def lights(self, luma: Any) -> list[Any]:
        """Luma of even and of odd pixels, shifted by `_LIGHT`, of pairs of bytes."""
        up, down = self.alike(luma, _LIGHT), self.alike(luma, 8 - _LIGHT)
        moved = self.builder.shl(luma, up), self.builder.lshr(luma, down)
        return [self.builder.and_(one, self.alike(luma, 255 << _LIGHT)) for one in moved]

    def colors(self, lights: list[Any], blue: list[Any], red: list[Any], weights: Any) -> list[Any]:
        """Bytes of red, of green and of blue; of luma and chroma of even and of odd pixels."""
        bright, *tinted = weights
        lit = [
            [self.products(pairs, bright) for pairs in self.in_turns(light, self.alike(light, ONE))]
            for light in lights
        ]
        chroma = [self.in_turns(*both) for both in zip(blue, red, strict=True)]
        made = []
        for weight in tinted:
            halves = []
            for half in range(len(self._halves)):
                sums = [
                    self.builder.add(one[half], self.products(pairs[half], weight))
                    for one, pairs in zip(lit, chroma, strict=True)
                ]
                words = self.upper(*sums)
                halves.append(self.shifted(self.builder.add(words, words), _INTO_BYTE))
            made.append(self.packed(*halves))
        return made

    def joined(self, red: Any, green: Any, blue: Any) -> list[Any]:
        """The three colors of each pixel, one after another, in parts."""
        count = 2 * self.pairs
        if count < PIXELS:
            both = list(range(2 * count))
            first, second = self.chosen(red, green, both), self.chosen(blue, blue, both)
            order = [k // 3 + count * (k % 3) for k in range(3 * count)]
            return [self.chosen(first, second, order)]
        made = []
        for part in range(3):
            places = [divmod(count * part + k, 3) for k in range(count)]
            two = [pixel + count * (color % 2) for pixel, color in places]
            three = [k if places[k][1] < 2 else count + places[k][0] for k in range(count)]
            made.append(self.chosen(self.chosen(red, green, two), blue, three))
        return made


def put_pixels(
    luma: Array, at: int, blue: Array, red: Array, first: int, weights: Any, target: Array, to: int
) -> None:
    """Make `PIXELS` pixels and write them as red, green, blue; for kernels only.

    luma: uint8, from `at` on; blue, red: int16, chroma times `PARTS`, half as many samples, from
    that before sample `first` on, which is number `first` here; weights: of 16 bits, twice that of
    luma times 16 and that of `ONE`, then of blue and red chroma in red, in green and in blue;
    target: uint8, from `to` on.
    """
    raise NotImplementedError


def put_pixels_past(
    luma: Array, at: int, blue: Array, red: Array, first: int, weights: Any, target: Array, to: int
) -> None:
    """The same past the caches, to a place in memory that is a multiple of `LINE`; then call
    `finish_lines`."""
    raise NotImplementedError


@register_intrinsic(put_pixels)
def _put_pixels_in_kernels(numba: Any) -> Callable[..., Any]:
    """What Numba compiles for `put_pixels`."""
    return _putting(numba, past=False)


@register_intrinsic(put_pixels_past)
def _put_pixels_past_in_kernels(numba: Any) -> Callable[..., Any]:
    """What Numba compiles for `put_pixels_past`."""
    return _putting(numba, past=True)


def _putting(numba: Any, past: bool) -> Callable[..., Any]:
    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        luma, at, blue, red, first, weights, target, to = values
        wide = numba_adapter.has_feature(context, _WIDE)
        if not wide:
            numba_adapter.leave_out_features(context, builder.function, "avx512")
        count = PIXELS if wide else PIXELS // 2
        vectors = _Vectors(builder, count // 2, numba_adapter.has_feature(context, "avx2"))

        def place(number: int, array: Any, element: Any, more: int) -> Any:
            base = numba_adapter.first_element(context, builder, signature.args[number], array)
            return builder.gep(base, [builder.add(element, element.type(more))])

        def chroma(number: int, array: Any, done: int) -> list[Any]:
            places = [place(number, array, first, done // 2 + k) for k in range(3)]
            return vectors.doubled(*[vectors.load(one, 16, count // 2) for one in places])

        word = vectors.ir.IntType(32)
        numbers = [builder.extract_value(weights, k) for k in range(8)]
        pairs = [vectors.weights(*numbers[k : k + 2]) for k in range(0, 8, 2)]
        for done in range(0, PIXELS, count):
            lights = vectors.lights(vectors.load(place(0, luma, at, done), 16, count // 2))
            tinted = chroma(2, blue, done), chroma(3, red, done)
            for part, made in enumerate(vectors.joined(*vectors.colors(lights, *tinted, pairs))):
                there = place(6, target, to, 3 * done + made.type.count * part)
                there = builder.bitcast(there, made.type.as_pointer())
                # Of two parts of 96 bytes, the second begins in the middle of a line.
                stored = builder.store(
                    made, there, align=(LINE if wide else LINE // 2) if past else 1
                )
                if past:
                    once = builder.module.add_metadata([word(1)])
                    stored.set_metadata("nontemporal", once)
        return numba_adapter.no_value(context)

    def call(typing_context, luma, at, blue, red, first, weights, target, to):  # type: ignore[no-untyped-def]
        word = numba.types.int64
        return numba.types.none(luma, word, blue, red, word, weights, target, word), generate

    return call
