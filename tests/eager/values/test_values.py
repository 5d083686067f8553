"""Batch and Tensor: memory, conversions, NumPy and DLPack without copies, what people see."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva.eager.types.batch_shape import BatchShape


def pointer(array: Any) -> int:
    return int(np.asarray(array).__array_interface__["data"][0])


@pytest.mark.tiny
def test_one_array_is_used_in_place() -> None:
    array = np.arange(4 * 5 * 6 * 3, dtype=np.uint8).reshape(4, 5, 6, 3)
    batch = gradiva.as_batch(array, layout="HWC")
    assert batch.batch_size == len(batch) == 4
    assert batch.shape == [(5, 6, 3)] * 4
    assert pointer(batch.as_array()) == pointer(array)
    assert pointer(np.asarray(batch)) == pointer(array)
    assert pointer(np.from_dlpack(batch)) == pointer(array)
    assert pointer(batch.tensors[1]) == pointer(array[1])
    assert pointer(gradiva.batch(array).as_array()) != pointer(array)
    assert gradiva.as_batch(array, layout="NHWC").layout == "HWC"


@pytest.mark.tiny
def test_lists_become_one_aligned_slab() -> None:
    arrays = [np.full((h, 3), h, np.float32) for h in (1, 5, 2)]
    batch = gradiva.as_batch(arrays)
    assert batch.shape == [(1, 3), (5, 3), (2, 3)]
    for index, array in enumerate(arrays):
        np.testing.assert_array_equal(batch.at(index), array)
        assert batch.at(index).ctypes.data % 64 == 0
        assert np.shares_memory(batch.at(index), batch.data)
    with pytest.raises(
        ValueError, match=r"different shapes.*resize.*padded.*got \(\d, .*\(sample 0\) and"
    ):
        batch.as_array()
    assert batch.padded().shape == (3, 5, 3)
    assert batch.padded(7)[0, 1:].tolist() == [[7] * 3] * 4


@pytest.mark.tiny
def test_dlpack_in() -> None:
    class Foreign:
        def __init__(self, array: np.ndarray[Any, Any]) -> None:
            self.array = array

        def __dlpack__(self, **options: Any) -> Any:
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self) -> tuple[int, int]:
            return (1, 0)

    array = np.arange(24, dtype=np.int16).reshape(2, 3, 4)
    assert pointer(gradiva.as_batch(Foreign(array)).as_array()) == pointer(array)
    assert pointer(gradiva.as_tensor(Foreign(array))) == pointer(array)
    assert pointer(gradiva.tensor(Foreign(array))) != pointer(array)


def test_outputs_are_aligned_and_writable() -> None:
    batch = gradiva.flip(gradiva.as_batch(np.zeros((3, 7, 5, 3), np.uint8), layout="HWC"))
    assert batch.as_array().ctypes.data % 64 == 0
    assert batch.as_array().flags.writeable


@pytest.mark.tiny
def test_construction() -> None:
    assert gradiva.tensor(3).dtype is gradiva.int32
    assert gradiva.tensor(1.5).dtype is gradiva.float32
    assert gradiva.tensor([1, 2**40]).dtype is gradiva.int64
    assert gradiva.tensor(True).dtype is gradiva.bool_
    assert gradiva.tensor("abc").shape == (3,)
    assert gradiva.tensor(b"abcd").dtype is gradiva.uint8
    assert gradiva.tensor([[1, 2]], dtype="float16").dtype is gradiva.float16
    assert gradiva.batch([1.0, 2.0]).shape == [(), ()]
    assert gradiva.batch([b"ab", b"c"]).shape == [(2,), (1,)]
    assert gradiva.batch([], layout="HWC").batch_size == 0
    assert gradiva.as_tensor(gradiva.batch([[1, 2], [3, 4]])).shape == (2, 2)
    assert gradiva.as_tensor(gradiva.batch([[1], [3, 4]]), pad=True).shape == (2, 2)
    big = np.arange(4, dtype=">i4")
    assert gradiva.as_tensor(big).dtype is gradiva.int32
    np.testing.assert_array_equal(np.asarray(gradiva.as_tensor(big)), big)


@pytest.mark.tiny
def test_refusals() -> None:
    with pytest.raises(TypeError, match="sample 1"):
        gradiva.as_batch([np.zeros(3, np.uint8), np.zeros(3, np.int8)])
    with pytest.raises(TypeError, match="sample 2"):
        gradiva.as_batch([np.zeros(3), np.zeros(3), np.zeros((3, 1))])
    with pytest.raises(TypeError, match="an iterable of arrays"):
        gradiva.as_batch(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="a layout of 3 letters"):
        gradiva.as_tensor(np.zeros((2, 2, 2)), layout="HW")
    with pytest.raises(ValueError, match="distinct letters"):
        gradiva.as_batch(np.zeros((2, 2, 2, 2)), layout="HHC")
    with pytest.raises(TypeError, match="numbers or booleans"):
        gradiva.tensor([object()])
    with pytest.raises(RuntimeError, match="is not available: "):
        gradiva.tensor(1).gpu()
    with pytest.raises(TypeError, match="neither true nor false"):
        bool(gradiva.batch([1]))


def test_the_truth_of_a_batch() -> None:
    """The error says where, and what chooses for each sample."""
    labels = gradiva.batch(np.array([[1], [2]], np.int32))
    images = gradiva.batch(np.full((2, 2, 2, 3), 200, np.uint8), layout="HWC")
    for wrong in (
        lambda: 1 if labels == 1 else 0,
        lambda: not labels,
        lambda: labels and 1,
        lambda: [1 for _ in range(2) if images],
    ):
        with pytest.raises(TypeError) as found:
            wrong()
        text = str(found.value)
        assert text.startswith("a batch is neither true nor false; look at its samples, or len(ba")
        assert "enable_conditionals=True" in text
        assert f"\n  at {__file__}:" in text
    mask, darker = labels == 1, images - 100
    chosen = mask * images + (mask == 0) * darker  # as the error says
    assert chosen.dtype == darker.dtype
    assert [int(np.asarray(one).max()) for one in chosen] == [200, 100]


def test_select_and_iterate() -> None:
    batch = gradiva.batch([np.full((i + 1, 2), i) for i in range(5)], layout="AB")
    single = batch.select(3)
    assert single.shape == (4, 2)
    some = batch.select([4, 0])
    assert some.shape == [(5, 2), (1, 2)]
    assert pointer(some.at(0)) == pointer(batch.at(4))
    every = batch.select(slice(1, None, 2))
    assert [int(sample.item()) for sample in every.select([0]).tensors[0][0, :1]] == [1]
    assert [tensor.shape for tensor in batch] == batch.shape
    with pytest.raises(IndexError, match="from 0 to 4"):
        batch.at(5)
    # What is made from a part holds only that part.
    assert gradiva.cast(every, dtype=gradiva.float32).data.size < batch.data.size


def test_broadcast_costs_nothing_and_is_not_aliased() -> None:
    batch = gradiva.Batch.broadcast(np.arange(6).reshape(2, 3), 4)
    assert batch.shape == [(2, 3)] * 4
    assert batch.data.size == 6
    made = gradiva.cast(batch, dtype=gradiva.int64)
    made.at(0)[:] = 9
    np.testing.assert_array_equal(made.at(1), np.arange(6).reshape(2, 3))


@pytest.mark.tiny
def test_tensor_views() -> None:
    tensor = gradiva.tensor(np.arange(24).reshape(2, 3, 4), layout="HWC")
    assert tensor[0].layout == "WC"
    assert tensor[..., 0].layout == "HW"
    assert tensor[:, 1:, 0].layout == "HW"
    assert tensor[None].layout == "HWC"
    assert tensor[gradiva.newaxis].layout == ""
    assert tensor[gradiva.newaxis("N")].layout == "NHWC"
    assert pointer(tensor[1]) == pointer(tensor) + 12 * tensor.itemsize
    assert tensor[1, 2, 3].item() == 23
    assert int(tensor[0, 0, 1]) == 1
    assert len(tensor) == 2
    assert tensor.nbytes == 24 * tensor.itemsize


@pytest.mark.tiny
@pytest.mark.parametrize("count", [0, 1, 5])
def test_geometry(count: int) -> None:
    shapes = np.array([[i, 3] for i in range(1, count + 1)], np.int64).reshape(count, 2)
    batch_shape = BatchShape.of(shapes)
    assert (batch_shape.offsets % 64 == 0).all()
    ends = batch_shape.offsets + batch_shape.volumes
    assert (ends[:-1] <= batch_shape.offsets[1:]).all()
    assert count == 0 or ends[-1] <= batch_shape.size


def test_shapes_are_refused_by_their_volumes_not_by_their_extents() -> None:
    """The product of the greatest extents is no sample's."""
    wide = BatchShape.of(np.array([(1 << 30, 1), (1, 1 << 30)], np.int64))
    assert (wide.size, wide.volumes.tolist()) == (1 << 31, [1 << 30] * 2)
    assert BatchShape.of(np.array([(0, 5), (2, 5)], np.int64)).volumes.tolist() == [0, 10]
    for bad in ([(1 << 30, 1 << 13), (1, 1)], [(1 << 40, 5), (1, 1)], [(-1, 3), (1, 1)]):
        with pytest.raises(gradiva.OperatorValueError, match="too large"):
            BatchShape.of(np.array(bad, np.int64))


