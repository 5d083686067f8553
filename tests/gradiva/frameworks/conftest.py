"""The frameworks, loaded when a test asks for them: importing them takes seconds."""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from . import fake_mxnet


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


@pytest.fixture(scope="session")
def paddle() -> Any:
    """Paddle."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its own modules
        return pytest.importorskip("paddle")


@pytest.fixture(params=["real", "fake"])
def mxnet(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """`gradiva.plugin.mxnet` over MXNet; and over a stand-in, for where there is none."""
    name = "gradiva.plugin.mxnet"
    if request.param == "real":
        yield pytest.importorskip(name, exc_type=ImportError)
        return
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "mxnet", fake_mxnet.module())
        for loaded in _modules(name):
            patch.delitem(sys.modules, loaded)
        yield importlib.import_module(name)
        for loaded in _modules(name):
            del sys.modules[loaded]


def _modules(name: str) -> list[str]:
    own = "gradiva.compat.dali.mxnet"
    return [one for one in sys.modules if one.startswith(own) or f"{one}.".startswith(f"{name}.")]
