"""`gradiva.convert.albumentations` of dictionaries and files, which needs no Albumentations: code,
modes, targets, older names, errors."""

from __future__ import annotations

import contextlib
import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import given as drawing
from hypothesis import strategies as st

import gradiva
from gradiva import capture, fn, pipeline_def
from gradiva.convert import albumentations
from gradiva.convert.from_albumentations.steps import apply, choose
from tests.needs import needs_opencv

pytestmark = [pytest.mark.core, needs_opencv]
Stored = dict[str, Any]


def f32(values: Any) -> Any:
    return np.array(values, np.float32)


def i64(values: Any) -> Any:
    return np.array(values, np.int64)


def stored(name: str, **arguments: Any) -> Stored:
    return {"__class_fullname__": name, **arguments}


def compose(*transforms: Stored, **arguments: Any) -> Stored:
    return {
        "__version__": "2.0.8",
        "transform": stored("Compose", p=1.0, transforms=list(transforms), **arguments),
    }


def images(count: int = 3) -> Any:
    random = np.random.default_rng(4)
    shapes = [(50 + 7 * k, 64 - 5 * k, 3) for k in range(count)]
    return gradiva.batch([random.integers(0, 256, one, np.uint8) for one in shapes], layout="HWC")


TRAINING = compose(
    stored("RandomResizedCrop", size=[40, 48], scale=[0.3, 1.0], p=1.0),
    stored("HorizontalFlip", p=0.5),
    stored("Affine", rotate=[-30, 30], scale=[0.8, 1.2], p=0.7),
    stored(
        "OneOf",
        p=0.8,
        transforms=[
            stored("MotionBlur", p=1.0),
            stored("Sequential", p=0.5, transforms=[stored("GaussNoise", p=1.0)]),
            stored("RandomRotate90", p=0.4),
        ],
    ),
    stored("SomeOf", n=2, p=1.0, transforms=[stored("CLAHE", p=0.5), stored("ColorJitter", p=1.0)]),
    stored("RandomOrder", n=2, p=1.0, transforms=[stored("D4", p=0.9), stored("RandomGamma", p=1)]),
    stored("Resize", height=40, width=48, p=1.0),
    stored("CoarseDropout", p=0.5),
    stored("Normalize", p=1.0),
    stored("ToTensorV2", p=1.0),
    bbox_params={"format": "coco", "label_fields": ["classes"], "min_visibility": 0.1},
)


def equal(one: Any, other: Any) -> None:
    pairs = list(zip(one.arrays(), other.arrays(), strict=True))
    for left, right in pairs:
        np.testing.assert_array_equal(left, right)


@pytest.mark.full
def test_all_of_it_runs_and_is_random() -> None:
    function = albumentations(TRAINING)
    assert function.random
    assert not function.exact
    gradiva.random.set_seed(1)
    made = function(images())
    assert made.type.layout == "CHW"
    assert made.shape == [(3, 40, 48)] * 3
    gradiva.random.set_seed(1)
    equal(made, function(images()))
    gradiva.random.set_seed(2)
    assert not np.array_equal(function(images()).arrays()[0], made.arrays()[0])
    assert function(gradiva.batch([], layout="HWC")).batch_size == 0


TABLE = [
    np.random.default_rng(k).integers(0, 256, (50 + 3 * k, 64 - 2 * k, 3), np.uint8)
    for k in range(7)
]
BOXES = [f32([[5, 6, 20 + k, 18], [20, 9, 12, 30 + k], [1, 1, 8, 9]])[: k % 4] for k in range(7)]
CLASSES = [np.arange(len(one), dtype=np.int64) + 10 * k for k, one in enumerate(BOXES)]


def look_up(row: Any) -> tuple[Any, Any, Any]:
    place = int(row)
    return TABLE[place], BOXES[place], CLASSES[place]


def prepared(rows: Any) -> tuple[Any, ...]:
    """Images without targets, and with them."""
    function = albumentations(TRAINING)
    pixels, boxes, classes = gradiva.python_function(
        rows, function=look_up, num_outputs=3, output_layouts=["HWC", "", ""]
    )
    plain = function(pixels)
    made, targets = function(pixels, function.targets(bboxes=boxes, classes=classes))
    return plain, made, targets.boxes, targets["classes"]


