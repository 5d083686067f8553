"""The cases of operators on a real GPU. Until one is had, these tests say why they are skipped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from gradiva.eager.cuda import gpu_at, require_gpu
from gradiva.eager.errors import OperatorRuntimeError
from gradiva.eager.gpu.launch import Launch, Out
from gradiva.eager.operator import operators

from .harness import all_launches, planned, require_equal, with_gpu_kernels
from .shim import buffers_of, key_of


def why_none() -> str | None:
    try:
        require_gpu(0)
    except OperatorRuntimeError as error:
        return str(error)
    return None


def run_here(launches: Sequence[Launch]) -> None:
    """Run launches on arrays in host memory: copy all that they read, and what they made back."""
    gpu, moved = gpu_at(0), {}
    for data, written in buffers_of(launches).values():
        if written and isinstance(data, np.ndarray):
            moved[key_of(data)] = data, gpu.sent(data)

    def there(one: Any) -> Any:
        if isinstance(one, Out):
            return Out(there(one.data))
        found = moved.get(key_of(one)) if isinstance(one, np.ndarray) else None
        return one if found is None else found[1]

    gpu.run(
        [one._replace(arguments=tuple(there(arg) for arg in one.arguments)) for one in launches]
    )
    for data, made in moved.values():
        data[...] = made.get()


@pytest.mark.gpu
@pytest.mark.parametrize("name", with_gpu_kernels())
def test_cases(name: str) -> None:
    """The bits of the CPU kernel."""
    reason = why_none()
    if reason is not None:
        pytest.skip(reason)
    found = planned(operators[name])
    run_here(all_launches(found))
    for one in found:
        require_equal(one)
