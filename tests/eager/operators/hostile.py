"""Hostile calls: every operator with values that nobody should give, drawn from a seed.

A call starts from a case of the operator, or from nothing, and some of its inputs and arguments
are replaced. `python -m tests.eager.operators.hostile` makes such calls in this process and writes
down, one JSON line each, those that end in anything but a result or a GradivaError.
"""

from __future__ import annotations

import argparse
import faulthandler
import importlib
import json
import os
import random
import resource
import sys
import tempfile
import traceback
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import gradiva
from gradiva.eager.jit.jit import Kernel
from gradiva.eager.operators.arguments import Argument
from gradiva.eager.operators.operator import OperatorBase, operators
from gradiva.eager.support.errors import GradivaError
from gradiva.eager.types.dtypes import dtypes
from gradiva.eager.values.batch import Batch, batch
from gradiva.ops.readers.core.source import SourceOperator

from .compiled_kernels import COMPILED

__all__ = ["INTEGERS", "REALS", "attacked", "draw", "interpreted_call", "spoken"]

INTEGERS: tuple[int, ...] = (
    0,
    1,
    2,
    3,
    5,
    64,
    1000,
    1 << 16,
    (1 << 31) - 1,
    1 << 31,
    (1 << 32) + 1,
    1 << 62,
)
INTEGERS += ((1 << 63) - 1, -1, -2, -3, -7, -(1 << 31), -(1 << 31) - 1, -(1 << 62), -(1 << 63))
REALS: tuple[float, ...] = (
    0.0,
    -0.0,
    1.0,
    0.5,
    -0.5,
    2.0,
    -1.0,
    7.5,
    100.0,
    1e4,
    -1e4,
    1e9,
    -1e9,
    3e38,
    -3e38,
)
REALS += (1e300, -1e300, 1e-300, 1e-7, float("nan"), float("inf"), float("-inf"))
REALS += (2.0**31, 2.0**63)
TEXTS: tuple[str, ...] = (
    "",
    "x",
    "HWC",
    "CHW",
    "FHWC",
    "HW",
    "absolute",
    "constant",
    "edge",
    "clamp",
    "mean",
    "cut",
)
TEXTS += ("\u00fc\u2603", "\0", "a" * 300, "xyXY", "xywh", "corners", "../nowhere", "%s{}")
LAYOUTS = ("", "HWC", "CHW", "HW", "FHWC", "FCHW", "DHWC", "CDHW", "WHC", "H", "C", "WH", "FHW")
SHAPES: tuple[tuple[int, ...], ...] = (
    (),
    (0,),
    (1,),
    (4,),
    (5, 4),
    (0, 4),
    (4, 0),
    (1, 1),
    (2, 3),
    (3, 3),
    (4, 5, 3),
    (0, 5, 3),
)
SHAPES += (
    (4, 0, 3),
    (4, 5, 0),
    (1, 7, 3),
    (7, 1, 3),
    (3, 4, 5),
    (6, 6, 1),
    (1, 1, 1),
    (2, 4, 5, 3),
)
SHAPES += (
    (0, 4, 5, 3),
    (1, 1, 1, 1),
    (1, 2, 3, 2, 3),
    (1, 1, 2, 2, 1, 3),
    (9, 2),
    (9, 4),
    (8, 6, 4),
)
SHAPES += ((2, 2), (2,), (3,), (17,), (5, 5, 2), (300, 2), (4, 3, 2, 1))
MOST_VALUES = 1 << 26
"""Outputs of more values than this are not looked at: to touch them takes long."""


def attacked() -> list[str]:
    """The operators that are called."""
    left_out = ("_conditional.split", "_conditional.merge", "gradiva.fused", "numba_function")
    return [
        name
        for name, operator in sorted(operators.items())
        if not isinstance(operator, SourceOperator)
        and operator.__module__ != "gradiva.capture.graph.builtin_ops"
        and callable(operator)
        and name not in left_out
        and operator.__module__.startswith("gradiva.")
    ]


