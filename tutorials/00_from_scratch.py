# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent}
# ---

# %% [markdown]
# # The idea, from scratch
#
# One sentence describes gradiva: *an operator is a Python function, and the current interpreter
# decides how it runs.* This page builds that idea with nothing but NumPy and the standard library:
# operators that run at once, the same calls recorded as a graph, a thread that prefetches batches,
# and random values that are the same in both cases. The library has the same parts, with checks and
# compiled kernels.

# %%
import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

# %% [markdown]
# ## Operators and the current interpreter
#
# An operator knows its name and how to compute. Calling it does not compute: it asks the
# current interpreter to *bind* the call. The eager interpreter computes at once.


# %%
@dataclass(frozen=True)
class Operator:
    name: str
    compute: Callable[..., Any]
    random: bool = False

    def __call__(self, *inputs: Any, **arguments: Any) -> Any:
        return interpreters[-1].bind(self, inputs, arguments)


class Eager:
    def bind(self, operator: Operator, inputs: tuple[Any, ...], arguments: dict[str, Any]) -> Any:
        if operator.random:
            arguments = {**arguments, "key": step.next_key()}
        return operator.compute(*inputs, **arguments)


interpreters: list[Any] = [Eager()]


@contextmanager
def interpreter(chosen: Any) -> Iterator[None]:
    interpreters.append(chosen)
    try:
        yield
    finally:
        interpreters.pop()


# %% [markdown]
# ## Randomness is a function, not a stream
#
# The values of an ordinary generator depend on who draws first. Here a value depends on a key:
# (seed, number of the call in its step, position of the sample). A step is one iteration of a loop,
# so nothing depends on the batch size or on prefetching.


# %%
class Step:
    """One turn of a loop over a source: the positions of its samples, and a count of calls."""

    def __init__(self, seed: int, positions: list[int]) -> None:
        self.seed, self.positions, self.calls = seed, positions, 0

    def next_key(self) -> tuple[int, int, list[int]]:
        self.calls += 1
        return self.seed, self.calls - 1, self.positions


step = Step(0, [])


def draw(seed: int, call: int, position: int) -> float:
    """A stand-in for a counter-based generator such as Philox."""
    return float(np.random.default_rng([seed, call, position]).uniform())


# %% [markdown]
# ## Three operators
#
# They work on batches: lists of samples.


# %%
def flip_if(images: list[Any], *, coin: list[float]) -> list[Any]:
    return [image[:, ::-1] if c < 0.5 else image for image, c in zip(images, coin, strict=True)]


flip = Operator("flip", flip_if)
scale = Operator("scale", lambda images, *, by: [np.float32(by) * image for image in images])
coin_flip = Operator("coin_flip", lambda *, key: [draw(key[0], key[1], p) for p in key[2]], True)


def augment(images: Any) -> Any:
    """The user's function. It is written once."""
    return scale(flip(images, coin=coin_flip()), by=0.5)


def read(positions: list[int]) -> list[Any]:
    """The source: the sample at a position is always the same."""
    return [np.arange(6, dtype=np.float32).reshape(2, 3) + 10 * p for p in positions]


step = Step(seed=7, positions=[0, 1, 2, 3])
eager = augment(read(step.positions))
print(eager[0])

# %% [markdown]
# ## Recording
#
# The recording interpreter computes nothing. It appends a node to a graph and returns a *symbol*. A
# symbol has no data, so reading its data is an error at once, in the line that does it.


# %%
@dataclass(frozen=True, eq=False)
class Symbol:
    name: str
    made_by: str

    def __bool__(self) -> bool:
        raise TypeError(f"{self.name} is a symbol made by {self.made_by}: it has no value yet")


@dataclass(frozen=True)
class Node:
    operator: Operator
    inputs: tuple[Any, ...]
    arguments: dict[str, Any]
    call: int
    result: Symbol

    def __str__(self) -> str:
        parts = [show(value) for value in self.inputs]
        parts += [f"{name}={show(value)}" for name, value in self.arguments.items()]
        return f"{self.result.name} = {self.operator.name}({', '.join(parts)})"


def show(value: Any) -> str:
    return value.name if isinstance(value, Symbol) else repr(value)


