"""Running one operator now, on a GPU: its kernel is queued on the current stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..cuda import gpu_of
from ..device import Device
from ..errors import OperatorRuntimeError
from ..modes import EvalMode
from ..operator import OperatorBase
from ..run import Call
from .chains import gpu_kernel
from .launch import launches_of

__all__ = ["on_gpu", "require_gpu_kernel"]


def on_gpu(operator: OperatorBase, device: Device) -> Callable[[Call], None]:
    """The function that fills the outputs of a call of `operator` on a GPU. Raises
    OperatorRuntimeError if it has no kernel for that, or if there is no such GPU."""
    gpu = gpu_of(device)
    kernel, own = require_gpu_kernel(operator), operator.gpu_work

    def work(call: Call) -> None:
        if own is not None:
            own(call, gpu)
        else:
            assert kernel is not None
            gpu.run(launches_of(kernel(call)))
        if EvalMode.current() is EvalMode.sync_full:
            gpu.stream.synchronize()

    return work


def require_gpu_kernel(operator: OperatorBase) -> Callable[[Call], Any] | None:
    """The GPU kernel of an operator; None if it needs none. Raises OperatorRuntimeError."""
    kernel = gpu_kernel(operator)
    needs = operator.view_rule is None and operator.gpu_work is None and not operator.metadata
    if kernel is None and needs:
        raise OperatorRuntimeError(
            "this operator does not run on a GPU: leave out `device`, and take `.cpu()` of "
            "inputs that are on one"
        )
    return kernel
