"""`pipeline_def`: turns a function that calls operators into a factory of pipelines."""

from __future__ import annotations

import difflib
import functools
import inspect
import sys
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Generic, NoReturn, ParamSpec, overload

from gradiva.capture.recording import dispatch, function_source
from gradiva.eager.operators.signature import extended
from gradiva.eager.support.errors import OperatorTypeError, user_location
from gradiva.eager.support.user_warning import warn_user

from .debug import DebugPipeline
from .options import PipelineKeywords
from .pipeline import Pipeline

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["PipelineFactory", "convert", "pipeline_def"]

# The function behind a pipeline with conditionals, rewritten.


def convert(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function that defines a pipeline, so that its `if` statements take symbols; wherever it
    stands, an installed library included."""
    if isinstance(function, FunctionType):
        return function_source.converted(function, dispatch, asked=True)
    made: Callable[..., Any] = dispatch.call(function)
    return made


P = ParamSpec("P")

_OPTIONS = frozenset(inspect.signature(Pipeline).parameters)


class PipelineFactory(Generic[P]):
    """A factory of pipelines from a function that defines a graph.

    It is called with the function's arguments and with keyword arguments of `Pipeline` and
    `pipeline_def`, which override those of the decorator. An argument of the function takes
    precedence over an option with the same name; other keywords go to its `**kwargs`. In a class it
    is a method.
    """

    __name__: str
    __qualname__: str

    def __init__(
        self,
        function: Callable[P, Any],
        options: dict[str, Any],
        enable_conditionals: bool = False,
        debug: bool = False,
    ) -> None:
        parameters = inspect.signature(function).parameters
        unknown = [name for name in options if name not in _OPTIONS]
        if unknown:
            close = difflib.get_close_matches(unknown[0], _OPTIONS, 1)
            hint = f"; did you mean `{close[0]}`?" if close else ""
            raise OperatorTypeError(
                f"there is no argument `{unknown[0]}`{hint}",
                operator="pipeline_def",
                location=user_location(),
            )
        # Callable objects and partial functions have no name.
        self.__name__ = type(function).__name__
        self.__qualname__ = type(function).__qualname__
        functools.update_wrapper(self, function)
        self.function = function
        self.options = options
        self.enable_conditionals = enable_conditionals
        self.debug = debug
        self._own = frozenset(
            name
            for name, parameter in parameters.items()
            if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
        )
        self._again = self._pickled()

    def __call__(self, *args: Any, **kwargs: Any) -> Pipeline:
        options = dict(self.options)
        modes = {"debug": self.debug, "enable_conditionals": self.enable_conditionals}
        for name in list(kwargs):
            if name in self._own:
                continue
            if name in _OPTIONS:
                options[name] = kwargs.pop(name)
            elif name in modes:
                modes[name] = bool(kwargs.pop(name))
        function, title = self.function, self.__name__
        if modes["debug"] and not modes["enable_conditionals"]:
            return DebugPipeline(lambda: function(*args, **kwargs), title, **options)
        if modes["debug"]:
            warn_user(
                "pipeline_def: debug=True has no effect with enable_conditionals=True: the graph "
                "is recorded"
            )
        pipe = Pipeline(**options)
        definition = pipe._definition
        definition.recorder.title = title
        if modes["enable_conditionals"]:
            function = convert(function)
        definition.define(pipe, lambda: function(*args, **kwargs), self.__qualname__)
        return pipe

    def __getattr__(self, name: str) -> NoReturn:
        problem = f"{type(self).__name__!r} object has no attribute {name!r}"
        if not name.startswith("_") and hasattr(Pipeline, name):
            function = vars(self).get("__name__", "training")
            problem += (
                f": `{function}` makes pipelines, which have it. Call it first: "
                f"`pipe = {function}()`, then `pipe.{name}`"
            )
        raise AttributeError(problem, name=name, obj=self)

    def __repr__(self) -> str:
        return f"<maker of pipelines: call it, {self.__name__}(...)>"

    def __enter__(self) -> NoReturn:
        raise OperatorTypeError(
            f"`{self.__name__}` makes pipelines, and is none: call it, as in `with "
            f"{self.__name__}() as pipe:`",
            operator="pipeline_def",
            location=user_location(),
        )

    def __exit__(self, *details: object) -> None:
        """Never reached; Python asks for it before it enters a block."""

    def __reduce__(self) -> tuple[Any, ...]:
        return self._again, ()

    def _pickled(self) -> Callable[[], PipelineFactory[P]]:
        """What stands for this in a pickle: a function, whose name says that it is an attribute of
        this. So `pickle` finds it by its name, as other functions; and what sends functions that
        no other process finds by a name, as Ray does, sends this one with all that it needs."""
        function, options = self.function, self.options
        modes = self.enable_conditionals, self.debug
        module, qualname = self.__module__, self.__qualname__

        def again() -> PipelineFactory[P]:
            found: Any = sys.modules.get(module)
            for name in qualname.split("."):
                found = getattr(found, name, None)
            if isinstance(found, PipelineFactory) and found.function is function:
                return found
            return PipelineFactory(function, options, *modes)

        again.__module__ = module
        again.__qualname__ = f"{qualname}._again"
        return again

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        """Binds to objects, like a function in a class."""
        return self if instance is None else MethodType(self, instance)


@overload
def pipeline_def(
    fn: Callable[P, Any], *, enable_conditionals: bool = False, debug: bool = False
) -> PipelineFactory[P]: ...
@overload
def pipeline_def(
    fn: None = None,
    *,
    enable_conditionals: bool = False,
    debug: bool = False,
    **pipeline_kwargs: Unpack[PipelineKeywords],
) -> Callable[[Callable[P, Any]], PipelineFactory[P]]: ...
def pipeline_def(
    fn: Any = None,
    *,
    enable_conditionals: bool = False,
    debug: bool = False,
    **pipeline_kwargs: Any,
) -> Any:
    """Turn a function that calls operators into a factory of pipelines.

    The function is called once for each pipeline, while its calls are recorded; its return values
    are the outputs. The keyword arguments are those of `Pipeline`.

    enable_conditionals: let `if`, `and`, `or`, `not` and `a if c else b` accept symbols of scalars:
    each sample takes its own branch. This applies also to functions of the user's that are called.
    debug: the function is called for each batch, in the thread that runs the pipeline; operators
    return batches, so prints and breakpoints work; the bits are the same. Nothing is prefetched.
    """
    if fn is None:
        return lambda function: pipeline_def(
            function, enable_conditionals=enable_conditionals, debug=debug, **pipeline_kwargs
        )
    if isinstance(fn, staticmethod | classmethod):
        inner = PipelineFactory(fn.__func__, pipeline_kwargs, enable_conditionals, debug)
        return type(fn)(inner)
    if not callable(fn):
        raise OperatorTypeError(
            operator="pipeline_def", expected="a function", got=repr(fn), location=user_location()
        )
    return PipelineFactory(fn, pipeline_kwargs, enable_conditionals, debug)


pipeline_def.__signature__ = extended(  # type: ignore[attr-defined]
    pipeline_def, inspect.signature(Pipeline)
)
