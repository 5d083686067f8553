"""bfloat16: conversions against exact fractions and ml_dtypes, exchange, moves, refusals."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import as_tensor, batch, bfloat16, fn, pipeline_def, tensor
from tests.tiers import few

ml_dtypes = pytest.importorskip("ml_dtypes")

pytestmark = pytest.mark.core


def bits(value: Any) -> np.ndarray[Any, Any]:
    return np.ascontiguousarray(np.asarray(value)).view(np.uint16)


def nearest(value: float) -> int:
    """The bits of the nearest bfloat16, the even one of two, by exact arithmetic."""
    here = int(np.float32(value).view(np.uint32)) >> 16

    def distance(code: int) -> tuple[Fraction, int]:
        number = float(np.array(code << 16, np.uint32).view(np.float32))
        return abs(Fraction(number) - Fraction(value)), code & 1

    return min((code for code in (here - 1, here, here + 1) if code >= 0), key=distance)


def test_rounding() -> None:
    generator = np.random.default_rng(0)
    codes = generator.integers(1, 0x7E00, 300) << 16 | 0x8000
    halves = codes.astype(np.uint32).view(np.float32).astype(np.float64)
    floats = np.concatenate([halves * (1 + step) for step in (0, 2.0**-50, -(2.0**-50))])
    made = tensor(floats, dtype=bfloat16)
    assert bits(made).tolist() == [nearest(float(x)) for x in floats]
    whole = [(1 << k) + (1 << (k - 8)) + step for k in range(9, 63) for step in (-1, 0, 1)]
    for dtype in ("int64", "uint64"):
        made = gradiva.cast(np.array(whole, dtype), dtype=bfloat16)
        assert bits(made).tolist() == [nearest(x) for x in whole]
    single = generator.integers(0, 2**32, 5000, np.uint32).view(np.float32)
    single = single[~np.isnan(single)]
    assert (
        bits(tensor(single, dtype=bfloat16)).tolist()
        == bits(single.astype(ml_dtypes.bfloat16)).tolist()
    )


def test_special_values_and_back() -> None:
    values = [0.0, -0.0, np.inf, -np.inf, 1e39, 3.39e38, -1.5, 1e-40]
    made = tensor(values, dtype=bfloat16)
    back = np.asarray(gradiva.cast(made, dtype="float32"))
    assert back.tolist() == np.asarray(made).astype(np.float32).tolist()
    assert np.signbit(back[1])
    assert np.isinf(back[2:5]).all()
    assert np.isnan(np.asarray(tensor([np.nan], dtype="bf16")).astype(np.float32)).all()
    some = tensor([2.5, -0.5, 300, np.nan], dtype=bfloat16)
    assert np.asarray(gradiva.cast(some, dtype="uint8")).tolist() == [3, 0, 255, 0]
    assert np.asarray(gradiva.cast(some, dtype=gradiva.bool)).tolist() == [True, True, True, True]
    assert np.asarray(gradiva.cast(some, dtype="float16")).tolist()[:3] == [2.5, -0.5, 300]
    codes = np.arange(1 << 16, dtype=np.uint16).view(ml_dtypes.bfloat16)
    again = tensor(np.asarray(tensor(codes, dtype="float32")), dtype=bfloat16)
    number = ~np.isnan(codes.astype(np.float32))
    assert (bits(again) == bits(codes))[number].all()


def test_facts() -> None:
    made = batch([[1.5], [2.0, 3.0]], dtype=bfloat16, layout="W")
    assert repr(made) == (
        "Batch(2 samples, shapes=[(1,), (2,)], dtype=bfloat16, layout='W', device='cpu', "
        "values=[[1.5], [2, 3]])"
    )
    assert "bfloat16" in made._repr_html_()
    assert (made.nbytes, made.select(0).item()) == (6, 1.5)
    assert (bfloat16.bits, bfloat16.kind, bfloat16.type_id) == (16, gradiva.DType.Kind.float, None)
    assert (bfloat16.exponent_bits, bfloat16.significand_bits) == (8, 7)
    assert gradiva.dtype("bf16") is gradiva.dtype(ml_dtypes.bfloat16) is bfloat16
    assert pickle.loads(pickle.dumps(bfloat16)) is bfloat16
    assert float(tensor(2.0, dtype=bfloat16)) == 2


MOVES: dict[str, Callable[[Any], Any]] = {
    "copy": gradiva.copy,
    "flip": gradiva.flip,
    "crop": lambda x: gradiva.crop(x, crop=(4, 7), out_of_bounds_policy="pad", fill_values=2.5),
    "slice": lambda x: gradiva.slice(
        x, start=[1], end=[9], axes=[1], out_of_bounds_policy="pad", fill_values=1.5
    ),
    "subscript": lambda x: x.slice[:, ::-1, 0],
    "transpose": lambda x: gradiva.transpose(x, perm=[2, 0, 1]),
    "reshape": lambda x: gradiva.reshape(x, shape=[-1], layout="W"),
    "expand_dims": lambda x: gradiva.expand_dims(x, axes=[0], new_axis_names="N"),
    "squeeze": lambda x: gradiva.squeeze(gradiva.stack(x, axis_name="N"), axes=[0]),
    "cat": lambda x: gradiva.cat(x, x, axis=1),
    "stack": lambda x: gradiva.stack(x, x),
    "permute_batch": lambda x: gradiva.permute_batch(x, indices=[1, 0]),
    "pad": lambda x: gradiva.pad(x, fill_value=2.5),
    "sequence_rearrange": lambda x: gradiva.sequence_rearrange(
        gradiva.reinterpret(x, layout="FHW"), new_order=[1, 0]
    ),
    "element_extract": lambda x: gradiva.element_extract(
        gradiva.reinterpret(x, layout="FHW"), element_map=[1]
    ),
    "zeros_like": gradiva.zeros_like,
    "ones_like": gradiva.ones_like,
    "cast_like": lambda x: gradiva.cast_like(gradiva.cast(x, dtype="float64"), x),
}


def images() -> gradiva.Batch:
    arrays = [np.arange(24.0).reshape(2, 4, 3) + 0.5, np.arange(18.0).reshape(2, 3, 3)]
    return batch(arrays, dtype=bfloat16, layout="HWC")


@pytest.mark.parametrize("name", few(MOVES, every=7))
def test_moves(name: str) -> None:
    made = MOVES[name](images())
    wanted = MOVES[name](gradiva.cast(images(), dtype="float32"))
    assert made.dtype is bfloat16
    assert (made.shape, made.layout) == (wanted.shape, wanted.layout)
    for ours, theirs in zip(made, wanted, strict=True):
        assert np.asarray(ours).astype(np.float32).tolist() == np.asarray(theirs).tolist()


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x + 1,
        lambda x: -x,
        lambda x: x == x,
        lambda x: np.float32(1) * x,
        gradiva.math.sqrt,
        gradiva.brightness,
        gradiva.reductions.sum,
        lambda x: gradiva.resize(x, size=(2, 2)),
        gradiva.random.normal,
        lambda x: gradiva.crop_mirror_normalize(gradiva.cast(x, dtype="uint8"), dtype="bf16"),
        lambda x: gradiva.random.uniform(dtype=bfloat16),
    ],
)
def test_others_refuse(call: Callable[[Any], Any]) -> None:
    with pytest.raises(TypeError, match="got bfloat16"):
        call(images())


def test_pipelines() -> None:
    @pipeline_def(batch_size=2, num_threads=1, device_id=None)
    def chain() -> Any:
        values = fn.external_source(source=lambda: list(images().arrays()), layout="HWC")
        doubled = fn.cast(values, dtype=gradiva.float32) * 2
        return fn.flip(fn.cast(doubled, dtype=bfloat16))

    (made,) = chain().run()
    wanted = gradiva.flip(gradiva.cast(gradiva.cast(images(), dtype="f32") * 2, dtype=bfloat16))
    for ours, theirs in zip(made, wanted, strict=True):
        assert bits(ours).tolist() == bits(theirs).tolist()

    @pipeline_def(batch_size=2, num_threads=1, device_id=None)
    def wrong() -> Any:
        return fn.cast(fn.external_source(source=lambda: [1.0, 2.0]), dtype=bfloat16) + 1

    with pytest.raises(TypeError, match="add: the input has a dtype"):
        wrong()

    @pipeline_def(batch_size=2, num_threads=1, device_id=None)
    def stored() -> Any:
        return fn.cast(fn.external_source(name="x"), dtype=bfloat16)

    with pytest.raises(ValueError, match=r"`dtype`.*bfloat16"):
        stored().serialize()


def test_dlpack() -> None:
    made = images().tensors[0]

    class Foreign:
        dtype = "bfloat16"

        def __dlpack__(self, **options: Any) -> Any:
            return made.__dlpack__(**options)

        def __dlpack_device__(self) -> tuple[int, int]:
            return made.__dlpack_device__()

    view = as_tensor(Foreign())
    assert view.dtype is bfloat16
    assert np.shares_memory(np.asarray(view), np.asarray(made))
    assert bits(view).tolist() == bits(made).tolist()
    with pytest.raises((BufferError, RuntimeError)):
        np.from_dlpack(made)  # it knows no bfloat16


def test_torch() -> None:
    torch = pytest.importorskip("torch")
    made = images().tensors[0]
    for theirs in (made.torch(), torch.from_dlpack(made)):
        assert theirs.dtype is torch.bfloat16
        assert theirs.data_ptr() == np.asarray(made).ctypes.data
        assert theirs.float().tolist() == np.asarray(made).astype(np.float32).tolist()
    back = as_tensor(made.torch())
    assert back.dtype is bfloat16
    assert bits(back).tolist() == bits(made).tolist()
    padded = batch([[1.0], [2.0, 3.0]], dtype=torch.bfloat16).torch(pad=True)
    assert padded.tolist() == [[1, 0], [2, 3]]


def test_outputs_of_pipelines() -> None:
    source = batch([[1.5, -2.0], [0.0, 3.0], [4.0, 5.0], [6.0, 7.0]], dtype=bfloat16)

    @pipeline_def(batch_size=4, num_threads=1, enable_conditionals=True)
    def pipeline() -> Any:
        x = fn.external_source(source=iter([source, source]))
        if fn.random.coin_flip(seed=1) == 1:
            y = fn.copy(x)
        else:
            y = x
        return x, y, x.shape(), fn.get_property(x, key="layout")

    x, y, shape, _ = pipeline().run()
    for made in (x, y):
        assert np.array_equal(bits(made.as_array()), bits(source))
        assert "values=[[1.5, -2]" in repr(made)
    assert np.array_equal(bits(x.as_tensor()), bits(source))
    assert bits(as_tensor(x[0])).tolist() == bits(source.tensors[0]).tolist()
    assert np.asarray(x[0]).dtype == ml_dtypes.bfloat16
    assert np.asarray(gradiva.cast(x[0], dtype="float32")).tolist() == [1.5, -2.0]
    assert np.asarray(shape.as_array()).tolist() == [[2]] * 4
