"""The settings of a pipeline: given to its constructor, and answered by its properties."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from gradiva.eager.runtime.worker_pool import default_num_threads
from gradiva.eager.support.errors import OperatorValueError, user_location

from .options import OperatorConcurrency, Options, StreamPolicy, check_options

__all__ = ["Settings"]


class Settings:
    """The part of `Pipeline` that knows what it was made with; see there for the arguments."""

    def __init__(
        self,
        batch_size: int | None = -1,
        num_threads: int | None = -1,
        device_id: int | None = None,
        seed: int | None = None,
        exec_pipelined: bool = True,
        prefetch_queue_depth: int | dict[str, int] = 2,
        exec_async: bool = True,
        bytes_per_sample: int = 0,
        set_affinity: bool = False,
        max_streams: int | None = None,
        default_cuda_stream_priority: int | None = None,
        *,
        enable_memory_stats: bool = False,
        enable_checkpointing: bool = False,
        checkpoint: str | bytes | os.PathLike[str] | None = None,
        py_num_workers: int = 1,
        py_start_method: str = "fork",
        py_callback_pickler: Any = None,
        output_dtype: Any = None,
        output_ndim: Any = None,
        output_layout: Any = None,
        exec_dynamic: bool | None = None,
        experimental_exec_dynamic: bool | None = None,
        stream_policy: StreamPolicy | str | None = None,
        concurrency: OperatorConcurrency | str | None = None,
    ) -> None:
        given = {name: value for name, value in locals().items() if name not in ("self",)}
        given.pop("__class__", None)
        self._options: Options = check_options(given)
        # Also where it comes from the environment: a wrong one is an error here.
        self._num_threads = self._options.num_threads or default_num_threads()
        self._initialise()

    def _initialise(self) -> None:
        """For the classes on top: what they keep. The constructor's signature stays one."""

    @property
    def batch_size(self) -> int:
        """The most samples that a batch has. Raises OperatorValueError if none was given."""
        if self._options.batch_size is None:
            raise OperatorValueError(
                "the pipeline has no batch size",
                operator="Pipeline",
                argument="batch_size",
                expected="a positive integer",
                got="none",
                location=user_location(),
            )
        return self._options.batch_size

    max_batch_size = batch_size

    @property
    def num_threads(self) -> int:
        """Threads that work on a batch; the cores this process may use, if none were given."""
        return self._num_threads

    @property
    def device_id(self) -> int | None:
        """The number of the GPU, None for pipelines that use none."""
        return self._options.device_id

    @property
    def seed(self) -> int | None:
        """The seed that was given, or None."""
        return self._options.seed

    @property
    def exec_pipelined(self) -> bool:
        return self._options.exec_pipelined

    @property
    def exec_async(self) -> bool:
        return self._options.exec_async

    @property
    def exec_separated(self) -> bool:
        """Whether each stage has a queue of its own depth."""
        return isinstance(self._options.prefetch_queue_depth, dict)

    @property
    def exec_dynamic(self) -> bool | None:
        """As it was given; there is one executor, which serves both."""
        return self._options.exec_dynamic

    @property
    def prefetch_queue_depth(self) -> int | dict[str, int]:
        return self._options.prefetch_queue_depth

    @property
    def cpu_queue_size(self) -> int:
        """Batches that the stage on the CPU makes ahead."""
        return self._options.depth[0]

    @property
    def gpu_queue_size(self) -> int:
        """Batches that the stages after that on the CPU make ahead."""
        return self._options.depth[1]

    @property
    def max_streams(self) -> int:
        """1 for one CUDA stream; by default there are two, on which batches take turns."""
        return self._options.max_streams

    @property
    def default_cuda_stream_priority(self) -> int:
        return self._options.default_cuda_stream_priority

    @property
    def set_affinity(self) -> bool:
        """Whether each worker thread is bound to a CPU."""
        return self._options.set_affinity

    @property
    def enable_memory_stats(self) -> bool:
        return self._options.enable_memory_stats

    @property
    def bytes_per_sample(self) -> int:
        """Memory to reserve before the first batch, for each sample of each result."""
        return self._options.bytes_per_sample

    @property
    def enable_checkpointing(self) -> bool:
        return self._options.enable_checkpointing

    @property
    def py_num_workers(self) -> int:
        """Processes that run the callbacks of parallel external sources."""
        return self._options.py_num_workers

    @property
    def py_start_method(self) -> str:
        """How these processes are started: "fork", "spawn" or "forkserver"."""
        return self._options.py_start_method

    @property
    def stream_policy(self) -> StreamPolicy:
        return self._options.stream_policy

    @property
    def concurrency(self) -> OperatorConcurrency:
        return self._options.concurrency

    def _adopt(self, batch_size: int, num_threads: int) -> None:
        """Take what the constructor was not given; -1 is none."""
        if self._options.batch_size is None and batch_size > 0:
            self._options = replace(self._options, batch_size=batch_size)
        if self._options.num_threads is None and num_threads > 0:
            self._options = replace(self._options, num_threads=num_threads)
            self._num_threads = num_threads
