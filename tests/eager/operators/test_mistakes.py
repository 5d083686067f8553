"""Promise: the likeliest mistakes give the promised error, for every operator, in both modes."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
import pytest

import gradiva.ops.external_source.numba_function
from gradiva.eager.operators.arguments import is_edge
from gradiva.eager.operators.operator import operators
from gradiva.eager.values.batch import Batch
from gradiva.eager.values.value import arithmetic
from tests.eager.operators.mistakes import KINDS, Mistake, mistake
from tests.tiers import few

NAMES = sorted(
    name
    for name, operator in operators.items()
    if operator.case_maker
    and not operator.__module__.startswith("gradiva.capture")
    and not name.startswith("_")
    and name not in arithmetic
)
MATH = {name for name in NAMES if name.startswith("math.")}
BINARY = {f"math.{name}" for name in ("atan2", "clamp", "fpow", "max", "min")}
MAKERS = {"batch_permutation", "ones", "zeros", "roi_random_crop", "scheduled"}
LIKE = {"full_like", "ones_like", "zeros_like"}
SHAPED = {f"random.{name}" for name in ("beta", "coin_flip", "normal", "uniform")}
NOISES = {f"noise.{name}" for name in ("gaussian", "salt_and_pepper", "shot")}
MATRICES = {f"transforms.{name}" for name in ("crop", "rotation", "scale", "shear")}
MOVERS = {
    "crop", "element_extract", "erase", "expand_dims", "flip", "grid_mask", "pad", "paste",
    "per_frame", "reinterpret", "reshape", "sequence_rearrange", "squeeze", "transpose",
}  # fmt: skip
REDUCTIONS = {name for name in NAMES if name.startswith("reductions.")}
BOXES = {"bb_flip", "bbox_paste", "bbox_rotate", "box_encoder", "random_bbox_crop"}
FILES = {name for name in NAMES if name.startswith(("decoders.", "io."))} | {
    "peek_audio",
    "peek_image_shape",
}
LEVELS = {"gamma", "posterize", "solarize"}
SOUNDS = {"preemphasis_filter", "spectrogram", "to_decibels"}
ANY = {"cache", "cast", "cast_like", "copy", "get_property", "permute_batch", "shapes"}
TARGETS = {name for name in NAMES if name.startswith("targets.")}
WHOLE = {"cast_like", "copy", "shapes", "subscript", *LIKE, *MATH}

SKIPPED: dict[str, dict[str, set[str]]] = {
    "rank": {
        "takes samples of any rank": ANY
        | LIKE
        | MATH
        | NOISES
        | SHAPED
        | (SOUNDS - {"spectrogram"})
        | {"full", "lookup_table", "normalize_by_numbers", "normalize_pixels", "one_hot"}
        | {"targets.past"}
        | LEVELS,
        "its cases have no input": MAKERS | MATRICES,
    },
    "layout": {
        "looks at no layout": ANY
        | LIKE
        | NOISES
        | SHAPED
        | (MATH - BINARY)
        | SOUNDS
        | LEVELS
        | {
            "albumentations.choose",
            "albumentations.draw",
            "audio_resample",
            "full",
            "gaussian_blur",
            "laplacian",
            "lookup_table",
            "mfcc",
            "mixup",
            "nonsilent_region",
            "normalize_by_numbers",
            "normalize_pixels",
            "numba_function",
            "one_hot",
            "patch_grid",
            "patch_rows",
            "power_spectrum",
            "python_function",
            "subscript",
            "transpose",
            "reinterpret",
            "reshape",
            "stack",
        },
        "its inputs are no images": BOXES
        | FILES
        | (TARGETS - {"targets.canvas", "targets.frames"})
        | {
            "coord_flip",
            "coord_transform",
            "random.choice",
            "random_crop_generator",
            "segmentation.random_mask_pixel",
            "segmentation.random_object_bbox",
            "segmentation.select_masks",
            "transforms.combine",
            "transforms.translation",
        },
        "its cases have no input": MAKERS | MATRICES,
    },
    "dtype": {
        "takes all dtypes": ANY
        | LIKE
        | SHAPED
        | MOVERS
        | REDUCTIONS
        | BINARY
        | {
            "albumentations.choose",
            "albumentations.draw",
            "full",
            "normalize",
            "normalize_by_numbers",
            "one_hot",
            "pad_channels",
            "patch_blocks",
            "patch_grid",
            "patch_rows",
            "patches",
            "random_window",
            "random.choice",
            "segmentation.random_mask_pixel",
            "targets.bent_points",
            "targets.bent_polygons",
            "targets.canvas",
            "targets.chosen",
            "targets.past",
        },
        "its function decides": {"python_function"},
        "its cases have no input": MAKERS | MATRICES,
    },
    "length": {
        "has no argument that is given per sample": {
            name
            for name in NAMES
            if not any(a.per_sample for a in operators[name].arguments.values())
        },
        "it is an array per sample, of any shape": {"normalize"},
    },
    "range": {
        "has no argument, or none with a range": WHOLE
        | {
            "batch_permutation",
            "cast",
            "decoders.numpy",
            "gray_of_tensors",
            "io.file.read",
            "pad_channels",
            "patch_grid",
            "patch_rows",
            "peek_audio",
            "per_frame",
            "segmentation.select_masks",
            "targets.bent_polygons",
            "targets.cameras",
            "targets.canvas",
            "targets.chosen",
            "targets.frames",
            "targets.masks",
            "targets.past",
            "targets.polygons",
            "transforms.combine",
        }
    },
    "type": {
        "has no argument of its own": {name for name in NAMES if not operators[name].arguments},
        "its arguments are made by Python's brackets": {"subscript"},
    },
}
"""Mistakes that cannot be made: the kind, the reason, the operators."""

INPUTS = re.compile(
    r"input|argument `|boxes|encoded data|paths|mask|shape|frames|vectors|images|[Ll]ayout|"
    r"[Oo]perand|subscript|scalar|cameras|keypoints|polygons|vertices"
)
"""What inputs are called in messages."""


@cache
def found(name: str, kind: str) -> Mistake | None:
    return mistake(operators[name], kind)


def skipped(name: str, kind: str) -> bool:
    return any(name in names for names in SKIPPED[kind].values())


def check(name: str, made: Mistake, error: BaseException) -> None:
    assert isinstance(error, gradiva.OperatorTypeError | gradiva.OperatorValueError), repr(error)
    text = str(error)
    assert text.startswith(name), text
    assert "test_mistakes.py" in text, text
    if made.argument is None:
        assert INPUTS.search(text.partition(": ")[2].partition("\n")[0]), text
    else:
        assert f"`{made.argument}`" in text, text


@pytest.mark.parametrize("name", few(NAMES, every=6))
def test_in_dynamic_mode(name: str) -> None:
    """The class of error, the operator, what is wrong, the user's line; the next call works."""
    for kind in KINDS:
        made = found(name, kind)
        assert (made is None) == skipped(name, kind), kind
        if made is None:
            continue
        operator: Any = operators[name]
        with pytest.raises(gradiva.GradivaError) as caught:
            operator(*made.inputs, **made.arguments)
        check(name, made, caught.value)
        if kind == "type":
            assert isinstance(caught.value, TypeError), str(caught.value)


