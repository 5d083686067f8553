"""Kernel part: 32 pixels at once from bytes of luma and lines of chroma, in LLVM's terms.

Samples times weights are sums of two products of 16 bits, for which processors have one
instruction; written as loops, LLVM makes products of 32 bits of them. Everything is exact, so the
bits are those of `color_rows`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from gradiva.eager.jit import numba_adapter
from gradiva.eager.jit.jit import register_intrinsic
from gradiva.eager.types.arrays import Array

__all__ = ["ONE", "PARTS", "PIXELS", "put_pixels"]

PIXELS: Final = 32
"""How many `put_pixels` makes."""
_PAIRS: Final = PIXELS // 2
"""Pixels that stand over one sample of chroma: they are computed apart, even ones and odd ones."""
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
_HALVES: Final = ((0, 1, 2, 3, 8, 9, 10, 11), (4, 5, 6, 7, 12, 13, 14, 15))
"""The lanes that are widened together: those that registers have side by side."""


class _Vectors:
    """Operations on vectors of integers of one function that LLVM compiles."""

    def __init__(self, builder: Any, paired: bool) -> None:
        self.ir, _ = numba_adapter.llvm()
        self.builder, self._paired = builder, paired

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
        return self.chosen(made, made, [0, 1] * (_PAIRS // 2))

    def in_turns(self, one: Any, other: Any) -> list[Any]:
        """The lanes of two vectors side by side, as two vectors."""
        return [
            self.chosen(one, other, [lane + k for lane in half for k in (0, _PAIRS)])
            for half in _HALVES
        ]

    def products(self, pairs: Any, weights: Any) -> Any:
        """Of 16 lanes of 16 bits the sums of two products, 8 of 32 bits."""
        made = self.kind(32, _PAIRS // 2)
        if self._paired:
            kind = self.ir.FunctionType(made, [pairs.type, weights.type])
            name = "llvm.x86.avx2.pmadd.wd"
            function = self.builder.module.declare_intrinsic(name, (), kind)
            return self.builder.call(function, [pairs, weights])

        def wide(vector: Any, first: int) -> Any:
            every_second = self.chosen(vector, vector, list(range(first, _PAIRS, 2)))
            return self.builder.sext(every_second, made)

        parts = [self.builder.mul(wide(pairs, k), wide(weights, k)) for k in (0, 1)]
        return self.builder.add(*parts)

    def shifted(self, vector: Any, bits: int) -> Any:
        return self.builder.ashr(vector, self.alike(vector, bits))

    def narrow(self, vector: Any, bits: int) -> Any:
        """As unsigned numbers of so many bits, the nearest ones."""
        for sign, bound in ((">", 0), ("<", (1 << bits) - 1)):
            limit = self.alike(vector, bound)
            inside = self.builder.icmp_signed(sign, vector, limit)
            vector = self.builder.select(inside, vector, limit)
        return self.builder.trunc(vector, self.kind(bits, vector.type.count))

    def upper(self, even: Any, odd: Any) -> Any:
        """The upper halves of lanes of 32 bits of both, in turns."""
        # Said as a shuffle, LLVM joins it with those that follow, and needs more of them.
        moved = self.builder.lshr(even, self.alike(even, 16))
        kept = self.builder.and_(odd, self.alike(odd, -1 << 16))
        both = self.builder.or_(moved, kept)
        return self.builder.bitcast(both, self.kind(16, 2 * even.type.count))

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
        pixels = [2 * lane + k for half in _HALVES for lane in half for k in (0, 1)]
        order = [pixels.index(pixel) for pixel in range(PIXELS)]
        made = []
        for weight in tinted:
            halves = []
            for half in range(len(_HALVES)):
                sums = [
                    self.builder.add(one[half], self.products(pairs[half], weight))
                    for one, pairs in zip(lit, chroma, strict=True)
                ]
                words = self.upper(*sums)
                halves.append(self.shifted(self.builder.add(words, words), _INTO_BYTE))
            made.append(self.narrow(self.chosen(halves[0], halves[1], order), 8))
        return made

    def joined(self, red: Any, green: Any, blue: Any) -> Any:
        """The three colors of each pixel, one after another."""
        twice = list(range(2 * PIXELS))
        first, second = self.chosen(red, green, twice), self.chosen(blue, blue, twice)
        return self.chosen(first, second, [k // 3 + PIXELS * (k % 3) for k in range(3 * PIXELS)])


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


@register_intrinsic(put_pixels)
def _put_pixels_in_kernels(numba: Any) -> Callable[..., Any]:
    """What Numba compiles for `put_pixels`."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        luma, at, blue, red, first, weights, target, to = values
        vectors = _Vectors(builder, numba_adapter.has_feature(context, "avx2"))

        def place(number: int, array: Any, element: Any) -> Any:
            base = numba_adapter.first_element(context, builder, signature.args[number], array)
            return builder.gep(base, [element])

        def chroma(number: int, array: Any) -> list[Any]:
            begins = [builder.add(first, first.type(k)) for k in range(3)]
            lines = [vectors.load(place(number, array, begin), 16, _PAIRS) for begin in begins]
            return vectors.doubled(*lines)

        numbers = [builder.extract_value(weights, k) for k in range(8)]
        pairs = [vectors.weights(*numbers[k : k + 2]) for k in range(0, 8, 2)]
        lights = vectors.lights(vectors.load(place(0, luma, at), 16, _PAIRS))
        made = vectors.joined(*vectors.colors(lights, chroma(2, blue), chroma(3, red), pairs))
        whole = builder.bitcast(place(6, target, to), made.type.as_pointer())
        builder.store(made, whole, align=1)
        return numba_adapter.no_value(context)

    def call(typing_context, luma, at, blue, red, first, weights, target, to):  # type: ignore[no-untyped-def]
        word = numba.types.int64
        return numba.types.none(luma, word, blue, red, word, weights, target, word), generate

    return call
