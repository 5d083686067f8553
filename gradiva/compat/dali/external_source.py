"""`external_source` under the module name that scripts import."""

from gradiva.ops.external_source.external_source import external_source

__all__ = ["external_source"]
