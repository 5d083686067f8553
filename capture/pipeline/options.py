"""The options of a pipeline: every argument of its constructor, checked once."""

from __future__ import annotations

import enum
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

from gradiva.capture.caches.options import CacheOptions
from gradiva.capture.runtime.preallocate import check_bytes_per_sample
from gradiva.eager.execution.eager_interpreter import as_seed
from gradiva.eager.runtime.affinity import thread_cpus
from gradiva.eager.runtime.worker_pool import WorkerPool, default_num_threads
from gradiva.eager.support.errors import (
    OperatorRuntimeError,
    OperatorTypeError,
    OperatorValueError,
    annotate_error,
    describe,
    user_location,
)
from gradiva.eager.support.lazy_import import lazy_module
from gradiva.eager.types.device import Device
from gradiva.eager.types.dtypes import DType
from gradiva.eager.types.sample_type import SampleType

if TYPE_CHECKING:
    from gradiva.capture.receipts import options as receipts
    from gradiva.capture.receipts.options import ReceiptOptions
else:  # for few programs
    receipts = lazy_module("gradiva.capture.receipts.options")

__all__ = [
    "CPU_ONLY",
    "OperatorConcurrency",
    "PipelineKeywords",
    "PipelineOptions",
    "StreamPolicy",
    "check_options",
]

CPU_ONLY = -99999
"""`device_id` of pipelines without a GPU, as old scripts spell it."""

START_METHODS = ("fork", "spawn", "forkserver")

E = TypeVar("E", bound=enum.Enum)


class StreamPolicy(enum.Enum):
    """How operators on a GPU share CUDA streams. Without a GPU it changes nothing."""

    SINGLE = "single"
    PER_BACKEND = "per_backend"
    PER_OPERATOR = "per_operator"
    UNSPECIFIED = "unspecified"


class OperatorConcurrency(enum.Enum):
    """Which operators may run at the same time. Batches overlap in any case, with the same bits."""

    NONE = "none"
    BACKEND = "backend"
    FULL = "full"
    UNSPECIFIED = "unspecified"


class PipelineKeywords(TypedDict, total=False):
    """Keyword arguments of `Pipeline`."""

    batch_size: int | None
    num_threads: int | None
    device_id: int | None
    seed: int | None
    exec_pipelined: bool
    prefetch_queue_depth: int | dict[str, int]
    exec_async: bool
    bytes_per_sample: int
    set_affinity: bool
    max_streams: int | None
    default_cuda_stream_priority: int | None
    enable_memory_stats: bool
    enable_checkpointing: bool
    checkpoint: str | bytes | os.PathLike[str] | None
    py_num_workers: int | None
    py_start_method: str
    py_callback_pickler: Any
    output_dtype: Any
    output_ndim: Any
    output_layout: Any
    exec_dynamic: bool | None
    experimental_exec_dynamic: bool | None
    stream_policy: StreamPolicy | str | None
    concurrency: OperatorConcurrency | str | None
    cache: str | os.PathLike[str] | None
    cache_bytes: int | None
    with_receipt: bool | dict[str, str] | None
    compose_warps: bool


