"""RandomApply, RandomChoice and RandomOrder: which transforms an image goes through."""

from __future__ import annotations

from typing import Any

from gradiva.convert.core.calls import Name, call, function

from .colors import order_lines
from .steps import flattened, write
from .values import BATCH, RULES, Images, refuse, title_of

__all__: list[str] = []

_MOST = 6
"""Transforms whose order is drawn from a table of all orders."""


@RULES.rule("RandomApply", calls="a function and `auto_aug.core.select`")
def _apply(writer: Images, transform: Any) -> None:
    writer.flush()
    inner = _inner(writer, transform, list(transform.transforms))
    chance = writer.chance(transform.p)
    if chance is None:
        writer.steps.extend(inner.steps)
        return
    name, defined = _defined(writer, inner)
    chosen = call("select", f"[lambda images: images, {name}]", chance, "images")
    _add(writer, transform, [inner], ["", defined, "", f"images = {chosen}"])


@RULES.rule("RandomChoice", calls="functions and `auto_aug.core.select`")
def _choice(writer: Images, transform: Any) -> None:
    writer.flush()
    parts = [_inner(writer, transform, [one]) for one in transform.transforms]
    names, lines = _all_defined(writer, parts)
    p = transform.p
    total = sum(p) if p is not None else 1
    shares = ... if p is None or len(set(p)) == 1 else [float(one) / total for one in p]
    which = call("random.choice", str(len(parts)), p=shares, batch_size=BATCH)
    chosen = call("select", f"[{', '.join(names)}]", which, "images")
    _add(writer, transform, parts, [*lines, f"images = {chosen}"])


@RULES.rule("RandomOrder", calls="functions and `auto_aug.core.select`", exactness="exact")
def _order(writer: Images, transform: Any) -> None:
    writer.flush()
    parts = [_inner(writer, transform, [one]) for one in transform.transforms]
    refuse(len(parts) > _MOST, f"more than {_MOST} transforms")
    names, lines = _all_defined(writer, parts)
    lines.extend(order_lines(writer, len(parts)))
    turn = call("select", f"[{', '.join(names)}]", Name("turn"), "images")
    lines.append(f"for turn in turns:\n    images = {turn}")
    _add(writer, transform, parts, lines)


def _inner(writer: Images, transform: Any, transforms: list[Any]) -> Images:
    """A writer with the steps of some of the transforms, which keep the kind of the images."""
    inner = writer.inner()
    for one in flattened(transforms):
        write(inner, one)
    inner.flush()
    before, after = ((one.kind, one.dtype, one.channels) for one in (writer, inner))
    refuse(before != after, f"images that are {before} for some and {after} for others")
    return inner


def _defined(writer: Images, inner: Images) -> tuple[str, str]:
    """A name, and the function of these steps."""
    name = writer.name("applied")
    lines = [line for step in inner.steps for line in step.lines]
    return name, function(name, ["images"], lines, "images")


def _all_defined(writer: Images, parts: list[Images]) -> tuple[list[str], list[str]]:
    names, lines = [], [""]
    for part in parts:
        name, defined = _defined(writer, part)
        names.append(name)
        lines.extend([defined, ""])
    return names, lines


def _add(writer: Images, transform: Any, parts: list[Images], lines: list[str]) -> None:
    steps = [step for part in parts for step in part.steps]
    bounds = [step.bound for step in steps]
    largest = None if None in bounds else max((b for b in bounds if b is not None), default=0.0)
    writer.step(
        title_of(transform),
        *lines,
        original=transform,
        random=True,
        bound=largest,
        python=any(step.python for step in steps),
        objects={name: one for step in steps for name, one in step.objects.items()},
    )
    writer.least = (1, 1)
