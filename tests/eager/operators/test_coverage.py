"""Promise: every host operator of DALI's list is here, with every argument."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradiva
from building.make_facts import facts as parsed
from gradiva.__main__ import main
from gradiva.compat.dali.facts import Fact, facts, operator_of, reached
from gradiva.eager.operators.arguments import is_edge
from gradiva.eager.operators.cases import Case
from gradiva.eager.operators.operator import OperatorBase
from gradiva.eager.types.dtypes import DType
from gradiva.eager.values.batch import Batch
from gradiva.extension.modes import outputs_of
from gradiva.ops.readers.core.source import SourceOperator
from tests.tiers import SLOW_OPERATORS, few

HERE = list(facts())

HOST_ONLY = {"decoders.inflate", "optical_flow"}
"""What the list has on a GPU too, and this package does not yet."""

_FAMILY = (
    "resize",
    "experimental.resize",
    "readers.video_resize",
    "resize_crop_mirror",
    "tensor_resize",
)
_CROPS = ("crop", "crop_mirror_normalize", "decoders.image_crop", "resize_crop_mirror")
DEFAULTS: list[tuple[tuple[str, ...], tuple[str, ...], str]] = [
    (_CROPS, ("crop_d", "crop_h", "crop_w"), "0 means not given: `crop`, or the whole extent"),
    (
        _FAMILY,
        ("resize_x", "resize_y", "resize_z", "resize_shorter", "resize_longer"),
        "0 means not given",
    ),
    (_FAMILY, ("mode",), "not given beside resize_shorter and resize_longer, which set a mode"),
    (
        (*_FAMILY, "random_resized_crop"),
        ("interp_type", "min_filter", "mag_filter"),
        "linear unless one of the others was given",
    ),
    (
        tuple(f"decoders.image{kind}" for kind in ("", "_crop", "_slice", "_random_crop")),
        ("hw_decoder_load",),
        "0.65, but 1 on a GPU with many JPEG engines",
    ),
    (("contrast", "brightness_contrast"), ("contrast_center",), "half of the input's range"),
    (("gaussian_blur",), ("sigma", "window_size"), "0 means not given: made from the other"),
    (("laplacian",), ("scale",), "1, or what `normalized_kernel` says"),
    (("one_hot",), ("axis",), "the last, but none for scalars in a vector"),
    (("random.uniform",), ("range",), "(-1, 1) unless `values` are given"),
    (
        ("random_bbox_crop",),
        ("allow_no_crop", "aspect_ratio", "scaling", "ltrb", "total_num_attempts"),
        "the same without `crop_shape` and `bbox_layout`, which exclude them; -1 is no limit",
    ),
    (("segmentation.random_mask_pixel",), ("threshold",), "0, unless `value` is given"),
    (("segmentation.random_object_bbox",), ("background",), "0, unless `classes` hold it"),
    (("slice", "decoders.image_slice"), ("axes", "axis_names"), "WH; one excludes the other"),
    (("erase",), ("axes", "axis_names"), "HW where there is a layout; one excludes the other"),
    (
        ("erase",),
        ("normalized", "normalized_anchor", "normalized_shape"),
        "false; see `normalized`",
    ),
    (("cat",), ("axis",), "0, unless `axis_name` is given"),
    (("to_decibels",), ("reference",), "not given: the largest value"),
    (("nonsilent_region",), ("reference_power",), "not given: the largest power"),
    (("noise.shot",), ("factor",), "12 is what the reference does; its list says 20"),
    (("debayer",), ("algorithm",), "what the reference does on the host where it is not given"),
]
"""Defaults that are not those of the list: operators, arguments, and why."""

CALLED: list[tuple[tuple[str, ...], tuple[str, ...], str]] = [
    (("decoders.video", "experimental.readers.video"), ("pad_mode",), "one for all samples"),
    (("readers.mxnet",), ("index_path",), "may be left out: the file is scanned"),
    (
        ("readers.numpy",),
        tuple(f"{rel}roi_{end}" for rel in ("", "rel_") for end in ("start", "end", "shape")),
        "what differs per sample is cut by `slice`: readers have no inputs",
    ),
]
"""Arguments that are given in other ways than in the list: operators, arguments, and why."""
ON_CPU = ("experimental.readers.fits", "readers.numpy")
"""Readers that write to the host's memory only: a copy to the GPU is one call."""

