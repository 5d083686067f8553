"""Python's garbage collector while kernels are compiled: it rests, and goes on as it was."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest
from numba.core.caching import NullCache

from gradiva.eager.jit import jit
from gradiva.eager.jit.jit import Kernel


def _first(values: Any) -> Any:
    return values[0]


def _wrong(values: Any) -> Any:
    return values.no_such_name


@pytest.mark.parametrize("collects", [True, False])
@pytest.mark.parametrize("function", [_first, _wrong])
def test_it_rests(monkeypatch: pytest.MonkeyPatch, collects: bool, function: Any) -> None:
    seen = []
    monkeypatch.setattr(jit, "_is_ours", lambda dispatcher: True)
    monkeypatch.setattr(jit, "_announce", lambda: seen.append(gc.isenabled()))
    dispatcher = Kernel(function).dispatcher()
    dispatcher._cache = NullCache()
    was = gc.isenabled()
    (gc.enable if collects else gc.disable)()
    try:
        if function is _wrong:
            with pytest.raises(Exception, match="no_such_name"):
                dispatcher(np.ones(3))
        else:
            assert dispatcher(np.ones(3)) == 1.0
        assert gc.isenabled() == collects
    finally:
        (gc.enable if was else gc.disable)()
    assert seen
    assert not any(seen)
