"""What an external source is given, as batches: checked against what was declared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.support.validation import integer
from gradiva.eager.values.batch import batch_on


class BatchConverter:
    """Turns the user's items into batches. The first batch fixes what was not declared."""

    def __init__(self, arguments: dict[str, Any]) -> None:
        self._no_copy: bool = arguments["no_copy"]
        facts = (arguments[name] for name in ("layout", "dtype", "ndim"))
        self._types = declared_types(arguments["num_outputs"] or 1, *facts)
        self.fixed: list[op.SampleType | None] = [None] * len(self._types)

    def fed(self, item: Any, index: int, layout: str | None) -> op.Batch:
        """As `batch`, for an item that is fed. layout: of a sample, by default that of the item.
        Raises OperatorTypeError for one that contradicts the declared layout."""
        declared = self._types[index].layout
        stated = layout or (item.layout if isinstance(item, op.Batch) else "")
        if declared and stated and stated != declared:
            raise op.OperatorTypeError(
                f"the data for output {index} have another layout",
                expected=f"{declared!r}, as declared",
                got=repr(stated),
            )
        return self.batch(item, index, layout or None)

    def batch(self, item: Any, index: int, layout: str | None = None) -> op.Batch:
        """The item as the batch of output `index`; layout: of a sample, instead of the declared."""
        declared = self._types[index]
        if isinstance(item, op.Tensor) or not (
            isinstance(item, op.Batch | np.ndarray | list | tuple) or hasattr(item, "__dlpack__")
        ):
            raise op.OperatorTypeError(
                "the source returned the wrong thing",
                expected="a batch: an array with a leading axis, or a list of arrays",
                got=op.describe(item),
            )
        made = batch_on(item, layout=declared.layout if layout is None else layout)
        if not self._no_copy and not isinstance(item, list | tuple):
            made = made.to_device(made.device, force_copy=True)
        # The batch gets positions of its own: the user's object stays as it is.
        made = op.Batch.over(made.data, made.batch_shape, made.type, made.provenance)
        self._check(made, declared, index)
        return made

    def get_state(self) -> list[Any]:
        """What the first batch has fixed, as plain data."""
        return [
            None if one is None or one.dtype is None else [one.dtype.name, one.ndim, one.layout]
            for one in self.fixed
        ]

    def read_state(self, state: Any) -> list[op.SampleType | None]:
        """What `get_state` told, for `fixed`. Raises TypeError, ValueError, IndexError."""
        fixed = [
            None if one is None else op.SampleType(op.DType.of(one[0]), int(one[1]), one[2])
            for one in state
        ]
        if len(fixed) != len(self._types):
            raise ValueError(f"it has {len(fixed)} outputs")
        return fixed

    def _check(self, made: op.Batch, declared: op.SampleType, index: int) -> None:
        """The dtype and rank are those declared, or those of the first batch; a layout that one
        batch has had, all have."""
        wanted = self.fixed[index] or declared
        layout = (wanted.layout, made.layout) if wanted.layout else (None, None)
        for what, expected, got in (
            ("dtype", wanted.dtype, made.dtype),
            ("rank", wanted.ndim, made.ndim),
            ("layout", *layout),
        ):
            if expected is not None and got != expected and len(made):
                since = "as declared" if self.fixed[index] is None else "as in the first batch"
                raise op.OperatorTypeError(
                    f"output {index} of the source has another {what}",
                    expected=f"{expected}, {since}",
                    got=str(got or "none"),
                )
        if len(made):
            self.fixed[index] = op.SampleType(made.dtype, made.ndim, made.layout)


def stored(batches: tuple[op.Batch, ...]) -> list[Any]:
    """Batches as plain data, for a checkpoint."""
    return [
        [[batch.array(index) for index in range(len(batch))], batch.layout] for batch in batches
    ]


def restored(data: Any, end: int) -> tuple[op.Batch, ...]:
    """What `stored` told; its samples are those before position `end`. Raises TypeError,
    ValueError."""
    batches = tuple(batch_on(arrays, layout=layout) for arrays, layout in data)
    for batch in batches:
        batch.provenance = op.Provenance(np.arange(end - len(batch), end, dtype=np.int64))
    return batches


def one_size(batches: tuple[op.Batch, ...], most: int) -> int:
    """The number of samples of all batches. Raises OperatorValueError."""
    sizes = {len(batch) for batch in batches}
    if len(sizes) > 1:
        raise op.OperatorValueError(
            "the source returned batches of different sizes",
            expected="one size",
            got=", ".join(str(len(batch)) for batch in batches),
        )
    size = sizes.pop()
    if size > most:
        raise op.wrong_value(
            "", f"at most {most} samples", size, "the source returned a batch that is too large"
        )
    return size


def with_unread(batches: Sequence[op.Batch | None], most: int) -> tuple[op.Batch, ...]:
    """The batches, of one size; empty samples in place of those that nobody reads. Raises
    OperatorValueError."""
    read = tuple(batch for batch in batches if batch is not None)
    size = one_size(read, most)
    if len(read) == len(batches):
        return read
    empty = iter(nothing(size, len(batches) - len(read)))
    return tuple(next(empty) if batch is None else batch for batch in batches)


def nothing(size: int, count: int) -> tuple[op.Batch, ...]:
    """So many batches of empty samples."""
    return tuple(batch_on(np.empty((size, 0), np.uint8)) for _ in range(count))


_MOST_OUTPUTS = 1000


def declared_types(count: int, layout: Any, dtype: Any, ndim: Any) -> list[op.SampleType]:
    """The declared type of each output; what was not declared is unknown. Raises
    OperatorTypeError, OperatorValueError."""
    count = integer(
        count,
        1,
        _MOST_OUTPUTS,
        expected="a positive integer",
        limits=f"from 1 to {_MOST_OUTPUTS}",
        argument="num_outputs",
    )
    layouts = _each("layout", layout, count)
    ranks = _each("ndim", ndim, count)
    types = []
    for index, name in enumerate(_each("dtype", dtype, count)):
        try:
            chosen = None if name is None else op.DType.of(name)
        except (TypeError, ValueError) as error:
            raise op.OperatorTypeError(str(error), argument="dtype") from None
        rank = ranks[index]
        if not isinstance(layouts[index], str | None):
            raise op.wrong_type("layout", "a text", repr(layouts[index]))
        if layouts[index] and rank is None:
            rank = len(layouts[index])
        if layouts[index] and len(layouts[index]) != rank:
            raise op.wrong_value("layout", f"{rank} letters", repr(layouts[index]))
        types.append(op.SampleType(chosen, rank, layouts[index] or None))
    return types


def _each(name: str, value: Any, count: int) -> list[Any]:
    if not isinstance(value, list | tuple):
        return [value] * count
    if len(value) == 1:
        return list(value) * count
    if len(value) != count:
        raise op.wrong_value(name, f"one, or one for each of {count} outputs", len(value))
    return list(value)
