"""Pipelines as files, in the protobuf format that users have: data only, nothing runs on load."""

from __future__ import annotations

from .read import StoredPipeline, read_pipeline
from .write import serialize_graph

__all__ = ["StoredPipeline", "read_pipeline", "serialize_graph"]
