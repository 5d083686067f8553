"""`IterableDataset`: batches of pipelines that each worker of a DataLoader makes for itself."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch.utils.data

from gradiva.capture.iterators.elastic_state import Facts, Place, check_state
from gradiva.capture.iterators.iterator import LastBatchPolicy
from gradiva.capture.iterators.iterator_options import list_of_names
from gradiva.capture.pipeline.pipeline import Pipeline
from gradiva.eager.support.errors import (
    GradivaError,
    OperatorRuntimeError,
    OperatorTypeError,
    OperatorValueError,
    annotate_error,
    describe,
    wrong_type,
    wrong_value,
)
from gradiva.ops.readers.sharding.layouts import Share

from .contiguous_loops import ContiguousLoop, is_state, new_state, place_of_state
from .dataset_options import (
    batch_of_each,
    check_count,
    check_function,
    check_sharding,
    common_seed,
    only_reader,
    place_of,
)
from .iterators import DALIGenericIterator
from .shared_loops import SharedLoop, global_place, worker_now

__all__ = ["IterableDataset"]

_MOST_WORKERS = 1024


class IterableDataset(torch.utils.data.IterableDataset):  # type: ignore[misc]
    """Batches of a pipeline for `DataLoader(dataset, batch_size=None, num_workers=N)`: dicts of
    torch tensors with a leading batch axis, by the names of `output_map`.

    Step t of all processes takes the next `world_size` batches of the epoch's order, of which
    process `rank` gets number `rank`; its workers take turns. So the samples of all processes up to
    a step are the beginning of the epoch, for any numbers of processes and workers. Each worker
    makes a pipeline for itself; without workers the main process does. Each loop is the next epoch,
    also where workers are started again for it. All processes have equally many batches.

    pipeline_fn: a function made by `pipeline_def`; **options are further ones of it and of
        `Pipeline`. If it has the arguments `shard_id` and `num_shards`, they are `rank` and
        `world_size`.
    reader_name: the reader whose epochs count; by default the only one there is.
    last_batch_policy: PARTIAL (each sample once), DROP, or FILL: repeats of the last sample.
    num_workers: how many the DataLoader has, if that is to be checked.
    rank, world_size: of this process; by default those of `torch.distributed`, else 0 of 1.
    sharding: "interleaved", as described; or "contiguous": each worker reads the shard number
        `rank * workers + worker` of `world_size * workers`, of which `pipeline_fn` tells its
        reader. Then `len` needs `num_workers`, FILL a reader that pads, and a state belongs to one
        worker.
    global_batch_size: samples of a step of all processes together, in place of `batch_size`: the
        samples and values of each step are the same for any number of processes that divides it.

    `state_dict` and `load_state_dict` are for StatefulDataLoader, Accelerate and Lightning: a loop
    is resumed in the middle, bit by bit, also by other numbers of processes and workers. With the
    workers of a plain DataLoader the main process has no state, and `state_dict` raises
    OperatorRuntimeError; `gradiva.plugin.pytorch.DataLoader` has it.

    Raises OperatorTypeError and OperatorValueError for arguments that make no sense, when it is
    made or, for those of the pipeline, when a loop begins.
    """

    def __init__(
        self,
        pipeline_fn: Callable[..., Pipeline],
        output_map: Sequence[Any],
        *,
        reader_name: str | None = None,
        last_batch_policy: LastBatchPolicy = LastBatchPolicy.PARTIAL,
        num_workers: int | None = None,
        rank: int | None = None,
        world_size: int | None = None,
        sharding: str = "interleaved",
        global_batch_size: int | None = None,
        **options: Any,
    ) -> None:
        super().__init__()
        with annotate_error("IterableDataset"):
            self._sharding = check_sharding(sharding)
            self._is_shared = sharding == "interleaved"
            self._takes_shards = check_function(pipeline_fn, not self._is_shared)
            check_count("num_workers", num_workers, 0)
            self._rank, self._world = place_of(rank, world_size)
            self._options = {**options, **batch_of_each(global_batch_size, self._world, sharding)}
            if not self._is_shared:
                self._options.setdefault("enable_checkpointing", True)
            self._seed = common_seed(pipeline_fn, self._options, self._world)
            self._names = list_of_names(output_map)
        self._function = pipeline_fn
        self._reader_name = reader_name
        self._policy = last_batch_policy
        self._workers = num_workers
        self._global_batch = global_batch_size
        # In shared memory: the epoch that worker n begins next, whichever process it is then.
        self._next_epoch = _shared(_MOST_WORKERS)
        # In shared memory, too: an epoch that is begun at a place in it, and the place; and whether
        # workers have read since the main process knew the place.
        self._next_place = _shared(2)
        self._read_elsewhere = _shared(1)
        self._lengths: Callable[[int], int] | None = None
        self._known: Facts | None = None
        self._loop: SharedLoop | ContiguousLoop | None = None
        self._turn: object = None
        """The loop that is under way."""
        self._saved: dict[str, Any] | None = None
        """The state of this process or worker, where the next loop goes on."""

    def set_epoch(self, epoch: int) -> None:
        """Let the next loop be this epoch, counted from 0, in each worker."""
        with annotate_error("IterableDataset.set_epoch"):
            check_count("epoch", epoch, 0)
        self._read_elsewhere.fill_(0)
        self._next_epoch.fill_(epoch)
        self._next_place.fill_(0)
        self._turn = self._saved = None

    def __len__(self) -> int:
        """Batches of the next epoch, of all workers of this process together. Raises TypeError
        without `num_workers` for contiguous shards."""
        epoch = int(self._next_epoch[0])
        if self._is_shared:
            return self._facts().plan.steps(epoch, 0)
        if self._workers is None:
            raise OperatorTypeError(
                "the number of batches depends on how many workers the DataLoader has",
                operator="IterableDataset",
                argument="num_workers",
                expected="their number (0: none) when the data set is made",
            )
        many = max(self._workers, 1)
        if self._lengths is None:
            loop = self._made(self._rank * many, self._world * many)
            self._lengths = loop._until
            loop._pipes[0].close()
        return (self._lengths(epoch + 1) - self._lengths(epoch)) * many

    def __iter__(self) -> Iterator[dict[Any, Any]]:
        # A loop begins with its first batch: loaders ask for iterators that they do not use.
        info = torch.utils.data.get_worker_info()
        worker, many = worker_now()
        self._check_workers(0 if info is None else many)
        self._read_elsewhere.fill_(info is not None)
        loop = self._begun(worker, many)
        self._next_epoch[worker] = loop.epoch + 1
        self._turn = turn = object()
        batches = loop.batches()
        while True:
            if turn is not self._turn:
                raise OperatorValueError(
                    "a loop ends where another one over the same data set begins",
                    operator="IterableDataset",
                )
            found = next(batches, None)
            if found is None:
                return
            yield found

    def _coming(self, worker: int) -> tuple[Place, int]:
        """Where the next loop begins, and the worker that takes the first step there."""
        epoch, saved = int(self._next_epoch[worker]), self._saved
        # Workers that start afresh have a copy of the state, whichever epoch they begin.
        if saved is not None and saved["epoch"] == epoch:
            return Place(epoch, saved["samples"]), worker if "worker" in saved else 0
        there = int(self._next_place[0]) == epoch
        return Place(epoch, int(self._next_place[1]) if there else 0), 0

    def _begun(self, worker: int, many: int) -> SharedLoop | ContiguousLoop:
        """The loop that begins now; that of the epoch before, if it has come to its end."""
        if not self._is_shared:
            return self._begun_shard(worker, many)
        begin, turn = self._coming(worker)
        self._saved = None
        share = Share(self._rank, self._world, worker, many, self._global_batch)
        loop = self._reused(share, begin.epoch)
        if loop is None or begin.samples:
            self._drop()
            loop = SharedLoop(self._made_shared(share), share)
            if self._expected is not None:
                loop.check(self._expected)
            loop.go_to(begin, turn)
            self._loop = loop
        return loop

    _expected: dict[str, Any] | None = None
    """A state that was loaded: the pipelines are to be those that it belongs to."""

    def _begun_shard(self, worker: int, many: int) -> ContiguousLoop:
        shard, shards = self._rank * many + worker, self._world * many
        epoch, saved = int(self._next_epoch[worker]), self._saved
        self._saved = None
        if saved is not None and saved["epoch"] == epoch:
            if saved["shard"] != [shard, shards]:
                raise wrong_value(
                    "",
                    "shard {} of {}".format(*saved["shard"]),
                    f"shard {shard} of {shards}",
                    "the state is that of another shard: resume with as many processes and workers",
                    operator="IterableDataset",
                )
            self._drop()
            made = self._made(shard, shards, saved["checkpoint"])
            self._loop = loop = ContiguousLoop(made, (shard, shards), epoch, saved["batches"])
            return loop
        known = self._reused((shard, shards), epoch)
        if known is not None:
            assert isinstance(known, ContiguousLoop)
            return known
        self._drop()
        made = self._made(shard, shards)
        made._begin_at(epoch)
        self._loop = loop = ContiguousLoop(made, (shard, shards), epoch)
        return loop

    def _reused(self, share: Any, epoch: int) -> SharedLoop | ContiguousLoop | None:
        """The loop of the epoch before this one, if it has come to its end in this process."""
        loop = self._loop
        if loop is None or loop.process != os.getpid() or loop.share != share:
            return None
        if not loop.finished or loop.epoch + 1 != epoch:
            return None
        loop.enter(Place(epoch, 0)) if isinstance(loop, SharedLoop) else loop.enter(epoch)
        return loop

    def state_dict(self) -> dict[str, Any]:
        """The current place, as plain data for `load_state_dict`: in a loop of this process, after
        the batch that it returned last; before the first loop and after the end of one, the
        beginning of the next epoch. It has the epoch, the number of its samples that all processes
        have taken, the seed and a fingerprint of the pipeline and the data, and is the same in all
        processes. If workers read, each has a place of its own, which StatefulDataLoader asks for.
        Raises OperatorRuntimeError in the main process after workers have read. With contiguous
        shards, it is the place of this shard; OperatorValueError for a pipeline made with
        enable_checkpointing=False."""
        info = torch.utils.data.get_worker_info()
        if info is None and self._read_elsewhere.item():
            with annotate_error("IterableDataset.state_dict"):
                raise OperatorRuntimeError(
                    "the workers of a DataLoader have read this data set, and the main process "
                    "does not know how far: take the state of torchdata's StatefulDataLoader, "
                    "which asks the workers, or of gradiva.plugin.pytorch.DataLoader, which counts "
                    "their batches; or read with num_workers=0. At the end of an epoch its number "
                    "is enough, for set_epoch"
                )
        loop = self._loop
        if self._turn is not None and loop is not None and loop.process == os.getpid():
            return loop.state()
        worker, many = worker_now()
        if not self._is_shared:
            if self._saved is not None:
                return dict(self._saved)
            return new_state(int(self._next_epoch[worker]), 0, False, (0, 0))
        begin, turn = self._coming(worker)
        facts = self._facts()
        if info is None:
            return facts.state(begin)
        plan = facts.plan.of_worker(many, worker).placed(*begin, turn)[0]
        found = facts.state(Place(begin.epoch, plan.place(begin.epoch, 0)))
        return {**found, "worker": worker, "workers": many}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Let the next loop go on from there: the result of `state_dict` in any process, or that of
        a StatefulDataLoader. Raises OperatorTypeError or OperatorValueError for what is no state;
        for that of another pipeline or other data, when the loop begins."""
        with annotate_error("IterableDataset.load_state_dict"):
            self._load(state_dict)

    def _load(self, state: dict[str, Any]) -> None:
        info = torch.utils.data.get_worker_info()
        place = slice(None) if info is None else info.id
        if not self._is_shared:
            self._load_shard(state, place)
        else:
            saved = None
            if is_state(state):
                begin = place_of_state(state)
                self._expected = None
            else:
                if info is None or state.get("workers") != info.num_workers:
                    state = global_place(state, self._facts)
                else:
                    saved = state
                begin = check_state(state)
                self._use_seed(state)
            self._next_epoch[place] = begin.epoch
            if info is None:
                self._next_place.copy_(torch.tensor(begin))
            elif saved is None:
                saved = state
            self._saved = saved
        self._drop()
        self._turn = None
        if info is None:
            self._read_elsewhere.fill_(0)

    def _use_seed(self, state: dict[str, Any]) -> None:
        """Make pipelines as that of a state."""
        self._expected = state
        if self._seed not in (None, state["seed"]):
            self._seed, self._known = state["seed"], None

    def _load_shard(self, state: dict[str, Any], place: Any) -> None:
        if not is_state(state):
            begin = check_state(state)
            if begin.samples:
                raise wrong_value(
                    "sharding",
                    "'interleaved', as in the state",
                    "'contiguous'",
                    "the state counts the samples of all processes in the middle of an epoch",
                )
            state = new_state(begin.epoch, 0, False, (0, 0))
        self._next_epoch[place] = state["epoch"] + state["finished"]
        unfinished = "checkpoint" in state and not state["finished"]
        self._saved = dict(state) if unfinished else None

    def _facts(self) -> Facts:
        """What is known of the pipeline. Opens the data, if no loop has done it in this process."""
        loop = self._loop
        if isinstance(loop, SharedLoop) and loop.process == os.getpid():
            return loop.facts()
        if self._known is None:
            share = Share(self._rank, self._world, 0, 1, self._global_batch)
            made = SharedLoop(self._made_shared(share), share)
            self._known = made.facts()
            made.close()
        return self._known

    def _drop(self) -> None:
        """Close the pipeline of a loop that is over. That of a parent process is left alone."""
        if self._loop is not None and self._loop.process == os.getpid():
            self._loop.close()
        self._loop = None

    def _pipeline(self, options: dict[str, Any]) -> Pipeline:
        pipe = self._function(**options)
        if not isinstance(pipe, Pipeline):
            raise wrong_type("pipeline_fn", "a function that makes a Pipeline", describe(pipe))
        pipe.build()
        return pipe

    def _iterator(self, pipe: Pipeline, reader_name: str) -> DALIGenericIterator:
        loop = DALIGenericIterator(
            pipe,
            self._names,
            reader_name=reader_name,
            last_batch_policy=self._policy,
            prepare_first_batch=False,
        )
        loop._owner = "IterableDataset"
        return loop

    def _made_shared(self, share: Share) -> DALIGenericIterator:
        """An iterator over a pipeline that shares steps, before its first batch."""
        options = dict(self._options)
        if self._takes_shards:
            options.update(shard_id=self._rank, num_shards=self._world)
        if self._seed is not None:
            options["seed"] = self._seed
        with annotate_error("IterableDataset"):
            pipe = self._pipeline(options)
            name = self._reader_name or only_reader(pipe)
            for node, source in pipe._built().plan.sources.items():
                try:
                    source.share_steps(share, self._policy)
                except GradivaError as error:
                    error.problem += '; sharding="contiguous" reads without that'
                    raise pipe._built().plan.program.locate(error, node) from error.__cause__
            return self._iterator(pipe, name)

    def _made(
        self, shard: int, shards: int, checkpoint: bytes | None = None
    ) -> DALIGenericIterator:
        """An iterator over a pipeline for a shard, before its first batch."""
        options = {**self._options, "shard_id": shard, "num_shards": shards}
        if checkpoint is not None:
            options["checkpoint"] = checkpoint
        elif self._seed is not None:
            options["seed"] = self._seed
        with annotate_error("IterableDataset"):
            pipe = self._pipeline(options)
            loop = self._iterator(pipe, self._reader_name or only_reader(pipe))
            if not loop._last_batch_padded and self._policy is LastBatchPolicy.FILL:
                raise wrong_value(
                    "last_batch_policy",
                    "PARTIAL or DROP; or a reader with pad_last_batch=True",
                    "FILL",
                    "with FILL, an epoch begins where a batch of the one before it has ended, "
                    "which is not known where workers start afresh",
                )
            found = loop._shards_num, int(loop._shards[0].first)
            if found != (shards, shard):
                raise wrong_value(
                    "pipeline_fn",
                    f"shard {shard} of {shards}",
                    f"shard {found[1]} of {found[0]}",
                    "the reader reads another shard: the function must hand its arguments "
                    "`shard_id` and `num_shards` to it",
                )
        return loop

    def _check_workers(self, many: int) -> None:
        if self._workers is not None and self._workers != many:
            raise wrong_value(
                "num_workers",
                str(many),
                str(self._workers),
                "the DataLoader has another number of workers than `len` has counted with",
                operator="IterableDataset",
            )

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_loop": None, "_lengths": None, "_known": None}


def _shared(count: int) -> Any:
    """Numbers in memory that workers share."""
    return torch.zeros(count, dtype=torch.int64, device="cpu").share_memory_()
