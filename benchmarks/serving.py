"""Requests per second of a server at a p99 latency of 50 ms: the Batcher against thread pools.

A request is a JPEG file, sent over loopback to a server in a process of its own, which decodes,
resizes, crops and normalizes it to float32, CHW, and answers with a few bytes. The load is an open
loop: requests are sent at random times (Poisson), whether or not earlier ones are answered, and
latency counts from the time at which a request was due. A refused request counts as one that takes
for ever. "capacity": the highest rate at which 99 % of the requests take at most 50 ms. "overload":
answers within 50 ms per second at 1.5 times the highest capacity of all.

The rivals: `batcher` is `gradiva.serve.Batcher` with a deadline; `pool` is the same compiled
function for one file at a time, in a thread pool; `torchvision` and `transformers` are their
transforms and image processor, each with Pillow, in a thread pool. The last two need their
packages, and are left out without them. Client and server share the cores.
"""

from __future__ import annotations

import argparse
import asyncio
import heapq
import importlib.util
import io
import os
import random
import statistics
import struct
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from importlib import import_module
from typing import Any

import numpy as np
import PIL.Image
from photographs import encoded_photographs
from programs import MEAN, STD, val
from side_by_side import save, versions

import gradiva
from gradiva import capture, types
from gradiva.serve import Batcher

LIMIT = 0.050
"""Seconds within which 99 % of the requests must be answered."""
HEAD = struct.Struct("<IB3xI")
"""Of a message: number, whether it was answered, bytes that follow."""
RIVALS = ("batcher", "pool", "torchvision", "transformers")
CONNECTIONS = 8


def one_by_one(function: Any, threads: int) -> Any:
    """A coroutine that runs a function of one file in a thread pool."""
    pool = ThreadPoolExecutor(threads)

    async def prepare(data: bytes) -> Any:
        return await asyncio.get_running_loop().run_in_executor(pool, function, data)

    return prepare


def preparing(name: str, threads: int) -> Any:
    """The coroutine of a rival: the bytes of a file to an array."""
    if name in ("batcher", "pool"):
        compiled = capture.compile(lambda files: val(gradiva, types, files))
        if name == "pool":
            gradiva.set_num_threads(1)
            return one_by_one(lambda data: compiled(gradiva.as_batch([data])).as_array(), threads)
        gradiva.set_num_threads(threads)
        batcher = Batcher(compiled, max_batch=32, deadline_ms=1e3 * LIMIT)
        batcher.warm_up(next(encoded_photographs(1)))
        return batcher.submit_async
    import_module("torch").set_num_threads(1)

    def opened(data: bytes) -> Any:
        return PIL.Image.open(io.BytesIO(data)).convert("RGB")

    if name == "torchvision":
        transforms: Any = import_module("torchvision.transforms")
        mean, std = [x / 255 for x in MEAN], [x / 255 for x in STD]
        steps = transforms.Compose(
            [
                transforms.Resize(256),
                transforms.CenterCrop(224),
                transforms.ToTensor(),
                transforms.Normalize(mean, std),
            ]
        )
        return one_by_one(lambda data: steps(opened(data)), threads)
    transformers: Any = import_module("transformers")
    kind = getattr(transformers, "CLIPImageProcessorPil", transformers.CLIPImageProcessor)
    sizes: Any = {"size": {"shortest_edge": 256}, "crop_size": {"height": 224, "width": 224}}
    processor = kind(**sizes, resample=2)
    return one_by_one(
        lambda data: processor(opened(data), return_tensors="np")["pixel_values"], threads
    )


async def serve(name: str, threads: int) -> None:
    """A server, until its standard input is closed. It prints its port, once it is warm."""
    prepare = preparing(name, threads)
    for data in encoded_photographs(8):
        await prepare(data)

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        running: set[Any] = set()

        async def answer(number: int, data: bytes) -> None:
            try:
                array = np.asarray(await prepare(data))
                assert array.size == 3 * 224 * 224
                good = True
            except gradiva.GradivaError:
                good = False
            writer.write(HEAD.pack(number, good, 0))

        try:
            while True:
                number, _, size = HEAD.unpack(await reader.readexactly(HEAD.size))
                task = asyncio.create_task(answer(number, await reader.readexactly(size)))
                running.add(task)
                task.add_done_callback(running.discard)
        except asyncio.IncompleteReadError:
            writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0, limit=1 << 22)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)
    os._exit(0)  # requests may still wait


