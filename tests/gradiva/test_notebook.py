"""Help, completion and errors as a notebook shows them."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import gradiva
import gradiva.ops.readers.core.progress
from gradiva.eager.operators.operator import operators
from gradiva.eager.support.errors import GradivaError
from gradiva.ops.math.arithmetic import Arithmetic

IMAGES = gradiva.as_batch(np.zeros((2, 8, 8, 3), np.uint8), layout="HWC")


def public() -> Iterator[tuple[str, Any]]:
    """Every callable of the dynamic and of the pipeline API."""
    modules: list[ModuleType] = [
        gradiva,
        gradiva.fn,
        gradiva.fn.readers,
        gradiva.fn.random,
        gradiva.fn.decoders,
        gradiva.readers,
        gradiva.random,
        gradiva.decoders,
        gradiva.math,
        gradiva.ops,
    ]
    for module in modules:
        for name in dir(module):
            value = getattr(module, name)
            if not name.startswith("_") and callable(value):
                yield f"{module.__name__}.{name}", value
    for kind in (gradiva.Batch, gradiva.Tensor):
        for name in dir(kind):
            if not name.startswith("_") and callable(getattr(kind, name)):
                yield f"{kind.__name__}.{name}", getattr(kind, name)


def test_no_signature_hides_arguments() -> None:
    hidden = []
    for name, value in public():
        parameters = inspect.signature(value).parameters.values()
        if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
            hidden.append(name)
    assert hidden == []


@pytest.mark.parametrize(
    ("value", "names", "absent"),
    [
        (gradiva.resize, ["input", "size", "interp_type", "device"], ["seed", "rng", "common"]),
        (gradiva.fn.resize, ["input", "resize_shorter", "name"], ["common"]),
        (gradiva.random.uniform, ["range", "shape", "batch_size", "rng"], []),
        (gradiva.fn.random.uniform, ["range", "seed"], []),
        (gradiva.readers.File, ["max_batch_size", "file_root", "random_shuffle"], ["batch_size"]),
        (gradiva.ops.Resize, ["size", "device"], ["input"]),
        (gradiva.ops.Resize(size=(2, 2)), ["input", "size"], ["self", "keywords"]),
        (gradiva.resize.__call__, ["input", "size"], ["kwargs"]),
        (gradiva.imread, ["filepaths", "output_type", "on_error"], ["options"]),
        (gradiva.pipeline_def, ["fn", "batch_size", "num_threads"], ["pipeline_kwargs"]),
        (
            gradiva.show,
            [
                "batch",
                "boxes",
                "labels",
                "masks",
                "columns",
                "size",
                "sample_rate",
                "window_step",
                "frequencies",
            ],
            [],
        ),
    ],
)
def test_signatures(value: Any, names: list[str], absent: list[str]) -> None:
    parameters = inspect.signature(value).parameters
    assert set(names) <= set(parameters)
    assert not set(absent) & set(parameters)


def test_annotations_read_well() -> None:
    text = str(inspect.signature(gradiva.flip))
    assert text.startswith("(input: Batch, /, *, horizontal: IntArg = 1, ")
    assert text.endswith(") -> Batch")
    assert "SampleType" not in text


def test_the_common_arguments_of_signatures_are_those_that_are_taken() -> None:
    for name, operator in operators.items():
        if not callable(operator):
            continue
        keywords = {
            parameter.name
            for parameter in inspect.signature(operator).parameters.values()
            if parameter.kind is parameter.KEYWORD_ONLY
        }
        assert operator.shown_common <= keywords, name
        assert operator.shown_common <= operator.common, name
        if not isinstance(operator, Arithmetic):  # those take none
            hidden = operator.common - operator.shown_common - operator.arguments.keys()
            assert hidden <= {"seed", "batch_size"}, name


def wrong() -> Any:
    return gradiva.flip(IMAGES, horizontl=1)  # type: ignore[call-overload]


def rendered(error: GradivaError) -> str:
    return "\n".join(error._render_traceback_())


def test_the_users_line_comes_first() -> None:
    with pytest.raises(gradiva.OperatorTypeError) as caught:
        wrong()
    lines = caught.value._render_traceback_()
    number = wrong.__code__.co_firstlineno + 1
    assert lines[0] == f"{__file__}, line {number}, in wrong"
    assert lines[2].startswith(f"----> {number}     return gradiva.flip(IMAGES, horizontl=1)")
    assert lines[3] == ""
    assert lines[4] == (
        "ArgumentNameError: flip: there is no argument `horizontl`; did you mean `horizontal`?"
    )
    assert lines[6].startswith(f"called from {__file__}, line ")
    assert lines[6].endswith(": wrong()")
    assert len(lines) == 7


def test_pipelines_and_readers() -> None:
    @gradiva.pipeline_def(batch_size=2, num_threads=1, device_id=None)
    def pipe() -> Any:
        data = gradiva.fn.external_source(lambda: np.zeros((2, 4, 4, 3), np.uint8))
        return gradiva.fn.crop(data, croop=[1, 1])  # type: ignore[call-overload]

    with pytest.raises(GradivaError) as caught:
        pipe()
    text = rendered(caught.value)
    assert "crop=" not in text
    assert text.index("croop=[1, 1]") < text.index("did you mean `crop`?")
    assert text.splitlines()[-1].endswith(": pipe()")
    assert str(Path(gradiva.__file__).parent) not in text
    assert "/eager/" not in text
    with pytest.raises(GradivaError) as caught:
        gradiva.readers.File(file_rot="x")  # type: ignore[call-arg]
    assert "----> " in rendered(caught.value).splitlines()[3]
    assert "operator.py" not in rendered(caught.value)


def test_an_error_while_a_pipeline_runs_shows_the_line_of_its_definition() -> None:
    @gradiva.pipeline_def(batch_size=2, num_threads=1, device_id=None)
    def pipe() -> Any:
        data = gradiva.fn.external_source(lambda: np.zeros((2, 4, 4, 3), np.uint8), layout="HWC")
        return gradiva.fn.crop(data, crop=[9, 9])

    made = pipe()
    made.build()
    with pytest.raises(GradivaError) as caught:
        made.run()
    lines = caught.value._render_traceback_()
    assert lines[0].endswith("in pipe")
    assert lines[3].endswith("return gradiva.fn.crop(data, crop=[9, 9])")
    assert any(line.endswith(": made.run()") for line in lines)
    assert len(lines) <= 10


def test_what_the_users_own_function_raised_is_shown() -> None:
    def half(array: Any) -> Any:
        return array / undefined  # type: ignore[name-defined]  # noqa: F821

    with pytest.raises(GradivaError) as caught:
        gradiva.python_function(IMAGES, function=half)
    text = rendered(caught.value)
    assert "caused by NameError" in text
    assert "return array / undefined" in text
    assert text.index("gradiva.python_function(IMAGES") < text.index("caused by")


def test_errors_without_a_place() -> None:
    assert GradivaError("no place")._render_traceback_() == ["GradivaError: no place"]
    deep = GradivaError("deep")

    def down(depth: int) -> None:
        if depth:
            down(depth - 1)
        raise deep

    with pytest.raises(GradivaError):
        down(20)
    lines = deep._render_traceback_()
    assert lines[-1] == "... and 15 more calls"
    assert len(lines) < 15


SCRIPT = """
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance(colors="nocolor")
shell.run_cell("import gradiva, numpy as np", store_history=True)
shell.run_cell("a = gradiva.as_batch(np.zeros((2, 8, 8, 3), np.uint8))", store_history=True)
shell.run_cell("gradiva.flip(a, horizontl=1)", store_history=True)
print("=====")
shell.run_line_magic("xmode", "Verbose")
shell.run_cell("gradiva.flip(a, horizontl=1)", store_history=True)
print("=====")
shell.run_cell("r = gradiva.show(np.zeros((4, 4, 3), np.uint8))", store_history=True)
data, _ = shell.display_formatter.format(shell.user_ns["r"])
print(sorted(data))
for text in ("gradiva.resize(a, resiz", "gradiva.readers.File(random_", "gradiva.ops.Flip(vert",
             "gradiva.random.uniform(ran", "gradiva.flip(a, devi"):
    with provisionalcompleter():
        print([found.text for found in shell.Completer.completions(text, len(text))])
