"""A Ray cluster of this machine, for the tests of this folder."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from .pipelines import STORE


@pytest.fixture(scope="session")
def cluster() -> Iterator[Any]:
    """One with four CPUs and a small object store, which is gone afterwards with all of its
    processes."""
    ray: Any = pytest.importorskip("ray")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    os.environ.setdefault("RAY_worker_niceness", "0")  # else a busy machine starves them
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of Ray about itself
        ray.init(
            num_cpus=4, include_dashboard=False, log_to_driver=False, object_store_memory=STORE
        )
    yield ray
    ray.shutdown()
