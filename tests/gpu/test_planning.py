"""Planning a launch: what it looks at. Needs neither a GPU nor a compiler."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva.eager.cuda.launch import Launch, NoGpuKernelError, launches_of
from gradiva.eager.execution.execute import prepare
from gradiva.eager.execution.gpu_elementwise import gpu_kernel
from gradiva.eager.operators.call import Call
from gradiva.eager.operators.operator import operators
from gradiva.eager.runtime.worker_pool import default_pool
from gradiva.eager.values.batch import Batch
from tests.tiers import few

from .harness import also_planning, with_gpu_kernels


class OnDevice:
    """What planning may know of memory on a GPU: nothing of the values in it."""

    def __init__(self, dtype: Any, nbytes: int) -> None:
        self.dtype, self.nbytes = np.dtype(dtype), nbytes
        self.size = nbytes // self.dtype.itemsize

    def view(self, dtype: Any) -> OnDevice:
        return OnDevice(dtype, self.nbytes)


def on_device(batches: Sequence[Batch]) -> tuple[Batch, ...]:
    found = []
    for one in batches:
        slab: Any = OnDevice(one.data.dtype, one.data.nbytes)
        found.append(Batch.over(slab, one.batch_shape, one.type, one.provenance))
    return tuple(found)


@pytest.mark.parametrize("name", few(with_gpu_kernels(), "crop", "flip", "pad", "transpose"))
def test_planning_looks_at_no_values(name: str) -> None:
    """Shapes and arguments are all that there is to plan with, for every case."""
    operator = operators[name]
    kernel = gpu_kernel(operator)
    assert kernel is not None
    calls = []

    def note(call: Call, launches: Sequence[Launch] | None) -> None:
        made = call.outputs
        call.inputs, call.outputs = on_device(call.inputs), on_device(made)
        again = launches_of(kernel(call))
        call.outputs = made
        assert launches is not None
        for one, other in zip(again, launches, strict=True):
            assert (one.unit, one.blocks) == (other.unit, other.blocks)
        calls.append(call)

    with also_planning(operator, note):
        for case in operator.case_maker():  # type: ignore[misc]
            if case.raises is None:
                with suppress(NoGpuKernelError):
                    operator.bind(case.inputs, case.arguments)
    assert calls


@pytest.mark.full
def test_transforms_that_have_no_kernel() -> None:
    """Those that fit no shared memory, or have large prime factors."""
    audio = gradiva.batch([np.zeros(9000, np.float32)])
    kernel = gpu_kernel(operators["spectrogram"])
    assert kernel is not None
    for size in (8192, 2049, 2 * 37):
        arguments: dict[str, Any] = {"window_length": size, "window_step": 100}
        call = prepare(operators["spectrogram"], (audio,), arguments, 1, default_pool())
        call.outputs = (gradiva.spectrogram(audio, **arguments),)
        with pytest.raises(NoGpuKernelError, match=f"transforms of {size} values"):
            kernel(call)
