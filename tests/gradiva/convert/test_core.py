"""The core of the converters, with a package of our own in place of others."""

from __future__ import annotations

import io
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import gradiva
from gradiva.convert.core.calls import Name, call, function, written
from gradiva.convert.core.converted import Converted, converted
from gradiva.convert.core.rules import Rules
from gradiva.convert.core.step import Original, Step
from gradiva.convert.core.writer import NoCounterpartError, Writer
from gradiva.eager.support.errors import OperatorRuntimeError, OperatorTypeError, OperatorValueError

Array = np.ndarray[Any, Any]
RULES: Rules[Writer] = Rules("zork")


@RULES.rule("Negative", calls="`255 - images`")
def _negative(writer: Writer, step: Any) -> None:
    writer.step("Negative()", "images = np.uint8(255) - images", original=lambda x: 255 - x)


@RULES.rule("Brighter", calls="`brightness`", exactness="within one step")
def _brighter(writer: Writer, step: Any) -> None:
    line = call("gradiva.brightness", "images", brightness=2.0)
    writer.step("Brighter(2)", f"images = {line}", original=_twice, bound=1.0)
    if step == "bad":
        raise NoCounterpartError("it is bad")


def _twice(image: Array) -> Array:
    made: Array = np.minimum(image.astype(int) * 2 + (image > 100), 255).astype(np.uint8)
    return made


def _same(value: Any) -> Any:
    return value


def zork(
    *names: str, fallback: str | None = None, decode: bool = False, version: str | None = "1.0"
) -> Converted:
    writer = Writer("convert.zork", fallback, RULES.supported())
    for name in names:
        try:
            RULES.write(writer, name.partition(":")[0], name.partition(":")[2])
        except NoCounterpartError as reason:
            writer.without_counterpart(name, str(reason), np.flipud, original=np.flipud)
    whole = Original("zork", lambda: version, _same, lambda value, layout: np.asarray(value))
    return converted("zork's thing", writer, whole, decode)


def noise(*sizes: tuple[int, int]) -> list[Array]:
    draws = np.random.default_rng(1)
    return [draws.integers(0, 256, (*size, 3)).astype(np.uint8) for size in sizes]


def test_values_as_code() -> None:
    values = [None, True, 3, np.float32(0.5), "a b", [1, (2.0,)], Name("x + 1"), np.int64(7)]
    assert list(map(written, values)) == [
        "None",
        "True",
        "3",
        "0.5",
        "'a b'",
        "[1, (2.0,)]",
        "x + 1",
        "7",
    ]
    assert eval(written(float("inf"))) == float("inf")
    for bad in (object(), {"a": 1}, b"x", np.zeros(3)):
        with pytest.raises(TypeError):
            written(bad)


def test_calls_as_code() -> None:
    assert call("f", "x", a=1, b=..., c="y") == 'f(x, a=1, c="y")'
    long = call("f", *["x" * 30] * 3, a=[1, 2])
    assert long == "f(\n" + f"    {'x' * 30},\n" * 3 + "    a=[1, 2],\n)"
    assert function("g", ["x"], ["y = x\nz = y"], "z") == (
        "def g(x):\n    y = x\n    z = y\n    return z"
    )


def test_a_function_of_batches() -> None:
    images = noise((4, 5), (6, 3))
    made = zork("Negative", "Negative")
    assert made.exact
    assert not made.random
    batch = gradiva.batch(images, layout="HWC")
    assert np.array_equal(made(batch).at(1), images[1])
    once = zork("Negative")
    assert np.array_equal(gradiva.capture.compile(once)(batch).at(0), 255 - images[0])
    scope: dict[str, Any] = {}
    exec(once.code(), scope)
    assert np.array_equal(scope["transform"](batch).at(1), 255 - images[1])
    assert str(once) == once.code()
    assert repr(once) == "<zork's thing: 1 step, exact>"
    assert "import numpy as np\n\nimport gradiva\n\n\ndef transform(images):\n" in once.code()


def test_pickles() -> None:
    """The function is compiled again where it arrives."""
    function = Converted("thing", (STEP,), ("images",), WHOLE)
    batch = gradiva.batch(noise((4, 5)), layout="HWC")
    before = function(batch)
    after = pickle.loads(pickle.dumps(function))(batch)
    assert np.array_equal(before.at(0), after.at(0))


def _version() -> str:
    return "1"


def _as_it_is(value: Any, layout: str) -> Array:
    return np.asarray(value)


STEP = Step("Negative()", ("images = np.uint8(255) - images",), objects={})
WHOLE = Original("zork", _version, _same, _as_it_is)


