"""Pipelines that are cut between loader and trainer: fewer bytes, the same bits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gradiva import fn, pipeline_def, types
from gradiva.ops.readers.core.source import EpochPart
from gradiva.plugin.ray.batch_producer import BatchProducer
from gradiva.plugin.ray.graph_partition import TrainerProgram


def training(photographs: Path) -> Any:
    @pipeline_def(batch_size=4, num_threads=2, seed=5)
    def pipe() -> Any:
        files, labels = fn.readers.file(file_root=str(photographs), random_shuffle=True)
        images = fn.decoders.image(files)
        images = fn.resize(images, size=(48, 48))
        mirror = fn.random.coin_flip()
        images = fn.crop_mirror_normalize(
            images, crop=(32, 32), mirror=mirror, mean=[124.0, 116.0, 104.0], std=[58.0, 57.0, 57.0]
        )
        return images, labels

    return pipe()


def test_before_the_values_are_floats(photographs: Path) -> None:
    whole, cut = (
        BatchProducer(training(photographs)),
        BatchProducer(training(photographs), cut=True),
    )
    try:
        made = cut.cut
        assert made is not None
        assert made.before == 3 * 32 * 32 * 4 + 4
        assert made.bytes == 3 * 32 * 32 + 4  # uint8, and the label
        trainer = TrainerProgram(training(photographs)._recorded(), made.sent)
        assert sorted(trainer.names) == ["normalize_pixels", "transpose"]
        part = EpochPart(1, 2, 6)
        sent = cut.make(part).batches()
        assert sorted(str(batch.type) for batch in sent) == ["int32 1-D cpu", "uint8 HWC cpu"]
        for found, wanted in zip(trainer(*sent), whole.make(part).batches(), strict=True):
            assert found.type == wanted.type
            assert found.as_array().tobytes() == wanted.as_array().tobytes()
            assert found.source_info() == wanted.source_info()
        assert whole.facts().digest != cut.facts().digest
    finally:
        whole.close()
        cut.close()


@pytest.mark.full
def test_what_is_small_already(photographs: Path) -> None:
    """Nothing is moved where that would send more."""

    @pipeline_def(batch_size=4, num_threads=1, seed=5)
    def pipe() -> Any:
        files, _ = fn.readers.file(file_root=str(photographs))
        images = fn.resize(fn.decoders.image(files), size=(16, 16))
        shown = fn.crop(images, crop=(4, 4))
        return shown, fn.cast(shown, dtype=types.FLOAT) + 1, fn.reductions.mean(images)

    producer = BatchProducer(pipe(), cut=True)
    cut = producer.cut
    assert cut is not None
    assert cut.before == 3 * 16 * (1 + 4) + 4
    assert cut.bytes == 3 * 16 + 4
    trainer = TrainerProgram(pipe()._recorded(), cut.sent)
    outputs = trainer(*producer.make(EpochPart(0, 0, 3)).batches())
    assert [str(one.dtype) for one in outputs] == ["uint8", "float32", "float32"]
    producer.close()