@pytest.mark.tiny
@pytest.mark.parametrize("kind", ["batch", "tensor", "symbol"])
def test_functions_of_python_that_take_no_values(kind: str) -> None:
    given = np.full((2, 3), 1.5, np.float32)
    value: Any = gradiva.batch([given]) if kind == "batch" else gradiva.tensor(given)
    if kind == "symbol":
        with gradiva.Pipeline(batch_size=1, num_threads=1):
            value = gradiva.fn.external_source(lambda: [given])
    with pytest.raises(gradiva.OperatorTypeError, match=r"round\(\) takes no .*: `cast` to an int"):
        round(value)
    with pytest.raises(gradiva.OperatorTypeError, match=r"round\(\) takes no .*\n  at .*, 1\)"):
        round(value, 1)
    for pair in ((value, 2), (2, value), (value, value)):
        with pytest.raises(gradiva.OperatorTypeError, match="use `a // b` and `a % b`"):
            divmod(pair[0], pair[1])
    expected = "whether it contains something" if kind == "symbol" else "a number among numbers"
    with pytest.raises(gradiva.OperatorTypeError, match=expected):
        _ = 3 in value


@pytest.mark.tiny
def test_numbers_are_found_among_numbers() -> None:
    labels = gradiva.batch([np.int32(4), np.int32(7)])
    assert 7 in labels
    assert 5 not in labels
    assert 7 in gradiva.tensor([4, 7])
    assert 5 not in gradiva.tensor([4, 7])


