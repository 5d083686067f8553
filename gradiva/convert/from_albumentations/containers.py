"""Containers of transforms, such as `OneOf`, as gates of the transforms in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from gradiva.convert.core.calls import call
from gradiva.convert.core.writer import NoCounterpartError

from .images import RULES, Images
from .nodes import Node
from .original import leaf

__all__ = ["write_container"]

_MOST = 256
"""Calls in a container that repeats its transforms."""

Write = Callable[[Images, Node], None]
Gate = tuple[int, Node]


@RULES.rule("Compose", "ReplayCompose", "Sequential", calls="the calls in them")
@RULES.rule("OneOf", "SomeOf", "RandomOrder", "OneOrOther", calls="`choose`")
def _container(writer: Images, node: Node) -> None:
    raise NoCounterpartError("a container is no transform")


def write_container(writer: Images, node: Node, write: Write) -> None:
    """Write the transforms in a container. write: writes one transform, or a container.

    Raises OperatorTypeError.
    """
    if not node.children:
        return
    if node.name in ("Compose", "ReplayCompose", "Sequential"):
        _sequence(writer, node, write)
    elif node.name == "OneOf":
        weights = tuple(one.p for one in node.children)
        if not any(weights):
            raise NoCounterpartError("all probabilities in it are 0")
        facts = {"kind": "one", "weights": weights, "p": writer.chance(node)}
        _gated(writer, node, write, facts, list(enumerate(node.children)), True)
    elif node.name == "OneOrOther":
        pair = node.children[0], node.children[-1]
        facts = {"kind": "one", "weights": (node.p, 1.0 - node.p)}
        _gated(writer, node, write, facts, list(enumerate(pair)), True)
    else:
        _several(writer, node, write)


def _sequence(writer: Images, node: Node, write: Write) -> None:
    chance = writer.chance(node)
    if chance <= 0:
        return
    if chance >= 1:
        with writer.gated(writer.gates, writer.place, False):
            for one in node.children:
                write(writer, one)
        return
    facts = {"kind": "one", "weights": (1.0,), "p": chance}
    _gated(writer, node, write, facts, [(0, one) for one in node.children], False)


def _several(writer: Images, node: Node, write: Write) -> None:
    """`SomeOf` and `RandomOrder`."""
    children, again = node.children, bool(node.arguments.get("replace", False))
    chosen, count = int(node.arguments.get("n", 1)), len(children)
    if not again:
        chosen = min(chosen, count)
    ordered = node.name == "RandomOrder"
    if chosen < 1:
        return
    if (again or ordered) and chosen * count > _MOST:
        raise NoCounterpartError(f"it would be {chosen * count} calls")
    steps: list[Gate] = list(enumerate(children))
    kind = "some"
    if ordered:
        kind = "free" if again else "order"
        steps = [(s * count + k, one) for s in range(chosen) for k, one in enumerate(children)]
    elif again:
        kind = "again"
        steps = [(k * chosen + s, one) for k, one in enumerate(children) for s in range(chosen)]
    facts = {"kind": kind, "weights": (1.0,) * count, "chosen": chosen, "p": node.p}
    _gated(writer, node, write, facts, steps, False)


def _gated(
    writer: Images,
    node: Node,
    write: Write,
    facts: dict[str, Any],
    steps: Iterable[Gate],
    forced: bool,
) -> None:
    """One step: a choice, and the transforms that it decides about.

    facts: the arguments of `choose`; steps: transforms, and the places of their gates; forced:
    whether those that are chosen are applied whatever their `p` is.
    """
    writer.flush()
    inner, gates = writer.inner(), writer.name("chosen")
    given = {name: ... if (name, value) in _LEFT_OUT else value for name, value in facts.items()}
    line = f"{gates} = {call('choose', 'images', **given, **writer.gate_arguments())}"
    for place, one in steps:
        with inner.gated(gates, place, forced):
            write(inner, one)
    lines = [line, *(line for step in inner.steps for line in step.lines)]
    objects = {name: one for step in inner.steps for name, one in step.objects.items()}
    python = any(step.python for step in inner.steps)
    notes = ", ".join(dict.fromkeys(step.note for step in inner.steps if step.note))
    writer.step(
        node.title,
        *lines,
        random=True,
        python=python,
        note=notes,
        objects=objects,
        original=leaf(node),
    )


_LEFT_OUT = (("p", 1.0), ("p", 1), ("chosen", 1))
