"""`gradiva ops`: which operators there are, what they take, and what is missing."""

from __future__ import annotations

import argparse
import difflib
import inspect
from collections.abc import Iterator
from typing import Any

import gradiva
from gradiva.compat.dali.facts import Fact, facts, operator_of, reached
from gradiva.eager.execution.gpu_execute import devices_of
from gradiva.eager.operators.arguments import Argument
from gradiva.eager.operators.operator import OperatorBase, operators
from gradiva.eager.support.errors import OperatorValueError
from gradiva.eager.support.lazy_names import ELSEWHERE
from gradiva.ops.readers.core.source import SourceOperator

from .fields import by_field

__all__ = ["add_arguments", "coverage_lines", "run"]


_PARTS = frozenset(
    (
        *("brightness_of_tensors", "gray_of_tensors", "hue_of_tensors", "saturation_of_tensors"),
        *("composed_warp", "jitter_colors", "normalize_by_numbers", "normalize_pixels"),
        *("pad_channels", "patch_blocks", "patch_grid", "patch_rows", "random_window", "scheduled"),
        *("targets.boxes", "targets.cameras", "targets.canvas", "targets.chosen"),
        *("targets.bent_points", "targets.bent_polygons", "targets.frames", "targets.keypoints"),
        *("targets.masks", "targets.past", "targets.polygons"),
    )
)
"""Parts of other operators, which stand in graphs and have no name that users call."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `ops`."""
    parser.add_argument("name", nargs="?", help="show this operator alone, with its documentation")
    parser.add_argument(
        "--by-name",
        action="store_true",
        help="list all operators in alphabetical order, with their arguments",
    )
    parser.add_argument(
        "--coverage",
        action="store_true",
        help="each operator of DALI: which arguments and devices are here",
    )


def run(given: argparse.Namespace) -> int:
    """Print what was asked for. Raises OperatorValueError for a name that is not there."""
    if given.coverage:
        lines = coverage_lines(given.name)
    else:
        listed = _lines_by_name if given.by_name else _lines_by_field
        lines = listed() if given.name is None else _one_operator(given.name)
    print("\n".join(lines))
    return 0


def _known() -> dict[str, OperatorBase]:
    """The operators that users call. Nodes that only graphs have have no documentation, or no
    cases, or a name of their own."""
    return {
        name: operator
        for name, operator in sorted(operators.items())
        if operator.__doc__
        and not name.startswith("_")
        and name not in _PARTS
        and (operator.case_maker or isinstance(operator, SourceOperator))
        and operator.__module__ != "gradiva.capture.graph.builtin_ops"
    }


def _find(name: str) -> OperatorBase:
    """An operator by its name: as in a graph, as in `fn`, with or without `fn.`, or as a
    class of dynamic mode."""
    plain = name.removeprefix("gradiva.").removeprefix("fn.")
    found = _known().get(plain) or operator_of(reached(plain))
    if found is not None:
        return found
    plain = ELSEWHERE.get(plain.rpartition(".")[2], plain).removeprefix("gradiva.")
    public: Any = gradiva
    for part in plain.removeprefix("ops.").split("."):
        public = getattr(public, part, None)
    found = getattr(public, "operator", None)  # the class of a reader has one
    if isinstance(found, OperatorBase):
        return found
    if inspect.isfunction(public) or inspect.isclass(public):
        kind = "class" if inspect.isclass(public) else "function"
        raise OperatorValueError(
            f"there is no operator {name!r}; it is a {kind}: help(gradiva.{plain})"
        )
    names = {*_known(), *facts()}
    close = difflib.get_close_matches(plain, names, 3)
    close += sorted(one for one in names if plain and plain in one and one not in close)[:3]
    hint = f"; did you mean {' or '.join(close)}?" if close else "; `ops` alone lists them"
    raise OperatorValueError(f"there is no operator {name!r}{hint}")


def _summary(operator: OperatorBase) -> str:
    return next(
        (line for line in inspect.cleandoc(operator.__doc__ or "").splitlines() if line), ""
    )


def _argument(argument: Argument) -> str:
    """`size*=None`: `*` where it may differ per sample, `!` where it must be given."""
    mark = ("!" if argument.required else "") + ("*" if argument.per_sample else "")
    default = "" if argument.required or argument.default is None else f"={argument.default}"
    return f"{argument.name}{mark}{default}"


def _lines_by_field() -> Iterator[str]:
    known = _known()
    width = max(map(len, known))
    for title, several in by_field(known.values()).items():
        yield title
        for operator in several:
            yield f"  {operator.name:{width}}  {_summary(operator)}"
        yield ""
    yield "`ops NAME` shows one operator, and `ops --by-name` the arguments of all"


def _lines_by_name() -> Iterator[str]:
    known = _known()
    width = max(map(len, known))
    for name, operator in known.items():
        yield f"{name:{width}}  {_summary(operator)}"
        if operator.arguments:
            listed = ", ".join(map(_argument, operator.arguments.values()))
            yield f"{'':{width}}  ({listed})"
    yield ""
    yield "! must be given; * may differ per sample; `ops NAME` shows one operator"


def _one_operator(name: str) -> Iterator[str]:
    operator = _find(name)
    fewest, most = operator.min_inputs, operator.max_inputs
    inputs = str(fewest) if fewest == most else f"{fewest} to {most}"
    places = "on the CPU and on GPUs" if len(devices_of(operator)) > 1 else "on the CPU"
    yield f"{operator.name}: {inputs} input{'' if inputs == '1' else 's'}, {places}"
    if most:
        same = ", with the same random values" if operator.random else ""
        yield f"an input may be a list of batches: the operator is called for each{same}"
    yield ""
    yield inspect.cleandoc(operator.__doc__ or "")
    yield ""
    for argument in operator.arguments.values():
        default = "required" if argument.required else f"default {argument.default!r}"
        yield f"  {argument.name}: {argument.kind.expected}; {default}"


def coverage_lines(name: str | None = None) -> Iterator[str]:
    """A line per operator of DALI's list, and how much there is in all."""
    chosen = facts()
    if name is not None:
        plain = name.removeprefix("gradiva.").removeprefix("fn.")
        if plain not in chosen:
            close = difflib.get_close_matches(plain, chosen, 3)
            hint = f"; did you mean {' or '.join(close)}?" if close else ""
            raise OperatorValueError(f"the list has no operator {name!r}{hint}")
        chosen = {plain: chosen[plain]}
    width = max(map(len, chosen))
    here = arguments = wanted = 0
    for fact in chosen.values():
        operator = operator_of(reached(fact.name))
        yield f"{fact.name:{width}}  {_coverage(fact, operator)}"
        here += operator is not None
        arguments += 0 if operator is None else len(fact.arguments.keys() & operator.arguments)
        wanted += len(fact.arguments)
    if name is None:
        yield ""
        yield f"{here} of {len(chosen)} operators, {arguments} of {wanted} arguments"


def _coverage(fact: Fact, operator: OperatorBase | None) -> str:
    if operator is None:
        return "missing"
    here = devices_of(operator)
    absent = [device for device in fact.devices if device not in here]
    present = [device for device in here if device in fact.devices or device == "cpu"]
    devices = " ".join(present) + (f" (not {', '.join(absent)})" if absent else "")
    names = [name for name in fact.arguments if name in operator.arguments]
    missing = [name for name in fact.arguments if name not in operator.arguments]
    text = f"{devices} | arguments {len(names)} of {len(fact.arguments)}"
    if names:
        text += ": " + ", ".join(names)
    return text + (f" | missing: {', '.join(missing)}" if missing else "")
