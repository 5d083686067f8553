"""Values that no machine can serve: one of our errors, at once, and never one of NumPy's."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import OperatorRuntimeError, OperatorValueError

IMAGE = gradiva.tensor(np.ones((4, 4, 3), np.uint8), layout="HWC")
# A hundred terabytes, of one byte.
ENDLESS = np.broadcast_to(np.uint8(1), (10**7, 10**7, 1))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: gradiva.zeros(shape=[1] * 100), "too many axes; expected at most 31"),
        (lambda: gradiva.expand_dims(IMAGE, axes=list(range(70))), "too many axes"),
        (lambda: gradiva.as_batch(np.ones((3, *[1] * 32))), "too many axes"),
        (lambda: gradiva.flip(ENDLESS), "not enough memory|too large"),
        (lambda: gradiva.batch([ENDLESS]), "not enough memory|too large"),
        (lambda: gradiva.tensor(ENDLESS), "not enough memory|too large"),
    ],
)
def test_arguments(call: Callable[[], Any], words: str) -> None:
    with pytest.raises((OperatorValueError, OperatorRuntimeError), match=words):
        call()


def npy(shape: bytes) -> Any:
    """An npy file whose header says this shape, and which holds nothing."""
    head = b"{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + b"}"
    head += b" " * (63 - (10 + len(head)) % 64) + b"\n"
    file = io.BytesIO()
    file.write(b"\x93NUMPY\1\0" + len(head).to_bytes(2, "little") + head)
    return np.frombuffer(file.getvalue(), np.uint8)


@pytest.mark.parametrize(
    "shape",
    [
        b"(%d, 0)" % 2**63,
        b"(%d, 0)" % 10**30,
        b"(0x" + b"f" * 5000 + b",)",
        b"(" + b"1," * 100 + b")",
        b"(" + b"1," * 20_000 + b")",
        b"(%d, %d)" % (2**62, 2**62),
        b"(-1,)",
        b"(1e3,)",
    ],
)
def test_npy_headers(shape: bytes) -> None:
    with pytest.raises(OperatorRuntimeError, match=r"npy file|too large") as caught:
        gradiva.decoders.numpy(gradiva.batch([npy(b"(0,)"), npy(shape)]))
    assert caught.value.sample == 1
    assert len(str(caught.value)) < 1000


def test_a_value_beyond_the_range_of_a_dtype() -> None:
    """NumPy's warnings are errors in these tests."""
    file = io.BytesIO()
    np.save(file, np.array([1e300, -1e300, 2.0]))
    data = np.frombuffer(file.getvalue(), np.uint8)
    found = gradiva.decoders.numpy(data, dtype=gradiva.float32)
    assert np.asarray(found).tolist() == [np.inf, -np.inf, 2.0]
