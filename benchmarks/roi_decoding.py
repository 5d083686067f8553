"""Decoding a window of a JPEG: ways to get the bits of a crop of the whole image, and their cost.

Milliseconds per image on one thread, the median of turns: the whole image by simplejpeg into memory
that is used again and a copy of the window; by Pillow; our `decode_region_into`; and DALI, its
whole decoder and its cropping one, in pipelines of one thread. nvimgcodec, which comes with that
library, decodes regions by itself, on the CPU, into memory of its own.
"""

from __future__ import annotations

import io
import statistics
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
import simplejpeg
from nvidia import nvimgcodec
from nvidia.dali import fn as dali_fn
from nvidia.dali import pipeline_def
from side_by_side import per_call, save

import gradiva
from gradiva.ops.decoders.formats.decode_region import decode_region_into
from gradiva.ops.decoders.formats.probe import probe

Array = np.ndarray[Any, Any]
ROUNDS = 7
BATCH = 8
WARM, MEASURED = 24, 8
WITHOUT_GPU = -99999  # nvimgcodec's number for "no device"
SIZES = ((375, 500), (1000, 1500))
PLACES = {"top": 0.0, "middle": 0.5, "bottom": 1.0}
EXTENTS = {"small": 0.25, "large": 0.75}


def photograph(height: int, width: int) -> Array:
    """The bytes of a photograph of that size: quality 90, 4:2:0."""
    path = Path(gradiva.__file__).parent / "photographs" / "things" / "coffee.jpg"
    stream = io.BytesIO()
    picture = PIL.Image.open(path).resize((width, height), PIL.Image.Resampling.BICUBIC)
    picture.save(stream, "JPEG", quality=90)
    return np.frombuffer(stream.getvalue(), np.uint8)


def by_dali(data: Array, decode: Callable[[Any], Any]) -> Callable[[], Any]:
    """One run of a pipeline of DALI on a batch of copies."""

    @pipeline_def(
        batch_size=BATCH,
        num_threads=1,
        device_id=None,
        seed=1,
        prefetch_queue_depth=1,
        exec_async=False,
        exec_pipelined=False,
    )
    def definition() -> Any:
        return decode(dali_fn.external_source(source=lambda: [data] * BATCH, batch=True))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pipeline = definition()
        pipeline.build()
    pipeline.run()
    return pipeline.run


def measured(ways: dict[str, tuple[Callable[[], Any], int]]) -> dict[str, float]:
    """Milliseconds per image of each way, which makes so many images a call, in turns."""
    seen: dict[str, list[float]] = {name: [] for name in ways}
    for call, images in ways.values():
        per_call(call, max(1, WARM // images))
    for _ in range(ROUNDS):
        for name, (call, images) in ways.items():
            seen[name].append(1e3 * per_call(call, max(1, MEASURED // images)) / images)
    return {name: round(statistics.median(times), 4) for name, times in seen.items()}


def window_row(data: Array, shape: tuple[int, int], extent: str, place: str) -> dict[str, Any]:
    height, width = (int(side * EXTENTS[extent]) for side in shape)
    top, left = (int((a - b) * PLACES[place]) for a, b in zip(shape, (height, width), strict=True))
    info = probe(data)
    whole = np.empty((*shape, 3), np.uint8)
    out, other = (np.empty((height, width, 3), np.uint8) for _ in range(2))

    def crop_of_whole() -> None:
        simplejpeg.decode_jpeg(data, "RGB", buffer=whole)
        np.copyto(other, whole[top : top + height, left : left + width])

    def pillow() -> Array:
        picture = PIL.Image.open(io.BytesIO(data.tobytes()))
        return np.asarray(picture.crop((left, top, left + width, top + height)))

    def region() -> None:
        decode_region_into(data, info, (top, left, height, width), out)

    decoder = nvimgcodec.Decoder(
        device_id=WITHOUT_GPU,
        max_num_cpu_threads=1,
        backends=[nvimgcodec.Backend(nvimgcodec.CPU_ONLY)],
    )
    encoded = data.tobytes()

    def by_nvimgcodec() -> Array:
        place = nvimgcodec.Region([top, left], [top + height, left + width])
        stream = nvimgcodec.CodeStream(encoded)
        return np.asarray(decoder.decode(stream.get_sub_code_stream(region=place)))

    positions = {"crop_pos_x": PLACES[place], "crop_pos_y": PLACES[place]}
    dali = by_dali(data, dali_fn.decoders.image)
    dali_crop = by_dali(
        data, lambda files: dali_fn.decoders.image_crop(files, crop=(height, width), **positions)
    )
    region(), crop_of_whole()
    np.testing.assert_array_equal(out, other)
    np.testing.assert_array_equal(by_nvimgcodec(), other)
    times = measured(
        {
            "simplejpeg, whole, then copied": (crop_of_whole, 1),
            "Pillow, whole, then cropped": (pillow, 1),
            "decode_region_into": (region, 1),
            "nvimgcodec, region": (by_nvimgcodec, 1),
            "reference, whole": (dali, BATCH),
            "reference, image_crop": (dali_crop, BATCH),
        }
    )
    ratio = times["decode_region_into"] / times["simplejpeg, whole, then copied"]
    name = f"{shape[1]}x{shape[0]}, {extent} window ({width}x{height}), {place}"
    print(f"{name:48} region / whole {ratio:.2f}  {times}")
    return {"name": name, "unit": "ms", "region / whole": round(ratio, 3), **times}


def random_row(data: Array, shape: tuple[int, int]) -> dict[str, Any]:
    """Random windows, by the operators: ours eager, DALI's in a pipeline."""
    files = gradiva.batch([data] * BATCH)
    times = measured(
        {
            "decoders.image": (lambda: gradiva.decoders.image(files), BATCH),
            "decoders.image_random_crop": (
                lambda: gradiva.decoders.image_random_crop(files),
                BATCH,
            ),
            "reference, image": (by_dali(data, dali_fn.decoders.image), BATCH),
            "reference, image_random_crop": (
                by_dali(data, dali_fn.decoders.image_random_crop),
                BATCH,
            ),
        }
    )
    ratio = times["decoders.image_random_crop"] / times["decoders.image"]
    name = f"{shape[1]}x{shape[0]}, random windows"
    print(f"{name:48} region / whole {ratio:.2f}  {times}")
    return {"name": name, "unit": "ms", "region / whole": round(ratio, 3), **times}


def main() -> None:
    gradiva.set_num_threads(1)
    gradiva.random.set_seed(1)
    rows = []
    for shape in SIZES:
        data = photograph(*shape)
        rows += [window_row(data, shape, extent, place) for extent in EXTENTS for place in PLACES]
        rows.append(random_row(data, shape))
    save("roi_decoding", rows)


if __name__ == "__main__":
    main()
