"""Memory that other processes map, and a pool that has its large blocks there."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from gradiva.eager.runtime.host_memory import MemoryPool
from gradiva.eager.runtime.memory_settings import MemorySettings
from gradiva.eager.runtime.shared_blocks import BlockLocation, SharedBlocks, can_share, map_block

pytestmark = pytest.mark.skipif(not can_share(), reason="no memory can be shared here")

READ = """
import sys
from gradiva.eager.runtime.shared_blocks import BlockLocation, map_block
block = map_block(eval(sys.argv[1]))
print(int(block[:4].sum()), len(block), block.flags.writeable)
"""


def test_another_process_sees_what_is_written() -> None:
    blocks = SharedBlocks()
    block = blocks.allocate(10_000)
    assert not block.any()
    place = blocks.place_of(block[4:20])
    assert place is not None
    assert (place.offset, place.size, place.process) == (4, 10_000, os.getpid())
    block[:4] = [1, 2, 3, 200]
    made = subprocess.run(
        [sys.executable, "-c", READ, repr(place)], capture_output=True, text=True, check=True
    )
    assert made.stdout.split() == ["206", "10000", "False"]
    mapped = map_block(place)
    block[0] = 77
    assert mapped[0] == 77


def test_where_arrays_lie() -> None:
    blocks = SharedBlocks()
    one, two = blocks.allocate(4096), blocks.allocate(8192)
    places = [blocks.place_of(array) for array in (one, two, two[5:], np.zeros(9), one[:0])]
    assert [place and (place.serial, place.offset) for place in places] == [
        (0, 0),
        (1, 0),
        (1, 5),
        None,
        (0, 0),
    ]


def test_a_block_that_has_gone() -> None:
    blocks = SharedBlocks()
    block = blocks.allocate(4096)
    place = blocks.place_of(block)
    assert place is not None
    mapped = map_block(place)
    before = len(os.listdir("/proc/self/fd"))
    block[:] = 5
    del block
    assert len(os.listdir("/proc/self/fd")) == before - 2, "mmap has one of its own"
    assert (mapped == 5).all(), "who has mapped it keeps it"
    with pytest.raises(OSError, match=r"No such file|another file"):
        map_block(place)
    other = blocks.allocate(4096)  # it may have the same descriptor
    assert other.size
    with pytest.raises(OSError, match=r"No such file|another file"):
        map_block(place)


def test_a_process_that_has_gone() -> None:
    with pytest.raises(FileNotFoundError):
        map_block(BlockLocation(2**22 + 1, 3, (1, 1), 0, 4096, 0))


def test_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_arguments: Any) -> None:
        raise OSError("too many")

    blocks = SharedBlocks()
    before = len(os.listdir("/proc/self/fd"))
    monkeypatch.setattr(os, "ftruncate", fail)
    with pytest.raises(MemoryError, match="too many"):
        blocks.allocate(4096)
    assert len(os.listdir("/proc/self/fd")) == before
    pool = MemoryPool()
    pool.share(blocks)
    assert pool.allocate(1 << 20).size == 1 << 20, "there is other memory"


def test_a_pool_has_large_blocks_there() -> None:
    blocks, pool = SharedBlocks(), MemoryPool()
    before, waited = pool.allocate(1 << 20), pool.allocate(1 << 20)
    del waited
    pool.share(blocks)
    large, small = pool.allocate(1 << 20), pool.allocate(1 << 14)
    assert blocks.place_of(large) is not None
    assert blocks.place_of(before) is None
    assert blocks.place_of(small) is None
    address = large.ctypes.data
    del large
    again = pool.allocate(1 << 20)
    assert again.ctypes.data == address, "its pages are used again"
    del before
    more = [pool.allocate(1 << 20) for _ in range(3)]
    assert all(blocks.place_of(one) is not None for one in more), "others are not used again"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nobody forks here")
@pytest.mark.parametrize("poison", [False, True])
def test_a_child_writes_into_memory_of_its_own(poison: bool) -> None:
    """Neither into what waited to be used again, nor into what was in use at the fork."""
    settings = MemorySettings()
    settings.read()
    settings.poison = poison
    blocks, pool = SharedBlocks(), MemoryPool(settings=settings)
    pool.share(blocks)
    waited, used = pool.allocate(1 << 20), pool.allocate(1 << 20)
    waited[:] = used[:] = 1
    places = [blocks.place_of(one) for one in (waited, used)]
    if not poison:
        del waited
    child = os.fork()
    if not child:
        pool.after_fork()
        del used
        own = [pool.allocate(1 << 20) for _ in range(3)]
        for one in own:
            one[:] = 2
        os._exit(sum(blocks.place_of(one) is not None for one in own))
    assert os.waitpid(child, 0)[1] == 0
    for place in places:
        assert place is not None
        assert (map_block(place)[: 1 << 20] == 1).all()
