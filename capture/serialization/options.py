"""The arguments of a pipeline that its file holds."""

from __future__ import annotations

import functools
import operator
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from gradiva.capture.pipeline.options import OperatorConcurrency, StreamPolicy
from gradiva.eager.support.errors import OperatorValueError

_CPU_ONLY = -99999
_PIPELINED, _ASYNC, _SEPARATED, _DYNAMIC = 1, 2, 4, 8
_AFFINITY = 1
_CONCURRENCY = {
    OperatorConcurrency.NONE: 2,
    OperatorConcurrency.BACKEND: 4,
    OperatorConcurrency.FULL: 6,
}
"""How the format says it; what was not given is as BACKEND."""
_STREAMS = {StreamPolicy.SINGLE: 16, StreamPolicy.PER_BACKEND: 32, StreamPolicy.PER_OPERATOR: 48}
_Choice = TypeVar("_Choice")
_MOST_THREADS = 4096
_MOST_PREFETCHED = 1 << 16


@dataclass(frozen=True)
class StoredOptions:
    """Arguments of `Pipeline`; -1 for batch_size and num_threads that were not given.

    prefetch_queue_depth: a number, or a dict with `cpu_size` and `gpu_size`.
    """

    batch_size: int = -1
    num_threads: int = -1
    device_id: int | None = None
    seed: int | None = None
    exec_pipelined: bool = True
    exec_async: bool = True
    prefetch_queue_depth: Any = 2
    bytes_per_sample: int = 0
    enable_checkpointing: bool = False
    set_affinity: bool = False
    stream_policy: StreamPolicy | None = None
    concurrency: OperatorConcurrency | None = None

    @classmethod
    def of(cls, pipeline: Any) -> StoredOptions:
        """Those of a pipeline; what it does not have is as by default."""
        default = cls()
        return cls(
            **{name: getattr(pipeline, name, getattr(default, name)) for name in vars(default)}
        )

    def write(self, message: Any) -> None:
        """Put them into a PipelineDef. Raises OperatorValueError for a seed above 2**63."""
        message.batch_size = self.batch_size
        message.num_threads = self.num_threads
        message.device_id = _CPU_ONLY if self.device_id is None else self.device_id
        if self.seed is not None and self.seed >= 1 << 63:
            raise OperatorValueError(
                operator="Pipeline.serialize",
                argument="seed",
                expected="less than 2**63, as the format holds it",
                got=str(self.seed),
            )
        message.seed = -1 if self.seed is None else self.seed
        depth = self.prefetch_queue_depth
        separated = isinstance(depth, dict)
        message.prefetch_queue_depth_cpu = depth["cpu_size"] if separated else depth
        message.prefetch_queue_depth_gpu = depth["gpu_size"] if separated else depth
        kind = 0
        if self.exec_pipelined:
            kind = _PIPELINED
            if self.exec_async:
                kind |= _ASYNC | (_SEPARATED if separated else _DYNAMIC)
        message.executor_type = kind
        concurrency = self.concurrency or OperatorConcurrency.BACKEND
        flags = _CONCURRENCY.get(concurrency, _CONCURRENCY[OperatorConcurrency.BACKEND])
        flags |= _STREAMS.get(self.stream_policy or StreamPolicy.UNSPECIFIED, 0)
        message.executor_flags = flags | (_AFFINITY if self.set_affinity else 0)
        message.enable_checkpointing = self.enable_checkpointing
        message.bytes_per_sample_hint = self.bytes_per_sample or 0

    @classmethod
    def read(cls, message: Any) -> StoredOptions:
        """Those in a PipelineDef. Raises OperatorValueError for numbers that make no sense."""
        kind = message.executor_type if message.HasField("executor_type") else 3
        depth: Any = _within(message, "prefetch_queue_depth_cpu", 1, _MOST_PREFETCHED)
        other = _within(message, "prefetch_queue_depth_gpu", 1, _MOST_PREFETCHED)
        if kind & _SEPARATED and depth != other:
            depth = {"cpu_size": depth, "gpu_size": other}
        flags = message.executor_flags
        return cls(
            batch_size=_within(message, "batch_size", 1, 1 << 31),
            num_threads=_within(message, "num_threads", 1, _MOST_THREADS),
            device_id=None if message.device_id == _CPU_ONLY else message.device_id,
            seed=None if message.seed < 0 else message.seed,
            exec_pipelined=bool(kind & _PIPELINED),
            exec_async=bool(kind & _ASYNC),
            prefetch_queue_depth=depth,
            bytes_per_sample=_within(message, "bytes_per_sample_hint", 0, 1 << 48),
            enable_checkpointing=message.enable_checkpointing,
            set_affinity=bool(flags & _AFFINITY),
            stream_policy=_chosen(_STREAMS, flags),
            concurrency=_chosen(_CONCURRENCY, flags),
        )


def _chosen(known: Mapping[_Choice, int], flags: int) -> _Choice | None:
    mask = functools.reduce(operator.or_, known.values())
    return next((choice for choice, bits in known.items() if flags & mask == bits), None)


def _within(message: Any, name: str, least: int, most: int) -> int:
    value: int = getattr(message, name)
    absent = value == -1 and name in ("batch_size", "num_threads")
    if not absent and not least <= value <= most:
        raise OperatorValueError(
            f"the stored pipeline has an impossible `{name}`",
            expected=f"a number from {least} to {most}",
            got=str(value),
        )
    return value