def reader() -> Any:
    rows = [{"row": k} for k in range(7)]
    return gradiva.readers.Table(source=rows, columns=["row"], random_shuffle=True, seed=3)


def epoch(captured: bool) -> list[list[Any]]:
    gradiva.random.set_seed(3)
    made: list[list[Any]] = []
    for batches in reader().next_epoch(batch_size=3, capture=captured):
        rows = batches[0] if isinstance(batches, tuple) else batches
        outputs = prepared(rows)
        made += [list(map(np.array, one)) for one in zip(*outputs, strict=True)]
    return made


@pytest.mark.full
def test_modes_have_the_same_bits() -> None:
    eager, captured = epoch(False), epoch(True)
    assert len(eager) == 7

    @pipeline_def(batch_size=3, num_threads=2, seed=3)
    def pipeline() -> Any:
        source = [{"row": k} for k in range(7)]
        rows = fn.readers.table(source=source, columns=["row"], random_shuffle=True, seed=3)
        return prepared(rows[0] if isinstance(rows, tuple | list) else rows)

    with pipeline() as pipe:
        piped: list[list[Any]] = []
        for _ in range(3):
            piped += [list(map(np.array, one)) for one in zip(*pipe.run(), strict=True)]
    for other in (captured, piped[:7]):
        for left, right in zip(eager, other, strict=True):
            for one, another in zip(left, right, strict=True):
                np.testing.assert_array_equal(one, another)


@pytest.mark.full
def test_compiled() -> None:
    function = albumentations(TRAINING)
    compiled = capture.compile(function)
    gradiva.random.set_seed(5)
    plain = function(images())
    gradiva.random.set_seed(5)
    equal(plain, compiled(images()))


@pytest.mark.full
def test_targets() -> None:
    """Boxes, masks and keypoints of transforms that draw nothing."""
    function = albumentations(
        compose(
            stored("Resize", height=100, width=60, p=1),
            stored("HorizontalFlip", p=1),
            stored("Crop", x_min=10, y_min=20, x_max=50, y_max=80, p=1),
            stored("Transpose", p=1),
            bbox_params={"format": "pascal_voc", "label_fields": ["names"], "clip": True},
            keypoint_params={"format": "xy"},
        )
    )
    image = np.zeros((50, 30, 3), np.uint8)
    mask = np.arange(1500, dtype=np.int32).reshape(50, 30)
    targets = function.targets(
        bboxes=f32([[10, 20, 20, 30], [0, 0, 30, 50]]),
        names=i64([7, 8]),
        keypoints=f32([[14, 19]]),
        mask=mask,
    )
    made, targets = function(gradiva.as_tensor(image, layout="HWC"), targets)
    assert made.shape == (40, 60, 3)
    np.testing.assert_allclose(targets.boxes, [[20, 10, 40, 30], [0, 0, 60, 40]])
    np.testing.assert_array_equal(targets["names"], [7, 8])
    # The middle of pixel 14 is at 14.5; twice that is 29 of 60, 31 mirrored, and 21 in the crop.
    np.testing.assert_allclose(targets.keypoints, [[19 - 0.5, 21 - 0.5]])
    expected = mask.repeat(2, 0).repeat(2, 1)[:, ::-1][20:80, 10:50].T
    np.testing.assert_array_equal(targets.masks, expected)


def test_options_of_targets() -> None:
    params = {
        "format": "yolo",
        "min_area": 5,
        "min_visibility": 0.2,
        "min_width": 2,
        "min_height": 2,
    }
    function = albumentations(compose(stored("Transpose", p=1), bbox_params=params))
    options = function.targets(bboxes=f32([[0.5, 0.5, 0.2, 0.2]])).options
    assert options["format"] == "cxcywh"
    assert options["relative"]
    assert options["pixel_origin"] == "center"
    assert (options["min_area"], options["min_visibility"], options["min_size"]) == (5, 0.2, 2)
    assert options["invalid"] == "raise"


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"bbox_params": {"format": "coco", "min_width": 3}}, "min_height"),
        ({"bbox_params": {"format": "coco", "max_accept_ratio": 3}}, "max_accept_ratio"),
        ({"keypoint_params": {"format": "xyas"}}, "xyas"),
        ({"additional_targets": {"right": "image"}}, "additional_targets"),
    ],
)
def test_targets_without_counterpart(arguments: Stored, reason: str) -> None:
    function = albumentations(compose(stored("Transpose", p=1), **arguments))
    function(images())
    with pytest.raises(gradiva.OperatorTypeError, match=reason):
        function.targets(bboxes=np.zeros((0, 4), np.float32))


