"""The default generator, and its state in the processes of one program.

A forked process begins with a copy of its parent's memory, so all children would draw the same
values. So the default generator of a forked process starts from a seed of its own: a function of
its parent's generator and of the number of processes that the parent has forked since it was
seeded. In a worker of torch's DataLoader it starts from the seed that torch gives the worker.
Generators that the user has made are copied unchanged. Values that all processes must share, the
order of shuffled readers and the values of pipelines, depend on the seed of the program.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from hashlib import blake2b
from operator import index
from typing import Any, SupportsIndex

from .generator import RNG, SEED_BITS
from .step import leave_loops


class DefaultRNG(RNG):
    """A generator that starts again in each process.

    inherited_seed: the value that `seed` was set to, here or before the fork; pipelines without a
    seed use it. shuffle_seed: the same for readers, so that the shards of several workers belong to
    one order; workers that were not forked, and whose generator was never seeded, get it from
    torch.
    """

    def __init__(self) -> None:
        super().__init__()
        self._inherited = self._shuffle = self._seed
        self._forks = 0
        self._unseeded = True
        self._worker: int | None = None
        self._parent: tuple[int, int] | None = None

    @property
    def inherited_seed(self) -> int:
        self._follow()
        return self._inherited

    @property
    def shuffle_seed(self) -> int:
        self._follow()
        return self._shuffle

    def set_state(self, value: Any) -> None:
        super().set_state(value)
        self._inherited = self._shuffle = self._seed
        self._forks, self._unseeded, self._parent = 0, False, None

    def _follow(self) -> None:
        """In a worker of a DataLoader, begin with its seed. A process knows only some time after
        its start that it is one, perhaps after it has set the same seeds as its parent."""
        info = _worker_info()
        if info is None:
            return
        seed = index(info.seed) & SEED_BITS
        if seed == self._worker:
            return
        with self._lock:
            if seed != self._worker:
                self._worker = self._seed = seed
                self._calls = self._forks = 0
                if self._unseeded:
                    self._shuffle = (seed - index(info.id)) & SEED_BITS

    def before_fork(self) -> None:
        """No thread may use it while it is copied."""
        self._follow()
        self._lock.acquire()

    def after_fork_in_parent(self) -> None:
        if not _copied.get():
            self._forks += 1
        self._lock.release()

    def after_fork_in_child(self) -> None:
        self._lock = threading.Lock()
        self._unseeded = False
        self._parent = self._seed, self._calls
        if not _copied.get():
            text = f"{self._seed} {self._calls} {self._forks}".encode()
            self._seed = int.from_bytes(blake2b(text, digest_size=8).digest(), "little")
            self._calls = self._forks = 0

    def be_as_parent(self) -> None:
        """Restore the state that the parent's generator had at the fork, if this process is a
        child."""
        with self._lock:
            if self._parent is not None:
                self._seed, self._calls = self._parent


def _worker_info() -> Any:
    """What torch knows about this process as a worker of a DataLoader; None if it is not one."""
    data = sys.modules.get("torch.utils.data")
    ask = None if data is None else getattr(data, "get_worker_info", None)
    return None if ask is None else ask()


_copied: ContextVar[bool] = ContextVar("gradiva_copied_in_forks", default=False)


@contextmanager
def copied_in_forks() -> Iterator[None]:
    """Forks in this block get a copy of the default generator, and are not counted."""
    token = _copied.set(True)
    try:
        yield
    finally:
        _copied.reset(token)


default = DefaultRNG()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=default.before_fork,
        after_in_parent=default.after_fork_in_parent,
        after_in_child=default.after_fork_in_child,
    )


def get_default_rng() -> RNG:
    """The generator that random operators use when no `rng` and no `seed` is given; one for all
    threads. A forked process, and each worker of a torch DataLoader, has one of its own."""
    return default


def set_seed(seed: SupportsIndex) -> None:
    """Restart the default generator, from `seed`. The calls that follow are outside of any loop
    that has begun before, up to its next batch: they do not depend on earlier calls.

    Raises OperatorTypeError.
    """
    default.seed = seed
    leave_loops()
