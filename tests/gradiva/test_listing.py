"""`gradiva ops`: the operators by field and by name, and one of them; and `help(gradiva)`."""

from __future__ import annotations

import inspect
import pydoc
import re

import pytest

import gradiva
from docs.site.registry import known
from gradiva.__main__ import main
from gradiva.commands.fields import FIELDS, by_field, field_of
from gradiva.eager.support.lazy_names import ELSEWHERE


def test_every_operator_has_a_field() -> None:
    ours = [one for one in known().values() if one.__module__.startswith("gradiva.")]
    fields = by_field(ours)
    assert [*fields] == [title for title in FIELDS if title != "Your own operators"]
    assert sorted(one.name for several in fields.values() for one in several) == sorted(
        one.name for one in ours
    )
    titles = {
        name: field_of(known()[name].__module__) for name in ("resize", "decoders.audio", "jitter")
    }
    assert titles == {
        "resize": "Images: sizes and windows",
        "decoders.audio": "Audio",
        "jitter": "Images: geometry",
    }


def test_by_field(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ops"]) == 0
    lines = capsys.readouterr().out.splitlines()
    places = {line.split()[0]: place for place, line in enumerate(lines) if line.startswith("  ")}
    assert lines.index("Images: color and intensity") < places["brightness"]
    assert places["brightness"] < lines.index("Audio") < places["spectrogram"]
    assert lines[places["flip"]].endswith("  Mirror each sample along the chosen axes.")
    assert "pad_channels" not in places


def test_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ops", "--by-name"]) == 0
    lines = capsys.readouterr().out.splitlines()
    names = [line.split()[0] for line in lines if line[:1].isalpha()]
    assert names == sorted(names)
    after = lines[next(i for i, line in enumerate(lines) if line.startswith("flip ")) + 1]
    assert after.strip() == "(horizontal*=1, vertical*=0, depthwise*=0)"


def test_one_operator(capsys: pytest.CaptureFixture[str]) -> None:
    """Its documentation is what `help` shows."""
    assert main(["ops", "flip"]) == 0
    printed = capsys.readouterr().out
    assert inspect.getdoc(gradiva.flip) in printed  # type: ignore[operator]
    assert "gradiva.flip(images, horizontal=gradiva.random.coin_flip(batch_size=2))" in printed


@pytest.mark.parametrize("name", ["numba_function", "fn.numba_function", "gradiva.numba_function"])
def test_an_operator_of_a_plugin(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Its page says where it is imported from."""
    assert main(["ops", name]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("numba_function: 1 to 64 inputs, on the CPU")
    assert "from gradiva.plugin.numba.fn.experimental import numba_function" in printed


@pytest.mark.parametrize("name", [*ELSEWHERE])
def test_a_function_of_a_plugin(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """`gradiva ops` and an attribute that is not there say its path, and it is there."""
    place = ELSEWHERE[name]
    if main(["ops", name]) != 0:
        assert f"it is a function: help({place})" in capsys.readouterr().err
    for module in (gradiva, gradiva.fn):
        if place != f"{module.__name__}.{name}":
            with pytest.raises(AttributeError, match=re.escape(f"; it is {place}")):
                getattr(module, name)


def test_a_name_that_is_nowhere() -> None:
    with pytest.raises(AttributeError, match="; `gradiva ops` lists all operators"):
        _ = gradiva.fn.resise  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["readers.File", "gradiva.readers.File", "ops.readers.File"])
def test_a_class_of_dynamic_mode(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ops", name]) == 0
    assert capsys.readouterr().out.startswith("readers.file: 0 inputs")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("show", "there is no operator 'show'; it is a function: help(gradiva.show)"),
        ("gradiva.Tensor", "it is a class: help(gradiva.Tensor)"),
        ("readers.Fil", "there is no operator 'readers.Fil'; did you mean readers.file"),
        ("readers.File.nothing", "there is no operator 'readers.File.nothing'"),
    ],
)
def test_no_operator(name: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ops", name]) != 0
    assert words in capsys.readouterr().err


def test_help_of_the_package_says_where_to_go() -> None:
    text = pydoc.plain(pydoc.render_doc(gradiva))
    opening = text.partition("PACKAGE CONTENTS")[0]
    assert len(opening.splitlines()) < 30
    for way in ("gradiva.readers.File(", "tutorials/", "docs/", "gradiva ops", "gradiva demo"):
        assert way in opening
