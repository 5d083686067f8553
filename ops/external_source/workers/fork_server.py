"""`ForkServer`: a copy of the main process, made before its threads start, that forks the workers.

A fork copies one thread only, and a lock that another thread has held stays locked in the child.
This would happen to a worker that is restarted during a run. The fork server has one thread and
never runs the user's code: so it can fork at any time, and it knows how its children ended.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
import warnings
from collections.abc import Sequence
from typing import Any

from gradiva.eager.random.default_generator import copied_in_forks
from gradiva.eager.support.errors import OperatorRuntimeError

from .channel import MessageKind, Stream, send
from .fork_hygiene import close_in_forks, die_with_parent
from .worker import Work, flush_all, serve

_PATIENCE = 2.0  # seconds for an answer of the fork server, which has nothing else to do
_TRIES = 200


class ForkServer:
    """The side of the main process. Its methods raise OSError if the fork server has ended; the
    constructor raises it if the system refuses to fork."""

    def __init__(self, works: Sequence[Work]) -> None:
        self._connection, theirs = socket.socketpair()
        self._stream = Stream(self._connection)
        self._lock = threading.Lock()
        close_in_forks(self._connection)
        flush_all()
        by_main_thread = threading.current_thread() is threading.main_thread()
        parent = os.getpid()
        with warnings.catch_warnings():
            # Said of threads of other libraries: that is what "fork" means, and why there is
            # "spawn". None of this pipeline's has been started.
            warnings.simplefilter("ignore", DeprecationWarning)
            try:
                with copied_in_forks():
                    self.pid = os.fork()
            except OSError:
                self._connection.close()
                theirs.close()
                raise
        if self.pid == 0:
            try:
                # The system kills a child when the *thread* that forked it ends.
                if by_main_thread:
                    die_with_parent(parent)
                self._connection.close()
                _serve(theirs, works)
            finally:
                os._exit(1)
        theirs.close()
        self._connection.settimeout(_PATIENCE)

    def fork(self, connection: socket.socket) -> int:
        """Start a worker with this end of a connection. Returns its process id."""
        return int(self._ask(MessageKind.FORK, {}, [connection.fileno()])["pid"])

    def status(self, pid: int) -> int:
        """The exit code of a worker that has ended, or minus its signal. A worker that is still
        running is killed."""
        return int(self._ask(MessageKind.STATUS, {"pid": pid}, [])["code"])

    def _ask(self, kind: MessageKind, message: dict[str, Any], fds: list[int]) -> dict[str, Any]:
        with self._lock:
            send(self._connection, kind, message, fds)
            answer = self._stream.next()
        if answer is None:
            raise ConnectionResetError("the process that forks the workers has ended")
        if "why" in answer[1]:
            raise OperatorRuntimeError(f"a worker process cannot be forked: {answer[1]['why']}")
        return answer[1]

    def close(self) -> None:
        """Stop the fork server and all its children."""
        self._connection.close()
        for attempt in range(_TRIES):
            try:
                if os.waitpid(self.pid, os.WNOHANG)[0]:
                    return
            except ChildProcessError:
                return
            if attempt == _TRIES // 2:
                os.kill(self.pid, signal.SIGKILL)
            time.sleep(0.01)


def _serve(connection: socket.socket, works: Sequence[Work]) -> None:
    """The main function of the fork server."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    stream = Stream(connection)
    children: set[int] = set()
    while (received := stream.next()) is not None:
        kind, message, fds = received
        answer: dict[str, Any]
        if kind == MessageKind.FORK:
            try:
                answer = {"pid": _fork(connection, fds[0], works)}
                children.add(answer["pid"])
            except OSError as error:
                answer = {"why": str(error)}
            os.close(fds[0])
        else:
            children.discard(message["pid"])
            answer = {"code": _ended(message["pid"])}
        send(connection, MessageKind.ANSWER, answer)
    for pid in children:
        os.kill(pid, signal.SIGKILL)
    for pid in children:
        os.waitpid(pid, 0)
    os._exit(0)


def _fork(connection: socket.socket, fd: int, works: Sequence[Work]) -> int:
    parent = os.getpid()
    with copied_in_forks():
        pid = os.fork()
    if pid:
        return pid
    try:
        die_with_parent(parent)
        connection.close()
        serve(socket.socket(fileno=fd), works)
        os._exit(0)
    finally:
        os._exit(1)


def _ended(pid: int) -> int:
    for _ in range(50):
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
