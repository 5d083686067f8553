"""Checkpoints against DALI: the same calls give the same names, states and refusals."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva.checkpoint import Checkpoint

from .reference import dali

ndd = pytest.importorskip("nvidia.dali.experimental.dynamic")

REFUSALS = (FileNotFoundError, KeyError, TypeError, ValueError, RuntimeError)


class Script:
    """Calls on one library, and what became of each."""

    def __init__(self, checkpoint: type, rng: Callable[..., Any]) -> None:
        self.make = checkpoint
        self.rng = rng
        self.log: list[Any] = []
        self.new()

    def new(self) -> None:
        self.held = self.make()

    def call(self, name: str, *args: Any) -> Any:
        """The result of a method, or the class of what it raised; then the properties."""
        try:
            found = getattr(self.held, name)(*args)
        except REFUSALS as error:
            found = next(kind.__name__ for kind in REFUSALS if isinstance(error, kind))
        shown = found if isinstance(found, str | None) and name != "serialize" else "..."
        held = self.held
        facts = (held.names, len(held), held.is_complete, held.is_loaded)
        self.log.append((name, shown, facts))
        return found


def register(script: Script, folder: str) -> None:
    one, two = script.rng(seed=1), script.rng(seed=2)
    for args in ((one,), (two,), (one,), (one, "foo"), (two, None), (script.rng(seed=3), "foo")):
        script.call("register", *args)
    for name in ("", "__op_9", "foo", "bar"):
        script.call("register", script.rng(seed=4), name)
    script.call("register", script.rng(seed=5))
    script.call("get_state", "foo")
    script.call("get_state", "none")
    script.call("restore")
    script.call("serialize")
    script.call("collect")
    script.call("register", script.rng(seed=6), "foo")
    script.call("register", script.rng(seed=6), "late")
    script.call("set_state", "late", 1)
    script.call("restore")
    script.call("clear")


def load(script: Script, folder: str) -> None:
    script.call("collect")
    script.call("serialize")
    script.call("clear")
    script.call("register", script.rng(seed=1), "a")
    script.call("register", script.rng(seed=2), "b")
    script.call("collect")
    text = script.call("serialize")
    script.new()
    script.call("deserialize", text)
    script.call("restore")
    script.call("collect")
    script.call("register", script.rng(seed=3), "c")
    script.call("register", script.rng(seed=3))
    script.call("register", script.rng(seed=3), "a")
    script.call("restore")
    script.call("register", script.rng(seed=3), "b")
    script.call("restore")
    script.call("collect")
    script.call("deserialize", text)
    script.call("set_state", "a", script.rng(seed=9).get_state())
    script.call("restore")
    script.call("clear")
    script.call("deserialize", "rubbish")
    script.call("deserialize", "{}")
    script.call("set_state", "x", script.rng(seed=1).get_state())
    script.call("register", script.rng(seed=1), "y")
    script.call("restore")


def files(script: Script, folder: str) -> None:
    script.call("load", f"{folder}/a_{{seq}}")
    script.call("save", f"{folder}/a_{{seq}}")
    script.call("register", script.rng(seed=1), "a")
    script.call("collect")
    for name in ("a_{seq}", "a_{seq}", "b_{seq:04d}", "new/c_{seq}", "{seq}_{seq}", "{seq}{"):
        script.call("save", f"{folder}/{name}")
    for name in ("a_{seq}", "b_{seq:04d}", "none_{seq}", "none/c_{seq}"):
        script.call("load", f"{folder}/{name}")
    script.new()
    script.call("load", f"{folder}/a_{{seq}}")
    script.call("register", script.rng(seed=1), "a")
    script.call("collect")
    script.call("save", f"{folder}/a_{{seq}}")


@pytest.mark.parametrize("program", [register, load, files])
def test_the_same_calls(program: Callable[[Script, str], None], tmp_path: Path) -> None:
    logs: list[Any] = []
    for checkpoint, rng in (
        (ndd.checkpoint.Checkpoint, ndd.random.RNG),
        (Checkpoint, gradiva.random.RNG),
    ):
        folder = tmp_path / str(len(logs))
        folder.mkdir()
        script = Script(checkpoint, rng)
        program(script, str(folder))
        logs.append([(n, s and s.replace(str(folder), ""), facts) for n, s, facts in script.log])
    for theirs, ours in zip(*logs, strict=True):
        assert ours == theirs


def test_pipelines_go_on_at_the_same_sample() -> None:
    def source(info: Any) -> Any:
        if info.idx_in_epoch >= 7:
            raise StopIteration
        return np.array([info.epoch_idx, info.iteration, info.idx_in_epoch], np.int32)

    found = []
    for library, fn in ((dali, dali.fn), (gradiva, gradiva.fn)):

        @library.pipeline_def(batch_size=2, num_threads=1, device_id=None, seed=1)  # type: ignore[untyped-decorator]
        def program(fn: Any = fn) -> Any:
            return fn.external_source(source, batch=False)

        steps: list[Any] = []
        held: Any = None
        for number in range(9):
            pipe = program(enable_checkpointing=True, checkpoint=held)
            pipe.build()
            assert pipe.is_restored_from_checkpoint == (number > 0)
            try:
                (batch,) = pipe.run()
                steps.append([np.asarray(batch.at(i)).tolist() for i in range(2)])
            except StopIteration:
                pipe.reset()
                steps.append("the end")
            held = pipe.checkpoint()
            assert isinstance(held, bytes)
        found.append(steps)
    assert found[0] == found[1]
