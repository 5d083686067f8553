"""Growth, shrinking, presizing and poison of host memory, by functions and by the environment."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import backend, fn
from gradiva.eager.cuda import requirements
from gradiva.eager.runtime import host_memory, memory_settings
from gradiva.eager.runtime.host_memory import MemoryPool, capacity
from gradiva.eager.runtime.memory_settings import MemorySettings
from gradiva.eager.values import poison
from tests.everything import EVERYTHING

ROOT = Path(__file__).parents[3]
VARIABLES = {
    "HOST_BUFFER_SHRINK_THRESHOLD": ("1.5", "-0.1", "nan", "much"),
    "HOST_BUFFER_GROWTH_FACTOR": ("0.5", "4.1", "inf", "nan", "x"),
    "DEVICE_BUFFER_GROWTH_FACTOR": ("0", "5", "1,5"),
    "BUFFER_GROWTH_FACTOR": ("-1", "100", "two"),
}


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[MemorySettings]:
    """Settings of a process that has just started, in force everywhere in the test."""
    settings = MemorySettings()
    monkeypatch.setattr(memory_settings, "settings", settings)
    monkeypatch.setattr(backend, "settings", settings)
    monkeypatch.setattr(poison, "settings", settings)
    monkeypatch.setattr(host_memory.pool, "_settings", settings)
    monkeypatch.setattr("gradiva.capture.runtime.preallocate.settings", settings)
    for name in (*VARIABLES, "POISON", "HOST_MEMORY_KEPT"):
        for prefix in ("DALI_", "GRADIVA_"):
            monkeypatch.delenv(prefix + name, raising=False)
    yield settings
    host_memory.pool.clear()


@pytest.fixture
def own(fresh: MemorySettings) -> MemoryPool:
    """A pool of the test's own."""
    return MemoryPool(settings=fresh)


def settle(pool: MemoryPool, nbytes: int) -> int:
    """Use and give back a block for `nbytes`; its size."""
    array = pool.allocate(nbytes)
    size = capacity(array)
    del array
    gc.collect()
    return size


def test_defaults_are_the_documented_ones(fresh: MemorySettings) -> None:
    assert backend.GetHostBufferShrinkThreshold() == 0.9
    assert backend.GetHostBufferGrowthFactor() == 1.0
    assert backend.GetDeviceBufferGrowthFactor() == 1.0


@pytest.mark.parametrize(
    ("threshold", "smaller", "same"),
    [
        (0.9, 940_000, True),
        (0.9, 800_000, False),
        (0, 20_000, True),
        (0.5, 520_000, True),
        (0.5, 440_000, False),
        (1, 900_000, False),
        (1, 1_000_000, True),
    ],
)
def test_a_smaller_request_takes_the_block_or_not(
    own: MemoryPool, threshold: float, smaller: int, same: bool
) -> None:
    backend.SetHostBufferShrinkThreshold(threshold)
    size = settle(own, 1_000_000)
    array = own.allocate(smaller)
    assert (capacity(array) == size) is same
    assert capacity(array) >= array.nbytes == smaller


def test_the_smallest_block_that_fits_is_taken(own: MemoryPool) -> None:
    backend.SetHostBufferShrinkThreshold(0)
    held = [own.allocate(size) for size in (4_000_000, 500_000, 900_000)]
    sizes = [capacity(array) for array in held]
    del held
    assert capacity(own.allocate(600_000)) == sizes[2]


@pytest.mark.parametrize("factor", [1.0, 1.25, 2, 4])
def test_fresh_blocks_have_a_margin(own: MemoryPool, factor: float) -> None:
    backend.SetHostBufferGrowthFactor(factor)
    size = settle(own, 1_000_000)
    assert 1_000_000 * factor <= size <= 1_000_000 * factor * 1.126
    larger = own.allocate(int(1_000_000 * factor * 0.999))
    assert capacity(larger) == size
    del larger
    assert settle(own, 1_000_000) == size, "the margin does not defeat reuse"


def test_a_grown_block_serves_larger_requests(own: MemoryPool) -> None:
    backend.SetHostBufferGrowthFactor(2)
    array = own.allocate(1_000_000)
    address = array.ctypes.data
    del array
    gc.collect()
    assert own.allocate(1_900_000).ctypes.data == address


