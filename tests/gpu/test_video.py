"""Videos on a GPU, over the simulated one and the stand-in for PyNvVideoCodec: the bits of the CPU.
Nothing here says what hardware does."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import Batch, EvalMode, decoders, fn
from gradiva.eager.cuda.context import Gpu
from gradiva.eager.cuda.cupy_runtime import check_gpu
from gradiva.eager.cuda.streams import DeviceStream
from gradiva.eager.support.errors import GradivaError
from gradiva.ops.decoders.video import small_video
from gradiva.ops.video.nvdec.clips import GpuDecoders
from tests.ops.video import frames
from tests.ops.video.bars import as_array, encoded, numbers_of, write
from tests.tiers import few

from .nvdec import SimulatedNvdec, nvdec
from .shim import COMPILER, NO_COMPILER
from .simulated import simulated

pytestmark = pytest.mark.skipif(COMPILER is None, reason=NO_COMPILER)

CODECS = {"libx264": "H264", "libx265": "HEVC", "libvpx": "VP8", "libvpx-vp9": "VP9"}
FORMS = {"libvpx": "webm", "libvpx-vp9": "webm"}


@pytest.fixture(params=few([False, True], False), ids=lambda prompt: "prompt" if prompt else "late")
def fake(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    with nvdec(monkeypatch, prompt=request.param) as made:
        yield made


def files(*contents: bytes) -> Batch:
    return gradiva.as_batch([as_array(content) for content in contents])


def same(ours: Batch, expected: Batch) -> None:
    assert ours.device.device_type == "gpu"
    on_host = ours.cpu()
    assert on_host.shape == expected.shape
    assert (on_host.dtype, on_host.layout) == (expected.dtype, expected.layout)
    for number, (mine, other) in enumerate(zip(on_host.arrays(), expected.arrays(), strict=True)):
        np.testing.assert_array_equal(mine, other, err_msg=f"sample {number}")


def both(contents: Batch, where: str = "mixed", **options: Any) -> Batch:
    """Decode on the GPU and on the CPU, and compare."""
    ours: Batch = decoders.video(contents, device=where, **options)
    same(ours, decoders.video(contents, **options))
    return ours


@pytest.mark.parametrize("codec", few([*CODECS, "libsvtav1"], "libx264", "libvpx-vp9"))
def test_codecs(fake: SimulatedNvdec, codec: str) -> None:
    """Frames out of order, several groups of pictures, odd sizes."""
    form = FORMS.get(codec, "mp4")
    sizes = ((64, 64), (66, 98)) if codec == "libsvtav1" else ((32, 64), (34, 70))
    made = both(files(*(encoded(codec, form, size=size) for size in sizes)))
    assert fake.created == [CODECS.get(codec, "AV1")] * 2
    assert fake.frames >= 40
    assert numbers_of(made.cpu().arrays()[0]) == list(range(20))
    both(files(encoded(codec, form)), "gpu", frames=[17, 3, 3, 18])


def test_padding_and_colors(fake: SimulatedNvdec) -> None:
    contents = files(encoded("libx264"), encoded("libx264", frames=5))
    for options in (
        {"start_frame": 2, "sequence_length": 6, "fill_value": (1, 2, 3)},
        {"start_frame": 4, "sequence_length": 4, "stride": 2, "pad_mode": "reflect"},
        {"sequence_length": 0},
        {"sequence_length": 2, "colorspace": "bt2020"},
    ):
        both(contents, **options)
    assert set(fake.created) == {"H264"}


def colorful(**options: Any) -> bytes:
    return frames.encoded("libx265", 34, 70, **options)


def test_tags_and_ten_bits(fake: SimulatedNvdec) -> None:
    tagged = [colorful(colorspace=tag, range=range) for tag in (1, 9) for range in (1, 2)]
    both(files(*tagged, colorful(format="yuv420p10le", colorspace=9, range=1)))
    assert fake.created == ["HEVC"] * 5


@pytest.mark.parametrize("turns", [1, 2, 3])
def test_upright(fake: SimulatedNvdec, turns: int) -> None:
    a, b, c, d = {1: (0, -1, 1, 0), 2: (-1, 0, 0, -1), 3: (0, 1, -1, 0)}[turns]
    made = both(files(frames.turned(colorful(), a, b, c, d)), apply_rotation=True)
    assert made.shape[0][1:3] == ((70, 34) if turns % 2 else (34, 70))


def test_what_the_cpu_decodes(fake: SimulatedNvdec) -> None:
    """Other codecs, chroma of other sizes, interlaced frames, and videos that do not say when a
    frame is shown."""
    contents = files(
        encoded("libx264", options="x264-params=interlaced=1"),
        encoded("mpeg4"),
        encoded("libx264", "h264"),
        colorful(format="yuv444p"),
        small_video().tobytes(),
        encoded("libx264"),
    )
    both(contents)
    assert fake.created == ["H264"]


def test_a_codec_that_this_gpu_lacks(fake: SimulatedNvdec) -> None:
    fake.refused.add("H264")
    with pytest.warns(UserWarning, match="decoded on the CPU: NVDEC does not decode H264: "):
        both(files(encoded("libx264"), encoded("libvpx-vp9", "webm")))
    assert fake.frames == 20


@pytest.mark.parametrize("pairs", [True, False])
def test_odd_sizes(fake: SimulatedNvdec, pairs: bool) -> None:
    """Whether the library makes pairs of columns or cuts the last one."""
    fake.pairs = pairs
    both(files(encoded("libvpx-vp9", "webm", size=(33, 71))))
    assert fake.frames


@pytest.mark.parametrize("packet", [1, 9, 20])
def test_a_packet_that_is_refused(fake: SimulatedNvdec, packet: int) -> None:
    """The CPU judges the video, whose frames are good here."""
    fake.broken.add(packet)
    both(files(encoded("libx264")))


def test_frames_with_other_times_are_not_delivered(fake: SimulatedNvdec) -> None:
    fake.moved = 1
    both(files(encoded("libx264")))
    assert fake.frames


@pytest.mark.filterwarnings("ignore:samples that cannot be read")
@pytest.mark.parametrize("policy", ["skip", "replace"])
def test_bad_videos(fake: SimulatedNvdec, policy: str) -> None:
    good = encoded("libx264")
    contents = files(good, good[:-400], b"no video at all", good)
    with pytest.raises(GradivaError) as here:
        decoders.video(contents, device="gpu")
    with pytest.raises(GradivaError) as there:
        decoders.video(contents)
    assert str(here.value).splitlines()[0] == str(there.value).splitlines()[0]
    both(contents, on_error=policy, fill_value=9)


def test_without_the_package(monkeypatch: pytest.MonkeyPatch, listed: str) -> None:
    monkeypatch.setitem(sys.modules, "PyNvVideoCodec", None)
    text = r"PyNvVideoCodec, which is not installed: pip install 'gradiva\[nvdec\]'"
    with simulated(), pytest.raises(RuntimeError, match=text):
        decoders.video(files(encoded("libx264")), device="gpu")
    with simulated(), pytest.raises(RuntimeError, match=text):
        in_loop(gradiva.readers.Video(file_list=listed, sequence_length=2, device="gpu"))


def test_without_the_driver(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The package is there, and cannot load what it needs."""
    text = "libnvcuvid.so.1: cannot open shared object file"
    (tmp_path / "PyNvVideoCodec.py").write_text(f"raise ImportError({text!r})")
    monkeypatch.delitem(sys.modules, "PyNvVideoCodec", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    with simulated(), pytest.raises(RuntimeError, match=rf"cannot be loaded: .*; {text}"):
        decoders.video(files(encoded("libx264")), device="gpu")


def test_an_order_that_is_missing_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stand-in notices pixels that are made beside the stream of their decoder."""
    on = Gpu.on

    def wrong() -> None:
        with nvdec(monkeypatch):
            monkeypatch.setattr(Gpu, "on", lambda gpu, _stream: on(gpu, DeviceStream(gpu)))
            decoders.video(files(encoded("libx264")), device="gpu").cpu()

    with pytest.raises(AssertionError, match=r"Decode writes .* may read"):
        wrong()


READERS: list[tuple[Any, Any, dict[str, Any]]] = [
    (
        fn.experimental.readers.video,
        gradiva.experimental.readers.Video,
        {"pad_mode": "constant", "fill_value": 7, "enable_frame_num": "sequence"},
    ),
    (fn.readers.video, gradiva.readers.Video, {"dtype": gradiva.float32, "normalized": True}),
    (fn.readers.video, gradiva.readers.Video, {"image_type": gradiva.types.DALIImageType.YCbCr}),
    (
        fn.readers.video_resize,
        gradiva.readers.VideoResize,
        {"resize_shorter": 20, "dtype": gradiva.float32, "enable_timestamps": True},
    ),
]


@pytest.fixture(scope="module")
def listed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Two videos, one of which the CPU decodes, and a damaged one."""
    folder = tmp_path_factory.mktemp("videos")
    names = [write(folder / "a.mp4", "libx264"), write(folder / "b.mp4", "mpeg4", frames=9)]
    (folder / "c.mp4").write_bytes(encoded("libx264")[:-400])
    path = folder / "list.txt"
    path.write_text("".join(f"{name} {k}\n" for k, name in enumerate([*names, folder / "c.mp4"])))
    return str(path)


def in_loop(reader: Any, size: int = 2) -> list[list[Any]]:
    """All batches, in host memory."""
    return [[one.cpu() for one in batches] for batches in reader.next_epoch(batch_size=size)]


def check_same(ours: list[list[Any]], expected: list[list[Any]]) -> None:
    assert len(ours) == len(expected)
    for batches, others in zip(ours, expected, strict=True):
        for batch, other in zip(batches, others, strict=True):
            assert (batch.dtype, batch.layout) == (other.dtype, other.layout)
            assert batch.source_info() == other.source_info()
            for mine, theirs in zip(batch.arrays(), other.arrays(), strict=True):
                np.testing.assert_array_equal(mine, theirs)


@pytest.mark.filterwarnings("ignore:samples that cannot be read")
@pytest.mark.parametrize("number", few(range(len(READERS)), 0))
@pytest.mark.parametrize("policy", few(["skip", "replace"], "skip"))
def test_readers(fake: SimulatedNvdec, listed: str, number: int, policy: str) -> None:
    """In loops and in pipelines, shuffled; and on from a checkpoint."""
    function, kind, more = READERS[number]
    options = {"file_list": listed, "sequence_length": 4, "stride": 2, "on_error": policy}
    options |= {"random_shuffle": True, "seed": 5, **more}
    expected = in_loop(kind(**options))
    reader = kind(**options, device="gpu")
    for batches in reader.next_epoch(batch_size=2):
        assert {batch.device.device_type for batch in batches} == {"gpu"}
        break
    state = reader.get_state()
    check_same(in_loop(reader), expected[1:])
    ahead = kind(**options, device="gpu").next_epoch(batch_size=2, capture=True)
    check_same([[one.cpu() for one in batches] for batches in ahead], expected)
    ahead.close()
    again = kind(**options, device="gpu")
    again.set_state(state)
    check_same(in_loop(again), expected[1:])
    check_same(in_loop(kind(**options, device="gpu")), expected)
    made = []
    for where in ("cpu", "gpu"):
        pipe = gradiva.pipeline_def(lambda where=where: function(**options, device=where))(
            batch_size=2, num_threads=2, device_id=0
        )
        made.append([[one.cpu() for one in pipe.run()] for _ in range(3)])
    check_same(made[1], made[0])
    assert "H264" in fake.created
    del pipe, reader, again


def test_a_pipeline_of_decoders(fake: SimulatedNvdec, tmp_path: Path) -> None:
    names = [write(tmp_path / f"{k}.mp4", "libx264", frames=6 + k) for k in range(3)]

    @gradiva.pipeline_def(batch_size=3, num_threads=2, device_id=0)
    def pipeline(where: str) -> Any:
        clips = fn.decoders.video(fn.readers.file(files=names)[0], device=where, frames=[4, 0])
        return fn.brightness(fn.resize(clips, size=(20, 30)), brightness=1.5)

    def first(where: str) -> Any:
        (batch,) = pipeline(where).run()
        return batch

    ours, expected = first("mixed"), first("cpu")
    assert ours.device.device_type == "gpu"
    for mine, other in zip(ours.cpu().arrays(), expected.arrays(), strict=True):
        np.testing.assert_array_equal(mine, other)
    with EvalMode.deferred:
        later = decoders.video(files(encoded("libx264")), device="gpu")
    same(later, decoders.video(files(encoded("libx264"))))


@pytest.mark.gpu
@pytest.mark.parametrize("codec", [*CODECS, "libsvtav1"])
def test_on_a_real_gpu(monkeypatch: pytest.MonkeyPatch, codec: str) -> None:
    """NVDEC itself makes the bits of the CPU, which decodes nothing."""
    try:
        check_gpu(0)
    except RuntimeError as error:
        pytest.skip(str(error))
    pytest.importorskip("PyNvVideoCodec")
    left: list[int] = []
    on_cpu = GpuDecoders._on_cpu

    def noted(self: Any, clips: Any, *arguments: Any) -> Any:
        left.extend(clips)
        return on_cpu(self, clips, *arguments)

    monkeypatch.setattr(GpuDecoders, "_on_cpu", noted)
    form = FORMS.get(codec, "mp4")
    # NVDEC has a smallest size for each codec, all of which are smaller than these.
    for size in ((160, 192), (162, 226), (161, 225)):
        if size[0] % 2 and codec != "libvpx-vp9":
            continue
        contents = files(encoded(codec, form, size=size))
        try:
            both(contents)
        except UserWarning as warning:
            pytest.skip(f"this GPU has no such decoder: {warning}")
        both(contents, frames=[17, 3, 3, 18])
    assert not left
