"""Every test of this folder is marked `oracle`; `reference.py` skips them without the library."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.hookimpl(tryfirst=True)  # before xdist asks for groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.oracle)
            # One process compiles the kernels that the tests of a file share.
            item.add_marker(pytest.mark.xdist_group(item.path.stem))
