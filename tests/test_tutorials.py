"""The tutorials run, from top to bottom."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

TUTORIALS = sorted((Path(__file__).parent.parent / "tutorials").glob("*.py"))


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_tutorial(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each asserts what it claims, and prints something to look at."""
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out
