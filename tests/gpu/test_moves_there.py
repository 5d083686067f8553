"""Operators that move elements from call to result, on a simulated GPU."""

from __future__ import annotations

import numpy as np
import pytest

import gradiva
from gradiva.eager.operators.operator import operators
from gradiva.eager.types.batch_shape import BatchShape
from gradiva.eager.values.batch import Batch

from .shim import COMPILER, NO_COMPILER
from .simulated import simulated

pytestmark = pytest.mark.skipif(COMPILER is None, reason=NO_COMPILER)

REST = (
    "box_encoder cast_like cat coord_transform copy element_extract erase expand_dims full "
    "grid_mask multi_paste per_frame sequence_rearrange shapes squeeze stack transpose zeros_like"
)


def require_equal_there(name: str) -> None:
    """The cases of an operator on a simulated GPU, from call to result."""
    operator = operators[name]
    for case in operator.case_maker():  # type: ignore[misc]
        if case.raises is None and case.inputs:
            moved = tuple(one.gpu() for one in case.inputs)
            ours, expected = (
                made if isinstance(made, tuple) else (made,)
                for made in (operator.bind(given, case.arguments) for given in (moved, case.inputs))
            )
            for one, other in zip(ours, expected, strict=True):
                assert one.device == gradiva.Device("gpu:0")
                for mine, its in zip(one.cpu().arrays(), other.arrays(), strict=True):
                    np.testing.assert_array_equal(mine, its, err_msg=f"{name}, {case.name}")


def test_on_a_simulated_gpu() -> None:
    """Values that shapes depend on are looked at in host memory; views look at places alone."""
    with simulated():
        for name in ("subscript", "slice", "reshape", "reinterpret", "permute_batch"):
            require_equal_there(name)
        there = gradiva.as_batch([np.arange(8, dtype=np.uint8)]).gpu()
        odd = BatchShape(np.array([[4], [2]]), np.array([1, 5]), 8, False, False, False)
        crooked = Batch.over(there.data, odd, there.type)
        pairs = gradiva.reinterpret(crooked, dtype=np.uint16)
        assert pairs.batch_shape.offsets.tolist() == [0, 64]
        for one, other in zip(pairs.cpu().arrays(), crooked.cpu().arrays(), strict=True):
            np.testing.assert_array_equal(one.view(np.uint8), other)


@pytest.mark.full
@pytest.mark.parametrize("name", REST.split())
def test_all_on_a_simulated_gpu(name: str) -> None:
    with simulated():
        require_equal_there(name)