@pytest.mark.parametrize("name", few(NAMES, every=12))
def test_in_a_pipeline(name: str) -> None:
    """The same where the pipeline is defined, or where it runs."""
    for kind in KINDS:
        made = found(name, kind)
        if made is not None:
            with pytest.raises(gradiva.GradivaError) as caught:
                run(name, made)
            check(name, made, caught.value)


def run(name: str, made: Mistake) -> None:
    """The call in a pipeline whose batches come from outside."""
    operator: Any = operators[name]
    fed = [value for value in made.inputs if isinstance(value, Batch)]
    given: dict[str, Any] = {}
    for key, value in made.arguments.items():
        argument = operator.arguments.get(key)
        if argument is None:
            continue
        if not is_edge(argument, value):
            given[key] = value
        elif key == made.argument:
            given[key] = np.asarray(value).tolist()
        else:
            whole = np.asarray(value).dtype.kind in "ib"
            rows = value if isinstance(value, Batch) else np.asarray(value)
            given[key] = gradiva.as_batch(
                rows,
                dtype=None
                if isinstance(value, Batch)
                else gradiva.int32
                if whole
                else gradiva.float32,
            )
            fed.append(given[key])

    @gradiva.pipeline_def(batch_size=len(fed[0]) if fed else 2, num_threads=1)
    def pipeline() -> Any:
        nodes: Any = iter(())
        if fed:
            source = [tuple(fed)]
            nodes = iter(gradiva.fn.external_source(source, num_outputs=len(fed), cycle=True))
        inputs = [next(nodes) if isinstance(value, Batch) else value for value in made.inputs]
        keywords = {
            key: next(nodes) if isinstance(value, Batch) else value for key, value in given.items()
        }
        return operator(*inputs, **keywords)

    pipe = pipeline()
    try:
        pipe.run()
    finally:
        pipe.close()


@pytest.mark.full
def test_the_table_is_small_and_true() -> None:
    for kind, reasons in SKIPPED.items():
        names = [name for group in reasons.values() for name in group]
        assert set(names) <= set(NAMES), kind
        assert len(names) == len(set(names)), kind
        for name in names:
            assert found(name, kind) is None, (kind, name)


def test_integers_of_any_size() -> None:
    """Integers beyond 64 bits were an OverflowError of NumPy."""
    image = gradiva.batch([np.zeros((4, 5, 3), np.uint8)] * 2, layout="HWC")
    with pytest.raises(gradiva.OperatorValueError, match="gaussian_blur: argument `window_size`"):
        gradiva.gaussian_blur(image, window_size=2**70)
