"""`select`: for each sample the operation that its index names.

In a graph, samples are split and merged as by `if`. In dynamic mode the samples of each operation
are taken out, run as a batch of their own, and put back: all of it in one step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from gradiva.capture.recording.data_node import DataNode
from gradiva.capture.recording.dispatch import call as rewritten
from gradiva.capture.recording.dispatch import choose
from gradiva.eager.operators.input_sets import has_targets
from gradiva.eager.operators.interpreter import current_interpreter
from gradiva.eager.random.step import current_step
from gradiva.eager.support.errors import (
    OperatorTypeError,
    OperatorValueError,
    annotate_error,
    describe,
    user_location,
)
from gradiva.eager.values.batch import Batch
from gradiva.eager.values.random_origin import check_not_random, random_origin_among
from gradiva.eager.values.value import Following, Value
from gradiva.ops.math.branches import select as take

from .bins import SignedBin
from .declared import Augmentation
from .joining import put_together, with_mark

__all__ = ["select"]

_TITLE = "auto_aug.select"


def select(
    ops: Sequence[Callable[..., Any]], selected_op_idx: Any, *op_args: Any, **op_kwargs: Any
) -> Any:
    """Call for each sample one of several operations.

    ops: augmentations, or functions of batches. selected_op_idx: which one, an integer scalar per
    sample from 0 to len(ops) - 1. op_args, op_kwargs: what each is called with; of batches,
    signed bins and `gradiva.Targets` it gets the samples that it was selected for.

    The operations must return samples of one dtype, rank and layout; shapes may differ. Random
    values that they draw do not depend on which samples they were selected for. In dynamic mode,
    an operation of the package's own is not called if it is selected for no sample; others are
    called with empty batches. In a pipeline, indices out of range are not refused but taken for the
    nearest.

    Returns what the operations return, in the old order of the samples. Raises OperatorTypeError
    where there are no operations or their results differ, OperatorValueError for indices out of
    range, and what the operations raise.
    """
    offered = list(ops)
    if not offered or not all(callable(one) for one in offered):
        raise OperatorTypeError(
            operator=_TITLE,
            argument="ops",
            expected="at least one function",
            got=describe(ops),
            location=user_location(),
        )
    if has_targets(op_args):
        op_args = _begun(offered, op_args)
    if isinstance(selected_op_idx, DataNode):
        return _in_graph(offered, selected_op_idx, op_args, op_kwargs)
    if getattr(current_interpreter(), "symbolic", False):
        with annotate_error(_TITLE):
            check_not_random(selected_op_idx, argument="selected_op_idx")
    drawn = random_origin_among((selected_op_idx,))
    if isinstance(selected_op_idx, Batch):
        return with_mark(_now(offered, selected_op_idx, op_args, op_kwargs), drawn)
    index = np.asarray(selected_op_idx)
    _check(index, len(offered))
    if index.ndim:
        raise OperatorTypeError(
            operator=_TITLE,
            argument="selected_op_idx",
            expected="a batch of scalars, or one integer",
            got=describe(selected_op_idx),
            location=user_location(),
        )
    return with_mark(offered[int(index)](*op_args, **op_kwargs), drawn)


def _begun(ops: list[Callable[..., Any]], args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments, with targets that have begun to follow their images: the first argument. All
    samples then have a track, whether they move or not."""
    if all(isinstance(one, Augmentation) and one.moves is False for one in ops):
        return args

    def begin(tree: Any) -> Any:
        if isinstance(tree, Following):
            return tree.begun(args[0])
        if isinstance(tree, dict):
            return {name: begin(one) for name, one in tree.items()}
        return type(tree)(map(begin, tree)) if isinstance(tree, tuple | list) else tree

    return tuple(begin(one) if has_targets((one,)) else one for one in args)


