"""The cases of operators through their GPU kernels, against their CPU kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from gradiva.eager.cuda.launch import Launch, NoGpuKernelError, OutputArg, launches_of
from gradiva.eager.execution.gpu_elementwise import gpu_kernel
from gradiva.eager.operators.call import Call
from gradiva.eager.operators.cases import Case
from gradiva.eager.operators.operator import OperatorBase, operators
from gradiva.eager.values.batch import Batch

from .shim import key_of


class Planned(NamedTuple):
    """The launches that an operator's GPU kernel has planned, and what must come of them."""

    name: str
    launches: Sequence[Launch]
    expected: list[np.ndarray[Any, Any]]
    samples: list[np.ndarray[Any, Any]]
    tolerance: float


def all_launches(found: Sequence[Planned]) -> list[Launch]:
    """The launches of several calls, in order."""
    return [launch for one in found for launch in one.launches]


def with_gpu_kernels() -> list[str]:
    """The names of gradiva's operators that have a GPU kernel."""
    return sorted(
        name
        for name, one in operators.items()
        if one.__module__.startswith("gradiva.") and gpu_kernel(one) is not None
    )


@contextmanager
def also_planning(
    operator: OperatorBase, note: Callable[[Call, Sequence[Launch] | None], None]
) -> Iterator[None]:
    """Let calls of the operator run as ever, and plan what a GPU would be asked to do as well; None
    for calls that the GPU kernel leaves to the CPU."""
    cpu, gpu = operator.kernels["cpu"], gpu_kernel(operator)
    assert gpu is not None

    def both(call: Call) -> None:
        cpu(call)
        try:
            launches = launches_of(gpu(call))
        except NoGpuKernelError:
            launches = None
        note(call, launches)

    operator.kernels["cpu"] = both
    try:
        yield
    finally:
        operator.kernels["cpu"] = cpu


def planned(
    operator: OperatorBase, cases: Sequence[Case] | None = None, skipped: list[str] | None = None
) -> list[Planned]:
    """The launches for the cases of an operator (all that succeed, if none are given).

    Outputs start as 0xA5 in every byte, so that what is not written is seen. skipped: gets the
    names of cases that the GPU kernel leaves to the CPU.
    """
    found: list[Planned] = []
    case = Case("")

    def note(call: Call, launches: Sequence[Launch] | None) -> None:
        if launches is None:
            if skipped is not None:
                skipped.append(f"{operator.name}, {case.name}")
            return
        made = [fresh_like(output) for output in call.outputs]
        fresh = {
            key_of(output.data): one.data for output, one in zip(call.outputs, made, strict=True)
        }
        written = {
            key_of(arg) for one in launches for arg in one.arguments if type(arg) is OutputArg
        }
        assert all(key in written for key, data in fresh.items() if data.size)
        taken: dict[Any, Any] = {}
        found.append(
            Planned(
                f"{operator.name}, {case.name}",
                [
                    launch._replace(
                        arguments=tuple(_own(one, fresh, taken) for one in launch.arguments)
                    )
                    for launch in launches
                ],
                [np.array(one) for output in call.outputs for one in output.arrays()],
                [one for output in made for one in output.arrays()],
                operator.gpu_tolerance,
            )
        )

    with also_planning(operator, note):
        for case in operator.case_maker() if cases is None else cases:  # type: ignore[misc]
            if case.raises is None:
                operator.bind(case.inputs, case.arguments)
    return found


def fresh_like(batch: Batch) -> Batch:
    """A batch of the same layout, with 0xA5 in every byte."""
    data = np.full(batch.data.nbytes, 0xA5, np.uint8).view(batch.data.dtype)
    return Batch.over(data, batch.batch_shape, batch.type)


def _own(argument: Any, fresh: dict[Any, Any], taken: dict[Any, Any]) -> Any:
    """The argument with an array of its own: the fresh one of an output, else a copy, since buffers
    of inputs go back to a pool when the call is done."""
    if isinstance(argument, OutputArg):
        return OutputArg(_own(argument.data, fresh, taken))
    if not isinstance(argument, np.ndarray):
        return argument
    key = key_of(argument)
    if argument.size and key in fresh:
        return fresh[key].view(argument.dtype)
    if key not in taken:
        taken[key] = argument.copy()
    return taken[key].view(argument.dtype).reshape(argument.shape)


def require_equal(one: Planned) -> None:
    """The GPU kernel has made the bits that the CPU kernel made, or what its operator's tolerance
    allows; NaNs may differ in theirs."""
    for number, (ours, expected) in enumerate(zip(one.samples, one.expected, strict=True)):
        text = f"{one.name}, sample {number}"
        if not one.tolerance:
            np.testing.assert_array_equal(ours, expected, err_msg=text)
        elif ours.dtype.kind in "iu":
            difference = ours.astype(np.float64) - expected.astype(np.float64)
            assert np.abs(difference).max(initial=0) <= 1, text
        else:
            wide = ours.astype(np.float64), expected.astype(np.float64)
            half = 2.0**-10 if ours.dtype == np.float16 else 0.0
            most = max(one.tolerance, half)
            np.testing.assert_allclose(*wide, most, most, err_msg=text)
