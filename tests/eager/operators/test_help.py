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

import pytest

import gradiva
from gradiva import fn
from gradiva.eager.operators.operator import OperatorBase

FUNCTIONS = {
    "resize": gradiva.resize,
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
    assert "ops/image/crop/flip.py" in run.stdout
    assert "Call signature" not in run.stdout
