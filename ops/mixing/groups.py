"""Which samples of a batch are mixed with which, and the random values of that.

A batch is cut into groups of `mix_group` samples that were read one after the other, and the
partners of a sample are of its group. The samples of a group are put into a random order, each by
a key that depends on its own position, and the partners of a sample come after it in this order,
whose last sample is followed by the first. So nobody is its own partner where there are others,
each sample is the first partner of one other, and where a sample was left out, nothing changes but
the partners of those before it.

Of the random words of a sample, block 0 is that of its share (`drawn_shares`), block 1 that of its
coin and its place, block 2 that of the order, and blocks from 16 on are those of its objects.
"""

from __future__ import annotations

from typing import TypedDict

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.random.philox import philox
from gradiva.eager.types.arrays import Array, Draws, Float32Array, Int64Array, U64Table
from gradiva.ops.random.beta import beta_kernel

OBJECTS = 16
"""The first block of the words of objects."""


@op.argument_group(mix_group=64)
class MixGroup(TypedDict, total=False):
    """
    Args:
        mix_group: partners are of one group of so many samples, which were read one after the
            other: samples 0 to 63 of each batch, 64 to 127, and so on. The results are the same for
            all batch sizes that are multiples of it; others cut groups, and change partners.

    Raises:
        OperatorValueError: for a group without samples.
    """

    mix_group: int


@op.argument_group(probability=1.0)
class MixProbability(TypedDict, total=False):
    """
    Args:
        probability: of a sample to be changed, from 0 to 1; others stay as they are. May differ per
            sample.

    Raises:
        OperatorValueError: for an invalid probability.
    """

    probability: op.FloatArg


class GroupArguments(MixGroup, op.Sampled, total=False):
    """What operators take that mix samples."""


class MixArguments(MixProbability, GroupArguments, total=False):
    """The same, of those that change some of the samples."""


def check_group(options: GroupArguments) -> None:
    """Refuse a group without samples. Raises OperatorValueError, for type rules."""
    if options["mix_group"] < 1:
        raise op.wrong_value("mix_group", "a number of samples from 1 on", options["mix_group"])


@op.jit
def _words(draws: Draws, block: int, words: U64Table) -> None:
    """The random words of one block, (N, 4), for each sample."""
    positions, seed, number = draws
    for i in range(positions.size):
        one = philox(np.uint32(block), number, np.uint64(positions[i]), seed)
        words[i, 0], words[i, 1], words[i, 2], words[i, 3] = one


def words_of(call: op.Call, block: int) -> Array:
    """(N, 4), uint64: the four random words, of 32 bits each, of a block of each sample."""
    words = np.empty((call.size, 4), np.uint64)
    _words(call.draws, block, words)
    return words


def places_of(call: op.Call) -> Int64Array:
    """(N,): which of the samples that were read together each sample is."""
    for batch in call.inputs:
        where = batch.provenance
        if where is not None and where.places is not None:
            return where.places
    return np.arange(call.size)


def partners_of(call: op.Call, count: int = 1) -> Int64Array:
    """(N, count): the numbers of the samples in the batch that are the partners of each sample. In
    a group of fewer samples than there are partners they are repeated, itself among them."""
    size = call.size
    groups = places_of(call) // call["mix_group"]
    words = words_of(call, 2)
    keys = (words[:, 0] << np.uint64(32)) | words[:, 1]
    order = np.lexsort((np.arange(size), keys, groups))
    own = groups[order]
    begins = np.flatnonzero(np.concatenate([np.ones(min(size, 1), np.bool_), own[1:] != own[:-1]]))
    lengths = np.diff(begins, append=size)
    first, length = np.repeat(begins, lengths), np.repeat(lengths, lengths)
    place = np.arange(size) - first
    steps = np.arange(1, count + 1)
    partners = np.empty((size, count), np.int64)
    partners[order] = order[first[:, None] + (place[:, None] + steps) % length[:, None]]
    return partners


def chosen_samples(call: op.Call) -> Array:
    """(N,), bool: which samples `probability` chooses. Raises OperatorValueError."""
    chance = call["probability"]
    bad = ~((chance >= 0) & (chance <= 1))
    op.refuse_samples(bad, "probability", "a number from 0 to 1", chance)
    drawn = (words_of(call, 1)[:, 0].astype(np.float64) + 0.5) * 2.0**-32
    return np.asarray(drawn < chance)


def shares_of(call: op.Call, chosen: Array) -> Float32Array:
    """(N,): how much of each sample is itself: the argument `lam`, or values drawn with a beta
    distribution of the argument `alpha`, those of `random.beta` for the same key; 1 for samples
    that are not chosen. Raises OperatorValueError."""
    shares = call["lam"]
    if shares is not None:
        bad = ~((shares >= 0) & (shares <= 1))
        op.refuse_samples(bad, "lam", "a number from 0 to 1", shares)
    else:
        alphas = call["alpha"]
        bad = ~((alphas > 0) & np.isfinite(alphas))
        op.refuse_samples(bad, "alpha", "a positive number", alphas)
        shares = np.empty(call.size, np.float32)
        slots = shares, np.arange(call.size), np.ones(call.size, np.int64)
        beta_kernel(slots, call.draws, alphas, alphas, 0, call.size)
    return np.where(chosen, shares, np.float32(1))


def centers_of(call: op.Call, sizes: Int64Array) -> Int64Array:
    """(N, 2): one pixel of each plane of these sizes, (N, 2): that at the argument `center`, in
    parts of the plane, or a drawn one. Raises OperatorValueError."""
    given = call["center"]
    if given is None:
        drawn = words_of(call, 1)[:, 1:3]
        whole: Int64Array = ((drawn * sizes.astype(np.uint64)) >> np.uint64(32)).astype(np.int64)
        return whole
    check_pair("center", given)
    whole = np.floor(given.astype(np.float64) * sizes).astype(np.int64)
    return np.minimum(whole, np.maximum(sizes - 1, 0))


def check_pair(name: str, given: Array) -> None:
    """Refuse what is no (y, x) from 0 to 1 for each sample. Raises OperatorValueError."""
    if given.shape[1] != 2:
        raise op.wrong_value(name, "two numbers (y, x)", f"{given.shape[1]}")
    bad = ~((given >= 0) & (given <= 1)).all(axis=1)
    op.refuse_samples(bad, name, "two numbers (y, x) from 0 to 1", given)
