"""The fingerprint of a graph, as plain data, so that no checkpoint is restored in another graph.

The fingerprint covers the operators as the user has written them, in their order: names, inputs,
arguments. It does not cover the locations of data (a data set may be moved; its reader checks the
contents), options that only change speed, and the code of callables, of which only the name is
known. It covers the code of functions in schedules, whose digest depends on the version of Python.
A fingerprint that is compared `anywhere`, also in other processes of a training and with other
versions of Python, does not cover that, nor the shards of readers.
"""

from __future__ import annotations

import enum
import platform
from functools import cache
from hashlib import blake2b
from importlib import import_module
from typing import Any

import numpy as np

from gradiva.eager.schedules.schedule import Schedule
from gradiva.eager.support.lazy_import import can_import
from gradiva.eager.types.dtypes import DType
from gradiva.ops.readers.core.argument_kinds import PLACES, SHARDS, SPEED, canonical
from gradiva.ops.readers.core.source import SourceOperator

from .builtin_ops import constant, random_key
from .graph import Edge, Graph, Node, Opaque

_OURS = frozenset(("effect", "shared"))
"""Attributes that are not set by users."""

_SHARDING = SHARDS | {"pad_last_batch", "sharding"}
"""Arguments of readers that say which process reads a sample, and in which batch."""

_LENGTH = 60
_MODULES = {"opencv-python-headless": "cv2", "pillow": "PIL"}
"""The modules of packages that compute values, by the names in `libraries` of operators."""


def user_nodes(graph: Graph) -> list[Node]:
    """The operators that are compared. Constants and random keys are part of the operators that use
    them."""
    return [node for node in graph.nodes if node.operator not in (constant, random_key)]


def fingerprint(graph: Graph, anywhere: bool = False) -> dict[str, Any]:
    """The operators of a recorded graph, and its outputs. anywhere: see this module's docstring."""
    nodes = user_nodes(graph)
    numbers = {node: number for number, node in enumerate(nodes)}
    return {
        "operators": [_operator(graph, node, numbers, anywhere) for node in nodes],
        "outputs": [_value(edge, numbers) for edge in graph.outputs],
    }


def shares_steps(node: Node) -> bool:
    """Whether this is a reader that shares each step of an epoch with others."""
    return bool(node.attribute("sharding") == "interleaved")


def library_versions(graph: Graph) -> dict[str, str]:
    """The packages whose code computes values of this graph, with their versions: with other
    versions, values may have other bits. Checkpoints do not compare them, since continuing is right
    with any version. Code that combines results of several processes or days compares them."""
    names = {
        library
        for node in graph.nodes
        for library in node.operator.libraries_of(dict(node.attributes), node.type)
    }
    return {name: _version(name) for name in sorted(names)}


@cache
def _version(package: str) -> str:
    """The version of a package. NumPy's names the implementation of `exp` that fits this CPU,
    too, since its elementary functions differ between those in the last bits."""
    if package == "numpy":
        return f"{np.__version__} ({_numpy_target()})"
    if not can_import(_MODULES[package]):
        return "absent"
    return str(getattr(import_module(_MODULES[package]), "__version__", "unknown"))


def _numpy_target() -> str:
    try:
        introspect = import_module("numpy.lib.introspect")
        found = introspect.opt_func_info(func_name="^exp$", signature="float64")
        return f"{platform.machine()} {found['exp']['dd']['current']}"
    except (ImportError, AttributeError, KeyError):  # NumPy before 2.2
        return platform.machine()


def _operator(graph: Graph, node: Node, numbers: dict[Node, int], anywhere: bool) -> dict[str, Any]:
    inputs: list[Any] = []
    arguments: dict[str, Any] = {}
    skipped = _OURS | SPEED
    if isinstance(node.operator, SourceOperator):
        skipped |= PLACES
        if anywhere:
            skipped |= _SHARDING
        elif shares_steps(node):
            skipped |= SHARDS
    for name, value in node.attributes:
        if anywhere and name == "shared" and value:
            arguments[name] = _digested(value)  # one random value for all samples
        elif name not in skipped and not _is_default(node, name, value):
            arguments[name] = _digested(value, anywhere)
    for edge in node.inputs:
        if edge.argument == "key":
            seed = edge.node.attribute("seed")
            if seed is not None:
                arguments["seed"] = _digested(seed)
            inputs.append(["random values", _random(edge.node, numbers), ""])
        elif edge.argument is None:
            inputs.append([f"input {len(inputs)}", *_value(edge, numbers)])
        else:
            inputs.append([f"argument `{edge.argument}`", *_value(edge, numbers)])
    return {
        "operator": node.operator.name,
        "name": graph.names.get(node),
        "arguments": arguments,
        "inputs": inputs,
    }


def _is_default(node: Node, name: str, value: Any) -> bool:
    argument = node.operator.arguments.get(name)
    if argument is None or argument.default is None:
        return False
    return _digested(value)[1] == _digested(argument.static(argument.default))[1]


