"""Servers for the tests of objects on other machines."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gradiva.ops.storage import transport

from .loopback import Loopback, loopback


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    """Nobody waits before a request is sent again."""
    monkeypatch.setattr(transport, "_FIRST_PAUSE", 0.0)
    with loopback() as here:
        yield here