DEEP = {"python_function", "external_source"}
PER_SAMPLE = [name for name in HERE if name not in DEEP]


def exception(operator: str, argument: str, listed: Any = DEFAULTS) -> bool:
    return any(operator in one and argument in other for one, other, _ in listed)


def found(name: str) -> OperatorBase:
    operator = operator_of(reached(name))
    assert operator is not None, f"fn.{name} is missing"
    return operator


def test_no_operator_is_missing() -> None:
    assert [name for name in HERE if operator_of(reached(name)) is None] == []
    # On the host too, although DALI has them on the GPU alone.
    for name in ("remap", "median_blur", "dilate", "erode"):
        assert facts()[f"experimental.{name}"].devices == ("gpu",)
        assert f"experimental.{name}" in HERE


@pytest.mark.parametrize("name", few(HERE, every=8))
def test_operator(name: str) -> None:
    """Under both of its names, on the CPU, with as many inputs, and with every argument."""
    fact, operator = facts()[name], found(name)
    assert operator.kernels.get("cpu") or operator.view_rule or isinstance(operator, SourceOperator)
    dynamic: Any = gradiva
    for part in fact.dynamic.split(".") if fact.dynamic != "-" else ():
        dynamic = getattr(dynamic, part)
    if not isinstance(operator, SourceOperator):
        assert (operator.min_inputs, operator.max_inputs) == fact.inputs
    assert fact.arguments.keys() <= operator.arguments.keys()
    for key, given in fact.arguments.items():
        argument = operator.arguments[key]
        if exception(name, key, CALLED):
            continue
        assert argument.per_sample == given.per_sample, key
        assert argument.required == given.required, key
        if not exception(name, key):
            assert plain(argument.default) == plain(given.default), key


def plain(value: Any) -> Any:
    """A default in one spelling. An empty list is nothing given; equal numbers are one."""
    if isinstance(value, DType):
        return float(value.value)
    if isinstance(value, list | tuple):
        items = tuple(plain(item) for item in value)
        return items[0] if len(set(items)) == 1 else items or None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    return float(f"{value:.5g}")


def test_exceptions_are_needed() -> None:
    for names, arguments, _ in DEFAULTS:
        for name in names:
            fact, operator = facts()[name], found(name)
            for key in fact.arguments.keys() & set(arguments):
                ours, theirs = operator.arguments[key].default, fact.arguments[key].default
                assert plain(ours) != plain(theirs), (name, key)


def rows(value: Any, size: int, vector: bool) -> Any:
    """The value once for each sample."""
    return [list(value) if vector and isinstance(value, tuple | list) else value] * size


def per_sample_cases(name: str, fact: Fact) -> list[tuple[Case, str, Any]]:
    """For each argument marked per sample: a case, and a value that holds for all samples."""
    operator, chosen = found(name), []
    cases = [case for case in operator.case_maker() if case.raises is None]  # type: ignore[misc]
    for key, given in fact.arguments.items():
        argument = operator.arguments[key]
        if not given.per_sample or exception(name, key, CALLED):
            continue
        for case in cases:
            value = case.arguments.get(key)
            if value is not None and not is_edge(argument, value):
                sizes = [len(one) for one in case.inputs if isinstance(one, Batch)]
                if not sizes or sizes[0]:
                    chosen.append((case, key, argument.static(value)))
                    break
        else:
            if argument.default is not None and cases:
                chosen.append((cases[0], key, argument.default))
    return chosen


