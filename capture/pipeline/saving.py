"""Files of the graph of a pipeline, for storage and for Graphviz: methods of `Pipeline`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from gradiva.eager.support.lazy_import import lazy_module

from . import facts

if TYPE_CHECKING:
    from .pipeline import Pipeline

# They are for few programs: the others do not wait for them.
dot = lazy_module("gradiva.capture.serialization.dot")
files = lazy_module("gradiva.capture.serialization.files")


def serialize(
    pipe: Pipeline, define_graph: Any = None, filename: str | os.PathLike[str] | None = None
) -> bytes:
    """The pipeline as the bytes of a file that other libraries read, too; see docs/pipeline.md.

    define_graph: a function to call for the graph, if there is none yet. filename: where to
    write the bytes; a file that is there is replaced as a whole. Raises OperatorTypeError or
    OperatorValueError, with the operator and its line, for what has no place in a file.
    """
    if define_graph is not None:
        pipe._define_by(define_graph)
    data: bytes = files.save(pipe, pipe._recorded(), filename)
    return data


def deserialize_and_build(pipe: Pipeline, serialized_pipeline: bytes) -> None:
    """Take the graph from bytes that `serialize` made, and build; batch_size and num_threads
    come from there, too, if the constructor was not given them."""
    pipe._check_unbuilt()
    stored = files.build_from(pipe, serialized_pipeline)
    pipe._options = pipe._options.with_stored(stored.batch_size, stored.num_threads)
    pipe.build()


def save_graph_to_dot_file(
    pipe: Pipeline,
    filename: str | os.PathLike[str],
    *,
    show_tensors: bool = False,
    show_ids: bool | None = None,
    use_colors: bool = False,
) -> None:
    """Write the graph for Graphviz. show_tensors: with what flows between the operators;
    show_ids: with numbers; use_colors: filled by where they run. Raises OperatorValueError for
    a file that cannot be written."""
    text = dot.operator_dot(facts.graph(pipe), show_tensors, bool(show_ids), use_colors)
    data = text.encode("utf-8", "surrogateescape")  # names of files among it
    files.write_file(filename, data, "Pipeline.save_graph_to_dot_file")
