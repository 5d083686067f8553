"""Data sets of Hugging Face: `with_transform`, `set_transform`, and `map(batched=True)`.

`dataset.with_transform(Transform(fn, "image"))` runs `fn` on each batch that is asked for;
`iterable.map(Transform(fn, "image"), batched=True)` does the same for an `IterableDataset`. The
reader of their rows is `readers.table`, and that of their Parquet files `readers.parquet`.
"""

from __future__ import annotations

from .columns import ColumnFunction

__all__ = ["Transform"]


class Transform(ColumnFunction):
    __doc__ = ColumnFunction.__doc__
