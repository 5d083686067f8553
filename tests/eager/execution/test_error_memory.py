"""Errors hold nothing: what a failed call was about goes at once, without Python's collector of
cycles; and what goes well leaves no cycles either."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import capture, readers
from gradiva.eager.support.errors import GradivaError
from gradiva.plugin.numpy import DALIGenericIterator
from tests.eager.execution.error_loops import LOOPS
from tests.eager.execution.error_pipelines import (
    FINE_PIPELINES,
    PIPELINES,
    WAYS,
    images,
    made,
    source_raises,
)
from tests.eager.execution.error_steps import (
    FINE,
    SIZE,
    STEPS,
    Files,
    Step,
    make_files,
    mine,
    named,
)
from tests.garbage import Watch, cyclic_garbage, leased, no_collector
from tests.tiers import few, is_quick

pytestmark = [
    pytest.mark.filterwarnings("ignore")  # of samples that were left out
]

CALLS = {**STEPS, **LOOPS, **FINE}
ALL = {**CALLS, **PIPELINES, **FINE_PIPELINES}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return make_files(tmp_path_factory.mktemp("files"))


@pytest.mark.parametrize("name", few(ALL, every=12))
def test_nothing_stays(name: str, files: Files) -> None:
    step: Step = ALL[name]
    step(files, Watch())  # what is made once: compiled kernels, threads, notes about a class
    watch = Watch()
    with no_collector() as wait:
        before = leased()
        for _ in range((8 if is_quick() else 30) if name in CALLS else 5):
            step(files, watch)
        wait()
        assert watch.alive() == []
        assert leased() == before
    assert len(watch) > 0


@pytest.mark.parametrize("name", few(ALL, every=11))
def test_no_cycles(name: str, files: Files) -> None:
    step: Step = ALL[name]
    step(files, Watch())
    assert cyclic_garbage(lambda: step(files, Watch())) == []


# Errors that the user keeps. The functions have no variables: the frames of a user's own functions
# are in the traceback, as those of any Python code are.


def encoded(paths: list[str], watch: Watch) -> Any:
    return watch(next(iter(readers.File(files=paths).next_epoch(batch_size=SIZE)))[0])


@capture.compile
def small(data: Any) -> Any:
    return gradiva.resize(gradiva.decoders.image(data), size=(80, 80))


def decode(files: Files, watch: Watch) -> None:
    gradiva.decoders.image(encoded(files.cut, watch))


def shape_rule(files: Files, watch: Watch) -> None:
    gradiva.crop(gradiva.decoders.image(encoded(files.good, watch)), crop=(900, 900))


def callback(files: Files, watch: Watch) -> None:
    gradiva.python_function(gradiva.decoders.image(encoded(files.good, watch)), function=mine)


def compiled(files: Files, watch: Watch) -> None:
    small(encoded(files.cut, watch))


def missing(files: Files, watch: Watch) -> None:
    watch(next(iter(readers.File(files=files.missing).next_epoch(batch_size=SIZE))))


def source(files: Files, watch: Watch) -> None:
    watch(gradiva.ExternalSource(lambda: [np.zeros((90, 90, 3)), "text"]))()


def iterator(files: Files, watch: Watch) -> None:
    next(watch(DALIGenericIterator([pipeline(files, watch)], ["a"], prepare_first_batch=False)))


def pipeline(files: Files, watch: Watch, **options: Any) -> Any:
    return made(partial(images, "raise", "cut"), files, watch, **options)


def second_batch(files: Files, watch: Watch) -> None:
    """The error of the second batch of a pipeline."""
    pipes = [made(source_raises, files, watch)]
    pipes[0].run()
    pipes.pop().run()


def run(options: dict[str, Any], files: Files, watch: Watch) -> None:
    pipeline(files, watch, **options).run()


KEPT: dict[str, Step] = {
    **named(decode, shape_rule, callback, compiled, missing, source, iterator, second_batch),
    **{f"run, {way}": partial(run, options) for way, options in WAYS.items()},
}


@pytest.mark.parametrize("name", few(KEPT, every=4))
def test_who_keeps_errors_keeps_nothing_else(name: str, files: Files) -> None:
    kept: list[GradivaError] = []
    watch = Watch()

    def attempt() -> None:
        try:
            KEPT[name](files, watch)
        except GradivaError as error:
            kept.append(error)

    attempt()
    with no_collector() as wait:
        before = leased()
        for _ in range(9):
            attempt()
        wait()
        assert watch.alive() == []
        assert leased() == before
    assert len(kept) == 10
    assert len({str(error) for error in kept}) == 1
