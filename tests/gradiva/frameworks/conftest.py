"""The frameworks, loaded when a test asks for them: importing them takes seconds."""

from __future__ import annotations

import os
from typing import Any

import pytest


@pytest.fixture(scope="session")
def jax() -> Any:
    """JAX with four devices on the CPU."""
    module = pytest.importorskip("jax")
    module.config.update("jax_num_cpu_devices", 4)
    assert len(module.devices()) == 4
    return module


@pytest.fixture(scope="session")
def tf() -> Any:
    """TensorFlow, which says nothing that is no error."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    return pytest.importorskip("tensorflow")
