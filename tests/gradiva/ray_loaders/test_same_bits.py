"""The bits of a local pipeline, from loaders in this process: what test_loader_pool.py shows on a
cluster, where there is none. Each step is compared by the SHA-256 of all of its trainers' batches.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import gradiva
from gradiva.capture.iterators.iterator import LastBatchPolicy

from .in_process import Loaders, without_ray
from .pipelines import digest_of, local_digests, write

__all__ = ["without_ray"]
pytestmark = pytest.mark.usefixtures("without_ray")
EPOCHS = 2


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write(tmp_path_factory.mktemp("arrays"))


@pytest.fixture(scope="module")
def wanted(folder: str) -> list[list[str]]:
    return local_digests(folder, EPOCHS, LastBatchPolicy.FILL)


@pytest.fixture(scope="module")
def three(folder: str) -> Iterator[Loaders]:
    made = Loaders(folder, 3)
    yield made
    made.close()


def test_loaders_that_die(folder: str, wanted: list[list[str]], three: Loaders) -> None:
    """Of three, one dies and does not come back, and the next one; then they come back."""
    part = three.iterator(0, 1)
    assert len(part) == len(wanted[0])
    found = []
    for step, batch in enumerate(part):
        found.append(digest_of([batch]))
        if step < 2:
            three.kill(step)
    assert found == wanted[0]
    assert part.waits.resent
    for number in (0, 1):
        three.start(number)
    assert [digest_of([batch]) for batch in part] == wanted[1]


def test_worlds_two_three_one(three: Loaders, wanted: list[list[str]]) -> None:
    """A training goes on with other trainers in the middle of an epoch, and a loader is killed
    meanwhile."""
    found: list[str] = []
    state: dict[str, Any] | None = None
    steps = len(wanted[0])
    for world, until in ((2, 2), (3, steps + 1), (1, EPOCHS * steps)):
        parts = [three.iterator(rank, world, state) for rank in range(world)]
        while len(found) < until:
            for batches in zip(*parts, strict=True):
                found.append(digest_of(batches))
                if len(found) == 3:
                    three.kill(1)
                if len(found) == until:
                    break
        (state,) = {str(part.state_dict()): part.state_dict() for part in parts}.values()
    three.start(1)
    assert found == [digest for epoch in wanted for digest in epoch]


@pytest.mark.full
@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("policy", LastBatchPolicy)
def test_one_and_two_loaders(folder: str, count: int, policy: LastBatchPolicy) -> None:
    """And two trainers, with each policy of the last batch."""
    loaders = Loaders(folder, count, seed=count)
    wanted = local_digests(folder, EPOCHS, policy)
    parts = [loaders.iterator(rank, 2, None, policy) for rank in range(2)]
    for epoch in range(EPOCHS):
        assert [digest_of(batches) for batches in zip(*parts, strict=True)] == wanted[epoch]
    loaders.close()


def test_the_last_loader_dies(folder: str, wanted: list[list[str]]) -> None:
    loaders = Loaders(folder, 1)
    part = loaders.iterator(0, 1)
    loaders.kill(0)
    with pytest.raises(gradiva.OperatorRuntimeError, match=r"no loader is left .* were killed"):
        next(part)
    loaders.start(0)  # the same batch comes, and all after it
    assert [digest_of([batch]) for batch in part] == wanted[0]
    loaders.close()
