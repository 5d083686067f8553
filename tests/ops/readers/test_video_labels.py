"""Labels of the readers of videos: their dtype and shape, and the names of classes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradiva import experimental, fn, pipeline_def, readers

from ..video.bars import write

pytest.importorskip("av")

MAKERS: dict[str, Any] = {
    "video": experimental.readers.Video,
    "older": readers.Video,
    "resized": readers.VideoResize,
}


@pytest.fixture(name="root")
def made_root(tmp_path: Path) -> Path:
    for name in ("run", "jump"):
        (tmp_path / name).mkdir()
        write(tmp_path / name / "1.mp4", "libvpx-vp9", "mp4", 6)
    return tmp_path


@pytest.mark.parametrize("name", MAKERS)
def test_labels_and_classes(root: Path, name: str) -> None:
    given: Any = {"file_root": root, "sequence_length": 3}
    if name == "resized":
        given["size"] = (8, 8)
    reader: Any = MAKERS[name](**given, label_dtype="int64", label_shape=())
    assert reader.classes == ["jump", "run"]
    assert len(reader) == 4
    (outputs,) = reader.next_epoch(batch_size=4)
    labels = np.asarray(outputs[1])
    assert (str(labels.dtype), labels.tolist()) == ("int64", [0, 0, 1, 1])
    (usual,) = MAKERS[name](**given).next_epoch(batch_size=4)
    assert np.asarray(usual[1]).tolist() == [[0], [0], [1], [1]]

    files = [str(root / "run" / "1.mp4")]
    listed: Any = {**given, "filenames": files, "labels": [300]}
    del listed["file_root"]
    assert MAKERS[name](**listed).classes is None
    with pytest.raises(ValueError, match=r"`label_dtype`.*label 300"):
        MAKERS[name](**listed, label_dtype="uint8")


def test_in_a_pipeline(root: Path) -> None:
    @pipeline_def(batch_size=4, num_threads=1)
    def pipeline() -> Any:
        return fn.experimental.readers.video(
            file_root=root, sequence_length=3, label_dtype="int64", label_shape=()
        )

    with pipeline() as pipe:
        labels = np.asarray(pipe.run()[1])
    assert (str(labels.dtype), labels.tolist()) == ("int64", [0, 0, 1, 1])
