"""`NumbaFunction` under the name of its trial version."""

from gradiva.plugin.numba import NumbaFunction

__all__ = ["NumbaFunction"]
