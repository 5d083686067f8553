"""What a pipeline answers about itself and its batches: methods and attributes of `Pipeline`."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, overload

from gradiva.capture.caches.options import described
from gradiva.capture.compiler.caches import recipes_of
from gradiva.capture.graph.graph import Graph
from gradiva.capture.runtime.fusion_report import FusionExplanation, notes_of
from gradiva.capture.runtime.memory_statistics import Statistics
from gradiva.eager.execution.quarantine import Quarantine
from gradiva.eager.support.errors import (
    OperatorRuntimeError,
    OperatorValueError,
    annotate_error,
    frameless,
)
from gradiva.eager.support.lazy_import import lazy_module
from gradiva.eager.support.validation import integer

from .outputs import Outputs

if TYPE_CHECKING:
    from gradiva.capture.caches import epoch_rates
    from gradiva.capture.compiler import compose_warps as composing
    from gradiva.capture.graph import svg
    from gradiva.capture.receipts import run_digests
    from gradiva.capture.receipts.receipt import Receipt
    from gradiva.eager.values.tensor import Tensor

    from . import diagnosis
    from . import timeline as timelines
    from .pipeline import Pipeline
else:  # for few programs
    composing = lazy_module("gradiva.capture.compiler.compose_warps")
    epoch_rates = lazy_module("gradiva.capture.caches.epoch_rates")
    svg = lazy_module("gradiva.capture.graph.svg")
    run_digests = lazy_module("gradiva.capture.receipts.run_digests")
    diagnosis = lazy_module("gradiva.capture.pipeline.diagnosis")
    timelines = lazy_module("gradiva.capture.pipeline.timeline")


def output_dtype(pipe: Pipeline) -> list[Any]:
    """The element type declared for each output, None where none was."""
    return [type.dtype for type in pipe._options.output_types(pipe.num_outputs)]


def output_ndim(pipe: Pipeline) -> list[int | None]:
    """The number of axes declared for each output, None where none was."""
    return [type.ndim for type in pipe._options.output_types(pipe.num_outputs)]


def graph(pipe: Pipeline) -> Graph:
    """The graph as it was recorded, or, once built, as it was compiled."""
    return pipe._recorded() if pipe._runtime is None else pipe._runtime.plan.graph


def planned_graph(pipe: Pipeline) -> Graph:
    """The graph that is compiled: as it was recorded, with composed warps if the options say so."""
    recorded = pipe._recorded()
    return composing.compose_warps(recorded) if pipe._options.compose_warps else recorded


@overload
def epoch_size(pipe: Pipeline, name: str) -> int: ...
@overload
def epoch_size(pipe: Pipeline, name: None = None) -> dict[str, int]: ...
def epoch_size(pipe: Pipeline, name: str | None = None) -> Any:
    """Samples per epoch, with those that pad the shards to one size: of the reader `name`, or a
    dict of all readers by name. `reader_meta` has both numbers."""
    sizes = {key: meta["epoch_size_padded"] for key, meta in pipe.reader_meta().items()}
    return sizes if name is None else _of(sizes, name)


@overload
def reader_meta(pipe: Pipeline, name: str) -> dict[str, int]: ...
@overload
def reader_meta(pipe: Pipeline, name: None = None) -> dict[str, dict[str, int]]: ...
def reader_meta(pipe: Pipeline, name: str | None = None) -> Any:
    """epoch_size, epoch_size_padded, number_of_shards, shard_id, pad_last_batch and
    stick_to_shard: of the reader `name`, or a dict of all readers by name."""
    readers = pipe._built().readers()
    metas = {key: source.meta() or {} for key, source in readers.items()}
    return metas if name is None else _of(metas, name)


def checkpoint_context(pipe: Pipeline) -> dict[str, Any] | None:
    """The `context` that was saved with the checkpoint this pipeline was made from."""
    return None if pipe._restored is None else pipe._restored.context


def quarantine(pipe: Pipeline) -> Quarantine:
    """The samples that `on_error` has left out or replaced, of the batches so far."""
    return pipe._built().plan.quarantine


def receipt(pipe: Pipeline) -> Receipt:
    """The receipt of the batch that was returned last: 32 bytes, and with `line()` a line of JSON
    (docs/receipts.md). Raises OperatorRuntimeError before the first batch, and for a pipeline that
    was made without `with_receipt=True`.

    Example:
        pipe = training(with_receipt=True)
        images, labels = pipe.run()
        print(pipe.receipt().line(), file=log)
    """
    with annotate_error("Pipeline.receipt"):
        if pipe._options.with_receipt is None:
            raise OperatorRuntimeError(
                "this pipeline makes no receipts: it was made without with_receipt=True"
            )
        found = pipe._built().receipt
        if found is None:
            raise OperatorRuntimeError("there is no batch yet, of which this would be the receipt")
        return found


def digest(pipe: Pipeline, batches: int = 100) -> str:
    """A SHA-256, in hexadecimal digits, of the graph with its constant arguments and of the next
    `batches` batches, which are thrown away. It depends on no thread, queue, machine or version of
    Python: a test of training code compares it with that of yesterday.

    It ends earlier, and the pipeline is reset, where the data end. Raises what `run` raises;
    OperatorValueError for `batches` that are no positive integer.

    Example:
        assert training(num_threads=2).digest(batches=20) == training(num_threads=8).digest(20)
    """
    count = _positive("Pipeline.digest", batches)
    runtime = pipe._built()

    def take() -> Outputs | None:
        try:
            pipe._prepare(runtime)
            return runtime.take()
        except StopIteration:
            pipe.reset()
            return None

    return run_digests.digest_of_run(planned_graph(pipe), take, count, runtime.plan.pool)


def executor_statistics(pipe: Pipeline) -> Statistics:
    """Memory of the results of each operator, where `enable_memory_stats` asked for it.

    See `MemoryStatistics`; an empty dict without it, and before the first batch.
    """
    statistics = pipe._built().plan.program.statistics
    return {} if statistics is None else statistics.as_dict()


def stats(pipe: Pipeline) -> epoch_rates.PipelineStats:
    """What the pipeline has done so far, as a dict; in a notebook, a picture of the speed of its
    epochs, and a table of its caches. Builds it if it is not built.

    "epochs": a dict for each epoch of its first reader, if it has one: "samples", "seconds" and
    "samples_per_second", of batches that were taken.
    "caches": a dict for each cache: "operator", whose results it keeps; "where"; "hits" and
    "misses", samples that were found and computed; "hit_rate"; "sample_bytes", the mean of both,
    0.0 before the first batch; and of its folder or memory, which other pipelines may share:
    "stored", "damaged", "refused" (there was no room), "bytes_read", "bytes_written" and
    "seconds_saved", in which what was read had been computed.
    """
    built = pipe._built()
    caches = [recipe.runner.statistics() for recipe in recipes_of(built.plan.graph)]
    return epoch_rates.PipelineStats(epochs=list(built.rates.epochs), caches=caches)


def external_source_shm_statistics(pipe: Pipeline) -> dict[str, list[int]]:
    """Sizes in bytes of the shared memory of parallel external sources: `capacities`, one for
    each place for a result, and `per_sample_capacities`, those by the samples they hold."""
    if pipe._runtime is None or pipe._runtime.processes is None:
        return {"capacities": [], "per_sample_capacities": []}
    return pipe._runtime.processes.statistics()


def output_stream(pipe: Pipeline) -> Any:
    """The CUDA stream of outputs on a GPU. Raises OperatorRuntimeError: there are none."""
    raise OperatorRuntimeError(
        "the outputs of this pipeline are on the CPU: they have no CUDA stream",
        operator="Pipeline.output_stream",
    )


@frameless
def explain(pipe: Pipeline) -> FusionExplanation:
    """What ran fused in the batches so far and how long that took, and where not, why. Prints
    as text, and as a table in a notebook; builds the pipeline if it is not built."""
    plan = pipe._built().plan
    caches = described(plan.graph, pipe._options.cache)
    texts = [*caches, *notes_of(plan.graph)]
    return FusionExplanation("pipeline", plan.program.fusion.groups(), (), texts)


@frameless
def sample(pipe: Pipeline, epoch: int, position: int) -> tuple[Tensor, ...]:
    """One sample, computed again: the outputs for the sample at `position`, counted from 0, in
    the order of an epoch of the whole data set, in whatever shard. Batches carry numbers
    `epoch * samples in an epoch + position`, as `positions`. Batches that are made ahead, and
    the place of the pipeline, stay as they are.

    The bits are those of the sample in its batch, but for operators that combine the samples
    of a batch. Raises GradivaError as the batch did, and OperatorTypeError for a pipeline with
    other sources than readers.
    """
    with annotate_error("Pipeline.sample"):
        names = ("epoch", epoch), ("position", position)
        place = [
            integer(value, 0, argument=name, expected="a number from 0 on", limits="0 and more")
            for name, value in names
        ]
        outputs = pipe._built().plan.one_sample(*place)
        if not len(outputs[0]):
            raise OperatorRuntimeError("an operator has left the sample out")
        return tuple(output.select(0) for output in outputs)


def picture(pipe: Pipeline) -> str | None:
    """The picture of its graph that a notebook shows, if there is a graph yet."""
    if pipe._runtime is None and pipe._definition.outputs is None:
        return None
    shown = graph(pipe)
    return svg.svg(shown, f"{shown.title}: {pipe._state()}")


def trace(
    pipe: Pipeline, path: str | os.PathLike[str] | None = None, batches: int = 10
) -> timelines.Timeline:
    """Run for some batches, throw them away, and return what happened when in which thread.

    path: where to write it as JSON for https://ui.perfetto.dev or chrome://tracing.
    batches: how many to see being made; batches that were ready before are taken in addition.
    It ends earlier, and the pipeline is reset, where the data ends. Raises what `run` raises;
    OperatorValueError for a `path` that cannot be written; OperatorRuntimeError while another
    trace is being recorded. Tracing changes no bit of any batch.
    """
    timeline = timelines.record_timeline(
        pipe._built().executor, _positive("Pipeline.trace", batches)
    )
    if timeline.ended:
        pipe.reset()
    if path is not None:
        timeline.save(path)
    return timeline


def diagnose(
    pipe: Pipeline, seconds: float = 10.0, consumer: Callable[[Outputs], object] | None = None
) -> diagnosis.Diagnosis:
    """Run for so many seconds, throw the batches away, and say what holds the pipeline back.

    consumer: what your loop does with a batch, called with each; without it, batches are taken
    as fast as they come. Where the data end, they begin again. The result prints as a sentence
    that names the bottleneck with what removing it could gain, and as tables of the parts and
    of the operators; `to_json()` is for programs. Some batches are taken before, in which
    kernels are compiled.

    Raises what `run` and the consumer raise; OperatorValueError for `seconds` that are not
    positive, or if there are no data; OperatorRuntimeError while a trace is being recorded.
    """
    if not seconds > 0:
        raise OperatorValueError(
            operator="Pipeline.diagnose",
            argument="seconds",
            expected="a positive number",
            got=repr(seconds),
        )
    runtime = pipe._built()

    def take() -> Outputs:
        try:
            pipe._prepare(runtime)
            return runtime.take()
        except StopIteration:
            pipe.reset()
        try:
            return runtime.take()
        except StopIteration:
            raise OperatorValueError(
                "there are no data", operator="Pipeline.diagnose", argument="seconds"
            ) from None

    return diagnosis.diagnose(runtime.executor, take, seconds, consumer)


def _positive(operator: str, batches: Any) -> int:
    """A number of batches. Raises OperatorValueError for what is none."""
    if isinstance(batches, bool) or not isinstance(batches, int) or batches < 1:
        raise OperatorValueError(
            operator=operator, argument="batches", expected="a positive integer", got=repr(batches)
        )
    return batches


def _of(values: dict[str, Any], name: str) -> Any:
    try:
        return values[name]
    except KeyError:
        raise OperatorValueError(
            operator="Pipeline",
            argument="name",
            expected=f"the name of a reader ({', '.join(values) or 'there is none'})",
            got=repr(name),
        ) from None
