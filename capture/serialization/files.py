"""What `Pipeline` does with files: written whole or not at all, read as data."""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping
from typing import Any, TypeVar

from gradiva.eager.support.errors import (
    GradivaError,
    OperatorTypeError,
    OperatorValueError,
    describe,
)
from gradiva.eager.support.errors import user_location as where
from gradiva.eager.support.local_files import write_whole

from .options import StoredOptions
from .reader import StoredPipeline, read_pipeline
from .writer import serialize_graph

__all__ = ["build_from", "load", "save", "write_file"]

P = TypeVar("P")

_LARGEST = 1 << 31
"""The messages of protobuf are smaller than this."""


def save(pipeline: Any, graph: Any, filename: str | os.PathLike[str] | None = None) -> bytes:
    """The recorded `graph` of a pipeline as bytes, which are written to `filename` if it is given.

    Raises what `serialize_graph` raises; OperatorValueError for a file that cannot be written.
    """
    try:
        data = serialize_graph(graph, StoredOptions.of(pipeline))
    except GradivaError as error:
        raise error.complete(operator="Pipeline.serialize", location=where()) from None
    if filename is not None:
        write_file(filename, data, "Pipeline.serialize")
    return data


def load(
    kind: type[P],
    serialized_pipeline: bytes | None,
    filename: str | os.PathLike[str] | None,
    options: Mapping[str, Any],
    sources: Mapping[str, Any] | None = None,
) -> P:
    """A pipeline of class `kind` from bytes or from a file, with `options` in place of the stored
    ones; not built. sources: for its external sources, by name.

    Raises OperatorValueError for bytes that are no pipeline of ours, for both or none of bytes and
    file, and for a file that cannot be read.
    """
    operator = f"{kind.__name__}.deserialize"
    if (serialized_pipeline is None) == (filename is None):
        raise OperatorValueError(
            "give either `serialized_pipeline` or `filename`", operator=operator, location=where()
        )
    data = _read_file(filename, operator) if filename is not None else serialized_pipeline
    stored = _read(data, operator)
    pipeline = kind(**{**_constructor(kind, stored), **options})
    _record(pipeline, stored, sources, operator)
    return pipeline


def build_from(pipeline: Any, data: bytes, sources: Mapping[str, Any] | None = None) -> Any:
    """Record the stored operators into a pipeline that has none yet; returns the stored options,
    for those that its constructor was not given. Raises OperatorValueError."""
    operator = f"{type(pipeline).__name__}.deserialize_and_build"
    stored = _read(data, operator)
    _record(pipeline, stored, sources, operator)
    return stored.options


def _read(data: Any, operator: str) -> StoredPipeline:
    try:
        return read_pipeline(data)
    except GradivaError as error:
        raise error.complete(operator=operator, location=where()) from None


def _record(
    pipeline: Any, stored: StoredPipeline, sources: Mapping[str, Any] | None, operator: str
) -> None:
    try:
        with pipeline:
            outputs = stored.record(sources)
    except GradivaError as error:
        raise error.complete(operator=operator, location=where()) from None
    pipeline.set_outputs(*outputs)


def _constructor(kind: type[Any], stored: StoredPipeline) -> dict[str, Any]:
    """The options that the constructor has; those left at their defaults are not given, nor is a
    device where nothing runs on a GPU."""
    options = stored.options
    known = inspect.signature(kind).parameters
    open_ended = any(one.kind is one.VAR_KEYWORD for one in known.values())
    default = StoredOptions()
    always = ("batch_size", "num_threads", "seed", "prefetch_queue_depth")
    return {
        name: value
        for name, value in vars(options).items()
        if (name != "device_id" or stored.on_gpu)
        and (name in known or open_ended)
        and (name in always or value != getattr(default, name))
    }


def _read_file(filename: str | os.PathLike[str], operator: str) -> bytes:
    path = _path(filename, operator)
    try:
        # Regular files only: a device or a pipe may never end.
        if os.path.exists(path) and not os.path.isfile(path):
            raise OSError("it is no regular file")
        if os.path.getsize(path) >= _LARGEST:
            raise OSError("it is larger than any stored pipeline")
        with open(path, "rb") as file:
            return file.read()
    except (OSError, ValueError) as error:
        raise OperatorValueError(
            f"the file cannot be read: {error}", operator=operator, file=path, location=where()
        ) from None


def write_file(filename: str | os.PathLike[str], data: bytes, operator: str) -> None:
    """Write a file whole: beside it first, then renamed. Raises OperatorValueError."""
    path = _path(filename, operator)
    try:
        write_whole(path, data)
    except (OSError, ValueError) as error:
        raise OperatorValueError(
            f"the file cannot be written: {error}", operator=operator, file=path, location=where()
        ) from None


def _path(filename: Any, operator: str) -> str:
    try:
        path = os.fspath(filename)
    except TypeError:
        path = None
    if not isinstance(path, str):
        raise OperatorTypeError(
            operator=operator,
            argument="filename",
            expected="a path",
            got=describe(filename),
            location=where(),
        )
    return path