def test_wrong_names_of_targets() -> None:
    params = {"format": "coco", "label_fields": ["names"]}
    function = albumentations(compose(stored("Transpose", p=1), bbox_params=params))
    boxes = np.zeros((0, 4), np.float32)
    with pytest.raises(gradiva.OperatorTypeError, match="names"):
        function.targets(bboxes=boxes)
    with pytest.raises(gradiva.OperatorTypeError, match="weights"):
        function.targets(bboxes=boxes, names=np.zeros(0), weights=np.zeros(0))


def test_ellipses_and_boxes() -> None:
    given = compose(stored("Rotate", rotate_method="ellipse", p=1))
    function = albumentations(given)
    function(images())
    targets = function.targets(bboxes=f32([[0.1, 0.1, 0.5, 0.5]]))
    with pytest.raises(gradiva.OperatorTypeError, match="ellipse"):
        function(gradiva.as_tensor(np.zeros((9, 9, 3), np.uint8), layout="HWC"), targets)


@pytest.mark.parametrize("name", ["RandomFog", "Lambda", "mine.Own"])
def test_no_counterpart(name: str) -> None:
    prefix = "" if "." in name else "albumentations.x."
    with pytest.raises(gradiva.OperatorTypeError, match=rf"step 2, {name}.*no counterpart"):
        albumentations(compose(stored("Transpose", p=1), stored(f"{prefix}{name}")))


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (stored("Normalize", p=0.5), "p=1"),
        (stored("OneOf", p=1, transforms=[stored("ToFloat", p=1)]), "p=1"),
        (stored("ToGray", method="pca", p=1), "pca"),
        (stored("Equalize", mask=[[1]], p=1), "mask"),
        (stored("CenterCrop", height=3, p=1), "width"),
        (stored("FromFloat", p=1), "uint8"),
    ],
)
def test_arguments_without_counterpart(given: Stored, reason: str) -> None:
    with pytest.raises(gradiva.OperatorTypeError, match=reason):
        albumentations(compose(given))


@pytest.mark.parametrize("given", [3, {}, {"transform": {}}, [], None])
def test_no_transform(given: Any) -> None:
    with pytest.raises(gradiva.OperatorTypeError, match="a transform of Albumentations"):
        albumentations(given)


def test_fallback_is_checked() -> None:
    with pytest.raises(gradiva.OperatorValueError, match="fallback"):
        albumentations(TRAINING, fallback="java")


def test_errors_name_the_sample() -> None:
    function = albumentations(compose(stored("RandomCrop", height=53, width=20, p=1)))
    with pytest.raises(gradiva.OperatorValueError, match=r"53 x 20 pixels.*50 x 64[\s\S]*sample 0"):
        function(images())


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "training.json"
    path.write_text(json.dumps(TRAINING))
    assert albumentations(path).code() == albumentations(TRAINING).code()
    assert albumentations(str(path)).code() == albumentations(TRAINING).code()


def test_yaml(tmp_path: Path) -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML is absent")
    path = tmp_path / "training.yaml"
    path.write_text(yaml.safe_dump(TRAINING))
    assert albumentations(path).code() == albumentations(TRAINING).code()


@pytest.mark.full
def test_code_runs_by_itself() -> None:
    function = albumentations(TRAINING)
    names: dict[str, Any] = {}
    exec(function.code(), names)
    gradiva.random.set_seed(6)
    one = names["transform"](images())
    gradiva.random.set_seed(6)
    equal(one, function(images()))