@pytest.mark.tiny
def test_text_and_pictures() -> None:
    images = gradiva.as_batch(np.zeros((20, 8, 6, 3), np.uint8), layout="HWC")
    assert repr(images) == (
        "Batch(20 samples, shape=(8, 6, 3), dtype=uint8, layout='HWC', device='cpu')"
    )
    html = images._repr_html_()
    assert html.count("<img") == 16
    assert "and 4 more" in html
    planes = gradiva.as_batch(np.ones((2, 3, 4, 4), np.float32), layout="CHW")
    assert planes._repr_html_().count("<img") == 2
    assert "<img" not in gradiva.batch([[1, 2], [3, 4]])._repr_html_()
    assert "<img" in images.tensors[0]._repr_html_()
    assert "values=[[1, 2]]" in repr(gradiva.batch([[1, 2]]))
    assert repr(gradiva.tensor([1, 2])) == "Tensor([1, 2], shape=(2,), dtype=int32)"


def test_provenance_reaches_the_end(photographs: Any) -> None:
    reader = gradiva.readers.File(file_root=str(photographs))
    (files, labels) = next(iter(reader.next_epoch(batch_size=3)))
    images = gradiva.cast(gradiva.decoders.image(files), dtype=gradiva.float32) * 2.0
    assert images.source_info() == files.source_info() == labels.source_info()
    assert images.source_info()[0].endswith("chelsea.jpg")
    assert images.positions is not None
    assert images.positions.tolist() == [0, 1, 2]
