"""Refusals and failures of nvJPEG, against the stand-in; and that the stand-in sees faults."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from gradiva.eager.support.errors import OperatorRuntimeError
from gradiva.ops.decoders.jpeg.gpu import decoder as decoder_module
from gradiva.ops.decoders.jpeg.gpu.declarations import Status
from gradiva.ops.decoders.jpeg.gpu.decoder import JpegDecoder
from gradiva.ops.decoders.jpeg.gpu.hardware import HardwareDecoder
from gradiva.ops.decoders.jpeg.gpu.hybrid import HybridWorker
from gradiva.ops.decoders.jpeg.gpu.library import REFUSALS, Library, NvjpegError
from gradiva.ops.decoders.jpeg.gpu.route import Options
from gradiva.ops.decoders.jpeg.gpu.runtime import Owned
from tests.ops.decoders.nvjpeg_bench import (
    DEVICE,
    HYBRID_CALLS,
    PLAIN,
    Bench,
    bench,
    counted,
    right,
)
from tests.ops.decoders.nvjpeg_clock import FakeGpu
from tests.ops.decoders.nvjpeg_fake import FakeNvjpeg
from tests.oracle import flavors
from tests.tiers import few


def test_what_the_engine_does_not_support_goes_to_the_threads() -> None:
    with bench() as b:
        small = flavors.pil(flavors.ASTRONAUT[:40], "JPEG")
        engine, hybrid, _ = b.jobs([*PLAIN, small], Options(hw_decoder_load=1))
        # It is asked once for images that are alike; a header that it cannot read is no answer.
        b.fake.fail["nvjpegDecodeBatchedSupportedEx", len(PLAIN)] = 1
        b.fake.fail["nvjpegJpegStreamParseHeader", 0] = Status.BAD_JPEG
        assert b.decode(engine, hybrid) == []
        assert len(b.calls("nvjpegDecodeBatchedSupportedEx")) == 2
        assert {file for _, file in b.calls(DEVICE)} == {0, len(PLAIN)}
        assert all(right(job) for batch in engine for job in batch)


def test_one_bad_image_leaves_the_engine_to_the_others() -> None:
    with bench() as b:
        engine, hybrid, _ = b.jobs(PLAIN, Options(hw_decoder_load=1))
        b.fake.fail["nvjpegDecodeBatched", 4] = Status.EXECUTION_FAILED
        with pytest.raises(NvjpegError, match="EXECUTION_FAILED"):
            b.decode(engine, hybrid)
        b.fake.fail["nvjpegDecodeBatched", 4] = Status.BAD_JPEG
        b.fake.calls.clear()
        assert b.decode(engine, hybrid) == []
        assert {file for _, file in b.calls(DEVICE)} == {4}
        assert all(right(job) for batch in engine for job in batch)


def test_a_second_attempt_waits_for_the_first() -> None:
    """A refused batch may have begun to write: the threads write there only when it is done."""
    with bench() as b:
        engine, hybrid, _ = b.jobs(PLAIN, Options(hw_decoder_load=1))
        for file in range(len(PLAIN)):
            b.fake.fail["nvjpegDecodeBatched", file] = Status.INTERNAL_ERROR
        assert b.decode(engine, hybrid) == []
        assert len(b.calls(DEVICE)) == len(PLAIN)
        assert all(right(job) for batch in engine for job in batch)


@pytest.mark.parametrize("status", few(sorted(REFUSALS), count=1))
@pytest.mark.parametrize("function", HYBRID_CALLS)
def test_a_refused_image_is_for_the_host_alone(function: str, status: Status) -> None:
    with bench() as b:
        _, hybrid, _ = b.jobs(PLAIN[:7], Options(hw_decoder_load=0))
        for file in (1, 5):
            b.fake.fail[function, file] = status
        refused = b.decode([], hybrid)
        assert [(job.index, error.status) for job, error in refused] == [(1, status), (5, status)]
        assert function in str(refused[0][1])
        assert all(right(job) for job in hybrid if job.index not in (1, 5))
        b.fake.fail.clear()
        _, hybrid, _ = b.jobs(PLAIN[:7], Options(hw_decoder_load=0))
        assert b.decode([], hybrid) == []
        assert all(right(job) for job in hybrid)


@pytest.mark.parametrize(
    "status", [Status.ALLOCATOR_FAILURE, Status.EXECUTION_FAILED, Status.NOT_INITIALIZED]
)
@pytest.mark.parametrize("function", [*HYBRID_CALLS, "nvjpegDecodeBatched"])
def test_a_failure_of_the_machine_fails_the_batch(function: str, status: Status) -> None:
    """And nothing is under way then; and the next batch works again, if the machine does."""
    load = 1.0 if "Batched" in function else 0.0
    with bench() as b:
        engine, hybrid, memory = b.jobs(PLAIN, Options(hw_decoder_load=load))
        b.fake.fail[function, 3] = status
        with pytest.raises(NvjpegError, match=status.name):
            b.decode(engine, hybrid)
        for block in memory:
            assert not b.gpu.pending(("pixels", block.ctypes.data)) or block_is_untouched(block)
        b.fake.fail.clear()
        engine, hybrid, _ = b.jobs(PLAIN, Options(hw_decoder_load=load))
        assert b.decode(engine, hybrid) == []


def block_is_untouched(block: np.ndarray[Any, Any]) -> bool:
    """Only its earlier use, on the user's stream, is under way."""
    return bool((block == 99).all())