def test_native_calls() -> None:
    """What operators of gradiva do with the same bits is written as their calls."""
    given = compose(
        stored("Resize", height=40, width=30, p=1),
        stored("CenterCrop", height=20, width=20, p=1),
        stored("VerticalFlip", p=0.5),
        stored("Normalize", p=1),
        stored("ToTensorV2", p=1),
    )
    code = albumentations(given, decode=True).code()
    assert "gradiva.resize(images, size=(40, 30)" in code
    assert 'gradiva.crop(images, crop=(20, 20), rounding="truncate")' in code
    assert code.count("gradiva.crop_mirror_normalize(") == 1
    assert "apply" not in code
    assert "gradiva.decoders.image(files)" in code


OLDER = [
    (stored("GaussNoise", var_limit=[100, 400], p=1), "std_range=[0.0392"),
    (stored("ImageCompression", quality_lower=30, quality_upper=60, p=1), "quality_range=[30, 60]"),
    (stored("Solarize", threshold=[51, 51], p=1), "threshold_range=[0.2, 0.2]"),
    (
        stored("CoarseDropout", max_holes=3, max_height=9, max_width=8, p=1),
        "num_holes_range=[3, 3]",
    ),
    (stored("RandomResizedCrop", height=20, width=30, p=1), "size=[20, 30]"),
    (stored("Rotate", limit=20, value=[1, 2, 3], p=1), "fill=[1, 2, 3]"),
    (stored("Downscale", scale_min=0.2, scale_max=0.3, p=1), "scale_range=[0.2, 0.3]"),
    (stored("Transpose", always_apply=True, p=0.5), 'apply("Transpose", images)'),
]


@pytest.mark.parametrize(("given", "written"), OLDER, ids=lambda one: str(one)[:30])
def test_older_names(given: Stored, written: str) -> None:
    name = given["__class_fullname__"]
    old = {**given, "__class_fullname__": f"albumentations.augmentations.transforms.{name}"}
    function = albumentations(compose(old))
    assert written in function.code()
    function(images())


def test_apply_and_choose() -> None:
    """The calls of converted functions are for hands, too."""
    pixels = images()
    chosen = choose(pixels, kind="one", weights=(0.0, 1.0))
    first = apply("InvertImg", pixels, gates=chosen, place=0)
    equal(first, pixels)
    second = apply("InvertImg", pixels, gates=chosen, place=1)
    np.testing.assert_array_equal(second.at(0), 255 - pixels.at(0))
    with pytest.raises(gradiva.OperatorValueError, match="RandomFog"):
        apply("RandomFog", pixels)
    with pytest.raises(gradiva.OperatorValueError, match="blur_limits"):
        apply("Blur", pixels, blur_limits=3)


def test_numbers_in_place_of_ranges() -> None:
    settings = gradiva.convert.from_albumentations.settings.settings_for
    assert settings("Rotate", {"limit": 20})["limit"] == [-20, 20]
    assert settings("Blur", {"blur_limit": 7})["blur_limit"] == [3, 7]
    assert settings("Affine", {"scale": 1.5})["scale"] == {"x": [1.5, 1.5], "y": [1.5, 1.5]}
    assert settings("RGBShift", {"r_shift_limit": 51})["r_shift_limit"] == [-0.2, 0.2]
    shift = settings("ShiftScaleRotate", {"scale_limit": 0.5})
    assert shift["scale"]["x"] == [0.5, 1.5]


@pytest.mark.parametrize(
    "given",
    [
        stored("PadIfNeeded", min_height=90, min_width=90, fill_mask=255, p=1),
        stored("Rotate", limit=[5, 5], border_mode=4, p=1),
        stored("Resize", height=9, width=9, mask_interpolation=1, p=1),
        stored("CoarseDropout", fill_mask=0, p=1),
    ],
    ids=lambda one: one["__class_fullname__"],
)
def test_masks_without_counterpart(given: Stored) -> None:
    """What would change masks in another way is an error, if there are masks."""
    function = albumentations(compose(given))
    image = gradiva.as_tensor(np.zeros((60, 50, 3), np.uint8), layout="HWC")
    function(image, function.targets(bboxes=f32([[0.2, 0.2, 0.5, 0.5]])))
    with pytest.raises(gradiva.OperatorTypeError, match="with masks"):
        function(image, function.targets(mask=np.zeros((60, 50), np.uint8)))


