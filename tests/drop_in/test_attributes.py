"""Attributes that scripts read from iterators and pipelines, and those that they set themselves."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import Pipeline, fn, pipeline_def
from gradiva.plugin.base_iterator import LastBatchPolicy
from gradiva.plugin.numpy import DALIGenericIterator

pytestmark = pytest.mark.core

FILL, DROP, PARTIAL = LastBatchPolicy.FILL, LastBatchPolicy.DROP, LastBatchPolicy.PARTIAL


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("files")
    (top / "a").mkdir()
    for number in range(11):
        (top / "a" / f"{number:02}.jpg").write_bytes(bytes([number]))
    return top


def reading(folder: Path, shard: int = 0, number: int = 1, **options: Any) -> Pipeline:
    @pipeline_def(batch_size=2, num_threads=1, **options)
    def pipe() -> Any:
        files, _ = fn.readers.file(
            file_root=str(folder), shard_id=shard, num_shards=number, name="Reader"
        )
        return fn.reshape(files, shape=[1])

    return pipe()


@pytest.mark.parametrize(("policy", "size"), [(FILL, 12), (PARTIAL, 12), (DROP, 11)])
def test_an_iterator_over_a_reader(folder: Path, policy: LastBatchPolicy, size: int) -> None:
    pipe = reading(folder)
    loop: Any = DALIGenericIterator(
        pipe, ["data"], reader_name="Reader", last_batch_policy=policy, auto_reset=True
    )
    assert (loop._num_gpus, loop._pipes, loop._reader_name) == (1, [pipe], "Reader")
    assert (loop._size, loop._size_no_pad, loop._shards_num) == (size, 11, 1)
    assert (loop._counter, loop._first_batch, loop._auto_reset) == (0, None, "yes")
    assert (loop._last_batch_policy, loop._last_batch_padded) == (policy, False)
    assert (loop.output_map, loop._output_categories) == (["data"], {"data"})
    assert (loop._is_stick_to_shard, loop._ever_consumed) == (False, False)
    assert loop._prepare_first_batch
    counted = [loop._counter for _ in loop]
    assert counted == ([2, 4, 6, 8, 10] if policy is DROP else [2, 4, 6, 8, 10, 12])
    assert (loop._counter, loop._ever_consumed) == (0, True)
    pipe.close()


def test_shards(folder: Path) -> None:
    pipes = [reading(folder, shard, 3) for shard in range(2)]
    loop: Any = DALIGenericIterator(pipes, ["data"], reader_name="Reader")
    assert (loop._num_gpus, loop._shards_num, loop._size) == (2, 3, 4)
    assert loop._shards_id.tolist() == [0, 1]
    assert loop._shard_sizes_per_gpu.tolist() == [3, 4, 4]
    for _ in loop:
        pass
    loop.reset()
    assert loop._shards_id.tolist() == [1, 2]
    for pipe in pipes:
        pipe.close()


def test_an_iterator_of_a_size(folder: Path) -> None:
    pipe = reading(folder)
    loop: Any = DALIGenericIterator(pipe, ["data"], size=5, last_batch_padded=True)
    assert (loop._size, loop._reader_name, loop._auto_reset) == (5, None, "no")
    next(loop)
    assert loop._counter == 2
    with pytest.raises(AttributeError, match="reader_name"):
        loop._shards_num  # noqa: B018
    pipe.close()


def test_a_subclass_may_set_them(folder: Path) -> None:
    class Counting(DALIGenericIterator):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            self.output_map = ["other"]
            self._size = 4

        def __len__(self) -> int:
            return math.ceil(self._size / (self._num_gpus * self.batch_size))

    pipe = reading(folder)
    loop: Any = Counting(pipe, ["data"], reader_name="Reader")
    assert (len(loop), loop.output_map) == (2, ["other"])
    assert next(loop)[0]["data"].tolist() == [[0], [1]]
    pipe.close()


def test_checkpoints_of_an_iterator(folder: Path) -> None:
    """A new iterator over pipelines made of them goes on in the middle of the epoch."""
    pipe = reading(folder, enable_checkpointing=True)
    loop = DALIGenericIterator(pipe, ["data"], reader_name="Reader", last_batch_policy=PARTIAL)
    begin = loop.checkpoints()
    for _ in range(2):
        next(loop)
    middle = loop.checkpoints()
    rest = [batch[0]["data"].tolist() for batch in loop]
    pipe.close()
    for saved, expected in ((begin, 6), (middle, 4)):
        again = reading(folder, enable_checkpointing=True, checkpoint=saved[0])
        more = DALIGenericIterator(again, ["data"], reader_name="Reader", last_batch_policy=PARTIAL)
        found = [batch[0]["data"].tolist() for batch in more]
        assert found[-4:] == rest
        assert len(found) == expected
        again.close()
    plain = reading(folder)
    with pytest.raises(ValueError, match="enable_checkpointing"):
        DALIGenericIterator(plain, ["data"]).checkpoints()
    plain.close()


def test_attributes_of_a_pipeline_that_are_the_users() -> None:
    """What DALI does not have is free for subclasses."""
    free = ("graph", "quarantine", "bytes_per_sample", "checkpoint_context", "trace", "close")

    class Own(Pipeline):
        def __init__(self) -> None:
            super().__init__(2, 1)
            for name in (*free, "enable_checkpointing", "reader", "data"):
                setattr(self, name, name)

        def define_graph(self) -> Any:
            return fn.constant(idata=[1, 2])

    pipe: Any = Own()
    (made,) = pipe.run()
    assert np.asarray(made).tolist() == [[1, 2], [1, 2]]
    assert [getattr(pipe, name) for name in free] == list(free)
    assert "constant" in pipe._repr_svg_()
    plain = Pipeline(2, 1, bytes_per_sample=7, enable_checkpointing=True)
    assert (plain.bytes_per_sample, plain.enable_checkpointing) == (7, True)
    assert gradiva.Pipeline.graph.__doc__


def test_prefetch() -> None:
    """The batches that are ready are made before the first run."""
    pipe: Any = gradiva.Pipeline(2, 1, prefetch_queue_depth=2)
    made = []

    def sample(info: gradiva.types.SampleInfo) -> Any:
        made.append(info)
        return np.zeros(3)

    with pipe:
        pipe.set_outputs(fn.external_source(sample, batch=False))
    pipe._prefetch()
    pipe._prefetch()
    pipe._runtime.executor.wait()
    assert made
    assert len(pipe.run()[0]) == 2
    pipe.close()
