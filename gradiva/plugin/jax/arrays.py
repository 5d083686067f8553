"""Batches as JAX arrays, on the same memory where it is that of the wanted device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gradiva.capture.iterators.iterator_options import IteratorTypeError, IteratorValueError
from gradiva.eager.support.errors import describe
from gradiva.eager.support.lazy_import import lazy_module
from gradiva.eager.types.device import CPU
from gradiva.eager.values.batch import Batch

if TYPE_CHECKING:
    import jax
else:
    jax = lazy_module("jax", '"gradiva[jax]"')

__all__ = ["assemble", "check_sharding", "devices_of", "jax", "placed", "to_jax"]


def to_jax(batch: Batch, device: Any = None) -> Any:
    """The samples of a dense batch as one array with a leading axis; see `placed`. Raises
    OperatorValueError if their shapes differ."""
    if batch.device is CPU:
        return placed(batch.as_array(), device)
    array = jax.dlpack.from_dlpack(batch)
    return array if device is None else jax.device_put(array, device)


def placed(array: np.ndarray[Any, Any], device: Any = None) -> Any:
    """A NumPy array as a JAX array on a device, by default the first CPU.

    On every device of the CPU it lies in the memory of the NumPy array, which is kept until JAX
    releases it; unless that is not aligned to 64 bytes, or its elements have 64 bits, which JAX
    makes 32 of without its option `jax_enable_x64`.
    """
    if device is None:
        device = jax.local_devices(backend="cpu")[0]
    return jax.device_put(array, device, may_alias=True)


def check_sharding(sharding: Any, count: int) -> list[Any]:
    """The devices of a sharding that are of this process, one for each of `count` pipelines.
    Raises IteratorTypeError for another object, IteratorValueError for another number."""
    devices = devices_of(sharding)
    if len(devices) != count:
        raise IteratorValueError(
            argument="sharding",
            expected=f"one over as many devices of this process as pipelines, {count}",
            got=f"{len(devices)} devices",
        )
    return devices


def devices_of(sharding: Any) -> list[Any]:
    """The devices of a sharding that are of this process, in the order of their numbers. Raises
    IteratorTypeError for another object."""
    if not isinstance(sharding, jax.sharding.Sharding):
        raise IteratorTypeError(
            argument="sharding", expected="a jax.sharding.Sharding", got=describe(sharding)
        )
    return sorted(sharding.addressable_devices, key=lambda device: int(device.id))


def assemble(shards: Sequence[Any], sharding: Any, devices: Sequence[Any], name: Any) -> Any:
    """One array of the shards, of which each lies on its device.

    With a sharding: the shards one after the other, along the first axis. Without one: with a
    leading axis for the devices; and if there are no devices, where the shards are: NumPy arrays
    on the first CPU. Raises IteratorValueError for shards of several shapes, or on some devices
    several of them, or if the sharding does not split the first axis over all of its devices.
    """
    shapes = {shard.shape for shard in shards}
    if len(shapes) > 1:
        raise IteratorValueError(
            f"the pipelines have batches of several shapes for the output {name!r}: {shapes}"
        )
    shape = shapes.pop()
    if sharding is not None:
        whole = (len(sharding.device_set) * shape[0], *shape[1:]) if shape else ()
        if not shape or sharding.shard_shape(whole) != shape:
            raise IteratorValueError(
                argument="sharding",
                expected=f"one that splits {whole} into a part of {shape} for each device",
                got=describe(sharding),
            )
    else:
        devices = devices or _homes(shards, name)
        if not devices:
            one = shards[0][None] if len(shards) == 1 else np.stack(shards)
            return placed(one)
        if len(set(devices)) == 1:
            return jax.numpy.stack([placed(shard, devices[0]) for shard in shards])
        mesh = jax.sharding.Mesh(np.array(devices), ("device",))
        sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("device"))
        whole, shards = (len(shards), *shape), [shard[None] for shard in shards]
    parts = [placed(shard, device) for shard, device in zip(shards, devices, strict=True)]
    return jax.make_array_from_single_device_arrays(whole, sharding, parts)


def _homes(shards: Sequence[Any], name: Any) -> list[Any]:
    """The devices of JAX arrays, one or all of them different; of NumPy arrays none."""
    if isinstance(shards[0], np.ndarray):
        return []
    devices = [shard.device for shard in shards]
    if 1 < len(set(devices)) < len(devices):
        raise IteratorValueError(
            f"the batches of output {name!r} are neither all on one device nor each on its own: "
            f"{devices}"
        )
    return devices
