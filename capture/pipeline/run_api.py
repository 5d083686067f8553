"""Which of the ways to run a pipeline is in use, and whether outputs are what was declared."""

from __future__ import annotations

import enum
from collections.abc import Sequence

from gradiva.eager.support.errors import OperatorRuntimeError, OperatorTypeError, blaming
from gradiva.eager.types.sample_type import SampleType

__all__ = ["ApiCheck", "PipelineAPIType", "check_types"]


class PipelineAPIType(enum.Enum):
    """The ways to run a pipeline, which do not mix: `run`; an iterator of a framework;
    `schedule_run`, `share_outputs` and `release_outputs`."""

    BASIC = 0
    ITERATOR = 1
    SCHEDULED = 2


class ApiCheck:
    """Remembers which way was used first, and refuses the others."""

    def __init__(self) -> None:
        self.enabled = True
        self.used: PipelineAPIType | None = None

    def use(self, kind: PipelineAPIType) -> None:
        """The pipeline is run in this way. Raises OperatorRuntimeError if it was another before."""
        if self.used is None or not self.enabled:
            self.used = kind
        if self.used is not kind:
            with blaming("Pipeline"):
                raise OperatorRuntimeError(
                    "the ways to run a pipeline do not mix, because each has its own rule for how "
                    "long outputs live; make a second pipeline, or call enable_api_check(False)",
                    expected=f"calls of the {self.used.name} kind, as before",
                    got=f"one of the {kind.name} kind",
                )


def check_types(declared: Sequence[SampleType], actual: Sequence[SampleType]) -> None:
    """Raise OperatorTypeError for an output that is not what was declared; unknown fields pass."""
    for index, (wanted, found) in enumerate(zip(declared, actual, strict=True)):
        for name, expected, got in (
            ("output_dtype", wanted.dtype, found.dtype),
            ("output_ndim", wanted.ndim, found.ndim),
            ("output_layout", wanted.layout, found.layout),
        ):
            if expected is not None and got is not None and expected != got:
                with blaming("Pipeline"):
                    raise OperatorTypeError(
                        f"output {index} is not what was declared",
                        argument=name,
                        expected=str(expected),
                        got=str(got) or "no layout",
                    )
