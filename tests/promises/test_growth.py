"""Promise: memory, descriptors and threads stay flat over epochs, over pipelines that come and go,
and over files that cannot be decoded. (benchmarks/soak.py has the first two in a longer form.)"""

from __future__ import annotations

import gc
import importlib
import random
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np
import pytest

import gradiva
from gradiva.eager.runtime.worker_pool import default_num_threads
from tests.fuzzing import seeds
from tests.ops.video.bars import encoded
from tests.oracle import flavors
from tests.soaking import Figures, scaled

from .damage import damaged

Media: TypeAlias = "tuple[list[bytes], list[Callable[..., Any]]]"
BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
MEBIBYTES = 8
"""How much more resident memory is no growth: what the allocator and the kernels still settle."""


@pytest.fixture
def soak(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("soak")


@pytest.mark.alone
@pytest.mark.full
@pytest.mark.parametrize(("part", "warm", "count"), [("epochs", 3, 12), ("cycles", 10, 40)])
def test_flat(soak: ModuleType, part: str, warm: int, count: int, figures: Figures) -> None:
    turns = getattr(soak, part)
    soak.watch(turns, warm)
    gc.collect()
    before = soak.measured(0)
    rows = soak.watch(turns, scaled(count))
    after = rows[-1]
    assert len(rows) > 10
    assert after["descriptors"] == before["descriptors"]
    assert after["threads"] == before["threads"] == threading.active_count()
    assert after["leased_bytes"] == before["leased_bytes"]
    assert after["resident_mib"] <= before["resident_mib"] + MEBIBYTES
    most = max(row["leased_bytes"] for row in rows)
    assert most <= 64 << 20
    figures(turns=scaled(count), before=before["resident_mib"], after=after["resident_mib"])


def test_what_is_measured(soak: ModuleType) -> None:
    row = soak.measured(7)
    assert row["turn"] == 7
    assert row["resident_mib"] > 10
    assert row["threads"] >= 1
    held = bytearray(64 << 20)
    held[::4096] = b"x" * len(held[::4096])
    assert soak.measured(8)["resident_mib"] - row["resident_mib"] == pytest.approx(64, abs=4)


def images() -> Media:
    """Of all kinds, whole ones and windows of them."""
    made = [make() for make in {**flavors.jpegs(), **flavors.others()}.values()]
    window = partial(gradiva.decoders.image_crop, crop=(4, 4), max_pixels=1 << 20)
    return made, [partial(gradiva.decoders.image, max_pixels=1 << 20), window]


def sounds() -> Media:
    return seeds.sounds(), [gradiva.decoders.audio, gradiva.peek_audio]


def videos() -> Media:
    """All frames, and some."""
    made = [encoded(form=form, frames=5) for form in ("mp4", "matroska")]
    return made, [gradiva.decoders.video, partial(gradiva.decoders.video, frames=[3, 1])]


MEDIA = {"images": images, "sounds": sounds, "videos": videos}


@pytest.mark.alone
@pytest.mark.full
@pytest.mark.filterwarnings("ignore:samples that cannot be read")
@pytest.mark.parametrize("kind", MEDIA)
def test_malformed_files(kind: str, soak: ModuleType, figures: Figures) -> None:
    """Damaged ones, refused and left out."""
    drawn = random.Random(8)
    made, uses = MEDIA[kind]()

    def decode() -> int:
        bad = damaged(drawn.choice(made), drawn)
        data = np.frombuffer(bad[: drawn.choice((None, drawn.randrange(1, len(bad))))], np.uint8)
        refused = 0
        for use in uses:
            try:
                use(data)
            except gradiva.GradivaError:
                refused += 1
        with gradiva.Quarantine():
            uses[0](gradiva.batch([data, data]), on_error="skip")
        return refused

    turns = 120 if kind == "videos" else 600
    for _ in range(turns // 2):
        decode()
    before = soak.measured(0)
    count = scaled(turns)
    refused = sum(decode() for _ in range(count))
    after = soak.measured(1)
    assert refused > count / 4
    # Those of others may go meanwhile; the threads of the pool come when they are needed.
    assert after["descriptors"] <= before["descriptors"]
    assert after["threads"] <= before["threads"] + default_num_threads()
    assert after["leased_bytes"] <= before["leased_bytes"]
    assert after["resident_mib"] <= before["resident_mib"] + 2 * MEBIBYTES
    held = {"before": before["resident_mib"], "after": after["resident_mib"]}
    figures(files=count, refused=refused, **held)
