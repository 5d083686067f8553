"""The GPU work of operators that do theirs on the host, such as writing files: copies around it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradiva.eager.cuda.context import Gpu
from gradiva.eager.values.batch import Batch

if TYPE_CHECKING:
    from gradiva.eager.operators.call import Call


def through_host(call: Call, gpu: Gpu) -> None:
    """`Operator.mixed_gpu`: run the CPU kernel, and copy what it made to the GPU."""
    there = call.outputs
    here = tuple(Batch.empty(one.batch_shape, one.type.with_(device="cpu")) for one in there)
    call.outputs = here
    call.operator.kernels["cpu"](call)
    for one, other in zip(here, there, strict=True):
        target: Any = other.data
        gpu.write(one.data, target)
    call.outputs = there
