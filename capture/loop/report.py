"""What a captured loop served from its program, and what it did not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape

from gradiva.capture.runtime.fusion_report import FusionExplanation
from gradiva.eager.support.errors import Location

__all__ = ["Explanation", "Unserved"]


@dataclass(slots=True)
class Unserved:
    """Calls that were not computed ahead: where, why, how many, and the first step."""

    operator: str
    location: Location | None
    reason: str
    first_step: int
    count: int = 0


@dataclass(slots=True)
class Explanation:
    """served: calls that got results computed ahead; traced: calls of the first step, which ran
    while it was traced. Iterate for the calls that were not served."""

    source: str
    served: int = 0
    traced: int = 0
    groups: FusionExplanation = field(default_factory=lambda: FusionExplanation("ahead", ()))
    """What ran fused in the program that is run ahead, how long that took, and why not."""
    _unserved: dict[tuple[str, Location | None, str], Unserved] = field(default_factory=dict)

    def add(self, operator: str, location: Location | None, step: int, reason: str) -> None:
        """Note a call that was not served."""
        key = (operator, location, reason)
        entry = self._unserved.setdefault(key, Unserved(operator, location, reason, step))
        entry.count += 1

    @property
    def unserved(self) -> int:
        """How many calls after the first step were not served."""
        return sum(entry.count for entry in self)

    @property
    def share(self) -> float:
        """Served calls, of all after the first step: 1.0 if all were."""
        total = self.served + self.unserved
        return self.served / total if total else 1.0

    def __iter__(self) -> Iterator[Unserved]:
        return iter(list(self._unserved.values()))

    def __len__(self) -> int:
        return len(self._unserved)

    def __str__(self) -> str:
        total = self.served + self.unserved
        lines = [
            f"captured loop over {self.source}: {self.served} of {total} calls computed ahead "
            f"({self.share:.1%}), {self.traced} traced in the first step"
        ]
        for entry in self:
            lines.append(
                f"  {entry.operator}: {entry.count} from step {entry.first_step}: {entry.reason}"
            )
            lines.append(f"    {entry.location or 'no line known'}")
        if self.groups:
            lines.append(str(self.groups))
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        cell = "<td style='text-align:left;vertical-align:top'>"
        rows = "".join(
            f"<tr>{cell}{escape(entry.operator)}</td>{cell}{entry.count}</td>"
            f"{cell}{escape(entry.reason)}</td>"
            f"{cell}<code>{escape(str(entry.location or 'no line known'))}</code></td></tr>"
            for entry in self
        )
        heads = "".join(
            f"<th style='text-align:left'>{name}</th>" for name in ("call", "times", "why", "line")
        )
        head = escape(str(self).split("\n", 1)[0])
        table = f"<table><tr>{heads}</tr>{rows}</table>"
        fusion = self.groups._repr_html_() if self.groups else ""
        return f"<p>{head}</p>{table if rows else ''}{fusion}"
