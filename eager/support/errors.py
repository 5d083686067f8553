"""Errors that name the operator, the argument, the sample, its file and the user's own line.

Code inside an operator raises one of the three classes with the facts it knows; the engine adds
what only it knows (operator, sample, file, line) with `complete` while the error passes through.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any, ParamSpec, TypeVar

from .bare_trace import bare
from .tracebacks import place, short_trace, source_line

__all__ = [
    "ArgumentNameError",
    "GradivaError",
    "Location",
    "OperatorIndexError",
    "OperatorKeyError",
    "OperatorOverflowError",
    "OperatorRuntimeError",
    "OperatorTypeError",
    "OperatorValueError",
    "SampleDataError",
    "annotate_error",
    "describe",
    "failure_text",
    "frameless",
    "fresh",
    "leaving",
    "printable",
    "user_location",
    "without_frames",
    "wrong_type",
    "wrong_value",
]

E = TypeVar("E", bound=BaseException)
G = TypeVar("G", bound="GradivaError")
P = ParamSpec("P")
R = TypeVar("R")

_NOT_THE_USER = (
    "gradiva.eager",
    "gradiva.ops",
    "gradiva.auto_aug",
    "gradiva.capture",
    "gradiva.fn",
    "gradiva.extension",
    "gradiva.compat.dali",
    "gradiva.display",
    "gradiva.plugin",
    "gradiva.serve",
    "gradiva.convert",
    "gradiva.receipts",
    "tqdm",
    "contextlib",
    "numpy.",  # np.mean(symbol) asks the symbol for data
)
_ours: dict[str, bool] = {}
"""Whether a module is one of those, by its name."""


@dataclass(frozen=True, slots=True)
class Location:
    """A line of the user's code, kept as code object and line number, never as a frame."""

    code: CodeType
    line: int

    def __reduce__(self) -> tuple[Any, ...]:
        # Code has no place in a pickle: the text remains.
        return str, (str(self),)

    @property
    def text(self) -> str:
        return source_line(self.code, self.line).strip()

    def __str__(self) -> str:
        text = self.text
        where = f"{place(self.code, self.line)}, in {self.code.co_name}"
        return f"{where}: {text}" if text else where


def user_location() -> Location | None:
    """The innermost frame of the calling stack that is the user's."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        ours = _ours.get(module)
        if ours is None:
            # A thread of ours has no user below it, only the module that started it.
            ours = _ours[module] = module.startswith(_NOT_THE_USER) or module == "threading"
        if not ours:
            return Location(frame.f_code, frame.f_lineno)
        frame = frame.f_back
    return None


def printable(text: str) -> str:
    """The text, with escapes for what no stream can write: names of files that are not UTF-8."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def describe(value: Any, limit: int = 80) -> str:
    """A short text for a value the user passed: its type and, if it fits, the value."""
    text = repr(value).replace("\n", " ")
    if len(text) > limit:
        text = text[: limit - 3] + "..."
    return text if isinstance(value, str) else f"{text} ({type(value).__name__})"


class GradivaError(RuntimeError):
    """Base of all errors that gradiva raises on purpose. A RuntimeError, as scripts expect.

    Attributes: `problem` (what is wrong), `operator`, `argument`, `expected`, `got`, `sample`
    (index in the batch), `file` and `location` (the user's line), each None where not known.
    """

    def __init__(
        self,
        problem: str = "",
        *,
        operator: str | None = None,
        argument: str | None = None,
        expected: str | None = None,
        got: Any = None,
        sample: int | None = None,
        file: str | None = None,
        location: Location | None = None,
    ) -> None:
        super().__init__(problem)
        self.problem = problem
        self.operator = operator
        self.argument = argument
        self.expected = expected
        self.got = got
        self.sample = sample
        self.file = file
        self.location = location

    def complete(self, **facts: Any) -> GradivaError:
        """Fill in the facts that are still unknown and return the error itself."""
        for name, value in facts.items():
            if getattr(self, name) is None:
                setattr(self, name, value)
        return self

    def __str__(self) -> str:
        head = []
        if self.operator:
            head.append(self.operator)
        if self.argument:
            head.append(f"argument `{self.argument}`")
        parts = [self.problem] if self.problem else []
        if self.expected is not None:
            parts.append(f"expected {self.expected}, got {self.got}")
        lines = [": ".join([*head, "; ".join(parts)])]
        if self.sample is not None or self.file is not None:
            sample = f"sample {self.sample}" if self.sample is not None else ""
            file = f"file {self.file}" if self.file is not None else ""
            lines.append("  in " + ", ".join(part for part in (sample, file) if part))
        if self.location is not None:
            lines.append(f"  at {self.location}")
        return printable("\n".join(lines))

    def _render_traceback_(self) -> list[str]:
        """What IPython prints: the user's line, then the message."""
        return short_trace(self)

    def __reduce__(self) -> tuple[Any, ...]:
        facts = {name: value for name, value in vars(self).items() if name != "location"}
        where = f"\n  at {self.location}" if self.location is not None else ""
        facts["problem"] = self.problem + where
        return (_rebuild, (type(self), facts))


def _rebuild(kind: type[GradivaError], facts: dict[str, Any]) -> GradivaError:
    return kind(facts.pop("problem"), **facts)


