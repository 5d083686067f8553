"""docs/coming_from_*.md: every expression in their columns of gradiva runs."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import pytest

from tests.project.test_docs import ROOT, blocks

PAGES = [ROOT / "docs" / f"coming_from_{name}.md" for name in ("torchvision", "albumentations")]
HEAD = re.compile(r"^\| [\w.]+ \| gradiva \| note \|\n\|---\|---\|---\|\n", re.MULTILINE)


def expressions(page: Path) -> list[str]:
    """What stands in code in the second column of the tables with a column `gradiva`."""
    found = []
    for part in HEAD.split(page.read_text("utf-8"))[1:]:
        for row in part.partition("\n\n")[0].splitlines():
            cell = row.split(" | ")[1]
            assert re.fullmatch("`[^`]+`", cell), row
            found.append(cell.strip("`"))
    return found


def test_there_are_expressions() -> None:
    assert [len(expressions(page)) > least for page, least in zip(PAGES, (60, 10), strict=True)]


@pytest.mark.full
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_expressions(
    page: Path, photographs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "photos").symlink_to(photographs, target_is_directory=True)
    names: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()):
        for kind, text in blocks(page):
            if kind == "python run":
                exec(text, names)
    threads = names["gradiva"].get_num_threads()
    failed = []
    for expression in expressions(page):
        try:
            result = eval(expression, names)
        except Exception as error:  # noqa: BLE001  all of them are listed
            failed.append(f"{expression}: {error}")
        else:
            if isinstance(result, names["gradiva"].Batch):
                result.evaluate()
    names["gradiva"].set_num_threads(threads)
    assert failed == []
