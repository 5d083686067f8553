"""Run a converted function and the original on images, and compare them step by step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np

from gradiva.eager.support.errors import OperatorRuntimeError, OperatorTypeError, user_location
from gradiva.eager.values.batch import Batch, batch
from gradiva.eager.values.tensor import to_array
from gradiva.ops.decoders.image.image import image as decode

from .pictures import Picture, decoded_by_pillow, pictures
from .report import ConversionReport
from .rows import Row
from .source_code import function_of, module_of
from .step import Array, Original, Step

__all__ = ["compare"]

_AT_ONCE = 8
"""Images that are in memory at once."""


class Compared(Protocol):
    """A converted function, as far as a comparison needs it."""

    @property
    def name(self) -> str: ...
    @property
    def steps(self) -> tuple[Step, ...]: ...
    @property
    def parameters(self) -> tuple[str, ...]: ...
    @property
    def random(self) -> bool: ...
    def __call__(self, *inputs: Any) -> Any: ...


def compare(
    function: Compared, original: Original, images: Any, limit: int | None
) -> ConversionReport:
    """Make the report of a converted function; see `Converted.report`."""
    version = original.version()
    if version is None:
        raise OperatorRuntimeError(
            f"the report compares with {original.package}, which is not installed: "
            f"pip install {original.package}",
            operator="convert.report",
            location=user_location(),
        )
    if function.parameters not in (("images",), ("files",)):
        raise OperatorTypeError(
            "a report runs functions of one batch of images",
            operator="convert.report",
            expected="a function of images alone",
            got=f"a function of {', '.join(function.parameters)}",
            location=user_location(),
        )
    given = pictures(images, limit)
    whole = Step("the whole", (), bound=_bound(function.steps), random=function.random)
    rows = [Row(s.title, s.promise, s.bound, s.lines) for s in (*function.steps, whole)]
    compared = _Comparison(function, original, rows)
    for first in range(0, len(given), _AT_ONCE):
        compared.add(given[first : first + _AT_ONCE])
    versions = f"{original.package} {version}"
    return ConversionReport(function.name, versions, [one.name for one in given], rows)


def _bound(steps: Iterable[Step]) -> float | None:
    """What can be promised about all steps together: the bits or nothing."""
    return 0.0 if all(step.bound == 0 and not step.random for step in steps) else None


class _Comparison:
    """Runs both sides, some images at a time."""

    def __init__(self, function: Compared, original: Original, rows: Sequence[Row]) -> None:
        self.function = function
        self.original = original
        self.rows = rows
        self.decodes = function.parameters[0] == "files"
        self.single = [_step_function(function, number) for number in range(len(function.steps))]

    def add(self, given: Sequence[Picture]) -> None:
        names = [one.name for one in given]
        files = [one.encoded() for one in given] if self.decodes else []
        if self.decodes:
            pixels = [decoded_by_pillow(file) for file in files]
        else:
            pixels = [_decoded(one) for one in given]
        values = [self.original.begin(one) for one in pixels]
        begun = list(values)
        arrays: list[tuple[Array, ...]] = [(one,) for one in pixels]
        layout, steps = "HWC", self.function.steps
        for number, (step, row) in enumerate(zip(steps, self.rows, strict=False)):
            if number == 0 and self.decodes:
                ours = _samples(self.single[0](_files(files)))
                self._compare(row, names, ours, arrays, step.layout)
                continue
            if step.original is None:
                row.problem = "the original has no such step by itself"
                break
            inputs = [batch([*column], layout=layout) for column in zip(*arrays, strict=True)]
            values = [step.original(value) for value in values]
            arrays = [self._arrays(value, step) for value in values]
            layout = step.layout
            if step.random:
                row.problem = "random: the distributions agree, the values do not"
                continue
            self._compare(row, names, _samples(self.single[number](*inputs)), arrays, layout)
        self._whole(names, files, pixels, begun, arrays)

    def _whole(
        self,
        names: Sequence[str],
        files: Sequence[bytes],
        pixels: Sequence[Array],
        begun: Sequence[Any],
        last: Sequence[tuple[Array, ...]],
    ) -> None:
        row, layout = self.rows[-1], self.function.steps[-1].layout if self.function.steps else ""
        if self.function.random:
            row.problem = "random: the distributions agree, the values do not"
            return
        given = _files(files) if self.decodes else batch(list(pixels), layout="HWC")
        theirs = last
        whole, together = self.original.whole, self.original.together
        results: Sequence[Any] = []
        if together is not None:
            results = together(begun)
        elif whole is not None:
            results = [whole(value) for value in begun]
        if results:
            several = self.original.arrays
            if several is not None:
                theirs = [several(value) for value in results]
            else:
                theirs = [(self.original.array(value, layout),) for value in results]
        self._compare(row, names, _samples(self.function(given)), theirs, layout)

    def _arrays(self, value: Any, step: Step) -> tuple[Array, ...]:
        if step.arrays is not None:
            return step.arrays(value)
        return (self.original.array(value, step.layout),)

    def _compare(
        self,
        row: Row,
        names: Sequence[str],
        ours: Sequence[tuple[Array, ...]],
        theirs: Sequence[tuple[Array, ...]],
        layout: str,
    ) -> None:
        for name, one, other in zip(names, ours, theirs, strict=True):
            row.add(name, one, other, layout)


def _step_function(function: Compared, number: int) -> Any:
    """One step as a function of the outputs of the step before it."""
    step = function.steps[number]
    before = function.steps[number - 1].outputs if number else function.parameters
    made = function_of(module_of("step", before, [step], step.outputs), "step")
    return (lambda *inputs: made(*inputs, **step.objects)) if step.objects else made


def _files(files: Sequence[bytes]) -> Batch:
    """Encoded files as a batch."""
    return batch([np.frombuffer(file, np.uint8) for file in files])


def _decoded(one: Picture) -> Array:
    if one.pixels is not None:
        return one.pixels
    assert one.file is not None
    return _samples(decode(_files([one.file])))[0][0]


def _samples(result: Any) -> list[tuple[Array, ...]]:
    """Outputs of a batch as arrays, for each sample one of each output."""
    several = list(result) if isinstance(result, tuple | list) else [result]
    return [tuple(map(to_array, row)) for row in zip(*several, strict=True)]