@dataclass(frozen=True, slots=True)
class PipelineOptions:
    """The checked arguments. `batch_size` is None where none was given; `outputs` has the declared
    types, a single one if they hold for every output."""

    batch_size: int | None
    num_threads: int
    num_threads_given: bool
    device_id: int | None
    seed: int | None
    exec_pipelined: bool
    prefetch_queue_depth: int | dict[str, int]
    exec_async: bool
    bytes_per_sample: int
    set_affinity: bool
    max_streams: int
    default_cuda_stream_priority: int
    enable_memory_stats: bool
    enable_checkpointing: bool
    checkpoint: str | bytes | os.PathLike[str] | None
    py_num_workers: int
    py_start_method: str
    py_callback_pickler: Any
    outputs: SampleType | tuple[SampleType, ...]
    exec_dynamic: bool | None
    stream_policy: StreamPolicy | None
    concurrency: OperatorConcurrency | None
    cache: CacheOptions | None
    with_receipt: ReceiptOptions | None
    compose_warps: bool

    @property
    def depth(self) -> tuple[int, int]:
        """The number of prefetched batches: by the stage on the CPU, and by those after it."""
        depth = self.prefetch_queue_depth
        return (depth["cpu_size"], depth["gpu_size"]) if isinstance(depth, dict) else (depth, depth)

    def worker_pool(self) -> WorkerPool:
        """The pool of the threads that work on a batch."""
        cpus = thread_cpus(self.num_threads) if self.set_affinity else None
        return WorkerPool(self.num_threads, cpus=cpus)

    def required_batch_size(self) -> int:
        """The batch size. Raises OperatorValueError if none was given."""
        if self.batch_size is None:
            raise OperatorValueError(
                "the pipeline has no batch size",
                operator="Pipeline",
                argument="batch_size",
                expected="a positive integer: pipeline_def(batch_size=...), or at the call, "
                "training(batch_size=...)",
                got="none",
                location=user_location(),
            )
        return self.batch_size

    def output_types(self, count: int) -> list[SampleType]:
        """The declared type of each of `count` outputs. Raises OperatorValueError if another number
        was declared."""
        if not isinstance(self.outputs, tuple):
            return [self.outputs] * count
        if len(self.outputs) != count:
            raise OperatorValueError(
                "`output_dtype`, `output_ndim` and `output_layout` describe each output",
                operator="Pipeline",
                expected=f"{count} outputs",
                got=str(len(self.outputs)),
            )
        return list(self.outputs)

    def with_stored(self, batch_size: int, num_threads: int) -> PipelineOptions:
        """These options, with the values of a file (-1: not set) where the user gave none."""
        made = self
        if made.batch_size is None and batch_size > 0:
            made = replace(made, batch_size=batch_size)
        if not made.num_threads_given and num_threads > 0:
            made = replace(made, num_threads=num_threads, num_threads_given=True)
        return made


def check_options(given: dict[str, Any]) -> PipelineOptions:
    """The checked options, from all arguments of `Pipeline`, which are used up. Raises
    OperatorTypeError or OperatorValueError."""
    dynamic, old = given["exec_dynamic"], given.pop("experimental_exec_dynamic")
    types = [given.pop(name) for name in ("output_dtype", "output_ndim", "output_layout")]
    with annotate_error("Pipeline"):
        given.update(
            batch_size=_given_count("batch_size", given["batch_size"]),
            num_threads=_given_count("num_threads", given["num_threads"]) or 0,
            device_id=_device(given["device_id"]),
            seed=as_seed(given["seed"]),
            prefetch_queue_depth=_depth(given["prefetch_queue_depth"]),
            bytes_per_sample=check_bytes_per_sample(given["bytes_per_sample"]),
            max_streams=_whole("max_streams", _or(given["max_streams"], -1), -1),
            default_cuda_stream_priority=_whole(
                "default_cuda_stream_priority", _or(given["default_cuda_stream_priority"], 0)
            ),
            checkpoint=_checkpoint(given["checkpoint"]),
            py_num_workers=_workers(given["py_num_workers"]),
            py_start_method=_one_of("py_start_method", given["py_start_method"], START_METHODS),
            outputs=_outputs(*types),
            exec_dynamic=_flag("exec_dynamic", old if dynamic is None else dynamic, True),
            stream_policy=_member("stream_policy", StreamPolicy, given["stream_policy"]),
            concurrency=_member("concurrency", OperatorConcurrency, given["concurrency"]),
            cache=CacheOptions.checked(given["cache"], given.pop("cache_bytes")),
            with_receipt=_receipts(given["with_receipt"]),
        )
        flags = ("exec_pipelined", "exec_async", "set_affinity", "enable_memory_stats")
        for name in (*flags, "compose_warps"):
            given[name] = _flag(name, given[name])
        if given["exec_dynamic"] is None:
            simple = not isinstance(given["prefetch_queue_depth"], dict)
            given["exec_dynamic"] = given["exec_pipelined"] and given["exec_async"] and simple
            given["exec_dynamic"] = given["exec_dynamic"] or None
        given["enable_checkpointing"] = _flag("enable_checkpointing", given["enable_checkpointing"])
        options = PipelineOptions(**given, num_threads_given=given["num_threads"] > 0)
        if options.checkpoint is not None and not options.enable_checkpointing:
            raise OperatorRuntimeError(
                "a pipeline that goes on from a checkpoint needs enable_checkpointing=True",
                argument="checkpoint",
            )
        if isinstance(options.prefetch_queue_depth, dict) and not options.exec_async:
            raise OperatorValueError(
                "queues of their own for each stage need stages that prefetch",
                argument="prefetch_queue_depth",
                expected="an integer where exec_async=False",
                got=repr(options.prefetch_queue_depth),
            )
    if options.num_threads_given:
        return options
    # A wrong value is an error also if it comes from the environment.
    return replace(options, num_threads=default_num_threads())


