"""Modules that are loaded when they are first used: what is said of those that are missing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from gradiva.eager.support.lazy_import import lazy_module

pytestmark = pytest.mark.tiny


def test_what_is_missing_is_named_with_what_installs_it() -> None:
    with pytest.raises(ImportError, match=r"gradiva needs no_such_library for this; install it"):
        _ = lazy_module("no_such_library").function
    with pytest.raises(ImportError, match=r"pip install gradiva\[special\]"):
        _ = lazy_module("no_such_library", "gradiva[special]").function


def test_a_module_of_ours_says_itself_what_it_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody is told to install a part of gradiva."""
    (tmp_path / "of_ours.py").write_text("raise ImportError('no_such_library is missing')")
    monkeypatch.setattr("gradiva.__path__", [*sys.modules["gradiva"].__path__, str(tmp_path)])
    with pytest.raises(ImportError, match=r"^no_such_library is missing$"):
        _ = lazy_module("gradiva.of_ours").function
