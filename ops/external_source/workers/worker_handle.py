"""`WorkerHandle`: a worker as seen by the main process: its process, its tasks and its replies."""

from __future__ import annotations

import multiprocessing.connection
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from gradiva.eager.support.errors import OperatorRuntimeError

from .channel import BrokenMessageError, MessageKind, Received, Stream, send
from .launcher import Launcher, Process
from .shared_memory import Segment
from .stacks import STACK_SIGNAL, stack_in
from .tasks import Task
from .worker import CONTROL

_PATIENCE = 5.0
"""The seconds in which a process that does not answer may write its stacks."""


class WorkerHandle:
    """A place in the pool. When its process ends, another one is started."""

    def __init__(self) -> None:
        self.process: Process | None = None
        self.tasks: list[Task] = []
        """Its tasks, in order; it runs the first one."""
        self.ready = False
        self.generation = 0
        """The number of processes so far. A source with a state is lost when its process ends."""
        self._stream: Stream | None = None
        self._control: Segment | None = None
        self._known: dict[int, int] = {}
        self._seen: tuple[int, int] = (-1, -1)
        self._looked = self._stuck = 0.0

    @property
    def pid(self) -> int:
        return self.process.pid if self.process else 0

    def start(self, launcher: Launcher, payload: tuple[int, Segment] | None) -> None:
        """Start a process. Raises OperatorRuntimeError."""
        control = Segment(CONTROL.itemsize)
        process = launcher.start()
        self.process, self._control, self._stream = process, control, Stream(process.connection)
        self._known, self.ready, self._seen = {}, False, (-1, -1)
        self.generation += 1
        try:
            if payload is None:
                send(process.connection, MessageKind.SETUP, {}, [control.fd])
            else:
                size, segment = payload
                send(
                    process.connection, MessageKind.SETUP, {"bytes": size}, [control.fd, segment.fd]
                )
        except OSError:
            pass  # it has ended already: the connection says so when it is read

    def position(self) -> tuple[int, int]:
        """(task, sample of the batch or -1) on which the process works."""
        assert self._control is not None
        at = self._control.array(CONTROL, (1,))[0]
        return int(at["task"]), int(at["sample"])

    def stuck_for(self, most: float) -> float:
        """Seconds since it last began a call, was given its first task or, before it was ready, was
        started. most: what counts of the time between two questions. A master that was stopped
        (Ctrl+Z) has not asked, and its workers were stopped with it."""
        now, before = time.monotonic(), self._looked
        self._looked = now
        if self.process is None or (self.ready and not self.tasks):
            self._seen = -1, -1
            return 0.0
        assert self._control is not None
        calls = int(self._control.array(CONTROL, (1,))[0]["calls"])
        seen = self.tasks[0].number if self.ready else -1, calls
        self._stuck = self._stuck + min(now - before, most) if seen == self._seen else 0.0
        self._seen = seen
        return self._stuck

    def assign(self, task: Task) -> None:
        """Send a task, with its slot. Raises OSError."""
        assert self.process is not None
        assert task.slot is not None
        slot, connection = task.slot, self.process.connection
        if self._known.get(slot.number) != slot.version:
            self._send_slot(task, asked=False)
        message = {
            "task": task.number,
            "source": task.source,
            "request": task.request,
            "slot": slot.number,
        }
        send(connection, MessageKind.TASK, message)
        task.pid = self.pid
        self.tasks.append(task)

    def _send_slot(self, task: Task, asked: bool) -> None:
        assert self.process is not None
        assert task.slot is not None
        slot = task.slot
        message = {"slot": slot.number, "bytes": slot.segment.nbytes, "asked": asked}
        send(self.process.connection, MessageKind.SLOT, message, [slot.segment.fd])
        self._known[slot.number] = slot.version

    def enlarge(self, message: dict[str, Any]) -> None:
        """The result of its first task needs a larger slot. Raises BrokenMessageError, OSError."""
        task, wanted = self._first(message), message.get("bytes")
        if type(wanted) is not int or wanted < 0 or task.slot is None:
            raise BrokenMessageError("a wrong size")
        try:
            task.slot.grow(wanted)
        except OperatorRuntimeError as error:
            assert self.process is not None
            send(self.process.connection, MessageKind.REFUSED, {"why": str(error)})
        else:
            self._send_slot(task, asked=True)

    def _first(self, message: dict[str, Any]) -> Task:
        if not self.tasks or message.get("task") != self.tasks[0].number:
            raise BrokenMessageError("about a task that it does not have")
        return self.tasks[0]

    def done(self, message: dict[str, Any]) -> Task:
        """Process the end of a task. Raises BrokenMessageError, BadReplyError."""
        task = self._first(message)
        task.finish(message.get("reply"), message.get("arrays"))
        return self.tasks.pop(0)

    def receive(self) -> bool:
        """Receive messages; False if the connection has ended."""
        assert self._stream is not None
        return self._stream.fill()

    def messages(self) -> Iterator[Received]:
        assert self._stream is not None
        return self._stream.messages()

    def end_with_stack(self) -> str:
        """Kill the process. Returns where it hung, or nothing if it did not write that."""
        assert self.process is not None
        assert self._control is not None
        with suppress(ProcessLookupError):
            os.kill(self.pid, STACK_SIGNAL)
        until = time.monotonic() + _PATIENCE
        while (left := until - time.monotonic()) > 0:
            ready = multiprocessing.connection.wait([self.process.connection], left)
            if ready and not self.receive():
                break  # what it wrote is whole
        self.process.kill()
        return stack_in(self._control)

    def detach(self) -> list[Task]:
        """The process has ended: reset the handle, and return the tasks of the process."""
        assert self.process is not None
        self.process.connection.close()
        self.process, self.tasks, tasks = None, [], self.tasks
        assert self._control is not None
        self._control.close()
        return tasks

    def stop(self) -> None:
        """Ask the process to stop."""
        if self.process is not None:
            with suppress(OSError):
                send(self.process.connection, MessageKind.STOP, {})

    def join(self, until: float) -> None:
        """Wait for its end; kill it when the time is over."""
        if self.process is None:
            return
        connection = self.process.connection
        try:
            while time.monotonic() < until:
                left = max(until - time.monotonic(), 0.0)
                if multiprocessing.connection.wait([connection], left) and not self.receive():
                    break
            else:
                self.process.kill()
        except (OSError, ValueError):
            self.process.kill()
        connection.close()
        self.process.status()
        self.detach()
