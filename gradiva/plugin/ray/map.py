"""`Map`: gradiva functions for Ray Data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradiva.eager.values.batch import Batch
from gradiva.plugin.columns import ColumnFunction

__all__ = ["Map"]


class _Mapped(ColumnFunction):
    """What each actor of Ray Data has: it compiles once."""

    given: tuple[tuple[Any, ...], dict[str, Any]]

    def __init__(self) -> None:
        arguments, keywords = self.given
        super().__init__(*arguments, **keywords)

    def _column(self, batch: Batch) -> Any:
        if batch.batch_shape.uniform:
            return batch.as_array()
        found = np.empty(len(batch), object)
        found[:] = batch.arrays()
        return found


class Map:
    """A gradiva function for `map_batches` of Ray Data, as the class that it asks for:

    `ds.map_batches(Map(fn, "image"), batch_format="numpy", batch_size=64, concurrency=(2, 8))`

    The arguments are those of `gradiva.plugin.columns.ColumnFunction`. For a function that draws
    random values, `seed_column` names a column with a number or a text for each row, such as its
    path: Ray Data may deal rows in another way in each run.
    """

    def __new__(  # type: ignore[misc]  # a class is what Ray asks for
        cls,
        fn: Callable[..., Any],
        inputs: str | Sequence[str],
        outputs: str | Sequence[str] | None = None,
        *,
        keep: bool = True,
        seed: int = 0,
        seed_column: str | None = None,
        num_threads: int | None = None,
    ) -> type[ColumnFunction]:
        """The class. Raises OperatorTypeError for what is no function."""
        options = {
            "keep": keep,
            "seed": seed,
            "seed_column": seed_column,
            "num_threads": num_threads,
        }
        ColumnFunction(fn, inputs, outputs)  # so that errors show here
        return type("Map", (_Mapped,), {"given": ((fn, inputs, outputs), options)})