class Load:
    """Latencies of an open loop at one rate. A request without an answer has an infinite one."""

    def __init__(self, port: int, files: list[bytes]) -> None:
        self.port, self.files = port, files

    def run(self, rate: float, seconds: float, seed: int) -> list[float]:
        """Latencies at so many requests per second; those of the first second do not count."""
        chance = random.Random(seed)
        due = [0.0]
        while due[-1] < seconds + 1:
            due.append(due[-1] + chance.expovariate(rate))
        latencies = asyncio.run(self._run(due))
        return [one for one, when in zip(latencies, due, strict=True) if when >= 1]

    async def _run(self, due: list[float]) -> list[float]:
        latencies = [float("inf")] * len(due)
        left, done, began = len(due), asyncio.Event(), time.perf_counter() + 0.1

        async def read(reader: asyncio.StreamReader) -> None:
            nonlocal left
            while True:
                number, good, _ = HEAD.unpack(await reader.readexactly(HEAD.size))
                if good:
                    latencies[number] = time.perf_counter() - began - due[number]
                left -= 1
                if not left:
                    done.set()

        opened = [await asyncio.open_connection("127.0.0.1", self.port) for _ in range(CONNECTIONS)]
        readers = [asyncio.create_task(read(reader)) for reader, _ in opened]
        for number, when in enumerate(due):
            wait = began + when - time.perf_counter()
            if wait > 0:
                await asyncio.sleep(wait)
            data = self.files[number % len(self.files)]
            _, writer = opened[number % len(opened)]
            writer.write(HEAD.pack(number, 0, len(data)) + data)
        with suppress(asyncio.TimeoutError):  # what takes a second more is late in any case
            await asyncio.wait_for(done.wait(), 1.0)
        for task in readers:
            task.cancel()
        for _, writer in opened:
            writer.transport.abort()
        await asyncio.gather(*readers, return_exceptions=True)
        return latencies


def p99(latencies: list[float]) -> float:
    """The 99th percentile, from above."""
    return heapq.nlargest(len(latencies) // 100 + 1, latencies)[-1]


class Server:
    """The process of a rival. It is started again for each load, so that nothing waits from the
    load before."""

    def __init__(self, name: str, threads: int) -> None:
        command = [sys.executable, __file__, "--serve", name, "--threads", str(threads)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline())

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *details: object) -> None:
        self.process.kill()
        self.process.wait()


def loaded(name: str, rate: float, files: list[bytes], options: Any, seed: int) -> list[float]:
    with Server(name, options.threads) as server:
        return Load(server.port, files).run(rate, options.seconds, seed)


def capacity(name: str, files: list[bytes], options: Any, seed: int) -> float:
    """The highest rate that was served: found by growing steps, then by halving."""
    low, high, rate = 0.0, float("inf"), options.rate
    for _ in range(options.steps):
        found = p99(loaded(name, rate, files, options, seed))
        print(f"  {name}: {rate:.0f} requests/s, p99 {1e3 * found:.1f} ms", flush=True)
        if found <= LIMIT:
            low = rate
        else:
            high = rate
        rate = 1.5 * rate if high == float("inf") else (low + high) / 2
    return low


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--serve", choices=RIVALS, help=argparse.SUPPRESS)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--seconds", type=float, default=8.0, help="of each load")
    parser.add_argument("--steps", type=int, default=9, help="loads of each search")
    parser.add_argument("--rate", type=float, default=100.0, help="of the first load")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rivals", nargs="*", choices=RIVALS, default=RIVALS)
    parser.add_argument("--no-results", action="store_true", help="write no file")
    options = parser.parse_args()
    if options.serve:
        asyncio.run(serve(options.serve, options.threads))
        return
    files = list(encoded_photographs(64))
    names = [
        name
        for name in options.rivals
        if name in ("batcher", "pool") or importlib.util.find_spec(name) is not None
    ]
    rates: dict[str, list[float]] = {name: [] for name in names}
    for seed in range(options.rounds):
        for name in names:  # in turns, so that a busy moment hits all
            rates[name].append(capacity(name, files, options, seed))
    medians = {name: statistics.median(found) for name, found in rates.items()}
    overload = 1.5 * max(medians.values())
    rows: list[dict[str, Any]] = []
    for name in names:
        good: list[float] = []
        for seed in range(options.rounds if overload else 0):
            latencies = loaded(name, overload, files, options, seed)
            good.append(sum(one <= LIMIT for one in latencies) / options.seconds)
        rows.append(
            {
                "name": name,
                "capacity": round(medians[name], 1),
                "all": [round(one, 1) for one in rates[name]],
                "overload": round(overload, 1),
                "in_time_at_overload": round(statistics.median(good or [0.0]), 1),
            }
        )
        print(rows[-1])
    if not options.no_results:
        more = versions("torch", "torchvision", "transformers", "pillow")
        save("serving", rows, limit_ms=1e3 * LIMIT, threads=options.threads, rivals=more)


if __name__ == "__main__":
    main()
