"""The calls of nvJPEG, against a stand-in that decodes on the CPU and sees every race: order,
lifetimes, threads, refusals, failures. Nothing here says what hardware does."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from gradiva.eager.errors import OperatorRuntimeError
from gradiva.eager.threads import WorkerPool
from gradiva.ops.decoders.formats.probe import probe
from gradiva.ops.decoders.nvjpeg import decoder as decoder_module
from gradiva.ops.decoders.nvjpeg.allocators import Allocator
from gradiva.ops.decoders.nvjpeg.declarations import FLAG_SMOOTH, FLAG_STRICT, Status
from gradiva.ops.decoders.nvjpeg.decoder import JpegDecoder
from gradiva.ops.decoders.nvjpeg.hardware import HardwareDecoder
from gradiva.ops.decoders.nvjpeg.hybrid import HybridWorker
from gradiva.ops.decoders.nvjpeg.job import Job
from gradiva.ops.decoders.nvjpeg.library import REFUSALS, Library, NvjpegError
from gradiva.ops.decoders.nvjpeg.plan import plan
from gradiva.ops.decoders.nvjpeg.route import Options, Path, Reason
from gradiva.ops.decoders.nvjpeg.runtime import Owned

from .nvjpeg_clock import FakeGpu
from .nvjpeg_fake import FakeNvjpeg, as_asked
from .oracle import flavours

FLAVOURS = {name: make() for name, make in flavours.jpegs().items()}
FILES = list(FLAVOURS.values())
PLAIN = [flavours.pil(flavours.ASTRONAUT[i:, i:], "JPEG") for i in range(12)]
TRANSFER, DEVICE = "nvjpegDecodeJpegTransferToDevice", "nvjpegDecodeJpegDevice"
HYBRID_CALLS = ("nvjpegJpegStreamParse", "nvjpegDecodeJpegHost", TRANSFER, DEVICE)


class Bench:
    """A fake GPU and library, and a decoder on them."""

    def __init__(
        self, threads: int = 3, engines: int = 7, slow: bool = False, **options: Any
    ) -> None:
        self.gpu = FakeGpu()
        self.fake = FakeNvjpeg(self.gpu, engines, slow)
        self.gpu.activate()
        self.decoder = JpegDecoder(Library(self.fake), self.gpu, **options)
        self.stream = self.gpu.create_stream()
        self.pool = WorkerPool(threads)

    def jobs(
        self,
        files: list[bytes],
        options: Options | None = None,
        window: tuple[int, int, int, int] | None = None,
    ) -> tuple[list[list[Job]], list[Job], list[np.ndarray[Any, Any]]]:
        """Routed jobs with memory of their own: (for the engine, hybrid, memory)."""
        arrays = [np.frombuffer(bytearray(data), np.uint8) for data in files]
        windows = None if window is None else [window] * len(files)
        made = plan(arrays, list(map(probe, arrays)), options or Options(), windows, False)
        for i, array in enumerate(arrays):
            self.fake.watch(i, array)
        jobs = [*made.hybrid, *(job for batch in made.engine for job in batch)]
        for job in jobs:
            job.keep = np.full(job.shape, 99, np.uint8)
            job.write_to(job.keep.ctypes.data)
            self.fake.own(job.keep)
            # The block was used before, on the stream that has it now.
            self.gpu.on_device(self.stream, "earlier use", ("pixels", job.keep.ctypes.data))
        return made.engine, made.hybrid, [job.keep for job in jobs]

    def decode(self, engine: Any, hybrid: Any) -> list[tuple[Job, NvjpegError]]:
        refused = self.decoder.decode(engine, hybrid, self.stream, self.pool.run)
        for job in [*hybrid, *(job for batch in engine for job in batch)]:
            pixels = "pixels", int(job.destination[0])
            self.gpu.on_device(self.stream, "later use", pixels)
        return refused

    def calls(self, *names: str) -> list[tuple[str, int | None]]:
        return [call for call in self.fake.calls if call[0] in names]

    def close(self) -> None:
        self.decoder.close()
        self.pool.close()
        assert self.fake.live == {}
        assert self.gpu.events == {}
        assert list(self.gpu.streams) == [self.stream]


@contextmanager
def bench(**options: Any) -> Iterator[Bench]:
    made = Bench(**options)
    yield made
    made.close()
    assert made.gpu.violations == []


def right(job: Job) -> bool:
    """Whether its memory holds what the CPU makes of the file."""
    planes = np.stack(as_asked(job.data, job.output, _roi(job)))
    return np.array_equal(job.keep.ravel(), planes.ravel())


def _roi(job: Job) -> tuple[int, int, int, int]:
    top, left, height, width = job.region
    return left, top, width, height


@pytest.mark.parametrize("load", [0.0, 0.65, 1.0])
def test_every_flavour_arrives_where_it_should(load: float) -> None:
    with bench() as b:
        engine, hybrid, _ = b.jobs(FILES, Options(hw_decoder_load=load))
        assert b.decode(engine, hybrid) == []
        assert all(right(job) for job in [*hybrid, *(job for batch in engine for job in batch)])
        # 2 files of the flavours stay on the host: arithmetic, and mixed sampling.
        assert len(hybrid) + sum(map(len, engine)) == len(FILES) - 2
        assert bool(engine) == (load > 0)
        assert len(b.calls("nvjpegDecodeBatchedEx")) == sum(map(len, engine))


def test_windows_are_decoded_alone() -> None:
    with bench() as b:
        files = [FLAVOURS[name] for name in ("jpeg_420", "jpeg_444", "jpeg_gray", "jpeg_422")]
        window = (7, 20, 33, 41)
        _, hybrid, _ = b.jobs(files, Options(hw_decoder_load=0), window)
        assert {job.region for job in hybrid} == {window}
        assert b.decode([], hybrid) == []
        assert all(right(job) for job in hybrid)
        # Whole images afterwards: no window stays behind in the parameters.
        _, hybrid, _ = b.jobs(files, Options(hw_decoder_load=0))
        assert b.decode([], hybrid) == []
        assert all(right(job) for job in hybrid)


def test_many_batches_on_many_threads() -> None:
    with bench(threads=4, slow=True) as b:
        for turn in range(6):
            engine, hybrid, _ = b.jobs(PLAIN[turn:] + PLAIN, Options(hw_decoder_load=0.4))
            assert b.decode(engine, hybrid) == []
            assert all(right(job) for job in hybrid)
        assert len(b.fake.threads) > 1
        states = [item for item in b.fake.live.values() if item["kind"] == "state"]
        assert len(states) <= 4 * 4 + 1


def test_the_calls_of_one_image_in_order() -> None:
    with bench(threads=1, engines=0) as b:
        _, hybrid, _ = b.jobs(PLAIN[:3], Options(hardware=False))
        b.decode([], hybrid)
        expected = [(name, job.index) for job in hybrid for name in HYBRID_CALLS]
        assert b.calls(*HYBRID_CALLS) == expected
        # One wait per image but the first, one record per image, one hand-over.
        kinds = [entry[0] for entry in b.gpu.log]
        assert kinds == [
            "record", "stream_wait", "record", "wait", "record", "wait", "record", "stream_wait",
        ]  # fmt: skip


def test_large_images_take_the_device_if_it_can() -> None:
    with bench(threads=1, engines=0) as b:
        _, hybrid, _ = b.jobs(PLAIN[:3], Options(hardware=False, hybrid_huffman_threshold=0))
        assert {job.path for job in hybrid} == {Path.GPU_HYBRID}
        b.fake.fail["nvjpegDecoderJpegSupported", 1] = 1
        assert b.decode([], hybrid) == []
        states = [s for s in b.fake.live.values() if s["kind"] == "state" and "input" in s]
        by_backend = {b.fake.live[s["decoder"]]["backend"]: s["input"]["file"] for s in states}
        assert by_backend[1] == 1
        assert by_backend[2] in (0, 2)


def test_files_are_held_until_the_device_is_done() -> None:
    with bench() as b:
        for _ in range(3):
            engine, hybrid, _ = b.jobs(PLAIN, Options(hw_decoder_load=0.5))
            b.decode(engine, hybrid)
            del engine, hybrid, _
            gc.collect()
        assert b.fake.files  # the last ones are still held
        b.decoder.finish()
        gc.collect()
        assert not b.fake.files


def test_no_engine() -> None:
    with bench(engines=0) as b:
        assert not b.decoder.has_hardware
        engine, hybrid, _ = b.jobs(PLAIN, Options(hw_decoder_load=0.5))
        assert b.decode(engine, hybrid) == []
        assert all(right(job) for batch in engine for job in batch)
        assert b.calls("nvjpegDecodeBatchedEx") == []


def test_what_the_engine_does_not_support_goes_to_the_threads() -> None:
    with bench() as b:
        engine, hybrid, _ = b.jobs(PLAIN, Options(hw_decoder_load=1))
        b.fake.fail["nvjpegDecodeBatchedSupportedEx", 2] = 1
        b.fake.fail["nvjpegJpegStreamParseHeader", 5] = Status.BAD_JPEG
        assert b.decode(engine, hybrid) == []
        assert {file for _, file in b.calls(DEVICE)} == {2, 5}
        assert all(right(job) for batch in engine for job in batch)


def test_one_bad_image_leaves_the_engine_to_the_others() -> None:
    with bench() as b:
        engine, hybrid, _ = b.jobs(PLAIN, Options(hw_decoder_load=1))
        b.fake.fail["nvjpegDecodeBatchedEx", 4] = Status.EXECUTION_FAILED
        with pytest.raises(NvjpegError, match="EXECUTION_FAILED"):
            b.decode(engine, hybrid)
        b.fake.fail["nvjpegDecodeBatchedEx", 4] = Status.BAD_JPEG
        b.fake.calls.clear()
        assert b.decode(engine, hybrid) == []
        assert {file for _, file in b.calls(DEVICE)} == {4}
        assert all(right(job) for batch in engine for job in batch)


def test_a_second_attempt_waits_for_the_first() -> None:
    """A refused batch may have begun to write: the threads write there only when it is done."""
    with bench() as b:
        engine, hybrid, _ = b.jobs(PLAIN, Options(hw_decoder_load=1))
        for file in range(len(PLAIN)):
            b.fake.fail["nvjpegDecodeBatchedEx", file] = Status.INTERNAL_ERROR
        assert b.decode(engine, hybrid) == []
        assert len(b.calls(DEVICE)) == len(PLAIN)
        assert all(right(job) for batch in engine for job in batch)


@pytest.mark.parametrize("status", sorted(REFUSALS))
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
@pytest.mark.parametrize("function", [*HYBRID_CALLS, "nvjpegDecodeBatchedEx"])
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
    for name in ("nvjpegCreateExV2", "nvjpegSetDeviceMemoryPadding", "nvjpegGetHardwareDecoderInfo",
                 "nvjpegDecodeBatchedPreAllocate"):  # fmt: skip
        gpu = FakeGpu()
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
        b.fake.fail["nvjpegBufferPinnedCreateV2", None] = Status.ALLOCATOR_FAILURE
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


def test_hints_reach_the_library() -> None:
    hints = {"device_padding": 1 << 20, "pinned_padding": 4096, "fancy_upsampling": True}
    with bench(preallocate=(64, 1920, 1080), **hints) as b:
        states = [item for item in b.fake.live.values() if item["kind"] == "state"]
        assert states[0]["allocated"] == (64, 1920, 1080)
        shared = next(item for item in b.fake.live.values() if item.get("backend") == 0)
        assert (shared["device padding"], shared["pinned padding"]) == (1 << 20, 4096)
        assert shared["flags"] == FLAG_STRICT | FLAG_SMOOTH


def test_an_empty_batch() -> None:
    with bench() as b:
        assert b.decode([], []) == []


@pytest.mark.parametrize("seed", range(12))
def test_any_mixture_of_refusals(seed: int) -> None:
    """Whatever is refused where: each image is right, or is among those for the host."""
    random = np.random.default_rng(seed)
    anywhere = (
        *HYBRID_CALLS, "nvjpegDecodeBatchedEx", "nvjpegDecodeBatchedSupportedEx",
        "nvjpegJpegStreamParseHeader", "nvjpegDecoderJpegSupported",
    )  # fmt: skip
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


def counted(limit: int, *, pinned: bool) -> Allocator:
    """An allocator of ordinary memory with room for so many blocks."""
    made: list[Any] = []

    def allocate(size: int, stream: int) -> tuple[int, Any]:
        if len(made) == limit:
            raise MemoryError(f"no room for {size} bytes")
        made.append(np.empty(size, np.uint8))
        return made[-1].ctypes.data, made[-1]

    return Allocator(allocate, pinned=pinned)


def test_memory_comes_from_the_given_allocators() -> None:
    pinned, device = counted(100, pinned=True), counted(100, pinned=False)
    with bench(pinned=pinned, device=device) as b:
        _, hybrid, _ = b.jobs(PLAIN, Options(hw_decoder_load=0))
        assert b.decode([], hybrid) == []
        workers = device.blocks
        assert workers in (1, 2, 3)
        assert workers <= pinned.blocks <= 2 * workers
    assert pinned.blocks == device.blocks == 0


@pytest.mark.parametrize("kind", ["pinned", "device"])
def test_out_of_memory_is_an_error_with_its_cause(kind: str) -> None:
    with bench(**{kind: counted(0, pinned=kind == "pinned")}) as b:
        _, hybrid, _ = b.jobs(PLAIN, Options(hw_decoder_load=0))
        with pytest.raises(NvjpegError, match="out of device or pinned memory") as caught:
            b.decode([], hybrid)
        assert isinstance(caught.value.__cause__, MemoryError)


def test_a_plan_names_what_stays_on_the_host() -> None:
    files = [FLAVOURS["jpeg_arithmetic"], FLAVOURS["jpeg_420"],
             flavours.pil(flavours.ASTRONAUT, "PNG"), PLAIN[0][:-2]]  # fmt: skip
    arrays = [np.frombuffer(data, np.uint8) for data in files]
    made = plan(arrays, list(map(probe, arrays)), Options())
    assert made.host == [(0, Reason.CODING), (2, Reason.FORMAT), (3, Reason.DAMAGE)]
    jobs = [*made.hybrid, *(job for batch in made.engine for job in batch)]
    assert [job.index for job in jobs] == [1]


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
