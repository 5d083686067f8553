"""Which calls of a captured loop got results from its program, and which did not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from gradiva.capture.graph.html_table import html_table
from gradiva.capture.runtime.fusion_report import FusionExplanation
from gradiva.eager.support.errors import Location


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
    while it was traced; steps: that the loop has begun. Iterate over the report for the calls that
    were not computed ahead."""

    source: str
    served: int = 0
    traced: int = 0
    steps: int = 0
    groups: FusionExplanation = field(default_factory=lambda: FusionExplanation("ahead", ()))
    """Which groups of the program ran fused, how long that took, why others did not, and the calls
    of the program that are in no group. Loops over the same source continue with one program as
    long as they make the same calls: its groups count the batches of all of them."""
    _unserved: dict[tuple[str, Location | None, str], Unserved] = field(default_factory=dict)

    def add(self, operator: str, location: Location | None, step: int, reason: str) -> None:
        """Record a call that was not computed ahead."""
        key = (operator, location, reason)
        entry = self._unserved.setdefault(key, Unserved(operator, location, reason, step))
        entry.count += 1

    @property
    def unserved(self) -> int:
        """The number of calls after the first step that were not computed ahead."""
        return sum(entry.count for entry in self)

    @property
    def share(self) -> float:
        """The fraction of the calls after the first step that were computed ahead, from 0.0 to
        1.0."""
        total = self.served + self.unserved
        return self.served / total if total else 1.0

    def __iter__(self) -> Iterator[Unserved]:
        return iter(list(self._unserved.values()))

    def __len__(self) -> int:
        return len(self._unserved)

    def __str__(self) -> str:
        lines = [f"captured loop over {self.source}: {self._summary()}"]
        for entry in self:
            lines.append(
                f"  {entry.operator}: {entry.count} from step {entry.first_step}: {entry.reason}"
            )
            lines.append(f"    {entry.location or 'no line known'}")
        if self.groups or self.groups.others or self.groups.caches:
            lines.append(str(self.groups))
        if any(group.batches > self.steps for group in self.groups):
            lines.append("(batches of earlier loops that ran the same program are counted, too)")
        return "\n".join(lines)

    def _summary(self) -> str:
        total = self.served + self.unserved
        if total:
            return (
                f"{self.served} of {total} calls computed ahead ({self.share:.1%}), "
                f"{self.traced} traced in the first step"
            )
        if not self.steps:
            return "nothing has run yet"
        if not self.traced:
            return f"no calls in {self.steps} step{'' if self.steps == 1 else 's'}"
        calls = f"{self.traced} call{'' if self.traced == 1 else 's'} traced in the first step"
        return f"{calls}, and none after it"

    def _repr_html_(self) -> str:
        rows = (
            (entry.operator, entry.count, entry.reason, entry.location or "no line known")
            for entry in self
        )
        head = str(self).partition("\n")[0]
        table = html_table(head, ("call", "times", "why", "`line`"), rows)
        groups = self.groups
        return table + (groups._repr_html_() if groups or groups.others or groups.caches else "")
