"""Tensor and Batch out of all that users give, and what they hand out: NumPy, DLPack, torch."""

from __future__ import annotations

import array
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import Batch, DType, Tensor, as_batch, as_tensor, batch, tensor


class Interface:
    """An array of another library that has `__array_interface__` alone."""

    def __init__(self, values: np.ndarray[Any, Any]) -> None:
        self.values = values
        self.__array_interface__ = values.__array_interface__


class Jax(Interface):
    """An array that has DLPack, which it gives by keyword only, and `__array__`."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray[Any, Any]:
        return np.asarray(self.values, dtype)

    def __dlpack__(self, *, stream: Any = None, **options: Any) -> Any:
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


class OnGpu(Jax):
    """An array on a GPU."""

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, 0)


class Cuda:
    """An array on a GPU, as CuPy has it."""

    def __init__(self) -> None:
        self.__cuda_array_interface__ = {"shape": (2,), "typestr": "<f4", "data": (0, False)}


def address(value: Any) -> int:
    return int(np.asarray(value).__array_interface__["data"][0])


VALUES = np.arange(6, dtype=np.int16).reshape(2, 3)


@pytest.mark.tiny
@pytest.mark.parametrize("make", [np.asarray, Interface, Jax, as_tensor])
def test_views_and_copies(make: Any) -> None:
    data = make(VALUES)
    for view, copy in ((as_tensor, tensor), (as_batch, batch)):
        assert np.asarray(view(data)).tolist() == VALUES.tolist()
        assert address(view(data)) == address(VALUES)
        assert address(copy(data)) != address(VALUES)
        assert copy(data).dtype is gradiva.int16
        assert np.asarray(copy(data, dtype="float32")).dtype == np.float32
    assert address(batch(as_batch(data), dtype="uint8")) != address(VALUES)


@pytest.mark.tiny
@pytest.mark.parametrize("make", [tensor, as_tensor, batch, as_batch])
def test_gpus(make: Any) -> None:
    for data in (Cuda(), OnGpu(VALUES)):
        with pytest.raises(RuntimeError, match="is not available"):
            make(data)
    with pytest.raises(RuntimeError, match="is not available"):
        make(VALUES, device="gpu")
    for call in (
        make(VALUES).gpu,
        lambda: make(VALUES).gpu(1),
        lambda: make(VALUES).to_device("gpu"),
    ):
        with pytest.raises(RuntimeError, match=r"'gpu:[01]' is not available"):
            call()


@pytest.mark.tiny
def test_devices() -> None:
    for made in (tensor(VALUES), batch(VALUES)):
        assert made.device == gradiva.device("cpu")
        assert made.cpu() is made.evaluate() is made.to_device("cpu") is made
        assert address(made.to_device("cpu", force_copy=True)) != address(made)
        assert tuple(made.__dlpack_device__()) == (1, 0)
        with pytest.raises(BufferError):
            made.__dlpack__(dl_device=(2, 0))
        assert address(np.from_dlpack(made)) == address(made)
        assert not hasattr(made, "__cuda_array_interface__")
    with pytest.raises(AttributeError, match="on the CPU"):
        _ = tensor(1).__cuda_array_interface__


@pytest.mark.tiny
def test_buffers_and_text() -> None:
    assert np.asarray(tensor("ä")).tolist() == list("ä".encode())
    for data in (b"ab", bytearray(b"ab"), memoryview(b"ab")):
        assert np.asarray(tensor(data)).tolist() == [97, 98]
        assert tensor(data).dtype is gradiva.uint8
    assert tensor(array.array("d", [0.1])).item() == 0.1
    assert tensor(array.array("H", [1, 2])).dtype is gradiva.uint16
    assert [np.asarray(t).tolist() for t in batch(["ab", b"c"])] == [[97, 98], [99]]
    for text in ("ab", b"ab", {"a": 1}, {1, 2}, 3, None):
        with pytest.raises(TypeError, match="argument `tensors`"):
            batch(text)  # type: ignore[arg-type]


@pytest.mark.tiny
def test_lists() -> None:
    assert tensor([0.1], dtype="float64").item() == 0.1
    assert tensor([2**40, 1], dtype="uint64").dtype is gradiva.uint64
    kept = tensor([tensor(0.1, dtype="float64"), tensor(2.0, dtype="float64")])
    assert kept.dtype is gradiva.float64
    assert kept.shape == (2,)
    for wrong in (None, 1j, object(), [[1, 2], [3]], np.zeros(2, "M8[s]"), ["ab", "c"]):
        with pytest.raises(TypeError, match="expected"):
            tensor(wrong)


def test_dtypes_are_converted_as_by_cast() -> None:
    values = np.array([1.5, 2.5, -0.5, -7, 300, np.nan])
    wanted = [2, 3, 0, 0, 255, 0]
    for data in (values, values.tolist(), tensor(values)):
        assert np.asarray(tensor(data, dtype="uint8")).tolist() == wanted
        assert np.asarray(as_batch(data, dtype=np.uint8)).tolist() == wanted
    assert np.asarray(batch(values.tolist(), dtype=gradiva.uint8)).tolist() == wanted
    assert np.asarray(gradiva.cast(tensor(values), dtype="uint8")).tolist() == wanted
    assert tensor(300, dtype="uint8").item() == 255
    assert Batch.broadcast(1.5, 2, dtype="int32").at(1) == 2
    with pytest.raises(TypeError, match="element type"):
        tensor(1, dtype=complex)
    with pytest.raises(ValueError, match="expected one of"):
        batch([1], dtype="number")


@pytest.mark.tiny
def test_padding() -> None:
    wanted = [[1, 2], [3, 0]]
    for data in ([[1, 2], [3]], [np.array([1, 2]), np.array([3])], batch([[1, 2], [3]])):
        for make in (tensor, as_tensor):
            assert np.asarray(make(data, pad=True)).tolist() == wanted
    assert tensor([], pad=True).shape == (0,)
    assert tensor(["ab", "c"], pad=True).shape == (2, 2)
    assert tensor("ab", pad=True).shape == (2,)
    assert tensor([[1], [2.5, 3]], pad=True, dtype="float32").shape == (2, 2)
    with pytest.raises(TypeError, match="one dtype and one rank"):
        tensor([[1], [2.5, 3]], pad=True)
    with pytest.raises(ValueError, match="different shapes"):
        tensor(batch([[1, 2], [3]]))


@pytest.mark.tiny
def test_layouts() -> None:
    images = np.zeros((2, 4, 5, 3), np.uint8)
    assert tensor(batch(images, layout="HWC")).layout == "NHWC"
    assert as_batch(tensor(images, layout="NHWC")).layout == "HWC"
    assert as_batch(tensor(images, layout="FHWC")).layout == "HWC"
    assert as_batch(as_batch(images), layout="HWC").layout == "HWC"
    assert tensor(tensor(images[0], layout="HWC"), layout="WHC").layout == "WHC"
    for make in (tensor, batch):
        with pytest.raises(ValueError, match="letters"):
            make(images, layout="HW")
    with pytest.raises(ValueError, match="letters"):
        as_batch(as_batch(images), layout="HW")


@pytest.mark.tiny
def test_batches_without_samples_or_elements() -> None:
    for empty in (batch([], dtype="int8"), batch(np.zeros((0, 3), np.int8))):
        assert (empty.batch_size, empty.shape, empty.tensors, empty.nbytes) == (0, [], [], 0)
        assert empty.dtype is gradiva.int8
        assert list(empty) == []
        assert (empty + 1).batch_size == empty.select([]).batch_size == 0
        assert empty.slice[0].batch_size == empty.padded().shape[0] == 0
    hollow = batch([np.zeros((0, 3)), np.ones((2, 3))])
    assert hollow.shape == [(0, 3), (2, 3)]
    assert (hollow * 2).shape == hollow.slice[:5].shape == hollow.shape
    assert hollow.slice[..., 1].shape == [(0,), (2,)]
    assert tensor(np.zeros((0, 3)))[:1].shape == (0, 3)


@pytest.mark.tiny
def test_broadcast() -> None:
    made = Batch.broadcast(tensor([1, 2], layout="W"), 3)
    assert (made.shape, made.layout) == ([(2,)] * 3, "W")
    assert Batch.broadcast(1, 0).batch_size == 0
    with pytest.raises(TypeError, match="expected one sample"):
        Batch.broadcast(made, 2)
    with pytest.raises(ValueError, match="at least 0"):
        Batch.broadcast(1, -1)
    with pytest.raises(TypeError, match="an integer"):
        Batch.broadcast(1, 1.5)  # type: ignore[arg-type]


@pytest.mark.tiny
def test_select() -> None:
    made = batch([[1, 2], [3], [5, 6]])
    lists: Any = [
        ([2, 0, 0], [2, 0, 0]),
        ([-1], [2]),
        (slice(None, None, -1), [2, 1, 0]),
        (..., [0, 1, 2]),
        (np.array([1]), [1]),
        (range(2), [0, 1]),
        ([True, False, True], [0, 2]),
        ([], []),
        (tensor([1, 2]), [1, 2]),
    ]
    for chosen, numbers in lists:
        assert [t.shape for t in made.select(chosen)] == [made.shape[i] for i in numbers]
    singles: Any = (-2, np.int64(1), tensor(1), np.array(1))
    for one in singles:
        assert np.asarray(made.select(one)).tolist() == [3]
    for wrong in (3, -4, [3]):
        with pytest.raises(IndexError):
            made.select(wrong)
    kinds: Any = ("a", 1.5, None, [[0]])
    for kind in kinds:
        with pytest.raises(TypeError, match="`sample_range`"):
            made.select(kind)


@pytest.mark.tiny
def test_facts() -> None:
    made = tensor(np.zeros((2, 3), np.uint16), layout="HW")
    assert (made.itemsize, made.nbytes, made.size, made.ndim) == (2, 12, 6, 2)
    assert (made.shape, made.layout, len(made)) == ((2, 3), "HW", 2)
    assert [row.layout for row in made] == ["W", "W"]
    assert batch([[1, 2], [3]]).nbytes == 12
    assert batch([[1, 2], [3]]).ndim == 1
    assert tensor([5]).item() == 5
    assert type(tensor(1.5).item()) is float
    for several in ([1, 2], []):
        with pytest.raises(ValueError, match="only a tensor of one element"):
            tensor(several).item()
    assert [bool(tensor(x)) for x in (0, 1, [0], [2.0], False)] == [False, True, False, True, False]
    with pytest.raises(ValueError):
        bool(tensor([1, 2]))


@pytest.mark.tiny
def test_numpy() -> None:
    made = tensor([1, 2])
    assert np.asarray(made, np.float64).tolist() == [1, 2]
    assert address(np.asarray(made)) == address(made)
    assert address(np.array(made)) != address(made)
    assert made.__array__(copy=False) is np.asarray(made)
    with pytest.raises(ValueError, match="copy"):
        made.__array__(np.float32, copy=False)
    with pytest.raises(ValueError, match="copy"):
        batch([[1, 2], [3, 4]]).select([1, 0]).__array__(copy=False)
    assert np.sqrt(tensor([4.0])).tolist() == [2]
    assert type(np.sqrt(tensor([4.0]))) is np.ndarray
    for left in (np.array([1, 2], np.uint8), np.uint8(1)):
        total = left + made
        assert isinstance(total, Tensor)
        assert total.dtype is gradiva.int32
        assert isinstance(left == made, Tensor)
    assert isinstance(np.ones(2) + batch([1, 2]), Batch)
    plain = np.array([1, 2])
    plain += made
    assert plain.tolist() == [2, 4]
    other = made
    other += 1
    assert (np.asarray(made).tolist(), np.asarray(other).tolist()) == ([1, 2], [2, 3])


@pytest.mark.tiny
def test_numpy_by_name() -> None:
    made = tensor([[1, 2], [3, 4]], dtype="float32", layout="HW")
    assert type(made.numpy()) is np.ndarray
    assert made.numpy().dtype == np.float32
    assert address(made.numpy()) == address(made)
    assert made[:, 1].numpy().tolist() == [2, 4]
    assert tensor(5).numpy().shape == ()
    whole = batch([[1, 2], [3, 4]])
    assert address(whole.numpy()) == address(whole)
    assert whole.select([1]).numpy().tolist() == [[3, 4]]
    assert batch([], layout="HWC").numpy().shape == (0, 0, 0, 0)
    ragged = batch([[1, 2], [3]])
    assert ragged.numpy(pad=True).tolist() == [[1, 2], [3, 0]]
    with pytest.raises(ValueError, match="different shapes"):
        ragged.numpy()


def test_numpy_of_what_is_deferred() -> None:
    with gradiva.EvalMode.deferred:
        later = gradiva.cast(batch([[1, 2], [3, 4]]), dtype="float32")
        assert later.numpy().tolist() == [[1, 2], [3, 4]]
        assert later.tensors[1].numpy().tolist() == [3, 4]


@pytest.mark.tiny
def test_tensors_of_one_element_are_numbers() -> None:
    for shape in ((), (1,), (1, 1)):
        made = tensor(np.full(shape, 2, np.int64))
        assert (int(made), float(made), ["a", "b", "c"][made]) == (2, 2.0, "c")
        assert int(tensor(np.full(shape, 2.5, np.float32))) == 2
    with pytest.raises(TypeError):
        ["a"][tensor([0.0])]
    for several in (tensor([1, 2]), tensor([])):
        for convert in (int, float, "abc".__getitem__):
            with pytest.raises(TypeError, match="one element"):
                convert(several)


def test_torch() -> None:
    torch = pytest.importorskip("torch")
    made = tensor(VALUES)
    assert made.torch().data_ptr() == address(made)
    assert made.torch(copy=True).data_ptr() != address(made)
    assert made[::-1].torch().tolist() == VALUES[::-1].tolist()
    assert as_tensor(b"ab").torch().tolist() == [97, 98]
    whole, ragged = batch(VALUES), batch([[1, 2], [3]])
    for copy in (None, False):
        assert whole.torch(copy=copy).data_ptr() == address(whole)
    assert whole.torch(copy=True).data_ptr() != address(whole)
    assert ragged.torch(pad=True).tolist() == [[1, 2], [3, 0]]
    with pytest.raises(ValueError, match="`copy`"):
        ragged.torch(pad=True, copy=False)
    with pytest.raises(ValueError, match="different shapes"):
        ragged.torch()
    theirs = torch.arange(6.0).reshape(2, 3)
    assert address(as_tensor(theirs)) == address(as_batch(theirs)) == theirs.data_ptr()
    assert address(tensor(theirs)) != theirs.data_ptr()
    assert tensor(theirs.requires_grad_()).dtype is gradiva.float32
    assert batch([theirs, theirs[:1]]).shape == [(2, 3), (1, 3)]
    assert tensor(torch.tensor(True)).dtype is tensor(1, dtype=torch.bool).dtype is gradiva.bool


@pytest.mark.tiny
def test_names_of_dtypes() -> None:
    kinds = DType.Kind
    facts = [
        (d.name, d.kind, d.bits, d.bytes) for d in (gradiva.uint8, gradiva.int64, gradiva.bool)
    ]
    assert facts == [
        ("uint8", kinds.unsigned, 8, 1),
        ("int64", kinds.signed, 64, 8),
        ("bool", kinds.bool, 8, 1),
    ]
    assert (gradiva.float16.exponent_bits, gradiva.float64.significand_bits) == (5, 52)
    assert gradiva.uint8.exponent_bits is None
    assert [kind.value for kind in kinds] == [1, 2, 3, 4, 5]
    for name in ("float32", "f32", "float", "FLOAT32"):
        assert DType.parse(name) is gradiva.float32
    for wrong in ("f4", "number", "", 3):
        with pytest.raises(ValueError, match="expected one of"):
            DType.parse(wrong)  # type: ignore[arg-type]
    for theirs in (np.float32, np.dtype("f4"), np.dtype(">f4"), float):
        assert DType.from_fw_type(theirs) is gradiva.float32
    for unknown in ("f4", None, complex, str):
        with pytest.raises(TypeError):
            DType.from_fw_type(unknown)
    assert DType.from_type_id(gradiva.types.FLOAT) is DType.from_type_id(9) is gradiva.float32
    with pytest.raises(ValueError, match="no element type"):
        DType.from_type_id(99)
    assert gradiva.dtype("u8") == gradiva.dtype(np.uint8) == gradiva.uint8 != gradiva.int8
    assert len({gradiva.uint8, gradiva.dtype("u8"), gradiva.int8}) == 2
    assert gradiva.type_id("uint8") is gradiva.types.UINT8
    assert (repr(gradiva.uint8), str(gradiva.uint8)) == ("uint8", "uint8")
