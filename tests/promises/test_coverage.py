"""Promise: an epoch has exactly its samples, whatever the sizes, shards, policies and padding."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from gradiva.plugin.base_iterator import LastBatchPolicy
from tests.capture.pipeline.test_iterators import (
    DROP,
    EPOCHS,
    FILL,
    PARTIAL,
    Epoch,
    epochs,
    pipeline,
)
from tests.soaking import Figures, scaled
from tests.tiers import examples

pytestmark = pytest.mark.core
counted = itertools.count(1)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("data") / "one.bin"
    path.write_bytes(b"x")
    return str(path)


@settings(
    max_examples=scaled(examples(60)),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],  # `figures` takes the last count
)
@given(
    size=st.integers(1, 257),
    batch_size=st.integers(1, 33),
    shards=st.integers(1, 8),
    policy=st.sampled_from(LastBatchPolicy),
    stick=st.booleans(),
    pad=st.booleans(),
    shuffle=st.booleans(),
)
@example(size=31, batch_size=4, shards=7, policy=PARTIAL, stick=True, pad=True, shuffle=False)
def test_every_epoch_has_the_promised_samples(
    file: str,
    size: int,
    batch_size: int,
    shards: int,
    policy: LastBatchPolicy,
    stick: bool,
    pad: bool,
    shuffle: bool,
    figures: Figures,
) -> None:
    shards = min(shards, size)
    found = [
        epochs(
            pipeline(
                file,
                size,
                batch_size,
                shards,
                shard,
                stick_to_shard=stick,
                pad_last_batch=pad,
                random_shuffle=shuffle,
            ),
            policy,
        )
        for shard in range(shards)
    ]
    # Processes that read a shard each come to the end of an epoch together.
    assert len({tuple(map(len, shard)) for shard in found}) == 1
    sizes = [len(batch) for shard in found for epoch in shard for batch in epoch]
    if policy is PARTIAL:
        assert_each_sample_once(found, size)
        assert all(min(batch_size - 1, 1) <= count <= batch_size for count in sizes)
    else:
        assert set(sizes) <= {batch_size}
    if policy is DROP:
        for epoch in range(EPOCHS):
            samples = [label for shard in found for batch in shard[epoch] for label in batch]
            assert len(set(samples)) == len(samples)
            assert len(samples) == size // shards // batch_size * batch_size * shards
    if policy is FILL and not pad:
        for number, shard in enumerate(found):
            stream = [label for epoch in shard for batch in epoch for label in batch]
            assert_unbroken(stream, number, size, shards, stick, shuffle)
    figures(combinations=next(counted))


def assert_each_sample_once(found: list[list[Epoch]], size: int) -> None:
    """In each epoch, of all shards together."""
    for epoch in zip(*found, strict=True):
        handed_out = sorted(label for shard in epoch for batch in shard for label in batch)
        assert handed_out == list(range(size))


def assert_unbroken(
    stream: list[int], shard: int, size: int, shards: int, stick: bool, shuffle: bool
) -> None:
    """FILL leaves out nothing: epochs of the shard follow each other in the stream."""
    epoch = 0
    while stream:
        at = (shard + (0 if stick else epoch)) % shards
        expected = list(range(size * at // shards, size * (at + 1) // shards))
        part, stream = stream[: len(expected)], stream[len(expected) :]
        if not shuffle:
            assert part == expected[: len(part)]
        assert len(set(part)) == len(part)
        epoch += 1
