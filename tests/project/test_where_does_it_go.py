"""docs/where_does_it_go.md: its first example works as it stands; the files it names are there."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import pipeline_def
from gradiva.eager.operators.operator import operators
from gradiva.extension import check_operator
from tests.project.test_docs import ROOT, blocks

PAGE = ROOT / "docs" / "where_does_it_go.md"
MODULE = "gradiva.ops.image.color.threshold"


@pytest.fixture(scope="module")
def threshold(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The operator of the page, under the name of its module, exported by the page's line."""
    texts = dict(blocks(PAGE))
    path = tmp_path_factory.mktemp("page") / "threshold.py"
    path.write_text(texts["python ops/image/color/threshold.py"], "utf-8")
    spec = importlib.util.spec_from_file_location(MODULE, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, MODULE, module)
        spec.loader.exec_module(module)
        names: dict[str, Any] = {}
        exec(texts["python gradiva/fn/_shared_operators.py"], names)
        try:
            yield names["threshold"]
        finally:
            operators.pop("threshold", None)


def test_dynamic_mode(threshold: Any, photographs: Path) -> None:
    image = gradiva.imread(photographs / "things" / "coffee.jpg")
    expected = np.where(np.asarray(image) >= 100, 255, 0)
    np.testing.assert_array_equal(np.asarray(threshold(image, level=100)), expected)


def test_pipeline_mode(threshold: Any, photographs: Path) -> None:
    @pipeline_def(batch_size=2, num_threads=1, prefetch_queue_depth=1)
    def pipe() -> Any:
        files, _ = gradiva.fn.readers.file(file_root=str(photographs))
        images = gradiva.decoders.image(files)
        return images, threshold(images, level=100)

    with pipe() as running:
        images, black_and_white = running.run()
    for image, made in zip(images, black_and_white, strict=True):
        expected = np.where(np.asarray(image) >= 100, 255, 0)
        np.testing.assert_array_equal(np.asarray(made), expected)


@pytest.mark.full
def test_it_passes_the_checks_of_all_operators(threshold: Any) -> None:
    assert check_operator(threshold) > 15


@pytest.mark.tiny
def test_the_files_that_it_names_are_there() -> None:
    text = PAGE.read_text("utf-8")
    named = re.findall(r"`((?:eager|ops|capture|gradiva|tests|docs)/[\w/.]+)`", text)
    assert len(named) > 30
    assert [name for name in named if not (ROOT / name).exists()] == []
