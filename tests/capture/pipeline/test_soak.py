"""Memory, descriptors and threads stay flat over epochs and over pipelines that come and go.

A short form of benchmarks/soak.py, whose long form is in benchmarks/results/soak.json.
"""

from __future__ import annotations

import gc
import importlib
import threading
from pathlib import Path
from types import ModuleType

import pytest

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
MEBIBYTES = 8
"""How much more resident memory is no growth: what the allocator and the kernels still settle."""


@pytest.fixture
def soak(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("soak")


@pytest.mark.alone
@pytest.mark.full
@pytest.mark.parametrize(("part", "warm", "count"), [("epochs", 3, 15), ("cycles", 10, 60)])
def test_flat(soak: ModuleType, part: str, warm: int, count: int) -> None:
    turns = getattr(soak, part)
    soak.watch(turns, warm)
    gc.collect()
    before = soak.measured(0)
    rows = soak.watch(turns, count)
    after = rows[-1]
    assert len(rows) > 10
    assert after["descriptors"] == before["descriptors"]
    assert after["threads"] == before["threads"] == threading.active_count()
    assert after["leased_bytes"] == before["leased_bytes"]
    assert after["resident_mib"] <= before["resident_mib"] + MEBIBYTES
    most = max(row["leased_bytes"] for row in rows)
    assert most <= 64 << 20


def test_what_is_measured(soak: ModuleType) -> None:
    row = soak.measured(7)
    assert row["turn"] == 7
    assert row["resident_mib"] > 10
    assert row["threads"] >= 1
    held = bytearray(64 << 20)
    held[::4096] = b"x" * len(held[::4096])
    assert soak.measured(8)["resident_mib"] - row["resident_mib"] == pytest.approx(64, abs=4)
