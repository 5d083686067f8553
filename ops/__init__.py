"""The operators, one file each, by field. Imports gradiva.eager only."""

if __name__ != "gradiva.ops":
    raise ImportError("this folder is part of gradiva: import gradiva.ops (or gradiva), not ops")
