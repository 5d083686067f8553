"""What the side-by-side scripts share: timing two rivals in turns, and writing what was seen."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import gradiva

RESULTS = Path(__file__).parent / "results"


def per_call(function: Callable[[], Any], calls: int) -> float:
    """Seconds per call, over `calls` calls."""
    started = time.perf_counter()
    for _ in range(calls):
        function()
    return (time.perf_counter() - started) / calls


def in_turns(
    ours: Callable[[], float], theirs: Callable[[], float], rounds: int
) -> tuple[list[float], list[float]]:
    """Measure both, one after the other, `rounds` times, so that a busy moment hits both."""
    left, right = [], []
    for _ in range(rounds):
        left.append(ours())
        right.append(theirs())
    return left, right


Row = dict[str, Any]


def row(name: str, ours: list[float], theirs: list[float], unit: str, bigger: bool) -> Row:
    """Medians, and the ratio ours / theirs."""
    a, b = statistics.median(ours), statistics.median(theirs)
    better = "more" if bigger else "less"
    figures = f"ours {a:10.2f}  theirs {b:10.2f} {unit:9} ratio {a / b:5.2f}"
    print(f"{name:44} {figures} ({better} is better)")
    return {
        "name": name,
        "unit": unit,
        "ours": round(a, 4),
        "theirs": round(b, 4),
        "ratio": round(a / b, 4),
        "all_ours": [round(x, 4) for x in ours],
        "all_theirs": [round(x, 4) for x in theirs],
    }


def versions(*names: str) -> dict[str, str]:
    """Of gradiva, and of those of these packages that are installed."""
    found = {"gradiva": gradiva.__version__}
    for name in names:
        with contextlib.suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def save(name: str, rows: list[dict[str, Any]], **more: Any) -> None:
    """Write the rows with the machine and the command to `results/<name>.json`."""
    facts = {
        "command": "python " + " ".join(["benchmarks/" + Path(sys.argv[0]).name, *sys.argv[1:]]),
        "machine": f"{processor()}, {os.cpu_count()} CPUs, {platform.system()}",
        "load_average_at_the_end": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
        "versions": versions("numpy", "numba", "nvidia-dali-cuda120"),
        **more,
        "rows": rows,
    }
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps(facts, indent=1) + "\n")
    print(f"written: {path}")


def processor() -> str:
    """The CPU's name, where the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((x.split(":")[1].strip() for x in lines if x.startswith("model name")), "unknown")
