"""`data_iterator`: a function that calls operators, turned into a maker of JAX iterators."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar, overload

from gradiva.capture.iterators.iterator import LastBatchPolicy
from gradiva.capture.iterators.iterator_options import IteratorValueError, list_of_names
from gradiva.capture.pipeline.pipeline import Pipeline
from gradiva.capture.pipeline.pipeline_def import PipelineFactory, pipeline_def
from gradiva.eager.support.errors import (
    OperatorTypeError,
    OperatorValueError,
    annotate_error,
    describe,
    wrong_value,
)
from gradiva.plugin.jax.arrays import devices_of, jax
from gradiva.plugin.jax.iterators import DALIGenericIterator

__all__ = ["data_iterator", "iterator_maker"]

KindT = TypeVar("KindT", bound=DALIGenericIterator)
KindT_co = TypeVar("KindT_co", bound=DALIGenericIterator, covariant=True)

THREADS = 4
"""Those of a pipeline, unless they are given."""


class IteratorMaker(Protocol[KindT_co]):
    """What `data_iterator` is to type checkers, for each class of iterators."""

    __name__: str

    @overload
    def __call__(
        self,
        pipeline_fn: Callable[..., Any],
        output_map: Sequence[Any] = (),
        size: int = -1,
        reader_name: str | None = None,
        auto_reset: bool | str | None = False,
        last_batch_padded: bool = False,
        last_batch_policy: LastBatchPolicy = LastBatchPolicy.FILL,
        prepare_first_batch: bool = True,
        sharding: Any = None,
        devices: Sequence[Any] | None = None,
        pmap_compatible: bool | None = None,
    ) -> Callable[..., KindT_co]: ...
    @overload
    def __call__(
        self,
        pipeline_fn: None = None,
        output_map: Sequence[Any] = (),
        size: int = -1,
        reader_name: str | None = None,
        auto_reset: bool | str | None = False,
        last_batch_padded: bool = False,
        last_batch_policy: LastBatchPolicy = LastBatchPolicy.FILL,
        prepare_first_batch: bool = True,
        sharding: Any = None,
        devices: Sequence[Any] | None = None,
        pmap_compatible: bool | None = None,
    ) -> Callable[[Callable[..., Any]], Callable[..., KindT_co]]: ...


def iterator_maker(kind: type[KindT], name: str) -> IteratorMaker[KindT]:
    """`data_iterator` under this name, for a class of iterators."""

    def data_iterator(
        pipeline_fn: Callable[..., Any] | None = None,
        output_map: Sequence[Any] = (),
        size: int = -1,
        reader_name: str | None = None,
        auto_reset: bool | str | None = False,
        last_batch_padded: bool = False,
        last_batch_policy: LastBatchPolicy = LastBatchPolicy.FILL,
        prepare_first_batch: bool = True,
        sharding: Any = None,
        devices: Sequence[Any] | None = None,
        pmap_compatible: bool | None = None,
    ) -> Any:
        """Decorator of a function that calls operators, as under `pipeline_def`: calling it makes
        an iterator of JAX arrays over a pipeline, or over one for each device.

        pipeline_fn: the function, or what `pipeline_def` made of it; left out, a decorator is
        returned. sharding: as for `DALIGenericIterator`; devices: a list of JAX devices instead,
        for arrays (devices, batch, ...), of which each part lies on its device. With either, the
        function is called for each device of this process, with `shard_id` and `num_shards` of the
        reader that it makes. The other arguments are those of `DALIGenericIterator`.

        The decorated function takes the arguments of the function and those of `Pipeline`, of which
        num_threads is 4 and device_id 0 (with several devices, their number among those of this
        process), where they are left out. batch_size is that of all devices of `jax.devices()`
        together. checkpoints: what `iterator.checkpoints()` returned: it goes on there.

        Raises OperatorValueError for `sharding` together with `devices`, for `devices` where
        several processes work together, if the batch size cannot be divided by the number of
        devices, or for another number of checkpoints than of pipelines; OperatorTypeError for a
        function without `shard_id` and `num_shards` that is to work on several devices.
        """
        options: dict[str, Any] = {
            "output_map": output_map,
            "size": size,
            "reader_name": reader_name,
            "auto_reset": auto_reset,
            "last_batch_padded": last_batch_padded,
            "last_batch_policy": last_batch_policy,
            "prepare_first_batch": prepare_first_batch,
        }
        with annotate_error(name):
            list_of_names(output_map)
            if sharding is not None and devices is not None:
                raise OperatorValueError(
                    "`sharding` and `devices` are two ways to say the same: give one"
                )
            if devices is not None and not devices:
                raise wrong_value("devices", "some devices", "none")

        def decorate(function: Callable[..., Any]) -> Callable[..., KindT]:
            made = function if isinstance(function, PipelineFactory) else pipeline_def(function)

            @functools.wraps(function)
            def make(*args: Any, checkpoints: Sequence[Any] | None = None, **kwargs: Any) -> KindT:
                kwargs.setdefault("num_threads", THREADS)
                if sharding is None and devices is None:
                    kwargs.setdefault("device_id", 0)
                    parts = [_DeviceArguments(None, {})]
                else:
                    with annotate_error(function.__qualname__):
                        parts = _parts(made, kwargs, sharding, devices)
                with annotate_error(function.__qualname__):
                    saved = _checkpoints(checkpoints, len(parts))
                pipes: list[Pipeline] = []
                for part, checkpoint in zip(parts, saved, strict=True):
                    pipes.append(
                        made(*args, **{**kwargs, **part.arguments, "checkpoint": checkpoint})
                    )
                axis = pmap_compatible
                if devices is not None and axis is None:
                    axis = True
                made_of = kind(pipes, **options, sharding=sharding, pmap_compatible=axis)
                if devices is not None:
                    made_of._devices = list(devices)
                return made_of

            return make

        return decorate if pipeline_fn is None else decorate(pipeline_fn)

    data_iterator.__name__ = data_iterator.__qualname__ = name
    return data_iterator


data_iterator = iterator_maker(DALIGenericIterator, "data_iterator")


class _DeviceArguments(NamedTuple):
    """A device, and the arguments of its pipeline."""

    device: Any
    arguments: dict[str, Any]


def _parts(
    factory: PipelineFactory[Any],
    given: dict[str, Any],
    sharding: Any,
    devices: Sequence[Any] | None,
) -> list[_DeviceArguments]:
    """What each device's pipeline is made with; takes the batch size out of `given`."""
    known = inspect.signature(factory.function).parameters
    open_ended = any(one.kind is one.VAR_KEYWORD for one in known.values())
    lacking = [name for name in ("shard_id", "num_shards") if name not in known]
    if lacking and not open_ended:
        raise OperatorTypeError(
            f"to read a shard for each device, the function takes `{lacking[0]}` and gives it to "
            "its reader"
        )
    if devices is None:
        local = devices_of(sharding)
        numbers = sorted(device.id for device in sharding.device_set)
    else:
        local, numbers = list(devices), sorted(device.id for device in devices)
        if jax.local_device_count() != jax.device_count():
            raise wrong_value(
                "devices",
                "`sharding`",
                f"{jax.process_count()} processes",
                "several processes work together: their arrays need a sharding",
            )
    if len(set(numbers)) < len(numbers):
        raise wrong_value("devices", "different devices", describe(devices))
    size = given.pop("batch_size", factory.options.get("batch_size"))
    count = len(numbers) if devices is None else len(jax.devices())
    if not isinstance(size, int) or isinstance(size, bool) or size < 1 or size % count:
        raise IteratorValueError(
            argument="batch_size",
            expected=f"a multiple of {count}, the number of devices",
            got=describe(size),
        )
    return [
        _DeviceArguments(
            device,
            {
                "batch_size": size // count,
                "device_id": index,
                "shard_id": numbers.index(device.id),
                "num_shards": len(numbers),
            },
        )
        for index, device in enumerate(local)
    ]


def _checkpoints(given: Sequence[Any] | None, count: int) -> Sequence[Any]:
    if not given:
        return [None] * count
    if isinstance(given, str | bytes) or len(given) != count:
        raise wrong_value(
            "checkpoints",
            f"a list with one for each of {count} pipelines",
            describe(given) if isinstance(given, str | bytes) else f"{len(given)}",
        )
    return given