def test_functions_set_and_get(fresh: MemorySettings) -> None:
    backend.SetHostBufferShrinkThreshold(0.25)
    backend.SetBufferGrowthFactor(1.5)
    backend.SetDeviceBufferGrowthFactor(np.float64(3))
    assert backend.GetHostBufferShrinkThreshold() == 0.25
    assert backend.GetHostBufferGrowthFactor() == 1.5
    assert backend.GetDeviceBufferGrowthFactor() == 3.0


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SetHostBufferShrinkThreshold", 1.01),
        ("SetHostBufferShrinkThreshold", -1e-9),
        ("SetHostBufferShrinkThreshold", float("nan")),
        ("SetHostBufferGrowthFactor", 0.99),
        ("SetDeviceBufferGrowthFactor", 4.01),
        ("SetBufferGrowthFactor", float("inf")),
        ("SetBufferGrowthFactor", float("nan")),
        ("SetHostBufferGrowthFactor", "2"),
        ("SetHostBufferShrinkThreshold", None),
    ],
)
def test_functions_refuse(fresh: MemorySettings, name: str, value: Any) -> None:
    kind = ValueError if isinstance(value, float) else TypeError
    with pytest.raises(kind, match=rf"{name}: argument `\w+`: expected a number from \d .*, got"):
        getattr(backend, name)(value)
    assert backend.GetHostBufferGrowthFactor() == 1.0
    assert backend.GetHostBufferShrinkThreshold() == 0.9


