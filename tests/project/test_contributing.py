"""The example operator in CONTRIBUTING.md passes the checks that every operator passes."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import gradiva
from gradiva.eager.jit import kernel_cache
from gradiva.eager.operators.cases import Case
from gradiva.eager.operators.operator import OperatorBase, operators
from tests.eager.operators import test_operators as generic

ROOT = Path(__file__).parents[2]
NAME = "invert"
MODULE = "example_operator_invert"


def example() -> str:
    """The text of the operator's file, as the document shows it."""
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    _, _, rest = text.partition(f"```python ops/image/color/{NAME}.py\n")
    code, fence, _ = rest.partition("\n```\n")
    assert fence
    return code + "\n"


@pytest.fixture(scope="module")
def operator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OperatorBase]:
    """The example, imported as a module of the user's own, and forgotten afterwards."""
    folder = tmp_path_factory.mktemp("example")
    (folder / f"{MODULE}.py").write_text(example(), "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        # A kernel in a temporary folder would leave its machine code in the user's cache.
        patch.setattr(kernel_cache, "_folder", tmp_path_factory.mktemp("cache"))
        patch.setattr(kernel_cache, "_folder_known", True)
        try:
            yield importlib.import_module(MODULE).invert
        finally:
            operators.pop(NAME, None)
            sys.modules.pop(MODULE, None)


def cases(operator: OperatorBase, bad: bool) -> list[Case]:
    assert operator.case_maker is not None
    return [case for case in operator.case_maker() if (case.raises is not None) == bad]


@pytest.mark.full
def test_good_cases(operator: OperatorBase) -> None:
    for case in cases(operator, bad=False):
        generic.test_case(operator, case)


@pytest.mark.full
def test_bad_cases(operator: OperatorBase) -> None:
    for case in cases(operator, bad=True):
        generic.test_errors(operator, case)


def test_has_the_cases_it_must_have(operator: OperatorBase) -> None:
    assert len(cases(operator, bad=False)) + len(cases(operator, bad=True)) >= 5
    assert cases(operator, bad=True)
    assert any("empty" in case.name for case in cases(operator, bad=False))


def test_common_arguments(operator: OperatorBase) -> None:
    generic.test_misspelled_argument(operator.name)
    generic.test_device(operator.name)


@pytest.mark.full
def test_on_a_photograph(operator: Any, photographs: Path) -> None:
    """In the company of other operators: twice the negative is the picture."""
    image = gradiva.imread(photographs / "things" / "coffee.jpg")
    assert ((255 - operator(image)) == image).__array__().all()
    assert (operator(operator(image)) == image).__array__().all()


def test_is_forgotten() -> None:
    """The document's operator is not part of the library."""
    assert not hasattr(gradiva, NAME)