def _values(dice: random.Random, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Any:
    """An array of moderate values, some of which may be replaced by hostile ones."""
    noise = np.random.default_rng(dice.getrandbits(32))
    top = dice.choice((1.0, 10.0, 200.0))
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        array = noise.uniform(0 if dtype.kind == "u" else -top * dice.random(), top, shape)
        array = np.asarray(array).astype(dtype)
        for _ in range(dice.choice((0, 0, 1, 2, 30))):
            if array.size:
                place = dice.randrange(array.size)
                array.reshape(-1)[place] = _one(dice, dtype)
    return array


def _one(dice: random.Random, dtype: np.dtype[Any]) -> Any:
    if dtype.kind == "f":
        return np.float64(dice.choice(REALS)).astype(dtype)
    number = dice.choice(INTEGERS)
    return np.array(number & 0xFFFFFFFFFFFFFFFF, np.uint64).astype(dtype)


def _strided(dice: random.Random, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The same values in memory that is not contiguous."""
    if array.ndim and dice.random() < 0.5:
        wide = np.zeros((*array.shape[:-1], array.shape[-1] * 2), array.dtype)
        wide[..., ::2] = array
        return wide[..., ::2]
    return np.asfortranarray(array)


def _batch(dice: random.Random, count: int, like: Batch | None) -> Batch:
    """A batch of hostile samples; `like` gives some of their facts."""
    dtype, layout, ndim = dice.choice(dtypes).numpy, None, None
    if like is not None and dice.random() < 0.9:  # each other dtype is a kernel to compile
        dtype = like.dtype.numpy
    elif dice.random() < 0.5:
        dtype = np.dtype(dice.choice((np.uint8, np.float32, np.int32)))
    if dtype.kind not in "biuf":
        dtype = np.dtype(np.float32)
    if like is not None and dice.random() < 0.7:
        ndim, layout = like.ndim, like.layout
        shapes = [tuple(like.at(i).shape) for i in range(len(like))] or [(1,) * ndim]
        changed = [list(shapes[i % len(shapes)]) for i in range(count)]
        for shape in changed:
            if shape and dice.random() < 0.4:
                shape[dice.randrange(ndim)] = dice.choice((0, 0, 1, 2, 3, 4, 9))
        drawn = [tuple(shape) for shape in changed]
    else:
        first = dice.choice(SHAPES)
        same = [shape for shape in SHAPES if len(shape) == len(first)]
        drawn = [dice.choice(same) if dice.random() < 0.3 else first for _ in range(count)]
        layout = dice.choice([None, *(text for text in LAYOUTS if len(text) == len(first))])
    if not count:
        return batch(np.empty((0, *(dice.choice(SHAPES) if ndim is None else (1,) * ndim)), dtype))
    arrays = [_values(dice, dtype, shape) for shape in drawn]
    if dice.random() < 0.2 and len({array.shape for array in arrays}) == 1:
        return gradiva.as_batch(_strided(dice, np.stack(arrays)), layout=layout)
    return batch(arrays, layout=layout)


def _argument(dice: random.Random, argument: Argument, count: int, usual: Any) -> Any:
    """A hostile value of an argument."""
    expected, element = argument.kind.expected, argument.kind.element
    if expected == "a value" or (usual is not None and callable(usual)):
        return usual
    if dice.random() < 0.03:
        return dice.choice((object(), "text", b"bytes", 1.5, True, [], [[]], [None], {}, 1j, ["a"]))
    if element is not None and dice.random() < 0.6:
        return _per_sample(dice, argument, count, usual)
    if "string" in expected or "'raise'" in expected:
        return dice.choice(TEXTS)
    if "layout" in expected:
        return dice.choice(LAYOUTS + TEXTS[:2])
    if "element type" in expected:
        return dice.choice((*dtypes, gradiva.float32, gradiva.uint8, gradiva.uint8, "float", 77))
    if "interpolation" in expected or "image type" in expected:
        return dice.choice((*range(-1, 9), 1 << 40))
    if "True" in expected:
        return dice.random() < 0.5
    wide = "integers" in expected or "numbers" in expected or "several" in expected
    pool = INTEGERS if "integer" in expected else REALS
    if element is not None or "number" in expected or "integer" in expected or "matrix" in expected:
        if not wide or dice.random() < 0.3:
            return dice.choice(pool)
        length = dice.choice((0, 1, 2, 2, 3, 4, 6, 9, 40))
        if (
            isinstance(usual, list | tuple)
            and usual
            and np.ndim(usual) == 1
            and dice.random() < 0.6
        ):
            return _mixed(dice, list(usual), pool)
        return [dice.choice(pool) for _ in range(length)]
    return usual


def _mixed(dice: random.Random, usual: list[Any], pool: tuple[Any, ...]) -> list[Any]:
    return [dice.choice(pool) if dice.random() < 0.5 else value for value in usual]


def _per_sample(dice: random.Random, argument: Argument, count: int, usual: Any) -> Any:
    kind = argument.kind
    integers = kind.element is np.int64
    pool = INTEGERS if integers else REALS
    dtype = np.dtype(dice.choice((np.int64, np.int64, np.int32)) if integers else np.float32)
    if not integers and dice.random() < 0.3:
        dtype = np.dtype(np.float64)
    if dice.random() < 0.05:
        count = dice.choice((0, count + 1, max(count - 1, 0)))
    shape: tuple[int, ...] = ()
    if kind.vector:
        width = len(usual) if isinstance(usual, list | tuple) and np.ndim(usual) == 1 else 0
        shape = (width if width and dice.random() < 0.7 else dice.choice((0, 1, 2, 3, 4, 6, 9)),)
    if kind.matrix and dice.random() < 0.5:
        shape = dice.choice(((2, 3), (3, 3), (3, 4), (0, 0), (1, 9)))
    if kind.shaped:
        shape = dice.choice(((), (1,), (3,), (0,), (2, 2)))
    hostile = dice.choice((0.2, 0.5, 1.0))
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = []
        for _ in range(count):
            extra = shape
            if kind.ragged and dice.random() < 0.5:
                extra = (dice.choice((0, 1, 2, 3, 4, 5)),)
            size = int(np.prod(extra))
            values = [
                dice.choice(pool if dice.random() < hostile else (0, 1, 2, 3)) for _ in range(size)
            ]
            wrapped = np.array(values, np.int64 if integers else np.float64).astype(dtype)
            rows.append(wrapped.reshape(extra))
    if kind.ragged:
        return batch(rows) if rows and dice.random() < 0.7 else [list(row) for row in rows]
    array = np.stack(rows) if rows else np.empty((0, *shape), dtype)
    return batch(array) if dice.random() < 0.6 else array


def draw(name: str, dice: random.Random) -> tuple[tuple[Any, ...], dict[str, Any], list[str]]:
    """Inputs and arguments of a call, and which of them are hostile."""
    operator: OperatorBase = operators[name]
    cases = operator.case_maker() if operator.case_maker else []
    good = [case for case in cases if case.raises is None]
    if good and dice.random() < 0.9:
        case = dice.choice(good)
        inputs, arguments = list(case.inputs), dict(case.arguments)
    else:
        wanted = dice.randint(operator.min_inputs, min(operator.max_inputs, 3))
        count = dice.choice((1, 2, 3))
        inputs, arguments = [_batch(dice, count, None) for _ in range(wanted)], {}
    changed = []
    sizes = [len(value) for value in inputs if isinstance(value, Batch)]
    count = sizes[0] if sizes else 0
    if not sizes:
        count = arguments.get("batch_size") or 2
        if not inputs and operator.max_inputs == 0 and dice.random() < 0.7:
            arguments["batch_size"] = count
    if dice.random() < 0.08 and count:
        count = 0
        inputs = [_batch(dice, 0, value if isinstance(value, Batch) else None) for value in inputs]
        arguments = {
            key: value[:0] if isinstance(value, np.ndarray) else value
            for key, value in arguments.items()
            if not isinstance(value, Batch | list)
        }
        changed.append("empty batch")
    names = [name for name, argument in operator.arguments.items() if argument.kind is not None]
    if inputs and (dice.random() < 0.5 or not names):
        place = dice.randrange(len(inputs))
        like = inputs[place] if isinstance(inputs[place], Batch) else None
        inputs[place] = _batch(dice, count, like)
        changed.append(f"input {place}")
    for chosen in dice.sample(names, min(len(names), dice.choice((0, 1, 1, 1, 2, 3)))):
        argument = operator.arguments[chosen]
        value = _argument(dice, argument, count, arguments.get(chosen, argument.default))
        if value is not None:
            arguments[chosen] = value
            changed.append(chosen)
    return tuple(inputs), arguments, changed


def spoken(inputs: tuple[Any, ...], arguments: dict[str, Any]) -> str:
    """A call, short enough to read."""

    def one(value: Any) -> str:
        if isinstance(value, Batch):
            held = [value.at(i) for i in range(min(len(value), 3))]
            text = ", ".join(f"{np.asarray(array).tolist()}"[:160] for array in held)
            return f"<{len(value)} {value.dtype} {value.shape[:3]} {value.layout!r}: {text}>"
        if isinstance(value, np.ndarray):
            return f"array({value.tolist()}, {value.dtype}, {value.shape})"[:400]
        return repr(value)[:300]

    return " ".join(
        [*map(one, inputs), *(f"{key}={one(value)}" for key, value in arguments.items())]
    )


def _touch(result: Any) -> None:
    """Look at every value of a result."""
    for value in result if isinstance(result, tuple) else (result,):
        for sample in value if isinstance(value, Batch) else (value,):
            array = np.asarray(sample)
            if array.size <= MOST_VALUES:
                array.tobytes()


def attempt(name: str, seed: int, number: int) -> dict[str, Any]:
    """Make one call. outcome: result, refused, memory, or other: none of our errors."""
    dice = random.Random(f"{name} {seed} {number}")
    inputs, arguments, changed = draw(name, dice)
    operator: Any = operators[name]
    facts: dict[str, Any] = {"call": f"{name}: {spoken(inputs, arguments)}", "changed": changed}
    kept = [(value, value.data.tobytes()) for value in inputs if isinstance(value, Batch)]
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            _touch(operator.bind(inputs, {**arguments}))
            facts["outcome"] = "result"
        except GradivaError as error:
            facts["outcome"] = "memory" if "not enough memory" in str(error) else "refused"
            facts["error"] = f"{type(error).__name__}: {error}"
            if not str(error).startswith(name) and not error.operator:
                facts["outcome"] = "unnamed"
        except NotImplementedError:
            facts["outcome"] = "compiled only"  # of kernels that are interpreted
        except Exception as error:  # noqa: BLE001  what is looked for
            facts["outcome"] = "other"
            facts["error"] = f"{type(error).__name__}: {error}"
            facts["trace"] = traceback.format_exc()[-1500:]
    if any(value.data.tobytes() != before for value, before in kept):
        facts["outcome"] = "input changed"
    numeric = [w for w in heard if issubclass(w.category, RuntimeWarning)]
    if numeric:
        facts["warned"] = sorted({f"{w.filename}:{w.lineno} {w.message}" for w in numeric})
    return facts


class Checked(np.ndarray[Any, Any]):
    """An array that refuses indices that NumPy and Numba would count from the end."""

    def __getitem__(self, key: Any) -> Any:
        _check_not_negative(key)
        return super().__getitem__(key)

    def __setitem__(self, key: Any, value: Any) -> None:
        _check_not_negative(key)
        super().__setitem__(key, value)


def _check_not_negative(key: Any) -> None:
    for one in key if isinstance(key, tuple) else (key,):
        ends = (one.start, one.stop) if isinstance(one, slice) else (one,)
        for end in ends:
            if isinstance(end, int | np.integer) and end < 0:
                raise IndexError(f"index {end} is negative")


_compiled = Kernel.__call__


def interpreted_call(kernel: Kernel, *arguments: Any) -> Any:
    """In the place of `Kernel.__call__`: kernels run as Python, whose arrays check their bounds,
    but for those that cannot."""
    if kernel.function.__module__ in COMPILED:
        return _compiled(kernel, *arguments)
    held = [value.view(Checked) if type(value) is np.ndarray else value for value in arguments]
    with np.errstate(all="ignore"):
        return kernel.function(*held)


def interpret() -> None:
    """Run kernels as Python from now on."""
    Kernel.__call__ = interpreted_call  # type: ignore[method-assign, assignment]
    for name in ("cpu", "rows", "run"):
        module = importlib.import_module(f"gradiva.ops.image.resize.{name}")
        if hasattr(module, "without_refcount"):
            vars(module)["without_refcount"] = lambda array: array


def main() -> None:
    """Calls of one seed: a line per call that is worth reading, and the number of the running one
    in `--progress`, for who must go on after a crash."""
    parser = argparse.ArgumentParser()
    parser.add_argument("report", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--calls", type=int, default=100, help="of each operator")
    parser.add_argument("--memory", type=int, default=2 << 30, help="bytes more than at the start")
    parser.add_argument("--patience", type=float, default=90.0, help="seconds for one call")
    parser.add_argument("--all", action="store_true", help="write down every call")
    parser.add_argument("--interpreted", action="store_true", help="kernels run as Python")
    parser.add_argument("--operators", nargs="*")
    options = parser.parse_args()
    if options.interpreted:
        interpret()
    sys.path.append(os.getcwd())
    os.chdir(tempfile.mkdtemp())
    names = options.operators or attacked()
    limit = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    limit += options.memory
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    counts: dict[str, int] = {}
    with options.report.open("a") as report:
        for index in range(options.first, len(names) * options.calls):
            name, number = names[index // options.calls], index % options.calls
            report.write(json.dumps({"at": index, "name": name, "number": number}) + "\n")
            report.flush()
            faulthandler.dump_traceback_later(options.patience, exit=True)
            facts = attempt(name, options.seed, number)
            faulthandler.cancel_dump_traceback_later()
            counts[facts["outcome"]] = counts.get(facts["outcome"], 0) + 1
            if options.all or facts["outcome"] not in ("result", "refused") or "warned" in facts:
                report.write(json.dumps(facts) + "\n")
        report.write(json.dumps({"done": counts}) + "\n")


if __name__ == "__main__":
    faulthandler.enable()
    main()
