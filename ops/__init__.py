"""The operators, one file each, by field. Imports gradiva.eager only.

To users it is also the module of the class spelling, `gradiva.ops.Resize(size=...)(images)`.
"""

if __name__ != "gradiva.ops":
    raise ImportError("this folder is part of gradiva: import gradiva.ops (or gradiva), not ops")
