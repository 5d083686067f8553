"""The pool of worker processes of a pipeline: its sources, its start and its end."""

from __future__ import annotations

import atexit
import os
import pickle
import socket
import time
from typing import Any

import numpy as np

from gradiva.eager.support.environment import number_between, variable
from gradiva.eager.support.errors import GradivaError, OperatorRuntimeError, OperatorValueError
from gradiva.eager.support.shared_state import LiveObjects

from .dispatcher import Dispatcher
from .launcher import Launcher, as_start_method
from .shared_memory import Segment
from .tasks import Slots
from .worker import Work
from .worker_handle import WorkerHandle

_BYTE = np.dtype(np.uint8)
_TIMEOUT = 600.0


class ProcessPool(Dispatcher):
    """`count` processes that do tasks. Make it, `add` sources, `start`; then `submit` and `wait`.

    method: "fork", "spawn" or "forkserver". timeout: seconds that one call of a user's callable
    may take; by default what GRADIVA_WORKER_TIMEOUT says (0: as long as it takes), or 600.
    pickler: see `pickled`. A count of 0 has no processes: sources then work in the caller's thread.
    """

    def __init__(
        self, count: int, method: str = "fork", timeout: float | None = None, pickler: Any = None
    ) -> None:
        if isinstance(count, bool) or not isinstance(count, int) or count < 0:
            raise OperatorValueError(
                operator="Pipeline",
                argument="py_num_workers",
                expected="a number of processes, 0 for none",
                got=repr(count),
            )
        self.count = count
        self.method = as_start_method(method)
        self.pickler = pickler
        super().__init__(_timeout_from_environment() if timeout is None else timeout)
        self._works: list[Work] = []
        self._upfront: list[int] = []
        self._process = os.getpid()
        _pools.add(self)

    def add(self, work: Work, pinned: bool, samples: int, slots: int, hint: int | None) -> int:
        """Make a source known before the start; its number.

        pinned: it has a state, and stays with one worker. samples: most samples of a task. slots:
        how many tasks are under way at most. hint: bytes of a sample.
        """
        number = len(self._works)
        self._works.append(work)
        self._slots.append(Slots(samples, hint))
        self._upfront.append(slots)
        if pinned:
            self._pinned[number] = len(self._pinned)
        return number

    def start(self) -> None:
        """Start the workers, if there is a source for them. No thread is started yet.

        Raises OperatorRuntimeError if the system refuses processes or memory.
        """
        if self._closed:
            raise OperatorRuntimeError("the worker processes of this pipeline were ended")
        if not self._works or self._launcher is not None:
            return
        if not hasattr(socket, "SCM_RIGHTS"):
            raise OperatorRuntimeError(
                "worker processes share memory in a way that this system does not have; without "
                "`parallel=True` the callbacks run in threads"
            )
        callables = len(self._works) - len(self._pinned)
        count = self.count if callables else min(self.count, len(self._pinned))
        try:
            if self.method != "fork":
                data = pickle.dumps(self._works)
                self._payload = len(data), Segment(len(data))
                self._payload[1].array(_BYTE, (len(data),))[:] = memoryview(data)
            self._launcher = Launcher(self.method, self._works)
            self._wake, self._woken = socket.socketpair()
            self._wake.setblocking(False)
            self._woken.setblocking(False)
            self._workers = [WorkerHandle() for _ in range(count)]
            for worker in self._workers:
                worker.start(self._launcher, self._payload)
            for slots, most in zip(self._slots, self._upfront, strict=True):
                taken = [slots.take(self._numbers) for _ in range(most)]
                for slot in taken:
                    slots.give_back(slot)
        except GradivaError:
            self.close()
            raise
        except OSError as error:
            self.close()
            raise OperatorRuntimeError(f"worker processes cannot be started: {error}") from None

    @property
    def pids(self) -> list[int]:
        """Process ids of the workers."""
        with self._changed:
            return [worker.pid for worker in self._workers if worker.process is not None]

    def statistics(self) -> dict[str, list[int]]:
        """The bytes of each piece of shared memory, in all and per sample."""
        with self._changed:
            slots = [slot for source in self._slots for slot in source.all]
            sizes = [slot.segment.nbytes for slot in slots]
            each = [size // slot.samples for size, slot in zip(sizes, slots, strict=True)]
        return {"capacities": sizes, "per_sample_capacities": each}

    def close(self) -> None:
        """Stop the workers, and free the memory. Waiting callers get an error."""
        if self._process != os.getpid():
            return
        with self._changed:
            if self._closed:
                return  # also if another thread is doing it
            self._closed = True
            self._changed.notify_all()
        self._wake_thread()
        if self._thread is not None:
            self._thread.join(5.0)
        self._clean_up()

    def _clean_up(self) -> None:
        with self._changed:
            if self._clean:
                return
            self._clean = True
        for worker in self._workers:
            worker.stop()
        until = time.monotonic() + 1.0
        for worker in self._workers:
            worker.join(until)
        if self._launcher is not None:
            self._launcher.close()
        for slots in self._slots:
            slots.close()
        if self._payload is not None:
            self._payload[1].close()
        for end in (self._wake, self._woken):
            if end is not None:
                end.close()


def _timeout_from_environment() -> float | None:
    seconds = variable(
        "WORKER_TIMEOUT",
        number_between(0, 1e9),
        "a number of seconds, 0 for no limit",
        ("GRADIVA_",),
    )
    return _TIMEOUT if seconds is None else seconds or None


_pools: LiveObjects[ProcessPool] = LiveObjects()


@atexit.register
def _close_all() -> None:
    for pool in _pools.members():
        pool.close()
