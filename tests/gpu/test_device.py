"""What must hold on a real GPU. Until one is had these tests say why they are skipped.

Each also runs on the simulated device, so that its own code is known to run; what that cannot show
(speed, races between threads of a block, what nvJPEG makes of a file) is for the real one.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import fn
from gradiva.eager.cuda import cupy_runtime
from gradiva.eager.cuda.cupy_runtime import check_gpu, gpu_at
from gradiva.eager.cuda.launch import NoGpuKernelError
from gradiva.eager.operators.cases import Case
from gradiva.eager.operators.operator import OperatorBase, operators
from gradiva.eager.support.errors import OperatorRuntimeError
from gradiva.ops.decoders.jpeg.gpu import decoder_pool
from gradiva.ops.decoders.jpeg.gpu.library import Library
from tests.oracle import flavors

from .harness import Planned, all_launches, planned, require_equal, with_gpu_kernels
from .nvjpeg import SimulatedNvjpeg
from .objects import objects_of
from .shim import COMPILER, NO_COMPILER
from .simulated import simulated

QUICK = ("equalize", "flip", "random.uniform")
"""Operators whose cases run on the simulated device in quick runs; `-m full` has all."""

REAL = pytest.param("real", marks=pytest.mark.gpu)
FLAVORS = flavors.jpegs()


def why_none() -> str | None:
    try:
        check_gpu(0)
    except OperatorRuntimeError as error:
        return str(error)
    return None


@pytest.fixture(params=["simulated", REAL])
def device(request: pytest.FixtureRequest) -> Iterator[str]:
    """Which kind of GPU there is in this test."""
    if request.param == "simulated":
        if COMPILER is None:
            pytest.skip(NO_COMPILER)
        with simulated():
            yield "simulated"
            gc.collect()
        return
    reason = why_none()
    if reason is not None:
        pytest.skip(reason)
    yield "real"


def of_all_operators() -> list[Any]:
    # What `not` stands before is decided on the CPU: eager calls of it refuse a GPU.
    names = [name for name in with_gpu_kernels() if name != "_conditional.not_"]
    real = [pytest.param("real", name, marks=pytest.mark.gpu) for name in names]
    quick = [pytest.param("simulated", name) for name in QUICK]
    rest = [name for name in names if name not in QUICK]
    return real + quick + [pytest.param("simulated", n, marks=pytest.mark.full) for n in rest]


def arrays_of(made: Any) -> list[np.ndarray[Any, Any]]:
    """All samples of all outputs, in host memory."""
    outputs = made if isinstance(made, tuple | list) else (made,)
    batches = [one.cpu() for one in outputs]
    return [
        np.array(array)
        for one in batches
        for array in (one.arrays() if isinstance(one, gradiva.Batch) else [np.asarray(one)])
    ]


def on_gpu(operator: OperatorBase, case: Case) -> Any:
    """The call there; what takes no `device` has its inputs there."""
    if "device" in operator.common:
        return operator.bind(case.inputs, {**case.arguments, "device": "gpu"})
    inputs = tuple(gradiva.as_batch(one).gpu() for one in case.inputs)
    return operator.bind(inputs, dict(case.arguments))


@pytest.mark.parametrize(("device", "name"), of_all_operators(), indirect=["device"])
def test_cases(device: str, name: str) -> None:
    """Every case of an operator, called eagerly: the bits of the CPU, or within its tolerance."""
    operator = operators[name]
    if device == "simulated":  # g++ compiles all that the operator needs at once
        objects_of({launch.unit for launch in all_launches(planned(operator))})
    assert operator.case_maker is not None
    for case in operator.case_maker():
        if case.raises is not None:
            continue
        # Both calls are the first ones of their step, so that they draw the same numbers.
        with gradiva.step(0):
            expected = arrays_of(operator.bind(case.inputs, dict(case.arguments)))
        try:
            with gradiva.step(0):
                made = arrays_of(on_gpu(operator, case))
        except NoGpuKernelError:
            continue
        what = f"{name}, {case.name}"
        require_equal(Planned(what, [], expected, made, operator.gpu_tolerance))


def images(seed: int, *shapes: tuple[int, int]) -> gradiva.Batch:
    generator = np.random.default_rng(seed)
    made = [generator.integers(0, 256, (*shape, 3)).astype(np.uint8) for shape in shapes]
    return gradiva.as_batch(made, layout="HWC")


def ragged(seed: int = 0) -> gradiva.Batch:
    return images(seed, (40, 30), (5, 7), (64, 50))


def program(batch: Any, times: int = 1) -> Any:
    """Some calls, one after the other."""
    for _ in range(times):
        batch = gradiva.flip(gradiva.brightness(batch, brightness=0.9))
    return batch


def same(one: Any, other: Any) -> None:
    for ours, theirs in zip(arrays_of(one), arrays_of(other), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_several_streams(device: str) -> None:
    """Threads with streams of their own, all at work at once."""
    wanted = [program(ragged(number), 3) for number in range(4)]

    def work(number: int) -> None:
        with gradiva.EvalContext(cuda_stream=gradiva.Stream()):
            for _ in range(5):
                same(program(ragged(number).gpu(), 3), wanted[number])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))


def test_a_slow_consumer(device: str) -> None:
    """One stream makes batches and drops them; another one reads them long afterwards."""
    size, turns = ((600, 800), 30) if device == "real" else ((20, 30), 6)
    making, reading = gradiva.Stream(), gradiva.Stream()
    results = []
    for number in range(turns):
        with gradiva.EvalContext(cuda_stream=making):
            batch = program(images(number, size, size).gpu())
        with gradiva.EvalContext(cuda_stream=reading):
            results.append(program(batch, 20 if device == "real" else 3))
        # From here on nothing but the work that was queued uses the memory.
        del batch
    gpu = gpu_at(0)
    assert gpu.memory.in_use >= sum(one.data.nbytes for one in results)
    for number, result in enumerate(results):
        expected = program(images(number, size, size))
        same(result, program(expected, 20 if device == "real" else 3))


def test_out_of_memory(device: str) -> None:
    """More than any GPU has: an error that says so, and everything goes on."""
    small = ragged().gpu()
    grains = gradiva.as_batch(np.zeros((512, 1, 1, 1), np.uint8), layout="HWC")
    for _ in range(2):
        with pytest.raises(OperatorRuntimeError, match=r"pad: .*the GPU has no .* bytes"):
            gradiva.pad(grains, axes=(0, 1), shape=[32768, 32768], device="gpu")
        same(program(small), program(ragged()))


def test_memory_does_not_grow(device: str) -> None:
    batch = ragged().gpu()
    used = []
    for _ in range(30):
        program(batch, 2).cpu()
        # Not what the device says is free: other processes use it, too.
        memory = gpu_at(0).memory
        used.append(memory.in_use + memory.kept)
    assert used[-1] == used[5]


def test_graphs_give_the_same(device: str) -> None:
    """Eager, deferred and in a pipeline: the same bits."""

    def calls(f: Any, batch: Any) -> Any:
        images = f.flip(f.brightness_contrast(batch, brightness=1.2, contrast=0.8))
        mean = [120.0, 110.0, 100.0]
        return f.crop_mirror_normalize(images, crop=(16, 24), mean=mean, std=[60.0])

    source = images(3, (30, 40), (20, 30))
    eager = calls(gradiva, source.gpu())
    assert eager.device == gradiva.Device("gpu:0")
    same(eager, calls(gradiva, source))

    @gradiva.pipeline_def(batch_size=2, num_threads=2, device_id=0)
    def pipe() -> Any:
        arrays = fn.external_source(lambda: list(source.arrays()), layout="HWC")
        return calls(fn, arrays.gpu())

    built = pipe()
    built.build()
    outputs = [built.run()[0] for _ in range(3)]
    for output in outputs:
        same(output, eager)
    with gradiva.EvalMode.deferred:
        deferred = calls(gradiva, source.gpu())
    same(deferred, eager)


class Theirs:
    """An array of another library on the simulated device."""

    def __init__(self, batch: Any) -> None:
        self.__cuda_array_interface__ = batch.__cuda_array_interface__


def test_arrays_of_other_libraries(device: str) -> None:
    """Out by `__cuda_array_interface__` and DLPack, in by both, without copies."""
    values = np.arange(2 * 3 * 4, dtype=np.float32).reshape(2, 3, 4)
    batch = gradiva.as_batch(values, layout="HW").gpu()
    given: list[Any] = [Theirs(batch)]
    if device == "real":
        cupy: Any = cupy_runtime._cupy
        given = [cupy.asarray(batch), cupy.from_dlpack(batch)]
        for array in given:
            np.testing.assert_array_equal(cupy.asnumpy(array), values)
    for array in given:
        taken = gradiva.as_batch(array, layout="HW")
        assert taken.data.address == batch.data.address  # type: ignore[attr-defined]
        same(gradiva.flip(taken), gradiva.flip(gradiva.as_batch(values, layout="HW")))


@pytest.mark.gpu
def test_torch() -> None:
    """There and back without a copy; what torch writes on its stream is seen here."""
    reason = why_none()
    if reason is not None:
        pytest.skip(reason)
    torch: Any = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("torch finds no GPU")
    values = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    batch = gradiva.as_batch(values, layout="HW").gpu()
    tensor = batch.torch()
    assert tensor.device.type == "cuda"
    assert tensor.data_ptr() == batch.data.address  # type: ignore[attr-defined]
    with torch.cuda.stream(torch.cuda.Stream()):
        doubled = tensor * 2
        back = gradiva.as_batch(doubled, layout="HW")
    assert back.data.address == doubled.data_ptr()  # type: ignore[attr-defined]
    same(gradiva.flip(back), gradiva.flip(gradiva.as_batch(values * 2, layout="HW")))


class Known(dict[bytes, int]):
    """Files that the stand-in for nvJPEG need not be told of."""

    def __missing__(self, content: bytes) -> int:
        return 0


def stand_in(monkeypatch: pytest.MonkeyPatch) -> SimulatedNvjpeg:
    """nvJPEG on the simulated device."""
    runtime: Any = gpu_at(0).runtime
    fake = SimulatedNvjpeg(runtime, 7, False)
    fake.numbers = Known()
    monkeypatch.setattr(decoder_pool, "load", lambda: Library(fake))
    return fake


@pytest.fixture
def decode(device: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Any]]:
    fake = stand_in(monkeypatch) if device == "simulated" else None

    def call(files: list[bytes], **options: Any) -> Any:
        batch = gradiva.as_batch([np.frombuffer(one, np.uint8) for one in files])
        return gradiva.decoders.image(batch, **options)

    yield call
    assert fake is None or fake.calls


@pytest.mark.parametrize("load", [0.0, 0.65, 1.0])
def test_decoding(device: str, decode: Callable[..., Any], load: float) -> None:
    """Every flavor of JPEG: shapes of the CPU, pixels near them, bits that do not depend on the
    batch."""
    files = [make() for make in FLAVORS.values()]
    options = {"device": "mixed", "hw_decoder_load": load}
    made, expected = arrays_of(decode(files, **options)), arrays_of(decode(files))
    for name, ours, theirs in zip(FLAVORS, made, expected, strict=True):
        assert ours.shape == theirs.shape, name
        # Decoders round differently, and chroma is made larger in several ways.
        assert np.abs(ours.astype(np.int32) - theirs).mean() <= 4, name
    again = arrays_of(decode(files[::-1], **options))[::-1]
    for name, ours, theirs in zip(FLAVORS, made, again, strict=True):
        np.testing.assert_array_equal(ours, theirs, err_msg=name)


@pytest.mark.parametrize("load", [0.0, 1.0])
@pytest.mark.parametrize("threshold", [0, 1_000_000])
def test_windows(device: str, decode: Callable[..., Any], load: float, threshold: int) -> None:
    """On each path a window has the bits of the whole image."""
    names = ("jpeg_444", "jpeg_422", "jpeg_420", "jpeg_progressive", "jpeg_restart", "jpeg_gray")
    files = [FLAVORS[name]() for name in names]
    options: dict[str, Any] = {"device": "mixed", "hw_decoder_load": load}
    options["hybrid_huffman_threshold"] = threshold
    wholes = arrays_of(decode(files, **options))
    batch = gradiva.as_batch([np.frombuffer(one, np.uint8) for one in files])
    generator = np.random.default_rng(0)
    for _ in range(4):
        ends = [np.sort(generator.integers(0, size + 1, 2)) for size in (120, 120)]
        (top, bottom), (left, right) = ((a, max(b, a + 1)) for a, b in ends)
        parts = gradiva.decoders.image_slice(
            batch, start=[top, left], end=[bottom, right], axes=[0, 1], **options
        )
        for name, part, whole in zip(names, arrays_of(parts), wholes, strict=True):
            np.testing.assert_array_equal(part, whole[top:bottom, left:right], err_msg=name)


@pytest.mark.parametrize("load", [0.0, 1.0])
def test_a_file_that_ends_early(device: str, decode: Callable[..., Any], load: float) -> None:
    """What it lacks is the same each time, whatever was in the memory before."""
    good = flavors.pil(flavors.ASTRONAUT, "JPEG", quality=90)
    cut = good[: len(good) // 2] + b"\xff\xd9"
    made = []
    for value in (0, 255, 17):
        used = np.full((1, *flavors.ASTRONAUT.shape), value, np.uint8)
        gradiva.flip(gradiva.as_batch(used).gpu()).cpu()  # leaves it behind
        made += arrays_of(decode([cut], device="mixed", hw_decoder_load=load))
    for other in made[1:]:
        np.testing.assert_array_equal(made[0], other)


def test_decoding_for_kernels(device: str, decode: Callable[..., Any]) -> None:
    """What follows the decoder waits for it; many batches, of which each is dropped early."""
    files = [flavors.pil(flavors.ASTRONAUT[i:], "JPEG") for i in range(4)]
    whole = decode(files, device="mixed")
    wanted = arrays_of(program(whole.cpu(), 2))
    for _ in range(3):
        for ours, theirs in zip(
            arrays_of(program(decode(files, device="mixed"), 2)), wanted, strict=True
        ):
            np.testing.assert_array_equal(ours, theirs)


def test_a_damaged_file(device: str, decode: Callable[..., Any]) -> None:
    """It fails with its number; the next batch is decoded."""
    good = flavors.pil(flavors.ASTRONAUT, "JPEG")
    with pytest.raises(OperatorRuntimeError, match="sample 1"):
        decode([good, b"\xff\xd8\xff" + bytes(50)], device="mixed").cpu()
    assert arrays_of(decode([good], device="mixed"))[0].shape == flavors.ASTRONAUT.shape
