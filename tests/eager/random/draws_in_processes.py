"""Programs for test_rng_processes.py: each runs in a fresh interpreter and prints what it drew.

`python -m tests.eager.random.draws_in_processes NAME ...`; the result is one line of JSON.
"""

from __future__ import annotations

import importlib
import json
import multiprocessing
import os
import sys
import threading
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

import gradiva
from gradiva.random import RNG, get_default_rng, set_seed, uniform

COUNT = 3


def draws(count: int = COUNT, **options: Any) -> list[float]:
    """What the next calls draw."""
    return [float(uniform(range=(0.0, 1.0), **options)) for _ in range(count)]


def in_child(work: Callable[[], Any]) -> Any:
    """What `work` returns in a child of a fork, as plain data."""
    ours, theirs = os.pipe()
    pid = os.fork()
    if not pid:
        code = 1
        try:
            os.write(theirs, json.dumps(work()).encode())
            code = 0
        finally:
            os._exit(code)
    os.close(theirs)
    with os.fdopen(ours) as stream:
        text = stream.read()
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, text
    return json.loads(text)


def worker(number: int, seed: int) -> None:
    """Make this process a worker of a DataLoader, as far as anybody can see."""
    sys.modules["torch.utils.data"].info = SimpleNamespace(id=number, seed=seed)  # type: ignore[attr-defined]


def stand_in() -> None:
    """A module in place of torch's that says which worker this is."""
    module: Any = ModuleType("torch.utils.data")
    module.info = None
    module.get_worker_info = lambda: module.info
    sys.modules["torch.utils.data"] = module


def forks() -> Any:
    """Children, their children, and the parent, from a seed on."""

    def family() -> Any:
        return [draws(), in_child(draws), draws(), in_child(draws)]

    set_seed(7)
    before = draws()
    first, second = in_child(family), in_child(family)
    after = draws()
    set_seed(7)
    plain = draws()
    again = in_child(family), in_child(family)
    plain += draws()
    set_seed(8)
    other = in_child(draws)
    set_seed(7)
    early = in_child(draws)
    return {
        "families": [first, second],
        "again": again,
        "parent": before + after,
        "plain": plain,
        "other seed": other,
        "earlier in the parent": early,
    }


def _in_a_pool(_: int) -> list[float]:
    return draws(1)


def _to_queue(queue: Any) -> None:
    queue.put(draws())


def processes() -> Any:
    """Processes of multiprocessing that are forked."""
    context = multiprocessing.get_context("fork")
    set_seed(7)
    found = []
    for _ in range(2):
        queue = context.SimpleQueue()
        process = context.Process(target=_to_queue, args=(queue,))
        process.start()
        found.append(queue.get())
        process.join()
    with context.Pool(2) as pool:
        pooled = pool.map(_in_a_pool, range(8), chunksize=1)
    return {"processes": found, "pool": pooled}


def _piped() -> list[float]:
    """Random values of a pipeline that was given no seed."""
    pipe = gradiva.Pipeline(batch_size=2, num_threads=1)
    with pipe:
        pipe.set_outputs(gradiva.fn.random.uniform())
    values = [float(one) for one in pipe.run()[0]]
    pipe.close()
    return values


def kept() -> Any:
    """What is as it was in the child: what the user made, seeds of orders, what is set there."""
    set_seed(7)
    rng = RNG(5)
    expected = draws(rng=rng.clone())

    def child() -> Any:
        drawn = draws()
        state = get_default_rng().get_state()
        following = draws()
        again = draws(rng=RNG(state=state))
        reader = gradiva.readers.File(files=[f"{n}.jpg" for n in range(20)], random_shuffle=True)
        order = reader._source.get_state()
        piped = _piped()
        set_seed(7)
        return [draws(rng=rng), drawn, following, again, order, piped, draws()]

    reader = gradiva.readers.File(files=[f"{n}.jpg" for n in range(20)], random_shuffle=True)
    order = json.loads(json.dumps(reader._source.get_state()))
    found = in_child(child)
    return {
        "explicit": expected,
        "order": order,
        "child": found,
        "parent": draws(),
        "piped": _piped(),
    }