def _or(value: Any, default: int) -> Any:
    return default if value is None else value


def _whole(name: str, value: Any, least: int | None = None) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise OperatorTypeError(argument=name, expected="an integer", got=describe(value))
    number = int(value.__index__())
    if least is not None and number < least:
        raise OperatorValueError(argument=name, expected=f"at least {least}", got=str(number))
    return number


def _workers(value: Any) -> int:
    """The number of worker processes; None is the default."""
    return _whole("py_num_workers", 1 if value is None else value, 0)


def _given_count(name: str, value: Any) -> int | None:
    """A positive number; None and -1 say that it was not given."""
    if value is None or (not isinstance(value, bool) and value == -1):
        return None
    try:
        return _whole(name, value, 1)
    except OperatorTypeError:
        raise OperatorValueError(
            argument=name, expected="a positive integer", got=describe(value)
        ) from None
    except OperatorValueError:
        raise OperatorValueError(
            argument=name, expected="a positive integer", got=str(value)
        ) from None


def _device(value: Any) -> int | None:
    if value is None:
        return None
    if isinstance(value, Device):
        return value.device_id
    number = _whole("device_id", value)
    if number in (-1, CPU_ONLY):
        return None
    if number < 0:
        raise OperatorValueError(
            argument="device_id", expected="the number of a GPU, or None", got=str(number)
        )
    return number


def _depth(value: Any) -> int | dict[str, int]:
    name = "prefetch_queue_depth"
    if not isinstance(value, dict):
        return _whole(name, value, 1)
    if set(value) != {"cpu_size", "gpu_size"}:
        raise OperatorValueError(
            argument=name, expected="an integer, or cpu_size and gpu_size", got=describe(value)
        )
    return {stage: _whole(f"{name}[{stage!r}]", depth, 1) for stage, depth in value.items()}


def _flag(name: str, value: Any, open: bool = False) -> Any:
    if value is None and open:
        return None
    if value not in (True, False):
        raise OperatorTypeError(argument=name, expected="True or False", got=describe(value))
    return bool(value)


def _one_of(name: str, value: Any, allowed: Sequence[str]) -> str:
    if value not in allowed:
        raise OperatorValueError(
            argument=name, expected=f"one of {', '.join(map(repr, allowed))}", got=describe(value)
        )
    return str(value)


def _member(name: str, kind: type[E], value: Any) -> E | None:
    if value is None or isinstance(value, kind):
        return value
    found = {member.value: member for member in kind}
    return found[_one_of(name, value.lower() if isinstance(value, str) else value, [*found])]


def _receipts(value: Any) -> ReceiptOptions | None:
    if value is None or value is False:
        return None
    made: ReceiptOptions | None = receipts.ReceiptOptions.checked(value)
    return made


def _checkpoint(value: Any) -> str | bytes | os.PathLike[str] | None:
    if value is not None and not isinstance(value, str | bytes | os.PathLike):
        raise OperatorTypeError(
            argument="checkpoint",
            expected="what `checkpoint()` returned, or its file",
            got=describe(value),
        )
    return value


def _outputs(dtype: Any, ndim: Any, layout: Any) -> SampleType | tuple[SampleType, ...]:
    """The declared types of the outputs, one for all or one each."""
    values = {"output_dtype": dtype, "output_ndim": ndim, "output_layout": layout}
    lengths = {name: len(v) for name, v in values.items() if isinstance(v, list | tuple)}
    if len(set(lengths.values())) > 1:
        raise OperatorValueError(
            "the outputs are described by lists of different lengths",
            expected="one length",
            got=", ".join(f"{name}: {length}" for name, length in lengths.items()),
        )
    if not lengths:
        return _output(dtype, ndim, layout)
    count = next(iter(lengths.values()))
    rows = [v if isinstance(v, list | tuple) else [v] * count for v in values.values()]
    return tuple(_output(*row) for row in zip(*rows, strict=True))


def _output(dtype: Any, ndim: Any, layout: Any) -> SampleType:
    try:
        chosen = None if dtype is None else DType.of(dtype)
    except (TypeError, ValueError) as error:
        raise OperatorTypeError(str(error), argument="output_dtype") from None
    rank = None if ndim is None else _whole("output_ndim", ndim, 0)
    if layout is not None and not isinstance(layout, str):
        raise OperatorTypeError(
            argument="output_layout", expected="a layout such as 'HWC'", got=describe(layout)
        )
    return SampleType(chosen, rank, layout or None)
