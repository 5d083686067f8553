"""Iterators that hand out JAX arrays."""

from __future__ import annotations

import gc
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gradiva import Pipeline, fn, pipeline_def
from gradiva.plugin.jax import DALIGenericIterator, LastBatchPolicy, data_iterator

from .pipelines import labels, leased, numbered, shapes_that_differ, spans
from .refusals import REFUSALS

NAMES = ["data", "label"]


def values(array: Any) -> list[int]:
    return [int(one) for one in np.asarray(array).ravel()]


def test_an_epoch_without_copies(jax: Any) -> None:
    pipe = numbered(6, 4, prefetch_queue_depth=1)
    addresses = []

    class Noted(DALIGenericIterator):
        def _convert(self, name: Any, batch: Any) -> Any:
            if name == "data":
                addresses.append(batch.data_ptr())
            return super()._convert(name, batch)

    iterator = Noted(pipe, NAMES, reader_name="reader")
    turns = list(iterator)
    assert [values(turn["label"]) for turn in turns] == [[0, 1, 2, 3], [4, 5, 0, 1]]
    for turn, address in zip(turns, addresses, strict=True):
        assert isinstance(turn["data"], jax.Array)
        assert turn["data"].shape == (4, 64, 32)
        assert turn["data"].unsafe_buffer_pointer() == address
        assert address % 64 == 0
        assert (np.asarray(turn["data"])[:, 0, 0] == np.asarray(turn["label"])[:, 0]).all()


def test_memory_is_leased_while_jax_has_it(jax: Any) -> None:
    iterator = DALIGenericIterator(numbered(64, 4), NAMES, reader_name="reader")
    held = next(iterator)["data"]
    kept = np.array(held)
    later = held * 2  # computed in a thread of JAX's
    for turn in iterator:
        del turn
    assert np.array_equal(held, kept)
    assert np.array_equal(later, kept * 2)
    iterator._pipes[0].close()
    gc.collect()
    before = leased()
    assert before >= spans()
    del held
    gc.collect()
    assert before - leased() >= spans()


def test_memory_that_is_not_aligned_is_copied(jax: Any) -> None:
    from gradiva.eager.runtime.host_memory import allocate
    from gradiva.plugin.jax.arrays import placed

    whole = allocate(4097, np.dtype(np.float32))
    whole[:] = 7
    array = placed(whole[1:])
    assert array.unsafe_buffer_pointer() != whole[1:].ctypes.data
    assert array.unsafe_buffer_pointer() % 64 == 0
    assert (np.asarray(array) == 7).all()


def test_elements_of_64_bits(jax: Any) -> None:
    @pipeline_def(batch_size=2, num_threads=1)
    def pipe() -> Any:
        return fn.external_source(lambda: np.full((2, 3), 5, np.int64))

    assert next(DALIGenericIterator(pipe(), ["x"]))["x"].dtype == np.int32
    jax.config.update("jax_enable_x64", True)
    try:
        assert next(DALIGenericIterator(pipe(), ["x"]))["x"].dtype == np.int64
    finally:
        jax.config.update("jax_enable_x64", False)


def test_several_pipelines_have_an_axis(jax: Any) -> None:
    pipes: list[Pipeline] = [numbered(5, 2), numbered(5, 2)]
    turn = next(DALIGenericIterator(pipes, [*NAMES, "@index", "@path"], reader_name="reader"))
    assert turn["data"].shape == (2, 2, 64, 32)
    assert values(turn["label"]) == values(turn["@index"]) == [0, 1, 0, 1]
    assert [len(paths) for paths in turn["@path"]] == [2, 2]
    alone = next(DALIGenericIterator(numbered(5, 2), NAMES, pmap_compatible=True))
    assert alone["label"].shape == (1, 2, 1)


