"""Which frames are damaged, of those that a decoder gives: as the rules say it, word for word, and
in a time that grows with their number only."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradiva.ops.video.decoded_scan import _all_ascend, _by_order, _by_packets, _DecodedFrame
from gradiva.ops.video.packet_scan import NO_TIME, Packets

Frames = list[tuple[int, bool, bool, bool]]


def packets(shown: list[int]) -> Packets:
    times = np.array(shown, np.int64)
    none = np.zeros(len(times), np.bool_)
    return Packets(times, times, none, none, none, "", "", True, False)


def rows(frames: Frames) -> list[_DecodedFrame]:
    return [_DecodedFrame(*frame) for frame in frames]


def plain_by_packets(frames: Frames, refused: list[int], shown: list[int]) -> dict[int, bool]:
    """Times of the frames, and whether they are damaged. All packets give a frame."""
    marked = {time: bad for time, bad, _, _ in frames} | dict.fromkeys(refused, True)
    intra = {time: whole for time, _, whole, _ in frames if not marked[time]}
    damaged = dict.fromkeys(shown, False)
    for begin, time in enumerate(shown):
        if not marked[time]:
            continue
        for place in range(begin, len(shown)):
            if intra.get(shown[place]):
                late = [one for one in shown[place:] if one < shown[place]]
                damaged |= dict.fromkeys(late, True)
                break
            damaged[shown[place]] = True
    return damaged


def plain_by_order(frames: Frames, refused: list[int], delay: int) -> list[bool]:
    damaged = [False] * len(frames)
    begins = [(place, place + delay) for place in refused]
    for place, (_, marked, _, between) in enumerate(frames):
        begin = place
        while marked and not between and begin and frames[begin - 1][3]:
            begin -= 1
        begins += [(begin, place + 1)] if marked else []
    for begin, first in begins:
        end = first
        while end < len(frames) and not (frames[end][2] and not frames[end][1]):
            end += 1
        damaged[begin:end] = [True] * len(damaged[begin:end])
    return damaged


@pytest.mark.parametrize("seed", range(20))
def test_rules(seed: int) -> None:
    random = np.random.default_rng(seed)
    count = int(random.integers(1, 30))
    order = np.argsort(np.arange(count) + random.integers(0, 4, count)).tolist()
    flags = (random.random((count, 3)) < [0.15, 0.3, 0.3]).tolist()
    frames: Frames = [(time, *flags[time]) for time in sorted(order)]
    refused = sorted(random.choice(count, int(random.integers(0, 3))).tolist())
    found = _by_packets(rows(frames), refused, packets(order), "h264")
    plain = plain_by_packets(frames, refused, order)
    assert dict(zip(found.times.tolist(), found.damaged.tolist(), strict=True)) == plain
    for delay in (0, 2, 16):
        damaged = _by_order(rows(frames), refused, delay)
        assert damaged.tolist() == plain_by_order(frames, refused, delay)


@pytest.mark.full
@pytest.mark.parametrize("intra", [False, True])
def test_many_damaged_frames(intra: bool) -> None:
    """Of a long recording of which next to nothing is good. Hours, if each of them is compared with
    all others."""
    count = 200_000
    frames: list[Any] = [(k, k % 2 == 0, intra, False) for k in range(count)]
    times = list(range(count))
    found = _by_packets(rows(frames), times[::2], packets(times), "h264")
    assert found.damaged.sum() == (count // 2 if intra else count)
    damaged = _by_order(rows(frames), times[::2], 0)
    assert damaged.sum() == (count // 2 if intra else count)
    assert not _by_order([], [], 16).size
    assert not _by_packets([], [], packets([]), "h264").times.size
    nowhere = _by_packets(rows([(NO_TIME, True, False, False)]), [7], packets([3]), "h264")
    assert nowhere.times.tolist() == []


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ([3, 5, 6], True),
        ([3, 5, 5], False),
        ([3, 5, NO_TIME], False),  # their difference is no integer of 64 bits
        ([NO_TIME, 3, 5], False),
        ([NO_TIME], False),
        ([], False),
    ],
)
def test_frames_are_told_apart_by_times_that_all_have(times: list[int], expected: bool) -> None:
    assert _all_ascend(np.array(times, np.int64)) == expected
