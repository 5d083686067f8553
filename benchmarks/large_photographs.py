"""Photographs of 4000x3000 pixels, of which 256 rows are wanted: ours without and with `min_size`,
and DALI.

The recipe is val: resize 256, crop 224, normalize. The photographs are the package's, enlarged,
quality 90, 4:2:0; "fine" ones have detail as fine as a pixel and noise, as those of a camera, and
"smooth" ones have what enlarging leaves. The last rows of each say what the JPEG library itself
needs for a file, on one thread, which reads all codes of a file, whatever the scale; and what we
need, who skip them at 1/8.
"""

from __future__ import annotations

import argparse
import functools
import io
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
import simplejpeg
from nvidia.dali import fn as dali_fn
from nvidia.dali import pipeline_def as dali_pipeline_def
from nvidia.dali import types as dali_types
from programs import val
from side_by_side import Row, in_turns, per_call, row, save

import gradiva
from gradiva import decoders, fn, types

WIDTH, HEIGHT = 4000, 3000
SMALL = 256
AHEAD = 1
PAUSE = 1.5
SCALES = (1, 2, 4, 8)
KINDS = {"fine": 1.0, "smooth": 0.0}


def large_photographs(count: int, strength: float = 1.0) -> Iterator[bytes]:
    """`count` JPEG files; they differ in picture, place and noise. strength: of the latter."""
    generator = np.random.default_rng(0)
    folder = Path(gradiva.__file__).parent / "photographs"
    sources = [PIL.Image.open(path).convert("RGB") for path in sorted(folder.rglob("*.jpg"))]
    for number in range(count):
        picture = sources[number % len(sources)]
        shift = generator.uniform(0.0, 0.1, 2)
        box = (*(shift * picture.size), *((0.9 + shift) * picture.size))
        large = picture.resize((WIDTH, HEIGHT), PIL.Image.Resampling.BICUBIC, box)
        pixels = np.asarray(large, np.float32)
        # Detail follows the light, and is as fine as a pixel; noise is in all channels alike.
        detail = strength * generator.standard_normal((HEIGHT, WIDTH, 1), np.float32)
        pixels = pixels * (1.0 + 0.02 * detail) + 2.0 * detail
        image = PIL.Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))
        stream = io.BytesIO()
        image.save(stream, "JPEG", quality=90, subsampling="4:2:0")
        yield stream.getvalue()


def rate(pipe: Any, batches: int, size: int) -> float:
    """Images per second, after what was ready, and a pause in which the rival makes the last of its
    own."""
    time.sleep(PAUSE)
    for _ in range(AHEAD + 1):
        pipe.run()
    return size / per_call(pipe.run, batches)


def pipelines(folder: str, options: Any) -> dict[str, Any]:
    """The three sides."""
    common = {
        "batch_size": options.batch_size,
        "num_threads": options.threads,
        "prefetch_queue_depth": AHEAD,
    }

    @gradiva.pipeline_def(**common)
    def ours(least: Any = None) -> Any:
        files, labels = fn.readers.file(file_root=folder)
        return val(fn, types, files, shorter=SMALL, min_size=least), labels

    @dali_pipeline_def(device_id=None, **common)
    def theirs() -> Any:
        files, labels = dali_fn.readers.file(file_root=folder)
        return val(dali_fn, dali_types, files, shorter=SMALL), labels

    made = {"without": ours(), "with": ours(SMALL), "theirs": theirs()}
    for pipe in made.values():
        pipe.build()
    return made


def ceiling(kind: str, files: list[bytes]) -> list[Row]:
    """Milliseconds a file that the JPEG library takes at each scale, alone and on one thread; with
    its slow and exact ways, which we use, and with its fast ones, which give other bits."""
    rows: list[Row] = []
    for fast in (False, True):
        taken = []
        for scale in SCALES:
            least = {"min_height": HEIGHT // scale, "min_width": WIDTH // scale}
            decode = functools.partial(_decode_all, files, least if scale > 1 else {}, fast)
            decode()
            taken.append(1e3 * min(per_call(decode, 1) for _ in range(3)) / len(files))
        name = f"{kind}: the JPEG library alone, {'fast' if fast else 'exact'}"
        figures = ", ".join(f"1/{s}: {t:.1f}" for s, t in zip(SCALES, taken, strict=True))
        print(f"{name:44} ms a file at {figures}; at most {taken[0] / taken[-1]:.2f} times")
        by_scale = {f"1/{s}": round(t, 3) for s, t in zip(SCALES, taken, strict=True)}
        rows.append({"name": name, "unit": "ms", **by_scale})
    return rows


def ours_alone(kind: str, files: list[bytes]) -> Row:
    """The same of ours at 1/8, on one thread."""
    batch = gradiva.as_batch([np.frombuffer(data, np.uint8) for data in files])
    with gradiva.EvalContext(num_threads=1):
        decode = functools.partial(decoders.image, batch, min_size=(HEIGHT // 8, WIDTH // 8))
        decode()
        taken = 1e3 * min(per_call(decode, 1) for _ in range(3)) / len(files)
    name = f"{kind}: ours alone, which skips codes"
    print(f"{name:44} ms a file at 1/8: {taken:.1f}")
    return {"name": name, "unit": "ms", "1/8": round(taken, 3)}


def _decode_all(files: list[bytes], least: dict[str, int], fast: bool) -> None:
    for data in files:
        simplejpeg.decode_jpeg(data, "RGB", fastdct=fast, fastupsample=fast, **least)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=32)
    parser.add_argument("--batches", type=int, default=5, help="per round")
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    rows: list[Row] = []
    for kind, strength in KINDS.items():
        with tempfile.TemporaryDirectory() as place:
            files = list(large_photographs(options.images, strength))
            for number, data in enumerate(files):
                target = Path(place, "photographs", f"{number:03}.jpg")
                target.parent.mkdir(exist_ok=True)
                target.write_bytes(data)
            mean = sum(map(len, files)) / len(files)
            print(f"{kind}: {mean / 1e6:.2f} MB a file")
            rows.append({"name": f"{kind}: bytes of a file", "bytes": round(mean)})
            rows += sides(kind, place, options)
            rows += ceiling(kind, files[:8])
            rows.append(ours_alone(kind, files[:8]))
    save("large_photographs", rows)


def sides(kind: str, folder: str, options: Any) -> list[Row]:
    """The sides against each other, in turns."""
    runs: dict[str, Callable[[], float]] = {
        name: functools.partial(rate, pipe, options.batches, options.batch_size)
        for name, pipe in pipelines(folder, options).items()
    }
    for run in runs.values():
        run()
    found = []
    for name, one, other in (
        ("min_size=256, against ours without", "with", "without"),
        ("without, against the reference", "without", "theirs"),
        ("min_size=256, against the reference", "with", "theirs"),
    ):
        rates = in_turns(runs[one], runs[other], options.rounds)
        found.append(row(f"{kind}: {name}", *rates, "images/s", bigger=True))
    return found


if __name__ == "__main__":
    main()
