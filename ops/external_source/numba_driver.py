"""Compiled loops around a function of the user's, for `numba_function`."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from gradiva.eager import extension as op
from gradiva.eager.jit.jit import load_intrinsic, load_numba
from gradiva.eager.jit.numba_adapter import can_compile, compile_error, fixed_tuple
from gradiva.eager.simd.intrinsics import without_refcount

from .prefetchable import name_of


@lru_cache(maxsize=64)
def compiled(function: Any) -> Any:
    """The function as Numba's dispatcher, which runs without the interpreter lock."""
    numba = load_numba()
    if hasattr(function, "py_func"):
        return function
    return numba.njit(nogil=True)(function)


def takes_any_types(function: Any) -> bool:
    """Whether it can be compiled for new types, unlike a dispatcher with given signatures."""
    return can_compile(function)


@lru_cache(maxsize=64)
def driver(function: Any, outputs: tuple[int, ...], inputs: tuple[int, ...], batch: bool) -> Any:
    """A compiled function that calls `function` on samples `begin` to `end`.

    outputs, inputs: the rank of each. Its arguments are `progress`, an array whose element 0 is
    the sample it is at; a slab, offsets, volumes and shapes for each output, then each input; and
    `begin` and `end`. batch: one call with lists of samples.
    """
    numba = load_numba()
    names = [f"output{k}" for k in range(len(outputs))] + [f"input{k}" for k in range(len(inputs))]
    scope: dict[str, Any] = {"run": compiled(function)}
    scope["without_refcount"] = load_intrinsic(without_refcount)
    for name, rank in zip(names, (*outputs, *inputs), strict=True):
        scope[f"view_{name}"] = _view(rank)
    given = {name: f"{name}, {name}_offsets, {name}_volumes, {name}_shapes" for name in names}
    parts = [f"view_{name}({given[name]}, i)" for name in names]
    arrays = ", ".join(["progress", *given.values()])
    lines = [f"def drive({arrays}, begin, end):"]
    # What a compiled function holds when it raises, Numba never frees.
    lines += [f"    {array} = without_refcount({array})" for array in arrays.split(", ")]
    if batch:
        lists = [f"[{part} for i in range(begin, end)]" for part in parts]
        lines += ["    progress[0] = begin", f"    run({', '.join(lists)})"]
    else:
        lines += ["    for i in range(begin, end):", "        progress[0] = i"]
        lines += [f"        run({', '.join(parts)})"]
    exec("\n".join(lines), scope)
    return numba.njit(nogil=True)(scope["drive"])


@lru_cache(maxsize=16)
def _view(rank: int) -> Any:
    """A compiled function that gives one sample of a slab as an array of this rank."""
    numba = load_numba()
    fixed = fixed_tuple()

    def view(slab: Any, offsets: Any, volumes: Any, shapes: Any, sample: int) -> Any:
        first = offsets[sample]
        part = slab[first : first + volumes[sample]]
        return part.reshape(fixed(shapes[sample], rank))

    return numba.njit(nogil=True)(view)


def compile_for(target: Any, arguments: tuple[Any, ...], role: str, function: Any) -> None:
    """Compile a dispatcher for these arguments. Raises OperatorTypeError if it cannot be."""
    numba = load_numba()
    try:
        target.compile(tuple(numba.typeof(value) for value in arguments))
    except compile_error() as error:
        raise op.OperatorTypeError(
            f"{name_of(function)} does not compile in Numba's nopython mode: {_reason(error)}",
            argument=role,
        ) from error


def _reason(error: BaseException) -> str:
    """The lines of Numba's message that say something, without its colors and its frames."""
    text = str(error).split("During: ")[0]
    lines = [line.strip() for line in text.splitlines()]
    said = [line for line in lines if line and not line.startswith(("-", "Failed in"))]
    return " ".join(said)[:600] or type(error).__name__
