"""readers.coco: boxes, labels, masks; preprocessed annotations; damaged ones."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import pipeline_def
from gradiva.eager.execution.quarantine import Quarantine
from gradiva.eager.support.errors import SampleDataError
from gradiva.fn import readers as fn_readers
from gradiva.ops.readers.coco_runs import counts_of

from .formats import coco as write
from .formats import values


def edited(data: dict[str, Any], change: Any) -> dict[str, Any]:
    """The arguments, after a change of the JSON file."""
    path = Path(data["annotations_file"])
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))
    return data


def read(data: dict[str, Any], **more: Any) -> list[Any]:
    """For each output its samples as lists."""
    (outputs,) = gradiva.readers.COCO(**{**data, **more}).next_epoch(batch_size=100)
    return [[array.tolist() for array in map(batch.array, range(len(batch)))] for batch in outputs]


def outcome(data: dict[str, Any]) -> str | None:
    """The text of the error, if there is one."""
    files = sum(path.stat().st_size for path in Path(data["file_root"]).glob("*.jpg"))
    try:
        for outputs in gradiva.readers.COCO(**data).next_epoch(batch_size=100):
            # A mask is not larger than an image of so many bytes can be.
            assert sum(batch.nbytes for batch in outputs) < 4 * (files << 14) + (1 << 20)
    except gradiva.GradivaError as error:
        return str(error)
    return None


@pytest.fixture
def data(tmp_path: Path) -> dict[str, Any]:
    return {**write(tmp_path, 4), "polygon_masks": False, "image_ids": False}


def test_boxes_and_labels(data: dict[str, Any]) -> None:
    _, boxes, labels = read(data)
    assert [len(one) for one in boxes] == [0, 1, 2, 3]
    np.testing.assert_allclose(boxes[2], [[1.1, 2.3, 1, 7.9], [4.1, 2.3, 3.7, 7.9]], rtol=1e-6)
    assert labels == [[], [2], [2, 3], [2, 3, 1]]
    assert read(data, avoid_class_remapping=True)[2] == [[], [5], [5, 4], [5, 4, 3]]
    _, boxes, _ = read(data, ltrb=True)
    np.testing.assert_allclose(boxes[1], [[1.1, 2.3, 2.1, 10.2]], rtol=1e-6)
    _, boxes, _ = read(data, ltrb=True, ratio=True)
    np.testing.assert_allclose(boxes[1], [[1.1 / 13, 2.3 / 12, 2.1 / 13, 10.2 / 12]], rtol=1e-6)


def test_which_objects_and_images(data: dict[str, Any]) -> None:
    assert read(data, include_iscrowd=False)[2] == [[], [2], [2, 3], [2, 3]]
    assert read(data, size_threshold=2.0)[2] == [[], [], [3], [3, 1]]
    assert read(data, skip_empty=True)[2] == [[2], [2, 3], [2, 3, 1]]
    names = [str(Path(data["file_root"]) / f"data{number}.jpg") for number in (3, 1, 3)]
    assert read(data, images=names)[2] == [[2, 3, 1], [2], [2, 3, 1]]
    with pytest.raises(gradiva.OperatorValueError, match=r"1 others: 'no.jpg'"):
        read(data, images=[*names, "no.jpg", "no.jpg"])


def test_images_are_sorted_by_id(data: dict[str, Any]) -> None:
    assert read(data, image_ids=True)[3] == [[0], [1], [2], [3]]


def test_polygons(data: dict[str, Any]) -> None:
    _, _, _, polygons, vertices = read(data, polygon_masks=True)
    assert polygons[3] == [[0, 0, 3], [0, 3, 6], [1, 6, 9], [1, 9, 12]]
    np.testing.assert_allclose(
        vertices[1][:3], np.array([(1, 2), (3.3, 2.1), (2.5, 9.7)]), rtol=1e-6
    )
    old = read(data, masks=True)
    assert old[3][3][:2] == [[0, 0, 6], [0, 6, 12]]
    _, _, _, _, scaled = read(data, polygon_masks=True, ratio=True)
    np.testing.assert_allclose(
        scaled[3], np.array(vertices[3], np.float32) / np.array([15, 11], np.float32), rtol=1e-6
    )


def drawn(data: dict[str, Any], shapes: list[tuple[int, Any]], **more: Any) -> Any:
    """The mask of an image 6 high and 8 wide with these (category, segmentation)."""

    def change(content: dict[str, Any]) -> None:
        content["images"] = [content["images"][0] | {"height": 6, "width": 8}]
        key = content["images"][0]["id"]
        content["annotations"] = [
            {"image_id": key, "category_id": one, "bbox": [0, 0, 4, 4], "segmentation": shape}
            for one, shape in shapes
        ]

    return np.array(read(edited(data, change), pixelwise_masks=True, **more)[3][0])[..., 0]


def test_pixelwise_masks(data: dict[str, Any]) -> None:
    rectangle = [[1, 1, 4, 1, 4, 5, 1, 5]]
    expected = np.zeros((6, 8), int)
    expected[1:5, 1:4] = 1
    np.testing.assert_array_equal(drawn(data, [(3, rectangle)]), expected)
    np.testing.assert_array_equal(drawn(data, [(3, rectangle)], ratio=True), expected)
    runs = {"size": [6, 8], "counts": [12, 12, 24]}
    expected[:, 2:4] = np.where(expected[:, 2:4], 1, 1)
    both = drawn(data, [(3, rectangle), (3, runs)])
    np.testing.assert_array_equal(both, expected)  # one label: all that belongs to it
    expected[:, 2:4] = 2
    for order in (1, -1):  # the larger label is on top
        shapes = [(3, rectangle), (5, runs)][::order]
        np.testing.assert_array_equal(drawn(data, shapes), expected)


def packed(counts: list[int]) -> str:
    """The text form of runs."""
    text = ""
    for index, count in enumerate(counts):
        value = count - counts[index - 2] if index > 2 else count
        while True:
            bits, value = value & 31, value >> 5
            more = value != (-1 if bits & 16 else 0)
            text += chr(48 + (bits | (32 if more else 0)))
            if not more:
                break
    return text


def test_runs_as_text() -> None:
    drawn = random.Random(3)
    for _ in range(200):
        counts = [drawn.randrange(drawn.choice((2, 40, 70000))) for _ in range(drawn.randrange(9))]
        found = counts_of(packed(counts), sum(counts))
        assert found is not None
        assert found.tolist() == counts
        assert counts_of(packed(counts), sum(counts) + 1) is None
    assert counts_of("oooooooooooooooo", 5) is None
    assert counts_of("\u1234", 5) is None
    assert counts_of([3, -1, 3], 5) is None
    assert counts_of([2.5, 2.5], 5) is None
    assert counts_of([2.0, 3], 5) is not None  # numbers of JSON have no kinds


@pytest.mark.parametrize("shape", ["polygon_masks", "pixelwise_masks"])
@pytest.mark.parametrize("ratio", [False, True])
def test_preprocessed(data: dict[str, Any], shape: str, ratio: bool, tmp_path: Path) -> None:
    asked = {shape: True, "image_ids": True}
    folder = str(tmp_path / "saved")
    saved = {"save_preprocessed_annotations": True, "save_preprocessed_annotations_dir": folder}
    expected = read(data, **asked, **saved, ratio=ratio, ltrb=True)
    plain = {"file_root": data["file_root"], "preprocessed_annotations": folder}
    assert read(plain, **asked) == expected
    for refused in ({"ratio": True}, {"ltrb": True}, {"images": ["a"]}, {"skip_empty": True}):
        with pytest.raises(gradiva.OperatorValueError, match="exclude each other"):
            read(plain, **refused)


@pytest.mark.full
@pytest.mark.parametrize("shape", ["polygon_masks", "pixelwise_masks"])
def test_damaged_preprocessed(data: dict[str, Any], shape: str, tmp_path: Path) -> None:
    asked = {shape: True, "image_ids": True}
    folder = tmp_path / "saved"
    read(
        data,
        **asked,
        save_preprocessed_annotations=True,
        save_preprocessed_annotations_dir=str(folder),
    )
    plain = {"file_root": data["file_root"], "preprocessed_annotations": str(folder), **asked}
    files = sorted(folder.glob("*.dat"))
    assert len(files) >= 12
    drawn = random.Random(8)
    for path in files:
        whole = path.read_bytes()
        cut = [whole[:size] for size in range(0, len(whole), 1 + len(whole) // 60)]
        flipped = []
        for _ in range(20):
            bad = bytearray(whole)
            bad[drawn.randrange(len(bad))] = drawn.choice((0, 1, 127, 128, 255))
            flipped.append(bytes(bad))
        for content in cut + flipped:
            path.write_bytes(content)
            found = outcome(plain)
            if found is None:
                assert content not in cut or path.name == "filenames.dat"
            else:
                assert str(folder) in found or "data" in found  # a name of no image
        path.write_bytes(whole)


def test_cut_annotations(data: dict[str, Any]) -> None:
    path = Path(data["annotations_file"])
    whole = path.read_bytes()
    for size in range(0, len(whole), 9):
        path.write_bytes(whole[:size])
        with pytest.raises(
            gradiva.OperatorRuntimeError, match=r"no JSON data.*\n.*annotations\.json"
        ):
            read(data)


@pytest.mark.full
def test_flipped_annotations(data: dict[str, Any]) -> None:
    path = Path(data["annotations_file"])
    whole = path.read_bytes()
    drawn = random.Random(9)
    refused = 0
    for _ in range(300):
        bad = bytearray(whole)
        bad[drawn.randrange(len(bad))] = drawn.choice(b'0123456789-e.",:[]{}x\xff\0')
        path.write_bytes(bad)
        found = outcome({**data, "pixelwise_masks": True})
        if found is not None:
            refused += 1
            assert "annotations.json" in found or "data" in found
    assert refused > 100


def first(part: str, **fields: Any) -> Any:
    def change(content: dict[str, Any]) -> None:
        content[part][0].update(fields)

    return change


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (first("annotations", bbox=[1, 2, 3]), "entry 0: 'bbox'"),
        (first("annotations", bbox=[1, 2, 3, None]), "entry 0: 'bbox'"),
        (first("annotations", bbox=[1, 2, 3, float("nan")]), "entry 0: 'bbox'"),
        (first("annotations", bbox=[1, 2, 3, 10**400]), "entry 0: 'bbox'"),
        (first("annotations", segmentation=[[1, 2, 3]]), "entry 0: 'segmentation'"),
        (first("annotations", segmentation={"size": [1]}), "entry 0: 'segmentation'"),
        (
            first("annotations", segmentation={"size": [12, 13], "counts": [1, 2]}),
            "runs of 156 pixels",
        ),
        (
            first("annotations", segmentation={"size": [9, 13], "counts": [117]}),
            "the size of its image",
        ),
        (first("annotations", image_id="x"), "entry 0: 'image_id'"),
        (first("images", width=0), "entry 0: its size"),
        (first("images", width=1 << 30, height=1 << 30), "entry 0: its size"),
        (first("images", id=1.5), "entry 0: 'id'"),
        (first("images", id=1), "id 1 twice"),
        (first("images", file_name=7), "entry 0: 'file_name'"),
        (first("categories", id=None), "entry 0: 'id'"),
        (lambda content: content.update(annotations={}), "'annotations'"),
        (lambda content: content.update(images=[3]), "'images', entry 0"),
    ],
)
def test_annotations_that_cannot_be(data: dict[str, Any], change: Any, text: str) -> None:
    with pytest.raises(gradiva.OperatorRuntimeError, match=text) as caught:
        read(edited(data, change), pixelwise_masks=True)
    assert "annotations.json" in str(caught.value)


def each(part: str, name: str, made: Any) -> Any:
    def change(content: dict[str, Any]) -> None:
        for row in content[part]:
            row[name] = made(row[name])

    return change


def test_whole_numbers_with_a_point(data: dict[str, Any]) -> None:
    """Numbers of JSON have no kinds: whatever is an integer may have a point."""
    expected = read(data, pixelwise_masks=True, image_ids=True)

    def as_runs(content: dict[str, Any]) -> None:
        for row in content["annotations"]:
            shape = row["segmentation"]
            if isinstance(shape, dict):
                row["segmentation"] = {name: [*map(float, shape[name])] for name in shape}

    def change(content: dict[str, Any]) -> None:
        as_runs(content)
        for part, name in (
            *(("images", "id"), ("images", "height"), ("images", "width")),
            *(("annotations", "image_id"), ("annotations", "category_id"), ("categories", "id")),
            ("annotations", "iscrowd"),
        ):
            each(part, name, float)(content)

    edited(data, change)
    assert read(data, pixelwise_masks=True, image_ids=True) == expected
    assert read(data, avoid_class_remapping=True)[2] == [[], [5], [5, 4], [5, 4, 3]]
    edited(data, first("annotations", category_id=5.5))
    with pytest.raises(SampleDataError, match=r"category .*: 5\.5"):
        read(data)


@pytest.mark.parametrize("far", [1 << 40, (1 << 63) - 9, 1 << 63, -(1 << 40)])
def test_ids_of_any_size(data: dict[str, Any], far: int) -> None:
    """Hashes and times. What is delivered is int32."""
    expected = read(data)

    def change(content: dict[str, Any]) -> None:
        for part, name in (("images", "id"), ("annotations", "image_id"), ("annotations", "id")):
            each(part, name, lambda key: far + key)(content)

    edited(data, change)
    assert read(data) == expected
    reader = gradiva.readers.COCO(**data)
    reader.set_state(reader.get_state())
    with pytest.raises(gradiva.OperatorRuntimeError, match="an integer of 32 bits, got"):
        read(data, image_ids=True)
    edited(data, each("categories", "id", lambda key: far + key))
    edited(data, each("annotations", "category_id", lambda key: far + key))
    assert read(data) == expected


def test_an_empty_box_is_no_object(data: dict[str, Any]) -> None:
    before = read(data)
    edited(
        data,
        lambda content: content["annotations"].append(
            {
                "image_id": 0,
                "category_id": 5,
                "bbox": [],
                "area": 0,
                "iscrowd": 0,
                "segmentation": [],
            }
        ),
    )
    assert read(data) == before
    assert read(data, pixelwise_masks=True)[:3] == before[:3]


@pytest.mark.parametrize(
    "change",
    [
        {"bbox": [1, 2, 3]},
        {"bbox": None},
        {"bbox": [1, 2, 3, float("nan")]},
        {"bbox": [1, 2, 3, "4"]},
        {"segmentation": [[1, 2, 3]]},
    ],
)
def test_a_bad_object_is_an_error_of_its_image(data: dict[str, Any], change: Any) -> None:
    masks = {"pixelwise_masks": "segmentation" in change}
    before = read(data, **masks)
    edited(data, first("annotations", **change))
    for skips in ({}, {"skip_empty": True}):
        with pytest.raises(SampleDataError, match="entry 0"):
            read(data, **masks, **skips)
    with pytest.warns(UserWarning, match="entry 0"), gradiva.Quarantine():
        left = read(data, **masks, on_error="skip")
    assert left == [[row for number, row in enumerate(part) if number != 1] for part in before]


def test_deep_json(data: dict[str, Any]) -> None:
    Path(data["annotations_file"]).write_text("[" * 200000)
    with pytest.raises(gradiva.OperatorRuntimeError, match="no JSON data"):
        read(data)


def test_a_vertex_far_away(data: dict[str, Any]) -> None:
    far = first("annotations", segmentation=[[1, 1, 9e8, 3, 4, 5]])
    with pytest.raises(gradiva.OperatorRuntimeError, match="far outside"):
        read(edited(data, far), pixelwise_masks=True)


def test_an_unknown_category_is_an_error_of_its_image(data: dict[str, Any]) -> None:
    edited(data, first("annotations", category_id=77))
    with pytest.raises(gradiva.OperatorRuntimeError, match=r"77 .*entry 0"):
        read(data)
    with Quarantine(warns=False) as bad:
        assert read(data, on_error="skip")[2] == [[], [2, 3], [2, 3, 1]]
        assert read(data, on_error="replace")[2] == [[], [], [2, 3], [2, 3, 1]]
    assert bad.total == 2
    assert read(data, avoid_class_remapping=True)[2][1] == [77]


@pytest.mark.parametrize(
    "refused",
    [
        {"annotations_file": ""},
        {"polygon_masks": True, "pixelwise_masks": True},
        {"save_preprocessed_annotations": True},
        {"save_preprocessed_annotations_dir": "x"},
        {"preprocessed_annotations": "x"},
        {"skip_cached_images": True},
        {"annotations_file": "no.json"},
    ],
)
def test_refusals(data: dict[str, Any], refused: dict[str, Any]) -> None:
    with pytest.raises(gradiva.OperatorValueError):
        read(data, **refused)


def test_other_annotations_are_other_data(data: dict[str, Any]) -> None:
    def pipe() -> Any:
        return values(fn_readers.coco(**data))

    options: dict[str, Any] = {"batch_size": 2, "num_threads": 1, "device_id": None}
    with pipeline_def(pipe)(**options, enable_checkpointing=True) as made:
        made.run()
        saved = made.checkpoint()
    edited(data, first("annotations", bbox=[3, 3, 3, 3]))
    with (
        pytest.raises(gradiva.GradivaError),
        pipeline_def(pipe)(**options, enable_checkpointing=True, checkpoint=saved) as made,
    ):
        made.run()
