"""Checkpoints of dynamic mode, under the module name that scripts import."""

from gradiva.eager.contexts.checkpoint import Checkpoint
from gradiva.eager.contexts.eval_modes import EvalContext

__all__ = ["Checkpoint", "current"]


def current() -> Checkpoint:
    """The checkpoint of the current context."""
    return EvalContext.current().checkpoint
