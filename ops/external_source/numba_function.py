"""`numba_function`: a function of the user's that Numba compiles, as an operator."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from gradiva.eager import extension as op

from .numba_driver import compile_for, compiled, driver, takes_any_types
from .prefetchable import raised


@op.maker("numba_function", inputs=(1, 64), effects=True)
def numba_function(
    *inputs: Any,
    run_fn: Any,
    out_types: Any,
    in_types: Any,
    outs_ndim: op.Ints,
    ins_ndim: op.Ints,
    setup_fn: Any = None,
    batch_processing: bool = False,
    blocks: op.Ints | None = None,
    threads_per_block: op.Ints | None = None,
    **common: op.Unpack[op.Common],
) -> Any:
    """Run a function that is compiled by Numba in nopython mode, over the worker threads.

    The function is compiled once for each set of types. It counts as having effects, as in
    `python_function`: it runs once per batch, batch after batch, but its samples in any order.
    Outputs have no layout.

    Args:
        inputs: batches, tensors or arrays; their dtypes and ranks must be `in_types` and
            `ins_ndim`.
        run_fn: called as `run_fn(out0, out1, ..., in0, in1, ...)` with arrays for one sample, and
            writes into the outputs; with `batch_processing=True`, called once per batch with a list
            of arrays for each. It must not write into inputs (Numba refuses to compile that), and
            must stay within its arrays: Numba does not check, unless NUMBA_BOUNDSCHECK=1 is set.
        out_types, outs_ndim: dtype and rank of each output, all types of NumPy but float16.
        ins_ndim: the rank of each input.
        in_types: the dtype of each input.
        setup_fn: called once per batch as `setup_fn(outs, ins)`, compiled too, to set the shapes of
            the outputs: `outs[k][i]` is the shape of sample i of output k, `ins` those of the
            inputs. Without it, output k has the shapes of input k.
        batch_processing: call `run_fn` once per batch instead of once per sample.
        blocks, threads_per_block: for GPUs; without effect here.

    Returns:
        The outputs of the function: one, or a tuple of several.

    Raises:
        OperatorTypeError: for other types than declared, and for a function that does not compile.
        OperatorValueError: for shapes that cannot be.
        OperatorRuntimeError: with the sample, if the function raises.

    Example:
        from gradiva.plugin.numba.fn.experimental import numba_function

        def double(out, values):
            out[:] = 2 * values

        numba_function(
            np.float32([1, 2]), run_fn=double,
            in_types=["float32"], ins_ndim=[1], out_types=["float32"], outs_ndim=[1],
        )  # [2.0, 4.0]
    """
    for name, function in (("run_fn", run_fn), ("setup_fn", setup_fn)):
        if not callable(function) and (function is not None or name == "run_fn"):
            raise op.wrong_type(name, "a function", op.describe(function))
    expected = _declared("in_types", in_types, "ins_ndim", ins_ndim)
    types = _declared("out_types", out_types, "outs_ndim", outs_ndim)
    if len(inputs) != len(expected):
        raise op.wrong_type("in_types", f"one for each of {len(inputs)} inputs", len(expected))
    for index, (given, wanted) in enumerate(zip(inputs, expected, strict=True)):
        for name, got, want in (
            ("in_types", given.dtype, wanted.dtype),
            ("ins_ndim", given.ndim, wanted.ndim),
        ):
            if got is not None and got != want:
                raise op.wrong_type(name, str(want), got, f"input {index} is not what was declared")
    if setup_fn is None and len(types) > len(inputs):
        raise op.OperatorValueError(
            "without it an output has the shapes of the input at its place",
            argument="setup_fn",
            expected=f"a function, for {len(types)} outputs of {len(inputs)} inputs",
            got="None",
        )
    if setup_fn is None:
        for index, (one, other) in enumerate(zip(types, expected, strict=False)):
            if one.ndim != other.ndim:
                raise op.OperatorValueError(
                    f"output {index} would have another rank than input {index}, whose shapes it "
                    "takes",
                    argument="setup_fn",
                    expected="a function",
                    got="None",
                )
    return tuple(types)


def _declared(types_name: str, types: Any, ranks_name: str, ranks: Any) -> list[op.SampleType]:
    several = isinstance(types, list | tuple)
    given = list(types) if several else [types]
    counts = list(ranks) if isinstance(ranks, list | tuple) else [ranks]
    if not given or len(given) != len(counts):
        raise op.wrong_value(
            ranks_name, f"one for each of {types_name}, {len(given)} in all", len(counts)
        )
    found = []
    for name, rank in zip(given, counts, strict=True):
        try:
            dtype = op.DType.of(name)
        except (TypeError, ValueError) as error:
            raise op.OperatorTypeError(str(error), argument=types_name) from None
        if dtype is op.float16:
            raise op.OperatorTypeError(
                "Numba has no float16 on the CPU: cast first",
                argument=types_name,
                expected="another dtype",
                got="float16",
            )
        if not 0 <= rank <= 16:
            raise op.wrong_value(ranks_name, "a number of axes", rank)
        found.append(op.SampleType(dtype, rank, ""))
    return found


@numba_function.shapes
def _shapes(call: op.Call) -> tuple[op.BatchShape, ...]:
    setup = call["setup_fn"]
    if setup is None:
        batch_shapes = [batch.batch_shape for batch in call.inputs[: len(call.types)]]
        return tuple(batch_shapes)
    outs = tuple(np.zeros((call.size, type.ndim or 0), np.int64) for type in call.types)
    ins = tuple(np.ascontiguousarray(batch.batch_shape.shapes) for batch in call.inputs)
    if call.size:
        function = compiled(setup)
        if takes_any_types(function):
            compile_for(function, (outs, ins), "setup_fn", setup)
        try:
            function(outs, ins)
        except Exception as error:
            raise raised(error, setup, "function").complete(argument="setup_fn") from error
    for index, shapes in enumerate(outs):
        bad = np.nonzero((shapes < 0).any(axis=1))[0]
        if bad.size:
            raise op.OperatorValueError(
                f"setup_fn has set a shape of output {index} that cannot be",
                argument="setup_fn",
                expected="extents of 0 and more",
                got=str(tuple(shapes[bad[0]].tolist())),
                sample=int(bad[0]),
            )
    return tuple(op.BatchShape.of(shapes) for shapes in outs)


@numba_function.cpu
def _cpu(call: op.Call) -> None:
    function, whole = call["run_fn"], call["batch_processing"]
    ranks = [
        tuple(batch.batch_shape.ndim for batch in part) for part in (call.outputs, call.inputs)
    ]
    run = driver(function, ranks[0], ranks[1], whole)
    protected = takes_any_types(function)
    arrays: list[Any] = []
    for batch in (*call.outputs, *call.inputs):
        arrays += _parts(batch, protected and len(arrays) >= 4 * len(call.outputs))
    progress = np.zeros(1, np.int64)
    compile_for(run, (progress, *arrays, 0, 0), "run_fn", function)

    def part(begin: int, end: int) -> None:
        place = np.zeros(1, np.int64)
        try:
            run(place, *arrays, begin, end)
        except Exception as error:
            sample = None if whole else int(place[0])
            raise raised(error, function, "function").complete(sample=sample) from error

    pieces = 1 if whole else min(call.size, 4 * call.pool.num_threads)
    cuts = [call.size * piece // pieces for piece in range(pieces + 1)]
    if len(cuts) == 2:
        part(0, call.size)
    else:
        call.pool.run(part, list(itertools.pairwise(cuts)))


def _parts(batch: op.Batch, protect: bool) -> list[Any]:
    data = batch.data.view()
    if protect:
        data.flags.writeable = False
    batch_shape = batch.batch_shape
    tables = (batch_shape.offsets, batch_shape.volumes, batch_shape.shapes)
    return [data, *(np.ascontiguousarray(table, np.int64) for table in tables)]


def _inverted(output: Any, input: Any) -> None:
    output[:] = 255 - input


def _halved(outputs: Any, inputs: Any) -> None:
    for output, input in zip(outputs, inputs):  # noqa: B905  Numba knows no strict=
        output[:] = input // 2


def _row_shapes(outs: Any, ins: Any) -> None:
    for sample in range(len(outs[0])):
        outs[0][sample][0] = ins[0][sample][0]


def _row_means(output: Any, input: Any) -> None:
    for row in range(input.shape[0]):
        output[row] = input[row].mean()


def _unknown(output: Any, input: Any) -> None:
    output[:] = op.describe(input)


@numba_function.cases
def _cases() -> list[op.Case]:
    images = op.samples((4, 5, 3), (1, 7, 3))
    like = {"in_types": [op.uint8], "ins_ndim": [3], "out_types": [op.uint8], "outs_ndim": [3]}
    rows = {**like, "out_types": [op.float32], "outs_ndim": [1], "run_fn": _row_means}
    floats = {**like, "in_types": [op.float32]}
    each = [images.at(i) for i in range(2)]
    means = [image.mean(axis=(1, 2)).astype(np.float32) for image in each]
    return [
        op.case("per sample", images, **like, run_fn=_inverted)
        .equals([255 - one for one in each])
        .no_oracle(),
        op.case("per batch", images, **like, run_fn=_halved, batch_processing=True)
        .equals([one // 2 for one in each])
        .no_oracle(),
        op.case("own shapes", images, **rows, setup_fn=_row_shapes).equals(means).no_oracle(),
        op.case("empty", op.samples(), **like, run_fn=_inverted).equals([]).no_oracle(),
        op.case("another rank without setup_fn", images, **rows).value_error("`setup_fn`"),
        op.case("dtype", images, **floats, run_fn=_inverted).type_error("`in_types`"),
        op.case("does not compile", images, **like, run_fn=_unknown).type_error(
            "_unknown does not compile"
        ),
    ]
