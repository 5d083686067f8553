"""Which ranges are asked for, and what is found of them."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from gradiva.ops.storage.parts import ObjectPart, Parts
from gradiva.ops.storage.ranges import Range, aligned, joined, split
from gradiva.ops.storage.urls import any_url, is_url, join, local_path, parent, scheme_of, shown
from tests.tiers import examples

RANGES = st.lists(
    st.tuples(st.integers(0, 5 << 20), st.integers(0, 3 << 20)).map(
        lambda pair: (pair[0], pair[0] + pair[1])
    ),
    max_size=20,
)


def holds(found: list[Range], wanted: Range) -> bool:
    place = wanted[0]
    for begin, end in found:
        if begin <= place < end:
            place = end
    return place >= wanted[1]


@settings(max_examples=examples(200), deadline=None)
@given(RANGES)
def test_all_that_is_wanted_is_asked_for(ranges: list[Range]) -> None:
    together = joined(ranges)
    small = split(together, 1 << 20)
    assert all(end - begin <= 1 << 20 for begin, end in small)
    size = max((end for _, end in ranges), default=0)
    blocks = aligned(ranges, size, 1 << 18)
    for wanted in ranges:
        for found in (together, small, blocks):
            assert holds(found, wanted)
    wanted_bytes = sum(end - begin for begin, end in ranges)
    gaps = len(ranges) * (1 << 16)
    assert sum(end - begin for begin, end in together) <= 2 * wanted_bytes + gaps


def test_near_ranges_are_joined() -> None:
    assert joined([(0, 10), (60_000, 60_010)]) == [(0, 60_010)]
    assert joined([(0, 10), (70_000, 70_010)]) == [(0, 10), (70_000, 70_010)]
    wide = [(0, 400_000), (1_000_000, 1_400_000), (9_000_000, 9_000_001)]
    assert joined(wide) == [(0, 1_400_000), (9_000_000, 9_000_001)]
    assert split([(0, 10), (20, 29)], 4) == [(0, 3), (3, 6), (6, 10), (20, 23), (23, 26), (26, 29)]
    assert aligned([(5, 9), (31, 33)], 35, 10) == [(0, 10), (30, 35)]


def test_parts_wait_for_their_turn_and_stay_while_there_is_room() -> None:
    parts = Parts()
    first, second = ObjectPart("u", 0, 100, 1, 100), ObjectPart("u", 100, 150, 2, 50)
    parts.add(first)
    parts.add(second)
    assert (parts.held, parts.active) == (150, 2)
    assert parts.covering("u", (90, 140), 0) == [first, second]
    assert parts.covering("u", (90, 151), 0) is None
    assert parts.covering("v", (0, 1), 0) is None
    first.ready.set_result(bytes(100))
    parts.passed(2, 1000)
    assert (parts.held, parts.active) == (50, 1)
    assert parts.covering("u", (0, 10), 5) == [first]  # needed once more
    assert (parts.held, parts.active) == (150, 2)
    second.ready.set_result(bytes(50))
    parts.passed(5, 100)
    assert parts.covering("u", (100, 110), 0) is None
    parts.passed(6, 100)
    assert parts.every() == [first]
    parts.passed(7, 99)
    assert parts.every() == []
    assert (parts.held, parts.active) == (0, 0)


def test_of_parts_that_hold_the_same_the_first_one_is_waited_for() -> None:
    parts = Parts()
    early, late = ObjectPart("u", 50, 60, 1, 10), ObjectPart("u", 0, 100, 7, 100)
    parts.add(early)
    parts.add(late)
    assert parts.covering("u", (52, 58), 7) == [early]
    assert parts.covering("u", (52, 70), 7) == [late]
    late.ready.set_result(bytes(100))
    assert parts.covering("u", (52, 58), 7) == [late]


def test_urls() -> None:
    for url in ("s3://bucket/key", "http://host/a?b", "memory://x", "simplecache::s3://b/k"):
        assert is_url(url)
    for path in ("/a/b", "a:b", "C://x", "file:///a/b", "local://a", "://", "a/s3://b"):
        assert not is_url(path)
    assert any_url(["/a", "s3://b/k"])
    assert not any_url(["/a", "file:///b"])
    assert local_path("file:///a/b") == "/a/b"
    assert local_path("s3://a/b") == "s3://a/b"
    assert join("s3://b/folder", "x.jpg") == "s3://b/folder/x.jpg"
    assert join("/folder", "s3://b/x.jpg") == "s3://b/x.jpg"
    assert parent("s3://b/list.txt") == "s3://b"
    assert (scheme_of("S3://b"), scheme_of("simplecache::gs://b/k")) == ("s3", "gs")
    assert shown("https://me:word@host/a?signature=1") == "https://host/a"
