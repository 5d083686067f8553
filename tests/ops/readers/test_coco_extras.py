"""readers.coco: keypoints, masks of objects, captions and numbers of annotations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import fn, pipeline_def
from gradiva.ops.readers.coco import EXTRA
from tests.ops.readers.test_coco import edited, packed

from .formats import coco as write

HEIGHT, WIDTH = 30, 40


@pytest.fixture
def data(tmp_path: Path) -> dict[str, Any]:
    """Four images with 0 to 3 objects: polygons, and a crowd of runs; 17 or fewer keypoints."""
    made = {**write(tmp_path, 4), "polygon_masks": False, "image_ids": False}

    def change(content: dict[str, Any]) -> None:
        for number, one in enumerate(content["annotations"]):
            one["area"] = 10.5 + number
            count = (3, 2, 0)[number % 3]
            one["keypoints"] = [
                value for k in range(count) for value in (k + number, k + 0.5, 1 + k % 2)
            ]
            one["id"] = (1 << 40) + number
        for image, text in ((3, "a cat"), (1, "Kätzchen"), (3, "two cats, asleep"), (2, "")):
            content["annotations"].append({"image_id": image, "id": 1, "caption": text})

    return edited(made, change)


def read(data: dict[str, Any], extra: Any, **more: Any) -> list[list[Any]]:
    """The samples of the further outputs, as arrays."""
    reader = gradiva.readers.COCO(**data, extra=extra, **more)
    count = 1 if isinstance(extra, str) else len(extra)
    found = [outputs[-count:] for outputs in reader.next_epoch(batch_size=100)]
    assert len(found) == 1
    return [[np.asarray(sample) for sample in batch.tensors] for batch in found[0]]


def without_captions(data: dict[str, Any]) -> dict[str, Any]:
    def change(content: dict[str, Any]) -> None:
        content["annotations"] = [one for one in content["annotations"] if "bbox" in one]

    return edited(data, change)


def texts(sample: Any) -> list[str]:
    return [bytes(row).rstrip(b"\0").decode() for row in sample]


def test_keypoints(data: dict[str, Any]) -> None:
    (points,) = read(without_captions(data), ["keypoints"])
    assert [one.shape for one in points] == [(0, 3, 3), (1, 3, 3), (2, 3, 3), (3, 3, 3)]
    assert all(one.dtype == np.float32 for one in points)
    np.testing.assert_array_equal(points[1][0], [[0, 0.5, 1], [1, 1.5, 2], [2, 2.5, 1]])
    np.testing.assert_array_equal(points[2][0], [[1, 0.5, 1], [2, 1.5, 2], [0, 0, 0]])
    np.testing.assert_array_equal(points[2][1], np.zeros((3, 3)))
    (parts,) = read(data, "keypoints", ratio=True)
    height, width = np.float32(11 + 1), np.float32(12 + 1)
    np.testing.assert_array_equal(parts[1][0, :, 0], points[1][0, :, 0] / width)
    np.testing.assert_array_equal(parts[1][0, :, 1], points[1][0, :, 1] / height)
    np.testing.assert_array_equal(parts[1][0, :, 2], points[1][0, :, 2])


def test_no_keypoints_at_all(data: dict[str, Any]) -> None:
    def change(content: dict[str, Any]) -> None:
        for number, one in enumerate(content["annotations"]):
            one.pop("keypoints", None)
            if number % 2:
                one["keypoints"] = []

    (points,) = read(edited(without_captions(data), change), ["keypoints"])
    assert [one.shape for one in points] == [(0, 0, 3), (1, 0, 3), (2, 0, 3), (3, 0, 3)]


def test_captions(data: dict[str, Any], tmp_path: Path) -> None:
    (found,) = read(data, ["captions"])
    assert [texts(one) for one in found] == [[], ["Kätzchen"], [""], ["a cat", "two cats, asleep"]]
    assert [one.shape for one in found] == [(0, 0), (1, 9), (1, 0), (2, 16)]
    assert all(one.dtype == np.uint8 for one in found)
    own = tmp_path / "captions.json"
    more = [{"image_id": 0, "id": 5, "caption": "none"}, {"image_id": 3.0, "caption": "\0"}]
    own.write_text(json.dumps({"annotations": [*more, {"image_id": 77, "caption": "not here"}]}))
    (found,) = read(data, ["captions"], captions_file=own)
    assert [texts(one) for one in found] == [
        ["none"],
        ["Kätzchen"],
        [""],
        ["a cat", "two cats, asleep", " "],
    ]
    alone = json.loads(Path(data["annotations_file"]).read_text())
    alone["annotations"] = [one for one in alone["annotations"] if "caption" in one]
    own.write_text(json.dumps(alone))
    (found,) = read({**data, "annotations_file": own}, "captions")
    assert texts(found[3]) == ["a cat", "two cats, asleep"]


def test_a_caption_by_its_number(data: dict[str, Any]) -> None:
    @pipeline_def(batch_size=2, num_threads=1)
    def training() -> Any:
        captions = fn.readers.coco(**data, extra="captions", images=names)[-1]
        count = captions.shape(dtype=gradiva.int32)[0]
        return captions.slice[count - 1]

    names = [str(Path(data["file_root"]) / f"data{number}.jpg") for number in (3, 1)]
    found = training().run()[0]
    assert [bytes(np.asarray(one)).rstrip(b"\0").decode() for one in found] == [
        "two cats, asleep",
        "Kätzchen",
    ]


def test_numbers_of_annotations(data: dict[str, Any]) -> None:
    area, crowd, ids = read(without_captions(data), ["area", "iscrowd", "annotation_ids"])
    assert [one.tolist() for one in area] == [[], [10.5], [11.5, 12.5], [13.5, 14.5, 15.5]]
    assert [one.tolist() for one in crowd] == [[], [0], [0, 0], [0, 0, 1]]
    assert [one.tolist() for one in ids][2] == [(1 << 40) + 1, (1 << 40) + 2]
    assert (area[1].dtype, crowd[1].dtype, ids[1].dtype) == (np.float32, np.int32, np.int64)
    (left,) = read(data, ["iscrowd"], include_iscrowd=False)
    assert [one.tolist() for one in left] == [[], [0], [0, 0], [0, 0]]


def shapes(content: dict[str, Any], chosen: list[Any]) -> None:
    """One image with these segmentations."""
    content["images"] = [content["images"][0] | {"height": HEIGHT, "width": WIDTH}]
    key = content["images"][0]["id"]
    content["annotations"] = [
        {"image_id": key, "category_id": 3 + number % 3, "bbox": [0, 0, 4, 4], "segmentation": one}
        for number, one in enumerate(chosen)
    ]


def test_masks_of_objects(data: dict[str, Any]) -> None:
    square = [2, 3, 6, 3, 6, 8, 2, 8]
    both = [square, [4, 5, 10, 5, 10, 9, 4, 9]]
    counts = [HEIGHT * 5, HEIGHT * 2, HEIGHT * (WIDTH - 7)]
    runs = {"size": [HEIGHT, WIDTH], "counts": counts}
    text = {"size": [HEIGHT, WIDTH], "counts": packed(counts)}
    made = edited(data, lambda content: shapes(content, [[square], both, runs, text, None]))
    (masks,) = read(made, ["object_masks"])
    (found,) = masks
    assert (found.shape, found.dtype) == ((5, HEIGHT, WIDTH), np.uint8)
    wanted = np.zeros_like(found)
    wanted[:2, 3:8, 2:6] = 1
    wanted[1, 5:9, 4:10] = 1
    wanted[2:4, :, 5:7] = 1
    np.testing.assert_array_equal(found, wanted)
    reader = gradiva.readers.COCO(**made, extra=["object_masks"])
    batch = next(reader.next_epoch(batch_size=1))[-1]
    assert batch.layout == "FHW"
    flipped = np.asarray(gradiva.flip(batch).tensors[0])
    np.testing.assert_array_equal(flipped, wanted[:, :, ::-1])


def test_vertices_of_masks_are_exact(data: dict[str, Any]) -> None:
    """In float32 these vertices move to other fifths of a pixel, and three pixels with them. The
    pixels are those of pycocotools 2.0.11."""
    outline = [8.7, 6.8, 5.3, 3.2, 2.3, 8.8, 5.1, 1.9]
    made = edited(data, lambda content: shapes(content, [[outline]]))
    ((found,),) = read(made, ["object_masks"])
    assert np.argwhere(found[0]).tolist() == [[2, 5], [4, 4], [6, 3], [8, 2]]


def test_masks_beside_other_masks(data: dict[str, Any]) -> None:
    """Polygons in fractions, images of labels: the masks of objects are the same."""
    data = without_captions(data)
    (alone,) = read(data, ["object_masks"])
    assert [len(one) for one in alone] == [0, 1, 2, 3]
    assert alone[3][2].sum() == 5  # the runs of the crowd
    for more in (
        {"polygon_masks": True, "ratio": True},
        {"pixelwise_masks": True},
        {"masks": True},
    ):
        (found,) = read({**data, **more}, ["object_masks"])
        for one, other in zip(found, alone, strict=True):
            np.testing.assert_array_equal(one, other)
    reader = gradiva.readers.COCO(**{**data, "pixelwise_masks": True}, extra="object_masks")
    *_, labels, pixels, masks = next(reader.next_epoch(batch_size=4))
    for numbers, image, own in zip(labels.tensors, pixels.tensors, masks.tensors, strict=True):
        wanted = np.zeros(image.shape[:2], np.int32)
        for label, mask in sorted(
            zip(np.asarray(numbers).tolist(), np.asarray(own), strict=True), key=lambda one: one[0]
        ):
            wanted[mask == 1] = label
        np.testing.assert_array_equal(np.asarray(image)[..., 0], wanted)


@pytest.mark.filterwarnings("ignore:__array__ implementation")
@pytest.mark.parametrize("seed", range(3))
def test_against_pycocotools(data: dict[str, Any], seed: int) -> None:
    coding = pytest.importorskip("pycocotools.mask")
    noise = np.random.default_rng(seed)
    chosen: list[Any] = []
    for number in range(30):
        kind = number % 3
        if kind == 0:
            chosen.append(
                [
                    (noise.uniform(-3, 43, (noise.integers(3, 9), 2)).round(2).ravel().tolist())
                    for _ in range(noise.integers(1, 4))
                ]
            )
            continue
        mask = noise.random((HEIGHT, WIDTH)) < noise.random()
        coded = coding.encode(np.asfortranarray(mask.astype(np.uint8)))
        text = coded["counts"].decode()
        if kind == 1:
            chosen.append({"size": [HEIGHT, WIDTH], "counts": text})
        else:
            flat = mask.ravel(order="F")
            edges = np.flatnonzero(np.diff(flat.astype(np.int8))) + 1
            lengths = np.diff([0, *edges.tolist(), flat.size]).tolist()
            counts = [0, *lengths] if flat[0] else lengths
            chosen.append({"size": [HEIGHT, WIDTH], "counts": counts})
    made = edited(data, lambda content: shapes(content, chosen))
    ((found,),) = read(made, ["object_masks"])
    for one, shape in zip(found, chosen, strict=True):
        if isinstance(shape, list):
            coded = coding.merge(coding.frPyObjects(shape, HEIGHT, WIDTH))
        elif isinstance(shape["counts"], list):
            coded = coding.frPyObjects(shape, HEIGHT, WIDTH)
        else:
            coded = {**shape, "counts": shape["counts"].encode()}
        np.testing.assert_array_equal(one, coding.decode(coded))


def test_all_together_in_all_modes(data: dict[str, Any]) -> None:
    def plain(values: Any) -> list[Any]:
        return [
            [(a.dtype.str, a.shape, a.tobytes()) for a in map(np.asarray, value.tensors)]
            for value in values
        ]

    def body(values: Any) -> list[Any]:
        points, masks = values[3:5]
        return [points * 2, gradiva.flip(masks), *values[5:]]

    def loop(capture: bool) -> list[Any]:
        reader = gradiva.readers.COCO(**data, extra=EXTRA, random_shuffle=True, seed=3)
        return [
            plain(body(values))
            for _ in range(2)
            for values in reader.next_epoch(batch_size=2, capture=capture)
        ]

    @pipeline_def(batch_size=2, num_threads=2, enable_checkpointing=True)
    def training() -> Any:
        values = fn.readers.coco(**data, extra=EXTRA, random_shuffle=True, seed=3)
        return tuple(body(values))

    once = loop(False)
    assert loop(True) == once
    pipe = training()
    assert [plain(pipe.run()) for _ in range(3)] == once[:3]
    again = training(checkpoint=pipe.checkpoint())
    assert plain(again.run()) == once[3]


def test_what_is_refused(data: dict[str, Any], tmp_path: Path) -> None:
    wrong: list[Any] = ["masks", ["area", "area"], [3], 7, [None]]
    for extra in wrong:
        with pytest.raises((gradiva.OperatorTypeError, gradiva.OperatorValueError)) as caught:
            gradiva.readers.COCO(**data, extra=extra)
        assert caught.value.argument == "extra"
    with pytest.raises(gradiva.OperatorValueError, match="captions"):
        gradiva.readers.COCO(**data, captions_file="captions.json")
    with pytest.raises(gradiva.OperatorValueError, match="captions"):
        gradiva.readers.COCO(**data, extra="captions", captions_file=tmp_path / "none.json")
    with pytest.raises(gradiva.OperatorValueError, match="exclude each other"):
        gradiva.readers.COCO(
            file_root=data["file_root"], preprocessed_annotations="saved", extra="area"
        )
    with pytest.raises(gradiva.GradivaError, match="extra"):
        pipeline_def(batch_size=1, num_threads=1)(
            lambda: fn.readers.coco(**data, extra="area")[-1]
        )().serialize()


@pytest.mark.parametrize(
    ("extra", "name", "value"),
    [
        ("keypoints", "keypoints", [1, 2]),
        ("keypoints", "keypoints", [1, 2, "3"]),
        ("keypoints", "keypoints", "all"),
        ("keypoints", "keypoints", [1, 2, float("nan")]),
        ("area", "area", None),
        ("area", "area", "large"),
        ("iscrowd", "iscrowd", 2),
        ("annotation_ids", "id", "first"),
        ("annotation_ids", "id", 1 << 63),
    ],
)
@pytest.mark.filterwarnings("ignore:samples that cannot be read")
def test_bad_entries_are_faults_of_their_image(
    data: dict[str, Any], extra: str, name: str, value: Any
) -> None:
    def change(content: dict[str, Any]) -> None:
        content["annotations"][1][name] = value

    made = edited(without_captions(data), change)
    with pytest.raises(gradiva.GradivaError, match=rf"entry 1: '{name}'"):
        read(made, [extra])
    (left,) = read(made, [extra], on_error="skip")
    assert len(left) == 3
    other = "iscrowd" if extra == "area" else "area"
    assert len(read(made, [other])[0]) == 4  # what is not asked for is not looked at


def test_bad_captions(data: dict[str, Any]) -> None:
    def change(content: dict[str, Any]) -> None:
        content["annotations"][-1]["caption"] = 7

    with pytest.raises(gradiva.OperatorRuntimeError, match=r"'caption'.*a text"):
        read(edited(data, change), "captions")


def test_targets_move_with_their_images(data: dict[str, Any]) -> None:
    """In all modes they are what `Targets` makes of the plain outputs."""
    data = without_captions(data)
    extra = ["keypoints", "object_masks", "area", "captions"]
    options: dict[str, Any] = {"min_visibility": 0.1, "keypoint_pairs": [(0, 1)]}

    def moved(masks: Any, targets: Any) -> tuple[Any, ...]:
        _, targets = gradiva.flip(masks, targets, horizontal=1)
        return targets.boxes, targets.labels, targets.keypoints, targets.masks, targets["area"]

    def image(boxes: Any) -> Any:  # of any content: the files are none
        return gradiva.full(np.uint8(0), shape=(16, 20, 3), layout="HWC")

    def by_hand(values: Any) -> tuple[Any, ...]:
        _, boxes, labels, points, masks, area, captions = values
        made = gradiva.Targets(
            boxes=boxes,
            labels=labels,
            keypoints=points,
            masks=masks,
            columns={"area": area},
            format="xywh",
            **options,
        )
        return (*moved(masks, made), captions)

    def together(values: Any) -> tuple[Any, ...]:
        _, targets, captions = values
        assert isinstance(targets, gradiva.Targets)
        return (*moved(targets.masks, targets), captions)

    def plain(values: Any) -> list[Any]:
        return [
            [(a.dtype.str, a.shape, a.tobytes()) for a in map(np.asarray, value.tensors)]
            for value in values
        ]

    def loop(body: Any, capture: bool = False, **more: Any) -> list[Any]:
        reader = gradiva.readers.COCO(**data, extra=extra, **more)
        return [plain(body(values)) for values in reader.next_epoch(batch_size=2, capture=capture)]

    once = loop(by_hand)
    assert loop(together, targets=options) == once
    assert loop(together, targets=options, capture=True) == once

    @pipeline_def(batch_size=2, num_threads=1)
    def training() -> Any:
        return together(fn.readers.coco(**data, extra=extra, targets=options))

    pipe = training()
    assert [plain(pipe.run()) for _ in range(2)] == once


def test_targets_and_what_is_left(data: dict[str, Any]) -> None:
    data = without_captions(data)
    reader = gradiva.readers.COCO(
        **{**data, "polygon_masks": True, "image_ids": True},
        targets=True,
        ltrb=True,
        ratio=True,
        with_index=True,
    )
    files, targets, ids, index = next(reader.next_epoch(batch_size=4))
    assert targets.names == ("boxes", "labels", "polygons", "vertices")
    assert (targets.options["format"], targets.options["relative"]) == ("xyxy", True)
    assert len(files) == len(ids) == len(index) == 4
    plain = gradiva.readers.COCO(**{**data, "image_ids": True}, targets=True)
    two = gradiva.readers.mix([plain, plain], with_source=True)
    _, found, _, source = next(two.next_epoch(batch_size=2))
    assert isinstance(found, gradiva.Targets)
    assert source.dtype == gradiva.int32
    for options in ({"format": "xyxy"}, {"min_area": -1}, "all", {"color": 3}, 7):
        with pytest.raises((gradiva.OperatorTypeError, gradiva.OperatorValueError)):
            gradiva.readers.COCO(**data, targets=options)
    with pytest.raises(gradiva.OperatorValueError, match="masks"):
        gradiva.readers.COCO(**data, targets=True, masks=True)
