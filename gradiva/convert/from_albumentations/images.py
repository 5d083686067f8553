"""What is known about images while a pipeline of Albumentations is converted."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from gradiva.convert.core.calls import Name, call, written
from gradiva.convert.core.rules import Rules
from gradiva.convert.core.writer import NoCounterpartError, Writer

from .nodes import Node
from .older import renamed
from .original import leaf
from .settings import DEFAULTS, settings_for

__all__ = ["RULES", "Images", "literal"]


class Images(Writer):
    """targets: whether targets follow the images.

    gates: the name of the value that says which transforms of the container around are applied;
    place: which of these comes next; forced: whether it is applied whatever its `p` is.
    """

    def __init__(self, fallback: str | None, targets: bool) -> None:
        super().__init__("convert.albumentations", fallback, RULES.supported())
        self.targets = targets
        self.values = ("images", "targets") if targets else ("images",)
        self.parameters = self.outputs = self.values
        self.gates: str | None = None
        self.place = 0
        self.forced = False
        self.normalized: Callable[[str], str] | None = None
        self._waiting: tuple[str, Callable[[Any], Any]] | None = None

    def chance(self, node: Node) -> float:
        """The probability of a transform, where it is reached."""
        return 1.0 if self.forced and node.p > 0 else node.p

    def settings(self, node: Node) -> dict[str, Any]:
        """The arguments of a transform, complete. Raises NoCounterpartError."""
        known = DEFAULTS[node.name]
        given = {
            name: value
            for name, value in renamed(node.name, node.arguments).items()
            if name in known
        }
        missing = [name for name in known if known[name] is ... and name not in given]
        if missing:
            raise NoCounterpartError(f"its argument `{missing[0]}` is missing")
        return settings_for(node.name, given)

    def always(self, node: Node) -> None:
        """Refuse a transform that changes the type of images where it may not be applied. Raises
        NoCounterpartError."""
        if self.gates is not None or self.chance(node) < 1:
            raise NoCounterpartError(
                "it changes the type of the images, and so it must be applied to all of a batch: "
                "p=1, and outside of other containers than Compose"
            )

    @property
    def alone(self) -> bool:
        """Whether the transform stands in no container that decides about it."""
        return self.gates is None

    @contextlib.contextmanager
    def gated(self, gates: str | None, place: int, forced: bool) -> Iterator[None]:
        """Inside of a container."""
        before = self.gates, self.place, self.forced
        self.gates, self.place, self.forced = gates, place, forced
        try:
            yield
        finally:
            self.gates, self.place, self.forced = before

    def gate_arguments(self) -> dict[str, Any]:
        """The arguments of a call about the container around."""
        if self.gates is None:
            return {}
        return {"gates": Name(self.gates), "place": self.place}

    def moving(self, called: str, *inputs: str, **arguments: Any) -> str:
        """A line that calls an operator with the images, and with the targets, if there are any."""
        return f"{', '.join(self.values)} = {call(called, *self.values, *inputs, **arguments)}"

    def add(self, node: Node, *lines: str, random: bool, **facts: Any) -> None:
        """Add the step of a transform."""
        self.flush()
        facts.setdefault("original", leaf(node))
        self.step(node.title, *lines, random=random, **facts)

    def scaled(self, node: Node, line: Callable[[str], str]) -> None:
        """Images become float32; the line may also make them CHW, if that comes next."""
        self.flush()
        self._waiting = node.title, leaf(node)
        self.normalized = line
        self.dtype = "float32"

    def flush(self, then: Node | None = None) -> None:
        """Write what waits. then: a transform that makes images CHW, which the same call does."""
        if self._waiting is None or self.normalized is None:
            return
        title, original = self._waiting
        line, self._waiting, self.normalized = self.normalized, None, None
        if then is None:
            self.step(title, line("HWC"), original=original)
            return
        last = leaf(then)
        self.layout = "CHW"
        self.step(
            f"{title}, {then.title}", line("CHW"), original=lambda value: last(original(value))
        )

    @property
    def waits(self) -> bool:
        """Whether a normalization can still become CHW."""
        return self._waiting is not None


RULES: Rules[Images] = Rules("Albumentations")
"""How each transform is converted; the modules beside this one declare the rules."""


def literal(value: Any) -> Any:
    """A value for `call`, in which dictionaries may stand."""
    if isinstance(value, dict):
        return Name(
            f"{{{', '.join(f'{written(name)}: {written(one)}' for name, one in value.items())}}}"
        )
    return value