def _value(edge: Edge, numbers: dict[Node, int]) -> list[str]:
    """The origin of a value as text, and the digest of the value if it is a constant."""
    node = edge.node
    if node.operator is constant:
        return ["the constant " + _digested(node.attribute("value"))[0], _constant(node)]
    output = f"output {edge.output} of " if len(node.type) > 1 else ""
    return [f"{output}{_called(node.operator.name, numbers[node])}", ""]


def _constant(node: Node) -> str:
    return _digest([node.attribute("value"), node.attribute("layout")])


def _random(node: Node, numbers: dict[Node, int]) -> str:
    source = next((edge.node for edge in node.inputs), None)
    after = "" if source is None else f" after {_called(source.operator.name, numbers[source])}"
    return f"of random call {node.attribute('number')}{after}"


def _called(name: str, number: int) -> str:
    return f"`{name}` (operator {number + 1})"


def _digested(value: Any, anywhere: bool = False) -> list[str]:
    """A value as a short text and a digest."""
    value = _without_code(value) if anywhere else value
    plain = _canonical(value)
    text = _text(value)
    return [text if len(text) <= _LENGTH else text[: _LENGTH - 3] + "...", _digest(plain)]


def _without_code(value: Any) -> Any:
    """A value with the texts of schedules in place of these."""
    if isinstance(value, Schedule):
        return value.rule.text
    if isinstance(value, tuple | list):
        return [_without_code(one) for one in value]
    return value


def _text(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return str(value.tolist()) if value.size <= 8 else f"{value.dtype}{list(value.shape)}"
    if isinstance(value, enum.Enum | DType):
        return value.name
    if value is None or isinstance(value, bool | int | float | str | bytes | tuple | list | dict):
        return repr(value)
    return str(_canonical(value))


def _digest(value: Any) -> str:
    return blake2b(repr(_canonical(value)).encode(), digest_size=12).hexdigest()


def _canonical(value: Any) -> Any:
    """The form of a value that is compared."""
    return canonical(value, _other)


def _other(value: Any) -> Any:
    if isinstance(value, Opaque) and isinstance(value.value, list | tuple | dict):
        # The data of an external source are too large to compare.
        return f"<{type(value.value).__name__}>"
    if isinstance(value, Opaque):
        return _canonical(value.value)
    if isinstance(value, Schedule):
        return value.rule.fingerprint
    return f"<{getattr(value, '__name__', None) or type(value).__name__}>"


def difference(before: Any, graph: Graph, anywhere: bool = False) -> tuple[int, str] | None:
    """The number of the first operator that differs, and how; None if nothing differs.

    before: the fingerprint of another graph, made with the same `anywhere`. Raises KeyError,
    IndexError, TypeError or ValueError if it is none.
    """
    now, nodes = fingerprint(graph, anywhere), user_nodes(graph)
    then, operators = before["operators"], now["operators"]
    for number, operator in enumerate(operators):
        if number >= len(then):
            return number, f"operator {number + 1}, `{operator['operator']}`, is new"
        found = _between(number, then[number], operator, nodes[number])
        if found is not None:
            return number, found
    if len(then) > len(operators):
        number = len(operators)
        return number, f"{_said(number, then[number])} is not there any more"
    if before["outputs"] != now["outputs"]:
        texts = ["; ".join(text for text, _ in one["outputs"]) for one in (before, now)]
        return len(operators), f"the outputs were: {texts[0]}; and are: {texts[1]}"
    return None


def _said(number: int, operator: dict[str, Any]) -> str:
    name = f" ({operator['name']})" if operator["name"] else ""
    return f"operator {number + 1}, `{operator['operator']}`{name},"


def _between(number: int, then: dict[str, Any], now: dict[str, Any], node: Node) -> str | None:
    """The difference between two operators."""
    if then["operator"] != now["operator"]:
        return f"operator {number + 1} was `{then['operator']}`, and is `{now['operator']}`"
    said = _said(number, now)
    if then["name"] != now["name"]:
        return f"{said} had the name {then['name']!r}, and has {now['name']!r}"
    for name in sorted({*then["arguments"], *now["arguments"]}):
        argument = node.operator.arguments.get(name)
        default = None if argument is None else argument.default
        missing = ["not given" if default is None else _text(default), ""]
        was, value = (side["arguments"].get(name, missing) for side in (then, now))
        if was[1] != value[1]:
            return f"{said} differs: argument `{name}` was {was[0]}, and is {value[0]}"
    for index in range(max(len(then["inputs"]), len(now["inputs"]))):
        was, value = (
            side["inputs"][index] if index < len(side["inputs"]) else None for side in (then, now)
        )
        if was != value:
            what = next(one[0] for one in (value, was) if one is not None)
            texts = ("not there" if one is None else one[1] for one in (was, value))
            return f"{said} differs: {what} was {next(texts)}, and is {next(texts)}"
    return None