def test_records_for_replay() -> None:
    record = stored("ReplayCompose", applied=True, params=None, transforms=[])
    with pytest.raises(gradiva.OperatorTypeError, match="ReplayCompose itself"):
        albumentations(record)


BAD = {"open": "{", "deep": "[" * 100000, "zero": "\\x00", "text": '"text"', "list": "[1, 2]"}


@pytest.mark.parametrize("text", BAD.values(), ids=BAD)
def test_bad_files(tmp_path: Path, text: str) -> None:
    path = tmp_path / "bad.json"
    path.write_text(text)
    with pytest.raises(gradiva.GradivaError):
        albumentations(path)


@pytest.mark.parametrize(
    "given",
    [
        stored("Rotate", limit="far", p=1),
        stored("Rotate", limit=["a", "b"], p=1),
        stored("Affine", scale={"x": None}, p=1),
        stored("Blur", blur_limit=[3, None], p=1),
        stored("OneOf", transforms=3, p=1),
        stored("Transpose", p="often"),
        stored("Posterize", num_bits=[], p=1),
        stored("Resize", height="4", width=None, p=1),
        stored("CoarseDropout", num_holes_range=5, p=1),
        stored("PadIfNeeded", position=None, p=1),
    ],
    ids=str,
)
def test_bad_arguments(given: Stored) -> None:
    """Whatever a file says is an error that tells what it is about."""
    with pytest.raises(gradiva.GradivaError):
        albumentations(compose(given))(images())


def places_in(content: Any) -> list[tuple[Any, Any]]:
    """All containers in JSON, with the keys in them."""
    pairs = list(content.items() if isinstance(content, dict) else enumerate(content))
    inner = [place for _, one in pairs if isinstance(one, dict | list) for place in places_in(one)]
    return [(content, key) for key, _ in pairs] + inner


SMALL: Any = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 90),
    st.floats(-3, 90),
    st.text(max_size=3),
    st.lists(st.one_of(st.none(), st.integers(-5, 90), st.floats(-2, 2)), max_size=4),
    st.dictionaries(st.sampled_from(["x", "y", "p"]), st.integers(-3, 9), max_size=2),
)
SINGLE = [one for one in TRAINING["transform"]["transforms"] if "transforms" not in one]
SINGLE += [
    stored("Sequential", p=1, transforms=[stored("ToFloat", p=1), stored("FromFloat", p=1)]),
    stored("PadIfNeeded", min_height=90, min_width=90, position="random", fill=3, p=1),
    stored("Perspective", scale=[0.05, 0.1], fit_output=True, p=1),
    stored("SmallestMaxSize", max_size=[20, 30], interpolation=1, p=1),
    stored("Rotate", limit=[-20, 20], border_mode=1, crop_border=True, p=1),
    stored("GridDropout", ratio=0.5, unit_size_range=[4, 9], fill="random", p=1),
    stored("GaussianBlur", blur_limit=[3, 7], sigma_limit=[0.5, 1], p=1),
    stored("SomeOf", n=2, replace=True, p=1, transforms=[stored("RGBShift", p=1)]),
    stored("Downscale", scale_range=[0.2, 0.4], interpolation_pair={"upscale": 0}, p=1),
]


@pytest.mark.full
@settings(max_examples=600, deadline=None, suppress_health_check=list(HealthCheck))
@drawing(st.data())
def test_edited_files(data: Any) -> None:
    """A file with any edits is converted and runs, or is an error of gradiva."""
    content = compose(*copy.deepcopy([data.draw(st.sampled_from(SINGLE))]))
    for _ in range(data.draw(st.integers(1, 3))):
        container, key = data.draw(st.sampled_from(places_in(content)))
        with contextlib.suppress(LookupError, TypeError):
            container[key] = data.draw(SMALL)
    with contextlib.suppress(gradiva.GradivaError):
        albumentations(content)(images(2)).evaluate()
