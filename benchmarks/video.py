"""Videos: readers ours against DALI's on VP9, and ours against bare PyAV on H.264.

Frames of 640 x 480 pixels, of photographs that the view moves over; clips of 8 frames with stride
2, resized to 224 and normalized. DALI decodes VP8 and VP9 on the CPU, and no H.264.

Bare decoding is a loop over `container.decode` of PyAV for each whole file: as many threads as the
reader has, each with files of its own and a decoder in one thread, and what comes out, planes of
luma and chroma in the memory of the decoder, is thrown away. The reader goes through the same
files, and makes RGB in memory of its own: with stride 2 of every other frame, and frames between
them that no other one refers to are not decoded; the rate counts all frames that it has gone
through. With stride 1 of all frames. Two further rows tell what that costs: one has the reader
leave the colors out, which it does nowhere else, and one has PyAV make RGB, too.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import av
import numpy as np
import PIL.Image
from nvidia.dali import fn as dali_fn
from nvidia.dali import pipeline_def as dali_pipeline_def
from nvidia.dali import types as dali_types
from photographs import encoded_photographs
from programs import MEAN, STD
from recipes import AHEAD, measure
from side_by_side import Row, in_turns, row, save

import gradiva
from gradiva import fn, types
from gradiva.ops.video import clips

HEIGHT, WIDTH = 480, 640
OURS, THEIRS = (fn, types, {"colorspace": "bt601"}), (dali_fn, dali_types, {})
CLIP = {"sequence_length": 8, "stride": 2}


def write_video(path: Path, codec: str, photograph: bytes, frames: int, gop: int) -> str:
    """The view moves over a photograph, with noise that is another one in each frame."""
    generator = np.random.default_rng(3)
    picture = PIL.Image.open(io.BytesIO(photograph)).convert("RGB").resize((960, 720))
    whole = np.asarray(picture).astype(np.int16)
    options = {"deadline": "realtime", "cpu-used": "8"} if codec == "libvpx-vp9" else {"crf": "23"}
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=25, options=options)
        stream.height, stream.width, stream.pix_fmt = HEIGHT, WIDTH, "yuv420p"
        stream.bit_rate = 2_000_000
        stream.codec_context.gop_size = gop
        for number in range(frames):
            at = number % 200
            view = whole[at : at + HEIGHT, at : at + WIDTH]
            noise = generator.integers(-6, 7, (HEIGHT // 4, WIDTH // 4, 1))
            seen = view + noise.repeat(4, 0).repeat(4, 1)
            frame = av.VideoFrame.from_ndarray(
                np.clip(seen, 0, 255).astype(np.uint8), format="rgb24"
            )
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return str(path)


Program = Callable[[Any, dict[str, Any]], Any]


def read(library: Any, data: dict[str, Any]) -> Any:
    f, _, more = library
    return f.experimental.readers.video(name="reader", **data, **more)


def recipe(library: Any, data: dict[str, Any]) -> Any:
    f, t, _ = library
    clips = f.resize(read(library, data), size=(224, 224))
    return f.crop_mirror_normalize(clips, mean=MEAN, std=STD, dtype=t.FLOAT, output_layout="FCHW")


def epochs(define: Any, library: Any, program: Program, data: Any, options: Any) -> Any:
    """A function that runs an epoch of the program as a pipeline of this library."""
    common = {
        "batch_size": options.batch_size,
        "num_threads": options.threads,
        "seed": 1,
        "prefetch_queue_depth": AHEAD,
        "device_id": None,
    }
    pipe = define(**common)(lambda: program(library, data))()
    pipe.build()
    batches = pipe.reader_meta("reader")["epoch_size"] // options.batch_size

    def run() -> Iterator[int]:
        for _ in range(AHEAD + batches):
            pipe.run()
            yield options.batch_size * CLIP["sequence_length"]

    return run


def bare_rate(paths: list[str], threads: int, colors: bool = False) -> float:
    """Frames in a second that PyAV decodes, each file in one thread; colors: as arrays of RGB."""

    def decode(path: str) -> int:
        with av.open(path) as container:
            context = container.streams.video[0].codec_context
            context.thread_type, context.thread_count = "SLICE", 1
            frames = 0
            for frame in container.decode(video=0):
                if colors:
                    frame.to_ndarray(format="rgb24")
                frames += 1
            return frames

    started = time.perf_counter()
    with ThreadPoolExecutor(threads) as pool:
        frames = sum(pool.map(decode, paths))
    return frames / (time.perf_counter() - started)


def our_rate(
    paths: list[str], threads: int, clips_of_batch: int, colors: bool = True, stride: int = 1
) -> float:
    """Frames in a second that the reader goes through, in clips of 8, each file to its end, in
    their order."""
    reader: Any = gradiva.experimental.readers.Video(
        filenames=paths, sequence_length=8, stride=stride
    )
    context = gradiva.EvalContext(num_threads=threads)
    without = patch.object(clips, "planes_to_rgb", lambda *_, **__: None)
    with contextlib.nullcontext() if colors else without:
        delivered, started = 0, time.perf_counter()
        for batch in reader.next_epoch(batch_size=clips_of_batch, ctx=context):
            delivered += stride * sum(len(clip) for clip in batch)
        return delivered / (time.perf_counter() - started)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--videos", type=int, default=16)
    parser.add_argument("--frames", type=int, default=160)
    parser.add_argument("--gop", type=int, default=40)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="a part of the names of the rows to measure")
    options = parser.parse_args()
    photographs = list(encoded_photographs(options.videos))
    with tempfile.TemporaryDirectory() as place:
        made = {
            codec: [
                write_video(
                    Path(place) / f"{codec}-{number:03}.mp4",
                    codec,
                    photograph,
                    options.frames,
                    options.gop,
                )
                for number, photograph in enumerate(photographs)
            ]
            for codec in ("libvpx-vp9", "libx264")
        }
        vp9, h264 = made.values()
        sparse = {**CLIP, "step": options.frames - 16}
        programs: dict[str, tuple[Program, dict[str, Any]]] = {
            "VP9, resize 224, normalize": (recipe, {"filenames": vp9, **CLIP}),
            "VP9, shuffled": (recipe, {"filenames": vp9, "random_shuffle": True, **CLIP}),
            "VP9, two clips a video": (recipe, {"filenames": vp9, **sparse}),
            "VP9, read": (read, {"filenames": vp9, **CLIP}),
        }
        rows: list[Row] = []
        for name, (program, data) in programs.items():
            if options.only in name:
                both = (
                    epochs(gradiva.pipeline_def, OURS, program, data, options),
                    epochs(dali_pipeline_def, THEIRS, program, data, options),
                )
                rows.append(measure(name, both, options.rounds, AHEAD))
        large = options.frames // 8 * options.threads  # a file for each thread
        against = {
            "H.264, clips with stride 2, against bare PyAV": (8, True, False, 2),
            "H.264, frames, against bare PyAV": (large, True, False, 1),
            "H.264, frames, batches of 8 clips, against bare PyAV": (8, True, False, 1),
            "H.264, without colors, against bare PyAV": (large, False, False, 1),
            "H.264, frames, against PyAV to RGB": (large, True, True, 1),
        }
        for name, (size, colors, others, stride) in against.items():
            if options.only in name:
                ours, bare = in_turns(
                    partial(our_rate, h264, options.threads, size, colors, stride),
                    partial(bare_rate, h264, options.threads, others),
                    2 * options.rounds,  # they are short
                )
                rows.append(row(name, ours, bare, "frames/s", bigger=True))
    if not options.only:
        save("video", rows)


if __name__ == "__main__":
    main()
