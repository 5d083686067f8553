"""The check of scripts: it follows names without running anything, and says what is missing."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import Any

import pytest

import gradiva
from gradiva import compat, fn
from gradiva.__main__ import main
from gradiva.compat.differences import Row, rows, rows_about
from gradiva.eager.execution.gpu_execute import devices_of
from gradiva.eager.operators.operator import operators

ROOT = Path(__file__).parents[2]
HEAD = """
import nvidia.dali as dali
import nvidia.dali.types as types
from nvidia.dali import fn, ops, pipeline_def
from nvidia.dali.pipeline import Pipeline
"""


def check(folder: Path, text: str, head: str = HEAD) -> compat.Report:
    """Line 1 is the first one of the text."""
    path = folder / "script.py"
    head = "; ".join(head.strip().splitlines()) + "\n" if head else ""
    path.write_text(head + textwrap.dedent(text).lstrip("\n"), "utf-8")
    return compat.check(path)


def missing(report: compat.Report) -> list[tuple[int, str]]:
    return [(one.line - 1, one.what) for one in report.missing]


def names(report: compat.Report) -> set[str]:
    return {one.what for one in report}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("fn.resize(x, sizes=3)", [(1, "fn.resize(sizes=)")]),
        ("fn.rezise(x, size=3)", [(1, "fn.rezise")]),
        ("fn.optical_flaw(x)", [(1, "fn.optical_flaw")]),
        ("dali.fn.readers.fille(file_root='x')", [(1, "fn.readers.fille")]),
        ("types.FLOATS; types.FLOAT", [(1, "types.FLOATS")]),
        ("types.DALIImageType.RGBA", [(1, "types.DALIImageType.RGBA")]),
        ("import nvidia.dali.plugin.nothing.deeper", [(1, "plugin.nothing")]),
        ("from nvidia.dali.nothing import some", [(1, "nothing")]),
        ("from nvidia.dali.fn import resize as r\nr(x, siz=3)", [(2, "fn.resize(siz=)")]),
        ("op = ops.Resize(size=3)\nop(x, nam='y')", [(2, "ops.Resize(nam=)")]),
        ("f = fn\ng = f.random\ng.uniformm()", [(3, "fn.random.uniformm")]),
        (
            "p = Pipeline(3, thread=4)\np.rum()",
            [(1, "pipeline.Pipeline(thread=)"), (2, "Pipeline.rum")],
        ),
        ("with Pipeline(3) as p:\n    p.rum()", [(2, "Pipeline.rum")]),
        ("p: Pipeline = Pipeline(3)\np.my_own = 3\np.my_own", []),
        ("resize = 3\nfn = resize\nfn.anything(x)", []),
        ("def f(fn):\n    fn.anything(some=3)", []),
        ("fn.resize(x, **options)", []),
        ("[fn.nothing(x) for x in y]", [(1, "fn.nothing")]),
        ("lambda types: types.nothing", []),
        ("async def f():\n    fn.nothing()", [(2, "fn.nothing")]),
        (
            "import importlib\nimportlib.import_module('nvidia.dali.fn').nothing",
            [(2, "fn.nothing")],
        ),
        ("import nvidia.cudnn\nnvidia.cudnn.nothing", []),
        ("(a := ops.Resize(size=3))(x, no=3)", [(1, "ops.Resize(no=)")]),
        ("a, (b, *c) = fn, fn\na.nothing", []),
    ],
)
def test_names_are_followed(text: str, wanted: list[tuple[int, str]], tmp_path: Path) -> None:
    report = check(tmp_path, text)
    assert missing(report) == wanted
    assert report.ok == (wanted == [])


def test_pipelines_as_functions(tmp_path: Path) -> None:
    report = check(
        tmp_path,
        """
        @pipeline_def(batch_size=3, thread_count=3)
        def first(folder, size=3):
            return fn.readers.file(file_rot=folder)

        @pipeline_def
        def second(**options):
            pass

        @dali.pipeline.experimental.pipeline_def()
        def third(): pass

        first("x", size=3, num_threads=3, wrong=4).biuld()
        second(anything=3)
        pipe = third(device_id=0)
        pipe.run()
        pipe.nothing
        """,
    )
    assert missing(report) == [
        (1, "pipeline_def(thread_count=)"),
        (3, "fn.readers.file(file_rot=)"),
        (12, "Pipeline.biuld"),
        (12, "pipeline_def(wrong=)"),
        (16, "Pipeline.nothing"),
    ]
    assert {"Pipeline.run", "pipeline_def(num_threads=)"} <= names(report)
    assert "pipeline_def(size=)" not in names(report)


def test_pipelines_as_classes(tmp_path: Path) -> None:
    report = check(
        tmp_path,
        """
        class Base(Pipeline):
            def __init__(self, batch_size):
                super(Base, self).__init__(batch_size, 2, 0, sead=3)
                self.decode = ops.ImageDecoder(device="mixed", outputs=types.RGB)

            def define_graph(self):
                self.helper()
                def inner(fn):
                    return fn.nothing
                return self.decode(self.later, wrong=3), self.not_there

            def helper(self):
                self.later = 3

        class Derived(Base):
            def iter_setup(self):
                self.feed_input("x", [])
                self.helper()
                self.decode

        class Mixed(Base, Other):
            def f(self):
                return self.anything

        Base(3).nothing
        """,
    )
    assert missing(report) == [
        (3, "Pipeline(sead=)"),
        (4, "ops.ImageDecoder(outputs=)"),
        (10, "Pipeline.not_there"),
        (10, "ops.ImageDecoder(wrong=)"),
        (25, "Pipeline.nothing"),
    ]
    assert "Pipeline.feed_input" in names(report)


def test_a_script_may_do_without(tmp_path: Path) -> None:
    report = check(
        tmp_path,
        """
        try:
            import nvidia.dali.plugin.caffe as caffe
        except (ImportError, OSError):
            caffe = None
        caffe.DALIDataset(3)
        try:
            import nvidia.dali.plugin.chainer
        except ValueError:
            pass
        """,
    )
    assert missing(report) == [(7, "plugin.chainer")]
    (optional,) = [one for one in report if one.verdict == "optional"]
    assert (optional.line - 1, optional.what) == (2, "plugin.caffe")


def test_what_to_do_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    resize = operators["resize"]
    old = {"image_type": None, "output_dtype": "dtype"}
    monkeypatch.setattr(resize, "old_arguments", old, raising=False)
    report = check(
        tmp_path,
        "fn.resize(x, image_type=1, output_dtype=2, resize_xx=3)\n"
        "fn.image_decoder(x)\nfn.resise(x)",
    )
    said = {one.what: one.text for one in report if one.verdict != "rare"}
    assert said["fn.resize(image_type=)"] == "it has no effect any more"
    assert said["fn.resize(output_dtype=)"] == "an old name of `dtype`"
    assert said["fn.resize(resize_xx=)"].endswith("did you mean `resize_x`?")
    assert said["fn.image_decoder"].startswith("an old name of fn.decoders.image")
    assert said["fn.resise"] == "did you mean resize?"


def test_a_gpu_that_an_operator_does_not_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gradiva.compat.uses.devices_of", lambda one: ("cpu",))
    report = check(tmp_path, "fn.flip(x, device='gpu')\nfn.flip(x, device='cpu')")
    assert missing(report) == [(1, "fn.flip(device=)")]
    assert report.missing[0].text == "flip has no GPU kernel here: run it on the CPU"
    assert devices_of(operators["flip"]) == ("cpu", "gpu")


def test_differences_are_those_of_the_document(tmp_path: Path) -> None:
    report = check(tmp_path, "fn.random.coin_flip(probability=x)\nfn.random.coin_flip()")
    text = (ROOT / "docs" / "differences.md").read_text("utf-8").splitlines()
    first, second = (one.text for one in report.rare)
    assert "`random.coin_flip(probability=...)` outside 0..1" in first
    assert "probability" not in second
    for row in rows():
        assert text[row.line - 1].startswith(f"| {row.what} |")
    assert {row.line for row in rows()} == {
        number for number, line in enumerate(text, 1) if line.startswith("| ")
    }
    assert rows_about("readers.file", ("random_shuffle",), ()) == []
    (row,) = rows_about("readers.file", ("random_shuffle",), ("random_shuffle",))
    assert "permutation" in row.here


def test_blocks_that_close_a_pipeline(tmp_path: Path) -> None:
    """The row is for scripts with such a block."""
    made = "@pipeline_def(batch_size=2)\ndef training(): pass\n"
    without = check(tmp_path, made + "pipe = training()\npipe.run()")
    assert [one for one in without.differs if "in the block" in one.text] == []
    inside = check(tmp_path, made + "with training() as pipe:\n    pipe.run()")
    (found,) = [one for one in inside.differs if "in the block" in one.text]
    assert (found.line - 1, found.what) == (3, "Pipeline.__enter__")
    assert f"docs/differences.md is {ROOT / 'docs' / 'differences.md'}" in str(inside)


def test_a_row_about_what_is_missing_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = Row(7, "`plugin.of_tests`", "all", "not there yet", "", ("plugin.of_tests",))
    monkeypatch.setattr("gradiva.compat.check_scripts.rows", lambda: (row,))
    report = check(tmp_path, "import nvidia.dali.plugin.of_tests", "")
    assert report.missing[0].text.endswith("(docs/differences.md:7)")


def test_other_imports(tmp_path: Path) -> None:
    everything = check(tmp_path, "from nvidia.dali.types import *\nFLOAT; FLOATS", "")
    assert {one.what for one in everything.there} == {"types.FLOAT"}
    ours = check(tmp_path, "import gradiva\ngradiva.fn.resize(x, sz=3)\ngradiva.nothing", "")
    assert [(one.line, one.what) for one in ours.missing] == [(2, "fn.resize(sz=)"), (3, "nothing")]
    dynamic = "import nvidia.dali.experimental.dynamic as ndd\nndd.readers.File(file_rot='x')"
    (one,) = check(tmp_path, dynamic, "").missing
    assert one.what == "experimental.dynamic.readers.File(file_rot=)"
    assert len(check(tmp_path, "import os\nfrom .nvidia import dali\ndali.fn.nothing", "")) == 0


def test_a_library_that_is_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def without(name: str) -> Any:
        raise ModuleNotFoundError("No module named 'torch'", name="torch")

    monkeypatch.setattr("gradiva.compat.check_scripts.names.look_up", without)
    monkeypatch.setattr("gradiva.compat.check_scripts.names.reason_for", without)
    compat_check = pytest.importorskip("gradiva.compat.check_scripts")
    compat_check._resolve.cache_clear()
    report = check(tmp_path, "import nvidia.dali.plugin", "")
    compat_check._resolve.cache_clear()
    assert report.missing[0].text == "it needs torch, which is not installed"


def test_the_report(tmp_path: Path) -> None:
    report = check(tmp_path, "fn.resize(x, sizes='<b>')\nfn.flip(x)\nfn.flip(x)")
    text = str(report)
    assert "    line 2: fn.resize(sizes=): " in text
    assert "    lines 3, 4: fn.flip" in text
    assert "\033[" not in text
    assert "\033[31mmissing\033[0m:" in report.text(color=True)
    assert "  there:\n" in report.text(everything=True)
    assert text.endswith(report.summary())
    assert report.summary().startswith("1 file, ")
    assert repr(report) == f"<Report: {report.summary()}>"
    table = report._repr_html_()
    assert "<code>fn.resize(sizes=)</code>" in table
    assert "<b>" not in table
    assert (len(report), report[0].verdict) == (len(report.findings), report.findings[0].verdict)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check(tmp_path, "fn.flip(x)")
    (tmp_path / "folder").mkdir()
    wrong = tmp_path / "folder" / "wrong.py"
    wrong.write_text("from nvidia.dali import fn\nfn.nothing()", "utf-8")
    assert main(["check", str(tmp_path / "script.py")]) == 0
    assert "fn.flip" in capsys.readouterr().out
    assert main(["check", str(tmp_path), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["files"] == [str(wrong), str(tmp_path / "script.py")]
    assert found["ok"] is False
    (one,) = [one for one in found["findings"] if one["verdict"] == "missing"]
    assert (one["file"], one["line"], one["name"]) == (str(wrong), 2, "fn.nothing")
    wrong.write_text("if", "utf-8")
    for path, said in ((wrong, "cannot be read"), (tmp_path / "x", "there is no file")):
        assert main(["check", str(path)]) == 1
        assert said in capsys.readouterr().err


def test_nothing_is_run(tmp_path: Path) -> None:
    report = check(tmp_path, "raise SystemExit(3)\nfn.nothing()")
    assert missing(report) == [(2, "fn.nothing")]


@pytest.mark.full
def test_all_names_of_the_list_are_found(tmp_path: Path) -> None:
    """Each operator that users know is there with all arguments."""
    for name, fact in gradiva.compat.dali.facts.facts().items():
        arguments = ", ".join(f"{one}=None" for one in fact.arguments)
        report = check(tmp_path, f"fn.{name}({arguments})")
        assert report.missing == [], name
        assert f"fn.{name}" in names(report)


def test_this_library_is_not_touched() -> None:
    """Looking names up changes no module."""
    before = dir(fn)
    compat.check(ROOT / "tests" / "drop_in" / "unmodified")
    assert dir(fn) == before


def test_rows_about_arguments_that_are_not_given() -> None:
    """A row that names a value of an argument needs that argument; `size` of an iterator is not
    that of `resize`."""

    def lines(name: str, known: tuple[str, ...], *given: str) -> str:
        return "\n".join(row.what for row in rows_about(name, known, given))

    assert "iterator" not in lines("resize", ("size", "mode"), "size").lower()
    assert "ends before" in lines("DALIGenericIterator", (), "size")
    assert lines("DALIGenericIterator", (), "reader_name").count("size=") == 0
    assert "debug=True" not in lines("pipeline_def", (), "batch_size")
    assert "enable_conditionals" not in lines("pipeline_def", (), "batch_size")
    assert "debug=True" in lines("pipeline_def", (), "debug")
    assert "enable_conditionals" in lines("pipeline_def", (), "debug", "enable_conditionals")
