"""README's table of speed has the figures of `benchmarks/results`."""

from __future__ import annotations

import runpy
from typing import Any

from tests.project.test_docs import ROOT


def test_the_table_is_up_to_date() -> None:
    """If this fails: `python benchmarks/speed_table.py`."""
    names: dict[str, Any] = runpy.run_path(str(ROOT / "benchmarks" / "speed_table.py"))
    text = (ROOT / "README.md").read_text("utf-8")
    assert names["table"]() in text
    assert names["written"](text) == text
    assert names["written"](text.replace("| decode JPEGs | ", "| decode JPEGs | 9")) == text


def test_rates_and_times_become_one_ratio() -> None:
    names: dict[str, Any] = runpy.run_path(str(ROOT / "benchmarks" / "speed_table.py"))
    ratio = names["times_as_fast"]
    assert ratio({"unit": "images/s", "ours": 30.0, "theirs": 10.0}) == 3.0
    assert ratio({"unit": "ms", "ours": 10.0, "theirs": 30.0}) == 3.0
