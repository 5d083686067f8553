"""`IterableDataset`: batches of pipelines that each worker of a DataLoader makes for itself."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch.utils.data

from gradiva.capture.iterators.iterator import LastBatchPolicy
from gradiva.capture.iterators.iterator_options import list_of_names
from gradiva.capture.pipeline.pipeline import Pipeline
from gradiva.capture.pipeline.pipeline_def import PipelineFactory
from gradiva.eager.random.default_generator import default
from gradiva.eager.support.errors import (
    OperatorRuntimeError,
    OperatorTypeError,
    OperatorValueError,
    annotate_error,
    describe,
    wrong_type,
    wrong_value,
)

from .dataset_options import STATE, check_count, check_function, new_state, only_reader, place_of
from .iterators import DALIGenericIterator

__all__ = ["IterableDataset"]

_MOST_WORKERS = 1024


class IterableDataset(torch.utils.data.IterableDataset):  # type: ignore[misc]
    """Batches of a pipeline for `DataLoader(dataset, batch_size=None, num_workers=N)`: dicts of
    torch tensors with a leading batch axis, by the names of `output_map`.

    Each worker makes a pipeline for its own shard, number `rank * workers + worker` of
    `world_size * workers`; without workers the main process does. Each loop is the next epoch, also
    where workers start afresh for it. All shards have equally many batches.

    pipeline_fn: a function made by `pipeline_def` with the arguments `shard_id` and `num_shards`,
        which it hands to its reader; **options are further ones of it and of `Pipeline`.
    reader_name: the reader whose epochs count; by default the only one there is.
    last_batch_policy: PARTIAL (each sample once), DROP, or FILL for readers that pad.
    num_workers: how many the DataLoader has. It is needed for `len` alone, which depends on it.
    rank, world_size: of this process; by default those of `torch.distributed`, else 0 of 1.

    `state_dict` and `load_state_dict` are for torchdata's StatefulDataLoader: loops are resumed in
    the middle, bit by bit. With the workers of a plain DataLoader the main process has no state,
    and `state_dict` raises OperatorRuntimeError.

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
        **options: Any,
    ) -> None:
        super().__init__()
        with annotate_error("IterableDataset"):
            check_function(pipeline_fn)
            check_count("num_workers", num_workers, 0)
            self._rank, self._world = place_of(rank, world_size)
            self._options = {"enable_checkpointing": True, **options}
            self._seed = self._common_seed(pipeline_fn)
            self._names = list_of_names(output_map)
        self._function = pipeline_fn
        self._reader_name = reader_name
        self._policy = last_batch_policy
        self._workers = num_workers
        # In shared memory: the epoch that worker n begins next, whichever process it is then.
        self._next_epoch = torch.zeros(
            _MOST_WORKERS, dtype=torch.int64, device="cpu"
        ).share_memory_()
        # In shared memory, too: whether workers have read since the main process knew the place.
        self._read_elsewhere = torch.zeros(1, dtype=torch.bool, device="cpu").share_memory_()
        self._lengths: Callable[[int], int] | None = None
        self._loop: DALIGenericIterator | None = None
        self._shard = 0, 1
        self._process = os.getpid()
        self._state: dict[str, Any] | None = None
        self._saved: dict[str, Any] | None = None
        """Where the next loop goes on."""

    def _common_seed(self, function: Any) -> int | None:
        """The seed for pipelines that have none: shards must be parts of one order."""
        given = self._options.get("seed")
        if given is None and isinstance(function, PipelineFactory):
            given = function.options.get("seed")
            if (given is None or given < 0) and self._world > 1:
                raise wrong_value(
                    "seed",
                    "a seed for the pipeline, the same in all processes",
                    "none",
                    "several processes need one order of samples, of which each reads a part",
                )
            if given is None or given < 0:
                return default.inherited_seed
        return None

    def set_epoch(self, epoch: int) -> None:
        """Let the next loop be this epoch, counted from 0, in each worker."""
        with annotate_error("IterableDataset.set_epoch"):
            check_count("epoch", epoch, 0)
        self._read_elsewhere.fill_(False)
        self._next_epoch.fill_(epoch)
        self._state = self._saved = None

    def __len__(self) -> int:
        """Batches of the next epoch, of all workers of this process together. Raises TypeError
        without `num_workers`."""
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
        epoch = int(self._next_epoch[0])
        return (self._lengths(epoch + 1) - self._lengths(epoch)) * many

    def __iter__(self) -> Iterator[dict[Any, Any]]:
        # A loop begins with its first batch: loaders ask for iterators that they do not use.
        info = torch.utils.data.get_worker_info()
        worker, many = (0, 1) if info is None else (info.id, info.num_workers)
        self._check_workers(0 if info is None else many)
        shard = self._rank * many + worker, self._world * many
        self._read_elsewhere.fill_(info is not None)
        saved, self._saved = self._saved, None
        epoch = int(self._next_epoch[worker])
        # Workers that start afresh have a copy of the state, whichever epoch they begin.
        if saved is not None and saved["epoch"] == epoch:
            loop = self._resumed(saved, shard)
        else:
            loop = self._begun(epoch, shard)
            self._state = new_state(epoch, 0, False, shard)
        state = self._state
        assert state is not None
        self._next_epoch[worker] = epoch + 1
        length = loop._until(epoch + 1) - loop._until(epoch)
        for _ in range(length - state["batches"]):
            if state is not self._state:
                raise OperatorValueError(
                    "a loop ends where another one over the same data set begins",
                    operator="IterableDataset",
                )
            (turn,) = next(loop)
            state["batches"] += 1
            yield turn
        state["finished"] = True

    def state_dict(self) -> dict[str, Any]:
        """The current place, as plain data for `load_state_dict`: in a loop of this process, after
        the batch that it returned last; before the first loop and after the end of one, the
        beginning of the next epoch. If workers read, each has a place of its own, which
        StatefulDataLoader asks for. Raises OperatorRuntimeError in the main process after workers
        have read, OperatorValueError for a pipeline made with enable_checkpointing=False."""
        if torch.utils.data.get_worker_info() is None and self._read_elsewhere.item():
            with annotate_error("IterableDataset.state_dict"):
                raise OperatorRuntimeError(
                    "the workers of a DataLoader have read this data set, and the main process "
                    "does not know how far: take the state of torchdata's StatefulDataLoader, "
                    "which asks the workers, or read with num_workers=0. At the end of an epoch "
                    "its number is enough, for set_epoch"
                )
        if self._saved is not None:
            return dict(self._saved)
        if self._state is None or self._loop is None or self._process != os.getpid():
            info = torch.utils.data.get_worker_info()
            epoch = int(self._next_epoch[0 if info is None else info.id])
            return new_state(epoch, 0, False, (0, 0))
        return {**self._state, "checkpoint": self._loop.checkpoints()[0]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Let the next loop go on from there. Raises OperatorValueError for what is no state."""
        if not isinstance(state_dict, dict) or any(
            type(state_dict.get(name)) is not kind for name, kind in STATE.items()
        ):
            raise wrong_value(
                "state_dict",
                "what `state_dict` returned",
                describe(state_dict),
                operator="IterableDataset.load_state_dict",
            )
        self._drop()
        info = torch.utils.data.get_worker_info()
        if info is None:
            self._read_elsewhere.fill_(False)
        place = slice(None) if info is None else info.id
        self._next_epoch[place] = state_dict["epoch"] + state_dict["finished"]
        unfinished = "checkpoint" in state_dict and not state_dict["finished"]
        self._saved = dict(state_dict) if unfinished else None
        self._state = None

    def _resumed(self, state: dict[str, Any], shard: tuple[int, int]) -> DALIGenericIterator:
        """A loop that goes on from a state."""
        if state["shard"] != list(shard):
            raise wrong_value(
                "",
                "shard {} of {}".format(*state["shard"]),
                "shard {} of {}".format(*shard),
                "the state is that of another shard: resume with as many processes and workers",
                operator="IterableDataset",
            )
        self._drop()
        self._shard, self._process = shard, os.getpid()
        self._loop = self._made(*shard, state["checkpoint"])
        self._state = {name: state[name] for name in STATE}
        return self._loop

    def _begun(self, epoch: int, shard: tuple[int, int]) -> DALIGenericIterator:
        """A loop at the start of an epoch: that of the epoch before, if it has come to its end."""
        loop = self._loop
        if loop is not None and self._process == os.getpid() and self._shard == shard:
            before = self._state
            ended = before is not None and before["finished"] and before["epoch"] + 1 == epoch
            if ended:
                loop.reset()
                return loop
        self._drop()
        self._shard, self._process = shard, os.getpid()
        self._loop = loop = self._made(*shard)
        loop._begin_at(epoch)
        return loop

    def _drop(self) -> None:
        """Close the pipeline of a loop that is over. That of a parent process is left alone."""
        if self._loop is not None and self._process == os.getpid():
            self._loop._pipes[0].close()
        self._loop = None

    def _made(
        self, shard: int, shards: int, checkpoint: bytes | None = None
    ) -> DALIGenericIterator:
        """An iterator over a pipeline for a shard, before its first batch."""
        options = {**self._options, "shard_id": shard, "num_shards": shards}
        if checkpoint is not None:
            options["checkpoint"] = checkpoint
        elif self._seed is not None:
            options["seed"] = self._seed
        pipe = self._function(**options)
        with annotate_error("IterableDataset"):
            if not isinstance(pipe, Pipeline):
                raise wrong_type("pipeline_fn", "a function that makes a Pipeline", describe(pipe))
            pipe.build()
            name = self._reader_name or only_reader(pipe)
            loop = DALIGenericIterator(
                pipe,
                self._names,
                reader_name=name,
                last_batch_policy=self._policy,
                prepare_first_batch=False,
            )
            loop._owner = "IterableDataset"
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
        return {**self.__dict__, "_loop": None, "_lengths": None}
