"""DALI as a black box: one operator on the CPU, and how close we must come."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from gradiva import Batch, DType, GradivaError, batch
from gradiva.eager.operators.arguments import Argument, is_edge
from gradiva.eager.operators.operator import operators
from gradiva.eager.types.dtypes import ImageType, InterpType, dtypes

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    dali: Any = pytest.importorskip("nvidia.dali", exc_type=ImportError)
    fn: Any = pytest.importorskip("nvidia.dali.fn", exc_type=ImportError)
    types: Any = pytest.importorskip("nvidia.dali.types", exc_type=ImportError)
    math: Any = pytest.importorskip("nvidia.dali.math", exc_type=ImportError)
    theirs_backend: Any = pytest.importorskip("nvidia.dali.backend", exc_type=ImportError)

Array = np.ndarray[Any, Any]
Target = str | Callable[..., Any]

REFUSALS = (RuntimeError, ValueError, TypeError, KeyError, IndexError)
"""What DALI raises for calls it does not take."""

DTYPES = {dtype.name: dtype for dtype in dtypes}
NAMES = tuple(DTYPES)


class Samples(list[Array]):
    """The samples of one output of DALI, and their layout."""

    layout: str = ""


def theirs(value: Any) -> Any:
    """A dtype, enumeration or number of ours, as DALI has it."""
    if isinstance(value, DType):
        names = {"float32": "FLOAT"}
        return getattr(types, names.get(value.name, value.name.upper()))
    if isinstance(value, ImageType | InterpType):
        return getattr(types, value.name)
    if isinstance(value, tuple):
        return list(value)
    return value


def feed(samples: Sequence[Any], layout: str = "") -> Any:
    """An external source of DALI that gives one batch, again and again."""
    given = [np.asarray(sample) for sample in samples]
    more = {"layout": layout} if layout else {}
    return fn.external_source(source=lambda: given, batch=True, **more)


def run(build: Callable[[], Any], batch_size: int, seed: int = 7) -> tuple[Samples, ...]:
    """Run a pipeline of DALI once; `build` returns its output or outputs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pipeline = dali.Pipeline(
            batch_size=batch_size,
            num_threads=1,
            device_id=None,
            seed=seed,
            prefetch_queue_depth=1,
            exec_async=False,
            exec_pipelined=False,
        )
        with pipeline:
            made = build()
            pipeline.set_outputs(*(made if isinstance(made, tuple | list) else (made,)))
        pipeline.build()
        outputs = pipeline.run()
        return tuple(_samples(output) for output in outputs)


def _samples(output: Any) -> Samples:
    # `.copy()`: the memory belongs to the pipeline, which is about to go.
    result = Samples(np.array(output.at(i)).copy() for i in range(len(output)))
    result.layout = output.layout()
    return result


def reference(
    target: Target,
    inputs: Sequence[Any] = (),
    *,
    layout: str | Sequence[str] = "",
    outputs: int = 1,
    named: dict[str, Any] | None = None,
    **arguments: Any,
) -> Any:
    """One operator of DALI, run on batches of ours or on lists of arrays.

    target: an operator's name such as "decoders.image", or a function of DALI's nodes.
    inputs: batches (which bring their layouts), lists of arrays (with `layout`, of one or of each
    input), or numbers, passed on as they are. arguments: in our types; those that are given per
    sample are fed like inputs. named: more arguments, of any name. Returns the samples of
    the output, or a tuple if `outputs` > 1.
    """
    arguments |= named or {}
    layouts = [layout] * len(inputs) if isinstance(layout, str) else list(layout)
    sources = list(zip(inputs, layouts, strict=True))
    size = next(len(one) for one in inputs if isinstance(one, Batch | list))
    function = _function(target) if isinstance(target, str) else target
    known = operators[target].arguments if isinstance(target, str) else {}

    def build() -> Any:
        nodes = [_node(one, its_layout) for one, its_layout in sources]
        named = {key: _argument(known.get(key), value) for key, value in arguments.items()}
        return function(*nodes, **named)

    made = run(build, size)
    assert len(made) == outputs
    return made[0] if outputs == 1 else made


