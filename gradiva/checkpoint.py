"""Checkpoints of dynamic mode, under the module name that scripts import."""

from gradiva.eager.checkpoint import Checkpoint

__all__ = ["Checkpoint"]
