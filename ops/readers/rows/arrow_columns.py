"""Columns of Arrow's tables, as values of rows."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.support.lazy_import import lazy_module

from .fitting import attempted, fitted, rows_fitted
from .hugging_face import content_of

__all__ = ["Column", "is_known", "path_of"]

arrow: Any = lazy_module("pyarrow", "'gradiva[parquet]'")
compute: Any = lazy_module("pyarrow.compute", "'gradiva[parquet]'")


def path_of(container: Any, name: str) -> tuple[str, ...] | None:
    """The names of a column, and of a field in it, and so on: `a.b` is a column of this name, or
    else field b of structure a. container: a schema, or the type of a structure."""
    kinds = {field.name: field.type for field in container}
    if name in kinds:
        return (name,)
    parts = name.split(".")
    for count in range(len(parts) - 1, 0, -1):
        head = ".".join(parts[:count])
        if head in kinds and arrow.types.is_struct(inner := _stored(kinds[head])):
            rest = path_of(inner, ".".join(parts[count:]))
            if rest is not None:
                return (head, *rest)
    return None


def is_known(schema: Any, path: tuple[str, ...]) -> bool:
    """Whether the values of a column, or of this field of it, can be delivered."""
    types, kind = arrow.types, schema.field(path[0]).type
    for name in path[1:]:
        kind = _stored(kind)
        kind = kind.field(kind.get_field_index(name)).type
    kind = _stored(kind)
    if types.is_struct(kind) and kind.get_field_index("bytes") >= 0:
        kind = _stored(kind.field(kind.get_field_index("bytes")).type)
    listed = False
    while _is_list(kind):
        kind, listed = _stored(kind.value_type), True
    if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind):
        return True
    return not listed and (_is_text(kind) or _is_bytes(kind))


def _stored(kind: Any) -> Any:
    """The type of the values beneath extension types and dictionaries."""
    while isinstance(kind, arrow.BaseExtensionType) or arrow.types.is_dictionary(kind):
        is_extension = isinstance(kind, arrow.BaseExtensionType)
        kind = kind.storage_type if is_extension else kind.value_type
    return kind


def _is_list(kind: Any) -> bool:
    names = "list", "large_list", "fixed_size_list", "list_view", "large_list_view"
    return any(_is_type(kind, name) for name in names)


def _is_text(kind: Any) -> bool:
    return any(_is_type(kind, name) for name in ("string", "large_string", "string_view"))


def _is_bytes(kind: Any) -> bool:
    names = "binary", "large_binary", "fixed_size_binary", "binary_view"
    return any(_is_type(kind, name) for name in names)


def _is_type(kind: Any, name: str) -> bool:
    """Whether this is a type of this name, which old versions of the library may lack."""
    check = getattr(arrow.types, f"is_{name}", None)
    return check is not None and bool(check(kind))


def _plain(column: Any) -> Any:
    """An array without what stands around its values: extension types, but for those of tensors,
    dictionaries, and views, of which the library cannot take a part."""
    while True:
        kind = column.type
        if isinstance(kind, arrow.BaseExtensionType):
            if _is_tensor(kind):
                return column
            is_bool = kind.extension_name == "arrow.bool8"
            column = column.storage.cast(arrow.bool_()) if is_bool else column.storage
        elif arrow.types.is_dictionary(kind):
            column = column.dictionary_decode()
        elif _is_type(kind, "string_view"):
            return column.cast(arrow.large_string())
        elif _is_type(kind, "binary_view"):
            return column.cast(arrow.large_binary())
        elif _is_type(kind, "list_view") or _is_type(kind, "large_list_view"):
            return _without_view(column)
        else:
            return column


def _without_view(column: Any) -> Any:
    """Lists one behind the other. A cast of the library would lose the values of the last one."""
    lengths = compute.list_value_length(column).fill_null(0).to_numpy(zero_copy_only=False)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    values, nulls = column.flatten(), column.is_null()
    return arrow.LargeListArray.from_arrays(arrow.array(offsets), values, mask=nulls)


def _is_tensor(kind: Any) -> bool:
    return getattr(kind, "extension_name", "") == "arrow.fixed_shape_tensor"


class Column:
    """A column of a group of rows, or a field of it. Raises what the library does."""

    def __init__(self, table: Any, path: tuple[str, ...]) -> None:
        column = table.column(path[0]).combine_chunks()
        if isinstance(column, arrow.ChunkedArray):  # without rows
            column = arrow.concat_arrays(column.chunks)
        for name in path[1:]:
            column = compute.struct_field(_plain(column), name)
        column = _plain(column)
        self._paths: Any = None
        """Of files, for rows of Hugging Face's that have no bytes."""
        if arrow.types.is_struct(column.type):
            if column.type.get_field_index("path") >= 0:
                self._paths = _plain(compute.struct_field(column, "path"))
            column = _plain(compute.struct_field(column, "bytes"))
        self._column = column
        self._agreed: list[int] | None = None

    def values(self, rows: op.Int64Array, dtype: op.DType | None) -> list[Any]:
        """The values in these rows, as far as they can be converted at once; None where there is no
        value, and an error in place of one that cannot be read."""
        places = arrow.array(rows)
        chosen = self._column.take(places)
        kind = chosen.type
        if _is_list(kind):
            return self._lists(chosen, dtype)
        if _is_tensor(kind):
            return _with_nulls(chosen, rows_fitted(_tensors(chosen), dtype))
        if _is_text(kind) or _is_bytes(kind):
            found = _texts(chosen, dtype)
            if self._paths is not None and None in found:
                paths = self._paths.take(places).to_pylist()
                pairs = zip(found, paths, strict=True)
                found = [attempted(partial(content_of, *pair)) for pair in pairs]
            return found
        numbers = chosen.drop_null() if chosen.null_count else chosen
        return _with_nulls(chosen, rows_fitted(numbers.to_numpy(zero_copy_only=False), dtype))

    def _lists(self, chosen: Any, dtype: op.DType | None) -> list[Any]:
        """Lists, of lists and so on, as arrays in the type of their numbers."""
        count = len(chosen)
        begins, ends = np.arange(count), np.arange(1, count + 1)
        extents: list[op.Int64Array] = []
        lacks, ragged = np.zeros(count, bool), np.zeros(count, bool)
        level = chosen
        while _is_list(level.type):
            offsets = _offsets(level)
            if level is not chosen:
                lacks |= _any_null(level, begins, ends)
            default = self._extent(len(extents), level, bool((begins == ends).any()))
            extents.append(_extents(np.diff(offsets), begins, ends, default, ragged))
            begins, ends = offsets[begins], offsets[ends]
            level = _plain(level.values)
        lacks |= _any_null(level, begins, ends)
        if level.null_count:
            level = level.fill_null(False if arrow.types.is_boolean(level.type) else 0)
        numbers = level.to_numpy(zero_copy_only=False)
        whole = numbers if dtype is None else attempted(partial(fitted, numbers, dtype))
        converted = not isinstance(whole, op.SampleDataError)
        valid = chosen.is_valid().to_numpy(zero_copy_only=False)
        found: list[Any] = []
        shapes = np.stack(extents, 1).tolist()
        for row in range(count):
            if not valid[row]:
                found.append(None)
            elif lacks[row]:
                found.append(op.SampleDataError("a list lacks a value"))
            elif ragged[row]:
                found.append(op.SampleDataError("lists of several lengths are no array"))
            else:
                part = (whole if converted else numbers)[begins[row] : ends[row]]
                found.append(part.reshape(shapes[row]))
        return found

    def _extent(self, axis: int, level: Any, empty: bool) -> int:
        """How long the lists in an empty list are: as its type says, or as all others of the group
        are; else 0."""
        if not empty:
            return 0
        if _is_type(level.type, "fixed_size_list"):
            return int(level.type.list_size)
        if self._agreed is None:
            self._agreed, whole = [], self._column
            while _is_list(whole.type):
                lengths = np.diff(_offsets(whole))
                one = lengths.size > 0 and lengths.min() == lengths.max()
                self._agreed.append(int(lengths[0]) if one else 0)
                whole = _plain(whole.values)
        return self._agreed[axis]


