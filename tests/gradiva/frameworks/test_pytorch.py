"""What iterators of PyTorch and of NumPy refuse; more of them is in tests/capture/pipeline."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import pytest

from .refusals import REFUSALS


@REFUSALS
@pytest.mark.parametrize("name", ["numpy", "pytorch"])
def test_refusals(name: str, refuse: Callable[[Any], None]) -> None:
    if name == "pytorch":
        pytest.importorskip("torch")
    refuse(importlib.import_module(f"gradiva.plugin.{name}").DALIGenericIterator)
