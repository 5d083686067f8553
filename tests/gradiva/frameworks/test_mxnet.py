"""Iterators that hand out MXNet arrays, over MXNet itself and over a stand-in."""

from __future__ import annotations

import ctypes
import gc
import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gradiva import fn, pipeline_def
from gradiva.plugin.base_iterator import LastBatchPolicy

from .pipelines import leased, numbered, shapes_that_differ, spans
from .refusals import REFUSALS

pytestmark = [pytest.mark.full, pytest.mark.xdist_group("mxnet")]
NAMES = [("data", "data"), ("label", "label")]


def values(array: Any) -> list[int]:
    return [int(one) for one in array.asnumpy().ravel()]


def arrays() -> Any:
    return importlib.import_module("gradiva.compat.dali.mxnet_arrays")


def address(array: Any) -> int:
    """Where an array of MXNet's own lies."""
    base = importlib.import_module("mxnet.base")
    pointer = ctypes.c_void_p()
    base.check_call(base._LIB.MXNDArrayGetData(array.handle, ctypes.byref(pointer)))
    return pointer.value or 0


def test_nothing_is_copied(mxnet: Any) -> None:
    (data, _), (again, _) = numbered(4, 4).run(), numbered(4, 4).run()
    array = arrays().to_mxnet(data.as_array())
    if hasattr(array, "handle"):
        assert address(array) == data.data_ptr()
    else:
        assert array.asnumpy().ctypes.data == data.data_ptr()
    assert np.array_equal(array.asnumpy(), again.as_array())


def test_modules(mxnet: Any) -> None:
    iterator = mxnet.DALIGenericIterator(
        numbered(6, 4), NAMES, reader_name="reader", data_layout="NHW"
    )
    assert [(one.name, one.shape, one.layout) for one in iterator.provide_data] == [
        ("data", (4, 64, 32), "NHW")
    ]
    assert [(one.name, one.shape) for one in iterator.provide_label] == [("label", (4,))]
    turns = list(iterator)
    assert [values(batch.label[0]) for (batch,) in turns] == [[0, 1, 2, 3], [4, 5, 0, 1]]
    for (batch,) in turns:
        assert batch.pad == 0
        assert batch.data[0].asnumpy()[:, 0, 0].tolist() == values(batch.label[0])


def test_padding_of_the_last_batch(mxnet: Any) -> None:
    iterator = mxnet.DALIClassificationIterator(
        numbered(5, 3),
        reader_name="reader",
        last_batch_policy=LastBatchPolicy.PARTIAL,
        squeeze_labels=False,
    )
    (first,), (last,) = list(iterator)
    assert (first.pad, last.pad) == (0, 1)
    assert last.label[0].shape == (3, 1)
    assert values(last.label[0]) == [3, 4, 4]
    assert last.data[0].asnumpy()[:, 0, 0].tolist() == [3, 4, 4]


def test_gluon(mxnet: Any) -> None:
    iterator = mxnet.DALIGluonIterator(
        numbered(5, 3), reader_name="reader", last_batch_policy=LastBatchPolicy.PARTIAL
    )
    ((data, label),) = list(iterator)[-1]
    assert data.shape == (2, 64, 32)
    assert values(label) == [3, 4]
    ragged = mxnet.DALIGluonIterator(shapes_that_differ(), output_types=["sparse"])
    (((one, other),),) = next(ragged)
    assert (values(one), values(other)) == ([0, 0], [1, 1, 1])


def test_memory_is_leased(mxnet: Any) -> None:
    iterator = mxnet.DALIGluonIterator(numbered(64, 4), reader_name="reader")
    ((held, _),) = next(iterator)
    kept = held.asnumpy().copy()
    for turn in iterator:
        del turn
    assert np.array_equal(held.asnumpy(), kept)
    iterator._pipes[0].close()
    gc.collect()
    before = leased()
    del held, _
    gc.collect()
    assert before - leased() >= spans()


def test_feed_ndarray(mxnet: Any) -> None:
    data, label = numbered(4, 2).run()
    into = arrays().mx.nd.zeros((2, 64, 32), dtype="float32")
    assert mxnet.feed_ndarray(data, into) is into
    assert into.asnumpy()[:, 5, 5].tolist() == [0, 1]
    with pytest.raises(ValueError, match=r"expected \(2, 1\), got \(1, 2\)"):
        mxnet.feed_ndarray(label, arrays().mx.nd.zeros((1, 2), dtype="int32"))
    with pytest.raises(TypeError, match="expected int32, got float32"):
        mxnet.feed_ndarray(label, arrays().mx.nd.zeros((2, 1), dtype="float32"))


@REFUSALS
def test_refusals(mxnet: Any, refuse: Callable[[Any], None]) -> None:
    """Its names have a kind."""

    def made(pipe: Any, names: Any, **options: Any) -> Any:
        pairs = [(name, "data") for name in names] if isinstance(names, list) else names
        return mxnet.DALIGenericIterator(pipe, pairs, **options)

    refuse(made)


def test_mistakes(mxnet: Any) -> None:
    for wrong in (["data", "label"], [("a", "data"), ("b", "image")], [NAMES[0], NAMES[0]]):
        with pytest.raises(AssertionError, match=r"`output_map`: expected \(name, 'data'\) or"):
            mxnet.DALIGenericIterator(numbered(4, 2), wrong)
    with pytest.raises(TypeError, match=r"`output_map`: expected a list .*, got None"):
        mxnet.DALIGenericIterator(numbered(4, 2), None)
    with pytest.raises(AssertionError, match="one of 'dense', 'sparse' for each of 2 outputs"):
        mxnet.DALIGluonIterator(numbered(4, 2), output_types=["dense"])
    with pytest.raises(ValueError, match=r"output 'x': .*different shapes"):
        next(mxnet.DALIGenericIterator(shapes_that_differ(), [("x", "data")]))

    @pipeline_def(batch_size=2, num_threads=1)
    def shorts() -> Any:
        return fn.external_source(lambda: np.zeros((2, 3), np.int16))

    with pytest.raises(TypeError, match="output 'x': MXNet has no such elements"):
        next(mxnet.DALIGenericIterator(shorts(), [("x", "data")]))
    waits = mxnet.DALIGenericIterator(numbered(4, 2, enable_checkpointing=True), NAMES)
    assert len(waits.provide_data) == 1
    with pytest.raises(ValueError, match="`provide_data` has looked at"):
        waits.checkpoints()
    next(waits)
    assert len(waits.checkpoints()) == 1


def test_old_names_go_away_again(mxnet: Any) -> None:
    from gradiva.compat.dali.mxnet_arrays import old_names

    before = dict(vars(np))
    with old_names():
        assert vars(np)["PZERO"] == 0
        with pytest.raises(NotImplementedError, match="does not have this function"):
            vars(np)["pmt"]()
    assert vars(np).keys() == before.keys()
