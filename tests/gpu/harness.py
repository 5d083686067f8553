"""The cases of operators through their GPU kernels, against their CPU kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from gradiva.eager.batch import Batch
from gradiva.eager.case import Case
from gradiva.eager.gpu.chains import gpu_kernel
from gradiva.eager.gpu.launch import Launch, Out
from gradiva.eager.operator import OperatorBase, operators
from gradiva.eager.run import Call


class Planned(NamedTuple):
    """A launch that an operator's GPU kernel has planned, and the bits that must come of it."""

    name: str
    launch: Launch
    expected: list[np.ndarray[Any, Any]]
    samples: list[np.ndarray[Any, Any]]


def with_gpu_kernels() -> list[str]:
    """The names of gradiva's operators that have a GPU kernel."""
    return sorted(
        name
        for name, one in operators.items()
        if one.__module__.startswith("gradiva.") and gpu_kernel(one) is not None
    )


@contextmanager
def also_planning(operator: OperatorBase, note: Callable[[Call, Launch], None]) -> Iterator[None]:
    """Let calls of the operator run as ever, and plan what a GPU would be asked to do as well."""
    cpu, gpu = operator.kernels["cpu"], gpu_kernel(operator)
    assert gpu is not None

    def both(call: Call) -> None:
        cpu(call)
        note(call, gpu(call))

    operator.kernels["cpu"] = both
    try:
        yield
    finally:
        operator.kernels["cpu"] = cpu


def planned(operator: OperatorBase, cases: Sequence[Case] | None = None) -> list[Planned]:
    """The launches for the cases of an operator (all that succeed, if none are given).

    The output of each starts as 0xA5 in every byte, so that what is not written is seen.
    """
    found: list[Planned] = []
    case = Case("")

    def note(call: Call, launch: Launch) -> None:
        target = call.outputs[0]
        outs = [one for one in launch.arguments if isinstance(one, Out)]
        assert [out.data.nbytes for out in outs] == [target.data.nbytes]
        made = fresh_like(target)
        own = made.data.view(outs[0].data.dtype)
        arguments = tuple(Out(own) if isinstance(one, Out) else one for one in launch.arguments)
        found.append(
            Planned(
                f"{operator.name}, {case.name}",
                launch._replace(arguments=tuple(copied(one) for one in arguments)),
                [np.array(one) for one in target.arrays()],
                list(made.arrays()),
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
    return Batch(data, batch.geometry, batch.type)


def copied(argument: Any) -> Any:
    """Buffers of inputs go back to a pool when the call is done."""
    return argument.copy() if isinstance(argument, np.ndarray) else argument


def require_equal(one: Planned) -> None:
    """The GPU kernel has made the bits that the CPU kernel made; NaNs may differ in theirs."""
    for number, (ours, expected) in enumerate(zip(one.samples, one.expected, strict=True)):
        np.testing.assert_array_equal(ours, expected, err_msg=f"{one.name}, sample {number}")
