"""What is known about the outputs of a node before anything runs: their types and devices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gradiva.eager.execution.eager_interpreter import device_named
from gradiva.eager.execution.gpu_execute import checked_gpu_kernel
from gradiva.eager.operators.operator import OperatorBase
from gradiva.eager.schedules.settling import with_first_values
from gradiva.eager.support.errors import OperatorTypeError, OperatorValueError
from gradiva.eager.types.device import Device
from gradiva.eager.types.sample_type import SampleType

from .graph import Edge, Opaque


def device_of_call(
    operator: OperatorBase,
    edges: Iterable[Edge],
    common: Mapping[str, Any],
    gpu: Device | None = None,
) -> str:
    """The device of a recorded call: as in dynamic mode, but a call on the CPU may not read values
    on a GPU. gpu: the GPU that "gpu" means, if it is known.

    Raises OperatorTypeError, OperatorValueError, OperatorRuntimeError.
    """
    reads = False
    for number, edge in enumerate(edges):
        if edge.node.type[edge.output].device == "cpu":
            continue
        if edge.argument is not None:
            raise OperatorTypeError(
                argument=edge.argument,
                expected="values in host memory (take `.cpu()` of them)",
                got=f"a symbol of `{edge.node.operator.name}` on the GPU",
            )
        reads = True
        allowed = operator.transfers or operator.metadata or "device" not in common
        if not allowed and device_named(common["device"]).device_type == "cpu":
            raise OperatorTypeError(
                f"on the CPU it takes nothing that is on the GPU, as input {number} is: take "
                "`.cpu()` of it, or leave out `device`",
                argument="device",
            )
    if "device" not in common:
        where = "gpu" if reads else "cpu"
    else:
        chosen = device_named(common["device"])
        where = chosen.device_type
        if gpu is not None and chosen.device_id not in (None, 0, gpu.device_id):
            raise OperatorValueError(
                "a pipeline works on one GPU, that of its `device_id`",
                argument="device",
                expected=f"'gpu' or '{gpu}'",
                got=f"'{chosen}'",
            )
    moves = operator.transfers and not reads
    if where == "gpu" and not moves:
        checked_gpu_kernel(operator)
    return where


def infer(
    operator: OperatorBase,
    edges: tuple[Edge, ...],
    attributes: dict[str, Any],
    device: str | None = None,
) -> tuple[SampleType, ...]:
    """The types of the outputs, from the types of the inputs as far as they are known. device:
    where the call runs; by default the device of its inputs."""
    inputs = [edge.node.type[edge.output] for edge in edges if edge.argument is None]
    given = {
        name: value.value if isinstance(value, Opaque) else value
        for name, value in attributes.items()
        if name in operator.arguments
    }
    given = {**with_first_values(operator.arguments, given)}
    for edge in edges:
        if edge.argument is not None and edge.argument in operator.arguments:
            given[edge.argument] = edge.node.type[edge.output]
    if device is None:
        device = "gpu" if any(type.device == "gpu" for type in inputs) else "cpu"
    return tuple(
        type if type.device == device else type.with_(device=device)
        for type in operator.types(inputs, given)
    )
