"""How long promises are tested (CONTRIBUTING.md): once in CI, longer by `pytest -m soak`, and the
figures of a run."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

from tests import tiers

__all__ = ["FIGURES", "Figures", "is_soak", "scale", "scaled", "write"]

FIGURES = Path(__file__).parents[1] / "build" / "promises.json"
"""What a run of `-m soak` writes; `benchmarks/soak.py --promises` puts it among the results."""
LONG = 10
"""The scale of `-m soak` where GRADIVA_SOAK_SCALE says nothing else."""

Figures: TypeAlias = Callable[..., None]
"""What a test has done: names and numbers."""


def is_soak() -> bool:
    """Whether the long form was asked for."""
    return tiers.chosen() == "soak"


def scale() -> float:
    """How many times as long as in CI."""
    given = os.environ.get("GRADIVA_SOAK_SCALE", "")
    return float(given) if given else LONG if is_soak() else 1


def scaled(count: int) -> int:
    """The number of a thing that is counted in CI, as many times."""
    return max(1, round(count * scale()))


def write(figures: dict[str, dict[str, Any]]) -> None:
    """Put the figures of a long run on disk, beside those of other runs."""
    FIGURES.parent.mkdir(exist_ok=True)
    before = json.loads(FIGURES.read_text()) if FIGURES.exists() else {}
    facts = {"scale": scale(), "python": platform.python_version()}
    made = {name: {**facts, **numbers} for name, numbers in figures.items()}
    FIGURES.write_text(json.dumps({**before, **made}, indent=1, sort_keys=True) + "\n")
