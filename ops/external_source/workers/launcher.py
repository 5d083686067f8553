"""Starts a worker process, by any start method, and finds out how it ended."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import socket
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from gradiva.eager.support.errors import (
    GradivaError,
    OperatorRuntimeError,
    OperatorTypeError,
    wrong_type,
    wrong_value,
)

from . import by_value
from .fork_hygiene import close_in_forks
from .fork_server import ForkServer
from .worker import Work, flush_all, spawned

__all__ = ["METHODS", "Launcher", "Process", "as_start_method", "how_it_ended", "pickled"]

METHODS = ("fork", "spawn", "forkserver")


class Process:
    """A worker process, and the main process's end of its connection."""

    def __init__(self, pid: int, connection: socket.socket, keeper: Any) -> None:
        self.pid = pid
        self.connection = connection
        self._keeper = keeper
        self._status: int | None = None
        connection.setblocking(False)
        close_in_forks(connection)

    def status(self) -> int | None:
        """The exit code, or minus the signal, of a process that is ending; None if unknown."""
        if self._status is None:
            try:
                if isinstance(self._keeper, ForkServer):
                    self._status = self._keeper.status(self.pid)
                else:
                    self._keeper.join(0.5)
                    if self._keeper.is_alive():
                        self._keeper.kill()
                        self._keeper.join(1.0)
                    self._status = self._keeper.exitcode
            except (OSError, GradivaError):
                return None
        return self._status

    def kill(self) -> None:
        """Kill it."""
        if self._status is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)


class Launcher:
    """Starts workers. Raises OperatorRuntimeError if the system refuses."""

    def __init__(self, method: str, works: Sequence[Work]) -> None:
        if method != "fork" and multiprocessing.current_process().daemon:
            # Like the workers of PyTorch's DataLoader and of multiprocessing's pools.
            raise OperatorRuntimeError(
                "a daemon process may not start worker processes with "
                f"py_start_method={method!r}: make this process with daemon=False, or set "
                "py_start_method='fork', or call the source in this process (parallel=False)"
            )
        self._method = method
        self._works = works
        self._fork_server: ForkServer | None = None
        if method == "fork":
            try:
                self._fork_server = ForkServer(works)
            except OSError as error:
                raise _cannot_start(error) from None

    def start(self) -> Process:
        """A new worker, which has not loaded its sources yet."""
        try:
            ours, theirs = socket.socketpair()
        except OSError as error:
            raise _cannot_start(error) from None
        close_in_forks(theirs)  # a fork in another thread must not keep a copy
        try:
            if self._method == "fork":
                return self._fork(ours, theirs)
            context: Any = multiprocessing.get_context(self._method)
            # The system kills a forked child when the thread that made it ends, so only the main
            # thread may ask for that. A fork server has one thread.
            by_main = threading.current_thread() is threading.main_thread()
            parent = os.getpid() if by_main and self._method == "spawn" else None
            process = context.Process(
                target=spawned, args=(theirs, parent), name="gradiva-worker", daemon=True
            )
            process.start()
            return Process(process.pid, ours, process)
        except OSError as error:
            ours.close()
            raise _cannot_start(error) from None
        finally:
            theirs.close()

    def _fork(self, ours: socket.socket, theirs: socket.socket) -> Process:
        assert self._fork_server is not None
        try:
            pid = self._fork_server.fork(theirs)
        except OSError:
            # It was killed. Its copy of the sources is lost, but ours is equal.
            self._fork_server.close()
            flush_all()
            self._fork_server = ForkServer(self._works)
            pid = self._fork_server.fork(theirs)
        return Process(pid, ours, self._fork_server)

    def close(self) -> None:
        if self._fork_server is not None:
            self._fork_server.close()


def _cannot_start(error: OSError) -> OperatorRuntimeError:
    return OperatorRuntimeError(f"a worker process cannot be started: {error}")


def how_it_ended(status: int | None) -> str:
    """A description of an exit code."""
    if status is None:
        return "ended"
    if status >= 0:
        return f"ended with exit code {status}"
    try:
        return f"was killed by signal {-status} ({signal.Signals(-status).name})"
    except ValueError:
        return f"was killed by signal {-status}"


def pickled(source: Any, method: str, pickler: Any, name: str) -> bytes:
    """The user's object as bytes, for a worker that does not inherit it.

    pickler: None for Python's own, with the code of functions that workers cannot import; or an
    object with `dumps` and `loads`; or a tuple of it and of keyword arguments for both. Raises
    OperatorTypeError that names the object.
    """
    dumps, loads, to_dump, to_load = as_pickler(by_value if pickler is None else pickler)
    try:
        return pickle.dumps((loads, to_load, dumps(source, **to_dump)))
    except Exception as error:
        raise OperatorTypeError(
            f"the source {name} cannot be sent to worker processes, because it cannot be pickled "
            f"({type(error).__name__}: {error}); with py_start_method={method!r} it must be a "
            "function, or an object of a class at the top of a module; otherwise use "
            "py_start_method='fork', or a py_callback_pickler such as cloudpickle",
            argument="source",
        ) from error


def as_pickler(pickler: Any) -> tuple[Any, Any, dict[str, Any], dict[str, Any]]:
    """`dumps`, `loads` and their keyword arguments. Raises OperatorTypeError."""
    parts = pickler if isinstance(pickler, tuple) else (pickler,)
    if not 1 <= len(parts) <= 3 or not all(
        callable(getattr(parts[0], name, None)) for name in ("dumps", "loads")
    ):
        raise wrong_type(
            "py_callback_pickler",
            "a module with dumps and loads, or a tuple of it and their keyword arguments",
            repr(pickler),
            operator="Pipeline",
        )
    to_dump, to_load = (*(part or {} for part in parts[1:]), {}, {})[:2]
    return parts[0].dumps, parts[0].loads, dict(to_dump), dict(to_load)


def as_start_method(method: Any) -> str:
    """Raises OperatorValueError for an unknown start method."""
    if method not in METHODS or method not in multiprocessing.get_all_start_methods():
        raise wrong_value(
            "py_start_method", "'fork', 'spawn' or 'forkserver'", repr(method), operator="Pipeline"
        )
    return str(method)
