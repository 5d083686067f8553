"""`jax_function`: a function on JAX arrays, as an operator."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.operators.operator import operators
from gradiva.eager.support.errors import annotate_error
from gradiva.ops.external_source.prefetchable import raised
from gradiva.plugin.jax.arrays import jax, to_jax

__all__ = ["jax_function"]

_MOST_INPUTS = 256
_NAME = "jax_function"


@overload
def jax_function(
    function: Callable[..., Any],
    num_outputs: int = 1,
    output_layouts: str | Sequence[str] | None = None,
    sharding: Any = None,
    device: str | None = None,
    preserve: bool = True,
) -> Callable[..., Any]: ...
@overload
def jax_function(
    function: None = None,
    num_outputs: int = 1,
    output_layouts: str | Sequence[str] | None = None,
    sharding: Any = None,
    device: str | None = None,
    preserve: bool = True,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]: ...
def jax_function(
    function: Callable[..., Any] | None = None,
    num_outputs: int = 1,
    output_layouts: str | Sequence[str] | None = None,
    sharding: Any = None,
    device: str | None = None,
    preserve: bool = True,
) -> Any:
    """Turn a function of JAX arrays into one of batches and symbols: an operator, for pipelines and
    for dynamic mode. Usable as a decorator, over `jax.jit` and `jax.vmap`.

    function: gets an array (batch, ...) for each input, on the memory of the batch, and returns
        one for each output; called once per batch, in one thread at a time. Inputs have samples of
        one shape.
    num_outputs: with 1 it returns an array, with more a tuple of arrays, with 0 nothing.
    output_layouts: of a sample: one for all outputs or a list; without it, an output has the
        layout of the input at its place, if it has as many axes.
    sharding: makes each array the part that this process has of a global one; for processes with
        one device each.
    device: where it runs, by default where the inputs are. preserve: call it also if its outputs
        are not used.

    Raises OperatorTypeError or OperatorValueError for arguments that make no sense, and if it
    returns something else; OperatorRuntimeError, with its traceback, if it raises; ImportError
    without JAX.
    """
    if function is None:
        return lambda given: jax_function(
            given, num_outputs, output_layouts, sharding, device, preserve
        )
    with annotate_error(_NAME):
        if not callable(function):
            raise op.wrong_type("function", "a callable", op.describe(function))
        called = function if sharding is None else _sharded(function, sharding)

    @functools.wraps(function)
    def call(*inputs: Any) -> Any:
        options = {"device": device} if device else {}
        return _operator(
            *inputs,
            function=called,
            num_outputs=num_outputs,
            output_layouts=output_layouts,
            preserve=preserve,
            **options,  # type: ignore[arg-type]
        )

    return call


def _sharded(function: Callable[..., Any], sharding: Any) -> Callable[..., Any]:
    if not isinstance(sharding, jax.sharding.Sharding):
        raise op.wrong_type("sharding", "a jax.sharding.Sharding", op.describe(sharding))
    if jax.local_device_count() != 1:
        raise op.wrong_value(
            "sharding", "processes with one device each", f"{jax.local_device_count()} devices"
        )

    @functools.wraps(function)
    def call(*arrays: Any) -> Any:
        given = []
        for array in arrays:
            shape = (len(sharding.device_set) * array.shape[0], *array.shape[1:])
            given.append(jax.make_array_from_single_device_arrays(shape, sharding, [array]))
        result = function(*given)
        if isinstance(result, tuple | list):
            return tuple(map(_local, result))
        return None if result is None else _local(result)

    return call


def _local(array: Any) -> Any:
    """The part of a global array that this process has."""
    if not isinstance(array, jax.Array):
        return array  # refused later
    parts = array.addressable_shards
    if len(parts) != 1:
        raise op.OperatorValueError(
            "the function returned an array in several parts",
            expected="one part in this process",
            got=f"{len(parts)}",
        )
    return parts[0].data


@op.maker(_NAME, inputs=(0, _MOST_INPUTS), effects=True)
def _operator(
    *inputs: Any,
    function: Any,
    num_outputs: int = 1,
    output_layouts: Any = None,
    **common: op.Unpack[op.Common],
) -> Any:
    """Call a function on JAX arrays; see `jax_function`.

    Args:
        inputs: batches of samples of one shape.
        function: is called once per batch.
        num_outputs: how many arrays it returns.
        output_layouts: of the outputs.
    """
    if num_outputs < 0:
        raise op.wrong_value("num_outputs", "0 or more", num_outputs)
    layouts: list[str | None] = [None] * num_outputs
    if isinstance(output_layouts, str):
        layouts = [output_layouts] * num_outputs
    elif output_layouts is not None:
        layouts = list(output_layouts)
        if len(layouts) != num_outputs:
            raise op.wrong_value("output_layouts", f"one for each of {num_outputs}", len(layouts))
    return tuple(
        op.SampleType(None, len(layout) if layout else None, layout or None) for layout in layouts
    )


# Lists of all operators do not depend on whether somebody has imported this one.
del operators[_NAME]


@dataclass(frozen=True)
class _FunctionPlan(op.Plan):
    """made: the array of each output."""

    made: Sequence[Any]


@_operator.shapes
def _shapes(call: op.Call) -> _FunctionPlan:
    """Calls the function: without its results there are no shapes."""
    function, count = call["function"], len(call.types)
    given = []
    for number, batch in enumerate(call.inputs):
        try:
            given.append(to_jax(batch))
        except op.GradivaError as error:
            error.problem = f"input {number}: {error.problem}"
            raise
    made = [_array(one, call, index) for index, one in enumerate(_asked(function, given, count))]
    types = []
    for index, array in enumerate(made):
        ndim, layout = array.ndim - 1, call.types[index].layout
        if layout and len(layout) != ndim:
            raise op.OperatorValueError(
                f"the samples of output {index} do not have the rank that its layout says",
                argument="output_layouts",
                expected=f"{len(layout)}-D samples for {layout!r}",
                got=f"{ndim}-D",
            )
        if layout is None and index < len(call.inputs) and call.inputs[index].ndim == ndim:
            layout = call.inputs[index].layout
        types.append(op.SampleType(op.DType.from_numpy(array.dtype), ndim, layout or ""))
    call.types = tuple(types)
    shapes = [np.broadcast_to(np.array(one.shape[1:], np.int64), _rows(one)) for one in made]
    return _FunctionPlan(tuple(map(op.BatchShape.of, shapes)), made)


def _rows(array: Any) -> tuple[int, int]:
    return len(array), array.ndim - 1


def _asked(function: Any, given: Sequence[Any], count: int) -> Sequence[Any]:
    """What the function returns, as one thing for each output."""
    try:
        result = function(*given)
        found = result if isinstance(result, tuple | list) else (result,)
        if count == 0 and result is None:
            return ()
        found = [one.block_until_ready() if isinstance(one, jax.Array) else one for one in found]
    except Exception as error:
        if isinstance(error, op.GradivaError) and error.operator is None:
            raise
        raise raised(error, function, "function") from error
    if len(found) != count or (count > 1 and found[0] is result):
        raise op.OperatorTypeError(
            "the function returned the wrong thing",
            expected=f"{count} arrays (num_outputs)" if count else "nothing (num_outputs=0)",
            got=f"{len(found)}" if isinstance(result, tuple | list) else op.describe(result),
        )
    return found


def _array(value: Any, call: op.Call, output: int) -> Any:
    """An output as a NumPy array on JAX's memory, with a row for each sample."""
    problem = f"the function returned the wrong thing as output {output}"
    if not isinstance(value, jax.Array):
        raise op.OperatorTypeError(problem, expected="a JAX array", got=op.describe(value))
    if len(value.devices()) != 1:
        raise op.OperatorValueError(
            problem, expected="an array on one device", got=f"one split over {len(value.devices())}"
        )
    if value.ndim == 0 or (call.inputs and value.shape[0] != call.size):
        raise op.OperatorValueError(
            problem,
            expected=f"a leading axis for {call.size} samples",
            got=f"the shape {tuple(value.shape)}",
        )
    return np.asarray(value)


@_operator.cpu
def _cpu(call: op.Call, plan: _FunctionPlan) -> None:
    for output, array in zip(call.outputs, plan.made, strict=True):
        output.as_array()[...] = array