def workers() -> Any:
    """Workers of a DataLoader that were forked: two epochs of two."""
    stand_in()
    set_seed(7)

    def of(number: int, seed: int, initialize: bool = False) -> Any:
        def child() -> Any:
            if initialize:
                draws(1)
            worker(number, seed)
            if initialize:
                set_seed(3)
            first = draws()
            grandchild = in_child(draws)
            return [first, draws(), grandchild, get_default_rng().seed]

        return in_child(child)

    epochs = [[of(number, base + number) for number in range(2)] for base in (1000, 2000)]
    again = of(1, 2001)
    initialized = of(1, 2001, True)
    set_seed(2001)
    return {"epochs": epochs, "again": again, "initialized": initialized, "by seed": draws()}


def threads() -> Any:
    """Forks while other threads draw: no child waits for a thread that it does not have."""
    set_seed(7)
    running = threading.Event()
    running.set()

    def draw() -> None:
        while running.is_set():
            get_default_rng().draw()

    users = [threading.Thread(target=draw) for _ in range(2)]
    for user in users:
        user.start()
    # Only numbers are drawn: kernels have locks of their own.
    found = [in_child(lambda: get_default_rng().draw().seed) for _ in range(50)]
    running.clear()
    for user in users:
        user.join()
    return found


def _number(_: Any) -> Any:
    return np.float32(draws(1)[0])


def sources() -> Any:
    """Workers of an external source begin with copies of the generator."""
    set_seed(7)
    alone = in_child(draws)
    set_seed(7)
    expected = draws(6)
    set_seed(7)
    pipe = gradiva.Pipeline(batch_size=2, num_threads=1, py_num_workers=1)
    with pipe:
        pipe.set_outputs(gradiva.fn.external_source(_number, parallel=True, batch=False))
    found = [[float(one) for one in pipe.run()[0]] for _ in range(3)]
    pipe.close()
    after = in_child(draws)
    return {"expected": expected, "found": found, "first child": alone, "after it": after}


class Samples:
    """A data set whose samples are random; it seeds itself where it is unpickled."""

    def __init__(self, seed: int | None = None) -> None:
        self.seed = seed

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ = state
        if self.seed is not None:
            set_seed(self.seed)

    def __len__(self) -> int:
        return 8

    def __getitem__(self, _: int) -> list[Any]:
        reader = gradiva.readers.File(files=["a.jpg"], random_shuffle=True)
        info = sys.modules["torch.utils.data"].get_worker_info()
        return [info.id, draws(1)[0], reader.get_state()]


def _as_it_is(samples: Any) -> Any:
    return samples


def _seed_five(_: int) -> None:
    set_seed(5)


def loaders(method: str) -> Any:
    """What the workers of torch's DataLoader draw, in two epochs of two workers. Workers that are
    no forks take long to start: they show less."""
    torch: Any = importlib.import_module("torch")

    def epochs(samples: Samples, **options: Any) -> Any:
        torch.manual_seed(6)
        loader = torch.utils.data.DataLoader(
            samples,
            batch_size=2,
            num_workers=2,
            multiprocessing_context=method,
            collate_fn=_as_it_is,
            **options,
        )
        return [[sample for batch in loader for sample in batch] for _ in range(2)]

    set_seed(3)
    if method == "spawn":
        return {"plain": epochs(Samples())}
    if method == "forkserver":
        return {"seeded": epochs(Samples(4))}
    return {
        "plain": epochs(Samples()),
        "seeded": epochs(Samples(4)),
        "persistent": epochs(Samples(), persistent_workers=True),
        "initialized": epochs(Samples(), worker_init_fn=_seed_five),
    }


if __name__ == "__main__":
    print(json.dumps(globals()[sys.argv[1]](*sys.argv[2:])))
