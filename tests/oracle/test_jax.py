"""JAX iterators and functions against DALI's, with JAX on the CPU."""

from __future__ import annotations

import warnings
from itertools import product
from typing import Any

import numpy as np
import pytest

import gradiva.plugin.jax.clu
from gradiva import fn, pipeline_def
from gradiva.plugin import jax as ours

from .reference import dali
from .reference import fn as their_fn

EPOCHS = 3


class Library:
    """DALI or gradiva, under the same names."""

    def __init__(self, plugin: Any, names: Any, define: Any, policy: Any, options: Any) -> None:
        self.plugin, self.fn, self.define = plugin, names, define
        self.policy, self.options = policy, options

    def labels(self, size: int, shard_id: int, num_shards: int, pad: bool, stick: bool) -> Any:
        _, found = self.fn.readers.file(
            files=[__file__] * size,
            labels=list(range(size)),
            name="reader",
            shard_id=shard_id,
            num_shards=num_shards,
            pad_last_batch=pad,
            stick_to_shard=stick,
        )
        return found

    def pipe(self, batch_size: int, *case: Any) -> Any:
        return self.define(
            lambda: self.labels(*case), batch_size=batch_size, num_threads=1, **self.options
        )


@pytest.fixture(scope="module")
def libraries() -> list[Library]:
    jax = pytest.importorskip("jax")
    jax.config.update("jax_num_cpu_devices", 4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = pytest.importorskip("nvidia.dali.plugin.jax", exc_type=ImportError)
        base = pytest.importorskip("nvidia.dali.plugin.base_iterator", exc_type=ImportError)

    def define(function: Any, **options: Any) -> Any:
        return dali.pipeline_def(function)(**options)

    def define_ours(function: Any, **options: Any) -> Any:
        return pipeline_def(function)(**options)

    return [
        Library(ours, fn, define_ours, ours.LastBatchPolicy, {}),
        Library(theirs, their_fn, define, base.LastBatchPolicy, {"device_id": None}),
    ]


def turns(iterator: Any, name: str = "x") -> list[Any]:
    """The shape and the values of each turn of some epochs, and the length of each epoch."""
    found: list[Any] = []
    for _ in range(EPOCHS):
        found.append(len(iterator))
        for turn in iterator:
            array = turn[name]
            found.append((tuple(array.shape), str(array.dtype), np.asarray(array).ravel().tolist()))
        iterator.reset()
    return found


@pytest.mark.parametrize("policy", ["FILL", "DROP"])
@pytest.mark.parametrize("pad", [False, True])
def test_epochs(libraries: list[Library], pad: bool, policy: str) -> None:
    # What DROP does between epochs that are not padded is in docs/differences.md.
    sizes = (6, 8) if policy == "DROP" and not pad else (5, 6, 7, 8)
    for size, batch_size in product(sizes, (2, 3)):
        if policy == "DROP" and not pad and size % batch_size:
            continue
        found = [
            turns(
                one.plugin.DALIGenericIterator(
                    [one.pipe(batch_size, size, 0, 1, pad, True)],
                    ["x"],
                    reader_name="reader",
                    last_batch_policy=one.policy[policy],
                )
            )
            for one in libraries
        ]
        assert found[0] == found[1], (size, batch_size)


@pytest.mark.parametrize("pmap", [None, True])
@pytest.mark.parametrize("shards", [1, 2, 3])
def test_several_pipelines(libraries: list[Library], shards: int, pmap: bool | None) -> None:
    found = []
    for one in libraries:
        pipes = [one.pipe(2, 12, shard, shards, False, True) for shard in range(shards)]
        found.append(
            turns(
                one.plugin.DALIGenericIterator(
                    pipes, ["x"], reader_name="reader", pmap_compatible=pmap
                )
            )
        )
    assert found[0] == found[1]


@pytest.mark.parametrize("count", [2, 4])
def test_devices(libraries: list[Library], count: int) -> None:
    import jax

    found = []
    for one in libraries:

        def labels(shard_id: int, num_shards: int, device_id: Any, of: Library = one) -> Any:
            return of.labels(16, shard_id, num_shards, True, True)

        made = one.plugin.data_iterator(
            labels, ["x"], reader_name="reader", devices=jax.devices()[:count]
        )
        found.append(turns(made(batch_size=8)))
    assert found[0] == found[1]


def test_what_is_padding(libraries: list[Library]) -> None:
    pytest.importorskip("clu", reason="the reference's peekable iterators need it")
    theirs = pytest.importorskip("nvidia.dali.plugin.jax.clu", exc_type=ImportError)
    found: list[list[Any]] = []
    for one, peeks in zip(libraries, (gradiva.plugin.jax.clu, theirs), strict=True):
        iterator = peeks.DALIGenericPeekableIterator(
            [one.pipe(3, 7, 0, 1, True, True)], ["x"], reader_name="reader"
        )
        spec = iterator.element_spec["x"]
        found.append([spec.shape, str(spec.dtype)])
        for turn in iterator:
            found[-1] += [np.asarray(turn["x"]).tolist(), iterator.is_nonpadding.tolist()]
    assert found[0] == found[1]


def test_functions(libraries: list[Library]) -> None:
    images = np.arange(2 * 3 * 4 * 3, dtype=np.uint8).reshape(2, 3, 4, 3)
    found: list[Any] = []
    for one in libraries:
        both = one.plugin.fn.jax_function(lambda x: (x[:, ::-1], x.sum(axis=1)), num_outputs=2)
        named = one.plugin.fn.jax_function(lambda x: x * 2, output_layouts="CHW")

        def define(of: Library = one, both: Any = both, named: Any = named) -> Any:
            given = of.fn.external_source(source=lambda: images, layout="HWC")
            return (*both(given), named(given))

        pipe = one.define(define, batch_size=2, num_threads=1, **one.options)
        pipe.build()
        found.append(
            [
                (batch.as_array().tolist(), batch.layout if one.plugin is ours else batch.layout())
                for batch in pipe.run()
            ]
        )
    assert found[0] == found[1]
