"""The place where scripts look for dynamic mode, `gradiva.experimental.dynamic`."""

from gradiva.experimental import dynamic

__all__ = ["dynamic"]
