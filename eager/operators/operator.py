"""`@operator`: one declaration of an operator.

An operator is a Python function over types. Who runs a call is decided by the current
interpreter of the calling context: eager by default, recording inside a pipeline definition.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeAlias, TypeVar, overload

import numpy as np

from gradiva.eager.schedules.settling import SCHEDULE, as_inputs
from gradiva.eager.support.errors import (
    GradivaError,
    Location,
    OperatorTypeError,
    OperatorValueError,
    leaving,
)
from gradiva.eager.support.registry import Declarations, Modules
from gradiva.eager.types.coordinate_maps import IN_PLACE, Bends, CoordinateMap
from gradiva.eager.types.dtypes import bfloat16
from gradiva.eager.types.sample_type import SampleType
from gradiva.eager.values.tensor import Tensor
from gradiva.eager.values.value import Following, Symbolic, Value

from .arguments import check_names, parse_signature, position_hint
from .decomposition import Decomposition
from .docstrings import with_common
from .input_sets import SET_TYPES, call_sets, follow, has_sets, has_targets, with_batches
from .interpreter import eager_hook, running
from .old_arguments import modern_arguments
from .per_frame_types import framed_types
from .signature import described, explained, spread

if TYPE_CHECKING:
    from gradiva.eager.cuda.context import Gpu

    from .call import Call

__all__ = ["Maker", "Operator", "kernel_of_call", "maker", "operator", "operators"]

P = ParamSpec("P")
V = TypeVar("V", bound=Value)
S = TypeVar("S", bound=Symbolic)
T = TypeVar("T", bound=Following | dict[Any, Any] | tuple[Any, ...])
F = TypeVar("F", bound=Callable[..., Any])
R = TypeVar("R")
Self = TypeVar("Self", bound="OperatorBase")
Plain: TypeAlias = "np.ndarray[Any, Any] | bytes"
WithoutPixels: TypeAlias = "Callable[[OperatorBase, Mapping[str, Any]], OperatorBase | None]"
LibraryRule: TypeAlias = Callable[[Mapping[str, Any], Sequence[SampleType]], tuple[str, ...]]

operators: Declarations[OperatorBase] = Declarations(Modules("gradiva._names:operators"))
"""All operators by name: "flip", "decoders.image", ... Those of gradiva are imported when they are
asked for."""


class OperatorBase:
    """An operator: its arguments, its type rule, shape rule, kernels and cases.

    min_inputs, max_inputs: how many inputs; outputs: how many outputs (the type rule decides if it
    returns a tuple); random: its values come from a key; takes_seed, draws: whether `seed` has no
    warning, and is shown; shown_common: the arguments of all operators that help shows, without
    those in hidden_common; effects: it does more than make outputs;
    frames: the arguments that may be given per frame ("1": inputs after the first one too; "CF":
    channels are taken alone, so that frames may stand behind them);
    mixed: on a GPU it takes inputs in host memory all the same, as decoders do, for `gpu_work`;
    host_from: the inputs from this number on are in host memory too, since its shape rule reads
    their values; transfers: to another device it moves its input, and does nothing else; metadata:
    it never looks at elements, so it takes inputs where they are; delivers_on_gpu: as a source it
    may be told to deliver there; fusion_role: what it is inside a fused group (see `fusion_roles`),
    None if it never is in one; bfloat16: whether it takes this dtype, as those that move values do;
    libraries: the packages whose code computes its values, so that another version of them may
    give other bits (see `libraries_of`);
    samplewise: whether a sample of its outputs depends on nothing but the arguments and that sample
    of its inputs, or a rule that says so of the arguments that are fixed;
    mixes: whether it makes a sample of several that it chooses itself among those of the batch;
    cuts_out: of a decoder of windows, the operators that decode whole images and cut windows out;
    identity_on_same_type: its output is its input where both have the same type;
    decomposition: the chain of simpler operators that a call is (see `decomposition`), if any;
    moves: where it moves pixels (see `coordinate_maps`), None where that is not declared;
    with_targets: `(inputs, trees, keywords) -> (outputs, trees)`, for an operator that has its own
    way with `Targets`, which are in the trees; without_pixels: from the operator that made its
    input, and its fixed arguments, to one that gives the same from the inputs of that one, or None;
    note: from the fixed arguments of a call to what `explain` says of it, or to an empty text;
    fixed_defaults: the default values of arguments, but for those with a row for each sample;
    schema: what the format of stored pipelines calls it, None if that has no name for it; unstored:
    the arguments that this format has no place for;
    instead_of_texts: what to write in place of a list of texts, where that would be no batch of
    bytes to a user; "" where it is one;
    formerly: its names in old scripts, without `fn.`; old_arguments: arguments of old scripts, and
    their names of today, None for those that have no effect any more.
    """

    takes_seed = False
    draws = False
    hidden_common = frozenset[str]()

    def __init__(
        self,
        function: Callable[..., Any],
        name: str,
        inputs: tuple[int, int],
        random: bool = False,
        effects: bool = False,
        frames: tuple[str, ...] = (),
        bfloat16: bool = False,
        schema: str | None = None,
        formerly: tuple[str, ...] = (),
        old_arguments: Mapping[str, str | None] | None = None,
    ) -> None:
        self.name, self.schema, self.formerly = name, schema, formerly
        self.old_arguments: Mapping[str, str | None] = old_arguments or {}
        self.frames = frozenset(frames)
        self.bfloat16 = bfloat16
        self.infer = framed_types(function, self.frames) if frames else function
        # The same without the function around it that adds the defaults of argument groups.
        self._defaults: dict[str, Any] = getattr(function, "group_defaults", {})
        rule = getattr(function, "__wrapped__", function) if self._defaults else function
        self._rule = framed_types(rule, self.frames) if frames else rule
        self.min_inputs, self.max_inputs = inputs
        self.random = random
        self.effects = effects
        try:
            self.arguments, self.common = parse_signature(function, random)
        except GradivaError as error:
            code = function.__code__
            raise error.complete(
                operator=name, location=Location(code, code.co_firstlineno)
            ) from error.__cause__
        self.takes_seed = random or self.takes_seed
        hidden = self.hidden_common if random or self.draws else self.hidden_common | {"seed"}
        self.shown_common = self.common - hidden - self.arguments.keys()
        self.fixed_defaults = {
            name: argument.default
            for name, argument in self.arguments.items()
            if argument.default is None or argument.kind.element is None
        }
        self.shape_rule: Callable[[Call], Any] | None = None
        self.kernels: dict[str, Callable[[Call], Any]] = {}
        self.view_rule: Callable[[Call], Any] | None = None
        self.case_maker: Callable[[], list[Any]] | None = None
        self.fusion_role: Any = None
        self.libraries: tuple[str, ...] | LibraryRule = ()
        self.samplewise: bool | Callable[[Mapping[str, Any]], bool] = True
        self.mixes = False
        self.cuts_out: tuple[str, str] | None = None
        self.identity_on_same_type = False
        self.decomposition: Decomposition | None = None
        self.moves: CoordinateMap | None = None
        self.with_targets: Callable[..., tuple[Any, Any]] | None = None
        self.without_pixels: WithoutPixels | None = None
        self.note: Callable[[Mapping[str, Any]], str] | None = None
        self.gpu_tolerance = 0.0
        self.unstored: frozenset[str] = frozenset()
        self.instead_of_texts = ""
        self.mixed = self.transfers = self.metadata = self.delivers_on_gpu = False
        self.host_from: int | None = None
        self.gpu_work: Callable[[Call, Gpu], None] | None = None
        self.__doc__ = with_common(function.__doc__, explained(self.shown_common))
        self.__name__ = function.__name__
        self.__module__ = function.__module__
        self.__qualname__ = function.__qualname__
        self.__wrapped__ = function
        self.__signature__ = spread(function, self.arguments, self.shown_common)
        # For those who inspect it. Python itself calls the class's.
        if callable(self):
            vars(self)["__call__"] = described(self.bind, self.__signature__)
        present = operators.present(name) if _is_ours(self) else operators.get(name)
        if present and present.__module__ != self.__module__ and _is_ours(present):
            raise OperatorValueError(
                f"gradiva has an operator of the name {name!r}: choose another one"
            )
        operators[name] = self

    @property
    def operator(self: Self) -> Self:
        """Itself: functions that call an operator have it under this name."""
        return self

    def __get__(self: Self, instance: object, owner: type | None = None) -> Self:
        """Itself: `inspect`, `pydoc` and `help` take what has this for a function, and show its
        signature. An attribute of a class is not bound to objects: it stays what it is."""
        return self

    def shapes(self, rule: F) -> F:
        """Decorator: the shape rule, `Call -> BatchShape or int64 (N, ndim)`, a tuple of those, or
        a `Plan`, which holds them and what the kernels need."""
        self.shape_rule = rule
        return rule

    def cpu(self, kernel: F) -> F:
        """Decorator: the CPU kernel, `Call -> None` or `(Call, Plan) -> None`: fills `outputs`."""
        self.kernels["cpu"] = kernel_of_call(kernel, 1)
        return kernel

    def gpu(self, kernel: F) -> F:
        """Decorator: the GPU kernel, `Call -> Launch` or `(Call, Plan) -> Launch`, or several
        (see docs/gpu.md)."""
        self.kernels["gpu"] = kernel_of_call(kernel, 1)
        return kernel

    def gpu_within(self, tolerance: float) -> Callable[[F], F]:
        """Decorator: like `gpu`, for a kernel whose results differ from the CPU's by up to
        `tolerance`, relative to the larger of 1 and the value; integers by 1 at most, float16 by
        one unit in the last place."""
        self.gpu_tolerance = tolerance
        return self.gpu

    def mixed_gpu(self, work: F) -> F:
        """Decorator, in place of `gpu`: `(Call, Gpu) -> None` or `(Call, Gpu, Plan) -> None`, which
        queues on its stream."""
        self.mixed, self.gpu_work = True, kernel_of_call(work, 2)
        return work

    def view(self, rule: F) -> F:
        """Decorator, in place of `cpu`: `Call -> Batch`, the output, in the memory of an input."""
        self.view_rule = rule
        return rule

    def decomposes(self, rule: Decomposition) -> Decomposition:
        """Decorator: the chain of simpler operators that a call is (see `decomposition`)."""
        self.decomposition = rule
        return rule

    def coordinate_map(self, rule: F) -> F:
        """Decorator: where pixels go, from a Call with shapes alone (see `coordinate_maps`)."""
        self.moves = kernel_of_call(rule, 1)
        return rule

    def displacement(self, rule: F) -> F:
        """Decorator: where pixels come from, for an operator that bends images (see `Bends`)."""
        self.moves = Bends(kernel_of_call(rule, 1))
        return rule

    def cases(self, make: F) -> F:
        """Decorator: a function that returns a list of `Case`s, for the generic operator test."""
        self.case_maker = make
        return make

    def not_serializable(self, *names: str) -> None:
        """Declare arguments that are gradiva's own: the format of stored pipelines has no place for
        them, and a pipeline that uses one cannot be stored."""
        assert self.arguments.keys() >= {*names}, f"{self.name} has not all of {names}"
        self.unstored |= {*names}

    def bind(self, inputs: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Pass a call to the current interpreter; errors leave with the user's line."""
        try:
            if self.old_arguments and not self.old_arguments.keys().isdisjoint(keywords):
                keywords = self.modern(keywords)
            if not SET_TYPES.isdisjoint(map(type, inputs)):
                if has_targets(inputs):
                    return follow.get()(self, inputs, keywords)
                if has_sets(inputs):
                    return call_sets(self, inputs, keywords)
                inputs = with_batches(inputs, self.instead_of_texts)
            return self.bind_one(inputs, keywords)
        except GradivaError as error:
            del inputs, keywords  # who keeps the error keeps this frame
            raise leaving(error, self.name) from error.__cause__

    def bind_one(self, inputs: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Pass a call without input sets to the current interpreter."""
        if SCHEDULE in map(type, inputs):
            inputs = as_inputs(inputs, operators["scheduled"])
        return (running.get() or eager_hook.value or eager_hook.get()).bind(self, inputs, keywords)

    def modern(self, keywords: dict[str, Any], quiet: bool = False) -> dict[str, Any]:
        """Keywords under the names of today; warns, unless `quiet`. Raises OperatorTypeError for
        one that is given under both names."""
        if self.old_arguments.keys().isdisjoint(keywords):
            return keywords
        return modern_arguments(self.name, self.old_arguments, keywords, quiet)

    def types(
        self, inputs: Sequence[SampleType], arguments: dict[str, Any]
    ) -> tuple[SampleType, ...]:
        """The types of the outputs, by the type rule. Raises OperatorTypeError."""
        for one in inputs:
            if one.dtype is bfloat16 and not self.bfloat16:
                raise _bfloat16_error("the input")
        types = self._rule(*inputs, **{**self._defaults, **arguments})
        made: tuple[SampleType, ...] = types if isinstance(types, tuple) else (types,)
        for one in made:
            if one.dtype is bfloat16 and not self.bfloat16:
                raise _bfloat16_error("the output")
        return made

    def has_side_effects(self, keywords: dict[str, Any]) -> bool:
        """Whether this call must stay where it stands: it has effects, and its function, if it
        calls one, was not declared to have none (see `prefetchable`)."""
        if not self.effects or not self.kernels:
            return self.effects
        return not any(
            callable(value) and getattr(value, "prefetchable", False) is True
            for value in keywords.values()
        )

    def libraries_of(
        self, keywords: Mapping[str, Any], types: Sequence[SampleType]
    ) -> tuple[str, ...]:
        """The packages whose code computes the values of a call with these arguments and types of
        outputs: another version of them, or NumPy on another CPU, may give other bits."""
        return self.libraries(keywords, types) if callable(self.libraries) else self.libraries

    def check(self, inputs: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        """Refuse a wrong number of inputs and wrong argument names."""
        check_names(keywords, self.arguments, self.common)
        fewest, most = self.min_inputs, self.max_inputs
        if not fewest <= len(inputs) <= most:
            wanted = str(fewest) if fewest == most else f"{fewest} to {most}"
            plural = "" if wanted == "1" else "s"
            hint = position_hint(self.arguments.values(), inputs)
            raise OperatorTypeError(f"expected {wanted} input{plural}, got {len(inputs)}{hint}")

    def __repr__(self) -> str:
        return f"<operator {self.name}>"

    def __reduce__(self) -> str | tuple[Any, ...]:
        return (_named, (self.__module__, self.name))


def kernel_of_call(kernel: Any, arguments: int) -> Callable[..., Any]:
    """A kernel as a function of its first `arguments` arguments; the plan of the call is added."""
    code = getattr(kernel, "__code__", None)
    if code is None:
        return kernel  # type: ignore[no-any-return]
    # Neither the object of a method nor parameters with a default count.
    bound = int(getattr(kernel, "__self__", None) is not None)
    if code.co_argcount - bound - len(kernel.__defaults__ or ()) <= arguments:
        return kernel  # type: ignore[no-any-return]

    def planned(call: Any, *more: Any) -> Any:
        return kernel(call, *more, call.plan)

    return planned


def _same_shapes(call: Call) -> Any:
    return call.inputs[0].batch_shape


def _bfloat16_error(what: str) -> OperatorTypeError:
    """For an operator that does not support it."""
    return OperatorTypeError(
        f"{what} has a dtype this operator does not take",
        expected="another dtype (`cast` converts to float32 and back)",
        got="bfloat16",
    )


def _is_ours(operator: OperatorBase) -> bool:
    return (operator.__module__ or "").startswith("gradiva.")  # code for `exec` may have no module


def _named(module: str, name: str) -> OperatorBase:
    """An operator again, after pickling: its module declares it when it is imported."""
    importlib.import_module(module)
    return operators[name]


class Operator(OperatorBase, Generic[P, R]):
    """An operator on batches: what it is called with, a Batch, a Tensor or a symbol, it returns; or
    several of these, if its type rule returns a tuple: a tuple of batches or tensors, a list of
    symbols. `Any` is for what the arguments decide.

    In dynamic mode a list of arrays or bytes is a batch of them, in every place where a batch may
    stand. A list of batches, tensors or symbols is an input set: the operator is called for each of
    them, and the results are a list. `Targets` behind the inputs move with the first one, and are
    returned behind the outputs."""

    @overload
    def __call__(self: One[P], input: V, /, *args: P.args, **kwargs: P.kwargs) -> V: ...
    @overload
    def __call__(self: One[P], input: Plain, /, *args: P.args, **kwargs: P.kwargs) -> Tensor: ...
    @overload
    def __call__(
        self,
        input: list[V] | list[np.ndarray[Any, Any]] | list[bytes],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> Any: ...
    @overload
    def __call__(
        self: Pair[P] | Many[P], input: S, /, *args: P.args, **kwargs: P.kwargs
    ) -> list[S]: ...
    @overload
    def __call__(self: Pair[P], input: V, /, *args: P.args, **kwargs: P.kwargs) -> tuple[V, V]: ...
    @overload
    def __call__(
        self: Pair[P], input: Plain, /, *args: P.args, **kwargs: P.kwargs
    ) -> tuple[Tensor, Tensor]: ...
    @overload
    def __call__(
        self: Many[P], input: V, /, *args: P.args, **kwargs: P.kwargs
    ) -> tuple[V, ...]: ...
    @overload
    def __call__(
        self: Many[P], input: Plain, /, *args: P.args, **kwargs: P.kwargs
    ) -> tuple[Tensor, ...]: ...
    @overload
    def __call__(self: OneOrPair[P], input: V, /, *args: P.args, **kwargs: P.kwargs) -> V | Any: ...
    @overload
    def __call__(
        self: OneOrPair[P], input: Plain, /, *args: P.args, **kwargs: P.kwargs
    ) -> Tensor | Any: ...
    @overload
    def __call__(
        self: OneOrMany[P], input: Value | Plain, /, *args: P.args, **kwargs: P.kwargs
    ) -> Any: ...
    @overload
    def __call__(
        self: One[P], input: V, targets: T, /, *args: P.args, **kwargs: P.kwargs
    ) -> tuple[V, T]: ...
    @overload
    def __call__(
        self: OneOrMany[P], input: Value | Plain, targets: T, /, *args: P.args, **kwargs: P.kwargs
    ) -> Any: ...
    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        try:
            return self.bind(args, kwargs)
        finally:
            del args, kwargs  # who keeps an error keeps this frame


One: TypeAlias = Operator[P, SampleType]
Pair: TypeAlias = Operator[P, tuple[SampleType, SampleType]]
Many: TypeAlias = Operator[P, tuple[SampleType, ...]]
OneOrPair: TypeAlias = Operator[P, SampleType | tuple[SampleType, SampleType]]
OneOrMany: TypeAlias = Operator[P, SampleType | tuple[SampleType, ...]]


class Maker(OperatorBase, Generic[P]):
    """An operator that can make samples out of nothing, such as the random ones."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Any:
        try:
            return self.bind(args, kwargs)
        finally:
            del args, kwargs  # as above


def operator(
    name: str,
    *,
    inputs: int | tuple[int, int] = 1,
    random: bool = False,
    effects: bool = False,
    frames: tuple[str, ...] = (),
    bfloat16: bool = False,
    same_shapes: bool = False,
    schema: str | None = None,
    formerly: tuple[str, ...] = (),
    old_arguments: Mapping[str, str | None] | None = None,
) -> Callable[[Callable[Concatenate[SampleType, P], R]], Operator[P, R]]:
    """Declare an operator: decorates its type rule, whose signature is the public one.

    name: for graphs and errors; users call the Python object. It must not be the name of one of
    gradiva's operators: "mine.gamma" is none. inputs: how many, or (fewest, most). The type rule
    gets a `SampleType` per input and the arguments as given, and returns the type of the output, or
    a tuple of types. It must let unknown (None) fields pass. same_shapes: the samples of the output
    have the shapes of the first input's; other operators have a shape rule. schema: what the format
    of stored pipelines calls it, if it does; formerly: its names in old scripts; old_arguments:
    those of old scripts, and their names of today, None for those without effect.
    """
    bounds = (inputs, inputs) if isinstance(inputs, int) else inputs

    def declare(function: Callable[Concatenate[SampleType, P], R]) -> Operator[P, R]:
        flags = random, effects, frames, bfloat16
        made = Operator[P, R](function, name, bounds, *flags, schema, formerly, old_arguments)
        if same_shapes:
            made.shape_rule, made.moves = _same_shapes, IN_PLACE
        return made

    return declare


def maker(
    name: str,
    *,
    inputs: tuple[int, int] = (0, 0),
    random: bool = False,
    effects: bool = False,
    frames: tuple[str, ...] = (),
    schema: str | None = None,
    formerly: tuple[str, ...] = (),
) -> Callable[[Callable[P, Any]], Maker[P]]:
    """Like `operator`, for operators that need no input and take `batch_size`."""

    def declare(function: Callable[P, Any]) -> Maker[P]:
        flags = random, effects, frames
        return Maker[P](function, name, inputs, *flags, schema=schema, formerly=formerly)

    return declare
