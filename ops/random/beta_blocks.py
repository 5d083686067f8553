"""Logarithms of gamma variables and their ratios, for blocks of values: the arithmetic of
`natural_log`, `normal_from_word`, `exponential` and `philox`, the same operations in the same order
and so the same bits, in loops over arrays that compilers turn into vector instructions."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.random.philox import natural_log, normal_middle, normal_tail
from gradiva.eager.types.arrays import BoolVector, F64Table, F64Vector, U64Table, U64Vector

BLOCK: Final = 128
"""Values at a time: their work arrays stay in the first level of cache."""

ROOM: Final = 8
"""Work arrays that the functions share."""


@op.jit
def blocks_of_words(
    counters: U64Vector, positions: U64Vector, seeds: U64Vector, number: np.uint32, words: U64Table
) -> None:
    """`philox` for arrays of counters, positions and seeds, uint64, (n,); words: (4, n)."""
    mask, shift = np.uint64(0xFFFFFFFF), np.uint64(32)
    c1 = np.uint64(number)
    first, second, third, fourth = words[0], words[1], words[2], words[3]
    for k in range(counters.size):
        a, b = counters[k], c1
        c, d = positions[k] & mask, positions[k] >> shift
        left, right = seeds[k] & mask, seeds[k] >> shift
        for _ in range(10):
            p, q = np.uint64(0xD2511F53) * a, np.uint64(0xCD9E8D57) * c
            a, b, c, d = (q >> shift) ^ b ^ left, q & mask, (p >> shift) ^ d ^ right, p & mask
            left = (left + np.uint64(0x9E3779B9)) & mask
            right = (right + np.uint64(0xBB67AE85)) & mask
        first[k] = a
        second[k] = b
        third[k] = c
        fourth[k] = d


@op.jit
def _logs(values: F64Vector, out: F64Vector, room: F64Table) -> None:
    """`natural_log` of each value; all are positive and not subnormal."""
    bits = values.view(np.int64)
    parts = room[0][: values.size].view(np.int64)
    mantissas = room[0]
    exponents = room[1]
    for k in range(values.size):
        parts[k] = (bits[k] & 0x000FFFFFFFFFFFFF) | 0x3FE0000000000000
    for k in range(values.size):
        exponents[k] = np.float64(np.int32(bits[k] >> 52) - np.int32(1022))
    for k in range(values.size):
        low = mantissas[k] < 0.7071067811865476
        mantissa = mantissas[k] * 2.0 if low else mantissas[k]
        exponent = exponents[k] - 1.0 if low else exponents[k]
        s = (mantissa - 1.0) / (mantissa + 1.0)
        z = s * s
        series = 0.0
        for j in range(12, -1, -1):
            series = series * z + 1.0 / (2.0 * j + 1.0)
        out[k] = exponent * 0.6931471805599453 + 2.0 * s * series


@op.jit
def _normals(words: U64Vector, out: F64Vector, room: F64Table) -> None:
    """`normal_from_word` of each word."""
    tails = 0
    chosen = room[2].view(np.int64)
    for k in range(words.size):
        q = (np.float64(np.int64(words[k])) + 0.5) * 2.3283064365386963e-10 - 0.5
        out[k] = normal_middle(q)
    p, logs = room[3], room[4]
    for k in range(words.size):
        one = (np.float64(np.int64(words[k])) + 0.5) * 2.3283064365386963e-10
        q = one - 0.5
        p[tails] = one if q < 0.0 else 1.0 - one
        chosen[tails] = k if q < 0.0 else ~k
        tails += not abs(q) <= 0.425
    _logs(p[:tails], logs[:tails], room)
    for k in range(tails):
        logs[k] = normal_tail(math.sqrt(-logs[k]))
    for k in range(tails):
        place = chosen[k]
        if place >= 0:
            out[place] = -logs[k]
        else:
            out[~place] = logs[k]


@op.jit
def log_gammas(
    shape: float,
    normals: U64Vector,
    uniforms: U64Vector,
    high: U64Vector,
    low: U64Vector,
    out: F64Vector,
    missed: BoolVector,
    room: F64Table,
) -> None:
    """The logarithms of gamma variables from the words of first attempts, as `_log_gamma` has them.

    normals, uniforms: the words, uint64, (n,). high, low: those for shapes below 1. missed: which
    were rejected, and need more attempts; `out` is not to be used there.
    """
    count = normals.size
    larger = shape + 1.0 if shape < 1.0 else shape
    d = larger - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    log_d = natural_log(d)
    x, u, v = room[5][:count], room[6][:count], room[7][:count]
    log_v, log_u = room[3][:count], room[4][:count]
    _normals(normals, x, room)
    for k in range(count):
        root = 1.0 + c * x[k]
        v[k] = root * root * root if root > 0.0 else 1.0
        u[k] = (np.float64(np.int64(uniforms[k])) + 0.5) * 2.0**-32
    _logs(v, log_v, room)
    _logs(u, log_u, room)
    for k in range(count):
        square = x[k] * x[k]
        fits = u[k] < 1.0 - 0.0331 * square * square
        fits |= d > 1e10
        fits |= log_u[k] < 0.5 * square + d * (1.0 - v[k] + log_v[k])
        missed[k] = not (fits & (1.0 + c * x[k] > 0.0))
        out[k] = log_d + log_v[k]
    if shape < 1.0:
        for k in range(count):
            word = (high[k] << np.uint64(32)) | low[k]
            u[k] = (np.float64(np.int64(word >> np.uint64(11))) + 0.5) * 2.0**-53
        _logs(u, log_u, room)
        for k in range(count):
            out[k] += log_u[k] / shape


@op.jit
def ratios(x: F64Vector, y: F64Vector, out: F64Vector, room: F64Table) -> None:
    """exp(x) / (exp(x) + exp(y)) of each pair, with `exponential`."""
    count = x.size
    series, halves, others = room[0], room[1].view(np.int64), room[2].view(np.int64)
    for k in range(count):
        difference = -abs(min(max(y[k] - x[k], -800.0), 800.0))
        power = math.floor(difference / 0.6931471805599453 + 0.5)
        rest = difference - power * 0.6931471805599453
        one = 1.0
        for j in range(16, 0, -1):
            one = 1.0 + one * rest / j
        series[k] = one
        # `ldexp` in two steps, since half of the results have no normal number for the power.
        whole = np.int64(np.int32(power))
        half = whole >> 1
        halves[k] = (half + 1023) << 52
        others[k] = (whole - half + 1023) << 52
    first, second = room[1], room[2]
    for k in range(count):
        small = series[k] * first[k] * second[k]
        out[k] = (1.0 if y[k] - x[k] <= 0.0 else small) / (1.0 + small)
