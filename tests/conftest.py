"""What tests share: the tiers (docs in CONTRIBUTING.md), no GPU unless it is asked for, the
photographs of the package, a generator that starts anew for each test."""

from __future__ import annotations

import gc
import os
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from inspect import isfunction
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import settings

import gradiva
from gradiva.eager.cuda import cupy_runtime
from gradiva.eager.jit.background_kernel import at_once
from gradiva.eager.jit.jit import Kernel
from gradiva.eager.operators.interpreter import enter_interpreter
from gradiva.eager.random.step import _step
from gradiva.eager.runtime.finalizer_thread import finalizer_thread
from gradiva.eager.runtime.worker_pool import default_num_threads

from . import soaking, tiers

ORACLE = Path(__file__).parent / "oracle"
COMPILED = Path(__file__).parents[1] / "build" / "pycache"


WORKER = "PYTEST_XDIST_WORKER" in os.environ
MANY_OBJECTS = 50_000


@pytest.hookimpl(tryfirst=True)  # before xdist reads its options
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Plain `pytest`, the whole quick tier, is shared by the CPUs, unless `-n` is given."""
    options = config.option
    whole = config.args_source is not config.ArgsSource.ARGS and not options.keyword
    asked = getattr(options, "numprocesses", 1) is not None or options.collectonly or options.usepdb
    if options.markexpr == tiers.QUICK and whole and not asked and not WORKER:
        options.numprocesses = min(4, default_num_threads())
        options.dist = "loadgroup"


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    node.workerinput["loadgroup"] = node.config.option.dist == "loadgroup"


def pytest_configure(config: pytest.Config) -> None:
    if WORKER:  # which xdist tells what stands on the command line, not what was chosen above
        config.option.loadgroup = config.workerinput["loadgroup"]  # type: ignore[attr-defined]
    if sys.dont_write_bytecode:  # by PYTHONDONTWRITEBYTECODE, which is about the folders of sources
        # Rewriting the assertions of all tests takes each process 12 s of CPU time.
        sys.dont_write_bytecode, sys.pycache_prefix = False, str(COMPILED)
    tiers.choose(config.option.markexpr)
    if tiers.is_quick():
        # The same examples each time: new ones are for `-m full`.
        settings.register_profile("quick", derandomize=True)
        settings.load_profile("quick")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Files without a test of the tier that is asked for are not read, which takes its time. Those
    that are named on the command line are."""
    if config.args_source is config.ArgsSource.ARGS:
        return None
    words = config.option.markexpr.split(" and ")
    if collection_path == ORACLE:
        return "not oracle" in words or None
    if collection_path.name.startswith("test_"):
        asked = tiers.RARE.intersection(words)
        if ORACLE in collection_path.parents:
            asked -= {"oracle"}  # which the folder says for them
        if asked:
            text = collection_path.read_text("utf-8")
            return not all(f"mark.{word}" in text for word in asked) or None
    return None


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(collector: pytest.Collector, obj: object) -> list[pytest.Item] | None:
    """What a quick run leaves out is not made first, with all its parameters: half of all tests."""
    if isfunction(obj) and obj.__name__.startswith("test_"):
        marks = chain(getattr(obj, "pytestmark", ()), collector.iter_markers())
        return [] if tiers.left_out(marks) else None
    return None


