"""Every constructor argument of Pipeline: read back, refused where it makes no sense."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import Pipeline, fn, pipeline_def, types
from gradiva.capture.pipeline.options import OperatorConcurrency, StreamPolicy

DEFAULTS = {
    "batch_size": 3,
    "max_batch_size": 3,
    "num_threads": 2,
    "device_id": None,
    "seed": None,
    "exec_pipelined": True,
    "exec_async": True,
    "exec_separated": False,
    "exec_dynamic": True,
    "prefetch_queue_depth": 2,
    "cpu_queue_size": 2,
    "gpu_queue_size": 2,
    "max_streams": -1,
    "default_cuda_stream_priority": 0,
    "set_affinity": False,
    "enable_memory_stats": False,
    "py_num_workers": 1,
    "py_start_method": "fork",
    "stream_policy": None,
    "concurrency": None,
}


@pytest.mark.tiny
@pytest.mark.parametrize(
    ("given", "read"),
    [
        ({}, {}),
        ({"seed": 7}, {"seed": 7}),
        ({"seed": -5}, {"seed": None}),
        ({"device_id": types.CPU_ONLY_DEVICE_ID}, {}),
        ({"device_id": -1}, {}),
        ({"device_id": 1}, {"device_id": 1}),
        ({"exec_async": False}, {"exec_async": False, "exec_dynamic": None}),
        ({"exec_pipelined": False}, {"exec_pipelined": False, "exec_dynamic": None}),
        ({"exec_dynamic": False}, {"exec_dynamic": False}),
        ({"exec_dynamic": True}, {}),
        (
            {"prefetch_queue_depth": {"cpu_size": 3, "gpu_size": 4}},
            {
                "prefetch_queue_depth": {"cpu_size": 3, "gpu_size": 4},
                "cpu_queue_size": 3,
                "gpu_queue_size": 4,
                "exec_separated": True,
                "exec_dynamic": None,
            },
        ),
        ({"max_streams": 4}, {"max_streams": 4}),
        ({"default_cuda_stream_priority": -1}, {"default_cuda_stream_priority": -1}),
        ({"py_num_workers": 0}, {"py_num_workers": 0}),
        ({"py_start_method": "forkserver"}, {"py_start_method": "forkserver"}),
        ({"experimental_exec_dynamic": True}, {}),
        ({"experimental_exec_dynamic": False}, {"exec_dynamic": False}),
        ({"stream_policy": StreamPolicy.UNSPECIFIED}, {"stream_policy": StreamPolicy.UNSPECIFIED}),
        ({"concurrency": "unspecified"}, {"concurrency": OperatorConcurrency.UNSPECIFIED}),
        ({"stream_policy": "per_operator"}, {"stream_policy": StreamPolicy.PER_OPERATOR}),
        ({"concurrency": OperatorConcurrency.FULL}, {"concurrency": OperatorConcurrency.FULL}),
        ({"bytes_per_sample": np.int64(100)}, {}),
    ],
)
def test_what_is_given_is_read_back(given: dict[str, Any], read: dict[str, Any]) -> None:
    pipe = Pipeline(3, 2, **given)
    assert {name: getattr(pipe, name) for name in DEFAULTS} == {**DEFAULTS, **read}
    assert type(pipe.batch_size) is int


@pytest.mark.tiny
@pytest.mark.parametrize(
    ("given", "kind", "words"),
    [
        ({"batch_size": 0}, ValueError, "`batch_size`: expected a positive integer, got 0"),
        ({"batch_size": -3}, ValueError, "`batch_size`"),
        ({"batch_size": 2.5}, ValueError, "`batch_size`"),
        ({"batch_size": True}, ValueError, "`batch_size`"),
        ({"num_threads": 0}, ValueError, "`num_threads`"),
        ({"device_id": "cuda"}, TypeError, "`device_id`: expected an integer"),
        ({"device_id": -7}, ValueError, "the number of a GPU, or None"),
        ({"seed": "x"}, TypeError, "`seed`"),
        ({"prefetch_queue_depth": 0}, ValueError, "`prefetch_queue_depth`: expected at least 1"),
        ({"prefetch_queue_depth": "2"}, TypeError, "`prefetch_queue_depth`"),
        ({"prefetch_queue_depth": {"cpu_size": 2}}, ValueError, "cpu_size and gpu_size"),
        (
            {"prefetch_queue_depth": {"cpu_size": 2, "gpu_size": 2}, "exec_async": False},
            ValueError,
            "need stages that prefetch",
        ),
        ({"exec_async": "yes"}, TypeError, "`exec_async`: expected True or False"),
        ({"bytes_per_sample": -1}, ValueError, "`bytes_per_sample`: expected a number of bytes"),
        ({"py_num_workers": -1}, ValueError, "`py_num_workers`"),
        ({"py_start_method": "thread"}, ValueError, "'fork', 'spawn', 'forkserver'"),
        ({"checkpoint": 3}, TypeError, "`checkpoint`"),
        ({"output_ndim": -1}, ValueError, "`output_ndim`"),
        ({"output_dtype": "uint7"}, TypeError, "`output_dtype`"),
        (
            {"output_dtype": [types.FLOAT], "output_ndim": [1, 2]},
            ValueError,
            "output_dtype: 1, output_ndim: 2",
        ),
        ({"stream_policy": "many"}, ValueError, "'per_operator'"),
        ({"concurrency": 3}, ValueError, "`concurrency`"),
    ],
)
def test_refusals(given: dict[str, Any], kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words) as caught:
        Pipeline(**{"batch_size": 1, **given})
    assert str(caught.value).startswith("Pipeline: argument") or "Pipeline: " in str(caught.value)


@pytest.mark.tiny
def test_an_unknown_argument() -> None:
    with pytest.raises(TypeError, match="batchsize"):
        Pipeline(batchsize=3)  # type: ignore[call-arg]


@pipeline_def(batch_size=2, num_threads=1)
def numbers(count: int = 2) -> Any:
    return fn.external_source(lambda: [np.zeros((2, 3), np.uint8)] * count, layout="HW")


def test_a_smaller_batch_than_the_maximum() -> None:
    assert len(numbers(1).run()[0]) == 1


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"output_dtype": types.FLOAT}, "`output_dtype`: output 0 .* expected float32, got uint8"),
        ({"output_dtype": [types.UINT8], "output_ndim": [3]}, "expected 3, got 2"),
        ({"output_layout": "WH"}, "expected WH, got HW"),
    ],
)
def test_declared_outputs_are_checked(given: dict[str, Any], words: str) -> None:
    with pytest.raises(TypeError, match=words):
        numbers(**given).run()


def test_declared_outputs_that_hold() -> None:
    pipe = numbers(output_dtype=gradiva.uint8, output_ndim=[2], output_layout="HW")
    assert (pipe.output_dtype(), pipe.output_ndim()) == ([gradiva.uint8], [2])
    assert (numbers().output_dtype(), numbers().output_ndim()) == ([None], [None])
    assert pipe.run()[0].layout() == "HW"
    with pytest.raises(ValueError, match="expected 1 outputs, got 2"):
        numbers(output_ndim=[2, 2]).build()


@pytest.mark.parametrize("value", ["x", np.zeros(2), [1, 2], gradiva.tensor(1)])
def test_an_input_in_the_place_of_the_stream(value: Any) -> None:
    """Scripts pass data to `run` without its name."""

    @gradiva.pipeline_def(batch_size=1, num_threads=1)
    def pipe() -> Any:
        return fn.external_source(name="data")

    with pytest.raises(
        TypeError, match=r"`cuda_stream`: expected a CUDA stream; inputs .* by name"
    ):
        pipe().run(value)
