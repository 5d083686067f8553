"""Bytes as calls: a stored pipeline is checked as a whole, then its operators are called again.

Nothing of a file is executed: names are looked up among our operators, values are plain data.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gradiva.eager.support.errors import OperatorTypeError, OperatorValueError, describe

from . import features
from .edges import EdgeName, known_device
from .model import StoredOperator
from .names import from_single
from .options import StoredOptions
from .proto import parse
from .replay import Replay

_IGNORED = frozenset({"device", "bytes_per_sample_hint"})
"""Arguments that change no result; what runs where is kept apart."""


@dataclass(frozen=True)
class StoredPipeline:
    """A pipeline as a file holds it: `options` for the constructor of Pipeline, operators in an
    order in which they can be called, names of the outputs."""

    options: StoredOptions
    operators: tuple[StoredOperator, ...]
    outputs: tuple[EdgeName, ...]

    @property
    def on_gpu(self) -> bool:
        """Whether anything of it is on a GPU."""
        edges = [name for one in self.operators for name in (*one.inputs, *one.outputs)]
        return any(name.device == "gpu" for name in (*edges, *self.outputs))

    @property
    def fed(self) -> tuple[str, ...]:
        """The names of the external sources, which have no source in a file."""
        return tuple(one.label for one in self.operators if one.schema == "ExternalSource")

    def record(self, sources: Mapping[str, Any] | None = None) -> tuple[Any, ...]:
        """Call the operators, for the current recorder (inside `with pipe:`); returns the outputs.

        sources: callables or iterables for external sources, by name. Raises OperatorValueError
        for operators, arguments and inputs that do not fit.
        """
        replay = Replay(sources or {})
        for operator in self.operators:
            replay.call(operator)
        return tuple(replay.at(name) for name in self.outputs)


def read_pipeline(data: bytes) -> StoredPipeline:
    """What the bytes of a file say. Raises OperatorValueError for bytes that are no pipeline: cut
    or damaged, with fields missing or of other types, with edges that lead nowhere or in a circle.
    """
    if not isinstance(data, bytes | bytearray | memoryview):
        raise OperatorTypeError(
            argument="serialized_pipeline", expected="bytes", got=describe(data)
        )
    message = parse(bytes(data))
    options = StoredOptions.read(message)
    operators = [_operator(op, index) for index, op in enumerate(message.op)]
    outputs = tuple(_edge(output, "an output") for output in message.pipe_outputs)
    legacy = tuple(message.external_inputs)
    made = {name for one in operators for name in one.outputs}
    operators = [
        StoredOperator("ExternalSource", name, name, (), {}, (EdgeName(name),), {})
        for name in dict.fromkeys(legacy)
        if name not in made
    ] + operators
    ordered = _ordered(operators)
    if not outputs:
        raise OperatorValueError("the stored pipeline has no outputs")
    made = {name for one in operators for name in one.outputs}
    for name in outputs:
        if name not in made:
            raise OperatorValueError(f"no operator makes the output {name!r} of the pipeline")
    return StoredPipeline(options, ordered, outputs)


def _operator(op: Any, index: int) -> StoredOperator:
    schema, label = op.name, op.inst_name or f"{op.name} {index}"
    if not schema:
        raise OperatorValueError(f"operator {index} of the stored pipeline has no name")
    where = f"`{schema}` ({label})"
    arguments: dict[str, Any] = {}
    for stored in op.args:
        if stored.name in arguments:
            raise OperatorValueError(f"{where} has the argument `{stored.name}` twice")
        is_feature = stored.type == features.KIND
        arguments[stored.name] = (
            features.read_features(stored, where) if is_feature else _value(stored, where)
        )
    if schema == features.SCHEMA:
        features.joined_features(arguments, where)
    device = known_device(arguments.get("device", "cpu"), where, ("cpu", "gpu", "mixed"))
    inputs: list[EdgeName] = []
    per_sample: dict[str, EdgeName] = {}
    for stored in op.input:
        name = _edge(stored, f"an input of {where}")
        if stored.is_argument_input and name.device != "cpu":
            raise OperatorValueError(
                f"the argument `{stored.arg_name}` of {where} is on the GPU",
                expected="'cpu'",
                got=repr(name.device),
            )
        if not stored.is_argument_input:
            inputs.append(name)
        elif not stored.arg_name or stored.arg_name in {*per_sample, *arguments}:
            raise OperatorValueError(f"{where} has the argument `{stored.arg_name}` twice")
        else:
            per_sample[stored.arg_name] = name
    named = arguments.get("preserve_name", not label.startswith("__"))
    return StoredOperator(
        schema,
        label,
        op.inst_name if named and op.inst_name else None,
        tuple(inputs),
        per_sample,
        tuple(_edge(output, f"an output of {where}") for output in op.output),
        {
            name: value
            for name, value in arguments.items()
            if name not in _IGNORED and name != "preserve_name" and not name.startswith("_")
        },
        device,
    )


def _edge(stored: Any, what: str) -> EdgeName:
    return EdgeName(stored.name, known_device(stored.device, f"{what}, {stored.name!r},"))


def _value(stored: Any, where: str) -> Any:
    if not stored.is_vector:
        values = _elements(stored)
        if len(values) != 1 or stored.extra_args:
            raise OperatorValueError(
                f"the argument `{stored.name}` of {where} has no single value",
                expected="one value",
                got=str(len(values) + len(stored.extra_args)),
            )
        return values[0]
    values = _elements(stored)
    for element in stored.extra_args:
        one = _elements(element)
        if len(one) != 1:
            raise OperatorValueError(
                f"the argument `{stored.name}` of {where} has an element with {len(one)} values"
            )
        values += one
    return values


def _elements(stored: Any) -> list[Any]:
    return [
        *(from_single(value) for value in stored.floats),
        *stored.ints,
        *stored.strings,
        *stored.bools,
    ]


def _ordered(operators: list[StoredOperator]) -> tuple[StoredOperator, ...]:
    """The operators in the order of the file as far as each stands behind those it needs."""
    maker: dict[str, int] = {}
    for index, one in enumerate(operators):
        for name in one.outputs:
            if maker.setdefault(name, index) != index or one.outputs.count(name) > 1:
                raise OperatorValueError(f"two operators make {name!r}: it must be one")
    users: list[list[int]] = [[] for _ in operators]
    missing = [0] * len(operators)
    for index, one in enumerate(operators):
        for name in {*one.inputs, *one.per_sample.values()}:
            if name not in maker:
                raise OperatorValueError(
                    f"no operator makes {name!r}, which `{one.schema}` ({one.label}) needs"
                )
            users[maker[name]].append(index)
            missing[index] += 1
    ready = [index for index, count in enumerate(missing) if not count]
    ordered: list[StoredOperator] = []
    while ready:
        index = heapq.heappop(ready)
        ordered.append(operators[index])
        for user in users[index]:
            missing[user] -= 1
            if not missing[user]:
                heapq.heappush(ready, user)
    if len(ordered) < len(operators):
        stuck = next(one for index, one in enumerate(operators) if missing[index])
        raise OperatorValueError(
            f"`{stuck.schema}` ({stuck.label}) needs, by way of others, its own output"
        )
    return tuple(ordered)