def test_titles_stay_comments() -> None:
    """Whatever text an object has for itself, it is no code."""
    writer = Writer("convert.zork", None, "")
    writer.step('a\nraise ValueError("run")\r\x0bb', "images = images")
    whole = Original("zork", lambda: "1", _same, lambda value, layout: np.asarray(value))
    code = converted("zork", writer, whole, False).code()
    assert '    # a raise ValueError("run") b\n' in code


@pytest.mark.full
def test_report_of_steps(tmp_path: Path) -> None:
    images = noise((8, 9), (5, 5))
    report = zork("Negative", "Brighter").report(images)
    first, second = report.rows
    assert (first.result, first.promise, first.compared) == ("exact", "exact", 2)
    assert (second.largest, second.promise) == (1.0, "within 1")
    assert report.ok
    assert not report.exact
    assert report.largest == report.whole.largest == 1.0
    text = repr(report)
    assert text.startswith("zork's thing on 2 images; zork 1.0\n")
    assert "largest difference 1" in text
    report.save(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text("utf-8")
    assert page.count("data:image/png;base64,") == 6  # both results and the difference, twice
    assert "Brighter(2)" in page
    assert "<table>" in report._repr_html_()
    assert "white is 1" in page


def test_a_broken_promise() -> None:
    writer = Writer("convert.zork", None, "")
    writer.step("Nothing()", "images = images", original=lambda x: x + np.uint8(3))
    whole = Original("zork", lambda: "1", _same, lambda value, layout: np.asarray(value))
    report = converted("zork", writer, whole, False).report(noise((3, 3)))
    assert not report.ok
    assert "promised: exact" in repr(report)
    writer.steps.clear()
    writer.step("Smaller()", "images = images", original=lambda x: x[1:])
    report = converted("zork", writer, whole, False).report(noise((3, 3)))
    assert not report.ok
    assert "(3, 3, 3), the original has uint8 (2, 3, 3)" in report.rows[0].result


def test_images_of_reports(tmp_path: Path) -> None:
    (pixels,) = noise((6, 7))
    picture = Image.fromarray(pixels)
    buffer = io.BytesIO()
    picture.save(buffer, "PNG")
    picture.save(tmp_path / "a.png")
    (tmp_path / "notes.txt").write_text("no image")
    gray = pixels[..., 0]
    made = zork("Negative")
    given: list[Any] = [
        pixels,
        gray,
        gray[..., None],
        picture,
        picture.convert("L"),
        buffer.getvalue(),
        tmp_path / "a.png",
        str(tmp_path),
        gradiva.batch([pixels], layout="HWC"),
        gradiva.tensor(pixels, layout="HWC"),
        np.stack([pixels, pixels]),
    ]
    for one in given:
        assert made.report(one).exact
        assert zork("Negative", decode=True).report(one).exact
    assert made.report(given[:7]).images[6] == "a.png"
    assert len(made.report([pixels] * 5, limit=2).images) == 2
    with pytest.raises(OperatorTypeError, match="images of Pillow"):
        made.report([3])
    with pytest.raises(OperatorTypeError, match="images of Pillow"):
        made.report(pixels.astype(np.float32))
    with pytest.raises(OperatorValueError, match="at least one image"):
        made.report([])
    with pytest.raises(OperatorRuntimeError, match="pip install zork"):
        zork("Negative", version=None).report(pixels)


def test_steps_without_counterpart() -> None:
    with pytest.raises(OperatorTypeError, match=r"step 2, Flip, has no counterpart.*Brighter"):
        zork("Negative", "Flip")
    with pytest.raises(OperatorTypeError, match=r"Brighter:bad, has no counterpart: it is bad"):
        zork("Brighter:bad")
    with pytest.raises(OperatorValueError, match="`fallback`"):
        zork("Negative", fallback="zork")
    made = zork("Negative", "Flip", fallback="python")
    images = noise((4, 5), (6, 3))
    batch = gradiva.batch(images, layout="HWC")
    assert np.array_equal(made(batch).at(1), 255 - images[1][::-1])
    assert [step.python for step in made.steps] == [False, True]
    assert made.report(images).ok
    assert "in part in Python" in repr(made)
    assert "def transform(images, *, python_step):" in made.code()
    scope: dict[str, Any] = {}
    exec(made.code(), scope)
    assert np.array_equal(scope["transform"](batch, **made.objects).at(0), 255 - images[0][::-1])


def test_errors_name_the_line_of_the_user() -> None:
    with pytest.raises(OperatorTypeError) as caught:
        zork("Brighter")(gradiva.batch([np.zeros(3, np.uint8)]))
    assert "test_core.py" in str(caught.value)
