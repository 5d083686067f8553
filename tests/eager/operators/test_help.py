"""Operators show themselves as functions do: to `help`, `inspect`, pydoc and IPython."""

from __future__ import annotations

import inspect
import os
import pickle
import pydoc
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from docs.site import markup, operator_pages
from docs.site.docstrings import parse
from docs.site.registry import known, names_of
from gradiva import fn
from gradiva.eager.operators.operator import OperatorBase
from tests.tiers import few

FUNCTIONS = {
    "resize": gradiva.resize,
    "image": gradiva.decoders.image,
    "coin_flip": gradiva.random.coin_flip,
    "file": fn.readers.file,
    "box_encoder": gradiva.box_encoder,
}


@pytest.mark.tiny
@pytest.mark.parametrize("name", FUNCTIONS)
def test_help(name: str) -> None:
    """The signature, the documentation, and nothing of the class behind it."""
    function: Any = FUNCTIONS[name]
    text = pydoc.plain(pydoc.render_doc(function))
    head, _, body = text.partition("\n\n")
    assert head.endswith(f"in module {function.__module__}")
    assert body.startswith(f"{name}(")
    signature = inspect.signature(function)
    for parameter in signature.parameters:
        assert f"{parameter}: " in body
    for line in inspect.cleandoc(function.__doc__ or "").splitlines():
        assert line in body
    assert "OperatorBase" not in text
    assert " object at 0x" not in text


@pytest.mark.tiny
@pytest.mark.parametrize("name", few(known(), every=10))
def test_all_ways_to_help_agree(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Functions of both modes, the class spelling and the site: one text, and one signature."""
    monkeypatch.setattr(operator_pages, "picture", lambda operator, folder: None)
    operator = known()[name]
    text = inspect.getdoc(operator)
    page = operator_pages.operator_page(operator, Path())
    for place in names_of(operator):
        if place.endswith("DLTensorPythonFunction"):
            continue  # it has arguments of its own
        found: Any = gradiva
        for part in place.split(".")[1:]:
            found = getattr(found, part)
        assert inspect.getdoc(found) == text
        if not inspect.isclass(found):
            assert inspect.signature(found) == operator.__signature__
    assert f"{operator.__signature__}\n```" in page
    said = parse(text or "")
    assert markup.text(said.summary) in page
    assert said.example in page
    assert page.count("Arguments of all operators") == bool(said.common)


@pytest.mark.tiny
def test_the_help_of_classes() -> None:
    """Their constructors take the arguments of the operator and those of all operators."""
    constructor = inspect.signature(gradiva.ops.Resize)
    call = inspect.signature(gradiva.resize)
    assert {*constructor.parameters} == {*call.parameters} - {"input"}
    assert "seed" not in constructor.parameters
    assert "seed" in inspect.signature(gradiva.ops.random.Uniform).parameters
    assert inspect.getdoc(gradiva.readers.File) == inspect.getdoc(fn.readers.file)
    assert {*inspect.signature(gradiva.readers.File).parameters} >= {"file_root", "seed", "device"}


def test_a_seed_that_is_not_shown_is_taken() -> None:
    """Scripts for DALI give it to all operators."""
    assert "seed" not in inspect.signature(gradiva.flip).parameters
    with pytest.warns(UserWarning, match="`seed` has no effect"):
        flipped = gradiva.flip(np.zeros((2, 3), np.uint8), seed=3)
    assert flipped.shape == (2, 3)
    with pytest.warns(UserWarning, match="`seed` has no effect"):
        gradiva.ops.Flip(seed=3)(np.zeros((2, 3), np.uint8))


def test_mathematical_functions() -> None:
    """They show how they are called: inputs alone."""
    assert str(inspect.signature(gradiva.math.sqrt)) == "(input: Operand) -> Batch"
    assert str(inspect.signature(gradiva.math.atan2)) == "(x: Operand, y: Operand) -> Batch"
    assert inspect.getdoc(gradiva.math.sqrt) == inspect.getdoc(known()["math.sqrt"])
    assert gradiva.math.atan2(x=np.ones(1, np.float32), y=0).shape == (1,)


@pytest.mark.tiny
def test_inspection() -> None:
    assert inspect.isroutine(gradiva.resize)
    signature = inspect.signature(gradiva.resize)
    assert list(signature.parameters)[:2] == ["input", "size"]
    assert signature.parameters["size"].annotation == "FloatsArg | None"
    assert inspect.getdoc(gradiva.resize) == inspect.cleandoc(gradiva.resize.__doc__ or "")
    assert inspect.getsourcefile(inspect.unwrap(gradiva.resize)) is not None
    assert gradiva.resize.__name__ == gradiva.resize.__qualname__ == "resize"


@pytest.mark.tiny
def test_the_operator_of_a_function() -> None:
    operator = gradiva.resize.operator
    assert isinstance(operator, OperatorBase)
    assert operator is gradiva.resize
    assert fn.readers.file.operator.name == "readers.file"


@pytest.mark.tiny
def test_an_attribute_of_a_class_is_not_bound() -> None:
    """As ever: calls get no `self`, unlike those of functions."""

    class Model:
        flip = gradiva.flip

    assert Model.flip is gradiva.flip
    assert Model().flip is gradiva.flip


@pytest.mark.tiny
def test_pickles() -> None:
    assert pickle.loads(pickle.dumps(gradiva.resize)) is gradiva.resize


@pytest.mark.tiny
def test_modules_list_their_operators() -> None:
    text = pydoc.plain(pydoc.render_doc(gradiva.decoders))
    assert "FUNCTIONS" in text
    assert "image_crop(" in text
    assert "crop_pos_x: FloatArg = 0.5" in text


SCRIPT = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance(colors="nocolor")
shell.run_cell("import gradiva")
print(shell.object_inspect_text("gradiva.flip"))
"""


@pytest.mark.full
def test_ipython(tmp_path: Path) -> None:
    """`gradiva.flip?`: signature and documentation, each once, and the file of the operator."""
    pytest.importorskip("IPython")
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[3],
        env={**os.environ, "IPYTHONDIR": str(tmp_path)},
    )
    assert run.stdout.count("depthwise: IntArg = 0") == 1
    assert run.stdout.count("Mirror each sample along the chosen axes.") == 1
    assert "ops/image/flip.py" in run.stdout
    assert "Call signature" not in run.stdout
    for line in inspect.cleandoc(gradiva.flip.__doc__ or "").splitlines():
        assert line in run.stdout
    for parameter in inspect.signature(gradiva.flip).parameters.values():
        assert str(parameter) in run.stdout
    assert "seed" not in run.stdout
