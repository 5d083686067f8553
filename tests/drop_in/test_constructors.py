"""`Tensor(...)` and `Batch(...)`, as scripts of dynamic mode call them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import Batch, Tensor

ARRAY = np.arange(6, dtype=np.float32).reshape(2, 3)


def test_a_tensor() -> None:
    made = Tensor([[1, 2], [3, 4]], dtype=gradiva.float32, device="cpu", layout="HW")
    assert type(made) is Tensor
    assert (made.dtype, made.layout, made.shape) == (gradiva.float32, "HW", (2, 2))
    assert Tensor(ARRAY, "int16", "cpu", "HW").dtype == gradiva.int16
    assert np.asarray(Tensor(made)).tolist() == [[1, 2], [3, 4]]
    assert Tensor(made).layout == "HW"


def test_a_batch() -> None:
    made = Batch([[1, 2], [3]], dtype="uint8", device="cpu", layout="W")
    assert type(made) is Batch
    assert (made.dtype, made.layout, made.shape) == (gradiva.uint8, "W", [(2,), (1,)])
    assert Batch(ARRAY).shape == [(3,), (3,)]
    assert Batch([gradiva.tensor(ARRAY)]).dtype == gradiva.float32
    assert Batch(made).shape == made.shape
    assert isinstance(gradiva.copy(made), Batch)


@pytest.mark.parametrize("kind", [Tensor, Batch])
def test_whose_memory(kind: Any) -> None:
    array = ARRAY.copy()
    shared, own = kind(array), kind(array, copy=True)
    array[0, 0] = 9
    assert np.asarray(shared)[0, 0] == 9
    assert np.asarray(own)[0, 0] == 0
    again, apart = kind(shared), kind(shared, copy=True)
    array[0, 0] = 5
    assert np.asarray(again)[0, 0] == 5
    assert np.asarray(apart)[0, 0] == 9


@pytest.mark.parametrize("kind", [Tensor, Batch])
def test_what_is_wrong(kind: Any) -> None:
    for wrong in ({"layout": "HWC"}, {"dtype": "nothing"}, {"device": "tpu"}):
        with pytest.raises((TypeError, ValueError), match=rf"^{kind.__name__}: ") as caught:
            kind(ARRAY, **wrong)
        assert __file__ in str(caught.value)


def test_capsules() -> None:
    array = ARRAY.copy()
    whole = gradiva.as_tensor(array.__dlpack__())
    samples = Batch([array.__dlpack__(), array[:1].copy().__dlpack__()])
    array[0, 0] = 7
    assert np.asarray(whole)[0, 0] == 7
    assert samples.shape == [(2, 3), (1, 3)]
    capsule: Any = array.__dlpack__()
    assert Batch(capsule, layout="W").shape == [(3,), (3,)]
    used = array.__dlpack__()
    gradiva.tensor(used)
    with pytest.raises(ValueError, match="that nobody has taken yet"):
        gradiva.tensor(used)
