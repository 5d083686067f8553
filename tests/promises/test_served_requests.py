"""Promise: a batcher under load, with damaged files, cancellations and missed deadlines, answers
each request in one way, and memory, descriptors and threads stay flat."""

from __future__ import annotations

import asyncio
import gc
import importlib
import io
import random
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import PIL.Image
import pytest

import gradiva
from gradiva import capture
from gradiva.serve import Batcher, DeadlineExceeded, Overloaded
from tests.soaking import Figures, scaled

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
MEBIBYTES = 8
"""How much more resident memory is no growth, as in test_growth.py."""
REQUESTS = 200
"""In each turn."""
ENDS = ("done", "failed", "refused", "late", "canceled")


@pytest.fixture
def soak(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("soak")


@pytest.fixture(scope="module")
def files(photographs: Path) -> list[bytes]:
    """Small files, so that a turn takes little."""
    found = []
    for path in sorted(photographs.rglob("*.jpg"))[:6]:
        picture = PIL.Image.open(path).convert("RGB")
        picture.thumbnail((100, 100))
        stream = io.BytesIO()
        picture.save(stream, "JPEG")
        found.append(stream.getvalue())
    return [*found, found[0][:300], b"no picture"]


def raising(files: Any) -> Any:
    return gradiva.resize(gradiva.decoders.image(files), size=(32, 32))


def skipping(files: Any) -> Any:
    images = gradiva.decoders.image(files, on_error="skip")
    return gradiva.resize(images, size=(32, 32)).as_array()


FUNCTIONS: list[Callable[..., Any]] = [raising, skipping, capture.compile(skipping)]


def turns(files: list[bytes], ends: Counter[str]) -> Callable[[int], Iterator[None]]:
    """Each turn makes a batcher; each third is dropped without being closed."""

    async def client(batcher: Batcher, dice: random.Random) -> str:
        await asyncio.sleep(dice.random() * 0.05)
        call = batcher.submit_async(dice.choice(files), deadline_ms=dice.choice((None, 1, 2000)))
        task = asyncio.create_task(call)
        if dice.random() < 0.2:
            await asyncio.sleep(dice.random() * 0.005)
            task.cancel()
        try:
            assert (await task).shape == (32, 32, 3)
        except asyncio.CancelledError:
            return "canceled"
        except Overloaded:
            return "refused"
        except DeadlineExceeded:
            return "late"
        except gradiva.GradivaError:
            return "failed"
        return "done"

    async def clients(batcher: Batcher, dice: random.Random) -> list[str]:
        return await asyncio.gather(*(client(batcher, dice) for _ in range(REQUESTS)))

    def made(count: int) -> Iterator[None]:
        for number in range(count):
            function = FUNCTIONS[number % len(FUNCTIONS)]
            batcher = Batcher(function, max_queue=100, runners=1 + number % 2)
            ends.update(asyncio.run(clients(batcher, random.Random(number))))
            if number % 3:
                assert batcher.close(drain=True, timeout=60)
                told = batcher.stats()
                assert sum(told[end] for end in ENDS) == told["requests"] <= REQUESTS
            del batcher
            yield

    return made


@pytest.mark.alone
@pytest.mark.full
def test_flat(soak: ModuleType, files: list[bytes], figures: Figures) -> None:
    ends: Counter[str] = Counter()
    count = scaled(24)
    soak.watch(turns(files, ends), 6)
    gc.collect()
    before = soak.measured(0)
    after = soak.watch(turns(files, ends), count)[-1]
    assert {"done", "failed", "canceled"} <= {*ends} <= {*ENDS}
    assert after["descriptors"] == before["descriptors"]
    assert after["threads"] == before["threads"]
    assert after["leased_bytes"] == before["leased_bytes"]
    assert after["resident_mib"] <= before["resident_mib"] + MEBIBYTES
    figures(turns=count, before=before["resident_mib"], after=after["resident_mib"], **ends)
