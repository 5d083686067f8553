"""readers.coco against DALI: all arguments, and masks of random polygons."""

from __future__ import annotations

import json
import random
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from tests.ops.readers.formats import coco as write
from tests.ops.readers.formats import values

from .reference import fn, run

SIZE = 8
ARGUMENTS: list[dict[str, Any]] = [
    {},
    {"ltrb": True},
    {"ratio": True},
    {"ltrb": True, "ratio": True},
    {"skip_empty": True},
    {"size_threshold": 2.0, "skip_empty": True},
    {"include_iscrowd": False, "image_ids": True},
    {"avoid_class_remapping": True},
    {"polygon_masks": True, "ratio": True, "image_ids": True},
    {"polygon_masks": True, "skip_empty": True},
    {"pixelwise_masks": True, "image_ids": True},
    {"pixelwise_masks": True, "ratio": True, "ltrb": True},
]


def compare(data: dict[str, Any], size: int) -> None:
    expected = run(lambda: values(fn.readers.coco(**data)), size)
    found = next(gradiva.readers.COCO(**data).next_epoch(batch_size=size))
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected, strict=True):
        for sample in range(size):
            array = ours.array(sample)
            assert (array.dtype, array.shape) == (theirs[sample].dtype, theirs[sample].shape)
            np.testing.assert_array_equal(array, theirs[sample])


@pytest.mark.parametrize("arguments", ARGUMENTS)
def test_arguments(arguments: dict[str, Any], tmp_path: Path) -> None:
    data = {**write(tmp_path, SIZE), "polygon_masks": False, "image_ids": False, **arguments}
    compare(data, 6 if "skip_empty" not in arguments else 4)


def test_chosen_images(tmp_path: Path) -> None:
    data = write(tmp_path, SIZE)
    names = [str(tmp_path / f"data{number}.jpg") for number in (5, 2, 7, 2)]
    compare({**data, "images": names}, 4)


def saved(arguments: dict[str, Any]) -> Any:
    return values(fn.readers.coco(**arguments))


@pytest.mark.parametrize("shape", ["polygon_masks", "pixelwise_masks"])
def test_preprocessed(shape: str, tmp_path: Path) -> None:
    """The same files, and each reads the other's."""
    data = {**write(tmp_path, SIZE), "polygon_masks": False, shape: True}
    folders = [tmp_path / "ours", tmp_path / "theirs"]
    for folder in folders:
        folder.mkdir()
        saving = {
            **data,
            "save_preprocessed_annotations": True,
            "save_preprocessed_annotations_dir": str(folder),
        }
        if folder.name == "ours":
            list(gradiva.readers.COCO(**saving).next_epoch(batch_size=SIZE))
        else:
            run(partial(saved, saving), SIZE)
    contents = [{path.name: path.read_bytes() for path in one.glob("*")} for one in folders]
    assert contents[0] == contents[1]
    plain = {name: value for name, value in data.items() if name != "annotations_file"}
    compare({**plain, "preprocessed_annotations": str(folders[0])}, SIZE)


def outlines(drawn: random.Random, height: int, width: int) -> list[list[float]]:
    """Polygons, of whole and of broken coordinates, also beyond the image."""
    found = []
    for _ in range(drawn.randrange(1, 4)):
        outline: list[float] = []
        for _ in range(drawn.randrange(3, 12)):
            x, y = drawn.uniform(-4, width + 4), drawn.uniform(-4, height + 4)
            outline += [round(x, drawn.choice((0, 1, 6))), round(y, drawn.choice((0, 1, 6)))]
        found.append(outline)
    return found


@pytest.mark.parametrize("seed", range(20))
def test_masks_of_random_polygons(seed: int, tmp_path: Path) -> None:
    """One object an image: where objects overlap, DALI is undefined."""
    drawn = random.Random(seed)
    data = write(tmp_path, SIZE)
    path = Path(data["annotations_file"])
    content = json.loads(path.read_text())
    content["annotations"] = []
    for image in content["images"]:
        image["height"], image["width"] = drawn.randrange(1, 40), drawn.randrange(1, 40)
        content["annotations"].append(
            {
                "image_id": image["id"],
                "category_id": drawn.choice((3, 4, 5)),
                "bbox": [0, 0, 3, 3],
                "iscrowd": 0,
                "segmentation": outlines(drawn, image["height"], image["width"]),
            }
        )
    path.write_text(json.dumps(content))
    compare({**data, "polygon_masks": False, "pixelwise_masks": True}, SIZE)
