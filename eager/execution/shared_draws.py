"""A warning about one random value for a whole batch, where one per sample may be meant.

`random.coin_flip()` without `batch_size` draws one value. If that value is used with a batch, in
dynamic mode or in a pipeline, either all samples are flipped or none. So there is a warning, once
for each line that draws.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

from gradiva.eager.support.errors import Location, user_location
from gradiva.eager.values.random_origin import SharedDraw
from gradiva.eager.values.tensor import Tensor

_warned: dict[tuple[str, int], object] = {}


def warn_of_values(operator: str, values: Iterable[Any]) -> None:
    """Warn about values of a call on a batch that were drawn once for the whole batch."""
    for value in values:
        if isinstance(value, Tensor) and isinstance(value.drawn_at, SharedDraw):
            drawn, where = value.drawn_at, user_location()
            if where is not None:
                warn_of_shared(drawn.operator, drawn, operator, where)


def warn_of_shared(draws: str, drawn: Location, meets: str, where: Location) -> None:
    """Warn that the line `meets` uses a value for each sample that `draws` has drawn once for
    all."""
    place = drawn.code.co_filename, drawn.line
    mine = object()
    if _warned.setdefault(place, mine) is not mine:  # of several threads the first one warns
        return
    text = (
        f"gradiva.{draws} draws one value for the whole batch where it has no batch_size, {drawn}; "
        f"`{meets}` uses it for each sample; fn.{draws} draws one for each, as does "
        "batch_size=images.batch_size"
    )
    warnings.warn_explicit(text, UserWarning, where.code.co_filename, where.line)