@pytest.mark.parametrize("name", few(PER_SAMPLE, *sorted({*PER_SAMPLE} - SLOW_OPERATORS)[::6]))
def test_per_sample(name: str) -> None:
    """An argument marked `*`, given once for each sample, does what one value for all does."""
    operator: Any = found(name)
    if isinstance(operator, SourceOperator):
        return
    for case, key, value in per_sample_cases(name, facts()[name]):
        argument = operator.arguments[key]
        sizes = [len(one) for one in case.inputs if isinstance(one, Batch)]
        keywords = {**case.arguments, **({"seed": 5} if operator.random else {})}
        size = sizes[0] if sizes else keywords.get("batch_size", 2)
        if not sizes:
            keywords["batch_size"] = size
        if argument.kind.shaped:
            given: Any = gradiva.as_batch(rows(np.float32(value), size, False))
        else:
            given = gradiva.as_batch(
                np.asarray(rows(value, size, argument.kind.vector), argument.kind.element)
            )
        try:
            together = outputs_of(operator(*case.inputs, **{**keywords, key: value}))
        except gradiva.GradivaError:  # a default that is not given where others are
            continue
        apart = outputs_of(operator(*case.inputs, **{**keywords, key: given}))
        for left, right in zip(together, apart, strict=True):
            assert left.type.dtype == right.type.dtype, key
            assert left.shape == right.shape, key
            for one, other in zip(left, right, strict=True):
                np.testing.assert_array_equal(np.asarray(one), np.asarray(other), key)


def test_the_list_is_parsed() -> None:
    text = (
        "# head\n\n"
        "- `fn.a.b` | `a.B` | cpu gpu | in 1..2 | out 1 | stateful random | "
        "x:float!*, y:int32_vec=[1, 0, ], z:string='a, b', w:bool=False, v:data_type\n"
        "- `fn.c` | `-` | gpu | in 0 | out 2 | - | \n\n"
        "Deprecated names that still resolve (thin aliases): fn.old, fn.d.old\n"
    )
    made = parsed(text)
    assert made["deprecated"] == ["old", "d.old"]
    assert made["operators"]["a.b"]["inputs"] == [1, 2]
    assert made["operators"]["a.b"]["arguments"] == {
        "x": ["float!*"],
        "y": ["int32_vec", [1, 0]],
        "z": ["string", "a, b"],
        "w": ["bool", False],
        "v": ["data_type"],
    }
    assert made["operators"]["c"]["arguments"] == {}
    assert len(facts()) == 132


def test_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ops", "--coverage"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(facts()) + 2
    for name, line in zip(facts(), lines, strict=False):
        assert line.split()[0] == name
        assert not line.endswith(" missing")
    assert lines[-1].startswith(f"{len(HERE)} of {len(facts())} operators")
    assert main(["ops", "--coverage", "flip"]) == 0
    assert "cpu gpu | arguments 3 of 3: depthwise" in capsys.readouterr().out
    assert {line.split()[0] for line in lines if "(not gpu)" in line} == {*HOST_ONLY, *ON_CPU}
    others = [line.split()[0] for line in lines if "(not" in line and "(not gpu)" not in line]
    assert others == ["experimental.inputs.video"]
    assert main(["ops", "fn.random.uniform"]) == 0
    assert "range: numbers, or a row per sample" in capsys.readouterr().out
    assert main(["ops", "experimental.filter"]) == 0
    assert capsys.readouterr().out.startswith("filter: 2 to 3 inputs")
    assert main(["ops", "random_resized_crop"]) == 0
    head, lists, _ = capsys.readouterr().out.split("\n", 2)
    assert head == "random_resized_crop: 1 input, on the CPU and on GPUs"
    assert lists.endswith("the operator is called for each, with the same random values")
    assert main(["ops", "random.uniform"]) == 0
    assert "a list of batches" in capsys.readouterr().out
    assert main(["ops", "zeros"]) == 0
    assert "a list of batches" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["resiz"], "did you mean resize"),
        (["zzz"], "`ops` alone lists them"),
        (["--coverage", "brightnes"], "did you mean brightness"),
    ],
)
def test_command_line_errors(
    arguments: list[str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["ops", *arguments]) == 1
    assert text in capsys.readouterr().err
