"""The check of scripts: differences by the values of arguments, and rare ones apart."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

from gradiva import compat
from gradiva.compat.conditions import UNKNOWN, Symbol, any_holds, conditions_in, value_of
from gradiva.compat.differences import rows

HEAD = "from nvidia.dali import fn, types, pipeline_def; from nvidia.dali.plugin import pytorch\n"


def check(folder: Path, text: str) -> compat.Report:
    path = folder / "script.py"
    path.write_text(HEAD + text, "utf-8")
    return compat.check(path)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3),
        ("-2.5", -2.5),
        ("(1, 2)", (1, 2)),
        ("'x'", "x"),
        ("None", None),
        ("types.FLOAT", Symbol("FLOAT")),
        ("[types.FLOAT, 1]", [Symbol("FLOAT"), 1]),
        ("[x, 1]", [UNKNOWN, 1]),
        ("0.5 * 255", UNKNOWN),
        ("f(3)", UNKNOWN),
        ("x", UNKNOWN),
    ],
)
def test_values_of_scripts(text: str, value: Any) -> None:
    assert value_of(ast.parse(text, mode="eval").body) == value


@pytest.mark.parametrize(
    ("row", "met", "not_met"),
    [
        ("`coin_flip(p=...)` outside 0..1", [-0.5, 2, UNKNOWN], [0, 0.5, 1]),
        ("`crop`, `p` between 0 and 1, everywhere", [0.5, (0.25, 9), UNKNOWN], [0, 1, (9, 9)]),
        ("`f`: `p` below 1 or NaN", [0, float("nan"), [2, 0]], [1, 3, [2, 2]]),
        ("`f`: `p` of 0 or less", [0, -1], [1]),
        ("`f`: `p` or `q` of 0", [0, [0, 1]], [4, [1, 1]]),
        ("`p` of one number, `q` of 0", [0.5, UNKNOWN], [(0.5, 1), [1, 2]]),
        ("`f`: 0 as `p`; infinite numbers", [0, UNKNOWN], [10.0]),
        ("`f`: `p` other than RGB", [Symbol("BGR"), UNKNOWN], [Symbol("RGB")]),
        ('`f` by 45 degrees, `p` "fixed" or "halfway"', ["fixed", UNKNOWN], ["expand"]),
        ("`f`: `p=[]`", [[], UNKNOWN], [[1.0], [UNKNOWN, UNKNOWN]]),
        ("`f(p=True)` that nobody reads", [True, UNKNOWN], [False]),
        ("`f(p=INTERP_NN)` with a region", [Symbol("INTERP_NN")], [Symbol("INTERP_CUBIC")]),
        ("`p`", [True, "words", UNKNOWN], [False, None]),
    ],
)
def test_words_about_values(row: str, met: list[Any], not_met: list[Any]) -> None:
    conditions = [one for one in conditions_in(row) if one.argument == "p"]
    for value in met:
        assert any_holds(conditions, {"p": value}), value
    for value in not_met:
        assert not any_holds(conditions, {"p": value}), value
    assert not any_holds(conditions, {"other": 3})


def test_all_rows_can_be_read() -> None:
    """Tests of values raise for no value."""
    values = [0, -1.5, "x", (1, 2), [UNKNOWN], {}, Symbol("RGB"), UNKNOWN, None, float("nan")]
    for row in rows():
        for condition in row.conditions:
            for value in values:
                any_holds([condition], {condition.argument: value})


def lines(report: compat.Report, verdict: str) -> str:
    return "\n".join(one.text for one in report if one.verdict == verdict)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("fn.resize(x, size=4, roi_start=a, roi_end={})", "a region"),
        ("fn.resize(x, size=4, interp_type={})", "GAUSSIAN"),
        ("fn.random.coin_flip(probability={})", "outside 0..1"),
        ("fn.crop(x, crop=4, crop_h={})", "between 0 and 1"),
        ("fn.noise.shot(x, factor={})", "factor=0"),
        ("fn.readers.file(file_root='x', random_shuffle={})", "random_shuffle"),
        ("pytorch.DALIClassificationIterator(p, last_batch_policy={})", "`PARTIAL`"),
        ("pipeline_def(debug={})", "debug"),
    ],
)
def test_only_values_that_differ(call: str, words: str, tmp_path: Path) -> None:
    met = {
        "a region": "end",
        "GAUSSIAN": "types.INTERP_GAUSSIAN",
        "outside 0..1": "1.5",
        "between 0 and 1": "0.5",
        "factor=0": "0",
        "random_shuffle": "True",
        "`PARTIAL`": "pytorch.LastBatchPolicy.PARTIAL",
        "debug": "True",
    }[words]
    others = {
        "a region": "None",
        "GAUSSIAN": "types.INTERP_CUBIC",
        "outside 0..1": "0.5",
        "between 0 and 1": "30",
        "factor=0": "20",
        "random_shuffle": "False",
        "`PARTIAL`": "pytorch.LastBatchPolicy.FILL",
        "debug": "False",
    }[words]
    found = check(tmp_path, call.format(met))
    assert words in lines(found, "differs") + lines(found, "rare")
    found = check(tmp_path, call.format(others))
    assert words not in lines(found, "differs") + lines(found, "rare")


def test_rare_differences_stand_apart(tmp_path: Path) -> None:
    report = check(
        tmp_path,
        "fn.resize(x, size=(4, 4))\nfn.decoders.image(x)\nfn.crop(x, crop=(9, 9))\n"
        "fn.readers.file(file_root='x', random_shuffle=True)",
    )
    differs, rare = lines(report, "differs"), lines(report, "rare")
    assert "to integers" in differs
    assert "`random_shuffle`" in differs
    for words in ("NaN as a size", "layouts", "2-D input", "bool samples"):
        assert words in rare
        assert words not in differs
    text = report.text()
    assert text.index("  differs:") < text.index("  rare (") < text.index("  there:")
    assert report.rare
    assert {one.name for one in report.rare} >= {"fn.decoders.image", "fn.crop"}
    assert ": 0 missing, 2 differ, " in report.summary()
    assert "fn.decoders.image" in text[text.index("  there:") :]


def test_a_few_rows_of_each_kind() -> None:
    kinds: dict[bool, str] = {
        rare: "\n".join(row.what for row in rows() if row.rare is rare) for rare in (False, True)
    }
    for what in (
        "`pipeline_def(debug=True)`",
        "`random_shuffle`",
        "`normalize`: accuracy",
        "`audio_resample` to unsigned types",
        "iterators, `DROP`",
        "`hue`, `hsv`, `color_twist`",
    ):
        assert what in kinds[False]
    for what in (
        "`brightness_contrast`: dtypes",
        "`flip`: dtypes and layouts",
        "`clahe`: layout HW",
        "`crop_mirror_normalize`: `mean=[]`",
        "`sphere` of one pixel",
        "`decoders.audio`: MP3",
    ):
        assert what in kinds[True]


def test_each_row_is_read_alone() -> None:
    for row in rows():
        assert not row.what.startswith(("the same", "its ")), row.place


def test_dynamic_mode(tmp_path: Path) -> None:
    words = "the last batch of an epoch in dynamic mode"
    call = "readers.{}(file_root='x', file_list='y'{})"
    report = check(tmp_path, "fn." + call.format("file", ""))
    assert words not in lines(report, "differs")
    dynamic = "import nvidia.dali.experimental.dynamic as ndd\nndd."
    report = check(tmp_path, dynamic + call.format("File", ""))
    assert words in lines(report, "differs")
    report = check(tmp_path, dynamic + call.format("File", ", pad_last_batch=True"))
    assert words not in lines(report, "differs")
