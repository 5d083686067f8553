"""`Writer`: collects the steps of a function while a converter goes through a transform."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gradiva.eager.support.errors import OperatorTypeError, OperatorValueError, user_location

from .calls import Name, call
from .step import Array, Step

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["NoCounterpartError", "Writer", "check_fallback"]


class NoCounterpartError(Exception):
    """A step cannot be done by gradiva's operators; the text says why."""


def check_fallback(fallback: Any, operator: str) -> None:
    """Raise OperatorValueError for another `fallback` than None and "python"."""
    if fallback not in (None, "python"):
        raise OperatorValueError(
            operator=operator,
            argument="fallback",
            expected='None or "python"',
            got=repr(fallback),
            location=user_location(),
        )


class Writer:
    """The steps so far, and what is known about the images after them.

    operator: the converter, for errors. fallback: what it was given. supported: what can be
    converted, in words, for errors.

    dtype: "uint8" or "float32"; layout: "HWC" or "CHW" in gradiva; channels; all None where they
    are not known. outputs: the names of the values after the last step.
    """

    def __init__(self, operator: str, fallback: str | None, supported: str) -> None:
        check_fallback(fallback, operator)
        self.operator = operator
        self.fallback = fallback
        self.supported = supported
        self.steps: list[Step] = []
        self.parameters: tuple[str, ...] = ("images",)
        self.outputs: tuple[str, ...] = ("images",)
        self.dtype: str | None = "uint8"
        self.layout = "HWC"
        self.channels: int | None = 3
        self._names: dict[str, int] = {}

    def name(self, prefix: str) -> str:
        """A name that no other line uses: the prefix, from the second time on with a number."""
        count = self._names[prefix] = self._names.get(prefix, 0) + 1
        return prefix if count == 1 else f"{prefix}_{count}"

    def step(self, title: str, *lines: str, **facts: Any) -> None:
        """Add a step. facts: further fields of `Step`."""
        facts.setdefault("outputs", self.outputs)
        facts.setdefault("layout", self.layout)
        self.outputs = facts["outputs"]
        self.steps.append(Step(title, lines, **facts))

    def inner(self) -> Self:
        """A writer for the steps of a function inside of this one; it knows the same images, and
        gives out names that are not used here."""
        made = copy.copy(self)
        made.steps = []
        made.parameters = self.outputs
        return made

    def without_counterpart(
        self,
        title: str,
        reason: str,
        function: Callable[[Array], Array] | None = None,
        **facts: Any,
    ) -> None:
        """Add a step that runs in `python_function`, or refuse it.

        function: from one array, in the current layout and dtype, to one in the layout `layout` of
        the facts; None if there is none. Raises OperatorTypeError, without `fallback="python"`.
        """
        if self.fallback is None or function is None:
            hint = ' (fallback="python" runs it in python_function, which is slow)'
            raise OperatorTypeError(
                f"step {len(self.steps) + 1}, {title}, has no counterpart: {reason}"
                + (hint if function is not None else ""),
                operator=self.operator,
                argument="transform",
                expected=self.supported,
                got=title,
                location=user_location(),
            )
        name = self.name("python_step")
        layout = facts.get("layout", self.layout)
        line = call("gradiva.python_function", "images", function=Name(name), output_layouts=layout)
        self.step(
            title, f"images = {line}", note=reason, python=True, objects={name: function}, **facts
        )