def test_a_failed_start_leaves_nothing_behind() -> None:
    for name in (
        "nvjpegCreateEx",
        "nvjpegSetDeviceMemoryPadding",
        "nvjpegGetHardwareDecoderInfo",
        "nvjpegDecodeBatchedPreAllocate",
    ):
        gpu: Any = FakeGpu()
        gpu.activate()
        fake = FakeNvjpeg(gpu)
        fake.fail[name, None] = Status.ALLOCATOR_FAILURE
        with pytest.raises(NvjpegError, match=f"{name}.*out of device or pinned memory"):
            JpegDecoder(Library(fake), gpu, preallocate=(8, 640, 480))
        assert fake.live == {}
        assert gpu.streams == {}
        assert gpu.events == {}
        assert gpu.violations == []


def test_a_worker_that_cannot_start_leaves_nothing_behind() -> None:
    with bench() as b:
        _, hybrid, _ = b.jobs(PLAIN[:2], Options(hw_decoder_load=0))
        before = dict(b.fake.live)
        b.fake.fail["nvjpegBufferPinnedCreate", None] = Status.ALLOCATOR_FAILURE
        with pytest.raises(NvjpegError, match="out of device or pinned memory"):
            b.decode([], hybrid)
        assert b.fake.live == before


def test_a_broken_context_is_an_error_and_can_be_closed() -> None:
    b = Bench()
    _, hybrid, _ = b.jobs(PLAIN, Options(hw_decoder_load=0))
    b.decode([], hybrid)
    b.gpu.broken = True
    with pytest.raises(RuntimeError, match="the context is broken"):
        b.decode([], hybrid)
    b.decoder.close()
    b.decoder.close()
    with pytest.raises(OperatorRuntimeError, match="closed"):
        b.decode([], hybrid)
    b.pool.close()


@pytest.mark.parametrize("seed", few(range(12), count=3))
def test_any_mixture_of_refusals(seed: int) -> None:
    """Whatever is refused where: each image is right, or is among those for the host."""
    random = np.random.default_rng(seed)
    anywhere = (
        *HYBRID_CALLS,
        "nvjpegDecodeBatched",
        "nvjpegDecodeBatchedSupportedEx",
        "nvjpegJpegStreamParseHeader",
        "nvjpegDecoderJpegSupported",
    )
    with bench(slow=bool(seed % 2)) as b:
        for _ in range(2):
            b.fake.fail.clear()
            engine, hybrid, _ = b.jobs(
                PLAIN, Options(hw_decoder_load=0.5, hybrid_huffman_threshold=20_000)
            )
            for _ in range(random.integers(1, 20)):
                function, file = random.choice(anywhere), int(random.integers(len(PLAIN)))
                b.fake.fail[str(function), file] = int(random.choice(sorted(REFUSALS)))
            refused = {job.index for job, _ in b.decode(engine, hybrid)}
            jobs = [*hybrid, *(job for batch in engine for job in batch)]
            assert {job.index for job in jobs if not right(job)} <= refused
            bad = {file for function, file in b.fake.fail if function in HYBRID_CALLS}
            assert refused <= bad


