"""`decoders.image` and its like on a GPU, over the simulated one and the stand-in for nvJPEG: the
bits of the CPU, whose decoder the stand-in uses. Nothing here says what hardware does."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import Batch, decoders
from gradiva.eager.cuda.cupy_runtime import gpu_at
from gradiva.eager.cuda.streams import DeviceStream
from gradiva.eager.support.errors import GradivaError, OperatorRuntimeError, OperatorValueError
from gradiva.eager.types.dtypes import DType, ImageType, float32, int8, int16, int32, uint16, uint32
from gradiva.ops.decoders.jpeg.gpu import decoder_pool
from gradiva.ops.decoders.jpeg.gpu.declarations import Status
from gradiva.ops.decoders.jpeg.gpu.decoder import JpegDecoder
from gradiva.ops.decoders.jpeg.gpu.decoder_pool import DecoderPool
from gradiva.ops.decoders.jpeg.gpu.hybrid import HybridWorker
from gradiva.ops.decoders.jpeg.gpu.library import NvjpegError
from tests.oracle import flavors
from tests.tiers import few

from .nvjpeg import SimulatedNvjpeg, decoding
from .shim import COMPILER, NO_COMPILER
from .simulated import simulated

pytestmark = pytest.mark.skipif(COMPILER is None, reason=NO_COMPILER)

JPEGS = {name: make() for name, make in flavors.jpegs().items()}
PNG = flavors.pil(flavors.ASTRONAUT[:40, :30], "PNG")
PLAIN = [flavors.pil(flavors.ASTRONAUT[i:, i:], "JPEG") for i in range(8)]
MIXED = [
    JPEGS[name]
    for name in (
        "jpeg_420",
        "jpeg_exif6",
        "jpeg_cmyk",
        "jpeg_gray",
        "jpeg_progressive",
        "jpeg_rgb",
        "jpeg_exif3",
        "jpeg_arithmetic",
        "jpeg_ycck",
    )
]
MIXED.insert(3, PNG)
DAMAGED = {2: MIXED[0][:700], 5: b"", 8: b"no image at all"}


@pytest.fixture(params=[7, 0], ids=["engine", "no engine"])
def fake(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    with decoding(monkeypatch, engines=request.param) as made:
        yield made


def same(ours: Batch, expected: Batch) -> None:
    """The same samples, of the same files."""
    assert ours.device.device_type == "gpu"
    assert ours.source_info() == expected.source_info()
    if expected.positions is not None:
        np.testing.assert_array_equal(ours.positions, expected.positions)
    on_host = ours.cpu()
    assert (on_host.dtype, on_host.layout) == (expected.dtype, expected.layout)
    assert on_host.shape == expected.shape
    for number, (mine, other) in enumerate(zip(on_host.arrays(), expected.arrays(), strict=True)):
        np.testing.assert_array_equal(mine, other, err_msg=f"sample {number}")


def both(fake: SimulatedNvjpeg, function: Any, contents: list[bytes], **options: Any) -> Batch:
    """Decode on the GPU and on the CPU, and compare."""
    files = fake.batch(contents)
    steering = {"hw_decoder_load", "hybrid_huffman_threshold"}
    ours: Batch = function(files, device="mixed", **options)
    same(ours, function(files, **{k: v for k, v in options.items() if k not in steering}))
    return ours


def decoded(fake: SimulatedNvjpeg) -> set[int | None]:
    """The files that the stand-in has decoded since the last call."""
    names = ("nvjpegDecodeJpegDevice", "nvjpegDecodeBatched")
    found = {file for name, file in fake.calls if name in names}
    fake.calls.clear()
    return found


@pytest.mark.parametrize("color", few(ImageType, ImageType.RGB), ids=lambda c: c.name)
def test_every_flavor(fake: SimulatedNvjpeg, color: ImageType) -> None:
    contents, names = list(JPEGS.values()), list(JPEGS)
    for load in (0.0, 0.65, 1.0):
        both(fake, decoders.image, contents, output_type=color, hw_decoder_load=load)
        done = {names[number] for number in decoded(fake) if number is not None}
        left = {"jpeg_rgb"} if color == ImageType.GRAY else set()
        assert set(names) - done == left | {"jpeg_arithmetic", "jpeg_sampled_mixed"}


@pytest.mark.parametrize(
    "dtype", few([int8, uint16, int16, uint32, int32, float32], float32), ids=str
)
@pytest.mark.parametrize("color", few(["RGB", "BGR", "GRAY", "YCbCr"], "BGR"))
def test_every_type(monkeypatch: pytest.MonkeyPatch, dtype: DType, color: str) -> None:
    with decoding(monkeypatch) as fake:
        both(fake, decoders.image, MIXED, dtype=dtype, output_type=ImageType[color])


def test_any_data(fake: SimulatedNvjpeg) -> None:
    """Files with one, three and four channels, and inks as they are."""
    names = ("jpeg_cmyk", "jpeg_ycck", "jpeg_cmyk_plain", "jpeg_gray", "jpeg_exif7", "jpeg_rgb")
    for turned in (True, False):
        both(
            fake,
            decoders.image,
            [*(JPEGS[n] for n in names), PNG],
            output_type=ImageType.ANY_DATA,
            adjust_orientation=turned,
        )
    assert decoded(fake) == set(range(6))


WINDOWS: list[tuple[Any, dict[str, Any]]] = [
    (decoders.image_crop, {"crop": (20, 15), "crop_pos_x": 0.2, "crop_pos_y": 0.9}),
    (decoders.image_slice, {"rel_start": (0.1, 0.4), "rel_shape": (0.5, 0.3)}),
    (decoders.image_slice, {"start": (0, 0)}),
    (decoders.image_random_crop, {"seed": 5}),
]


@pytest.mark.parametrize("window", few(range(len(WINDOWS)), count=2))
@pytest.mark.parametrize("fancy", few([False, True], True))
def test_windows(fake: SimulatedNvjpeg, window: int, fancy: bool) -> None:
    function, options = WINDOWS[window]
    contents = [*MIXED, *(JPEGS[f"jpeg_exif{o}"] for o in range(1, 9))]
    for more in (
        {},
        {"adjust_orientation": False},
        {"output_type": ImageType.YCbCr},
        {"output_type": ImageType.GRAY, "dtype": float32},
    ):
        both(fake, function, contents, jpeg_fancy_upsampling=fancy, **options, **more)
        assert len(decoded(fake)) >= 14


def test_plain_files_go_right_into_the_output(monkeypatch: pytest.MonkeyPatch) -> None:
    with decoding(monkeypatch) as fake:
        for color in ("RGB", "BGR", "GRAY"):
            both(fake, decoders.image, PLAIN, output_type=ImageType[color])
        both(fake, decoders.image_crop, PLAIN, crop=(20, 15), hw_decoder_load=0.0)
        assert fake.gpu.launched == []  # type: ignore[attr-defined]
        both(fake, decoders.image_crop, PLAIN, crop=(20, 15), hw_decoder_load=1.0)
        assert fake.gpu.launched == ["finish"]  # type: ignore[attr-defined]


def test_pixels_follow_one_another_on_a_stream(fake: SimulatedNvjpeg) -> None:
    """What is decoded is used, dropped and decoded over, without a wait of the host."""
    for turn in range(4):
        files = fake.batch(MIXED[turn:] + PLAIN)
        images = decoders.image(files, device="gpu", hw_decoder_load=0.5)
        flipped = gradiva.flip(images)
        wanted = gradiva.flip(decoders.image(files))
        del images, files
        same(flipped, wanted)


def test_the_memory_of_the_user_may_change_at_once(fake: SimulatedNvjpeg) -> None:
    """As soon as the call has returned, though the GPU has done nothing yet."""
    known = fake.batch(MIXED)
    whole = known.data.copy()
    files = Batch.over(whole, known.batch_shape, known.type)
    expected = decoders.image(files)
    images = decoders.image(files, device="mixed")
    whole[...] = 0
    same(images, expected)
    assert decoded(fake) >= {0, 1, 2, 4}


# Files that cannot be decoded.


def damaged() -> list[bytes]:
    return [DAMAGED.get(number, content) for number, content in enumerate(MIXED)]


@pytest.mark.parametrize("policy", ["skip", "replace"])
@pytest.mark.parametrize("function", [decoders.image, decoders.image_crop])
def test_going_on_after_damage(fake: SimulatedNvjpeg, policy: str, function: Any) -> None:
    files = fake.batch(damaged(), first=100)
    options: dict[str, Any] = {"on_error": policy}
    options |= {"fill_value": 77.4, "dtype": uint16} if policy == "replace" else {}
    options |= {"crop": (20, 15)} if function is decoders.image_crop else {}
    quarantined = []
    made = []
    for device in ("mixed", "cpu"):
        gradiva.quarantine().clear()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made.append(function(files, device=device, **options))
        quarantined.append([tuple(entry) for entry in gradiva.quarantine()])
    gradiva.quarantine().clear()
    same(*made)
    assert quarantined[0] == quarantined[1]
    assert len(quarantined[0]) == len(DAMAGED)
    assert len(made[0]) == len(MIXED) - (len(DAMAGED) if policy == "skip" else 0)


@pytest.mark.parametrize("which", [(2,), (2, 5, 8), (8,)])
def test_damage_is_an_error(fake: SimulatedNvjpeg, which: tuple[int, ...]) -> None:
    """The same one as on the CPU, and the next batch is decoded."""
    contents = [DAMAGED[n] if n in which else content for n, content in enumerate(MIXED)]
    files = fake.batch(contents)
    texts = []
    for device in ("mixed", "cpu"):
        with pytest.raises(OperatorRuntimeError) as caught:
            decoders.image(files, device=device)
        texts.append((caught.value.problem, caught.value.sample, caught.value.file))
    assert texts[0] == texts[1]
    both(fake, decoders.image, MIXED)


def test_what_the_library_refuses_the_cpu_decodes(fake: SimulatedNvjpeg) -> None:
    for function in (
        "nvjpegDecodeJpegHost",
        "nvjpegDecodeJpegTransferToDevice",
        "nvjpegDecodeJpegDevice",
    ):
        for file in (0, 1, 2, 4):
            fake.fail[function, file] = Status.BAD_JPEG
        both(fake, decoders.image, MIXED, hw_decoder_load=0.0)
        both(fake, decoders.image_crop, MIXED, crop=(20, 15), hw_decoder_load=0.5)
        fake.fail.clear()


def test_a_failure_of_the_machine_fails_the_call(fake: SimulatedNvjpeg) -> None:
    fake.fail["nvjpegDecodeJpegDevice", 4] = Status.EXECUTION_FAILED
    with pytest.raises(OperatorRuntimeError, match=r"decoders\.image.*EXECUTION_FAILED"):
        decoders.image(fake.batch(MIXED), device="mixed", on_error="skip", hw_decoder_load=0.0)
    fake.fail.clear()
    both(fake, decoders.image, MIXED)


def test_empty_batches_and_single_files(fake: SimulatedNvjpeg) -> None:
    assert len(both(fake, decoders.image, [])) == 0
    (data,) = fake.batch(PLAIN[:1]).arrays()
    image = decoders.image(data, device="mixed")
    assert image.device.device_type == "gpu"
    np.testing.assert_array_equal(np.asarray(image.cpu()), np.asarray(decoders.image(data)))


def test_other_formats_do_not_ask_for_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    with decoding(monkeypatch) as fake:
        both(fake, decoders.image, [PNG, PNG])
        assert fake.threads == set()
        assert fake.gpu.launched == []  # type: ignore[attr-defined]


def test_imread(fake: SimulatedNvjpeg, tmp_path: Path) -> None:
    paths = []
    for number, content in enumerate((PNG, JPEGS["jpeg_arithmetic"])):
        paths.append(tmp_path / f"{number}.bin")
        paths[-1].write_bytes(content)
    same(gradiva.imread(paths, device="mixed"), gradiva.imread(paths))


# Threads and streams.


@pytest.mark.full
@pytest.mark.parametrize("threads", [1, 4])
def test_threads_of_the_pool(monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    with decoding(monkeypatch, slow=True) as fake:
        gradiva.set_num_threads(threads)
        try:
            for _ in range(2):
                both(fake, decoders.image, MIXED + PLAIN, hw_decoder_load=0.3)
        finally:
            gradiva.set_num_threads(None)
        assert (len(fake.threads) > 1) == (threads > 1)


def test_threads_of_the_user(fake: SimulatedNvjpeg) -> None:
    """Each on a stream of its own, all with one decoder."""
    gpu = gpu_at(0)
    problems: list[BaseException] = []

    def work(turn: int) -> None:
        try:
            gpu.runtime.activate()
            with gpu.on(DeviceStream(gpu)):
                for _ in range(2):
                    both(fake, decoders.image, MIXED[turn:] + PLAIN[turn:])
        except BaseException as error:  # noqa: BLE001  told to the test
            problems.append(error)

    threads = [threading.Thread(target=work, args=(turn,)) for turn in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []


def test_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a device that does everything at once."""
    with decoding(monkeypatch, prompt=True) as fake:
        both(fake, decoders.image, MIXED + PLAIN)


