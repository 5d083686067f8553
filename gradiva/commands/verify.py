"""`gradiva verify`: whether the readers of a pipeline deliver each sample once in each
epoch, over all processes, and how well they shuffle. Only their orders are run: nothing is read."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradiva.capture.graph.graph import Node, Opaque
from gradiva.commands.graph import find_graph
from gradiva.eager.support.errors import OperatorValueError
from gradiva.ops.readers.core.progress import counted
from gradiva.ops.readers.core.source import SourceOperator

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `gradiva verify`."""
    parser.add_argument(
        "file",
        metavar="FILE.py[:name]",
        help="a file, which is executed, and in it a function made by pipeline_def or a Pipeline; "
        "the name may be left out if there is one",
    )
    parser.add_argument("--world", type=int, default=1, help="how many processes share the data")
    parser.add_argument("--epochs", type=int, default=3, help="how many epochs are tried")
    parser.add_argument("--batch-size", type=int, default=1, help="of each process")
    parser.add_argument("--seed", type=int, default=0, help="of readers that have none")


def run(options: argparse.Namespace) -> int:
    """Print what was found. Returns 1 if a sample is missing or repeated. Raises GradivaError."""
    for name in ("world", "epochs", "batch_size"):
        if getattr(options, name) < 1:
            raise OperatorValueError(
                operator="verify", argument=name, expected="1 or more", got=getattr(options, name)
            )
    graph = find_graph(options.file)
    readers = [node for node in graph.nodes if isinstance(node.operator, SourceOperator)]
    good = True
    for node in readers:
        name = graph.names.get(node, node.operator.name)
        plans = _plans(node, options.world, options.seed)
        if not plans:
            print(f"{name}: its samples have no numbers, nothing can be said")
            continue
        good &= _verify(name, plans, options)
    if not readers:
        print("There is no reader in this pipeline.")
    return int(not good)


def _plans(node: Node, world: int, seed: int) -> Sequence[Any]:
    """The order of each process."""
    given = {
        name: value.value if isinstance(value, Opaque) else value for name, value in node.attributes
    }
    own = int(given.pop("seed", -1))
    assert isinstance(node.operator, SourceOperator)
    source = node.operator.open(node.operator.attributes(given), seed if own < 0 else own)
    return source.plans(world)


def _verify(name: str, plans: Sequence[Any], options: argparse.Namespace) -> bool:
    """Run the epochs of all processes, and print what they delivered."""
    size = plans[0].whole().length(0)
    print(f"{name}: {size} samples, {len(plans)} processes")
    good = True
    orders: list[np.ndarray[Any, Any]] = []
    for epoch in counted(range(options.epochs), name):
        parts = [plan.indices(epoch, 0, plan.own_length(epoch)) for plan in plans]
        positions = [plan.positions(epoch, 0, plan.own_length(epoch)) for plan in plans]
        whole = np.concatenate(parts)
        counts = np.bincount(whole, minlength=size)
        missing, again = np.flatnonzero(counts == 0), np.flatnonzero(counts > 1)
        places = np.concatenate(positions)
        shared = len(places) - len(np.unique(places))
        lengths = [plan.length(epoch) for plan in plans]
        batches = sorted({-(-length // options.batch_size) for length in lengths})
        print(f"  epoch {epoch}: {_times(missing, again)}; {_range(lengths)} samples a process")
        if len(batches) > 1:
            print(f"    {_range(batches)} batches: pad_last_batch=True makes them equally many")
        if shared:
            print(f"    {shared} samples have the position of another one")
        good &= not (len(missing) or len(again) or shared)
        orders.append(plans[0].whole().indices(epoch, 0, size))
    neighbors = _correlation(orders[0][:-1], orders[0][1:])
    print(f"  correlation of neighbors: {neighbors}; of two epochs: {_correlation(*_two(orders))}")
    return good


def _times(missing: np.ndarray[Any, Any], again: np.ndarray[Any, Any]) -> str:
    found = []
    for numbers, what in ((missing, "missing"), (again, "more than once")):
        if len(numbers):
            some = ", ".join(map(str, numbers[:5].tolist()))
            found.append(f"{len(numbers)} samples {what} ({some}{', ...' * (len(numbers) > 5)})")
    return "; ".join(found) or "each sample once"


def _range(values: Sequence[int]) -> str:
    least, most = min(values), max(values)
    return str(least) if least == most else f"{least} to {most}"


def _two(orders: list[np.ndarray[Any, Any]]) -> tuple[Any, Any]:
    return (orders[0], orders[1]) if len(orders) > 1 else (orders[0], orders[0])


def _correlation(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> str:
    """1 for data in their order, near 0 for a good shuffle."""
    if len(one) < 3:
        return "unknown"
    return f"{np.corrcoef(one, other)[0, 1]:.3f}"