"""


@pytest.mark.full
def test_in_ipython(tmp_path: Path) -> None:
    pytest.importorskip("IPython")
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
        env={**os.environ, "IPYTHONDIR": str(tmp_path)},
    )
    short, whole, rest = run.stdout.split("=====\n")
    assert short == (
        "Cell In[3], line 1\n----> 1 gradiva.flip(a, horizontl=1)\n\n"
        "ArgumentNameError: flip: there is no argument `horizontl`; did you mean `horizontal`?\n"
    )
    assert "operator.py" in whole
    assert rest.splitlines() == [
        "['image/png', 'text/html', 'text/plain']",
        "['resize_longer=', 'resize_shorter=', 'resize_x=', 'resize_y=', 'resize_z=']",
        "['random_shuffle=']",
        "['vertical=']",
        "['range', 'range=']",
        "['device=']",
    ]


def test_no_operator_without_inputs_is_an_error_of_python() -> None:
    for operator in (gradiva.flip, gradiva.decoders.image, gradiva.fn.resize, gradiva.cat):
        with pytest.raises(gradiva.OperatorTypeError, match=r"expected .* inputs?, got 0"):
            operator()  # type: ignore[call-overload]


def test_the_place_of_a_cause_is_shown_once() -> None:
    with pytest.raises(GradivaError) as caught:
        gradiva.python_function(IMAGES, function=lambda image: 1 / 0)
    assert "  File " in str(caught.value)
    assert "  File " not in rendered(caught.value)
    assert rendered(caught.value).count("----> ") == 2


def test_pipelines_and_loops_show_themselves(photographs: Path) -> None:
    @gradiva.pipeline_def(batch_size=2, num_threads=1, device_id=None)
    def training() -> Any:
        files, _ = gradiva.fn.readers.file(file_root=str(photographs))
        return gradiva.flip(gradiva.decoders.image(files))

    pipe = training()
    assert "training: batch_size=2, not built" in str(pipe._repr_svg_())
    with pipe:
        pipe.build()
        assert "training: batch_size=2, built" in str(pipe._repr_svg_())
    assert gradiva.Pipeline(batch_size=2, num_threads=1, device_id=None)._repr_svg_() is None
    loop = gradiva.readers.File(file_root=str(photographs)).next_epoch(2, capture=True)
    assert repr(loop) == "<captured loop over readers.file: nothing has run yet>"


def test_progress_without_ipywidgets(
    photographs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """tqdm, asked for its notebook bar, warns where ipywidgets is missing; here a warning fails."""
    for name in [name for name in sys.modules if name in ("tqdm.auto", "tqdm.autonotebook")]:
        monkeypatch.delitem(sys.modules, name)
    vars(gradiva.ops.readers.core.progress.tqdm).pop("tqdm", None)
    reader = gradiva.readers.File(file_root=str(photographs))
    assert len(list(reader.next_epoch(batch_size=4, progress=True))) == 2
    assert "readers.file: 100%" in capsys.readouterr().err
