"""`DataLoader`: torch's, which knows its place, with any number of workers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch.utils.data

from gradiva.capture.iterators.elastic_state import Facts, Place
from gradiva.eager.support.errors import annotate_error, describe, wrong_type, wrong_value

from .datasets import IterableDataset

__all__ = ["DataLoader"]


class DataLoader(torch.utils.data.DataLoader):  # type: ignore[misc]
    """A `torch.utils.data.DataLoader` over an `IterableDataset`, which counts the batches that it
    has returned: `state_dict` is the place after the last one, with any number of workers.

    dataset: an `IterableDataset`, not with contiguous shards, whose pipeline makes the batches, so
        that there is no `batch_size`. **options: those of torch's DataLoader, such as num_workers.

    The state is that of the data set (`IterableDataset.state_dict`): the same in all processes, for
    any other number of processes and workers. Lightning saves it with its checkpoints.

    Raises OperatorTypeError for another data set, OperatorValueError for one with contiguous shards
    and for a `batch_size`.
    """

    def __init__(self, dataset: IterableDataset, **options: Any) -> None:
        with annotate_error("DataLoader"):
            if not isinstance(dataset, IterableDataset):
                raise wrong_type("dataset", "an IterableDataset of gradiva", describe(dataset))
            if not dataset._is_shared:
                raise wrong_value("dataset", "sharding='interleaved'", "'contiguous'")
            if options.setdefault("batch_size", None) is not None:
                raise wrong_value(
                    "batch_size",
                    "None: the pipeline makes batches",
                    describe(options["batch_size"]),
                )
        self._begin: Place | None = None
        self._taken = 0
        super().__init__(dataset, **options)

    def __iter__(self) -> Iterator[dict[Any, Any]]:
        begin = self.dataset._coming(0)[0]
        self._begin, self._taken = begin, 0
        return self._counted(super().__iter__(), begin)

    def _counted(self, batches: Iterator[Any], begin: Place) -> Iterator[dict[Any, Any]]:
        for batch in batches:
            self._taken += 1
            yield batch
        self._begin, self._taken = Place(begin.epoch + 1, 0), 0

    def state_dict(self) -> dict[str, Any]:
        """The place after the batch that was returned last, for `load_state_dict` here and of the
        data set; after the end of a loop, the beginning of the next epoch."""
        data = self.dataset
        begin = data._coming(0)[0] if self._begin is None else self._begin
        facts: Facts = data._facts()
        return facts.state(facts.after(begin, self._taken))

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Let the next loop go on there. Raises as `IterableDataset.load_state_dict`."""
        self.dataset.load_state_dict(state_dict)
        self._begin, self._taken = None, 0
