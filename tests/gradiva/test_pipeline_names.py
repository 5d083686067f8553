"""docs/pipeline.md lists every public name of Pipeline, and each with a test that is there."""

from __future__ import annotations

import inspect

import pytest

from gradiva import Pipeline, fn, pipeline_def
from tests.gradiva.listed import listed, named_in
from tests.tiers import few

pytestmark = pytest.mark.tiny

LISTED = listed("pipeline.md", twice=("checkpoint",))


def words(text: str) -> list[str]:
    return text.split()


DOCUMENTED = words(
    """
__enter__ __exit__ add_sink batch_size build cpu_queue_size default_cuda_stream_priority
define_graph deserialize deserialize_and_build device_id empty enable_api_check
enable_memory_stats epoch_size exec_async exec_pipelined exec_separated executor_statistics
feed_input gpu_queue_size iter_setup max_batch_size max_streams num_threads outputs pop_current
prefetch_queue_depth push_current py_num_workers py_start_method reader_meta release_outputs
reset run save_graph_to_dot_file schedule_run seed serialize set_affinity set_outputs
share_outputs start_py_workers checkpoint concurrency current exec_dynamic
external_source_shm_statistics input_feed_count is_restored_from_checkpoint num_outputs
output_dtype output_ndim output_stream stream_policy
"""
)
"""The methods and properties that the documents of other libraries promise of a pipeline."""

ARGUMENTS = words(
    """
batch_size num_threads device_id seed exec_pipelined prefetch_queue_depth exec_async
bytes_per_sample set_affinity max_streams default_cuda_stream_priority enable_memory_stats
enable_checkpointing checkpoint py_num_workers py_start_method py_callback_pickler output_dtype
output_ndim output_layout exec_dynamic experimental_exec_dynamic stream_policy concurrency
cache cache_bytes with_receipt compose_warps
"""
)
"""Likewise the arguments of the constructor, in their order; the last four are our own."""


def test_what_is_documented_is_there_and_listed() -> None:
    for name in DOCUMENTED:
        assert hasattr(Pipeline, name), name
        assert name in LISTED, name
    assert list(inspect.signature(Pipeline).parameters) == ARGUMENTS
    assert set(ARGUMENTS) <= set(LISTED)


def test_every_public_name_is_listed() -> None:
    public = {name for name in dir(Pipeline) if not name.startswith("_")}
    assert public <= set(LISTED)
    gone = {name for name in LISTED if not hasattr(Pipeline, name) and name not in ARGUMENTS}
    assert gone == set()


@pytest.mark.parametrize("name", few(sorted(LISTED), every=8))
def test_each_name_has_its_test(name: str) -> None:
    file, test = LISTED[name]
    assert test in named_in(file)


def test_outputs_have_no_stream() -> None:
    pipe = pipeline_def(batch_size=1, num_threads=1)(lambda: fn.random.uniform(shape=2))()
    with pytest.raises(RuntimeError, match="on the CPU: they have no CUDA stream"):
        pipe.output_stream()
