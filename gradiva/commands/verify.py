"""`gradiva verify`: whether the readers of a pipeline deliver each sample once in each
epoch, over all processes, and how well they shuffle; and whether that holds when a training is
resumed with other numbers of trainers and workers. Only their orders are run: nothing is read."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradiva.capture.graph.graph import Node, Opaque
from gradiva.commands.coverage import Change, Numbers, epochs_of, parse_changes
from gradiva.commands.graph import find_graph
from gradiva.eager.support.errors import OperatorValueError
from gradiva.ops.readers.core.progress import counted
from gradiva.ops.readers.core.source import SourceOperator
from gradiva.ops.readers.sampling.sampling_arguments import SHARDINGS
from gradiva.ops.readers.sharding.shard_schedule import LastBatchPolicy

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
    parser.add_argument(
        "--workers", type=int, help="how many worker processes each of them has; 0 for none"
    )
    parser.add_argument(
        "--resume",
        action="append",
        default=[],
        metavar="EPOCH:STEP[:WORLDxWORKERS]",
        help="interrupt the training in this epoch after so many steps, and resume it, with other "
        "numbers if they are given; may be repeated",
    )
    parser.add_argument(
        "--sharding",
        choices=SHARDINGS,
        help="for --workers and --resume; by default interleaved, as iterators read",
    )
    parser.add_argument(
        "--last-batch",
        choices=[policy.name.lower() for policy in LastBatchPolicy],
        default="partial",
        help="the policy for the last step of an epoch, for --workers and --resume",
    )
    parser.add_argument(
        "--global-batch",
        type=int,
        help="samples of a step of all trainers, where that is the same for all numbers of them",
    )


def run(options: argparse.Namespace) -> int:
    """Print what was found. Returns 1 if a sample is missing or repeated. Raises GradivaError."""
    for name in ("world", "epochs", "batch_size"):
        if getattr(options, name) < 1:
            raise OperatorValueError(
                operator="verify", argument=name, expected="1 or more", got=getattr(options, name)
            )
    changes = _changes(options)
    graph = find_graph(options.file)
    readers = [node for node in graph.nodes if isinstance(node.operator, SourceOperator)]
    good = True
    for node in readers:
        name = graph.names.get(node, node.operator.name)
        plans = _plans(node, options.world, options.seed)
        if not plans:
            print(f"{name}: its samples have no numbers, nothing can be said")
            continue
        if changes is None:
            good &= _verify(name, plans, options)
        else:
            good &= _verify_changes(name, plans[0], changes, options)
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


def _changes(options: argparse.Namespace) -> list[Change] | None:
    """The changes of the training; None for the check of one number of processes. Raises
    OperatorValueError."""
    asked = [options.workers, options.resume, options.sharding, options.global_batch]
    if not any(one is not None and one != [] for one in asked):
        return None
    for name, value, least in (
        ("--workers", options.workers, 0),
        ("--global-batch", options.global_batch, 1),
    ):
        if value is not None and value < least:
            raise OperatorValueError(
                operator="verify", argument=name, expected=f"{least} or more", got=str(value)
            )
    return parse_changes(options.resume, Numbers(options.world, options.workers or 0))


def _verify_changes(
    name: str, plan: Any, changes: list[Change], options: argparse.Namespace
) -> bool:
    """Run the epochs of a training with changes, and print a table of what was read."""
    sharding = options.sharding or "interleaved"
    count = max([options.epochs, *(change.epoch + 1 for change in changes)])
    found = epochs_of(
        plan,
        options.batch_size,
        count,
        Numbers(options.world, options.workers or 0),
        changes,
        LastBatchPolicy[options.last_batch.upper()],
        sharding,
        options.global_batch,
    )
    print(f"{name}: {plan.whole().length(0)} samples, {sharding} shards")
    print("  epoch  trainers  workers    steps       from         to  samples")
    good = True
    for epoch in counted(found, name):
        for phase in epoch.phases:
            places = (phase.begin, phase.end) if sharding == "interleaved" else ("-", "-")
            row = epoch.number, *phase.numbers, phase.steps, *places
            widths = zip((7, 9, 8, 8, 10, 10), row, strict=True)
            cells = [f"{value:>{width}}" for width, value in widths]
            print(f"{' '.join(cells)} {len(phase.positions):>8}")
        repeats = f", {epoch.repeats} repeats" if epoch.repeats else ""
        left = f", but {len(epoch.left_out)} left out at the end" if len(epoch.left_out) else ""
        print(f"    {_times(epoch.missing, epoch.doubled, 'position')}{left}{repeats}")
        for problem in epoch.problems:
            print(f"    {problem}")
        good &= epoch.good
    print(f"  {'each position once in all epochs' if good else 'VIOLATED'}")
    if not good and sharding == "contiguous" and changes:
        print(
            "  Shards one after the other go on with the numbers that an epoch was begun with; "
            'sharding="interleaved" with any.'
        )
    return good


def _times(missing: np.ndarray[Any, Any], again: np.ndarray[Any, Any], what: str = "sample") -> str:
    found = []
    for numbers, how in ((missing, "missing"), (again, "more than once")):
        if len(numbers):
            some = ", ".join(map(str, numbers[:5].tolist()))
            more = ", ..." * (len(numbers) > 5)
            found.append(f"{len(numbers)} {what}s {how} ({some}{more})")
    return "; ".join(found) or f"each {what} once"


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
