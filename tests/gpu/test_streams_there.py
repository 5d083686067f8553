"""Streams of others, several GPUs, and what leaves to other libraries, on the simulated device."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva.eager.cuda import cupy_runtime
from gradiva.eager.cuda.context import Gpu
from gradiva.eager.cuda.cupy_runtime import gpu_at
from gradiva.eager.cuda.device_array import DeviceArray
from gradiva.eager.cuda.streams import LEGACY, DeviceStream

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
            made = other.copied(mine)
        other.events.clear()  # so that the next point needs one, which is made on its own device
        del mine
        gc.collect()
        sent(one, one.default_stream, 2)
        np.testing.assert_array_equal(made.get(), np.full(1000, 1, np.uint8))


def test_default_streams_of_two_gpus_are_two() -> None:
    with simulated(2) as runtime:
        one, other = gpu_at(0), gpu_at(1)
        mine = sent(one, DeviceStream(one, LEGACY), 1)
        before = len(runtime.log)
        mine.block.use(DeviceStream(other, LEGACY))
        assert [entry[0] for entry in runtime.log[before:]] == ["record", "stream_wait"]
        assert [user.gpu for user in mine.block.users.values()] == [other]


def test_what_the_interface_points_at_lives_as_long_as_the_batch() -> None:
    """Where the samples do not lie one behind the other, it is an array made for that."""
    with simulated():
        there = gradiva.as_batch(np.arange(24, dtype=np.float32).reshape(4, 6)).gpu()
        chosen = there.select([2, 0])
        address = chosen.__cuda_array_interface__["data"][0]
        assert gpu_at(0).empty(12, np.dtype(np.float32)).address != address
        assert chosen.__cuda_array_interface__["data"][0] == address


def test_memory_that_was_shown_is_held_for_the_default_stream() -> None:
    """Another library reads it there after the batch is gone, and has said nothing."""
    with simulated() as runtime:
        gpu = gpu_at(0)
        there = gradiva.as_tensor(np.full(1000, 7, np.uint8)).gpu()
        address = there.__cuda_array_interface__["data"][0]
        theirs = sent(gpu, DeviceStream(gpu, LEGACY), 0)
        gpu.default_stream.synchronize()
        runtime.copy(theirs.address, address, 1000, LEGACY)
        del there
        other = sent(gpu, gpu.default_stream, 9)
        assert other.address != address
        np.testing.assert_array_equal(theirs.get(), np.full(1000, 7, np.uint8))


def test_dlpack_makes_a_copy_where_one_is_asked_for() -> None:
    with simulated():
        there = gradiva.as_tensor(np.arange(5)).gpu()
        copies = gpu_at(0).runtime.copies  # type: ignore[attr-defined]
        capsule: Any = there.__dlpack__(copy=False)
        assert gpu_at(0).runtime.copies == copies  # type: ignore[attr-defined]
        capsule = there.__dlpack__(copy=True)
        assert gpu_at(0).runtime.copies == copies + 1  # type: ignore[attr-defined]
        del capsule


def test_pickling_is_refused_with_a_sentence() -> None:
    with simulated():
        there = gradiva.as_batch(np.zeros((2, 3))).gpu()
        for value in (there, there.tensors[0], there.as_array()):
            with pytest.raises(TypeError, match=r"on gpu:0 is not pickled: take \.cpu\(\) of it"):
                pickle.dumps(value)
            with pytest.raises(TypeError, match="is not pickled"):
                copy.deepcopy(value)


def test_a_stream_that_another_library_has_destroyed(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has read our memory through DLPack; when that comes back, there is no such stream."""
    with simulated() as runtime:
        gpu = gpu_at(0)
        there = gpu.sent(np.zeros(1000, np.uint8))
        there.block.use(DeviceStream(gpu, 7))
        record = runtime.record

        def refuse(event: int, stream: int) -> None:
            if stream == 7:
                raise gradiva.OperatorRuntimeError(
                    "cudaEventRecord: cudaErrorInvalidResourceHandle"
                )
            record(event, stream)

        monkeypatch.setattr(runtime, "record", refuse)
        del there
        assert gpu.sent(np.ones(1000, np.uint8)).get().all()


class Theirs:
    """A stream of another library."""

    def __init__(self, handle: int) -> None:
        self.ptr = handle


def test_a_stream_of_another_library_is_kept_while_we_have_memory_for_it() -> None:
    with simulated():
        theirs = Theirs(7)
        gone = weakref.ref(theirs)
        with gradiva.EvalContext(cuda_stream=theirs, device_id=0):
            del theirs
            gradiva.flip(np.zeros((4, 4, 1), np.uint8), device="gpu")
        gc.collect()
        assert gone() is not None


@pytest.mark.parametrize(("given", "expected"), [(0, LEGACY), (7, 7), (None, None), (-1, None)])
def test_outputs_come_before_the_stream_that_is_named(
    given: int | None, expected: int | None
) -> None:
    with simulated() as runtime:
        made = gradiva.Pipeline(batch_size=2, num_threads=1, device_id=0)
        with made:
            made.set_outputs(gradiva.fn.random.uniform(shape=[100], device="gpu"))
        made.build()
        made.run()
        before = len(runtime.log)
        outputs = made.run(given)
        waits = [entry[1] for entry in runtime.log[before:] if entry[0] == "stream_wait"]
        assert waits.count(expected) == (0 if expected is None else 1)
        del outputs
        made.close()


def test_a_forked_process_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """CUDA's state does not survive a fork, and at exit nothing of the parent's may be closed."""
    with simulated():
        monkeypatch.setattr(cupy_runtime, "_lost", [])
        monkeypatch.setattr(cupy_runtime, "_gpus", {})
        gpu_at(0)
        cupy_runtime._forget_after_fork()
        assert not cupy_runtime._gpus
        with pytest.raises(gradiva.OperatorRuntimeError, match="before this process was forked"):
            gradiva.flip(np.zeros((4, 4, 1), np.uint8), device="gpu")


def test_a_stream_belongs_to_its_gpu() -> None:
    """A kernel on the stream of another GPU than its memory's would be refused by CUDA."""
    with simulated(2):
        theirs: Any = Theirs(7)
        theirs.device_index = 1
        assert gradiva.Stream(theirs).device_id == 1
        gradiva.set_current_stream(theirs)
        assert [gpu_at(n).stream.handle == 7 for n in (0, 1)] == [False, True]
        gradiva.set_current_stream(None)
        for stream in (theirs, gradiva.Stream(device_id=1)):
            with pytest.raises(gradiva.OperatorValueError, match="of gpu:0, got one of gpu:1"):
                gradiva.EvalContext(device_id=0, cuda_stream=stream)
        theirs.device_index = -1
        assert gradiva.Stream(theirs, 1).device_id == 1


def test_numpy_and_loops_are_told_to_fetch_an_array() -> None:
    with simulated():
        there = gradiva.as_batch(np.zeros((2, 3))).gpu().as_array()
        for take in (list, np.asarray, lambda array: array[0]):
            with pytest.raises(TypeError, match=r"take \.get\(\) of it first"):
                take(there)
