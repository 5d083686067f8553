"""Promise: memory, descriptors and threads stay flat over epochs, over pipelines that come and go,
and over files that cannot be decoded. (benchmarks/soak.py has the first two in a longer form.)"""

from __future__ import annotations

import gc
import importlib
import random
import threading
from functools import partial
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import gradiva
from gradiva.eager.runtime.worker_pool import default_num_threads
from tests.oracle import flavors
from tests.soaking import Figures, scaled

from .damage import damaged

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


@pytest.mark.alone
@pytest.mark.full
@pytest.mark.filterwarnings("ignore:samples that cannot be read")
def test_malformed_files(soak: ModuleType, figures: Figures) -> None:
    """Damaged images of all kinds, whole ones and windows of them, refused and left out."""
    drawn = random.Random(8)
    made = [make() for make in {**flavors.jpegs(), **flavors.others()}.values()]

    def decode() -> int:
        bad = damaged(drawn.choice(made), drawn)
        data = np.frombuffer(bad[: drawn.choice((None, drawn.randrange(1, len(bad))))], np.uint8)
        refused = 0
        for use in (gradiva.decoders.image, partial(gradiva.decoders.image_crop, crop=(4, 4))):
            try:
                use(data, max_pixels=1 << 20)
            except gradiva.GradivaError:
                refused += 1
        with gradiva.Quarantine():
            gradiva.decoders.image(gradiva.batch([data, data]), on_error="skip", max_pixels=1 << 20)
        return refused

    for _ in range(300):
        decode()
    before = soak.measured(0)
    count = scaled(600)
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
