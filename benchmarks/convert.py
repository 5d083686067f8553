"""Preprocessing for models: bytes of JPEG files in, tensors out, in batches of 32, on two cores:
`gradiva.convert` against the transforms and processors that it converts.

The preset of ResNet-50 against torchvision's v2 transforms of tensors; CLIP and Qwen2-VL against
the processors of transformers that use torchvision ("fast"). Theirs runs in each of these ways, and
the fastest is measured: files decoded by torchvision, where its decoder works, or by Pillow; a
batch with so many threads of torch, or parts of it in so many threads of Python. Ours is the
converted function, compiled, which computes nothing ahead. Results are compared first:
"largest_difference" of the values, and "equal", the share that is equal.

`python benchmarks/convert.py`: needs torch, torchvision, transformers and Pillow.
"""

from __future__ import annotations

import argparse
import importlib
import io
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import PIL.Image
import torch
import transformers
from photographs import encoded_photographs
from side_by_side import Row, in_turns, row, save, versions
from torchvision.transforms import v2

import gradiva

BATCH = 32
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
Files = list[bytes]
Prepare = Callable[[Files], Any]
"""A batch of files as one tensor."""


def by_torchvision(data: bytes) -> Any:
    """A tensor (3, H, W) by torchvision's decoder."""
    read: Any = importlib.import_module("torchvision.io")
    encoded = torch.frombuffer(bytearray(data), dtype=torch.uint8)
    return read.decode_jpeg(encoded, mode=read.ImageReadMode.RGB)


def by_pillow(data: bytes) -> Any:
    """The same by Pillow."""
    with PIL.Image.open(io.BytesIO(data)) as picture:
        return torch.from_numpy(np.array(picture.convert("RGB"))).permute(2, 0, 1)


def decoders(data: bytes) -> list[Callable[[bytes], Any]]:
    """Those that work here."""
    working = []
    for one in (by_torchvision, by_pillow):
        try:
            one(data)
        except (RuntimeError, ImportError):
            continue
        working.append(one)
    return working


def resnet() -> Any:
    """The preset of ResNet-50 for tensors."""
    return v2.Compose(
        [
            v2.Resize(232, antialias=True),
            v2.CenterCrop(224),
            v2.ToDtype(torch.float32, scale=True),
            v2.Normalize(MEAN, STD),
        ]
    )


def with_transform(transform: Any) -> Callable[[list[Any]], Any]:
    """A function of decoded images, of a transform of one."""
    return lambda images: torch.stack([transform(image) for image in images])


def with_processor(processor: Any) -> Callable[[list[Any]], Any]:
    """The same of an image processor of transformers."""
    return lambda images: processor(images=images, return_tensors="pt")["pixel_values"]


def at_once(decode: Any, prepare: Any, threads: int, pool: ThreadPoolExecutor) -> Prepare:
    """Files are decoded in threads of Python, then the batch is prepared with threads of torch."""

    def run(files: Files) -> Any:
        torch.set_num_threads(threads)
        return prepare(list(pool.map(decode, files)))

    return run


def in_parts(decode: Any, prepare: Any, threads: int, pool: ThreadPoolExecutor) -> Prepare:
    """Each thread of Python decodes and prepares a part of the batch, with one thread of torch."""

    def part(files: Files) -> Any:
        return prepare([decode(data) for data in files])

    def run(files: Files) -> Any:
        torch.set_num_threads(1)
        return torch.cat(list(pool.map(part, (files[k::threads] for k in range(threads)))))

    return run


def ours(function: Any) -> Prepare:
    """The converted function, compiled: a call prepares the batch that it is given."""
    compiled = gradiva.capture.compile(function)

    def run(files: Files) -> Any:
        batch = gradiva.batch([np.frombuffer(data, np.uint8) for data in files])
        made = compiled(batch)
        whole = gradiva.pixel_values(made[0]) if isinstance(made, tuple) else made.as_array()
        return torch.from_numpy(whole)

    return run


def rate(run: Prepare, batches: list[Files]) -> float:
    """Images per second."""
    began = time.perf_counter()
    for files in batches:
        run(files)
    return len(batches) * BATCH / (time.perf_counter() - began)


def tried(ways: dict[str, Prepare], batches: list[Files]) -> dict[str, float]:
    """The rate of each way for two batches, after one."""
    rates = {}
    for name, way in ways.items():
        way(batches[0])
        rates[name] = round(rate(way, batches[:2]), 1)
        print(f"  {name}: {rates[name]:.0f} images/s")
    return rates


def differences(one: Any, other: Any) -> dict[str, float]:
    """Between two tensors of the same values."""
    left, right = one.numpy(), other.numpy()
    apart = float(np.abs(left - right).max())
    return {"largest_difference": round(apart, 6), "equal": round(float((left == right).mean()), 6)}


def compare(
    name: str, function: Any, prepare: Any, batches: list[Files], options: argparse.Namespace
) -> Row:
    """One preset, both sides in turns."""
    threads = options.threads
    print(name)
    with ThreadPoolExecutor(threads) as pool:
        ways = {
            f"{decode.__name__}, {way.__name__}": way(decode, prepare, threads, pool)
            for decode in decoders(batches[0][0])
            for way in (at_once, in_parts)
        }
        rates = tried(ways, batches)
        run = ways[max(rates, key=lambda name: rates[name])]
        mine = ours(function)
        whole = next(way for title, way in ways.items() if title.endswith("at_once"))
        facts = differences(mine(batches[0]), whole(batches[0]))
        for files in batches[:2]:
            mine(files)
        turns = in_turns(partial(rate, mine, batches), partial(rate, run, batches), options.rounds)
    made = row(name, *turns, "images/s", True)
    return {**made, "their_ways": rates, **facts}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batches", type=int, default=8, help="in each round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2, help="of both sides")
    parser.add_argument("--only", choices=("resnet", "clip", "qwen2_vl"), help="one of them")
    options = parser.parse_args()
    transformers.logging.set_verbosity_error()
    gradiva.set_num_threads(options.threads)
    files = list(encoded_photographs(options.batches * BATCH))
    batches = [files[k : k + BATCH] for k in range(0, len(files), BATCH)]
    convert = gradiva.convert
    new = int(transformers.__version__.partition(".")[0]) >= 5
    ending = "" if new else "Fast"
    rows = []
    if options.only in (None, "resnet"):
        transform = resnet()
        function = convert.torchvision(transform, backend="tensor", decode=True)
        title = "ResNet-50 against torchvision v2"
        rows.append(compare(title, function, with_transform(transform), batches, options))
    for name, kind in (("clip", "CLIPImageProcessor"), ("qwen2_vl", "Qwen2VLImageProcessor")):
        if options.only in (None, name):
            processor = getattr(transformers, f"{kind}{ending}")()
            function = convert.huggingface(processor, decode=True)
            title = f"{kind} against transformers, fast"
            rows.append(compare(title, function, with_processor(processor), batches, options))
    names = ("torch", "torchvision", "transformers", "pillow")
    save("convert", rows, batch=BATCH, threads=options.threads, packages=versions(*names))


if __name__ == "__main__":
    main()
