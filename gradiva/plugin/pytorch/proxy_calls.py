"""What the workers of a DataLoader do in place of running a pipeline: calls of a proxy are noted,
and the calls of a batch are packed together when the batch is collated.

A worker keeps nothing between batches, and nothing but what the DataLoader sends itself goes to the
main process: so the order of batches is the DataLoader's, and it does not matter how workers start.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gradiva.eager.support.errors import describe, wrong_type, wrong_value
from gradiva.eager.support.lazy_import import lazy_module

__all__ = ["DALIOutputBatchRef", "DALIOutputSampleRef", "Proxy", "Run"]

torch = lazy_module("torch")
_ALIGNMENT = 64


class _PackedArrays(NamedTuple):
    """Arrays in one block of memory, which torch shares between processes: one for a batch, not one
    for a sample. parts: dtype, shape and first byte of each."""

    block: Any
    parts: list[tuple[str, tuple[int, ...], int]]

    def arrays(self) -> list[np.ndarray[Any, Any]]:
        memory = self.block.numpy()
        return [np.ndarray(shape, dtype, memory, first) for dtype, shape, first in self.parts]


def _packed(arrays: Sequence[np.ndarray[Any, Any]]) -> _PackedArrays:
    parts, end = [], 0
    for array in arrays:
        parts.append((array.dtype.str, array.shape, end))
        end += -(-array.nbytes // _ALIGNMENT) * _ALIGNMENT
    made = _PackedArrays(torch.empty(max(end, 1), dtype=torch.uint8, device="cpu"), parts)
    for array, place in zip(arrays, made.arrays(), strict=True):
        place[...] = array
    return made


class Run:
    """One batch that the pipeline is to make: the inputs by name. results: its outputs."""

    def __init__(self, inputs: dict[str, _PackedArrays]) -> None:
        self.inputs = inputs
        self.results: tuple[Any, ...] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return Run, (self.inputs,)

    @staticmethod
    def of(calls: Sequence[_Call]) -> Run:
        """The run of these calls, in this order: the same for each output of theirs."""
        run = calls[0].run
        if run is not None and all(
            call.run is run and call.place == place for place, call in enumerate(calls)
        ):
            return run
        names = calls[0].inputs
        made = Run({name: _packed([call.inputs[name] for call in calls]) for name in names})
        for place, call in enumerate(calls):
            call.run, call.place = made, place
        return made


class _Call:
    """One call of a proxy: the inputs of one sample, and in which run it is, at which place."""

    __slots__ = ("inputs", "place", "run")

    def __init__(self, inputs: dict[str, np.ndarray[Any, Any]]) -> None:
        self.inputs = inputs
        self.run: Run | None = None
        self.place = 0


class DALIOutputSampleRef:
    """Stands for an output of the pipeline for one sample, until its batch is collated."""

    def __init__(self, call: _Call, output: int) -> None:
        self.call, self.output = call, output

    def __reduce__(self) -> tuple[Any, ...]:
        # Not collated (`batch_size=None`): a batch of one.
        return _sample_of, (Run.of([self.call]), self.output)

    def __repr__(self) -> str:
        return f"<output {self.output} of a pipeline, for one sample>"


class DALIOutputBatchRef:
    """Stands for an output of the pipeline for a batch, until the main process makes it."""

    single = False

    def __init__(self, run: Run, output: int) -> None:
        self.run, self.output = run, output

    def __repr__(self) -> str:
        return f"<output {self.output} of a pipeline, for a batch>"


class _Single(DALIOutputBatchRef):
    """An output for a sample that is in no batch."""

    single = True


def _sample_of(run: Run, output: int) -> _Single:
    return _Single(run, output)


def collate(
    samples: Sequence[DALIOutputSampleRef], *, collate_fn_map: Any = None
) -> DALIOutputBatchRef:
    """What torch's `default_collate` makes of the outputs of a batch."""
    outputs = {sample.output for sample in samples}
    if len(outputs) != 1:
        raise wrong_value(
            "",
            "samples of one output",
            f"those of the outputs {sorted(outputs)}",
            "a batch is made of one output of the pipeline",
            operator="proxy",
        )
    return DALIOutputBatchRef(Run.of([sample.call for sample in samples]), outputs.pop())


def register() -> None:
    """Let torch's `default_collate` know the outputs."""
    torch.utils.data._utils.collate.default_collate_fn_map.setdefault(DALIOutputSampleRef, collate)


class Proxy:
    """A pipeline for one sample: `proxy(sample)`, or by the names of its inputs, returns what
    stands for each of its outputs. It may be pickled."""

    def __init__(self, names: Sequence[str], outputs: int) -> None:
        self._names, self._outputs = tuple(names), outputs

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        names = self._names
        if len(args) > (1 if len(names) == 1 else 0):
            raise wrong_value(
                "",
                ", ".join(f"{name}=" for name in names),
                f"{len(args)} without a name",
                "too many positional arguments: several inputs are given by their names",
                operator="proxy",
            )
        if args:
            kwargs = {names[0]: args[0], **kwargs}
        if kwargs.keys() != set(names):
            raise wrong_type(
                "", f"the inputs {', '.join(names)}", ", ".join(kwargs) or "none", operator="proxy"
            )
        call = _Call({name: _array(name, kwargs[name]) for name in names})
        made = tuple(DALIOutputSampleRef(call, output) for output in range(self._outputs))
        return made[0] if len(made) == 1 else made

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return _proxy_of, (self._names, self._outputs)


def _proxy_of(names: tuple[str, ...], outputs: int) -> Proxy:
    """A proxy in another process, where torch does not know its outputs yet."""
    register()
    return Proxy(names, outputs)


def _array(name: str, value: Any) -> np.ndarray[Any, Any]:
    array = np.asarray(value)
    if array.dtype.hasobject:
        raise wrong_type(name, "an array", describe(value), operator="proxy")
    return array