def test_sharding(jax: Any) -> None:
    mesh = jax.sharding.Mesh(np.array(jax.devices()), ("batch",))
    sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("batch"))

    @data_iterator(output_map=["x"], reader_name="reader", sharding=sharding)
    def numbers(count: int, shard_id: int, num_shards: int) -> Any:
        return labels(count, shard_id, num_shards)

    iterator = numbers(16, batch_size=8)
    assert len(iterator) == 2
    for number, turn in enumerate(iterator):
        array = turn["x"]
        assert array.shape == (8, 1)
        assert array.sharding.is_equivalent_to(sharding, 2)
        for shard, part in enumerate(array.addressable_shards):
            assert part.device == jax.devices()[shard]
            first = 4 * shard + 2 * number
            assert values(part.data) == [first, first + 1]
        total = jax.jit(lambda x: x.sum())(array)
        assert int(total) == sum(values(array))


def test_devices(jax: Any) -> None:
    def numbers(shard_id: int, num_shards: int) -> Any:
        return labels(16, shard_id, num_shards)

    chosen = jax.devices()[2:]
    made = data_iterator(numbers, ["x"], reader_name="reader", devices=chosen)
    turn = next(made(batch_size=8))
    assert turn["x"].shape == (2, 2, 1)
    assert [part.device for part in turn["x"].addressable_shards] == chosen
    assert values(turn["x"]) == [0, 1, 8, 9]
    alone = data_iterator(numbers, ["x"], devices=chosen[:1], pmap_compatible=False)
    array = next(alone(batch_size=8))["x"]
    assert (array.shape, array.device) == ((2, 1), chosen[0])


def test_each_part_lies_in_the_memory_of_its_pipeline(jax: Any) -> None:
    from gradiva.plugin.jax.arrays import placed

    for device in jax.devices():
        given = np.asarray(next(iter(numbered(4, 4)))[0].as_array())
        array = placed(given, device)
        assert array.unsafe_buffer_pointer() == given.ctypes.data
        assert array.device == device


def test_data_iterator_of_one_pipeline(jax: Any) -> None:
    @data_iterator(output_map=["x"], reader_name="reader")
    def numbers(count: int) -> Any:
        return labels(count)

    iterator = numbers(5, batch_size=2, enable_checkpointing=True)
    assert numbers.__name__ == "numbers"
    assert iterator._pipes[0].num_threads == 4
    assert values(next(iterator)["x"]) == [0, 1]
    saved = iterator.checkpoints()
    rest = [values(turn["x"]) for turn in iterator]
    again = numbers(5, batch_size=2, enable_checkpointing=True, checkpoints=saved)
    assert [values(turn["x"]) for turn in again] == rest == [[2, 3], [4, 0]]
    with pytest.raises(RuntimeError, match=r"numbers: .*`checkpoints`: .*1 pipelines, got 2"):
        numbers(5, batch_size=2, checkpoints=saved * 2)
    # What a function is already a pipeline by is kept.
    conditional = pipeline_def(batch_size=4, enable_conditionals=True)(inspect.unwrap(numbers))
    assert values(next(data_iterator(conditional, ["x"])(5))["x"]) == [0, 1, 2, 3]


def test_resumed_in_the_middle_on_several_devices(jax: Any) -> None:
    def numbers(shard_id: int, num_shards: int) -> Any:
        return labels(40, shard_id, num_shards)

    def make(**options: Any) -> DALIGenericIterator:
        made: DALIGenericIterator = data_iterator(
            numbers, ["x"], reader_name="reader", auto_reset=True, devices=jax.devices()
        )(batch_size=12, enable_checkpointing=True, **options)
        return made

    iterator = make()
    for _ in range(2):
        next(iterator)
    saved = iterator.checkpoints()
    assert len(saved) == 4
    going = [values(turn["x"]) for _ in range(2) for turn in iterator]
    again = make(checkpoints=saved)
    assert [values(turn["x"]) for _ in range(2) for turn in again] == going
    assert len(going) > 4


