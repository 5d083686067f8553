"""Promise: memory, descriptors and threads stay flat over epochs, over pipelines that come and go,
and over files that cannot be decoded. (benchmarks/soak.py has the first two in a longer form.)"""

from __future__ import annotations

import gc
import importlib
import threading
from pathlib import Path
from types import ModuleType

import pytest

from tests.soaking import Figures, scaled

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
