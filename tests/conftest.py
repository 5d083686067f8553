"""What tests share: the photographs of the package, and a quiet, private cache of kernels."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

import gradiva
from gradiva.eager.rng import _step


@pytest.fixture(scope="session")
def photographs() -> Path:
    """The folder of photographs that ships with the package: one folder per label."""
    return Path(gradiva.__file__).parent / "photographs"


@pytest.fixture(scope="module")
def young_heap() -> Iterator[None]:
    """What was there before this file is left out of collections: they would take seconds each."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(autouse=True)
def _alone() -> Iterator[None]:
    """Each test starts outside of any loop over a reader, and with the default generator seeded."""
    _step.set(None)
    gradiva.random.set_seed(1234)
    yield
    _step.set(None)
