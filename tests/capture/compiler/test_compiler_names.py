"""The compiler knows operators by what they declare, not by their names."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import gradiva
from gradiva.capture.compiler.optimize import optimize
from gradiva.eager.operators.decomposition import CompositeCall
from gradiva.eager.operators.operator import OperatorBase, operators
from gradiva.ops.arrays.cast import cast
from gradiva.ops.image.color.crop_mirror_normalize import crop_mirror_normalize
from tests.eager.jit.package_copy import ROOT

pytestmark = pytest.mark.tiny

# Splits and merges are what branches are in a graph; copies carry values between devices; at a
# cache a graph is cut in two.
STRUCTURE = {"split", "merge", "copy", "cache"}


def modules() -> list[Path]:
    packages = ("compiler", "runtime")
    return sorted(path for name in packages for path in (ROOT / "capture" / name).rglob("*.py"))


@pytest.mark.parametrize("path", modules(), ids=lambda path: path.stem)
def test_no_operator_is_known_by_name(path: Path) -> None:
    tree = ast.parse(path.read_text("utf-8"))
    names = {*operators, *(name.rpartition(".")[2] for name in operators)} - STRUCTURE
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("gradiva.ops"):
            module = __import__(node.module or "", fromlist=["*"])
            imported = {it.name for it in node.names}
            found = {name for name in imported if isinstance(vars(module)[name], OperatorBase)}
            assert found <= STRUCTURE, (path.name, found)
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            assert node.value not in names, (path.name, node.lineno, node.value)


def test_the_names_are_found() -> None:
    assert {"cast", "flip", "crop_mirror_normalize", "resize"} <= {*operators}
    assert len(modules()) > 20
    assert gradiva.flip is operators["flip"]


def test_what_the_compiler_reads_is_declared() -> None:
    identities = {name for name, it in operators.items() if it.identity_on_same_type}
    assert identities == {"cast"}
    assert cast.identity_on_same_type
    composites = {name for name, it in operators.items() if it.decomposition is not None}
    assert composites == {"crop", "crop_mirror_normalize", "normalize", "patches"}
    assert crop_mirror_normalize.decomposition is not None


def test_the_parts_of_a_composite_are_operators() -> None:
    rule = crop_mirror_normalize.decomposition
    assert rule is not None
    call = CompositeCall(
        "HWC", {"crop": (4, 4), "output_layout": "CHW"}, {"crop", "mirror", "mean"}
    )
    parts = rule(call)
    assert isinstance(parts, list)
    assert [part.operator for part in parts] == ["crop", "flip", "normalize_pixels", "transpose"]
    for part in parts:
        taken = operators[part.operator].arguments
        assert {*part.passed, *part.fixed} <= set(taken)
    assert [dict(part.passed) for part in parts] == [
        {"crop": "crop"},
        {"horizontal": "mirror"},
        {"mean": "mean"},
        {},
    ]
    assert dict(parts[-1].fixed) == {"perm": (2, 0, 1)}
    assert rule(CompositeCall(None, {}, set())) is None
    parts = rule(CompositeCall("HWC", {"pad_output": True}, {"pad_output"}))
    assert isinstance(parts, list)
    assert [part.operator for part in parts] == ["normalize_pixels", "pad_channels", "transpose"]
    assert rule(CompositeCall("CHW", {"pad_output": True}, {"pad_output"})) is None


def test_both_spellings_are_public() -> None:
    assert gradiva.capture.optimise is gradiva.capture.optimize is optimize