class annotate_error:  # noqa: N801  it is used as a function is
    """Errors leave the block with the operator's name and the user's line, and a short trace.

    No generator: that would keep the frames (`contextlib` gives the error its old traceback back).
    """

    def __init__(self, operator: str) -> None:
        self._operator = operator

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            if isinstance(error, GradivaError):
                raise leaving(error, self._operator) from error.__cause__
            if isinstance(error, MemoryError):
                lack = OperatorRuntimeError(failure_text(error))
                raise leaving(lack, self._operator) from None
        finally:
            del error, trace  # this frame is in the traceback


def failure_text(error: BaseException) -> str:
    """The text of an error, for an error of ours that replaces it. An out-of-memory error may have
    no text of its own."""
    if not isinstance(error, MemoryError):
        return str(error)
    return f"not enough memory ({error})" if str(error) else "not enough memory"


def leaving(error: GradivaError, operator: str) -> GradivaError:
    """The error for the user: with the operator's name and the user's line, and without internal
    frames."""
    return without_frames(error.complete(operator=operator, location=user_location()))


def without_frames(error: E) -> E:
    """The error, to be kept, or raised to the user: neither it nor its causes hold a frame that has
    variables. Places stay, so that tracebacks can be read; of an error of gradiva's, and of
    StopIteration, the user's alone."""
    ours = isinstance(error, GradivaError | StopIteration)
    _set_trace(error, bare(error.__traceback__, _NOT_THE_USER if ours else None))
    waiting: list[BaseException] = [error]
    seen = {id(error)}
    while waiting:
        one = waiting.pop()
        if one.__suppress_context__:
            _context.__set__(one, None)  # it is shown to nobody
        further = [one.__cause__, *_parts(one)]
        if one.__context__ is not None and not _is_handled(one.__context__):
            further.append(one.__context__)
        for other in further:
            if other is not None and id(other) not in seen:
                seen.add(id(other))
                _set_trace(other, bare(other.__traceback__))
                waiting.append(other)
    return error


def frameless(function: Callable[P, R]) -> Callable[P, R]:
    """Decorator of what users call: errors leave it without frames; so who keeps an error keeps
    nothing that it was about, nor what the call belongs to."""

    @functools.wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except (GradivaError, StopIteration) as error:
            raise without_frames(error) from error.__cause__
        finally:
            del args, kwargs

    return called


def fresh(error: E) -> E:
    """Another error with the same text, to be raised in place of one that is kept: raising adds
    frames to an error."""
    made = type(error).__new__(type(error), *error.args)
    made.__dict__.update(error.__dict__)
    made.__cause__, made.__suppress_context__ = error.__cause__, error.__suppress_context__
    return made


# By the base class: a class of the user's may refuse attributes.
_set_trace = BaseException.with_traceback
_context: Any = BaseException.__context__


def _parts(error: BaseException) -> tuple[BaseException, ...]:
    """The errors in an exception group."""
    if sys.version_info >= (3, 11) and isinstance(error, BaseExceptionGroup):  # noqa: F821
        return error.exceptions
    return ()


def _is_handled(error: BaseException) -> bool:
    """Whether code further up is handling this error at the moment: then it belongs to that
    code."""
    trace = error.__traceback__
    frame: FrameType | None = None if trace is None else sys._getframe(1)
    while frame is not None and trace is not None and frame is not trace.tb_frame:
        frame = frame.f_back
    return frame is not None


class OperatorTypeError(GradivaError, TypeError, ValueError):
    """A wrong argument name, or a value, dtype, layout or rank of the wrong kind. A ValueError,
    too: scripts expect one where a layout or a number of inputs is not taken."""


class ArgumentNameError(OperatorTypeError, KeyError):
    """An argument that the operator does not have."""


class OperatorValueError(GradivaError, ValueError):
    """A value of the right kind that is not possible."""


class OperatorIndexError(OperatorValueError, IndexError):
    """An axis that is not there."""


class OperatorKeyError(OperatorValueError, KeyError):
    """A name that is not there."""


class OperatorOverflowError(OperatorValueError, OverflowError):
    """A number that its type does not hold."""


class OperatorRuntimeError(GradivaError, RuntimeError):
    """A failure while running: a damaged file, a callable that raised."""


class SampleDataError(OperatorRuntimeError):
    """The data of one sample are at fault: a file that cannot be read or decoded. This is what
    `on_error` is about; a wrong argument, a want of memory or a defect is not."""


def wrong_value(
    argument: str,
    expected: str,
    got: Any,
    problem: str = "",
    sample: int | None = None,
    operator: str | None = None,
) -> OperatorValueError:
    """The error for an argument (an input, if "") whose value is another than expected."""
    error = OperatorValueError(problem, operator=operator, sample=sample)
    return _explained(error, argument, expected, got)


def wrong_type(
    argument: str, expected: str, got: Any, problem: str = "", operator: str | None = None
) -> OperatorTypeError:
    """The error for an argument (an input, if "") of another type than expected."""
    return _explained(OperatorTypeError(problem, operator=operator), argument, expected, got)


def _explained(error: G, argument: str, expected: str, got: Any) -> G:
    error.argument, error.expected, error.got = argument or None, expected, str(got)
    return error
