"""Every operator's own cases through its GPU kernel, on the CPU: the same bits as the CPU kernel."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradiva.eager.operator import operators

from .harness import planned, require_equal, with_gpu_kernels
from .shim import COMPILER, NO_COMPILER, run_launches

pytestmark = pytest.mark.skipif(COMPILER is None, reason=NO_COMPILER)


@pytest.mark.parametrize("backward", [False, True])
def test_cases(tmp_path: Path, backward: bool) -> None:
    """Every case of every operator that has a GPU kernel."""
    found = [one for name in with_gpu_kernels() for one in planned(operators[name])]
    run_launches([one.launch for one in found], tmp_path, backward=backward)
    for one in found:
        require_equal(one)