@pytest.mark.parametrize("kind", ["pinned", "device"])
def test_out_of_memory_is_an_error_with_its_cause(kind: str) -> None:
    with bench(**{kind: counted(0, pinned=kind == "pinned")}) as b:
        _, hybrid, _ = b.jobs(PLAIN, Options(hw_decoder_load=0))
        with pytest.raises(NvjpegError, match="out of device or pinned memory") as caught:
            b.decode([], hybrid)
        assert isinstance(caught.value.__cause__, MemoryError)


# What the stand-in must notice: each fault, put in on purpose, is seen.


def no_wait(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(HybridWorker, "finish", lambda self: None)


def files_let_go(patch: pytest.MonkeyPatch) -> None:
    def finish(self: Any) -> None:
        self._held = None

    patch.setattr(HardwareDecoder, "finish", finish)


def no_ready(patch: pytest.MonkeyPatch) -> None:
    def begin(self: Any, ready: int, number: int) -> None:
        if number != self.number:
            self.number, self.used = number, False

    patch.setattr(HybridWorker, "begin", begin)


def _stuck(patch: pytest.MonkeyPatch, name: str, value: Any) -> None:
    kept = property(lambda self: value, lambda self, other: None)
    patch.setattr(HybridWorker, name, kept, raising=False)


def no_hand_over(patch: pytest.MonkeyPatch) -> None:
    _stuck(patch, "used", False)


def one_page(patch: pytest.MonkeyPatch) -> None:
    _stuck(patch, "_turn", 0)


def one_worker_for_all(patch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def shared(self: Any) -> Iterator[HybridWorker]:
        with self._lock:
            if not self._workers:
                pinned, device = self._tables
                self._workers.append(
                    HybridWorker(self._library, self._runtime, self._handle, pinned, device)
                )
        yield self._workers[0]

    patch.setattr(decoder_module.JpegDecoder, "_worker", shared)


def leak(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Owned, "_destroy", lambda self, name, handle: None)


FAULTS: list[tuple[Callable[[pytest.MonkeyPatch], None], str]] = [
    (no_wait, "touches"),
    (files_let_go, "touches|let go"),
    (no_ready, "pixels"),
    (no_hand_over, "later use touches"),
    (one_page, "nvjpegJpegStreamParse touches|DecodeJpegHost touches"),
    (one_worker_for_all, "in use by another thread"),
]


@pytest.mark.parametrize(("fault", "seen"), FAULTS, ids=[fault.__name__ for fault, _ in FAULTS])
def test_the_stand_in_sees_faults(
    fault: Callable[[pytest.MonkeyPatch], None], seen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    b = Bench(threads=4, slow=True)
    fault(monkeypatch)
    for _ in range(3):
        engine, hybrid, memory = b.jobs(PLAIN, Options(hw_decoder_load=0.5))
        try:
            b.decode(engine, hybrid)
        except NvjpegError:
            break
        del engine, hybrid, memory
    texts = [text for text in b.gpu.violations if any(part in text for part in seen.split("|"))]
    assert texts, b.gpu.violations
    monkeypatch.undo()
    b.pool.close()


def test_the_stand_in_sees_leaks(monkeypatch: pytest.MonkeyPatch) -> None:
    leak(monkeypatch)
    b = Bench()
    b.decoder.close()
    b.pool.close()
    assert b.fake.live


def test_an_interrupted_batch_leaves_nothing_under_way() -> None:
    """The threads of a pool go on when the caller is interrupted: then its memory is gone."""
    with bench() as b:
        _, hybrid, _ = b.jobs(PLAIN[:3], Options(hw_decoder_load=0))
        entered, go_on = threading.Event(), threading.Event()
        later: list[Callable[[], None]] = []
        begun: list[threading.Thread] = []

        def run(task: Callable[[int, int], None], ranges: Sequence[tuple[int, int]]) -> None:
            decode = HybridWorker.decode

            def slowly(worker: HybridWorker, job: Any) -> Any:
                entered.set()
                assert go_on.wait(10)
                return decode(worker, job)

            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(HybridWorker, "decode", slowly)
                begun.append(threading.Thread(target=task, args=ranges[0]))
                begun[0].start()
                assert entered.wait(10)
            later.append(lambda: task(*ranges[1]))
            threading.Timer(0.1, go_on.set).start()
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            b.decoder.decode([], hybrid, b.stream, run)
        done = len(b.calls(DEVICE))
        assert done == 1
        assert ("wait", b.decoder._workers[0].event) in b.gpu.log
        later[0]()
        begun[0].join(10)
        assert len(b.calls(DEVICE)) == done
