"""What a pool of loaders is made with, checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from gradiva.capture.iterators.iterator import LastBatchPolicy
from gradiva.capture.iterators.iterator_options import FACTS
from gradiva.capture.pipeline.pipeline import Pipeline
from gradiva.eager.random.default_generator import default
from gradiva.eager.support.errors import describe, wrong_type, wrong_value
from gradiva.eager.support.validation import integer
from gradiva.ops.readers.sampling.sampling_arguments import SHARDINGS

from .actors import Recipe
from .frameworks import FORMS

__all__ = ["Settings", "check_iterator", "check_names", "check_pool", "recipe_of"]

_FORMS = (*FORMS, "gradiva")
_LEAST_AHEAD = 3


@dataclass(frozen=True)
class Settings:
    """What an iterator was asked for; see `LoaderPool` and `LoaderPool.iterator`."""

    names: Sequence[str]
    form: str
    ahead: int | None
    max_bytes: int | None
    timeout: float
    patience: float | None
    trainer_fn: Callable[..., Any] | str | None
    recipe: Recipe
    share_memory: bool = True

    def batches_ahead(self, loaders: int, world_size: int) -> int:
        """How many are asked for at a time: by default no loader waits for a trainer that waits for
        another loader."""
        return self.ahead or max(_LEAST_AHEAD, -(-2 * loaders // world_size))


def check_pool(
    counts: dict[str, int | None],
    seconds: dict[str, float | None],
    sharding: str,
    trainer_fn: Callable[..., Any] | str | None,
) -> None:
    """Raise OperatorTypeError or OperatorValueError for arguments that make no sense."""
    for name, value in counts.items():
        if value is not None:
            integer(value, 1, argument=name, expected="a positive integer")
    for name, limit in seconds.items():
        if limit is not None and not limit > 0:
            raise wrong_value(name, "above 0", str(limit))
    if sharding not in SHARDINGS:
        raise wrong_value("sharding", " or ".join(map(repr, SHARDINGS)), describe(sharding))
    if not (trainer_fn is None or trainer_fn == "auto" or callable(trainer_fn)):
        raise wrong_type("trainer_fn", 'a function of batches, or "auto"', describe(trainer_fn))


def check_iterator(rank: int, world_size: int, to: str, policy: Any) -> None:
    """The same for those of an iterator."""
    integer(world_size, 1, argument="world_size", expected="a positive integer")
    integer(rank, 0, argument="rank", expected="an integer from 0 on")
    if rank >= world_size:
        raise wrong_value("rank", f"0 to {world_size - 1}, below `world_size`", str(rank))
    if to not in _FORMS:
        forms = ", ".join(map(repr, _FORMS))
        raise wrong_value("to", forms, describe(to))
    if not isinstance(policy, LastBatchPolicy):
        raise wrong_type("last_batch_policy", "a LastBatchPolicy", describe(policy))


def check_names(given: Sequence[str], outputs: int | None) -> list[str]:
    """The names of the outputs, of which there are so many; None: not known."""
    names = [given] if isinstance(given, str) else list(given)
    plain = [name for name in names if name not in FACTS]
    if len(set(names)) < len(names) or (outputs is not None and len(plain) != outputs):
        raise wrong_value(
            "output_map",
            ("names that differ" if outputs is None else f"a name for each of {outputs} outputs"),
            describe(names),
        )
    return names


def recipe_of(pipeline: Any, seed: int | None, threads: int, cut: bool) -> Recipe:
    """What loaders make their pipelines from. Raises GradivaError for what cannot be sent."""
    if isinstance(pipeline, Pipeline):
        seed = pipeline._options.seed if seed is None else seed
        pipeline = pipeline.serialize()
    if not isinstance(pipeline, bytes) and not callable(pipeline):
        raise wrong_type(
            "pipeline",
            "a function made by pipeline_def, a Pipeline, or a stored one",
            describe(pipeline),
        )
    return Recipe(pipeline, threads, seed, default.inherited_seed, cut)
