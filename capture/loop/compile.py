"""Functions of batches as graphs: `trace` records one, `compile` runs it optimized."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from typing import Any, Generic, ParamSpec, TypeVar, cast, overload

from gradiva.capture.caches.options import CacheOptions
from gradiva.capture.graph.graph import Graph
from gradiva.capture.recording.recorder import Recorder
from gradiva.capture.runtime.fusion_report import FusionExplanation, notes_of
from gradiva.eager.operators.interpreter import interpreter
from gradiva.eager.support.errors import (
    GradivaError,
    OperatorTypeError,
    annotate_error,
    describe,
    frameless,
    user_location,
)
from gradiva.eager.types.sample_type import SampleType
from gradiva.eager.values.batch import Batch, batch_on
from gradiva.eager.values.tensor import Tensor, tensor_on
from gradiva.eager.values.value import Value

from .deferred_interpreter import Deferred
from .handlers import explain_handler
from .pending import LazyBatch, LazyTensor
from .program_cache import ProgramCache

__all__ = ["Compiled", "compile", "invariant", "trace"]

P = ParamSpec("P")
R = TypeVar("R")

_ARRAYS = ("__array_interface__", "__cuda_array_interface__")


def trace(function: Callable[..., Any], *inputs: Any, **keywords: Any) -> Graph:
    """Record the calls that `function` makes on symbols for these inputs, as a Graph.

    inputs: what the function is called with. A Batch, a Tensor or an array becomes a symbol of its
    type; a `SampleType` a symbol of that type; everything else, and the keywords, is passed as it
    is. The function returns a symbol or a tuple, list or dict of them. Nothing is computed.

    Raises OperatorTypeError where the function asks a symbol for data.
    """
    recorder = Recorder(getattr(function, "__name__", "function"))
    symbols = [_symbol(recorder, value) for value in inputs]
    with interpreter(recorder):
        result = function(*symbols, **keywords)
    outputs = _leaves(result)
    if not outputs:
        raise OperatorTypeError(
            f"{recorder._builder.title} returned no symbol to trace",
            operator="trace",
            expected="a symbol, or a tuple, list or dict of them",
            got=describe(result),
            location=user_location(),
        )
    return recorder.finish(tuple(recorder.symbol(out, i) for i, out in enumerate(outputs)))


def _symbol(recorder: Recorder, value: Any) -> Any:
    if isinstance(value, SampleType):
        return recorder.parameter(value)
    if isinstance(value, Batch):
        return recorder.parameter(value.type)
    if isinstance(value, Tensor) or any(hasattr(value, name) for name in _ARRAYS):
        return recorder.parameter(tensor_on(value).type)
    if isinstance(value, list) and value and any(hasattr(value[0], name) for name in _ARRAYS):
        return recorder.parameter(batch_on(value).type)
    return value


def _leaves(result: Any) -> list[Any]:
    """The leaves of nested tuples, lists and dicts."""
    if isinstance(result, dict):
        return [leaf for value in result.values() for leaf in _leaves(value)]
    if isinstance(result, tuple | list):
        return [leaf for value in result for leaf in _leaves(value)]
    return [result] if isinstance(result, Value) else []


class Compiled(Generic[P, R]):
    """A compiled function of batches. It is called like the original function.

    The body runs on each call, with lazy values whose data are computed later. So a change of a
    global, a closure, an attribute or a default argument always takes effect. Programs are cached
    by the structure of the calls: other batch sizes and shapes do not compile anything new.

    An error in a call itself (a wrong name, argument or type) is raised by that call, inside the
    function. An error that depends on the data is raised after the function has returned. So an
    `except` in the function does not catch it, and the error message says so; `evaluate()` on a
    result computes it inside the function. A call whose results are not used is not executed. A
    compiled function can be pickled if the original function can.

    compilations: the number of compilations so far. graph: the optimized graph of the last
    compilation.
    """

    def __init__(
        self,
        function: Callable[P, R],
        cache: CacheOptions | None = None,
        compose_warps: bool = False,
    ) -> None:
        self.function = function
        self._programs = ProgramCache(cache=cache, compose_warps=compose_warps)
        functools.update_wrapper(self, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        deferred = Deferred(self._programs, (*args, *kwargs.values()))
        try:
            with interpreter(deferred):
                return cast("R", _computed(deferred, self.function(*args, **kwargs)))
        finally:
            del args, kwargs, deferred  # a holder of the error also holds this frame

    @property
    def compilations(self) -> int:
        return self._programs.compilations

    @property
    def graph(self) -> Graph | None:
        return self._programs.graphs[-1][1] if self._programs.graphs else None

    def explain(self) -> FusionExplanation:
        """Which groups of its programs ran fused, for how long, and why others did not."""
        name = getattr(self.function, "__qualname__", repr(self.function))
        programs = self._programs
        texts = [*programs.caches(), *notes_of(self.graph)]
        return FusionExplanation(f"compiled {name}", programs.groups(), (), texts)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __reduce__(self) -> str | tuple[Any, ...]:
        # As a decorator, it takes the place of its function: pickle finds it by the function's
        # name.
        name = getattr(self, "__qualname__", "")
        found: Any = sys.modules.get(getattr(self, "__module__", ""))
        for part in name.split("."):
            found = getattr(found, part, None)
        programs = self._programs
        given = (self.function, programs.cache, programs.compose_warps)
        return name if found is self else (Compiled, given)

    def __repr__(self) -> str:
        name = getattr(self.function, "__qualname__", repr(self.function))
        plural = "" if self.compilations == 1 else "s"
        return f"<compiled {name}, {self.compilations} compilation{plural}>"


@frameless
def _computed(deferred: Deferred, result: Any) -> Any:
    """The result of a function, after all calls that it depends on have run together."""
    try:
        deferred.force_together(
            [leaf.pending for leaf in _leaves(result) if isinstance(leaf, LazyBatch | LazyTensor)]
        )
    except GradivaError as error:
        explain_handler(error)
        raise
    return _concrete(result)


def _concrete(value: Any) -> Any:
    """The result with plain batches and tensors in place of lazy ones."""
    if isinstance(value, LazyBatch | LazyTensor):
        made = value.pending.value(value.output)
        if value.drawn_at is not None:
            # A new batch: this one may belong to the user, if a call has returned its input
            # unchanged.
            made = Batch.over(
                made.data, made.batch_shape, made.type, made.provenance, value.drawn_at
            )
        return made if isinstance(value, LazyBatch) else made.tensors[0]
    if isinstance(value, dict):
        return {key: _concrete(item) for key, item in value.items()}
    if type(value) in (tuple, list):
        return type(value)(_concrete(item) for item in value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(_concrete, value))
    return value


@overload
def compile(
    function: Callable[P, R],
    *,
    cache: str | os.PathLike[str] | None = None,
    cache_bytes: int | None = None,
    compose_warps: bool = False,
) -> Compiled[P, R]: ...
@overload
def compile(
    function: None = None,
    *,
    cache: str | os.PathLike[str] | None = None,
    cache_bytes: int | None = None,
    compose_warps: bool = False,
) -> Callable[[Callable[P, R]], Compiled[P, R]]: ...
def compile(
    function: Any = None,
    *,
    cache: str | os.PathLike[str] | None = None,
    cache_bytes: int | None = None,
    compose_warps: bool = False,
) -> Any:
    """Compile a function of batches: `@compile` or `compile(f)`.

    cache: "ram" or a folder, where results are stored that depend on nothing but the contents of
    the inputs; cache_bytes: how much it may hold (docs/cache.md).
    compose_warps: gather the pixels of warps that follow each other once (docs/targets.md).

    The results are bit for bit those of the original function, unless warps are composed. An
    `except` in the function does not catch errors that depend on the data, unless the result is
    computed there by `evaluate()`. See `Compiled`.
    """
    with annotate_error("compile"):
        options = CacheOptions.checked(cache, cache_bytes)
    if function is None:
        given = {"cache": cache, "cache_bytes": cache_bytes, "compose_warps": compose_warps}
        return functools.partial(compile, **given)
    if not callable(function):
        raise OperatorTypeError(
            operator="compile",
            expected="a function",
            got=describe(function),
            location=user_location(),
        )
    return Compiled(function, options, bool(compose_warps))


def invariant(value: R) -> R:
    """Declare that a value does not change during a captured loop. The value is returned unchanged:
    gradiva compares values itself, so this declaration is never required."""
    return value
