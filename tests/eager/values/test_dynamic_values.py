"""Names of Tensor, Batch and DType: what each gives for a small value."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import Device, DType

ARRAY = np.arange(12, dtype=np.int32).reshape(2, 6)


def test_names_of_a_tensor() -> None:
    tensor: Any = gradiva.as_tensor(ARRAY, layout="HW")
    assert (tensor.shape, tensor.ndim, tensor.size) == ((2, 6), 2, 12)
    assert (tensor.itemsize, tensor.nbytes) == (4, 48)
    assert (tensor.dtype, tensor.layout, tensor.device) == (gradiva.int32, "HW", Device.CPU)
    assert tensor[1, 2].item() == 8
    assert tensor.evaluate() is tensor
    np.testing.assert_array_equal(np.from_dlpack(tensor), ARRAY)
    assert tensor.__array__(np.float64).dtype == np.float64
    for same in (tensor.cpu(), tensor.to_device("cpu"), tensor.to_device(Device.CPU)):
        assert np.shares_memory(np.asarray(same), ARRAY)
    assert not np.shares_memory(np.asarray(tensor.to_device("cpu", force_copy=True)), ARRAY)
    for move in (tensor.gpu, lambda: tensor.gpu(1), lambda: tensor.to_device("gpu:0")):
        with pytest.raises(gradiva.OperatorRuntimeError, match="is not available: "):
            move()


def test_names_of_a_batch() -> None:
    batch: Any = gradiva.as_batch([ARRAY, ARRAY[:1]], layout="HW")
    assert (batch.batch_size, batch.ndim, batch.shape) == (2, 2, [(2, 6), (1, 6)])
    assert (batch.dtype, batch.layout, batch.device) == (gradiva.int32, "HW", Device.CPU)
    assert batch.evaluate() is batch
    assert [tensor.shape for tensor in batch] == [tensor.shape for tensor in batch.tensors]
    assert [tensor.shape for tensor in batch.slice[0, 2:].tensors] == [(4,), (4,)]
    for same in (batch.cpu(), batch.to_device("cpu", force_copy=True)):
        np.testing.assert_array_equal(same.select(0), ARRAY)
    for move in (batch.gpu, lambda: batch.gpu(1), lambda: batch.to_device("gpu")):
        with pytest.raises(gradiva.OperatorRuntimeError, match="is not available: "):
            move()


@pytest.mark.parametrize("name", ["all", "any"])
def test_all_and_any(name: str) -> None:
    """As the arrays answer, whether the method is called or NumPy's function."""
    for array in (ARRAY > 3, ARRAY >= 0, ARRAY < 0, np.zeros((0, 2)), np.float32(0.5), ARRAY * 0.5):
        for value in (gradiva.as_tensor(array), gradiva.as_batch([array, array])):
            same: Any = np.asarray(value)
            every: list[dict[str, Any]] = [
                {},
                {"axis": 0},
                {"axis": -1, "keepdims": True},
                {"axis": (0, 1)},
                {"axis": 0, "where": False},
            ]
            for options in every:
                if max(np.atleast_1d(options.get("axis", 0)).tolist()) >= same.ndim:
                    continue
                if same.ndim == 0 and options:
                    continue
                expected = getattr(same, name)(**options)
                for found in (getattr(value, name)(**options), getattr(np, name)(value, **options)):
                    assert type(found) is type(expected)
                    np.testing.assert_array_equal(found, expected)


def test_all_and_any_of_what_is_ragged_compared_or_strided() -> None:
    ragged: Any = gradiva.as_batch([ARRAY >= 0, ARRAY[:1] > 3])
    assert (bool(ragged.all()), bool(ragged.any())) == (False, True)
    assert not ragged.slice[:0].any()
    assert ragged.slice[:0].all()
    with pytest.raises(gradiva.OperatorValueError, match="different shapes"):
        ragged.all(axis=0)
    tensor: Any = gradiva.as_tensor(ARRAY)
    assert (tensor == ARRAY).all()
    assert not (tensor != ARRAY).any()
    assert (tensor[:, ::-2] == ARRAY[:, ::-2]).all(axis=1).tolist() == [True, True]
    with gradiva.EvalMode.deferred:
        assert (gradiva.as_batch([ARRAY, ARRAY]) + 1 > 0).all()


def test_torch() -> None:
    torch = pytest.importorskip("torch")
    assert torch.equal(gradiva.as_tensor(ARRAY).torch(), torch.from_numpy(ARRAY))
    copied = gradiva.as_tensor(ARRAY).torch(copy=True)
    copied[0, 0] = 99
    assert ARRAY[0, 0] == 0
    padded = gradiva.as_batch([ARRAY, ARRAY[:1]]).torch(pad=True)
    assert padded.shape == (2, 2, 6)
    assert padded[1, 1].tolist() == [0] * 6


def test_element_types_by_name_and_number() -> None:
    assert DType.parse("float32") is gradiva.float32
    assert DType.from_type_id(int(gradiva.int16)) is gradiva.int16
    with pytest.raises((ValueError, TypeError)):
        DType.parse("float33")


def test_a_subscript_of_a_batch_names_what_takes_its_place() -> None:
    batch: Any = gradiva.batch([[1, 2], [3, 4]])
    for subscript in (0, slice(1), (0, 1)):
        with pytest.raises(gradiva.OperatorTypeError) as raised:
            batch[subscript]
        for name in ("batch.at(i)", "batch.tensors[i]", "batch.select(...)", "batch.slice[...]"):
            assert name in str(raised.value)
