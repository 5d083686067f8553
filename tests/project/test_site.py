"""The site: what its pages are made of, and that they are made of everything there is."""

from __future__ import annotations

import importlib.util
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import gradiva
from docs.site import guides, markup, operator_pages, reference
from docs.site.__main__ import main, run_sphinx
from docs.site.docstrings import is_google, parse
from docs.site.examples import PICTURES
from docs.site.registry import ROOT, known, names_of, support

GOOGLE = """Compress and decompress each image.

    What is lost is lost.

    Args:
        input: uint8; layouts HWC
            and FHWC.
        quality, effort: 1 (lowest) to 100:

            1    bad
            100  good

    Returns:
        Samples of the same shapes.

    Raises:
        OperatorTypeError: for other dtypes.
        OperatorValueError: for a quality out of range.

    Example:
        compress(images, quality=5)
    """
PARAGRAPHS = """Compress and decompress each image.

    What is lost is lost.

    input: uint8; layouts HWC
        and FHWC.
    quality, effort: 1 (lowest) to 100:

            1    bad
            100  good

    Returns samples of the same shapes. Raises OperatorTypeError for other dtypes,
    OperatorValueError for a quality out of range.
    """
NAMES = ("input", "quality", "effort", "seed")


def test_both_forms_of_docstrings() -> None:
    google, plain = parse(GOOGLE, NAMES), parse(PARAGRAPHS, NAMES)
    assert is_google(GOOGLE)
    assert not is_google(PARAGRAPHS)
    assert google.summary == plain.summary == "Compress and decompress each image."
    assert google.body == plain.body == ["What is lost is lost."]
    assert google.named == plain.named == ["input", "quality", "effort"]
    assert google.text_of("input") == plain.text_of("input") == "uint8; layouts HWC\nand FHWC."
    assert google.text_of("quality").split() == plain.text_of("quality").split()
    assert google.returns == plain.returns == "Samples of the same shapes."
    assert google.raises == plain.raises
    assert [error for error, _ in plain.raises] == ["OperatorTypeError", "OperatorValueError"]
    assert google.example == "compress(images, quality=5)"
    assert plain.example == ""


def test_arguments_within_a_paragraph() -> None:
    text = """Turn.

    angle: degrees. axis: around which to turn. Not
        needed for images; roi_*: see there.

    Beyond the border there is nothing: it is black. Returns samples. They are new.
    """
    said = parse(text, ["angle", "axis", "roi_start", "roi_end"])
    assert said.args == [
        (("angle",), "degrees."),
        (("axis",), "around which to turn. Not\nneeded for images."),
        (("roi_start", "roi_end"), "see there."),
    ]
    assert said.body == ["Beyond the border there is nothing: it is black."]
    assert said.returns == "Samples. They are new."


def test_support_is_that_of_the_declarations() -> None:
    blur = support("gaussian_blur")
    assert "bool" not in blur.dtypes
    assert {"uint8", "float32"} <= set(blur.dtypes)
    assert {"HWC", "CHW", "HW"} <= set(blur.layouts)
    assert (blur.devices, blur.gpu, blur.role) == (("cpu", "gpu"), "same bits", "")
    assert blur.reference == "close"
    assert support("flip").role == "View"
    assert support("flip").reference == "same bits"
    assert support("experimental.warp_perspective").gpu == "within 0.001"
    assert support("python_function").devices == ("cpu",)


@pytest.mark.full
def test_the_table_of_support_has_every_operator() -> None:
    page = operator_pages.support_page()
    index = operator_pages.index_page()
    for name, operator in known().items():
        link = f"[`{name}`]({operator_pages.page_name(operator)}.md)"
        assert link in page
        assert link in index


def test_names() -> None:
    assert names_of(known()["resize"])[0] == "gradiva.resize"
    assert names_of(known()["random.uniform"])[:2] == [
        "gradiva.random.uniform",
        "gradiva.fn.random.uniform",
    ]
    assert names_of(known()["math.sqrt"]) == ["gradiva.math.sqrt"]