def _function(name: str) -> Any:
    found: Any = fn
    for part in name.split("."):
        found = getattr(found, part)
    return found


def _node(value: Any, layout: str) -> Any:
    if isinstance(value, Batch):
        return feed([value.at(i) for i in range(len(value))], value.layout)
    if isinstance(value, list):
        return feed(value, layout)
    return value


def _argument(declared: Argument | None, value: Any) -> Any:
    if declared is None or not is_edge(declared, value):
        if declared is not None and declared.name == "dtype":
            return theirs(DType.of(value))
        return theirs(value)
    rows = [value.at(i) for i in range(len(value))] if isinstance(value, Batch) else list(value)
    if declared.name in ("interp_type", "min_filter", "mag_filter"):
        numbers = feed([np.int32(row) for row in rows])
        return fn.reinterpret(numbers, dtype=types.DALIDataType.INTERP_TYPE)
    wide = declared.name == "out_length"
    element: Any = np.int32 if declared.kind.element is np.int64 else np.float32
    element = np.int64 if wide else element
    return feed([np.asarray(row, element) for row in rows])


def agree(
    ours: Callable[[], Batch], their: Callable[[], Samples], **tolerances: Any
) -> Batch | None:
    """Both give the same, or both refuse. Returns our result."""
    try:
        expected = their()
    except REFUSALS as refusal:
        with pytest.raises(GradivaError):
            pytest.fail(f"{ours()!r}, but the reference refused: {refusal}")
        return None
    result = ours()
    assert_close(result, expected, **tolerances)
    return result


def assert_close(
    ours: Batch,
    theirs: Sequence[Array],
    *,
    exact: bool = True,
    uint8_lsb: int = 2,
    float_range: float = 1e-6,
    layout: bool = True,
) -> None:
    """The project's tolerances.

    exact: equal (NaN to NaN). Otherwise floats differ by at most 1e-5 of their size plus
    `float_range` of the range of DALI's output (1e-6; 1e-4 for resize); uint8 is at most 1
    apart on 99.9% of the values and never more than `uint8_lsb`; wider integers, roundings of such
    floats, are at most 1 apart. Shapes, dtypes and (with `layout`) layouts agree.
    """
    assert len(ours) == len(theirs)
    if layout and isinstance(theirs, Samples):
        assert ours.layout == theirs.layout
    far = total = 0
    for index, expected in enumerate(theirs):
        got = ours.at(index)
        where = f"sample {index}"
        assert got.dtype == expected.dtype, where
        assert got.shape == expected.shape, where
        if exact or got.dtype.kind == "b":
            np.testing.assert_array_equal(got, expected, where)
        elif got.dtype.kind == "f":
            finite = expected[np.isfinite(expected)]
            span = float(np.ptp(finite)) if finite.size else 0.0
            np.testing.assert_allclose(got, expected, 1e-5, float_range * span, err_msg=where)
        else:
            apart = np.abs(got.astype(np.int64) - expected.astype(np.int64))
            assert apart.max(initial=0) <= (uint8_lsb if got.dtype == np.uint8 else 1), where
            far += int((apart > 1).sum())
            total += apart.size
    assert far <= total * 0.001, f"{far} of {total} values are more than 1 apart"


def check(
    name: str,
    input: Batch | Sequence[Array],
    *,
    layout: str = "",
    exact: bool = True,
    both_may_refuse: bool = False,
    float_range: float = 1e-6,
    **arguments: Any,
) -> None:
    """The operator `name` of ours against DALI's, on one input."""
    ours = input if isinstance(input, Batch) else batch(list(input), layout=layout)
    operator: Any = operators[name]

    def ask() -> Any:
        return reference(name, [ours], **arguments)

    if both_may_refuse:
        agree(lambda: operator(ours, **arguments), ask, exact=exact, float_range=float_range)
    else:
        assert_close(operator(ours, **arguments), ask(), exact=exact, float_range=float_range)