@pytest.hookimpl(tryfirst=True)  # before markers choose
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Promises are in the run of `-m soak`. A file whose tests have a rare mark says so in its
    text, by which it is found. The cases of operators come first: they compile the kernels that
    most other tests need."""
    for item in items:
        if "figures" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.soak)
    rare = {(item.path, mark.name) for item in items for mark in item.iter_markers()}
    for path, name in sorted(rare):
        if name in tiers.RARE and not (name == "oracle" and ORACLE in path.parents):
            assert f"mark.{name}" in path.read_text("utf-8"), f"{path}: write pytest.mark.{name}"
    if WORKER:
        _share_by_file(items)
    if config.option.markexpr == "tiny":
        # Where there is one with drawn examples, hypothesis reads all sources: most of a second.
        items[:] = [item for item in items if not _draws_examples(getattr(item, "obj", None))]
    items.sort(key=lambda item: item.path.name != "test_operators.py")


def _draws_examples(test: object) -> bool:
    """As hypothesis says of what it decorates, with or without a function that tells it."""
    return getattr(test, "is_hypothesis_test", False) is True


@pytest.fixture(autouse=True)
def _ordinary_priority() -> Iterator[None]:
    """No test leaves its thread with a real-time priority, which all that is started later would
    inherit: some encoders of video do."""
    yield
    if hasattr(os, "sched_setscheduler") and os.sched_getscheduler(0) != os.SCHED_OTHER:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        pytest.fail("this thread has got another scheduling policy")


def _share_by_file(items: list[pytest.Item]) -> None:
    """Where processes share the tests, one takes the quick ones of a file: fixtures are made once,
    and the controller, whose time grows with the square of the groups, has few to give out. The
    cases of operators, which compile most of the kernels, are shared one by one."""
    for item in items:
        if item.path.name != "test_operators.py" and not any(
            mark.name in ("full", "xdist_group") for mark in item.iter_markers()
        ):
            item.add_marker(pytest.mark.xdist_group(item.path.stem))


def pytest_collection_finish() -> None:
    """What is there before the first test is left out of collections of garbage, which many tests
    ask for: they would take half a second each."""
    gc.collect()
    gc.freeze()
    finalizer_thread.ready()  # before tests count threads


@pytest.fixture(scope="module", autouse=True)
def _few_objects() -> None:
    """The same for what the tests before this file have left: compiled kernels, above all."""
    if len(gc.get_objects(generation=2)) > MANY_OBJECTS:
        gc.collect()
        gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _prepared() -> Iterator[None]:
    """Kernels that are not worth waiting for are waited for: which way is taken is no matter of
    time."""
    with at_once():
        yield


@pytest.fixture(scope="session")
def photographs() -> Path:
    """The folder of photographs that ships with the package: one folder per label."""
    return Path(gradiva.__file__).parent / "photographs"


_figures: dict[str, dict[str, Any]] = {}


@pytest.fixture
def figures(request: pytest.FixtureRequest) -> soaking.Figures:
    """Takes what the test of a promise has done, for the report of a long run, and what it took."""
    name = f"{request.node.path.stem.removeprefix('test_')}: {request.node.name}"
    before = os.times()

    def note(**numbers: Any) -> None:
        now = os.times()
        _figures[name] = {
            **numbers,
            "seconds": round(now.elapsed - before.elapsed, 1),
            # Of processes that have ended, too.
            "processor_seconds": round(sum(now[:4]) - sum(before[:4]), 1),
        }

    return note


def pytest_sessionfinish() -> None:
    if soaking.is_soak() and _figures:
        soaking.write(_figures)


@pytest.fixture(autouse=True)
def _alone() -> Iterator[None]:
    """Each test starts outside of any loop over a reader, also of those that earlier tests have
    left to the collector, and with the default generator seeded."""
    enter_interpreter(None)
    _step.set(None)
    gradiva.random.set_seed(1234)
    yield
    _step.set(None)


@pytest.fixture(autouse=True)
def _only_asked_for_gpus(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no GPU in a test that is not marked `gpu`, nor in the processes that it starts;
    simulated ones are not concerned."""
    if request.node.get_closest_marker("gpu") is None:
        none = SimpleNamespace(runtime=SimpleNamespace(getDeviceCount=lambda: 0))
        monkeypatch.setattr(cupy_runtime, "_cupy", SimpleNamespace(cuda=none))
        # One of its own, so that GPUs which other tests have used are not found either.
        monkeypatch.setattr(cupy_runtime, "runtimes", [partial(cupy_runtime.CupyRuntime)])
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")


@pytest.fixture(autouse=True)
def _tiny(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that is marked `tiny` needs no compiled kernel and starts no thread. Threads that
    earlier tests have left may do so."""
    if request.node.get_closest_marker("tiny") is not None:
        here = threading.current_thread()

        def refused(usual: Callable[..., Any]) -> Callable[..., Any]:
            def call(self: Any, *arguments: Any) -> Any:
                if threading.current_thread() is not here:
                    return usual(self, *arguments)
                raise AssertionError(f"{self!r} in a tiny test: mark it otherwise")

            return call

        for owner, name in (
            (Kernel, "__call__"),
            (Kernel, "dispatcher"),
            (threading.Thread, "start"),
        ):
            monkeypatch.setattr(owner, name, refused(getattr(owner, name)))
