"""`LoaderPool`: loaders on the machines of a Ray cluster, and iterators for the trainers."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from gradiva.capture.iterators.iterator import LastBatchPolicy
from gradiva.capture.pipeline.pipeline import Pipeline
from gradiva.eager.execution.quarantine import Quarantine
from gradiva.eager.support.errors import (
    GradivaError,
    OperatorRuntimeError,
    OperatorValueError,
    annotate_error,
)
from gradiva.eager.support.validation import integer
from gradiva.ops.readers.sharding.shard_schedule import ShardSchedule

from .actors import Loader, LoaderRegistry
from .batch_producer import LoaderFacts
from .cluster import check_cluster, cluster_errors, ray
from .loader_iterator import LoaderIterator
from .loader_options import Settings, check_iterator, check_names, check_pool, recipe_of

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["LoaderPool"]


class LoaderPool:
    """Actors of a Ray cluster that make the batches of a pipeline, for any number of trainers.

    pipeline: what `pipeline_def` made, or another function without arguments that returns a
        pipeline; a Pipeline that can be stored; or what `Pipeline.serialize` returned. Its readers
        see the whole data set under the same paths on all machines.
    seed: in place of that of the pipeline.
    num_loaders, cpus_per_loader: how many actors, and the CPUs (whole ones) and threads of each.
    ahead: batches that each trainer asks for ahead; by default so many that each loader has two,
        and 3 at least. max_bytes: how many bytes these have, at most; there is always one.
    resources: other resources that each loader takes, as Ray has them. placement: "SPREAD",
        "DEFAULT" or a scheduling strategy of Ray's. max_restarts: how often Ray starts a loader
        again that died; -1 for always.
    sharding: "interleaved": after each step the samples of all trainers are the beginning of the
        epoch, so that any number of trainers goes on; or "contiguous", as readers have shards.
    global_batch_size: samples of a step of all trainers together; by default `batch_size` of the
        pipeline for each trainer.
    timeout: seconds that a trainer waits for a batch, at most. start_timeout: and the pool for its
        loaders. patience: another loader is asked as well for a batch that takes so many times
        longer than usual; None for never.
    trainer_fn: a function of the outputs as batches, called at the trainer, compiled. It may draw
        no random values. "auto" cuts the pipeline itself, where the fewest bytes go over
        the network.
    share_memory: a trainer on the machine of a loader reads batches in its memory, and nothing is
        copied; False: they go through Ray's object store, as between machines.

    Raises ImportError without Ray; OperatorRuntimeError without a cluster, or where loaders do not
    start in time; GradivaError for a pipeline that cannot be made, or not by loaders.
    """

    def __init__(
        self,
        pipeline: Callable[[], Any] | Pipeline | bytes,
        *,
        seed: int | None = None,
        num_loaders: int = 1,
        cpus_per_loader: int = 1,
        ahead: int | None = None,
        max_bytes: int | None = None,
        resources: dict[str, float] | None = None,
        placement: Any = "SPREAD",
        max_restarts: int = -1,
        sharding: str = "interleaved",
        global_batch_size: int | None = None,
        timeout: float = 600.0,
        start_timeout: float = 300.0,
        patience: float | None = 3.0,
        trainer_fn: Callable[..., Any] | str | None = None,
        share_memory: bool = True,
    ) -> None:
        with annotate_error("LoaderPool"):
            check_pool(
                {
                    "num_loaders": num_loaders,
                    "cpus_per_loader": cpus_per_loader,
                    "ahead": ahead,
                    "max_bytes": max_bytes,
                    "global_batch_size": global_batch_size,
                },
                {"timeout": timeout, "start_timeout": start_timeout, "patience": patience},
                sharding,
                trainer_fn,
            )
            recipe = recipe_of(pipeline, seed, cpus_per_loader, trainer_fn == "auto")
            check_cluster()
            self._sharding, self._global = sharding, global_batch_size
            self._ahead, self._max_bytes = ahead, max_bytes
            self._timeout, self._start_timeout = timeout, start_timeout
            self._patience, self._trainer_fn = patience, trainer_fn
            self._share_memory = share_memory
            self._recipe = recipe
            self._options = {
                "num_cpus": cpus_per_loader,
                "max_restarts": max_restarts,
                "max_concurrency": 2,  # one batch is read while another is computed
                "scheduling_strategy": placement,
                **({} if resources is None else {"resources": resources}),
            }
            self._state: dict[str, Any] | None = None
            self._loaders: dict[int, Any] = {}
            self._began = time.monotonic()
            self._closed = False
            self._number = 0
            self._facts: LoaderFacts | None = None
            with cluster_errors("starting the loaders"):
                self._name = f"gradiva ledger {uuid.uuid4().hex}"
                self._registry = (
                    ray.remote(LoaderRegistry).options(num_cpus=0, name=self._name).remote()
                )
            try:
                self.resize(num_loaders)
            except BaseException:
                self.close()
                raise

    @property
    def facts(self) -> LoaderFacts:
        """What the loaders make."""
        assert self._facts is not None
        return self._facts

    def resize(self, num_loaders: int) -> None:
        """Start loaders, or stop some, until there are so many. Trainers that are at work learn of
        it within some batches. Raises as the constructor does."""
        with annotate_error("LoaderPool.resize"):
            integer(num_loaders, 1, argument="num_loaders", expected="a positive integer")
            self._check_open()
            added: dict[int, Any] = {}
            with cluster_errors("starting the loaders"):
                actor = ray.remote(Loader)
                for _ in range(num_loaders - len(self._loaders)):
                    made = actor.options(**self._options).remote(
                        self._number, self._recipe, self._name
                    )
                    added[self._number] = made
                    self._number += 1
            try:
                self._check(added)
            except BaseException:
                _kill(added)
                raise
            gone = sorted(self._loaders)[num_loaders:]
            removed = {number: self._loaders.pop(number) for number in gone}
            self._loaders.update(added)
            with cluster_errors("telling the trainers of other loaders"):
                ray.get(
                    self._registry.set_loaders.remote(self._loaders), timeout=self._start_timeout
                )
            _kill(removed)

    def _check(self, added: dict[int, Any]) -> None:
        """Wait until these loaders are there. Raises GradivaError where they are not, or make
        something else than the others."""
        with cluster_errors("starting the loaders"):
            asked = {loader.facts.remote(): number for number, loader in added.items()}
            done, open_ = (
                ray.wait([*asked], num_returns=max(1, len(asked)), timeout=self._start_timeout)
                if asked
                else ((), ())
            )
            for one in done:
                found = ray.get(one)
                if isinstance(found, GradivaError):
                    raise found
                if self._facts is not None and found != self._facts:
                    raise OperatorRuntimeError(
                        f"loader {asked[one]} has another graph or other data than the others",
                        expected=str(self._facts),
                        got=str(found),
                    )
                self._facts = found
        if open_:
            there = ray.available_resources().get("CPU", 0)
            raise OperatorRuntimeError(
                f"{len(open_)} of {len(asked)} loaders did not start within "
                f"{self._start_timeout:g} seconds (`start_timeout`): each asks for "
                f"{self._options['num_cpus']} CPUs, and {there:g} are free in the cluster"
            )

    def iterator(
        self,
        rank: int,
        world_size: int,
        output_map: Sequence[str],
        to: str = "numpy",
        last_batch_policy: LastBatchPolicy = LastBatchPolicy.FILL,
    ) -> LoaderIterator:
        """The batches of trainer `rank` of `world_size`. It can be sent to the trainer's process.

        output_map: a name for each output (of `trainer_fn`, if there is one), and "@path",
        "@index", "@position". to: "numpy", "torch" or "jax" for arrays of these, on memory of the
        loader or of the object store: do not write to them; or "gradiva" for batches.
        last_batch_policy: see `LastBatchPolicy`; PARTIAL deals what is left evenly. Raises
        OperatorValueError.
        """
        with annotate_error("LoaderPool.iterator"):
            self._check_open()
            check_iterator(rank, world_size, to, last_batch_policy)
            # A function at the trainer says how many there are when it is called.
            outputs = None if callable(self._trainer_fn) else self.facts.outputs
            names = check_names(output_map, outputs)
            schedule = self._schedule(world_size, last_batch_policy)
            settings = Settings(
                names,
                to,
                self._ahead,
                self._max_bytes,
                self._timeout,
                self._patience,
                self._trainer_fn,
                self._recipe,
                self._share_memory,
            )
            return LoaderIterator(
                dict(self._loaders),
                self._registry,
                self.facts,
                schedule,
                rank,
                settings,
                self._state,
            )

    def _schedule(self, world: int, policy: LastBatchPolicy) -> ShardSchedule:
        facts, size = self.facts, self.facts.batch_size
        if self._global is not None:
            size, rest = divmod(self._global, world)
            if rest or not size:
                raise OperatorValueError(
                    "each trainer takes the same part of `global_batch_size`",
                    argument="world_size",
                    expected=f"a divisor of {self._global}",
                    got=str(world),
                )
        alike = self._global is not None
        return ShardSchedule(size, world, policy, self._sharding, facts.moving, facts.unit, alike)

    def load_state_dict(self, state: dict[str, Any] | None) -> None:
        """Iterators that are made from now on begin at the place of this state, which any of those
        before has returned; None: at the beginning."""
        self._state = state

    @property
    def quarantine(self) -> Quarantine:
        """Samples that could not be read, of all trainers, each once."""
        found = Quarantine(warns=False)
        with annotate_error("LoaderPool.quarantine"), cluster_errors("asking the ledger"):
            found.record(ray.get(self._registry.quarantine.remote(), timeout=self._timeout))
        return found

    def stats(self) -> dict[str, Any]:
        """What the trainers have told so far: "loaders" has for each the batches and samples that
        were taken from it, images per second since the pool was made, and restarts; "trainers" has
        for each the batches, samples, bytes, seconds that it waited, and the batches that were
        asked for again because a loader was lost (`resent`) or slow (`doubled`)."""
        with annotate_error("LoaderPool.stats"), cluster_errors("asking the ledger"):
            seen, starts = ray.get(self._registry.seen.remote(), timeout=self._timeout)
        passed = time.monotonic() - self._began
        loaders = {}
        for number in sorted({*self._loaders, *starts}):
            own = [one["loaders"].get(number, (0, 0)) for one in seen.values()]
            batches, samples = (sum(column) for column in zip((0, 0), *own, strict=True))
            loaders[number] = {
                "batches": batches,
                "samples": samples,
                "samples_per_second": samples / passed,
                "restarts": max(0, starts.get(number, 1) - 1),
            }
        keys = ("batches", "samples", "bytes", "waited", "resent", "doubled")
        trainers = [{key: one[key] for key in keys} for one in seen.values()]
        return {"loaders": loaders, "trainers": trainers}

    def _check_open(self) -> None:
        if self._closed:
            raise OperatorRuntimeError("this pool was closed")

    def close(self) -> None:
        """Stop the loaders. Iterators raise from then on."""
        if not self._closed:
            self._closed = True
            _kill(self._loaders)
            _kill({0: self._registry})
            self._loaders = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *details: object) -> None:
        self.close()


def _kill(actors: dict[int, Any]) -> None:
    if not ray.is_initialized():
        return
    for actor in actors.values():
        with cluster_errors("stopping the loaders"):
            ray.kill(actor)