def test_the_simulation_sees_faults(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker whose pixels nobody waits for, and one that does not wait for its memory."""

    def no_wait(self: Any, ready: int, number: int) -> None:
        self.number, self.used = number, False

    unused = property(lambda self: False, lambda self, other: None)
    for name, value in (("begin", no_wait), ("used", unused)):
        seen: list[str] = []
        with monkeypatch.context() as patch, decoding(patch) as fake:
            patch.setattr(HybridWorker, name, value, raising=False)
            for _ in range(2):
                images = decoders.image(fake.batch(MIXED), device="gpu", hw_decoder_load=0.0)
                gradiva.flip(images)
                del images
            seen = list(fake.gpu.violations)
            fake.gpu.violations.clear()
            gpu_at(0).stream.synchronize()
        assert any("may write there" in text or "touches" in text for text in seen), name


# The decoder that is kept.


def test_one_decoder_for_all_calls(fake: SimulatedNvjpeg) -> None:
    for _ in range(3):
        both(fake, decoders.image, PLAIN)
        both(fake, decoders.image_crop, PLAIN, crop=(20, 15))
    assert len(gpu_at(0).tool(DecoderPool)._decoders) == 1
    both(fake, decoders.image, PLAIN, hw_decoder_load=0.0)
    assert len(gpu_at(0).tool(DecoderPool)._decoders) == 2
    gpu_at(0).close()
    assert fake.live == {}
    both(fake, decoders.image, PLAIN)


def test_hints_reach_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    options: dict[str, Any] = {
        "device_memory_padding": 1 << 16,
        "host_memory_padding": 1 << 12,
        "preallocate_width_hint": 640,
        "preallocate_height_hint": 480,
        "device_memory_padding_jpeg2k": 5,
        "host_memory_padding_jpeg2k": 5,
        "use_fast_idct": True,
    }
    with decoding(monkeypatch) as fake:
        decoders.image(fake.batch(PLAIN), device="mixed", jpeg_fancy_upsampling=True, **options)
        states = [item for item in fake.live.values() if item.get("allocated")]
        assert [state["allocated"] for state in states] == [(len(PLAIN), 640, 480)]
        (shared,) = [item for item in fake.live.values() if item.get("backend") == 0]
        assert (shared["device padding"], shared["pinned padding"]) == (1 << 16, 1 << 12)
        assert shared["flags"] == 0b100100


@pytest.mark.parametrize(
    "options",
    [
        {"hw_decoder_load": 1.5},
        {"hybrid_huffman_threshold": -1},
        {"device_memory_padding": -1},
        {"host_memory_padding": -2},
        {"preallocate_width_hint": -1},
        {"preallocate_height_hint": -1},
    ],
    ids=str,
)
def test_values_that_make_no_sense(monkeypatch: pytest.MonkeyPatch, options: Any) -> None:
    with (
        decoding(monkeypatch) as fake,
        pytest.raises(OperatorValueError, match=next(iter(options))),
    ):
        decoders.image(fake.batch(PLAIN), device="mixed", **options)


def test_large_images_by_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    with decoding(monkeypatch, engines=0) as fake:
        both(fake, decoders.image, PLAIN, hybrid_huffman_threshold=0)
        assert {file for name, file in fake.calls if name == "nvjpegDecoderJpegSupported"} == set(
            range(len(PLAIN))
        )


def nowhere() -> Any:
    raise OperatorRuntimeError("nvJPEG was not found")


def useless() -> Any:
    raise NvjpegError("nvjpegCreateExV2", Status.ARCH_MISMATCH)


@pytest.mark.parametrize("reason", [nowhere, useless])
def test_without_the_library(monkeypatch: pytest.MonkeyPatch, reason: Any) -> None:
    """The CPU decodes everything; one warning says why."""
    with decoding(monkeypatch) as fake:
        monkeypatch.setattr(decoder_pool, "load", reason)
        files = fake.batch(MIXED)
        with pytest.warns(UserWarning, match="decoded on the CPU: .*nv(JPEG|jpeg)") as seen:
            same(decoders.image(files, device="mixed"), decoders.image(files))
        assert [Path(one.filename).name for one in seen] == [Path(__file__).name]
        both(fake, decoders.image_crop, MIXED, crop=(20, 15))
        assert fake.gpu.launched == []  # type: ignore[attr-defined]


def test_a_want_of_memory_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with decoding(monkeypatch) as fake:
        fake.fail["nvjpegCreateExV2", None] = Status.ALLOCATOR_FAILURE
        with pytest.raises(GradivaError, match="out of device or pinned memory"):
            decoders.image(fake.batch(PLAIN), device="mixed")
        fake.fail.clear()
        fake.live.clear()
        both(fake, decoders.image, PLAIN)


def test_without_a_gpu() -> None:
    with simulated(), pytest.raises(OperatorRuntimeError, match="there are 1 GPUs"):
        decoders.image(np.frombuffer(PNG, np.uint8), device="gpu:1")


def test_memory_of_the_library_waits_for_its_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    with decoding(monkeypatch) as fake:
        both(fake, decoders.image, PLAIN)
        gpu = gpu_at(0)
        (decoder,) = gpu.tool(DecoderPool)._decoders.values()
        for allocator in decoder._allocators:
            assert allocator is not None
            assert allocator._hand_back is not None
            stream = gpu.stream
            one = allocator._allocate(5000, stream.handle)
            gpu.write(np.zeros(1 << 12), gpu.empty(1 << 12, np.dtype(np.float64)))
            allocator._hand_back(one[1], stream.handle)
            first = one[0]
            del one
            other = allocator._allocate(5000, stream.handle)
            assert other[0] != first
            stream.synchronize()
            again = allocator._allocate(5000, stream.handle)
            assert again[0] == first
    assert isinstance(decoder, JpegDecoder)
