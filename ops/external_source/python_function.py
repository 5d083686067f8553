"""`python_function`: a Python function of the user's as an operator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.support.layouts import as_layout
from gradiva.eager.types.arrays import Array
from gradiva.eager.values.tensor import prepare, to_array

from .prefetchable import raised

_MOST_INPUTS = 256


@op.maker("python_function", inputs=(0, _MOST_INPUTS), effects=True)
def python_function(
    *inputs: Any,
    function: Any,
    num_outputs: int = 1,
    batch_processing: bool = False,
    output_layouts: Any = None,
    **common: op.Unpack[op.Common],
) -> Any:
    """Call a Python function on NumPy arrays.

    The function has effects, as far as this library knows: it runs exactly once per batch (with
    `prefetch_queue_depth` batches ahead of the user, in a pipeline), in one thread at a time, batch
    after batch, whether its outputs are used or not; equal calls are not merged. In a captured loop
    it is called where it stands, unless `@gradiva.prefetchable` above its `def` declares that it
    only computes its result: then it is called ahead of the loop.

    An output has the dtype and the rank of the arrays that the function returned, which must be the
    same for all samples of a batch. For a batch without samples the function is not called, and the
    outputs are like the first input.

    Args:
        inputs: any number of batches, tensors or arrays, of any dtype, rank and layout.
        function: is called with an array per input, once for each sample, in the order of the
            samples; or, with `batch_processing=True`, once per batch with a list of arrays per
            input. A number per sample, as of `random.uniform`, arrives as a 0-D array. The arrays
            are the function's own: it may write into them, and keep them.
        num_outputs: how many arrays it returns: with 1, an array (or number); with more, a tuple;
            with 0, nothing. With `batch_processing`, each of them is a list with an array per
            sample, or one array with a leading axis for the samples.
        batch_processing: call the function once per batch instead of once per sample.
        output_layouts: one layout for all outputs, or a list with one for each; those at the end
            may be left out, and have no layout.

    Returns:
        What the function returned: one output, a tuple of several, or None.

    Raises:
        OperatorRuntimeError: with the function's own traceback and the sample, if the function
            raises.
        OperatorTypeError or OperatorValueError: if it returns something else.

    Example:
        @gradiva.prefetchable  # it has no effects
        def darken(image, factor):  # a second input: an argument for each sample
            return (image * factor).astype(np.uint8)

        images = gradiva.imread(["cat.jpg"])
        factor = gradiva.random.uniform(range=(0.2, 0.8), batch_size=images.batch_size)
        images = gradiva.python_function(images, factor, function=darken)
    """
    if not callable(function):
        raise op.wrong_type("function", "a callable", op.describe(function))
    if num_outputs < 0:
        raise op.wrong_value("num_outputs", "0 or more", num_outputs)
    return tuple(
        op.SampleType(None, len(layout) or None, layout)
        for layout in _layouts(output_layouts, num_outputs)
    )


def _layouts(given: Any, count: int) -> list[str]:
    """A layout for each output, "" for those that have none."""
    several = isinstance(given, list | tuple)
    layouts = list(given) if several else [given or ""] * count
    if len(layouts) > count:
        raise op.wrong_value(
            "output_layouts", f"at most {count}, one for each output", len(layouts)
        )
    try:
        checked = [as_layout(layout or "") for layout in layouts]
    except TypeError:
        raise op.wrong_type(
            "output_layouts", "a layout or a list of layouts", op.describe(given)
        ) from None
    except ValueError as error:
        raise op.OperatorValueError(str(error), argument="output_layouts") from None
    return checked + [""] * (count - len(checked))


@dataclass(frozen=True)
class _PythonFunctionPlan(op.Plan):
    """made: the arrays of each output."""

    made: Sequence[Sequence[Any]]


@python_function.shapes
def _shapes(call: op.Call) -> _PythonFunctionPlan:
    """Calls the function: without its results there are no shapes."""
    if not call.size:
        like = call.inputs[0].type if call.inputs else op.SampleType(op.DType.of("uint8"), 1, "")
        call.types = tuple(
            type.with_(dtype=like.dtype, ndim=like.ndim if type.ndim is None else type.ndim)
            for type in call.types
        )
        empty = [np.empty((0, type.ndim or 0), np.int64) for type in call.types]
        return _PythonFunctionPlan(tuple(map(op.BatchShape.of, empty)), [[] for _ in empty])
    made = _batch(call) if call["batch_processing"] else _each(call)
    types, batch_shapes = [], []
    for index, (arrays, type) in enumerate(zip(made, call.types, strict=True)):
        _check(arrays, type, index)
        dtype = op.DType.from_numpy(arrays[0].dtype)
        types.append(op.SampleType(dtype, arrays[0].ndim, type.layout or ""))
        shapes = np.array([array.shape for array in arrays], np.int64)
        batch_shapes.append(op.BatchShape.of(shapes.reshape(len(arrays), arrays[0].ndim)))
    call.types = tuple(types)
    return _PythonFunctionPlan(tuple(batch_shapes), made)


def _each(call: op.Call) -> list[list[Array]]:
    """Call the function once per sample: a list of arrays per output."""
    function, count = call["function"], len(call.types)
    made: list[list[Array]] = [[] for _ in range(count)]
    for sample in range(call.size):
        # Copies: what is in the buffers may be read by others, and the function may write.
        arrays = [batch.array(sample).copy() for batch in call.inputs]
        try:
            results = _outputs(_ask(function, arrays), count)
            for output, result in enumerate(results):
                made[output].append(_array(result, output, count))
        except op.GradivaError as error:
            raise error.complete(sample=sample) from error.__cause__
    return made


def _batch(call: op.Call) -> list[list[Array]]:
    """Call the function once for all samples: a list of arrays per output."""
    function, count = call["function"], len(call.types)
    lists = [[array.copy() for array in batch.arrays()] for batch in call.inputs]
    results = _outputs(_ask(function, lists), count)
    made: list[list[Array]] = []
    for output, result in enumerate(results):
        iterable = isinstance(result, list | op.Batch) or getattr(result, "ndim", 0) > 0
        if not iterable or len(result) != call.size:
            got = f"{len(result)} samples" if iterable else op.describe(result)
            raise op.OperatorTypeError(
                f"the function returned the wrong thing as output {output}",
                expected=f"a list of {call.size} arrays, one per sample",
                got=got,
            )
        arrays = []
        for sample, item in enumerate(result):
            try:
                arrays.append(_array(item, output, count))
            except op.GradivaError as error:
                raise error.complete(sample=sample) from error.__cause__
        made.append(arrays)
    return made


def _ask(function: Any, arguments: Sequence[Any]) -> Any:
    try:
        return function(*arguments)
    except Exception as error:
        if isinstance(error, op.GradivaError) and error.operator is None:
            raise  # of an adapter around the function, and no call of an operator inside it
        raise raised(error, function, "function") from error


def _outputs(result: Any, count: int) -> Sequence[Any]:
    """What the function returned, as one thing per output."""
    if count == 0:
        if result is None or (isinstance(result, tuple) and not result):
            return ()
        expected = "nothing (num_outputs=0)"
    elif isinstance(result, tuple):
        if len(result) == count:
            return result
        expected = "an array" if count == 1 else f"a tuple of {count} (num_outputs)"
    elif count == 1:
        return (result,)
    elif isinstance(result, list) and len(result) == count:
        return result
    else:
        expected = f"a tuple of {count} (num_outputs)"
    many = isinstance(result, tuple | list)
    raise op.OperatorTypeError(
        "the function returned the wrong thing",
        expected=expected,
        got=f"a {type(result).__name__} of {len(result)}" if many else op.describe(result),
    )


def _array(value: Any, output: int, count: int) -> Array:
    """One sample of one output: a copy, for the function may use its memory again."""
    which = f" as output {output}" if count > 1 else ""
    problem = f"the function returned the wrong thing{which}"
    if value is None or isinstance(value, str | bytes | list | tuple | dict | op.Batch):
        raise op.OperatorTypeError(problem, expected="an array", got=op.describe(value))
    try:
        array, _ = prepare(to_array(value), None, "")
    except op.GradivaError as error:
        error.problem = f"{problem}: {error.problem}".removesuffix(": ")
        raise
    return array.copy()


def _check(arrays: list[Array], type: op.SampleType, output: int) -> None:
    first = arrays[0]
    if type.ndim not in (None, first.ndim):
        raise op.OperatorValueError(
            f"the samples of output {output} do not have the rank that its layout says",
            argument="output_layouts",
            expected=f"{type.ndim}-D samples for {type.layout!r}",
            got=f"{first.ndim}-D",
            sample=0,
        )
    for sample, array in enumerate(arrays):
        if array.dtype != first.dtype or array.ndim != first.ndim:
            raise op.OperatorTypeError(
                f"the samples of output {output} have one dtype and one rank",
                expected=f"{first.ndim}-D {first.dtype} as in sample 0",
                got=f"{array.ndim}-D {array.dtype}",
                sample=sample,
            )


@python_function.cpu
def _cpu(call: op.Call, plan: _PythonFunctionPlan) -> None:
    for output, arrays in zip(call.outputs, plan.made, strict=True):
        for sample, array in enumerate(arrays):
            output.array(sample)[...] = array


def _inverted(image: Any) -> Any:
    return 255 - image


def _reversed_batch(images: Any) -> Any:
    return images[::-1]


def _width(image: Any) -> Any:
    return np.int32(image.shape[1])


def _broken(image: Any) -> Any:
    raise KeyError(image.shape[0])


def _nothing(image: Any) -> Any:
    return None


@python_function.cases
def _cases() -> list[op.Case]:
    images = op.samples((4, 5, 3), (1, 7, 3))
    inverted = [255 - images.at(i) for i in range(2)]
    widths = [np.array(5, np.int32), np.array(7, np.int32)]
    backwards = [images.at(1), images.at(0)]
    whole = {"function": _reversed_batch, "batch_processing": True}
    return [
        op.case("per sample", images, function=_inverted, output_layouts="HWC")
        .equals(inverted)
        .no_oracle(),
        op.case("a number", images, function=_width).equals(widths).no_oracle(),
        op.case("per batch", images, **whole).equals(backwards).no_oracle(),
        op.case("empty", op.samples(), function=_inverted).equals([]).no_oracle(),
        op.case("raises", images, function=_broken).raising(
            op.GradivaError, "_broken raised KeyError: 4"
        ),
        op.case("nothing", images, function=_nothing).type_error("wrong thing"),
        op.case("not callable", images, function=3).type_error("`function`"),
        op.case("rank", images, function=_inverted, output_layouts="HW").value_error(
            "`output_layouts`"
        ),
    ]
