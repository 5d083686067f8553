"""`Converted`: another package's preprocessing as a function of batches."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .calls import call
from .compare import compare
from .report import ConversionReport
from .source_code import function_of, module_of
from .step import Original, Step
from .writer import Writer

__all__ = ["Converted", "converted"]

_DECODE = Step(
    "decode: Image.open(file).convert('RGB'), upright by its EXIF tag",
    (f"images = {call('gradiva.decoders.image', 'files')}",),
)


class Converted:
    """A function of a batch of images, made of the steps of another package's preprocessing.

    Call it as any other function of batches: at once, in a captured loop, in `capture.compile`, in
    a pipeline. `steps` are its steps; `print(function.code())` shows the calls; `report(images)`
    compares with the original on images of your own.
    """

    def __init__(
        self, name: str, steps: Sequence[Step], parameters: Sequence[str], original: Original
    ) -> None:
        self.name = name
        self.steps = tuple(steps)
        self.parameters = tuple(parameters)
        self._original = original
        self.__name__ = "transform"
        self.__doc__ = f"{name}, converted by gradiva.convert."

    def __call__(self, *inputs: Any) -> Any:
        """Run the steps. inputs: decoded images, uint8, HWC, RGB, as a batch or a symbol; encoded
        files, if the function was converted with `decode=True`; labels, where the transform takes
        them."""
        return self._function(*inputs)

    @functools.cached_property
    def _function(self) -> Callable[..., Any]:
        made = function_of(self.code(), self.__name__)
        objects = self.objects
        return functools.partial(made, **objects) if objects else made

    @property
    def objects(self) -> dict[str, Any]:
        """What `code()` refers to and cannot hold: the functions of steps that run in
        `python_function`."""
        return {name: one for step in self.steps for name, one in step.objects.items()}

    @property
    def exact(self) -> bool:
        """Whether all steps promise the bits of the original."""
        return all(step.bound == 0 and not step.random for step in self.steps)

    @property
    def random(self) -> bool:
        """Whether a step draws values."""
        return any(step.random for step in self.steps)

    def code(self) -> str:
        """The source code of the function, a module that runs by itself.

        Functions of steps without counterpart are arguments of the function; `objects` has them.
        """
        return module_of(self.__name__, self.parameters, self.steps, self.outputs)

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of what the function returns."""
        return self.steps[-1].outputs if self.steps else self.parameters

    def report(self, images: Any, *, limit: int | None = None) -> ConversionReport:
        """Run the original and this function on images, and compare each step and the whole.

        images: paths, bytes of files, arrays (H, W, 3) or (H, W) of uint8, images of Pillow, a
            folder, or a batch of gradiva; one of them or an iterable. limit: take so many at most.

        Each step is compared by itself, on what the original gave for the step before; then the
        whole. A notebook shows the report; `report.save(path)` writes it as HTML, with a picture of
        the differences.

        Raises ImportError if the other package is not installed, OperatorTypeError for values that
        are no images.
        """
        return compare(self, self._original, images, limit)

    def __getstate__(self) -> dict[str, Any]:
        """For pickles: without the function, which is compiled again from its source."""
        return {name: value for name, value in vars(self).items() if name != "_function"}

    def __str__(self) -> str:
        return self.code()

    def __repr__(self) -> str:
        kinds = [
            "exact" if self.exact else "",
            "random" if self.random else "",
            "in part in Python" if any(step.python for step in self.steps) else "",
        ]
        said = "".join(f", {kind}" for kind in kinds if kind)
        count = len(self.steps)
        return f"<{self.name}: {count} step{'' if count == 1 else 's'}{said}>"


def converted(name: str, writer: Writer, original: Original, decode: bool) -> Converted:
    """The function of what was written. decode: whether it begins with encoded files."""
    steps: Iterable[Step] = writer.steps
    parameters = writer.parameters
    if decode:
        steps = [_DECODE, *steps]
        parameters = ("files", *parameters[1:])
    return Converted(name, tuple(steps), parameters, original)
