"""What pipelines hand out answers as in pipeline mode, and still is a Batch."""

from __future__ import annotations

import ctypes
import pickle
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import Batch, Tensor, fn, pipeline_def, types
from gradiva.compat.dali.tensors import TensorCPU, TensorGPU, TensorListCPU, TensorListGPU

DATA = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)


@pytest.fixture
def made() -> TensorListCPU:
    return TensorListCPU(DATA, layout="HW")


@pytest.mark.tiny
def test_calls_and_values_are_one(made: TensorListCPU) -> None:
    assert made.shape() == made.shape == [(3, 4), (3, 4)]
    assert made.layout() == made.layout == "HW"
    assert made.ndim() == made.ndim == 2
    assert made.dtype == types.UINT8 == gradiva.uint8
    assert (type(made.layout()), type(made.shape()), type(made.ndim())) == (str, list, int)
    assert len(made) == 2
    sample = made[1]
    assert isinstance(sample, TensorCPU)
    assert (sample.shape(), sample.shape) == ([3, 4], (3, 4))
    assert (sample.layout(), sample.ndim(), made[-1].shape()) == ("HW", 2, [3, 4])
    assert pickle.loads(pickle.dumps(made.layout)) == "HW"


@pytest.mark.tiny
def test_samples(made: TensorListCPU) -> None:
    np.testing.assert_array_equal(made.at(1), DATA[1])
    np.testing.assert_array_equal(np.array(made[0]), DATA[0])
    assert all(isinstance(sample, TensorCPU) for sample in made)
    assert [sample.tolist() for sample in map(np.asarray, made)] == DATA.tolist()
    with pytest.raises(IndexError, match="from 0 to 1, got 2"):
        made[2]
    with pytest.raises(TypeError, match="the number of a sample"):
        made["x"]
    np.testing.assert_array_equal(np.array(made), DATA)
    np.testing.assert_array_equal(np.from_dlpack(made), DATA)
    np.testing.assert_array_equal(np.from_dlpack(made[0]), DATA[0])


@pytest.mark.tiny
def test_as_one_tensor(made: TensorListCPU) -> None:
    assert made.is_dense_tensor()
    whole = made.as_tensor()
    assert (whole.shape(), whole.layout()) == ([2, 3, 4], "NHW")
    assert whole.data_ptr() == made.data_ptr()
    assert made.as_reshaped_tensor([6, 4]).shape() == [6, 4]
    assert made.as_cpu() is made
    with pytest.raises(ValueError, match="24 elements in all"):
        made.as_reshaped_tensor([5, 4])
    ragged = TensorListCPU([np.zeros((2, 3)), np.zeros((4, 1))])
    assert not ragged.is_dense_tensor()
    for call in (ragged.as_tensor, ragged.as_array, ragged.data_ptr):
        with pytest.raises(ValueError, match=r"as_tensor|different shapes"):
            call()


@pytest.mark.tiny
@pytest.mark.parametrize(
    "data",
    [
        DATA,
        list(DATA),
        [TensorCPU(sample) for sample in DATA],
        TensorListCPU(DATA),
        gradiva.batch(DATA),
    ],
)
def test_forms(data: Any) -> None:
    made = TensorListCPU(data, layout="XY")
    assert (made.layout(), made.shape()) == ("XY", [(3, 4), (3, 4)])
    np.testing.assert_array_equal(made.as_array(), DATA)


@pytest.mark.tiny
def test_layouts_and_types_can_be_changed(made: TensorListCPU) -> None:
    made.set_layout("CD")
    assert made.layout() == made[0].layout() == "CD"
    with pytest.raises(ValueError, match="layout"):
        made.set_layout("ABCD")
    made.reinterpret(types.INT8)
    assert made.dtype == types.INT8
    with pytest.raises(ValueError, match="a type of 1 bytes"):
        made.reinterpret(types.FLOAT)
    made.reset()
    assert (len(made), made.shape()) == (0, [])


@pytest.mark.tiny
def test_tensors() -> None:
    sample = TensorCPU(DATA[:1], "ABC")
    assert sample.squeeze(1) is False
    assert sample.squeeze(0) is True
    assert (sample.shape(), sample.layout()) == ([3, 4], "BC")
    assert sample.get_property("layout") == "BC"
    assert sample.get_property("source_info") is None
    with pytest.raises(ValueError, match="'layout' or 'source_info'"):
        sample.get_property("color")
    with pytest.raises(ValueError, match="layout"):
        TensorCPU(DATA, "AB")
    assert np.asarray(sample.__array_interface__["shape"]).tolist() == [3, 4]
    assert TensorListCPU.from_dlpack_list([DATA[0], DATA[1]]).shape() == [(3, 4)] * 2


@pytest.mark.tiny
def test_copies_to_foreign_memory(made: TensorListCPU) -> None:
    target = np.zeros_like(DATA)
    made.copy_to_external(target.ctypes.data)
    np.testing.assert_array_equal(target, DATA)
    target[...] = 0
    made[1].copy_to_external(ctypes.c_void_p(target.ctypes.data))
    np.testing.assert_array_equal(target[0], DATA[1])
    made[0].copy_to_external(target.ctypes.data_as(ctypes.POINTER(ctypes.c_uint8)))
    np.testing.assert_array_equal(target[0], DATA[0])
    for wrong in ("x", 0, None):
        with pytest.raises(TypeError, match="an address"):
            made.copy_to_external(wrong)


def test_they_are_batches_and_tensors(made: TensorListCPU) -> None:
    assert isinstance(made, Batch)
    assert isinstance(made[0], Tensor)
    flipped = gradiva.flip(made, horizontal=1)
    np.testing.assert_array_equal(flipped.as_array(), DATA[:, :, ::-1])
    assert (made + 1).dtype == gradiva.int32
    assert gradiva.flip(made[0], horizontal=1).shape == (3, 4)
    assert "TensorList" in repr(made) or "Batch" in repr(made)
    assert len(made.select([1])) == 1


def test_pipelines_hand_them_out(photographs: Any) -> None:
    @pipeline_def(batch_size=2, num_threads=1)
    def pipe() -> Any:
        files, labels = fn.readers.file(file_root=str(photographs))
        return files, labels

    files, labels = pipe().run()
    assert isinstance(files, TensorListCPU)
    assert labels.as_tensor().shape() == [2, 1]
    assert files[0].source_info().endswith(".jpg")


@pytest.mark.tiny
def test_values_on_a_gpu_are_refused_clearly() -> None:
    for kind in (TensorGPU, TensorListGPU):
        with pytest.raises(RuntimeError, match="is not available: "):
            kind(DATA)