class TestMistakes:
    """What is refused."""

    def test_partial(self) -> None:
        with pytest.raises(AssertionError, match=r"`last_batch_policy`: .*FILL or DROP"):
            DALIGenericIterator(
                numbered(4, 2),
                NAMES,
                reader_name="reader",
                last_batch_policy=LastBatchPolicy.PARTIAL,
            )

    def test_no_sharding(self, jax: Any) -> None:
        with pytest.raises(AssertionError, match=r"`sharding`: expected a jax.sharding.Sharding"):
            DALIGenericIterator(numbered(4, 2), NAMES, sharding="batch")

    def test_samples_of_several_shapes(self, jax: Any) -> None:
        iterator = DALIGenericIterator(shapes_that_differ(), ["x"])
        with pytest.raises(ValueError, match=r"Iterator: output 'x': .*different shapes"):
            next(iterator)

    def test_shards_of_several_shapes(self, jax: Any) -> None:
        @pipeline_def(batch_size=2, num_threads=1)
        def pipe(width: int) -> Any:
            return fn.external_source(lambda: np.zeros((2, width), np.float32))

        pipes = [pipe(3), pipe(4)]
        with pytest.raises(AssertionError, match=r"several shapes for the output 'x'"):
            next(DALIGenericIterator(pipes, ["x"], size=8))

    def test_a_sharding_that_does_not_split_the_batch(self, jax: Any) -> None:
        mesh = jax.sharding.Mesh(np.array(jax.devices()), ("batch",))
        whole = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
        pipes = [numbered(8, 2) for _ in range(4)]
        iterator = DALIGenericIterator(pipes, NAMES, reader_name="reader", sharding=whole)
        with pytest.raises(AssertionError, match="`sharding`: expected one that splits"):
            next(iterator)
        with pytest.raises(AssertionError, match="as pipelines, 1, got 4 devices"):
            DALIGenericIterator(numbered(8, 2), NAMES, sharding=whole)

    def test_data_iterator(self, jax: Any) -> None:
        def numbers(shard_id: int, num_shards: int) -> Any:
            return labels(8, shard_id, num_shards)

        def alone() -> Any:
            return labels(8)

        devices = jax.devices()
        mesh = jax.sharding.Mesh(np.array(devices), ("batch",))
        sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("batch"))
        with pytest.raises(ValueError, match="`sharding` and `devices`"):
            data_iterator(numbers, ["x"], sharding=sharding, devices=devices)
        with pytest.raises(TypeError, match=r"`output_map`: expected a list .*, got 'x'"):
            data_iterator(numbers, "x")
        with pytest.raises(ValueError, match="`devices`: expected some devices"):
            data_iterator(numbers, ["x"], devices=[])
        with pytest.raises(TypeError, match=r"`sharding`: expected a jax\.sharding\.Sharding"):
            data_iterator(numbers, ["x"], sharding="batch")(batch_size=8)
        with pytest.raises(TypeError, match="the function takes `shard_id`"):
            data_iterator(alone, ["x"], devices=devices)(batch_size=8)
        made = data_iterator(numbers, ["x"], devices=devices)
        with pytest.raises(ValueError, match=r"`batch_size`: expected a multiple of 4.*got 6"):
            made(batch_size=6)
        with pytest.raises(ValueError, match="`batch_size`: expected a multiple of 4"):
            made()
        with pytest.raises(ValueError, match="expected different devices"):
            data_iterator(numbers, ["x"], devices=devices[:1] * 2)(batch_size=8)

    @REFUSALS
    def test_refusals(self, jax: Any, refuse: Callable[[Any], None]) -> None:
        refuse(DALIGenericIterator)

    def test_closed(self, jax: Any) -> None:
        iterator = DALIGenericIterator(numbered(4, 2), NAMES, reader_name="reader")
        iterator._pipes[0].close()
        with pytest.raises(RuntimeError, match="closed"):
            next(iterator)


def test_single_outputs_as_arrays(jax: Any) -> None:
    from gradiva.plugin.jax.clu import get_spec_for_array
    from gradiva.plugin.jax.integration import _jax_device, _to_jax_array
    from gradiva.plugin.jax.iterator import default_num_threads_value

    with numbered(4, 4) as pipe:
        (_, label, *_) = pipe.run()
        for given in (label, label.as_tensor(), label[2]):
            for copy in (False, True):
                found = _to_jax_array(given, copy)
                assert isinstance(found, jax.Array)
                assert values(found) == values(given)
                assert _jax_device(found).platform == "cpu"
    spec = get_spec_for_array(found)
    assert (spec.shape, spec.dtype) == (found.shape, np.int32)
    assert default_num_threads_value() == 4
    with pytest.raises(TypeError, match="a tensor or a batch"):
        _to_jax_array(3, True)
