"""Targets of the COCO reader: boxes, labels and polygons as it delivers them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
import pytest

import gradiva
from gradiva import fn, pipeline_def

WIDTH, HEIGHT = 60, 40


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Two images, one with two objects and one with none."""
    for name in ("a.png", "b.png"):
        PIL.Image.fromarray(np.zeros((HEIGHT, WIDTH, 3), np.uint8)).save(tmp_path / name)
    images = [
        {"id": k, "file_name": name, "width": WIDTH, "height": HEIGHT}
        for k, name in enumerate(("a.png", "b.png"))
    ]
    objects = [
        {
            "id": number,
            "image_id": 0,
            "category_id": number + 1,
            "bbox": [x, 10, 12, 8],
            "area": 96,
            "iscrowd": 0,
            "segmentation": [[x, 10, x + 12, 10, x + 12, 18]],
        }
        for number, x in enumerate((4, 40))
    ]
    kinds = [{"id": 1, "name": "one"}, {"id": 2, "name": "two"}]
    text = json.dumps({"images": images, "annotations": objects, "categories": kinds})
    (tmp_path / "all.json").write_text(text)
    return tmp_path


@pytest.mark.parametrize("ratio", [False, True])
@pytest.mark.parametrize("ltrb", [False, True])
def test_reader(data: Path, ratio: bool, ltrb: bool) -> None:
    @pipeline_def(batch_size=2, num_threads=1, seed=1)
    def pipe() -> Any:
        files, boxes, labels, polygons, vertices = fn.readers.coco(
            file_root=str(data),
            annotations_file=str(data / "all.json"),
            ratio=ratio,
            ltrb=ltrb,
            polygon_masks=True,
            skip_empty=False,
        )
        images = fn.decoders.image(files)
        targets = gradiva.Targets(
            boxes=boxes,
            labels=labels,
            polygons=polygons,
            vertices=vertices,
            format="xyxy" if ltrb else "xywh",
            relative=ratio,
        )
        images, targets = fn.slice(images, targets, start=(0, 30), end=(40, 60), axis_names="HW")
        images, targets = fn.flip(images, targets, horizontal=1)
        return images, *targets.fields().values()

    outputs = pipe().run()
    boxes, labels, polygons, vertices = ([np.array(one) for one in out] for out in outputs[1:])
    unit = np.array([30, 40, 30, 40] if ratio else [1, 1, 1, 1], np.float32)
    expected = [8, 10, 20, 18] if ltrb else [8, 10, 12, 8]
    np.testing.assert_allclose(boxes[0], [expected / unit], rtol=1e-6)
    assert labels[0].ravel().tolist() == [2]
    assert polygons[0].tolist() == [[0, 0, 3]]
    corners = np.array([[20, 10], [8, 10], [8, 18]]) / unit[:2]
    np.testing.assert_allclose(vertices[0], corners, rtol=1e-6)
    assert [one.shape[0] for one in (boxes[1], labels[1], polygons[1], vertices[1])] == [0] * 4
