"""Names that operators outside of gradiva may use still, though they are others now."""

from __future__ import annotations

from typing import Any

import numpy as np

import gradiva
from gradiva import extension
from gradiva.eager.operators.call import Call
from gradiva.eager.operators.operator import operators
from gradiva.eager.runtime.worker_pool import WorkerPool


def test_a_batch_knows_its_shape_by_its_older_name() -> None:
    batch = gradiva.batch([np.zeros((2, 3)), np.ones((4, 5))])
    assert batch.geometry is batch.batch_shape
    assert batch.geometry.shapes.tolist() == [[2, 3], [4, 5]]
    assert extension.Geometry is extension.BatchShape
    assert isinstance(batch.geometry, extension.Geometry)


def test_lazy_batches_do() -> None:
    with gradiva.EvalMode.deferred:
        lazy: Any = gradiva.flip(gradiva.batch([np.zeros((2, 3, 1), np.uint8)]))
        assert lazy.geometry.shapes.tolist() == [[2, 3, 1]]


def test_calls_do() -> None:
    call = Call(operators["flip"], (), {}, 1, WorkerPool(1))
    call.batch_shapes = (extension.BatchShape.equal(1, (2,)),)
    assert call.geometries is call.batch_shapes
