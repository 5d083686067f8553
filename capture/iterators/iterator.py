"""Iterators over pipelines, epoch by epoch: the base of the iterators of frameworks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gradiva.capture.pipeline.epochs import Epochs, LastBatchPolicy, Shards
from gradiva.capture.pipeline.outputs import Outputs
from gradiva.capture.pipeline.pipeline import Pipeline
from gradiva.capture.pipeline.run_api import PipelineAPIType
from gradiva.eager.support.errors import (
    GradivaError,
    OperatorRuntimeError,
    OperatorValueError,
    annotate_error,
    describe,
    frameless,
    wrong_type,
    wrong_value,
)
from gradiva.eager.support.user_warning import warn_user
from gradiva.eager.values.batch import ONE_SHAPE, Batch
from gradiva.ops.readers.core.source import Source

from .elastic_state import Facts, Place, check_state, readers_that_share
from .given_size import GivenSize
from .iterator_epochs import IteratorEpochs
from .iterator_options import (
    FACTS,
    check_auto_reset,
    check_full,
    check_names,
    check_pipelines,
    check_shards,
    check_size,
    reader_of,
)

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["LastBatchPolicy", "PipelineIterator"]


class PipelineIterator(IteratorEpochs):
    """Loops over one or several pipelines; each turn gives a dict of batches for each of them.

    pipelines: built or not; several are for several shards. output_map: a name for each output; and
        "@path", "@index", "@position" for what is known of the samples: the file or key, the number
        in the data set, the position in the stream of all epochs; "@receipt" for the receipt of the
        batch, of a pipeline made with `with_receipt=True`.
    size: samples of an epoch of all pipelines together; -1, for one pipeline: until it raises
        StopIteration. With FILL, what the last batch has of the next epoch counts there, unless
        `last_batch_padded`; with DROP, the last batch is read and left out. Batches must be full.
    reader_name: the reader whose epochs count, instead of `size`. All shards of a data set have
        equally many batches, `len`. With PARTIAL these are exactly the samples of the shard, each
        once, whether the reader pads or not; the last batches of a shorter shard are smaller, and
        none is empty (but where batches are of one sample).
    auto_reset: begin the next epoch at the end of one ("yes" or True); else `reset` does, or the
        next loop.
    last_batch_policy: see `LastBatchPolicy`. fill_last_batch: its old spelling, True or False for
        FILL or PARTIAL. last_batch_padded: with `size`, whether the last batch is filled with
        what belongs to no epoch; a reader says that itself, by `pad_last_batch`.
    prepare_first_batch: make the first batch at once, so that errors show here. It does not count
        as returned: a checkpoint taken before the loop begins before it.

    Raises OperatorTypeError or OperatorValueError for arguments that make no sense, and
    OperatorRuntimeError where an epoch has no batch at all, with prepare_first_batch.
    """

    _owner = ""
    """The class that errors name, where the user has made another one than this."""
    _if_ragged = ""
    """What errors say of samples of different shapes that a pipeline is to keep as they are."""

    def __init__(
        self,
        pipelines: Pipeline | Sequence[Pipeline],
        output_map: Sequence[Any],
        size: int = -1,
        reader_name: str | None = None,
        auto_reset: bool | str = False,
        fill_last_batch: bool | None = None,
        last_batch_padded: bool = False,
        last_batch_policy: LastBatchPolicy = LastBatchPolicy.FILL,
        prepare_first_batch: bool = True,
    ) -> None:
        with annotate_error(type(self).__name__):
            self._pipes = check_pipelines(pipelines)
            self._names = check_names(output_map, self._pipes)
            self._resets = check_auto_reset(auto_reset)
            if fill_last_batch is not None:
                last_batch_policy = (
                    LastBatchPolicy.FILL if fill_last_batch else LastBatchPolicy.PARTIAL
                )
            if not isinstance(last_batch_policy, LastBatchPolicy):
                raise wrong_type(
                    "last_batch_policy", "a LastBatchPolicy", describe(last_batch_policy)
                )
            check_size(size, reader_name, last_batch_padded, len(self._pipes))
            self._policy = last_batch_policy
            self._shards: list[Shards] = []
            self._given: GivenSize | None = None
            self._reader_name = reader_name
            self._prepare_first_batch = prepare_first_batch
            if reader_name is not None:
                self._follow(reader_name)
            elif size > 0:
                self._given = GivenSize(
                    size,
                    len(self._pipes),
                    self.batch_size,
                    last_batch_policy,
                    bool(last_batch_padded),
                )
        self._epoch = self._done = 0
        self._facts: dict[Pipeline, Facts] = {}
        self._waiting: list[Outputs | GradivaError] = []
        """The batches of this turn, if one of them has to be requested again."""
        self._ended = False
        self._counted = False
        """Whether the previous epoch ended by `size`."""
        self._dropping = False
        """Whether the next batch of each pipeline belongs to no epoch."""
        self._go_on()
        if prepare_first_batch:
            self._prepare_first()

    def _prepare_first(self) -> None:
        """Wait for the first batch. Raises OperatorRuntimeError if there is none."""
        why = "the pipeline has no data at all"
        try:
            if self._over():
                why = "no epoch has a batch: the last one, which is not full, is the only one"
                raise StopIteration
            for pipe in self._pipes:
                pipe._wait_as(PipelineAPIType.ITERATOR)
        except StopIteration:
            with annotate_error(type(self).__name__):
                raise OperatorRuntimeError(why) from None

    def _follow(self, reader_name: str) -> None:
        """Let the batches end with the epochs of this reader."""
        sources = [reader_of(pipe, reader_name) for pipe in self._pipes]
        if sources[0].shared_steps is not None:
            for pipe in self._pipes:
                pipe._built().check_unused()
                for reader in readers_that_share(pipe):
                    reader.share_steps(policy=self._policy)
        self._shards = [Shards.of(source, self.batch_size) for source in sources]
        check_shards(self._shards)
        if self._shards[0].end_by_themselves(self.batch_size, self._policy):
            return
        drop, padded = self._policy is LastBatchPolicy.DROP, self._shards[0].padded
        for pipe, source in zip(self._pipes, sources, strict=True):
            runtime = pipe._built()
            others = [reader for reader in runtime.readers().values() if reader is not source]
            epochs = Epochs(source, others, self.batch_size, self._until, drop, padded)
            runtime.follow(epochs)

    def __iter__(self) -> Self:
        if self._ended or (self._done and self._over()):
            self.reset()
        return self

    def next(self) -> list[dict[Any, Any]]:
        """The next batches. Raises StopIteration at the end of the epoch."""
        return self.__next__()

    @frameless
    def __next__(self) -> list[dict[Any, Any]]:
        if self._ended or self._over():
            self._end()
        if self._dropping:
            self._drop()
        made = self._waiting
        try:
            for number in range(len(made), len(self._pipes)):
                made.append(self._make(number))
        except StopIteration:
            made.clear()
            self._end()
        self._waiting = []
        # An epoch with a given size may end before the last pipelines: they do not take part in the
        # turn.
        taken = [
            number for number in range(len(made)) if self._most(number) != 0 or not self._given
        ]
        # A lost batch still counts for the epoch.
        self._done += 1
        outputs = []
        for batches in made:
            if isinstance(batches, GradivaError):
                raise batches
            outputs.append(batches)
        return [self._named(outputs[number]) for number in taken]

    def _drop(self) -> None:
        """Take the batch of each pipeline that belongs to no epoch, and ignore its errors."""
        for pipe in self._pipes:
            try:
                pipe._run_as(PipelineAPIType.ITERATOR)
            except StopIteration:
                pipe.reset()  # the data ended together with the epoch
            except GradivaError as error:
                if getattr(error, "again", False):
                    raise
        self._dropping = False

    def _named(self, batches: Outputs) -> dict[Any, Any]:
        waiting = iter(batches)
        made: dict[Any, Any] = {}
        for name in self._names:
            fact = FACTS.get(name) if isinstance(name, str) else None
            if fact is None:
                made[name] = self._converted(name, next(waiting))
            else:
                found = fact(batches)
                made[name] = self._convert_numbers(found) if isinstance(found, Batch) else found
        return made

    def _converted(self, name: Any, batch: Batch) -> Any:
        """The value of an output in this turn; errors name the output."""
        with annotate_error(self._owner or type(self).__name__):
            try:
                return self._convert(name, batch)
            except GradivaError as error:
                if error.expected == ONE_SHAPE:
                    # What to do with a batch is no advice where the loop makes the tensors.
                    error.problem = (
                        "the samples of this batch have different shapes, so they are not one "
                        f"array; resize or pad them in the pipeline{self._if_ragged}"
                    )
                error.problem = f"output {name!r}: {error.problem}"
                raise

    def _make(self, number: int) -> Outputs | GradivaError:
        """The next batch of a pipeline, or its error: the other pipelines continue, so that they
        stay synchronized. Raises errors that do not belong to one batch."""
        pipe, most = self._pipes[number], self._most(number)
        try:
            try:
                made = pipe._run_as(PipelineAPIType.ITERATOR, most)
            except StopIteration:
                if self._done or not self._counted:
                    raise
                # The data ended together with the epoch: it is the same end.
                pipe.reset()
                made = pipe._run_as(PipelineAPIType.ITERATOR, most)
        except GradivaError as error:
            if getattr(error, "again", False):
                raise
            return error
        # A batch with dropped samples counts as a full one.
        if self._given is not None and pipe._built().executor.rows is None:
            check_full(made, self.batch_size if most is None else most)
        return made

    def _go_on(self) -> None:
        """Go to the position in the epoch at which pipelines continue from checkpoints."""
        before = {pipe._built().batches_before() for pipe in self._pipes}
        if len(before) > 1:
            with annotate_error(type(self).__name__):
                raise wrong_value(
                    "pipelines",
                    "checkpoints that were made together",
                    ", ".join(map(str, sorted(before))),
                    "the pipelines go on from checkpoints after different numbers of batches",
                )
        self._done = before.pop()
        if self._shares:
            self._count_from(self._shares[0].epoch)
            return
        if self._given is not None:
            self._epoch, self._done, self._dropping = self._given.place(self._done)
            self._counted = self._epoch > 0 and not self._done
            return
        while self._done and self._over() and len(self):
            self._done -= len(self)
            self._begin_epoch()

    @property
    def _shares(self) -> list[Source]:
        """The readers whose epochs count, if they share each step of an epoch with others."""
        return [shards.shared for shards in self._shards if shards.shared is not None]

    def _count_from(self, epoch: int) -> None:
        """Count on from where this epoch is read from, by readers that share steps."""
        self._epoch = epoch
        self._done = self._shares[0].shared_steps.begun_steps(epoch)
        self._ended = False
        if self._done and self._over():
            self._done = 0
            self._begin_epoch()

    def state_dict(self) -> dict[str, Any]:
        """The place after the batch that was returned last, as plain data: the epoch, the number of
        its samples that all processes have taken so far, the seed, and a fingerprint of the graph
        and the data. It is the same in all processes, any number of which goes on from it.

        Raises OperatorValueError for readers without `sharding="interleaved"`, and without
        `reader_name`: there `checkpoints` has the place of each pipeline.
        """
        with annotate_error(f"{type(self).__name__}.state_dict"):
            place = self._place()
            return self._known(self._pipes[0]).state(place)

    def _known(self, pipe: Pipeline) -> Facts:
        """What identifies a pipeline."""
        if pipe not in self._facts:
            self._facts[pipe] = Facts.of(pipe)
        return self._facts[pipe]

    def _place(self) -> Place:
        if not self._shares:
            raise OperatorValueError(
                "a state that all processes share needs `reader_name`, and readers with "
                'sharding="interleaved"; `checkpoints` has the place of each pipeline'
            )
        if self._ended:
            return Place(self._epoch + 1, 0)
        plan = self._shares[0].shared_steps
        begun = plan.begun_steps(self._epoch)
        return Place(self._epoch, plan.place(self._epoch, self._done - begun))

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go to the place of a state, of any process of any number of them; batches that were made
        ahead are thrown away. Raises OperatorTypeError for what is no state, OperatorValueError for
        that of another graph, seed or data, and as `state_dict`."""
        with annotate_error(f"{type(self).__name__}.load_state_dict"):
            self._place()
            places = [check_state(state_dict, self._known(pipe)) for pipe in self._pipes]
            for pipe, place in zip(self._pipes, places, strict=True):
                pipe._built().go_to(*place)
            self._waiting = []
            # Not where the readers are: they go on already.
            self._count_from(places[0].epoch)

    def _end(self) -> None:
        self._ended = True
        if self._resets:
            self.reset()
        raise StopIteration

    def reset(self) -> None:
        """Begin the next epoch. In the middle of an epoch it has no effect except a warning: the
        next loop continues where the last one has stopped."""
        if not (self._ended or self._over()):
            if self._done:
                warn_user(
                    f"{type(self).__name__}.reset has no effect in the middle of an epoch, here "
                    f"after {self._done} batches of it: the next loop goes on there"
                )
            return
        self._counted = self._is_counted and self._over()
        self._dropping = self._counted and self._given is not None and self._given.dropped
        for pipe in self._pipes:
            pipe.reset()
        self._ended = False
        self._done = 0
        self._begin_epoch()

    def _convert_numbers(self, batch: Batch) -> Any:
        """What a turn gives for "@index" and "@position": int64, one for each sample."""
        return batch.as_array()

    def _convert(self, name: Any, batch: Batch) -> Any:
        """What a turn gives for a batch of the output `name`: one array with a leading axis."""
        return batch.as_array()
