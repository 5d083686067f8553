"""Samples of more than 2**31 elements along an axis, in a file with a hole: no memory is needed."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import fn

LONG = (1 << 31) + 1000


@pytest.fixture
def sample() -> Iterator[Any]:
    with tempfile.TemporaryFile() as file:
        file.truncate(LONG)
        values = np.memmap(file, np.uint8, "r+", shape=(LONG,))
        values[:3], values[-5:] = [7, 8, 9], [1, 2, 3, 4, 5]
        yield gradiva.as_tensor(values)


@pytest.mark.full
def test_slice(sample: Any) -> None:
    def cut(*inputs: Any, **options: Any) -> list[int]:
        found: list[int] = np.asarray(fn.slice(sample, *inputs, axes=[0], **options)).tolist()
        return found

    last = LONG - 5
    assert cut(start=[last]) == [1, 2, 3, 4, 5]
    assert cut(start=[last], shape=[2]) == [1, 2]
    assert cut(start=[0], end=[3]) == [7, 8, 9]
    assert cut(rel_start=[0.0], shape=[3]) == [7, 8, 9]
    assert cut(np.array([last + 1]), np.array([3])) == [2, 3, 4]
    outside: dict[str, Any] = {"start": [LONG - 2], "shape": [4]}
    assert cut(**outside, out_of_bounds_policy="pad") == [4, 5, 0, 0]
    assert cut(**outside, out_of_bounds_policy="trim_to_shape") == [4, 5]
    for far in (1 << 40, -(1 << 40)):
        with pytest.raises(gradiva.OperatorValueError, match="no pixels"):
            cut(start=[far], shape=[1])
    assert np.asarray(sample[last:]).tolist() == [1, 2, 3, 4, 5]
