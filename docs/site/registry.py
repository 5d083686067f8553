"""What the registry knows of an operator: its names, what it takes, where it runs."""

from __future__ import annotations

import ast
import functools
import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gradiva import math
from gradiva.commands.listing import _known
from gradiva.compat.dali.class_names import classes
from gradiva.compat.dali.facts import operator_of
from gradiva.compat.dali.old_names import renamed
from gradiva.compat.dali.op_classes import OperatorClass
from gradiva.eager.execution.gpu_execute import devices_of
from gradiva.eager.operators.cases import Case
from gradiva.eager.operators.operator import OperatorBase, operators
from gradiva.eager.support.errors import GradivaError
from gradiva.eager.types.dtypes import dtypes
from gradiva.eager.types.sample_type import SampleType
from gradiva.eager.values.batch import Batch
from gradiva.extension.checks import _as_types
from gradiva.ops.math.arithmetic import BINARY, UNARY
from gradiva.ops.readers.core.source import SourceOperator

__all__ = [
    "ROOT",
    "Support",
    "good_cases",
    "known",
    "names_of",
    "old_names",
    "source_of",
    "support",
    "symbol_of",
]

ROOT = Path(__file__).parents[2]
LAYOUTS = (
    "",
    "W",
    "HW",
    "HWC",
    "CHW",
    "FHW",
    "FHWC",
    "FCHW",
    "DHW",
    "DHWC",
    "CDHW",
    "FDHWC",
    "NCHW",
)
"""Layouts that an operator is asked about."""


def known() -> dict[str, OperatorBase]:
    """The operators that users call, by name."""
    importlib.import_module("gradiva.plugin.numba")  # declares one
    return _known()


_GROUPS = ["decoders", "experimental", "io.file", "noise", "random", "readers", "reductions"]
_GROUPS += ["segmentation", "transforms"]
_NAMESPACES = [*_GROUPS, "fn", *(f"fn.{group}" for group in _GROUPS)]


@functools.cache
def _places() -> dict[int, list[str]]:
    """Operators, by their identity, and the public places at which they stand."""
    found: dict[int, list[str]] = {}
    for place in ("", *_NAMESPACES):
        module = importlib.import_module(f"gradiva.{place}".rstrip("."))
        for name in dir(module):
            operator = operator_of(getattr(module, name))
            if operator is not None and not name.startswith("_"):
                found.setdefault(id(operator), []).append(
                    f"gradiva.{place}.{name}".replace("..", ".")
                )
    for name in math.__all__:
        if f"math.{name}" in operators:
            found.setdefault(id(operators[f"math.{name}"]), []).append(f"gradiva.math.{name}")
    for name, kind in classes.items():
        if isinstance(kind, type) and issubclass(kind, OperatorClass):
            found.setdefault(id(kind.operator), []).append(f"gradiva.ops.{name}")
    return found


def names_of(operator: OperatorBase) -> list[str]:
    """Under which names users reach an operator: that of dynamic mode first, the class last."""
    old = renamed()
    places = [
        place for place in _places().get(id(operator), []) if place.partition(".fn.")[2] not in old
    ]
    order = ("gradiva.fn.", "gradiva.ops.")
    return sorted(
        set(places), key=lambda place: (place.startswith(order), order[1] in place, len(place))
    )


def symbol_of(operator: OperatorBase) -> str | None:
    """`+` for `add`: operators of Python's."""
    if operator.name in BINARY:
        return BINARY[operator.name]
    return UNARY.get(operator.name)


def old_names(operator: OperatorBase) -> list[str]:
    """Names of older scripts, without `fn.`."""
    return sorted(old for old, new in renamed().items() if new == operator.name)


def source_of(operator: OperatorBase) -> str:
    """The file of the declaration, from the root of the repository."""
    return operator.__module__.removeprefix("gradiva.").replace(".", "/") + ".py"


def good_cases(operator: OperatorBase) -> list[Case]:
    """The cases of an operator that must succeed, without those of empty batches."""
    cases = operator.case_maker() if operator.case_maker else []
    return [
        case
        for case in cases
        if case.raises is None
        and not any(isinstance(one, Batch) and not len(one) for one in case.inputs)
    ]


@dataclass(frozen=True)
class Support:
    """What an operator takes and what it promises. dtypes, layouts: of its first input, as its
    type rule judges; reference: "same bits", "close", or "" where no test compares all cases."""

    dtypes: tuple[str, ...]
    layouts: tuple[str, ...]
    devices: tuple[str, ...]
    gpu: str
    role: str
    reference: str


@functools.cache
def support(name: str) -> Support:
    """What the registry knows of an operator."""
    operator = known()[name]
    cases = good_cases(operator)
    taken = set(_accepted(operator, cases, "dtype"))
    layouts = set(_accepted(operator, cases, "layout"))
    devices = tuple(device for device in devices_of(operator) if device != "mixed")
    within = f"within {operator.gpu_tolerance:g}" if operator.gpu_tolerance else "same bits"
    return Support(
        tuple(one.name for one in dtypes if one.name in taken),
        tuple(one for one in LAYOUTS if one in layouts),
        devices,
        ("decoder of the GPU" if operator.gpu_work else within) if "gpu" in devices else "",
        type(operator.fusion_role).__name__ if operator.fusion_role is not None else "",
        _reference(operator, cases),
    )


def _accepted(operator: OperatorBase, cases: list[Case], what: str) -> Iterator[str]:
    """Dtypes or layouts of the first input that the type rule lets pass, beside what a case has."""
    for case in cases:
        if not case.inputs or not all(isinstance(one, Batch) for one in case.inputs):
            continue
        types = [one.type for one in case.inputs]
        try:
            static = _as_types(operator, case)
        except GradivaError:
            continue
        first = types[0]
        if what == "dtype":
            asked = [(one.name, SampleType(one, first.ndim, first.layout)) for one in dtypes]
        else:
            asked = [(one, SampleType(first.dtype, len(one) or first.ndim, one)) for one in LAYOUTS]
        for name, type in asked:
            if _passes(operator, [type, *types[1:]], static):
                yield name


def _passes(operator: OperatorBase, types: list[SampleType], static: dict[str, Any]) -> bool:
    try:
        operator.types(types, static)
    except Exception:  # noqa: BLE001  whatever it says, it does not take the type
        return False
    return True


@functools.cache
def _close() -> tuple[str, ...]:
    """The operators whose sums differ from DALI's by a little: as its test has them."""
    tree = ast.parse((ROOT / "tests" / "oracle" / "test_cases.py").read_text("utf-8"))
    names: dict[str, Any] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") in (
            "RESAMPLED",
            "CLOSE",
        ):
            exec(compile(ast.Module([node], []), "test_cases.py", "exec"), names)
    found: tuple[str, ...] = names["CLOSE"]
    return found


def _reference(operator: OperatorBase, cases: list[Case]) -> str:
    """As tests/oracle/test_cases.py judges, which runs the cases that have inputs."""
    compared = [
        case
        for case in cases
        if case.oracle and any(isinstance(value, Batch) for value in case.inputs)
    ]
    if isinstance(operator, SourceOperator) or not compared:
        return ""
    return "close" if operator.name in _close() else "same bits"