def test_variables_and_their_order(fresh: MemorySettings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DALI_HOST_BUFFER_SHRINK_THRESHOLD", "0.25")
    monkeypatch.setenv("DALI_BUFFER_GROWTH_FACTOR", "3")
    monkeypatch.setenv("DALI_HOST_BUFFER_GROWTH_FACTOR", "2")
    assert backend.GetHostBufferShrinkThreshold() == 0.25
    assert backend.GetHostBufferGrowthFactor() == 2.0, "the special one wins"
    assert backend.GetDeviceBufferGrowthFactor() == 3.0
    backend.SetHostBufferGrowthFactor(1.0)
    assert backend.GetHostBufferGrowthFactor() == 1.0, "functions win"


def test_own_variables_win(fresh: MemorySettings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADIVA_BUFFER_GROWTH_FACTOR", "3")
    monkeypatch.setenv("DALI_HOST_BUFFER_GROWTH_FACTOR", "2")
    monkeypatch.setenv("DALI_HOST_BUFFER_SHRINK_THRESHOLD", "0.2")
    monkeypatch.setenv("GRADIVA_HOST_BUFFER_SHRINK_THRESHOLD", "")
    assert backend.GetHostBufferGrowthFactor() == 3.0
    assert backend.GetHostBufferShrinkThreshold() == 0.2, "an empty variable is not set"


def test_a_function_before_the_first_use_wins(
    fresh: MemorySettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DALI_HOST_BUFFER_GROWTH_FACTOR", "2")
    backend.SetHostBufferGrowthFactor(1.5)
    assert backend.GetHostBufferGrowthFactor() == 1.5


@pytest.mark.parametrize("prefix", ["DALI_", "GRADIVA_"])
@pytest.mark.parametrize(("name", "value"), [(n, v) for n in VARIABLES for v in VARIABLES[n]])
def test_invalid_variables(
    fresh: MemorySettings, monkeypatch: pytest.MonkeyPatch, prefix: str, name: str, value: str
) -> None:
    monkeypatch.setenv(prefix + name, value)
    message = rf"{prefix}{name}; expected a number from \d .*, got '{value}'"
    for use in (
        lambda: gradiva.flip(gradiva.as_batch(np.zeros((2, 4, 4, 3), np.uint8))),
        lambda: constant_pipeline().build(),
        backend.GetHostBufferGrowthFactor,
    ):
        with pytest.raises(gradiva.OperatorValueError, match=message):
            use()
    monkeypatch.delenv(prefix + name)
    assert backend.GetHostBufferGrowthFactor() == 1.0, "an error is not remembered"


def constant_pipeline(**options: Any) -> gradiva.Pipeline:
    pipe = gradiva.Pipeline(**{"batch_size": 2, "num_threads": 1, **options})
    with pipe:
        images = fn.external_source(source=lambda: np.zeros((2, 40, 50, 3), np.uint8), layout="HWC")
        pipe.set_outputs(fn.flip(images, bytes_per_sample_hint=100_000))
    return pipe


@pytest.mark.parametrize("name", ["GRADIVA_POISON", "GRADIVA_HOST_MEMORY_KEPT"])
def test_other_invalid_variables(
    own: MemoryPool, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "yes")
    with pytest.raises(gradiva.OperatorValueError, match=rf"{name}; expected .*, got 'yes'"):
        own.allocate(10)


@pytest.mark.full
def test_import_does_not_fail() -> None:
    """Whatever the variables are: they are read at first use."""
    bad = dict.fromkeys(
        [
            *(f"DALI_{name}" for name in VARIABLES),
            "DALI_NUM_THREADS",
            "DALI_AFFINITY_MASK",
            "GRADIVA_POISON",
            "GRADIVA_HOST_MEMORY_KEPT",
        ],
        "bad",
    )
    run = subprocess.run(
        [sys.executable, "-c", EVERYTHING],
        env={**os.environ, "PYTHONPATH": str(ROOT), **bad},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (run.returncode, run.stderr) == (0, "")


def test_version_of_cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the compiler that is installed: scripts compare it with numbers such as 12200."""
    installed = {"nvidia-cuda-nvrtc": "13.1"}

    def version(name: str) -> str:
        if name not in installed:
            raise PackageNotFoundError(name)
        return installed[name]

    monkeypatch.setattr(vars(requirements)["metadata"], "version", version)
    assert backend.__cuda_version__ == 13100
    installed["nvidia-cuda-nvrtc-cu12"] = "12.9.86"
    assert backend.__cuda_version__ == 12986
    installed.clear()
    assert backend.__cuda_version__ == 0
    with pytest.raises(AttributeError, match="no attribute '__none__'"):
        _ = backend.__none__


def test_no_gpu_is_said() -> None:
    assert backend.GetCUDADeviceCount() == 0
    with pytest.raises(gradiva.OperatorRuntimeError, match=r"PreallocatePinned.*is not available"):
        backend.PreallocatePinnedMemory(1 << 20)
    with pytest.raises(gradiva.OperatorRuntimeError, match=r"PreallocateDevice.*is not available"):
        backend.PreallocateDeviceMemory(1 << 20, 0)
    with pytest.raises(TypeError, match="`bytes`: expected a number of bytes"):
        backend.PreallocatePinnedMemory("many")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="`bytes`: expected a number of bytes"):
        backend.PreallocateDeviceMemory(-1, 0)


def test_memory_in_use_is_counted(fresh: MemorySettings) -> None:
    gc.collect()
    backend.ReleaseUnusedMemory()
    before = backend.memory_stats()
    assert before.kept == 0
    batch = gradiva.flip(gradiva.as_batch(np.zeros((8, 100, 100, 3), np.uint8)))
    during = backend.memory_stats()
    size = capacity(batch.data)
    assert size >= 240_000
    assert during.leased - before.leased == size
    assert during.peak >= during.leased
    del batch
    until = time.monotonic() + 10  # a worker may still be letting go of its last job
    while (after := backend.memory_stats()).leased != before.leased and time.monotonic() < until:
        time.sleep(0.01)
    assert (after.leased, after.kept) == (before.leased, size)
    backend.ReleaseUnusedMemory()
    assert backend.memory_stats().kept == 0


def test_a_failed_allocation_is_not_counted(own: MemoryPool) -> None:
    with pytest.raises(MemoryError):
        own.allocate(1 << 55)
    assert own.stats() == (0, 0, own.stats().peak)


def test_reserve(own: MemoryPool) -> None:
    own.reserve(1_000_000, 3)
    kept = own.stats().kept
    assert 3_000_000 <= kept <= 3_400_000
    own.reserve(1_000_000, 2)
    assert own.stats().kept == kept, "what waits is counted"
    held = [own.allocate(1_000_000) for _ in range(3)]
    assert own.stats().kept == 0
    assert len(held) == 3


def test_reserve_stays_below_the_limit(fresh: MemorySettings) -> None:
    pool = MemoryPool(limit=2_500_000, settings=fresh)
    pool.reserve(1_000_000, 100)
    assert 2_000_000 <= pool.stats().kept <= 2_500_000
    pool.reserve(10_000_000, 1)
    assert pool.stats().peak < 5_000_000


def test_presized_before_the_first_run(fresh: MemorySettings) -> None:
    backend.ReleaseUnusedMemory()
    pipe = constant_pipeline(prefetch_queue_depth=3)
    pipe.build()
    # An output: three batches ahead, one being made, one in the user's hands.
    assert 5 * 200_000 <= backend.memory_stats().kept <= 5 * 230_000
    pipe.close()
    backend.ReleaseUnusedMemory()
    pipe = constant_pipeline(bytes_per_sample=300_000, prefetch_queue_depth=1)
    pipe.build()
    # The source has no hint of its own: that of the pipeline, for two batches at work.
    assert backend.memory_stats().kept >= 3 * 200_000 + 2 * 600_000
    pipe.close()


def test_hints_change_no_bit_and_stay_through_the_passes(fresh: MemorySettings) -> None:
    def pipeline(**hint: Any) -> gradiva.Pipeline:
        pipe = gradiva.Pipeline(batch_size=2, num_threads=1)
        with pipe:
            data = np.arange(2 * 8 * 9 * 3, dtype=np.uint8).reshape(2, 8, 9, 3)
            images = fn.external_source(source=lambda: data, layout="HWC")
            pipe.set_outputs(fn.crop_mirror_normalize(images, crop=(4, 5), **hint))
        return pipe

    plain, hinted = pipeline(), pipeline(bytes_per_sample_hint=[240])
    np.testing.assert_array_equal(plain.run()[0].as_array(), hinted.run()[0].as_array())
    assert hinted.graph.nodes[-1].members[-1].attribute("bytes_per_sample_hint") == (240,)
    plain.close()
    hinted.close()


@pytest.mark.parametrize(
    ("hint", "message"),
    [
        (-1, "a number of bytes or several"),
        ("x", "a number of bytes or several"),
        ([1.5], "a number of bytes or several"),
        ([1, 2], "one number, got 2"),
    ],
)
def test_bad_hints(hint: Any, message: str) -> None:
    pipe = gradiva.Pipeline(batch_size=2, num_threads=1)
    with pipe:
        images = fn.external_source(source=lambda: np.zeros((2, 4, 4, 3), np.uint8), layout="HWC")
        with pytest.raises(
            gradiva.GradivaError, match=rf"`bytes_per_sample_hint`: expected {message}"
        ):
            fn.flip(images, bytes_per_sample_hint=hint)


@pytest.mark.parametrize("value", [-1, 1.5, "x"])
def test_bad_bytes_per_sample(value: Any) -> None:
    with pytest.raises(gradiva.GradivaError, match="`bytes_per_sample`: expected a number of byte"):
        gradiva.Pipeline(batch_size=1, num_threads=1, bytes_per_sample=value)


def test_lent_batches_are_the_outputs_normally(fresh: MemorySettings) -> None:
    batch = gradiva.as_batch(np.ones((2, 3), np.float32))
    assert poison.mark_in_use(batch) is batch
    poison.poison(batch)
    assert (batch.as_array() == 1).all()


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.float16, np.float32, np.float64])
def test_poison_shows_a_use_after_release(
    fresh: MemorySettings, monkeypatch: pytest.MonkeyPatch, dtype: Any
) -> None:
    monkeypatch.setenv("GRADIVA_POISON", "1")
    owned = np.ones((2, 3), dtype)
    batch = gradiva.as_batch(owned)
    lent = poison.mark_in_use(batch)
    view = lent.as_array()
    np.testing.assert_array_equal(view, owned)
    poison.poison(batch)
    assert (owned == 1).all(), "what was not lent is the user's"
    poison.poison(lent)
    assert (view.view(np.uint8) == 255).all()
    assert dtype in (np.uint8, np.int32) or np.isnan(view).all()
    assert (owned == 1).all()
    poison.poison(lent)  # twice is harmless


def test_poisoned_blocks(own: MemoryPool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADIVA_POISON", "1")
    for nbytes in (100, 100_000):
        array = own.allocate(nbytes)
        assert (array == 255).all(), "a fresh block"
        array[:] = 7
        address = array.ctypes.data
        del array
        gc.collect()
        again = own.allocate(nbytes)
        assert again.ctypes.data == address
        assert (again == 255).all(), "a block that was given back"


def test_poison_changes_no_result(fresh: MemorySettings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing reads what it has not written, and nothing is given back too early."""
    images = np.random.default_rng(0).integers(0, 256, (3, 30, 40, 3), np.uint8)

    def results() -> list[Any]:
        pipe = gradiva.Pipeline(batch_size=3, num_threads=2)
        with pipe:
            source = fn.external_source(source=lambda: images, layout="HWC")
            flipped = fn.flip(source)
            outputs = fn.crop(flipped, crop=(20, 20)), fn.cast(flipped, dtype=gradiva.float32) + 1
            pipe.set_outputs(*outputs)
        arrays = [batch.as_array() for _ in range(4) for batch in pipe.run()]
        pipe.close()
        return arrays

    plain = results()
    monkeypatch.setenv("GRADIVA_POISON", "1")
    fresh.ready = False
    poisoned = results()
    assert fresh.poison
    for one, other in zip(plain, poisoned, strict=True):
        np.testing.assert_array_equal(one, other)
