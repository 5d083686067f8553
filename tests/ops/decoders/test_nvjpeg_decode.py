"""The calls of nvJPEG, against a stand-in that decodes on the CPU and sees every race: order,
lifetimes, threads, refusals, failures. Nothing here says what hardware does."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from gradiva.ops.decoders.formats.probe import probe
from gradiva.ops.decoders.jpeg.gpu.declarations import FLAG_SMOOTH, FLAG_STRICT
from gradiva.ops.decoders.jpeg.gpu.plan import plan
from gradiva.ops.decoders.jpeg.gpu.route import Options, Path, Reason
from tests.ops.decoders.nvjpeg_bench import (
    FILES,
    FLAVORS,
    HYBRID_CALLS,
    PLAIN,
    bench,
    counted,
    right,
)
from tests.oracle import flavors


@pytest.mark.parametrize("load", [0.0, 0.65, 1.0])
def test_every_flavor_arrives_where_it_should(load: float) -> None:
    with bench() as b:
        engine, hybrid, _ = b.jobs(FILES, Options(hw_decoder_load=load))
        assert b.decode(engine, hybrid) == []
        assert all(right(job) for job in [*hybrid, *(job for batch in engine for job in batch)])
        # 2 files of the flavors stay on the host: arithmetic, and mixed sampling.
        assert len(hybrid) + sum(map(len, engine)) == len(FILES) - 2
        assert bool(engine) == (load > 0)
        assert len(b.calls("nvjpegDecodeBatched")) == sum(map(len, engine))


def test_windows_are_decoded_alone() -> None:
    with bench() as b:
        files = [FLAVORS[name] for name in ("jpeg_420", "jpeg_444", "jpeg_gray", "jpeg_422")]
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
        _, hybrid, _ = b.jobs(PLAIN[:3], Options(engines=0))
        b.decode([], hybrid)
        expected = [(name, job.index) for job in hybrid for name in HYBRID_CALLS]
        assert b.calls(*HYBRID_CALLS) == expected
        # One wait per image but the first, one record per image, one hand-over.
        kinds = [entry[0] for entry in b.gpu.log]
        assert kinds == [
            "record",
            "stream_wait",
            "record",
            "wait",
            "record",
            "wait",
            "record",
            "stream_wait",
        ]


def test_large_images_take_the_device_if_it_can() -> None:
    with bench(threads=1, engines=0) as b:
        _, hybrid, _ = b.jobs(PLAIN[:3], Options(engines=0, hybrid_huffman_threshold=0))
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
        assert b.decoder.engines == 0
        engine, hybrid, _ = b.jobs(PLAIN, Options(hw_decoder_load=0.5))
        assert b.decode(engine, hybrid) == []
        assert all(right(job) for batch in engine for job in batch)
        assert b.calls("nvjpegDecodeBatched") == []


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


def test_memory_comes_from_the_given_allocators() -> None:
    pinned, device = counted(100, pinned=True), counted(100, pinned=False)
    with bench(pinned=pinned, device=device) as b:
        _, hybrid, _ = b.jobs(PLAIN, Options(hw_decoder_load=0))
        assert b.decode([], hybrid) == []
        workers = device.blocks
        assert workers in (1, 2, 3)
        assert workers <= pinned.blocks <= 2 * workers
    assert pinned.blocks == device.blocks == 0


def test_a_plan_names_what_stays_on_the_host() -> None:
    files = [
        FLAVORS["jpeg_arithmetic"],
        FLAVORS["jpeg_420"],
        flavors.pil(flavors.ASTRONAUT, "PNG"),
        PLAIN[0][:-2],
    ]
    arrays = [np.frombuffer(data, np.uint8) for data in files]
    made = plan(arrays, list(map(probe, arrays)), Options())
    assert made.host == [(0, Reason.CODING), (2, Reason.FORMAT), (3, Reason.DAMAGE)]
    jobs = [*made.hybrid, *(job for batch in made.engine for job in batch)]
    assert [job.index for job in jobs] == [1]
