"""The whole story in a few seconds: eager call, capture, prefetching pipeline, same bits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import gradiva
from gradiva import fn


def augment(files: Any) -> Any:
    images = gradiva.decoders.image(files)
    images = gradiva.resize(images, resize_shorter=64)
    coin = gradiva.random.coin_flip(batch_size=images.batch_size)
    return gradiva.crop_mirror_normalize(
        images, crop=(48, 48), mirror=coin, mean=[120.0, 115.0, 100.0], std=[58.0, 57.0, 59.0]
    )


def test_whole_story(photographs: Path) -> None:
    root = str(photographs)
    gradiva.random.set_seed(7)

    reader = gradiva.readers.File(file_root=root, random_shuffle=True)
    eager = {}
    for files, _labels in reader.next_epoch(batch_size=3):
        batch = augment(files)
        assert batch.positions is not None
        for position, sample in zip(batch.positions, batch, strict=True):
            eager[int(position)] = np.asarray(sample)
    assert len(eager) == 7

    @gradiva.pipeline_def(batch_size=4, num_threads=2, seed=7)
    def pipeline() -> Any:
        files, labels = fn.readers.file(file_root=root, random_shuffle=True)
        return augment(files), labels

    pipe = pipeline()
    seen = 0
    for _ in range(3):
        images, labels = pipe.run()
        assert labels.shape == [(1,)] * 4
        assert images.positions is not None
        for position, sample in zip(images.positions, images, strict=True):
            if int(position) in eager:
                np.testing.assert_array_equal(np.asarray(sample), eager[int(position)])
                seen += 1
    assert seen == 7
    pipe.close()
