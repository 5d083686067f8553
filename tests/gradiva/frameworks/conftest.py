"""The frameworks, loaded when a test asks for them: importing them takes seconds."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture(scope="session")
def jax() -> Any:
    """JAX with four devices on the CPU."""
    module = pytest.importorskip("jax")
    module.config.update("jax_num_cpu_devices", 4)
    assert len(module.devices()) == 4
    return module
