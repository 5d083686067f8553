"""Streams of others, several GPUs, and what leaves to other libraries, on the simulated device."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva.eager.cuda import gpu_at
from gradiva.eager.gpu.array import DeviceArray
from gradiva.eager.gpu.gpu import Gpu
from gradiva.eager.gpu.streams import LEGACY, DeviceStream

from .shim import COMPILER, NO_COMPILER
from .simulated import simulated

pytestmark = pytest.mark.skipif(COMPILER is None, reason=NO_COMPILER)


def sent(gpu: Gpu, stream: DeviceStream, value: int) -> DeviceArray:
    with gpu.on(stream):
        return gpu.sent(np.full(1000, value, np.uint8))


def test_memory_of_stream_0_is_not_for_all() -> None:
    """0 is torch's default stream. What it gives back is still in use until it has come there."""
    with simulated():
        gpu = gpu_at(0)
        zero = DeviceStream(gpu, 0)
        assert zero.handle == LEGACY
        first = sent(gpu, zero, 1)
        address = first.address
        del first
        other = sent(gpu, gpu.default_stream, 2)
        assert other.address != address
        np.testing.assert_array_equal(other.get(), np.full(1000, 2, np.uint8))
        assert sent(gpu, zero, 3).address == address


@pytest.mark.parametrize("handle", [None, LEGACY])
def test_a_user_on_another_gpu_does_not_change_the_current_one(handle: int | None) -> None:
    """`simulated` reports what is asked of a device that is not current."""
    with simulated(2):
        one, other = gpu_at(0), gpu_at(1)
        other.runtime.activate()
        stream = DeviceStream(other, handle)
        mine = sent(one, DeviceStream(one, handle), 1)
        with other.on(stream):
            copy = other.copied(mine)
        other.events.clear()  # so that the next point needs one, which is made on its own device
        del mine
        gc.collect()
        sent(one, one.default_stream, 2)
        np.testing.assert_array_equal(copy.get(), np.full(1000, 1, np.uint8))


def test_default_streams_of_two_gpus_are_two() -> None:
    with simulated(2) as runtime:
        one, other = gpu_at(0), gpu_at(1)
        mine = sent(one, DeviceStream(one, LEGACY), 1)
        before = len(runtime.log)
        mine.block.use(DeviceStream(other, LEGACY))
        assert [entry[0] for entry in runtime.log[before:]] == ["record", "stream_wait"]
        assert [user.gpu for user in mine.block.users.values()] == [other]
