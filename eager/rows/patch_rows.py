"""Where the values of an image stand in its patches.

Whole patches follow one another, each with its values in the order (channel, frame, row, column).
The place of a value is a sum of two: one depends on its row, the other on its column. `merge` is
the side of the blocks of patches that stand together, row of blocks after row of blocks; within a
block, and where it is 1, patches stand row after row.
"""

from __future__ import annotations

from gradiva.eager.jit.jit import always_inline

__all__ = ["column_place", "row_place"]


@always_inline
def row_place(y: int, wide: int, patch: int, merge: int, size: int) -> int:
    """The element at which a row of pixels begins, from the beginning of its frames.

    y: the row; wide: patches in a row; patch: pixels of a side; size: elements of a patch.
    """
    row = y // patch
    before = (row // merge) * merge * wide + (row % merge) * merge
    return before * size + (y % patch) * patch


@always_inline
def column_place(x: int, merge: int, size: int) -> int:
    """The element at which the patch number x of a row begins, from where the row does."""
    return (x // merge * merge * merge + x % merge) * size
