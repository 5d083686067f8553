"""Requests: the data of one client, and the batch that several of them become."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

import numpy as np

from gradiva.eager.support.errors import GradivaError, OperatorTypeError
from gradiva.eager.types.provenance import Provenance
from gradiva.eager.values.batch import Batch, batch_on
from gradiva.eager.values.tensor import Tensor, tensor_on

__all__ = ["Request", "RequestFuture", "as_samples", "batches_of"]


class RequestFuture(Future[Any]):
    """The future of a request; a request that is canceled leaves the queue at once.

    withdraw: called once if the future was canceled. It must not keep the batcher alive.
    """

    def __init__(self, withdraw: Callable[[], object]) -> None:
        super().__init__()
        self._withdraw = withdraw

    def cancel(self) -> bool:
        before = self.cancelled()
        done = super().cancel()
        if done and not before:
            self._withdraw()
        return done

    def fail_after_fork(self, error: BaseException) -> None:
        """Fail in the child of a fork, where another thread may hold the locks for ever."""
        Future.__init__(self)
        self.set_exception(error)


class Request:
    """One sample for each input of the function, and the future of its result.

    number: counted from 0, the position of its samples. kind: the types of its samples; requests of
    one kind can be in one batch. arrived: when; deadline: when it must be done, in the time of the
    engine; deadline_ms: as it was given; predicted: the seconds that it takes by the times of
    batches alone, None if they are not known. admitted: set when a request for which there was no
    place is in the queue; None where nobody waits for that. counted: whether its end is in the
    counts; a client may give up while its batch is answered.
    """

    __slots__ = (
        *("admitted", "arrived", "counted", "deadline", "deadline_ms", "future", "kind"),
        *("number", "predicted", "samples"),
    )

    def __init__(
        self,
        number: int,
        samples: tuple[Tensor, ...],
        future: RequestFuture,
        arrived: float,
        deadline_ms: float | None,
        predicted: float | None = None,
    ) -> None:
        self.number = number
        self.samples = samples
        self.future = future
        self.arrived = arrived
        self.deadline_ms = deadline_ms
        self.predicted = predicted
        self.deadline = None if deadline_ms is None else arrived + deadline_ms / 1e3
        self.kind = tuple(sample.type for sample in samples)
        self.admitted: threading.Event | None = None
        self.counted = False


def as_samples(data: Sequence[Any]) -> tuple[Tensor, ...]:
    """What a client gives as the samples of a request. Raises OperatorTypeError and
    OperatorValueError."""
    if not data:
        raise OperatorTypeError(expected="a sample for each input of the function", got="nothing")
    found = []
    for number, value in enumerate(data):
        if hasattr(value, "batch_size"):
            raise OperatorTypeError(
                f"input {number}: a request is one sample",
                expected="a Tensor, an array or bytes",
                got=f"a {type(value).__name__}",
            )
        try:
            found.append(tensor_on(value))
        except GradivaError as error:
            error.problem = f"input {number}: {error.problem}".removesuffix(": ")
            raise
    return tuple(found)


def batches_of(requests: Sequence[Request]) -> list[Batch]:
    """A batch for each input, whose samples have the numbers of the requests as positions."""
    positions = np.array([request.number for request in requests], np.int64)
    made = []
    for samples in zip(*(request.samples for request in requests), strict=True):
        batch = batch_on(samples)
        names = None if batch.provenance is None else batch.provenance.names
        where = Provenance(positions, names)
        made.append(Batch.over(batch.data, batch.batch_shape, batch.type, where, batch.drawn_at))
    return made