def _offsets(level: Any) -> op.Int64Array:
    """Where each list begins among the values, and where the last one ends."""
    if _is_type(level.type, "fixed_size_list"):
        places = np.arange(level.offset, level.offset + len(level) + 1, dtype=np.int64)
        return places * int(level.type.list_size)
    return np.asarray(level.offsets).astype(np.int64)


def _any_null(level: Any, begins: op.Int64Array, ends: op.Int64Array) -> Any:
    """Whether there is a null between these places."""
    if not level.null_count:
        return False
    nulls = np.cumsum(level.is_null().to_numpy(zero_copy_only=False))
    before = np.concatenate([[0], nulls])
    return before[ends] > before[begins]


def _extents(
    lengths: op.Int64Array,
    begins: op.Int64Array,
    ends: op.Int64Array,
    default: int,
    ragged: np.ndarray[Any, Any],
) -> op.Int64Array:
    """The length of the lists between each two places, all of one, or else the row is ragged."""
    if lengths.size and lengths.min() == lengths.max():
        return np.where(begins == ends, default, lengths[0])
    found = np.full(len(begins), default, np.int64)
    for row, (begin, end) in enumerate(zip(begins.tolist(), ends.tolist(), strict=True)):
        if begin < end:
            part = lengths[begin:end]
            found[row] = part[0]
            ragged[row] |= bool((part != part[0]).any())
    return found


def _with_nulls(chosen: Any, values: list[Any]) -> list[Any]:
    """The values that are there, with None between them."""
    if not chosen.null_count:
        return values
    left = iter(values)
    known = chosen.is_valid().to_numpy(zero_copy_only=False).tolist()
    return [next(left) if there else None for there in known]


def _tensors(chosen: Any) -> np.ndarray[Any, Any]:
    there = chosen.drop_null() if chosen.null_count else chosen
    found: np.ndarray[Any, Any] = there.to_numpy_ndarray()
    return found


def _texts(chosen: Any, dtype: op.DType | None) -> list[Any]:
    """Texts and bytes: as bytes, or as text where it is to say a number."""
    text = _is_text(chosen.type)
    if text:
        large = arrow.types.is_large_string(chosen.type)
        chosen = chosen.cast(arrow.large_binary() if large else arrow.binary())
    found: list[Any] = chosen.to_pylist()
    if not text or dtype is None or dtype is op.uint8:
        return found
    return [None if one is None else attempted(partial(_decoded, one)) for one in found]


def _decoded(content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise op.SampleDataError("a text that is no UTF-8") from None
