"""The checksums of blocks: what the kernels make, against the same in integers of Python."""

from __future__ import annotations

import numpy as np
import pytest

from gradiva.ops.cache.checksums import BLOCK, block_count, checksums, damaged_block

from .samples import digest

MASK = (1 << 64) - 1


def step(lane: int, word: int) -> int:
    lane ^= word
    return ((lane << 29 | lane >> 35) & MASK) * 0x9E6D62D06F6A9A9B & MASK


def block_sum(data: bytes, key: bytes, number: int) -> int:
    """The checksum of a block."""
    first, second = int.from_bytes(key[:8], "little"), int.from_bytes(key[8:], "little")
    start = step(step(step(first, second), number), len(data))
    numbers = 0, 0x8CB92BA72F3D8DD7, 0xAEF17502108EF2D9, 0x6C8E9CF570932BD5
    lanes = [start ^ number for number in numbers]
    whole, words = len(data) // 32 * 32, len(data) // 8 * 8
    for place in range(0, words, 8):
        lane = place // 8 % 4 if place < whole else 0
        lanes[lane] = step(lanes[lane], int.from_bytes(data[place : place + 8], "little"))
    if words < len(data):
        lanes[0] = step(lanes[0], int.from_bytes(data[words:], "big"))
    found = step(step(step(lanes[0], lanes[1]), lanes[2]), lanes[3])
    found = (found ^ found >> 32) * 0xD1B54A32D192ED03 & MASK
    return found ^ found >> 29


@pytest.mark.parametrize(
    "size", [0, 1, 7, 8, 9, 31, 32, 33, 40, 71, 150, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + 43]
)
def test_checksums_are_those_of_the_plain_form(size: int) -> None:
    # A place that is no multiple of a word.
    data = np.random.default_rng(size).integers(0, 256, size + 1, np.uint8)[1:]
    key = digest(size)
    plain = [
        block_sum(data[place : place + BLOCK].tobytes(), key, place // BLOCK)
        for place in range(0, size, BLOCK)
    ]
    sums = checksums(key, data)
    assert sums.tolist() == plain
    assert len(sums) == block_count(size)
    assert damaged_block(data, key, sums, 0) == -1


def test_each_changed_byte_is_noticed() -> None:
    data = np.random.default_rng(0).integers(0, 256, 203, np.uint8)
    key = digest("flip")
    sums = checksums(key, data)
    for place in range(len(data)):
        for change in (1, 128, 255):
            data[place] ^= change
            assert damaged_block(data, key, sums, 0) == 0
            data[place] ^= change
    assert damaged_block(data, digest("other"), sums, 0) == 0
    assert damaged_block(data[:-1], key, sums, 0) == 0


def test_blocks_do_not_pass_for_one_another() -> None:
    key = digest("zeros")
    data = np.zeros(3 * BLOCK, np.uint8)
    sums = checksums(key, data)
    assert len(set(sums.tolist())) == 3
    assert damaged_block(data, key, sums[1:], 1) == -1
    assert damaged_block(data, key, sums[:1], 1) == 1
