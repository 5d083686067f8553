"""Running one operator now, on a GPU: its kernel is queued on the current stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradiva.eager.contexts.eval_modes import EvalMode
from gradiva.eager.cuda.cupy_runtime import gpu_of
from gradiva.eager.cuda.launch import launches_of
from gradiva.eager.operators.call import Call
from gradiva.eager.operators.operator import OperatorBase
from gradiva.eager.support.errors import OperatorRuntimeError
from gradiva.eager.types.device import Device

from .gpu_elementwise import gpu_kernel


def on_gpu(operator: OperatorBase, device: Device) -> Callable[[Call], None]:
    """The function that fills the outputs of a call of `operator` on a GPU. Raises
    OperatorRuntimeError if it has no kernel for that, or if there is no such GPU."""
    gpu = gpu_of(device)
    kernel, own = checked_gpu_kernel(operator), operator.gpu_work

    def work(call: Call) -> None:
        if own is not None:
            own(call, gpu)
        else:
            assert kernel is not None
            gpu.run(launches_of(kernel(call)))
        if EvalMode.current() is EvalMode.sync_full:
            gpu.stream.synchronize()

    return work


def devices_of(operator: OperatorBase) -> tuple[str, ...]:
    """Where an operator runs: "cpu", "gpu", and "mixed" for those that take host memory there."""
    if operator.gpu_work is not None:
        return ("cpu", "mixed", "gpu")
    no_kernel = operator.view_rule is not None or operator.metadata or operator.delivers_on_gpu
    return ("cpu", "gpu") if no_kernel or gpu_kernel(operator) is not None else ("cpu",)


def checked_gpu_kernel(operator: OperatorBase) -> Callable[[Call], Any] | None:
    """The GPU kernel of an operator; None if it needs none. Raises OperatorRuntimeError."""
    if len(devices_of(operator)) == 1:
        raise OperatorRuntimeError(
            "this operator does not run on a GPU: leave out `device`, and take `.cpu()` of "
            "inputs that are on one"
        )
    return gpu_kernel(operator)