def test_a_page(tmp_path: Path) -> None:
    page = operator_pages.operator_page(known()["flip"], tmp_path)
    assert "```{py:function} gradiva.flip(input: Batch, /, *, horizontal: IntArg = 1" in page
    assert "`depthwise`\n: *an integer, or one per sample; default 0*" in page
    assert "| runs on | CPU, GPU (same bits) |" in page
    assert "| declared in | `ops/image/flip.py` |" in page
    before = np.asarray(gradiva.imread(tmp_path / "before.png"))
    after = np.asarray(gradiva.imread(tmp_path / "flip.png"))
    np.testing.assert_array_equal(after, before[:, ::-1])


def test_pictures_are_of_operators() -> None:
    assert PICTURES.keys() <= known().keys()


def test_modules() -> None:
    page = reference.module_page("gradiva.checkpoint")
    assert ":::::{py:class} gradiva.checkpoint.Checkpoint() -> None" in page
    assert "::::{py:method} save(self, filename: str | os.PathLike[str]) -> str" in page
    math = reference.module_page("gradiva.math")
    assert "[`sqrt`](../operators/math-sqrt.md)" in math


def test_names_that_need_a_package_which_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    def getattribute(name: str) -> object:
        raise ImportError(name)

    module = types.ModuleType("gradiva.needy")
    vars(module).update(__all__=["Absent", "There"], There=3, __getattr__=getattribute)
    monkeypatch.setitem(sys.modules, "gradiva.needy", module)
    page = reference.module_page("gradiva.needy")
    assert "`There`" in page
    assert "`Absent`: for these, another package is needed." in page


def test_links_of_guides_lead_to_pages() -> None:
    page = guides.guide_page(ROOT / "docs" / "tasks.md")
    assert "](../guides/errors.md)" in page
    assert "](../tutorials/04_writing_an_operator.md)" in page
    assert ".py)" not in page


def test_the_front_page_is_the_readme() -> None:
    page = guides.home_page()
    assert page.startswith("# gradiva\n")
    assert "![Photographs, and five variants of each](pictures/augmented.jpg)" in page
    assert "](guides/tasks.md)" in page
    assert "](guides/index.md)" in page
    assert "](tutorials/00_from_scratch.md)" in page
    assert "](docs/" not in page


def test_guides_stand_in_the_order_of_their_index() -> None:
    page = guides.guides_index()
    places = [page.index(f"/{name}.md): ") for name in ("install", "tasks", "dynamic", "design")]
    assert places == sorted(places)
    assert "- [Installation](../guides/install.md): " in page
    assert {path.name for path in guides.GUIDES} >= {"install.md", "kernels.md", "CHANGELOG.md"}


def test_operators_by_field_are_links() -> None:
    page = guides.guide_page(ROOT / "docs" / "operators.md")
    assert "[`random.choice`](../operators/random-choice.md)" in page


def test_a_bar_does_not_end_a_cell() -> None:
    lines = markup.table(["a", "b"], [["`x | y`", r"already \| so"]]).splitlines()
    assert lines[2] == r"| `x \| y` | already \| so |"


def test_tutorials_are_text_and_code() -> None:
    page = guides.tutorial_page(guides.TUTORIALS[1])
    assert page.startswith("# Batches of images, one call at a time\n")
    assert "````python\nimport tempfile\n" in page
    assert "# %%" not in page


@pytest.mark.full
@pytest.mark.skipif(importlib.util.find_spec("sphinx") is None, reason="needs Sphinx")
def test_the_site_builds_without_warnings(tmp_path: Path) -> None:
    # In a third of furo's time. The tutorials run in tests of their own.
    assert main(["--to", str(tmp_path), "--theme", "basic", "--no-outputs"]) == 0
    for name, operator in known().items():
        page = tmp_path / "html" / "operators" / f"{operator_pages.page_name(operator)}.html"
        assert page.exists(), name


@pytest.mark.full
@pytest.mark.skipif(importlib.util.find_spec("furo") is None, reason="needs furo")
def test_the_theme(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "index.md").write_text(
        "# Home\n\n```{py:function} one() -> int\nTwo.\n```\n", "utf-8"
    )
    assert run_sphinx(source, tmp_path, "furo") == 0
    page = (tmp_path / "html" / "index.html").read_text("utf-8")
    assert "Two." in page
    assert "furo" in page
