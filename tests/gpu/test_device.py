"""The cases of operators on a real GPU. Until one is had, these tests say why they are skipped."""

from __future__ import annotations

import pytest

from gradiva.eager.cuda import Launcher, require_gpu
from gradiva.eager.errors import OperatorRuntimeError
from gradiva.eager.operator import operators

from .harness import all_launches, planned, require_equal, with_gpu_kernels


def why_none() -> str | None:
    try:
        require_gpu(0)
    except OperatorRuntimeError as error:
        return str(error)
    return None


@pytest.mark.gpu
@pytest.mark.parametrize("name", with_gpu_kernels())
def test_cases(name: str) -> None:
    """The bits of the CPU kernel."""
    reason = why_none()
    if reason is not None:
        pytest.skip(reason)
    found = planned(operators[name])
    Launcher().run_here(all_launches(found))
    for one in found:
        require_equal(one)