def _check(chosen: np.ndarray[Any, Any], count: int) -> None:
    """Refuse what is no index. Raises OperatorTypeError or OperatorValueError."""
    if chosen.dtype.kind not in "iub":
        raise OperatorTypeError(
            operator=_TITLE,
            argument="selected_op_idx",
            expected="integers",
            got=str(chosen.dtype),
            location=user_location(),
        )
    bad = np.flatnonzero((chosen < 0) | (chosen >= count))
    if len(bad):
        raise OperatorValueError(
            operator=_TITLE,
            argument="selected_op_idx",
            expected=f"from 0 to {count - 1}",
            got=str(chosen.reshape(-1)[bad[0]]),
            sample=int(bad[0]),
            location=user_location(),
        )


def _in_graph(
    ops: list[Callable[..., Any]], index: DataNode, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """A tree of conditions, so that a sample is split and merged log2(len(ops)) times."""

    def between(first: int, last: int) -> Any:
        if last - first == 1:
            return rewritten(ops[first])(*args, **kwargs)
        middle = (first + last) // 2
        return choose(index < middle, lambda: between(first, middle), lambda: between(middle, last))

    return between(0, len(ops))


def _now(
    ops: list[Callable[..., Any]], index: Batch, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    size = len(index)
    chosen = index.as_array() if index.ndim == 0 else None
    if chosen is None:
        raise OperatorTypeError(
            operator=_TITLE,
            argument="selected_op_idx",
            expected="scalars",
            got=f"{index.ndim}-D samples",
            location=user_location(),
        )
    _check(chosen, len(ops))
    parts: list[tuple[np.ndarray[Any, np.dtype[np.int64]], Any]] = []
    for number, op in enumerate(ops):
        rows = np.flatnonzero(chosen == number)
        if not len(rows) and _never_draws(op) and (parts or number < len(ops) - 1):
            continue
        if len(rows) == size:
            parts.append((rows, op(*args, **kwargs)))
            continue
        own = [_part(value, rows, size) for value in args]
        named = {name: _part(value, rows, size) for name, value in kwargs.items()}
        with _narrowed((*own, *named.values()), rows, size):
            parts.append((rows, op(*own, **named)))
    return put_together(parts, size, _TITLE)


def _never_draws(op: Callable[..., Any]) -> bool:
    """Whether it makes no random calls, whose numbers would be missing if it were not called."""
    return isinstance(op, Augmentation) and (op.op.__module__ or "").startswith("gradiva.")


def _part(value: Any, rows: np.ndarray[Any, np.dtype[np.int64]], size: int) -> Any:
    """The samples of a value that an operation was selected for."""
    if isinstance(value, SignedBin):
        return SignedBin(_part(value.bin, rows, size), _part(value.sign, rows, size))
    if isinstance(value, Batch):
        if len(value) != size:
            raise OperatorValueError(
                "the batches have different sizes",
                operator=_TITLE,
                expected=f"{size} samples, as `selected_op_idx` has",
                got=str(len(value)),
                location=user_location(),
            )
        return take(value, rows)
    if isinstance(value, Following):
        return value.part(lambda whole: _part(whole, rows, size))
    parts = isinstance(value, tuple | list)
    if parts and (any(isinstance(one, Value) for one in value) or has_targets(value)):
        return type(value)(_part(one, rows, size) for one in value)
    if isinstance(value, dict):
        return {name: _part(one, rows, size) for name, one in value.items()}
    return value


@contextmanager
def _narrowed(
    values: Sequence[Any], rows: np.ndarray[Any, np.dtype[np.int64]], size: int
) -> Iterator[None]:
    """Random values for as many samples as an operation has are those of its samples."""
    step = current_step()
    if step is None:
        yield
        return
    positions = next(
        (one.positions for one in values if isinstance(one, Batch) and one.positions is not None),
        None,
    )
    if positions is None:
        whole = step.positions_of(size)
        positions = None if whole is None else whole[rows]
    before = dict(step.narrowed)
    if positions is not None:
        step.narrow(positions)
    try:
        yield
    finally:
        step.narrowed.clear()
        step.narrowed.update(before)