class Recorder:
    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.random_calls = 0

    def bind(
        self, operator: Operator, inputs: tuple[Any, ...], arguments: dict[str, Any]
    ) -> Symbol:
        result = Symbol(f"%{len(self.nodes) + 1}", operator.name)
        self.nodes.append(Node(operator, inputs, arguments, self.random_calls, result))
        self.random_calls += operator.random
        return result


def capture(function: Callable[[Any], Any]) -> tuple[list[Node], Symbol, Symbol]:
    recorder, source = Recorder(), Symbol("%0", "the source")
    with interpreter(recorder):
        output = function(source)
    return recorder.nodes, source, output


graph, source, output = capture(augment)
print(*graph, sep="\n")

# %% [markdown]
# A user who writes `if` on a symbol is told so:

# %%
try:
    capture(lambda images: scale(images, by=2) if coin_flip() else images)
except TypeError as error:
    print(error)

# %% [markdown]
# ## Running the graph
#
# A graph is a program: run its nodes in order, with the numbers that the random calls had when they
# were recorded. Because positions and numbers are the same, so are the bits.


# %%
def run(seed: int, positions: list[int]) -> list[Any]:
    values: dict[Symbol, Any] = {source: read(positions)}

    def value(of: Any) -> Any:
        return values[of] if isinstance(of, Symbol) else of

    for node in graph:
        arguments = {name: value(given) for name, given in node.arguments.items()}
        if node.operator.random:
            arguments["key"] = (seed, node.call, positions)
        inputs = [value(given) for given in node.inputs]
        values[node.result] = node.operator.compute(*inputs, **arguments)
    result: list[Any] = values[output]
    return result


for ours, theirs in zip(run(7, [0, 1, 2, 3]), eager, strict=True):
    np.testing.assert_array_equal(ours, theirs)

# %% [markdown]
# ## Prefetching
#
# A pipeline is the graph, run by a thread that keeps a few batches in a queue. An error is an item
# of the queue like any batch: it is raised at its own step, and the next batch follows.


# %%
def pipeline(seed: int, batch_size: int, batches: int, depth: int = 2) -> Iterator[list[Any]]:
    ready: queue.Queue[Any] = queue.Queue(maxsize=depth)

    def work() -> None:
        for number in range(batches):
            positions = list(range(number * batch_size, (number + 1) * batch_size))
            try:
                ready.put(run(seed, positions))
            except Exception as error:  # noqa: BLE001  met by the user
                ready.put(error)

    threading.Thread(target=work, daemon=True).start()
    for _ in range(batches):
        item = ready.get()
        if isinstance(item, Exception):
            raise item
        yield item


# %% [markdown]
# Twelve samples, in batches of two, three and six: the same bits.

# %%
runs = [
    [sample for batch in pipeline(7, size, 12 // size) for sample in batch] for size in (2, 3, 6)
]
for other in runs[1:]:
    for ours, theirs in zip(runs[0], other, strict=True):
        np.testing.assert_array_equal(ours, theirs)
for ours, theirs in zip(runs[0], eager, strict=False):
    np.testing.assert_array_equal(ours, theirs)
print(f"{len(runs[0])} samples, the same bits {len(runs)} times, and in dynamic mode")

# %% [markdown]
# ## In gradiva
#
# The same lines with the real library. `docs/design.md` says where each of the parts above lives.

# %%
from pathlib import Path  # noqa: E402

import gradiva  # noqa: E402
from gradiva import fn  # noqa: E402

photographs = str(Path(gradiva.__file__).parent / "photographs")


def real_augment(files: Any) -> Any:
    images = gradiva.resize(gradiva.decoders.image(files), size=(64, 64))
    coin = gradiva.random.coin_flip(batch_size=images.batch_size)
    return gradiva.flip(images, horizontal=coin) * 0.5


@gradiva.pipeline_def(batch_size=3, seed=7)
def real_pipeline() -> Any:
    files, _labels = fn.readers.file(file_root=photographs)
    return real_augment(files)


gradiva.random.set_seed(7)
reader = gradiva.readers.File(file_root=photographs)
pipe = real_pipeline()
for files, _labels in reader.next_epoch(batch_size=3):
    if len(files) == 3:
        np.testing.assert_array_equal(real_augment(files).as_array(), pipe.run()[0].as_array())
pipe.close()
print(pipe.graph)

# %% [markdown]
# In a notebook the graph is a picture. Tutorial 01 begins where this page ends.

# %%
pipe.graph
