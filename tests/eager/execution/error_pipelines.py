"""What users do with pipelines and their iterators that goes wrong, as in `error_steps`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import gradiva
from gradiva import Pipeline, fn, pipeline_def
from gradiva.plugin.numpy import DALIGenericIterator
from tests.eager.execution.error_steps import POLICIES, SIZE, WRONG, Files, Stateless, Step, mine
from tests.garbage import Watch, fails
from tests.ops.external_source.workers.worker_callbacks import Trouble

__all__ = ["FINE_PIPELINES", "PIPELINES"]

WAYS: dict[str, dict[str, Any]] = {
    "one thread": {"num_threads": 1},
    "two threads": {"num_threads": 2},
    "queue of one": {"num_threads": 2, "prefetch_queue_depth": 1},
    "in the calling thread": {"num_threads": 2, "exec_async": False, "exec_pipelined": False},
}

Body = Callable[[Files], Any]
BATCH = np.zeros((SIZE, 90, 90, 3), np.uint8)


def images(policy: Any, kind: str, files: Files) -> Any:
    encoded, _ = fn.readers.file(files=getattr(files, kind), on_error=policy, name="reader")
    decoded = fn.decoders.image(encoded, on_error=policy)
    return fn.resize(decoded, size=(80, 80))


def function_raises(files: Files) -> Any:
    return fn.python_function(images("raise", "good", files), function=mine)


def source_raises(files: Files) -> Any:
    return fn.external_source(lambda number: mine() if number % 2 else BATCH)


def sample_raises(files: Files) -> Any:
    return fn.external_source(
        lambda info: mine() if info.idx_in_epoch % 5 == 3 else BATCH[0], batch=False
    )


def shape_rule(files: Files) -> Any:
    return fn.crop(fn.external_source(lambda: BATCH, layout="HWC"), crop=(900, 900))


def one_source_raises(files: Files) -> Any:
    """The batches of the other one are thrown away."""
    return images("raise", "good", files), source_raises(files)


def the_end(files: Files) -> Any:
    return fn.external_source([BATCH, BATCH])


def branches(files: Files) -> Any:
    encoded, labels = fn.readers.file(files=files.cut, labels=[0, 1] * SIZE)
    decoded = fn.resize(fn.decoders.image(encoded, on_error="skip"), size=(80, 80))
    if labels[0] == 1:
        decoded = fn.flip(decoded)
    else:
        decoded = fn.rotate(decoded, angle=5.0)
    return decoded


def made(body: Body, files: Files, watch: Watch, **options: Any) -> Pipeline:
    def definition() -> Any:
        return body(files)

    given = {"batch_size": SIZE, "num_threads": 2, "prefetch_queue_depth": 2, **options}
    return watch(pipeline_def(definition, **given)())


def run(pipe: Pipeline, watch: Watch) -> int:
    """Run a few times; how often it has failed."""
    failed = 0
    for _ in range(4):
        try:
            for output in pipe.run():
                watch(output)
        except gradiva.GradivaError:
            failed += 1
        except StopIteration:
            pipe.reset()
    return failed


def ran(body: Body, bad: bool, options: dict[str, Any], files: Files, watch: Watch) -> None:
    """A pipeline that fails now and then, if it is `bad`."""
    pipe = made(body, files, watch, **options)
    assert bool(run(pipe, watch)) == bad


def closed(files: Files, watch: Watch) -> None:
    pipe = made(partial(images, "raise", "cut"), files, watch)
    assert run(pipe, watch)
    pipe.close()
    fails(gradiva.OperatorRuntimeError, pipe.run)


def badly_defined(files: Files, watch: Watch) -> None:
    def body() -> Any:
        return fn.crop(fn.external_source(lambda: BATCH, layout="HWC"), **WRONG)

    pipe = watch(Pipeline(batch_size=SIZE, num_threads=1))
    fails(gradiva.OperatorTypeError, pipe.build, body)
    fails(gradiva.OperatorTypeError, pipe.build, body)


def badly_fed(files: Files, watch: Watch) -> None:
    pipe = made(lambda files: fn.external_source(name="data"), files, watch)
    fails(gradiva.OperatorValueError, pipe.feed_input, "else", watch(np.zeros((4, 90, 90))))
    fails(gradiva.OperatorValueError, pipe.run, data=watch(np.zeros((SIZE + 1, 90, 90))))
    fails(gradiva.OperatorRuntimeError, pipe.run)


def scheduled(files: Files, watch: Watch) -> None:
    pipe = made(partial(images, "raise", "cut"), files, watch)
    pipe.schedule_run()
    fails(gradiva.OperatorRuntimeError, pipe.share_outputs)
    fails(gradiva.OperatorRuntimeError, pipe.share_outputs)
    pipe.schedule_run()
    for output in pipe.share_outputs():
        watch(output)
    pipe.release_outputs()


def another_checkpoint(files: Files, watch: Watch) -> None:
    """None is made, and one is of another graph."""
    pipe = made(the_end, files, watch)
    fails(gradiva.OperatorRuntimeError, pipe.checkpoint)
    text = made(the_end, files, watch, enable_checkpointing=True).checkpoint()
    other = made(shape_rule, files, watch, enable_checkpointing=True, checkpoint=text)
    fails(gradiva.OperatorValueError, other.build)


def without_state(files: Files, watch: Watch) -> None:
    """A source that cannot tell its state, asked twice."""

    def body(files: Files) -> Any:
        return fn.external_source(Stateless())

    pipe = made(body, files, watch, enable_checkpointing=True)
    for output in pipe.run():
        watch(output)
    fails(gradiva.OperatorRuntimeError, pipe.checkpoint)
    fails(gradiva.OperatorRuntimeError, pipe.checkpoint)


def iterated(kind: str, files: Files, watch: Watch) -> None:
    """An iterator that goes on after each error, for two epochs."""
    pipe = made(partial(images, "raise", kind), files, watch)
    options: dict[str, Any] = {
        "reader_name": "reader",
        "auto_reset": True,
        "prepare_first_batch": False,
    }
    iterator = watch(DALIGenericIterator([pipe], ["images"], **options))
    failed = ends = 0
    while ends < 2:
        try:
            watch(next(iterator)[0]["images"])
        except gradiva.GradivaError:
            failed += 1
        except StopIteration:
            ends += 1
    assert failed == 2 * (kind != "good")


def not_begun(files: Files, watch: Watch) -> None:
    """The first batch fails, which an iterator waits for when it is made."""
    pipe = made(partial(images, "raise", "cut"), files, watch)
    fails(gradiva.OperatorRuntimeError, DALIGenericIterator, [pipe], ["images"])
    fails(gradiva.OperatorRuntimeError, DALIGenericIterator, [pipe], ["images"])


def in_processes(files: Files, watch: Watch) -> None:
    def body(files: Files) -> Any:
        return fn.external_source(Trouble("raise"), batch=False, parallel=True)

    pipe = made(body, files, watch, py_num_workers=1, py_start_method="fork")
    assert run(pipe, watch)


def _each_way(body: Body, name: str, bad: bool = True, **more: Any) -> dict[str, Step]:
    return {
        f"{name}, {way}": partial(ran, body, bad, {**options, **more})
        for way, options in WAYS.items()
    }


PIPELINES: dict[str, Step] = {
    **{
        name: step
        for kind in ("cut", "missing")
        for policy in POLICIES
        for name, step in _each_way(
            partial(images, policy, kind), f"pipeline: {policy} {kind}", policy == "raise"
        ).items()
    },
    **{
        name: step
        for body in (function_raises, source_raises, sample_raises, shape_rule, one_source_raises)
        for name, step in _each_way(body, f"pipeline: {body.__name__}").items()
    },
    **{
        step.__name__: step
        for step in (
            closed,
            badly_defined,
            badly_fed,
            scheduled,
            another_checkpoint,
            without_state,
            not_begun,
        )
    },
    "iterated: cut": partial(iterated, "cut"),
    "source in a process": in_processes,
}
"""What goes wrong."""

FINE_PIPELINES: dict[str, Step] = {
    **_each_way(partial(images, "raise", "good"), "pipeline", False),
    **_each_way(the_end, "pipeline: the end", False),
    **_each_way(branches, "pipeline: branches", False, enable_conditionals=True),
    "iterated": partial(iterated, "good"),
}
"""What goes well, or leaves out samples."""
